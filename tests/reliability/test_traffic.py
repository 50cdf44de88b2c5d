"""What the load tests go by: the agreement, the plan of users, and the ledger of what was acknowledged."""

from collections.abc import Iterator
from typing import Any

import pytest

from loadtest.traffic import ledger as ledgers
from loadtest.traffic.agreement import Agreement
from loadtest.traffic.documents import known, opinions_of
from loadtest.traffic.ledger import Ledger
from loadtest.traffic.plans import PLANS, Plan
from tests.end_to_end.process import Service, running_service


class TestAgreement:
    @staticmethod
    def of(*answers: tuple[str, float, int, str | None], may_refuse: bool = False) -> Agreement:
        agreement = Agreement(310, may_refuse)
        for name, took_ms, status, failure in [("/rerank inline", 5.0, 200, None), *answers]:
            agreement.note(name, took_ms, status, failure)
        return agreement

    def test_quick_answers_keep_it(self) -> None:
        assert self.of(("/rerank ids", 310.0, 200, None), ("/search", 9000.0, 200, None)).misses() == []

    def test_one_slow_re_ranking_in_a_hundred_is_allowed_and_two_are_not(self) -> None:
        quick, slow = ("/rerank ids", 5.0, 200, None), ("/rerank ids", 311.0, 200, None)
        assert self.of(*[quick] * 298, slow).misses() == []
        assert self.of(*[quick] * 94, *[slow] * 5).misses() == ["/rerank p99 of 100 is 311.0 ms, the limit is 310 ms"]

    def test_no_re_ranking_is_no_success(self) -> None:
        assert Agreement(310, False).misses() == ["/rerank p99 of 0 is nan ms, the limit is 310 ms"]

    def test_the_service_s_own_faults_are_missed_whatever_was_asked(self) -> None:
        (missed,) = self.of(("/ingest known", 1.0, 503, "status 503"), may_refuse=True).misses()
        assert missed == "the service failed: 1 x 503"

    def test_refusals_are_allowed_in_a_spike_only_and_are_no_quick_answers(self) -> None:
        refused = ("refused: /rerank ids", 400.0, 429, None)
        assert self.of(refused, may_refuse=True).misses() == []
        assert self.of(refused).misses() == ["1 requests were refused (429), which only a spike may be"]

    def test_wrong_answers_and_broken_connections_are_missed(self) -> None:
        missed = self.of(
            ("/rerank ids", 1.0, 0, "reset"), ("/search", 1.0, 200, "wrong"), ("/search", 1.0, 200, "wrong")
        )
        assert missed.misses() == ["1 times /rerank ids: reset", "2 times /search: wrong"]


class TestPlan:
    def test_a_ramp_rises_to_all_users_and_stays_there(self) -> None:
        users = [Plan("ramp", 40, 100).users_at(second) for second in range(101)]
        assert users[0] == 5
        assert users[:100] == sorted(users[:100])
        assert users[70:] == [40] * 30 + [None]

    def test_a_spike_comes_and_goes(self) -> None:
        assert [Plan("spike", 200, 90).users_at(second) for second in (0, 29, 30, 59, 60, 89, 90)] == [
            *(20, 20, 200, 200, 20, 20),
            None,
        ]

    def test_a_soak_stays_the_same(self) -> None:
        assert [Plan("soak", 20, 60).users_at(second) for second in (0, 59, 60)] == [20, 20, None]

    def test_only_a_spike_may_be_refused(self) -> None:
        assert [name for name, plan in PLANS.items() if plan.may_refuse] == ["spike"]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with running_service(tmp_path_factory.mktemp("traffic")) as running:
        yield running


class TestLedger:
    @pytest.fixture
    def filled(self, service: Service, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Ledger:
        monkeypatch.setattr(ledgers, "KNOWN", 30)
        ledger = Ledger(f"load-{request.node.name}")
        ledger.fill(service.url)
        return ledger

    def send(self, service: Service, ledger: Ledger, *documents: dict[str, Any]) -> None:
        answer = service.client.post("/ingest", json={"collection": ledger.collection, "documents": documents})
        assert (answer.status_code, answer.json()["failed"]) == (200, [])

    def test_nothing_differs_where_all_is_as_it_was_acknowledged(self, service: Service, filled: Ledger) -> None:
        documents = filled.next_versions([known(1), known(2), "new"])
        self.send(service, filled, *documents)
        filled.stored(documents)
        filled.deleting("new")
        service.client.delete("/documents/new", params={"collection": filled.collection})
        filled.deleted("new")
        assert filled.differences(service.url) == []

    def test_what_was_not_acknowledged_may_be_there_or_not(self, service: Service, filled: Ledger) -> None:
        there, _ = filled.next_versions([known(1), "new"])
        self.send(service, filled, there)
        assert filled.differences(service.url) == []

    def test_what_was_acknowledged_and_is_not_there_is_told(self, service: Service, filled: Ledger) -> None:
        filled.stored(filled.next_versions([known(1), "new"]))
        assert filled.differences(service.url) == [
            f"{known(1)} is there in version 1; 2 was acknowledged",
            "new was acknowledged, and is not there",
        ]

    def test_a_deletion_that_was_acknowledged_and_did_not_happen_is_told(
        self, service: Service, filled: Ledger
    ) -> None:
        filled.deleting(known(3))
        filled.deleted(known(3))
        assert filled.differences(service.url) == [f"{known(3)} was deleted, and is there"]

    def test_content_that_nobody_sent_is_told(self, service: Service, filled: Ledger) -> None:
        filled.next_versions([known(1)])
        self.send(service, filled, {"id": known(1), "version": 2, "opinions": []})
        assert f"{known(1)} says what nobody sent" in filled.differences(service.url)

    def test_a_count_that_differs_from_the_recount_is_told(self, service: Service, filled: Ledger) -> None:
        (_, si), *_ = opinions_of(known(1), 1)
        self.send(service, filled, {"id": "somebody else's", "opinions": [{"entity": "Breakfast", "si": si}]})
        (found,) = filled.differences(service.url)
        assert found.startswith("Breakfast: ")

    def test_what_a_run_stored_is_deleted_again(self, service: Service, filled: Ledger) -> None:
        filled.forget(service.url)
        gone = service.client.get(f"/documents/{known(1)}", params={"collection": filled.collection})
        assert gone.status_code == 404

"""Those who ask: re-rankings of every form, searches, and ingestion meanwhile."""

import itertools
import json
import random
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, ClassVar
from urllib.parse import quote

from locust import FastHttpUser, between, task

from loadtest import bodies
from loadtest.traffic.agreement import REFUSED
from loadtest.traffic.documents import ENTITIES, KNOWN, known
from loadtest.traffic.ledger import Ledger

CANDIDATES = 200
DROP_IN = 50
"""What a client of another re-ranker sends; each text is encoded anew."""
VARIANTS = ("auto", "w1_minimizer", "w1_mmr", "w1_exact", "wassrank_ot", "js_minimizer", "top_k", "bm25")
BODIES = 16
"""Different ones of each form; they are made before they are needed, since the load has one core only."""
BATCH = 10
MOST_OWN = 50
"""New documents that a user keeps before it deletes them again."""
_HEADERS = {"content-type": "application/json", "accept-encoding": "identity"}


class Caller(FastHttpUser):
    """Asks, waits for the answer, looks at it."""

    abstract = True
    wait_time = between(0.05, 0.15)
    network_timeout = connection_timeout = 30.0
    ledger: ClassVar[Ledger]
    """The documents of the run, the same for all users."""
    may_be_refused: ClassVar[bool] = False
    """So much may be asked for that 429 is a right answer, and so is one that did not wait for the store."""

    def ask(self, name: str, method: str, path: str, body: bytes | None, wrong: Callable[[bytes], str | None]) -> bool:
        """Whether the answer is as it should be.

        Parameters
        ----------
        name : under which it is counted; refused requests have a line of their own.
        wrong : says what is wrong with an answer of 200.
        """
        sent: Any = body  # locust would have a text, and sends bytes as they are
        with self.client.request(method, path, name=name, data=sent, headers=_HEADERS, catch_response=True) as response:
            if response.status_code == REFUSED:
                response.request_meta["name"] = f"refused: {name}"
                if self.may_be_refused:
                    response.success()
            elif response.status_code == 200:
                if not (complaint := wrong(response.content)):
                    return True
                response.failure(complaint)
        return False

    def wrong_ranking(self, answer: bytes) -> str | None:
        """What is wrong with a re-ranking: it lacks documents, or did not go by the store."""
        if b'"selected":20,' not in answer:
            return "not all documents that were asked for"
        return None if self.may_be_refused or b'"degraded":false' in answer else "degraded"


@cache
def rerank_bodies(form: str, collection: str) -> Sequence[bytes]:
    """Bodies of one form, over the variants."""
    chosen = [(VARIANTS[i % len(VARIANTS)], i) for i in range(BODIES)]
    if form == "ids":
        return [
            bodies.ids_and_scores(CANDIDATES, variant, of=KNOWN, seed=i, collection=collection)
            for variant, i in chosen
            if variant != "bm25"  # compares texts, and there are none
        ]
    explain = form == "explain"
    return [bodies.inline(CANDIDATES, variant, seed=i, collection=collection, explain=explain) for variant, i in chosen]


class Reranker(Caller):
    """Sends what its vector store found: with opinions, by id, and asking for reasons."""

    weight = 10

    @task(4)
    def inline(self) -> None:
        self._rerank("inline")

    @task(4)
    def ids(self) -> None:
        self._rerank("ids")

    @task(1)
    def explain(self) -> None:
        self._rerank("explain")

    def _rerank(self, form: str) -> None:
        body = random.choice(rerank_bodies(form, self.ledger.collection))
        self.ask(f"/rerank {form}", "POST", "/rerank", body, self.wrong_ranking)


@cache
def drop_in_bodies(path: str, collection: str) -> Sequence[bytes]:
    """Bodies as the clients of another re-ranker send them to a path."""
    documents = [bodies.known_texts(DROP_IN, of=KNOWN, seed=i) for i in range(BODIES)]
    if path == "/rerank":
        asked = {"query": bodies.QUESTION, "collection": collection}
        return [json.dumps({**asked, "texts": [one["text"] for one in some]}).encode() for some in documents]
    asked = {"query": bodies.QUESTION, "model": f"{collection}:{bodies.ENTITY}"}
    limits: Sequence[dict[str, int]] = ({"top_n": 20}, {})
    return [json.dumps({**asked, **limits[i % 2], "documents": some}).encode() for i, some in enumerate(documents)]


class DropIn(Caller):
    """Was written for another re-ranker: wants an order of all its texts, or of the first of them."""

    weight = 2

    @task
    def v1(self) -> None:
        self._order("/v1/rerank", b'"relevance_score":')

    @task
    def v2(self) -> None:
        self._order("/v2/rerank", b'"relevance_score":')

    @task
    def texts(self) -> None:
        self._order("/rerank", b'"score":')

    def _order(self, path: str, score: bytes) -> None:
        body = random.choice(drop_in_bodies(path, self.ledger.collection))
        wanted = 20 if b'"top_n": 20' in body else DROP_IN

        def wrong(answer: bytes) -> str | None:
            got = answer.count(score)
            return None if got == wanted else f"{got} of {wanted} documents"

        self.ask(f"{path} drop-in", "POST", path, body, wrong)


class Searcher(Caller):
    """Has its documents here."""

    weight = 3

    @task
    def search(self) -> None:
        entity = random.choice(ENTITIES)
        body = {"query": f"What do guests think about the {entity}?", "collection": self.ledger.collection}
        self.ask("/search", "POST", "/search", json.dumps(body).encode(), self.wrong_ranking)


class Ingester(Caller):
    """Keeps the population current: known documents change, new ones come, and go again."""

    weight = 3
    _numbers = itertools.count()

    def on_start(self) -> None:
        self._name = f"new-{next(self._numbers)}"
        self._own: list[str] = []
        self._n = 0

    @task(3)
    def revise(self) -> None:
        self._ingest("/ingest known", [known(i) for i in random.sample(range(KNOWN), BATCH)])

    @task(2)
    def add_or_delete(self) -> None:
        if len(self._own) < MOST_OWN:
            names = [f"{self._name}-{self._n + i}" for i in range(BATCH)]
            self._n += BATCH
            if self._ingest("/ingest new", names):
                self._own += names
        else:
            for name in self._own:
                self._delete(name)
            self._own.clear()

    def _ingest(self, title: str, names: Sequence[str]) -> bool:
        documents = self.ledger.next_versions(names)
        body = json.dumps({"collection": self.ledger.collection, "documents": documents}).encode()
        taken = self.ask(title, "POST", "/ingest", body, _wrong_ingest)
        if taken:
            self.ledger.stored(documents)
        return taken

    def _delete(self, name: str) -> None:
        self.ledger.deleting(name)
        path = f"/documents/{quote(name, safe='')}?collection={quote(self.ledger.collection)}"
        if self.ask("DELETE /documents", "DELETE", path, None, _wrong_deletion):
            self.ledger.deleted(name)


def _wrong_ingest(answer: bytes) -> str | None:
    failed = json.loads(answer)["failed"]
    return f"a document failed: {failed[0]['detail']}" if failed else None


def _wrong_deletion(answer: bytes) -> str | None:
    return None if json.loads(answer)["deleted"] else "there was nothing to delete"

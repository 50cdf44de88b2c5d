"""Targets that are given, parts of the population that are asked about, and what an entity tells of itself."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from starlette.testclient import TestClient

INLINE = [
    {"id": f"c{i}", "score": 1 - i / 10, "opinions": [{"entity": "tea", "si": si}]}
    for i, si in enumerate((30, 30, 30, -30, 30))
]


def rerank(client: TestClient, **request: Any) -> dict[str, Any]:
    asked = {"entity": "tea", "candidates": INLINE, "k": 2, "expansion": "none", **request}
    answer = client.post("/rerank", json=asked)
    assert answer.status_code == 200, answer.text
    return answer.json()


def refused_at(client: TestClient, target: Mapping[str, Any], collection: str = "aged") -> tuple[str, str]:
    body = {"entity": "tea", "candidates": INLINE, "collection": collection, "target": target}
    answer = client.post("/rerank", json=body)
    assert answer.status_code == 422
    (error,) = answer.json()["errors"]
    return error["pointer"], error["detail"]


def ago(days: int) -> str:
    return (datetime.now(UTC) - timedelta(days=days)).isoformat()


@pytest.fixture(scope="module")
def aged(client: TestClient) -> TestClient:
    """Opinions on tea: 80 at +30 by families today, 40 at -30 by couples yesterday, 40 at 0 by couples 200 days ago."""
    documents = [
        {
            "id": f"{age}/{i}",
            "timestamp": ago(age),
            "attributes": {"traveller": who, "odd: {x}": ""},
            "opinions": [{"entity": "Tea", "si": si}, {"entity": "cake", "si": 0}],
        }
        for age, si, who, n in ((0, 30, "family", 80), (1, -30, "couple", 40), (200, 0, "couple", 40))
        for i in range(n)
    ]
    report = client.post("/ingest", json={"collection": "aged", "documents": documents}).json()
    assert (report["created"], report["ack"]) == (160, "local")
    return client


# Targets that are given


def test_a_given_target_is_used_until_it_is_forgotten(aged: TestClient) -> None:
    corpus = {"distribution": {"-30": 0.25, "0": 0.25, "30": 0.5}, "rule": "entity", "n": 160, "alpha": 1}
    assert rerank(aged, collection="aged")["target"] == corpus
    given = {"distribution": {"-30": 1, "30.0": 2, "0": 0}}
    assert aged.put("/entities/TEA/target?collection=aged", json=given).json() == given
    external = {"distribution": {"-30": 0.333333, "30": 0.666667}, "rule": "external", "n": 160, "alpha": 1}
    for target in (None, {}, {"source": "auto"}, {"source": "external"}):
        answer = rerank(aged, collection="aged", target=target, k=3)
        assert answer["target"] == external
        assert {r["id"] for r in answer["results"]} == {"c0", "c1", "c3"}
    assert rerank(aged, collection="aged", target={"source": "corpus"})["target"] == corpus
    assert rerank(aged, collection="aged", target={"source": "uniform"})["target"]["rule"] == "uniform"
    assert rerank(aged, collection="aged", target={"distribution": {"10": 1}})["target"]["rule"] == "request"
    assert aged.get("/entities/tea?collection=aged").json()["target"] == external
    assert aged.get("/entities/cake?collection=aged").json()["target"]["rule"] == "smoothed"  # 160 in one bin

    assert aged.delete("/entities/Tea/target?collection=aged").json() == {"deleted": True}
    assert aged.delete("/entities/Tea/target?collection=aged").json() == {"deleted": False}
    assert rerank(aged, collection="aged")["target"] == corpus
    assert refused_at(aged, {"source": "external"}) == (
        "/target/source",
        "no external target was given for this entity",
    )


def test_an_entity_may_have_a_target_before_anybody_has_an_opinion_on_it(client: TestClient) -> None:
    assert client.put("/entities/tea/target?collection=prior", json={"distribution": {"10": 3}}).status_code == 200
    answer = client.get("/entities/tea?collection=prior").json()
    assert (answer["n"], sum(answer["counts"].values()), answer["aliases"]) == (0, 0, [])
    assert answer["target"] == {"distribution": {"10": 1}, "rule": "external", "n": 0, "alpha": 1}
    assert "drift" not in answer
    assert client.get("/entities/coffee?collection=prior").status_code == 404
    assert rerank(client, collection="prior")["target"]["rule"] == "external"


@pytest.mark.parametrize("name", ["a/b", "target", "a/target", "é {x}:\n", "?", "t:1:"])
def test_an_entity_of_any_name_may_have_a_target(client: TestClient, name: str) -> None:
    path = f"/entities/{''.join(f'%{byte:02X}' for byte in name.encode())}"
    given = {"distribution": {"10": 1}}
    assert client.put(f"{path}/target?collection=names", json=given).status_code == 200
    found = client.get(f"{path}?collection=names")
    assert (found.json()["entity"], found.json()["target"]["rule"]) == (" ".join(name.casefold().split()), "external")
    assert client.delete(f"{path}/target?collection=names").json() == {"deleted": True}
    assert client.get(f"{path}?collection=names").status_code == 404


@pytest.mark.parametrize(
    ("body", "pointer", "detail"),
    [
        ({}, "/distribution", "required"),
        ({"distribution": {}}, "/distribution", "must be above zero"),
        ({"distribution": {"10": 0}}, "/distribution", "must be above zero"),
        ({"distribution": {"15": 1}}, "/distribution/15", "must be one of"),
        ({"distribution": {"x/y": 1}}, "/distribution/x~1y", "must be one of"),
        ({"distribution": {"10": -1}}, "/distribution/10", "must not be negative"),
        ({"distribution": {"10": "1"}}, "/distribution", "expected `float`"),
        ({"distribution": {"10": 1}, "source": "auto"}, "/source", "unknown field"),
    ],
)
def test_a_target_that_is_none_is_refused_where_it_stands(
    client: TestClient, body: object, pointer: str, detail: str
) -> None:
    answer = client.put("/entities/tea/target?collection=refused", json=body)
    assert answer.status_code == 422
    (error,) = answer.json()["errors"]
    assert error["pointer"].startswith(pointer)
    assert detail in error["detail"]
    assert "refused" not in client.get("/collections").json()["collections"]


def test_a_target_for_no_entity_is_refused(client: TestClient) -> None:
    for name in ("%20", "x" * 513):
        for call in (client.put, client.delete):
            answer = call(
                f"/entities/{name}/target", **({"json": {"distribution": {"0": 1}}} if call == client.put else {})
            )
            assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/entity")


def test_a_target_of_another_scale_is_not_used(client: TestClient) -> None:
    client.put("/entities/tea/target?collection=rescaled", json={"distribution": {"10": 1}})
    assert client.put("/collections/rescaled", json={"positions": [0, 10], "stars": None}).status_code == 200
    answer = client.post("/rerank", json={"entity": "tea", "collection": "rescaled", "candidates": []}).json()
    assert answer["target"]["rule"] == "uniform"
    body = {"entity": "tea", "collection": "rescaled", "candidates": [], "target": {"source": "external"}}
    assert client.post("/rerank", json=body).json()["errors"][0]["pointer"] == "/target/source"


# Parts of the population


def test_a_window_a_half_life_and_a_group_change_the_target_as_worked_by_hand(aged: TestClient) -> None:
    def target(**asked: Any) -> dict[str, Any]:
        return rerank(aged, collection="aged", target=asked)["target"]

    # 80 of today and 40 of yesterday
    assert target(window="90d") == {
        "distribution": {"-30": 0.333333, "30": 0.666667},
        "rule": "entity",
        "n": 120,
        "alpha": 1,
    }
    assert target(window="3650d", source="corpus")["distribution"] == {"-30": 0.25, "0": 0.25, "30": 0.5}
    # yesterday's 40 weigh 20 beside today's 80, and what is older than ten days nothing: 0.2 and 0.8
    assert target(half_life="1d")["distribution"] == {"-30": 0.2, "30": 0.8}
    assert target(group={"traveller": "couple"}) == {
        "distribution": {"-30": 0.5, "0": 0.5},
        "rule": "entity",
        "n": 80,
        "alpha": 1,
    }
    assert target(group={"odd: {x}": ""})["n"] == 160
    # 80 families who all say +30: one bin only, so smoothed with all that families say, half of which is on cake at 0:
    # alpha = 80/130; 80/130 + 50/130 * 1/2 = 105/130 = 0.807692
    family = target(group={"traveller": "family"})
    assert family == {"distribution": {"0": 0.192308, "30": 0.807692}, "rule": "smoothed", "n": 80, "alpha": 0.615385}
    # nobody: not even the domain has anything
    assert target(group={"traveller": "nobody"})["rule"] == "uniform"


def test_a_part_of_the_population_is_asked_about_whatever_target_was_given(aged: TestClient) -> None:
    aged.put("/entities/tea/target?collection=aged", json={"distribution": {"10": 1}})
    try:
        assert rerank(aged, collection="aged", target={"window": "90d"})["target"]["n"] == 120
        assert rerank(aged, collection="aged")["target"]["rule"] == "external"
        for name, asked in (("window", "9d"), ("half_life", "9d"), ("group", {"a": "b"})):
            pointer, detail = refused_at(aged, {"source": "external", name: asked})
            assert (pointer, detail) == (f"/target/{name}", "does not go with a target of source external")
    finally:
        aged.delete("/entities/tea/target?collection=aged")


@pytest.mark.parametrize(
    ("target", "pointer"),
    [
        ({"window": "90"}, "/target/window"),
        ({"window": "3651d"}, "/target/window"),
        ({"window": 90}, "/target/window"),
        ({"half_life": "366d"}, "/target/half_life"),
        ({"half_life": "0d"}, "/target/half_life"),
        ({"group": {}}, "/target/group"),
        ({"group": {"a": "b", "c": "d"}}, "/target/group"),
        ({"group": {"a": 1}}, "/target/group"),
        ({"group": {"a": "b"}, "window": "9d"}, "/target/group"),
        ({"window": "9d", "source": "uniform"}, "/target/window"),
        ({"group": {"a": "b"}, "distribution": {"0": 1}}, "/target/group"),
        ({"source": "survey"}, "/target/source"),
        ({"windows": "9d"}, "/target/windows"),
        ({"distribution": {"15": 1}}, "/target/distribution/15"),
    ],
)
def test_what_does_not_go_together_is_refused_where_it_stands(aged: TestClient, target: dict, pointer: str) -> None:
    assert refused_at(aged, target)[0].startswith(pointer)
    search = {"query": "tea", "entity": "tea", "collection": "aged", "target": target}
    assert aged.post("/search", json=search).json()["errors"][0]["pointer"].startswith(pointer)


# What an entity tells


def test_an_entity_tells_how_far_the_last_90_days_are_from_all(aged: TestClient) -> None:
    """120 of 160 are recent: 1/3 at -30 and 2/3 at +30, beside 1/4, 1/4 (at 0) and 1/2."""
    answer = aged.get("/entities/tea?collection=aged").json()
    # cumulative: 1/3 against 1/4 over 30 units, 1/3 against 1/2 over 30 more: 30/12 + 30/6 = 7.5
    assert answer["drift"] == {"window": "90d", "n": 120, "w1": 7.5}
    assert (answer["entity"], answer["n"], answer["aliases"]) == ("tea", 160, [])


def test_too_few_recent_opinions_tell_no_drift(client: TestClient) -> None:
    def document(i: int, age: int) -> dict[str, Any]:
        return {"id": str(i), "timestamp": ago(age), "opinions": [{"entity": "tea", "si": 30}]}

    client.post("/ingest", json={"collection": "recent", "documents": [document(i, i % 2 * 99) for i in range(48)]})
    assert "drift" not in client.get("/entities/tea?collection=recent").json()  # 24
    client.post("/ingest", json={"collection": "recent", "documents": [document(48, 0)]})
    assert client.get("/entities/tea?collection=recent").json()["drift"] == {"window": "90d", "n": 25, "w1": 0}


# What a document may hold


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"opinions": [{"entity": f"e{i}", "si": 0} for i in range(65)]}, "/opinions"),
        ({"attributes": {f"a{i}": "" for i in range(17)}}, "/attributes"),
        ({"attributes": {"a/b": "x" * 513}}, "/attributes/a~1b"),
        ({"attributes": {"x" * 513: ""}}, f"/attributes/{'x' * 513}"),
        ({"timestamp": "0001-01-01T00:00:00+01:00"}, "/timestamp"),
    ],
)
def test_a_document_that_would_count_in_too_much_is_a_failed_item(
    client: TestClient, fields: dict, pointer: str
) -> None:
    documents = [{"id": "good"}, {"id": "bad", **fields}]
    report = client.post("/ingest", json={"collection": "limits", "documents": documents}).json()
    (failed,) = report["failed"]
    assert (failed["index"], failed["id"], failed["pointer"]) == (1, "bad", pointer)
    assert client.get("/documents/bad?collection=limits").status_code == 404


def test_a_document_may_hold_64_opinions_and_16_attributes(client: TestClient) -> None:
    opinions = [{"entity": f"e{i}", "si": 0} for i in range(64)]
    document = {"id": "most", "opinions": opinions, "attributes": {f"a{i}": "v" * 512 for i in range(16)}}
    report = client.post("/ingest", json={"collection": "most", "documents": [document]}).json()
    assert (report["created"], report["failed"], report["entities"]) == (1, [], 64)

"""Names of one entity, through HTTP: where they are put, and where they are understood."""

from typing import Any

import pytest
from starlette.testclient import TestClient

REGISTRY = {"Breakfast": ["Brekkie", "ＭＯＲＮＩＮＧ  meal"]}
KEYS = {"breakfast": ["brekkie", "morning meal"]}
DOCUMENTS = [
    {"id": "a", "text": "the brekkie was wonderful", "opinions": [{"entity": "Brekkie", "si": 30}]},
    {"id": "b", "text": "cold breakfast", "opinions": [{"entity": "breakfast", "si": -30}]},
    {"id": "c", "text": "a morning meal", "opinions": [{"entity": "Morning Meal", "si": 10}, {"entity": "x", "si": 0}]},
]


@pytest.fixture
def renamed(client: TestClient, request: pytest.FixtureRequest) -> str:
    """A collection of its own whose names of breakfast are one."""
    collection = f"of {request.node.name}"
    assert client.post("/ingest", json={"collection": collection, "documents": DOCUMENTS}).json()["created"] == 3
    answer = client.put(f"/collections/{collection}", json={"registry": REGISTRY})
    assert (answer.status_code, answer.json()["registry"]) == (200, KEYS)
    return collection


def entity(client: TestClient, collection: str, name: str) -> dict[str, Any] | None:
    answer = client.get(f"/entities/{name}", params={"collection": collection})
    return answer.json() if answer.status_code == 200 else None


def rerank(client: TestClient, collection: str, **request: Any) -> dict[str, Any]:
    answer = client.post("/rerank", json={"collection": collection, "candidates": [], "k": 3, **request})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_put_into_the_registry_names_are_one_entity_and_taken_out_they_are_several(
    client: TestClient, renamed: str
) -> None:
    for name in ("breakfast", "BREKKIE", "morning meal"):
        told = entity(client, renamed, name)
        assert (told["entity"], told["n"], told["aliases"]) == ("breakfast", 3, ["brekkie", "morning meal"])
        assert {si: n for si, n in told["counts"].items() if n} == {"-30": 1, "10": 1, "30": 1}
    listed = client.get("/entities", params={"collection": renamed}).json()["entities"]
    assert listed == [{"entity": "breakfast", "n": 3}, {"entity": "x", "n": 1}]
    assert client.get(f"/collections/{renamed}").json()["registry"] == KEYS
    assert client.get(f"/documents/a?collection={renamed}").json()["opinions"] == [{"entity": "brekkie", "si": 30}]

    assert client.put(f"/collections/{renamed}", json={}).json()["registry"] == {}
    assert [entity(client, renamed, name)["n"] for name in ("breakfast", "brekkie", "morning meal")] == [1, 1, 1]
    assert len(client.get("/entities", params={"collection": renamed}).json()["entities"]) == 4


def test_a_request_may_use_any_name_and_is_told_the_entity(client: TestClient, renamed: str) -> None:
    for name in ("breakfast", "Brekkie", "morning  MEAL"):
        answer = rerank(client, renamed, entity=name)
        assert (answer["decision"]["entity"], answer["decision"]["entity_source"]) == ("breakfast", "request")
        assert {r["id"] for r in answer["results"]} == {"a", "b", "c"}
        assert answer["target"]["n"] == 3


def test_labels_of_ids_and_inline_opinions_are_understood_under_any_name(client: TestClient, renamed: str) -> None:
    candidates = [
        {"id": "a", "score": 0.9},
        {"id": "c", "score": 0.8},
        {
            "id": "new",
            "score": 0.7,
            "opinions": [{"entity": "ｂｒｅｋｋｉｅ", "si": -10}, {"entity": "breakfast", "si": 20}],
        },
        {"id": "other", "score": 0.6, "opinions": [{"entity": "dinner", "si": -10}]},
    ]
    answer = rerank(
        client, renamed, entity="morning meal", candidates=candidates, k=4, variant="top_k", expansion="none"
    )
    told = [(r["id"], r["si"], r["entity_match"]) for r in answer["results"]]
    # of two opinions that fall together the first counts
    assert told == [("a", 30, True), ("c", 10, True), ("new", -10, True), ("other", None, False)]


def test_a_question_may_use_any_name_from_the_first_one_on(client: TestClient, renamed: str) -> None:
    answer = rerank(client, renamed, query="How was the BREKKIE?")
    assert (answer["decision"]["entity"], answer["decision"]["entity_source"]) == ("breakfast", "query")
    assert {r["id"] for r in answer["results"]} == {"a", "b", "c"}
    found = client.post("/search", json={"collection": renamed, "query": "a morning meal", "k": 3}).json()
    assert (found["decision"]["entity"], found["decision"]["entity_source"]) == ("breakfast", "query")


def test_a_question_asked_before_the_registry_changed_is_understood_right_after(
    client: TestClient, renamed: str
) -> None:
    """The service must not go by the names that it knew a moment ago."""

    def told(query: str) -> str | None:
        return rerank(client, renamed, query=query)["decision"]["entity"]

    assert told("the brekkie, please") == "breakfast"
    client.put(f"/collections/{renamed}", json={"registry": {"breakfast": ["elevenses"]}})
    assert told("the elevenses, please") == "breakfast"
    client.put(f"/collections/{renamed}", json={"registry": {}})
    assert told("the elevenses, please") is None
    assert told("the brekkie, please") == "brekkie"


def test_a_target_is_that_of_the_entity_under_any_name(client: TestClient, renamed: str) -> None:
    client.put(f"/entities/brekkie/target?collection={renamed}", json={"distribution": {"20": 1}})
    for name in ("breakfast", "brekkie", "morning meal"):
        assert entity(client, renamed, name)["target"]["rule"] == "external"
        assert rerank(client, renamed, entity=name)["target"]["distribution"] == {"20": 1}
    assert client.delete(f"/entities/morning%20meal/target?collection={renamed}").json() == {"deleted": True}
    assert entity(client, renamed, "breakfast")["target"]["rule"] == "smoothed"


def test_documents_that_come_later_count_under_the_entity_and_repeated_ones_are_unchanged(
    client: TestClient, renamed: str
) -> None:
    later = {"id": "d", "opinions": [{"entity": "BREKKIE", "si": 0}]}
    report = client.post("/ingest", json={"collection": renamed, "documents": [*DOCUMENTS, later]}).json()
    assert (report["created"], report["unchanged"], report["entities"]) == (1, 3, 1)
    assert entity(client, renamed, "breakfast")["n"] == 4


@pytest.mark.parametrize(
    ("registry", "pointer"),
    [
        ({"a": ["x"], "b": ["x"]}, "/registry/b"),
        ({"a": ["b"], "b": ["c"]}, "/registry/b"),
        ({"a": [""]}, "/registry/a/0"),
        ({"a/~": ["x" * 513]}, "/registry/a~1~0/0"),
        ({"": ["x"]}, "/registry/"),
        ({"a": "b"}, "/registry"),
        ({"a": [1]}, "/registry"),
        ([], "/registry"),
    ],
)
def test_a_registry_that_is_none_is_refused_where_it_stands_and_changes_nothing(
    client: TestClient, renamed: str, registry: object, pointer: str
) -> None:
    answer = client.put(f"/collections/{renamed}", json={"registry": registry})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"].startswith(pointer)
    assert client.get(f"/collections/{renamed}").json()["registry"] == KEYS


def test_a_scale_that_cannot_change_leaves_the_registry_as_it_was(client: TestClient, renamed: str) -> None:
    answer = client.put(f"/collections/{renamed}", json={"positions": [0, 1], "stars": None, "registry": {}})
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/positions")
    assert entity(client, renamed, "brekkie")["n"] == 3

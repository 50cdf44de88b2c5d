"""Expansion from the tail of the caller's own ranking."""

from typing import Any

import pytest
from starlette.testclient import TestClient

HALF = {"distribution": {"-30": 1, "30": 1}}


def candidate(name: str, score: float, si: float, entity: str = "Lobby", **fields: Any) -> dict[str, Any]:
    return {"id": name, "score": score, "opinions": [{"entity": entity, "si": si}], **fields}


POOL = [candidate(f"p{i}", 9 - i, 30, text=f"good {i}") for i in range(3)]
TAIL = [
    candidate("t0", 5.0, -10, text="not so good"),
    candidate("t1", 4.0, -30, text="bad", metadata={"page": 7}, tokens=12),
    candidate("other", 3.5, -30, entity="Pool"),
    candidate("t2", 3.0, -30),
]


def rerank(client: TestClient, **request: Any) -> dict[str, Any]:
    answer = client.post("/rerank", json={"entity": "lobby", "candidates": POOL, "target": HALF, **request})
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    return body


def by_id(answer: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {result["id"]: result for result in answer["results"]}


def test_what_the_pool_lacks_comes_out_of_the_tail_as_it_was_given(client: TestClient) -> None:
    """Two of +30 and two of -30 meet half and half exactly; t1 and t2 alone are at -30 and on the entity."""
    answer = rerank(client, tail=TAIL, k=4)
    found = by_id(answer)
    assert found.keys() == {"p0", "p1", "t1", "t2"}
    assert (answer["quality"]["w1"], answer["decision"]["deficit"]) == (0, [-30])
    assert (answer["decision"]["expansion"], answer["decision"]["added"]) == ("entity_gated", 3)
    t1 = found["t1"]
    assert (t1["index"], t1["origin"], t1["score"], t1["si"], t1["text"], t1["metadata"]) == (
        *(None, "expansion", 4.0, -30, "bad"),
        {"page": 7},
    )
    assert ("text" in found["t2"], found["p1"]["index"], found["p1"]["origin"]) == (False, 1, "pool")


def test_adaptive_expansion_takes_of_the_tail_only_what_is_short_and_the_best_of_it(client: TestClient) -> None:
    longer = [candidate(f"n{i}", i / 10, -30) for i in range(8)]
    answer = rerank(client, tail=longer, k=4, expansion="adaptive", variant="w1_minimizer")
    assert answer["decision"]["added"] == 4
    assert {name for name in by_id(answer) if name.startswith("n")} == {"n7", "n6"}


def test_the_tails_scores_count_as_the_pools_do(client: TestClient) -> None:
    """Asked for relevance alone, a found document of a higher score comes first."""
    answer = rerank(client, tail=[candidate("t", 100.0, -30)], k=4, variant="top_k")
    assert [result["id"] for result in answer["results"]] == ["t", "p0", "p1", "p2"]


def test_distances_are_turned_round_in_the_tail_too(client: TestClient) -> None:
    answer = rerank(client, tail=[candidate("t", 0.5, -30)], k=4, variant="top_k", score_kind="distance")
    assert [(result["id"], result["score"]) for result in answer["results"]][:2] == [("t", 0.5), ("p2", 7)]


def test_nothing_that_is_in_the_pool_or_twice_in_the_tail_is_added_twice(client: TestClient) -> None:
    twice = [candidate("p0", 1.0, -30), candidate("t", 2.0, -30), candidate("t", 3.0, -30)]
    answer = rerank(client, tail=twice, k=9)
    assert sorted(by_id(answer)) == ["p0", "p1", "p2", "t"]
    assert (len(answer["results"]), by_id(answer)["t"]["score"], answer["decision"]["added"]) == (4, 3.0, 1)


@pytest.mark.parametrize(("tail", "origins"), [(None, {"pool", "expansion"}), ([], {"pool"})])
def test_a_sent_tail_is_the_only_place_that_is_looked_into(
    client: TestClient, tail: list[Any] | None, origins: set[str]
) -> None:
    candidates = [{"id": "r1", "score": 9.0}]
    answer = rerank(client, entity="breakfast", collection="hotels", candidates=candidates, tail=tail, k=5)
    assert {result["origin"] for result in answer["results"]} == origins


def test_labels_of_the_tail_come_from_the_store_where_it_brings_none(client: TestClient) -> None:
    candidates, tail = [{"id": "r1", "score": 9.0}], [{"id": name, "score": 1.0} for name in ("r4", "r7", "unknown")]
    answer = rerank(client, entity="breakfast", collection="hotels", candidates=candidates, tail=tail, k=5)
    found = by_id(answer)
    assert found.keys() == {"r1", "r4"}
    assert (found["r4"]["si"], found["r4"]["origin"]) == (-30, "expansion")
    assert found["r4"].get("text") is None  # it came without, as in the request


def test_excluded_documents_do_not_come_back_through_the_tail(client: TestClient) -> None:
    hidden = {"id": "hidden", "text": "x", "excluded": True, "opinions": [{"entity": "Lobby", "si": -30}]}
    assert client.post("/ingest", json={"collection": "tails", "documents": [hidden]}).json()["created"] == 1
    answer = rerank(client, collection="tails", tail=[candidate("hidden", 5.0, -30), candidate("t", 1.0, -30)], k=4)
    assert "hidden" not in by_id(answer)
    assert "t" in by_id(answer)


def test_a_pool_that_lacks_nothing_leaves_the_tail_alone(client: TestClient) -> None:
    answer = rerank(client, candidates=[*POOL, candidate("n", 1.0, -30)], tail=TAIL, k=2)
    assert (answer["decision"]["added"], answer["decision"]["expansion"]) == (0, "none")


def test_without_scores_the_tail_goes_on_where_the_ranking_of_the_candidates_ends(client: TestClient) -> None:
    pool = [{key: value for key, value in one.items() if key not in ("score", "text")} for one in POOL]
    tail = [{key: value for key, value in one.items() if key not in ("score", "text")} for one in TAIL[:2]]
    answer = rerank(client, candidates=pool, tail=tail, k=5, variant="top_k")
    assert [(result["id"], result["score"]) for result in answer["results"]] == [
        ("p0", 1.0),
        ("p1", 0.8),
        ("p2", 0.6),
        ("t0", 0.4),
        ("t1", 0.2),
    ]


@pytest.mark.parametrize(
    ("tail", "pointer", "detail"),
    [
        ([candidate("t", 1.0, -30), {"id": "u"}], "/tail/1/score", "either all candidates have a score or none"),
        ([candidate("", 1.0, -30)], "/tail/0/id", "expected `str` of length >= 1"),
        ([candidate("t", 1.0, 17)], "/tail/0/opinions/0/si", "17"),
        (
            [candidate("t", 1.0, -30, embedding=[1.0]), candidate("u", 1.0, 0, embedding=[1.0, 2.0])],
            "/tail/1/embedding",
            "1",
        ),
        ([candidate(f"t{i}", 1.0, -30) for i in range(48)], "/tail", "at most 47 are allowed beside the candidates"),
        ([{"id": "t", "rank": 3}], "/tail/0/rank", "unknown field"),
    ],
)
def test_a_mistake_in_the_tail_is_named_where_it_stands(
    client: TestClient, tail: list[Any], pointer: str, detail: str
) -> None:
    answer = client.post("/rerank", json={"entity": "lobby", "candidates": POOL, "tail": tail})
    assert answer.status_code == 422
    (error,) = answer.json()["errors"]
    assert error["pointer"].startswith(pointer)
    assert detail in error["detail"]


def test_texts_and_tokens_of_the_tail_count_as_those_of_the_pool(client: TestClient) -> None:
    """Of the tail t1 costs 12 tokens; a pool document of 6 letters costs 2. Both fit into 14, and nothing else does."""
    answer = rerank(client, tail=TAIL[:2], k=4, variant="mmr", expansion="entity_gated")
    assert answer["decision"]["added"] == 2
    short = rerank(client, tail=TAIL[1:2], k=9, token_budget=14, variant="w1_minimizer")
    assert (sorted(by_id(short)), short["quality"]["tokens"]) == (["p0", "t1"], 12)

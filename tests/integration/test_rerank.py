"""POST /rerank and /search: what comes back, and what it says of itself."""

import pytest
from starlette.testclient import TestClient

INLINE = [
    {"id": f"c{i}", "score": 1 - i / 10, "opinions": [{"entity": "Breakfast", "si": si}]}
    for i, si in enumerate((30, 30, 30, -30, 30))
]


def rerank(client: TestClient, **request: object) -> dict[str, object]:
    answer = client.post("/rerank", json=request)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_the_selection_follows_the_target_and_not_the_scores(client: TestClient) -> None:
    """A half-and-half target of two documents takes the only negative one, which top-k has not."""
    half = {"distribution": {"-30": 1, "30": 1}}
    warp = rerank(client, entity="breakfast", candidates=INLINE, k=2, target=half, expansion="none")
    plain = rerank(client, entity="breakfast", candidates=INLINE, k=2, target=half, variant="top_k", expansion="none")
    assert {result["id"] for result in warp["results"]} == {"c0", "c3"}
    assert [result["id"] for result in plain["results"]] == ["c0", "c1"]
    # k = 2 of half and half is met exactly; two at +30 leave half the mass 60 away: 30
    assert (warp["quality"]["w1"], warp["quality"]["w1_top_k"], plain["quality"]["w1"]) == (0, 30, 30)
    assert warp["quality"]["w1_best"] == 0
    assert warp["target"] == {"distribution": {"-30": 0.5, "30": 0.5}, "rule": "request", "n": 0, "alpha": 1}


def test_each_result_tells_the_w1_of_the_list_so_far(client: TestClient) -> None:
    half = {"distribution": {"-30": 1, "30": 1}}
    answer = rerank(client, entity="breakfast", candidates=INLINE, k=2, target=half, expansion="none", explain=True)
    assert [(r["w1_after"], r["w1_gain"]) for r in answer["results"]] == [(30, 30), (0, 30)]
    assert answer["distributions"]["top_k"] == {"30": 1}
    assert answer["distributions"]["selection"] == {"-30": 0.5, "30": 0.5}
    assert answer["distributions"]["pool"] == {"-30": 0.2, "30": 0.8}


def test_labels_come_from_the_store_for_candidates_that_bring_none(client: TestClient) -> None:
    candidates = [{"id": "r1", "score": 0.9}, {"id": "r6", "score": 0.8}, {"id": "unknown", "score": 0.7}]
    answer = rerank(
        client, entity="BREAKFAST", collection="hotels", candidates=candidates, k=3, variant="top_k", expansion="none"
    )
    assert [(r["si"], r["entity_match"]) for r in answer["results"]] == [(30, True), (None, False), (None, False)]
    assert answer["decision"]["em_top_k"] == pytest.approx(1 / 3, abs=1e-4)


def test_inline_opinions_win_over_the_stored_ones(client: TestClient) -> None:
    candidates = [{"id": "r1", "score": 1.0, "opinions": [{"entity": "breakfast", "si": -10}]}]
    answer = rerank(
        client, entity="breakfast", collection="hotels", candidates=candidates, k=1, variant="top_k", expansion="none"
    )
    assert answer["results"][0]["si"] == -10


def test_text_and_metadata_come_back_as_they_were_given(client: TestClient) -> None:
    metadata = {"big": 9007199254740993, "nested": {"é": [None, {}]}, "empty": {}}
    candidates = [{"id": "m", "score": 1.0, "text": "Zoë's  text\n", "metadata": metadata, "attributes": {"a": "b"}}]
    (result,) = rerank(client, entity="x", candidates=candidates, variant="top_k", k=1, expansion="none")["results"]
    assert (result["text"], result["metadata"], result["attributes"]) == ("Zoë's  text\n", metadata, {"a": "b"})
    assert (
        b"9007199254740993"
        in client.post(
            "/rerank", json={"entity": "x", "candidates": candidates, "variant": "top_k", "expansion": "none"}
        ).content
    )


def test_expansion_finds_what_the_pool_lacks_and_says_so(client: TestClient) -> None:
    """The pool holds the two positive reviews; the store knows three more on breakfast."""
    candidates = [{"id": "r1", "score": 9.0}, {"id": "r2", "score": 7.0}]
    answer = rerank(client, entity="breakfast", collection="hotels", candidates=candidates, k=5)
    decision = answer["decision"]
    assert (decision["expansion"], decision["added"], decision["em_attainable"]) == ("entity_gated", 3, 0.4)
    assert decision["deficit"] == [-30, -20, 0, 20]  # +20 from the domain: five opinions are smoothed with it
    found = {result["id"]: result for result in answer["results"]}
    assert found.keys() == {"r1", "r2", "r3", "r4", "r5"}
    assert (found["r4"]["origin"], found["r4"]["index"], found["r4"]["text"]) == (
        "expansion",
        None,
        "the worst breakfast of my life",
    )
    assert (found["r1"]["origin"], found["r1"]["index"]) == ("pool", 0)
    assert answer["quality"]["em"] == 1


def test_adaptive_expansion_adds_only_what_is_in_deficit(client: TestClient) -> None:
    candidates = [{"id": name, "score": 1.0} for name in ("r1", "r2", "r3", "r5")]
    answer = rerank(client, entity="breakfast", collection="hotels", candidates=candidates, k=4, expansion="adaptive")
    assert (answer["decision"]["deficit"], answer["decision"]["added"]) == ([-30, 20], 1)  # no breakfast is at +20


def test_expansion_bypasses_itself_when_nothing_is_missing(client: TestClient) -> None:
    candidates = [{"id": name, "score": 1.0} for name in ("r1", "r2", "r3", "r4", "r5")]
    for wish in ("auto", "adaptive"):
        answer = rerank(client, entity="breakfast", collection="hotels", candidates=candidates, k=5, expansion=wish)
        assert answer["decision"]["added"] == 0


def test_an_empty_pool_is_filled_by_expansion_alone(client: TestClient) -> None:
    answer = rerank(client, entity="pool", collection="hotels", candidates=[], k=5)
    assert {result["id"] for result in answer["results"]} == {"r6", "r7"}


def test_an_empty_pool_without_expansion_is_an_empty_answer_with_a_warning(client: TestClient) -> None:
    answer = rerank(client, entity="pool", collection="hotels", candidates=[], k=5, expansion="none")
    assert answer["results"] == []
    assert (answer["quality"]["w1"], answer["quality"]["selected"]) == (None, 0)
    assert "only 0 of 5" in " ".join(answer["warnings"])


def test_the_entity_is_found_in_the_question(client: TestClient) -> None:
    answer = rerank(
        client, query="What do guests say about the ＢＲＥＡＫＦＡＳＴ?", collection="hotels", candidates=["one"]
    )
    assert (answer["decision"]["entity"], answer["decision"]["entity_source"]) == ("breakfast", "query")


def test_without_a_known_entity_the_answer_is_top_k_and_says_why(client: TestClient) -> None:
    candidates = [{"id": "a", "score": 0.1}, {"id": "b", "score": 0.9}]
    answer = rerank(client, query="What about parking?", collection="hotels", candidates=candidates, k=2)
    assert [result["id"] for result in answer["results"]] == ["b", "a"]
    assert (answer["decision"]["variant"], answer["decision"]["entity_source"]) == ("top_k", "none")
    assert "no known entity" in answer["decision"]["reason"]


def test_plain_strings_without_scores_are_scored_by_the_encoder(client: TestClient) -> None:
    texts = ["the swimming pool", "a fresh breakfast with eggs", "parking"]
    answer = rerank(client, query="breakfast eggs", entity="none", candidates=texts, variant="top_k", expansion="none")
    assert answer["results"][0]["index"] == 1
    assert [result["id"] for result in answer["results"]] == [None] * 3


def test_without_query_or_text_candidates_are_scored_by_position(client: TestClient) -> None:
    candidates = [{"id": "x"}, {"id": "y"}]
    answer = rerank(client, entity="none", candidates=candidates, variant="top_k", expansion="none")
    assert [result["id"] for result in answer["results"]] == ["x", "y"]


def test_a_declared_distance_is_turned_round_and_given_back_untouched(client: TestClient) -> None:
    candidates = [{"id": name, "score": score} for name, score in (("far", 0.9), ("near", 0.1), ("mid", 0.5))]
    common = {"entity": "none", "candidates": candidates, "variant": "top_k", "expansion": "none"}
    nearest = rerank(client, **common, score_kind="distance")["results"]
    assert [(r["id"], r["score"]) for r in nearest] == [("near", 0.1), ("mid", 0.5), ("far", 0.9)]
    assert [r["id"] for r in rerank(client, **common)["results"]] == ["far", "mid", "near"]


def test_of_equal_ids_the_best_scored_counts_with_a_warning(client: TestClient) -> None:
    candidates = [{"id": "d", "score": 0.2}, {"id": "e", "score": 0.5}, {"id": "d", "score": 0.9}]
    answer = rerank(client, entity="none", candidates=candidates, variant="top_k", expansion="none")
    assert [(r["id"], r["index"]) for r in answer["results"]] == [("d", 2), ("e", 1)]
    assert "1 candidates" in answer["warnings"][-2]


def test_excluded_documents_are_left_out_of_pool_target_and_expansion(client: TestClient) -> None:
    documents = [
        {"id": "ok", "text": "good", "opinions": [{"entity": "spa", "si": 30}]},
        {"id": "bad", "text": "vile", "opinions": [{"entity": "spa", "si": -30}], "excluded": True},
    ]
    client.post("/ingest", json={"collection": "safe", "documents": documents})
    inline = {"id": "bad", "score": 2.0, "opinions": [{"entity": "spa", "si": -30}]}
    answer = rerank(client, entity="spa", collection="safe", candidates=[inline], k=2)
    assert [result["id"] for result in answer["results"]] == ["ok"]
    assert answer["target"]["distribution"] == {"30": 1}
    assert "1 excluded" in " ".join(answer["warnings"])


def test_fill_tops_up_with_the_most_relevant_of_the_rest(client: TestClient) -> None:
    candidates = [*INLINE[:1], {"id": "other", "score": 5.0}, {"id": "another", "score": 6.0}]
    common = {"entity": "breakfast", "candidates": candidates, "k": 2, "variant": "w1_minimizer", "expansion": "none"}
    assert [r["id"] for r in rerank(client, **common)["results"]] == ["c0"]
    assert [r["id"] for r in rerank(client, **common, fill=True)["results"]] == ["c0", "another"]


def test_a_relevance_weight_that_changes_nothing_is_told(client: TestClient) -> None:
    answer = rerank(client, entity="breakfast", candidates=INLINE, k=1, variant="w1_minimizer", relevance_weight=0)
    assert "no relevance weight" in " ".join(answer["warnings"])


def test_stars_and_sentiment_reach_the_same_bins(client: TestClient) -> None:
    opinions = ({"stars": 3.5}, {"stars": 4.5}, {"sentiment": "negative", "intensity": "high"}, {"sentiment": "mixed"})
    candidates = [
        {"id": str(i), "score": 1.0, "opinions": [{"entity": "e", **opinion}]} for i, opinion in enumerate(opinions)
    ]
    answer = rerank(client, entity="e", candidates=candidates, k=4, variant="top_k", expansion="none")
    assert [result["si"] for result in answer["results"]] == [10, 20, -30, 0]


def test_a_collection_may_have_a_scale_of_its_own(client: TestClient) -> None:
    scale = {"positions": [1, 2, 3, 4, 5], "stars": [1, 2, 3, 4, 5]}
    assert client.put("/collections/stars", json=scale).status_code == 200
    document = {"id": "s", "text": "fine", "opinions": [{"entity": "tea", "stars": 4}]}
    client.post("/ingest", json={"collection": "stars", "documents": [document]})
    answer = rerank(client, entity="tea", collection="stars", candidates=[{"id": "s", "score": 1.0}], k=1)
    assert answer["results"][0]["si"] == 4
    assert answer["target"]["distribution"] == {"4": 1}


def test_search_retrieves_from_the_index(client: TestClient) -> None:
    answer = client.post("/search", json={"query": "stale cold bread breakfast", "collection": "hotels", "k": 5}).json()
    assert {result["id"] for result in answer["results"]} == {"r1", "r2", "r3", "r4", "r5"}
    assert all(result["text"] for result in answer["results"])
    plain = client.post(
        "/search", json={"query": "cold breakfast stale bread", "collection": "hotels", "k": 1, "variant": "top_k"}
    ).json()
    assert plain["results"][0]["id"] == "r3"


def test_an_unknown_collection_is_told(client: TestClient) -> None:
    answer = rerank(client, entity="x", collection="hotles", candidates=INLINE, k=1)
    assert "hotles" in " ".join(answer["warnings"])
    assert answer["target"]["rule"] == "uniform"


def test_the_same_request_is_answered_with_the_same_results(client: TestClient) -> None:
    """Thirty candidates with one label and one score: the order is the input's, every time."""
    candidates = [{"id": f"t{i}", "score": 0.5, "opinions": [{"entity": "e", "si": 0}]} for i in range(30)]
    for variant in ("w1_minimizer", "w1_mmr", "w1_exact", "top_k"):
        for _ in range(3):
            answer = rerank(client, entity="e", candidates=candidates, k=30, variant=variant, expansion="none")
            assert [result["index"] for result in answer["results"]] == list(range(30))


@pytest.mark.parametrize("scores", [(1e308, -1e308), (-1.7e308, -1.7e308), (1e-320, -1e-320), (0.0, 0.0)])
def test_scores_of_any_size_go_with_expansion(client: TestClient, scores: tuple[float, float]) -> None:
    candidates = [{"id": name, "score": score} for name, score in zip(("r1", "x"), scores, strict=True)]
    for variant in ("auto", "w1_mmr", "top_k"):
        answer = rerank(client, entity="breakfast", collection="hotels", candidates=candidates, k=7, variant=variant)
        assert answer["decision"]["added"] == 4
        assert answer["results"][0]["id"] in ("r1", "r5")


@pytest.mark.parametrize("variant", ["top_k", "mmr", "lexrank", "kdpp"])
def test_an_empty_text_does_not_spoil_the_ranking_of_the_others(client: TestClient, variant: str) -> None:
    texts = ["", "a dirty swimming pool", "   ", "fresh eggs for breakfast"]
    answer = rerank(
        client, query="breakfast eggs", entity="none", candidates=texts, variant=variant, expansion="none", k=4
    )
    assert sorted(result["index"] for result in answer["results"]) == [0, 1, 2, 3]
    scores = {result["index"]: result["score"] for result in answer["results"]}
    assert scores[3] == max(scores.values()) > scores[0] == 0

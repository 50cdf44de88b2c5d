"""What is answered where little is known yet, and what the answer says of it."""

import pytest
from starlette.testclient import TestClient

pytest.importorskip("vaderSentiment")

GOOD, BAD = "The spa was wonderful, we loved it.", "The spa was horrible and dirty."


def rerank(client: TestClient, **request: object) -> dict[str, object]:
    answer = client.post("/rerank", json=request)
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.fixture(scope="module")
def labelled(client: TestClient) -> str:
    """A collection with a labeller and no documents."""
    assert client.put("/collections/labelled", json={"labeller": "vader"}).status_code == 200
    return "labelled"


def test_a_new_entity_aims_at_what_all_entities_have(client: TestClient) -> None:
    answer = rerank(client, entity="Sauna", collection="hotels", candidates=["one", "two"], k=2)
    assert (answer["target"]["rule"], answer["target"]["n"]) == ("domain", 0)
    assert answer["decision"]["reason"].startswith(
        "no opinion on 'sauna' counts, so the target is that of all entities; "
    )


def test_an_empty_collection_aims_at_the_uniform_distribution(client: TestClient) -> None:
    answer = rerank(client, entity="Sauna", collection="empty", candidates=["one"], k=1)
    assert answer["target"]["rule"] == "uniform"
    assert "so the target is uniform, as none does at all" in answer["decision"]["reason"]


def test_a_target_that_was_asked_for_needs_no_excuse(client: TestClient) -> None:
    for target in ({"distribution": {"30": 1}}, {"source": "uniform"}):
        answer = rerank(client, entity="Sauna", collection="hotels", candidates=["one"], target=target)
        assert "counts, so" not in answer["decision"]["reason"]
    known = rerank(client, entity="Pool", collection="hotels", candidates=["one"])
    assert "counts, so" not in known["decision"]["reason"]


def test_an_empty_collection_can_be_searched(client: TestClient) -> None:
    answer = client.post("/search", json={"query": "How is the spa?", "collection": "empty"})
    assert (answer.status_code, answer.json()["results"]) == (200, [])


def test_texts_that_nobody_labelled_are_labelled_when_the_collection_asks_for_it(
    client: TestClient, labelled: str
) -> None:
    """One names the entity and is good, one names it and is bad, one is bad and about something else."""
    texts = [GOOD, BAD, "A terrible waiter."]
    half = {"distribution": {"-30": 1, "30": 1}}
    answer = rerank(client, entity="SPA", collection=labelled, candidates=texts, k=2, target=half, explain=True)
    found = {result["index"]: (result["si"], result["entity_match"]) for result in answer["results"]}
    assert found == {0: (30, True), 1: (-30, True)}
    assert answer["decision"]["em_pool"] == pytest.approx(2 / 3, abs=1e-4)
    assert "3 candidates were labelled by vader" in answer["decision"]["reason"]
    assert answer["distributions"]["pool"].keys() == {"-30", "-20", "30"}  # terrible -2.1: -0.48, medium


def test_no_text_is_labelled_where_the_collection_does_not_ask_for_it(client: TestClient) -> None:
    answer = rerank(client, entity="spa", collection="hotels", candidates=[GOOD], variant="top_k", expansion="none")
    assert (answer["results"][0]["si"], answer["results"][0]["entity_match"]) == (None, False)
    assert "labelled" not in answer["decision"]["reason"]


def test_what_the_request_or_the_store_tells_is_not_labelled_over(client: TestClient, labelled: str) -> None:
    stored = {"id": "stored", "text": GOOD, "opinions": [{"entity": "bar", "si": 10}]}
    client.post("/ingest", json={"collection": labelled, "documents": [stored]})
    candidates = [
        {"id": "inline", "text": GOOD, "opinions": [{"entity": "spa", "si": -10}]},
        {"id": "whole", "text": GOOD, "si": -20},
        {"id": "none", "text": GOOD, "opinions": []},
        {"id": "stored", "text": GOOD},
        {"id": "blank", "text": " "},
        {"id": "textless"},
    ]
    answer = rerank(
        client, entity="spa", collection=labelled, candidates=candidates, variant="top_k", expansion="none", k=6
    )
    found = {result["id"]: (result["si"], result["entity_match"]) for result in answer["results"]}
    assert found == {
        "inline": (-10, True),
        "whole": (-20, False),
        "none": (None, False),
        "stored": (None, False),
        "blank": (None, False),
        "textless": (None, False),
    }


def test_documents_without_opinions_are_labelled_as_a_whole_at_ingest(client: TestClient, labelled: str) -> None:
    documents = [
        {"id": "good", "text": GOOD},
        {"id": "own si", "text": GOOD, "si": -10},
        {"id": "own opinion", "text": GOOD, "opinions": [{"entity": "spa", "si": -10}]},
        {"id": "blank", "text": ""},
    ]
    for collection, sis in ((labelled, [30, -10, None, None]), ("unlabelled", [None, -10, None, None])):
        body = {"collection": collection, "documents": documents}
        assert client.post("/ingest", json=body).json()["created"] == 4
        stored = [client.get(f"/documents/{one['id']}?collection={collection}").json() for one in documents]
        assert [one["si"] for one in stored] == sis
        assert client.post("/ingest", json=body).json()["unchanged"] == 4  # the same label every time


def test_entities_of_the_registry_that_a_text_names_are_labelled_by_what_it_says_of_them(client: TestClient) -> None:
    settings = {"labeller": "vader", "registry": {"Spa": ["Wellness Area"], "Bar": ["Lounge"]}}
    assert client.put("/collections/named", json=settings).status_code == 200
    document = {
        "id": "d",
        "text": "The wellness area was wonderful, we loved it! The sauna was cold. A horrible lounge.",
    }
    body = {"collection": "named", "documents": [document]}
    report = client.post("/ingest", json=body).json()
    assert (report["created"], report["entities"]) == (1, 2)
    stored = client.get("/documents/d?collection=named").json()
    assert {one["entity"]: one["si"] for one in stored["opinions"]} == {"spa": 30, "bar": -20}  # -2.5: -0.54
    assert client.get("/entities/spa?collection=named").json()["counts"]["30"] == 1
    assert client.post("/ingest", json=body).json()["unchanged"] == 1
    candidates = ["The lounge is great!", "It was great!"]
    answer = rerank(client, entity="bar", collection="named", candidates=candidates, variant="top_k", expansion="none")
    assert [result["entity_match"] for result in answer["results"]] == [True, False]


def test_bad_documents_are_named_beside_labelled_ones(client: TestClient, labelled: str) -> None:
    documents = [{"id": "fine", "text": BAD}, {"id": "bad", "text": GOOD, "si": 7}]
    answer = client.post("/ingest", json={"collection": labelled, "documents": documents}).json()
    assert (answer["created"], [one["pointer"] for one in answer["failed"]]) == (1, ["/si"])


def test_a_question_that_names_no_entity_finds_the_nearest_and_says_how_near(client: TestClient) -> None:
    """`breakfast` and `pool` are known; nobody names them."""
    answer = rerank(client, query="How is the morning meal?", collection="hotels", candidates=[{"id": "r1"}], k=5)
    decision = answer["decision"]
    assert (decision["entity"], decision["entity_source"]) == ("breakfast", "nearest")
    assert "'breakfast' is the nearest to the question (similarity 0.5" in decision["reason"]
    assert {result["id"] for result in answer["results"]} == {"r1", "r2", "r3", "r4", "r5"}
    assert answer["target"]["n"] == 5
    search = client.post("/search", json={"query": "How is the morning meal?", "collection": "hotels", "k": 5}).json()
    assert (search["decision"]["entity"], search["decision"]["entity_source"]) == ("breakfast", "nearest")
    assert search["quality"]["em"] == 1


def test_a_question_about_something_else_finds_none_and_says_how_near_the_nearest_was(client: TestClient) -> None:
    answer = rerank(client, query="What is the capital of France?", collection="hotels", candidates=["one"])
    decision = answer["decision"]
    assert (decision["entity"], decision["entity_source"], decision["variant"]) == (None, "none", "top_k")
    assert "the query names no known entity (the nearest, " in decision["reason"]
    assert "below 0.45)" in decision["reason"]


def test_a_collection_may_ask_for_more_nearness_or_none_at_all(client: TestClient) -> None:
    document = {"id": "d", "text": "eggs", "opinions": [{"entity": "breakfast", "si": 30}]}
    for collection, least, found in (("strict", 0.99, None), ("off", 1, None), ("lax", 0.2, "breakfast")):
        client.put(f"/collections/{collection}", json={"policy": {"nearest_entity": least}})
        client.post("/ingest", json={"collection": collection, "documents": [document]})
        answer = rerank(client, query="How is the morning meal?", collection=collection, candidates=["one"])
        assert answer["decision"]["entity"] == found
        assert ("the nearest" in answer["decision"]["reason"]) is (least < 1)

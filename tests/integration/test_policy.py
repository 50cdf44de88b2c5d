"""A collection's policy over HTTP: what is refused, and what it changes."""

import pytest
from starlette.testclient import TestClient

REVIEWS = [("low", -30), ("mid", 0), ("high", 30), ("top", 30)]


def put(client: TestClient, collection: str, **settings: object) -> None:
    answer = client.put(f"/collections/{collection}", json=settings)
    assert answer.status_code == 200, answer.text


def filled(client: TestClient, collection: str, **settings: object) -> str:
    """A collection with four reviews of one entity."""
    put(client, collection, **settings)
    documents = [
        {"id": name, "text": f"the spa is {name}", "opinions": [{"entity": "spa", "si": si}]} for name, si in REVIEWS
    ]
    assert client.post("/ingest", json={"collection": collection, "documents": documents}).status_code == 200
    return collection


def rerank(client: TestClient, collection: str, **request: object) -> dict[str, object]:
    body = {"entity": "spa", "collection": collection, "candidates": [{"id": "top", "score": 1.0}], "k": 2, **request}
    answer = client.post("/rerank", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.parametrize(
    ("settings", "pointer", "detail"),
    [
        ({"policy": {"dense_em": 1.5}}, "/policy/dense_em", "<= 1.0"),
        ({"policy": {"dense_em": "0.5"}}, "/policy/dense_em", "got `str`"),
        ({"policy": {"deficit_ratio": -0.1}}, "/policy/deficit_ratio", ">= 0.0"),
        ({"policy": {"dense_variant": "w2"}}, "/policy/dense_variant", "must be one of top_k"),
        ({"policy": {"sparse_variant": ""}}, "/policy/sparse_variant", "must be one of top_k"),
        ({"policy": {"short_pool_expansion": "auto"}}, "/policy/short_pool_expansion", "invalid enum value 'auto'"),
        ({"policy": {"n_exp": -1}}, "/policy/n_exp", ">= 0"),
        ({"policy": {"n2": 10_001}}, "/policy/n2", "<= 10000"),
        ({"policy": {"n2": True}}, "/policy/n2", "got `bool`"),
        ({"policy": {"tau": 1.01}}, "/policy/tau", "<= 1.0"),
        ({"policy": {"nearest_entity": 2}}, "/policy/nearest_entity", "<= 1.0"),
        ({"policy": {"dense": 1}}, "/policy/dense", "unknown field"),
        ({"labeller": "llm"}, "/labeller", "invalid enum value 'llm'"),
        ({"positions": [1, 2, 3], "stars": None, "labeller": "vader"}, "/labeller", "this scale has not"),
    ],
)
def test_a_bad_value_is_named_by_its_field(
    client: TestClient, settings: dict[str, object], pointer: str, detail: str
) -> None:
    answer = client.put("/collections/refused", json=settings)
    (error,) = answer.json()["errors"]
    assert (answer.status_code, error["pointer"]) == (422, pointer)
    assert detail in error["detail"]
    assert client.get("/collections/refused").status_code == 404


def test_a_policy_comes_back_as_it_was_put_and_null_is_left_to_the_service(client: TestClient) -> None:
    put(client, "kept", policy={"dense_em": 0.5, "n_exp": 0, "tau": None})
    assert client.get("/collections/kept").json()["policy"] == {"dense_em": 0.5, "n_exp": 0}
    put(client, "kept")
    assert client.get("/collections/kept").json()["policy"] == {}


def test_the_variants_and_the_threshold_of_a_collection_decide(client: TestClient) -> None:
    """One of two is matched: an attainable EM of 0.5, which the service calls sparse."""
    usual = filled(client, "usual policy", policy={"short_pool_expansion": "none"})
    assert rerank(client, usual)["decision"]["variant"] == "w1_mmr"
    own = filled(client, "own policy", policy={"short_pool_expansion": "none", "sparse_variant": "js_mmr"})
    assert rerank(client, own)["decision"]["variant"] == "js_mmr"
    lax = filled(client, "lax", policy={"short_pool_expansion": "none", "dense_em": 0.5, "dense_variant": "w1_exact"})
    assert rerank(client, lax)["decision"]["variant"] == "w1_exact"


def test_what_is_done_with_a_short_pool_is_the_collection_s_choice(client: TestClient) -> None:
    """Target 1/4, 1/4, 1/2 at -30, 0, 30, smoothed with itself; the pool holds one at 30."""
    expansions = {
        choice: rerank(client, filled(client, f"short {choice}", policy={"short_pool_expansion": choice}))["decision"]
        for choice in ("none", "entity_gated", "adaptive")
    }
    assert {choice: (one["expansion"], one["added"]) for choice, one in expansions.items()} == {
        "none": ("none", 0),
        "entity_gated": ("entity_gated", 3),
        "adaptive": ("adaptive", 2),
    }


def test_a_ratio_of_zero_sees_no_deficit(client: TestClient) -> None:
    strict = filled(client, "strict", policy={"deficit_ratio": 0})
    assert rerank(client, strict)["decision"]["deficit"] == []


@pytest.mark.parametrize(("n", "added"), [(0, 0), (1, 1), (2, 2), (3, 3)])
def test_a_collection_says_how_many_documents_expansion_adds(client: TestClient, n: int, added: int) -> None:
    collection = filled(client, f"n2 {n}", policy={"n2": n})
    assert rerank(client, collection)["decision"]["added"] == added


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("n", [0, 1])
def test_a_collection_says_how_many_documents_a_short_bin_gets(client: TestClient, n: int, named: bool) -> None:
    """The bins of -30 and 0 are short; a pool whose documents have no ids leaves out nothing."""
    collection = filled(client, f"n_exp {n} {named}", policy={"n_exp": n})
    candidate = {"id": "top"} if named else {"opinions": [{"entity": "spa", "si": 30}]}
    answer = rerank(client, collection, expansion="adaptive", candidates=[{"score": 1.0, **candidate}])
    assert answer["decision"]["added"] == 2 * n


def test_tau_leaves_out_what_is_far_from_the_question(client: TestClient) -> None:
    near = filled(client, "tau -1", policy={"tau": -1})
    far = filled(client, "tau 1", policy={"tau": 1})
    assert rerank(client, near)["decision"]["added"] == 3
    answer = rerank(client, far)
    assert (answer["decision"]["added"], answer["warnings"]) == (0, ["only 1 of 2 documents could be selected"])


def test_tau_without_vectors_changes_nothing_and_says_so(client: TestClient) -> None:
    put(client, "bare", policy={"tau": 1})
    document = {"id": "d", "opinions": [{"entity": "spa", "si": -30}]}
    client.post("/ingest", json={"collection": "bare", "documents": [document]})
    answer = rerank(client, "bare")
    assert answer["decision"]["added"] == 1
    assert "tau changed nothing" in " ".join(answer["warnings"])

"""Documents, entities, collections and health over HTTP."""

import re
from urllib.parse import quote

from starlette.testclient import TestClient


def test_a_document_comes_back_as_it_was_stored(client: TestClient) -> None:
    document = {
        "id": "a/b:é {x}",
        "text": "text",
        "opinions": [{"entity": "Room  Service", "stars": 5, "confidence": 0.5, "markers": ["joy"]}],
        "si": 20,
        "attributes": {"traveller": "family"},
        "metadata": {"n": 9007199254740993},
        "timestamp": "2024-02-29",
        "version": "7",
    }
    assert client.post("/ingest", json={"collection": "one", "documents": [document]}).json()["created"] == 1
    stored = client.get("/documents/a%2Fb%3A%C3%A9%20%7Bx%7D?collection=one").json()
    assert stored == {
        "id": "a/b:é {x}",
        "version": 7,
        "text": "text",
        "opinions": [{"entity": "room service", "si": 30, "confidence": 0.5, "markers": ["joy"]}],
        "si": 20,
        "attributes": {"traveller": "family"},
        "metadata": {"n": 9007199254740993},
        "timestamp": "2024-02-29",
        "excluded": False,
    }


def test_ingest_tells_created_updated_unchanged_stale_and_conflict(client: TestClient) -> None:
    def ingest(**document: object) -> dict[str, object]:
        return client.post("/ingest", json={"collection": "v", "documents": [{"id": "d", **document}]}).json()

    assert ingest(text="a", version=2)["created"] == 1
    assert ingest(text="a", version=2)["unchanged"] == 1
    assert ingest(text="b", version=1)["stale"] == 1
    assert ingest(text="b", version=2)["failed"][0]["pointer"] == "/version"
    assert ingest(text="b", version=3)["updated"] == 1
    assert ingest(text="b", version="9223372036854775808")["failed"][0]["pointer"] == "/version"


def test_counts_follow_replacement_and_deletion(client: TestClient) -> None:
    def counts() -> dict[str, int]:
        answer = client.get("/entities/Café?collection=counted")
        return {si: n for si, n in answer.json()["counts"].items() if n} if answer.status_code == 200 else {}

    for si in (10, 10, -20):
        document = {"id": "d", "opinions": [{"entity": "Cafe\u0301", "si": si}]}
        client.post("/ingest", json={"collection": "counted", "documents": [document]})
        assert counts() == {str(si): 1}
    assert client.delete("/documents/d?collection=counted").json() == {"deleted": True}
    assert client.delete("/documents/d?collection=counted").json() == {"deleted": False}
    assert counts() == {}
    assert client.get("/entities?collection=counted").json()["entities"] == []


def test_entities_are_paged_in_name_order(client: TestClient) -> None:
    documents = [{"id": str(i), "opinions": [{"entity": f"e{i}", "si": 0}]} for i in range(5)]
    client.post("/ingest", json={"collection": "paged", "documents": documents})
    seen, after = [], ""
    while after is not None:
        page = client.get("/entities", params={"collection": "paged", "limit": 2, "after": after}).json()
        seen += [one["entity"] for one in page["entities"]]
        after = page["next"]
    assert seen == ["e0", "e1", "e2", "e3", "e4"]


def test_an_entity_tells_its_target_and_the_rule_behind_it(client: TestClient) -> None:
    answer = client.get("/entities/pool?collection=hotels").json()
    assert (answer["n"], answer["counts"]["20"], answer["counts"]["-30"]) == (2, 1, 1)
    # 2 opinions: alpha = 2 / 52 = 0.038462
    assert (answer["target"]["rule"], answer["target"]["alpha"]) == ("smoothed", 0.038462)


def test_deleting_from_an_unknown_collection_creates_none(client: TestClient) -> None:
    assert client.delete("/documents/d?collection=never").json() == {"deleted": False}
    assert "never" not in client.get("/collections").json()["collections"]


def test_ready_names_each_resource(client: TestClient) -> None:
    answer = client.get("/readyz").json()
    assert answer["status"] == "ok"
    assert (answer["checks"]["store"], answer["checks"]["encoder"]) == ("ok", "wordllama")
    assert client.get("/livez").json()["status"] == "ok"


def test_the_docs_and_the_page_load_nothing_from_elsewhere(client: TestClient) -> None:
    for path in ("/docs", "/"):
        page = client.get(path)
        assert page.status_code == 200
        assert not re.findall(r'(?:src|href)="(?:https?:)?//', page.text)
    assert "default-src 'none'" in client.get("/").headers["content-security-policy"]


def test_every_route_of_the_openapi_document_describes_its_bodies(client: TestClient) -> None:
    document = client.get("/openapi.json").json()
    schemas = document["components"]["schemas"]
    for reference in re.findall(r'"#/components/schemas/(\w+)"', client.get("/openapi.json").text):
        assert reference in schemas
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            content = operation["responses"]["200"]["content"]
            assert path == "/metrics" or "$ref" in str(content["application/json"]["schema"]), (method, path)
            assert ("requestBody" in operation) == (method in ("post", "put"))
    assert schemas["RerankRequest"]["additionalProperties"] is False


def test_a_name_in_a_path_is_the_whole_of_it_whatever_it_holds(client: TestClient) -> None:
    names = ["x", "x\n", "\nx", "a\nb", "a/b", "a\r", "target", "x/target"]
    documents = [{"id": name, "opinions": [{"entity": "e", "si": 0}]} for name in names]
    assert client.post("/ingest", json={"collection": "paths", "documents": documents}).json()["created"] == len(names)
    for name in names:
        path = f"/documents/{quote(name, safe='')}?collection=paths"
        assert client.get(path).json()["id"] == name
        assert client.delete(path).json() == {"deleted": True}
        assert client.get(path).status_code == 404

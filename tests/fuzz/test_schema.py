"""Schemathesis over the OpenAPI document: row R13 of the scoreboard, its part.

Requests that follow the document, and requests that break it in one place; no 5xx, no undocumented status, media type
or body, and nothing accepted that breaks the document.
"""

from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from app.drop_in import complaints
from app.errors import PROBLEM_TYPE
from tests.fuzz.service import Service

requests = pytest.importorskip("requests", reason="schemathesis is not installed")
schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")
transport = pytest.importorskip("schemathesis.core.transport", reason="schemathesis is not installed")
specs = pytest.importorskip("schemathesis.specs.openapi.checks", reason="schemathesis is not installed")

CASES = 120
"""Of each kind, for each operation."""
CHECKS = [
    specs.status_code_conformance,
    specs.content_type_conformance,
    specs.response_headers_conformance,
    specs.response_schema_conformance,
    specs.negative_data_rejection,
    schemathesis.checks.not_a_server_error,
]
"""Not among them: that all that follows the document is accepted, since rules between fields are not part of it."""

OPERATIONS = (
    *("POST /rerank", "POST /v1/rerank", "POST /v2/rerank", "POST /search"),
    *("POST /ingest", "GET /documents/{document_id}"),
    *("DELETE /documents/{document_id}", "GET /collections", "GET /collections/{collection}"),
    *("PUT /collections/{collection}", "GET /entities", "GET /entities/{entity}", "PUT /entities/{entity}/target"),
    *("DELETE /entities/{entity}/target", "GET /livez", "GET /readyz", "GET /metrics"),
)
WITHOUT_INPUT = ("GET /collections", "GET /livez", "GET /readyz", "GET /metrics")
POSITIVE, NEGATIVE = schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE


def operations(service: Service) -> dict[str, Any]:
    schema = schemathesis.openapi.from_dict(service.document)
    return {operation.ok().label: operation.ok() for operation in schema.get_all_operations()}


def send(service: Service, case: Any) -> Any:
    """The answer to a case, as schemathesis wants it."""
    told = case.as_transport_kwargs(base_url="http://warp")
    request = requests.Request(
        **{name: told[name] for name in ("method", "url", "headers", "params", "data", "json") if name in told}
    ).prepare()
    body = request.body or b""
    answer = service.send(
        request.method,
        request.path_url,
        body.encode() if isinstance(body, str) else body,
        [
            (name, value if isinstance(value, str) else value.decode("latin-1"))
            for name, value in request.headers.items()
        ],
    )
    headers = {name: [value] for name, value in answer.headers.items()}
    return transport.Response(answer.status, headers, answer.body, request, 0.0, False)


def test_all_operations_are_tried(service: Service) -> None:
    assert set(operations(service)) == set(OPERATIONS)


@pytest.mark.parametrize(
    ("label", "mode"),
    [
        *((label, POSITIVE) for label in OPERATIONS),
        *((label, NEGATIVE) for label in OPERATIONS if label not in (*WITHOUT_INPUT, "GET /collections/{collection}")),
    ],
    ids=str,
)
def test_every_answer_is_as_the_document_has_it(service: Service, label: str, mode: Any) -> None:
    operation = operations(service)[label]
    statuses: Counter[int] = Counter()

    @settings(
        max_examples=CASES,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )
    @given(operation.as_strategy(generation_mode=mode))
    def check(case: Any) -> None:
        response = send(service, case)
        statuses[response.status_code] += 1
        case.validate_response(response, checks=CHECKS)

    check()
    if mode is NEGATIVE:
        assert sum(count for status, count in statuses.items() if 400 <= status < 500)


@pytest.mark.parametrize("label", OPERATIONS)
def test_another_method_is_405_and_names_those_that_are_allowed(service: Service, label: str) -> None:
    path = label.split()[1].replace("{", "").replace("}", "")
    known = {other.split()[0] for other in OPERATIONS if other.split()[1] == label.split()[1]}
    if path.endswith("/target"):  # which is an entity's name too
        known.add("GET")
    for method in {"GET", "POST", "PUT", "DELETE", "PATCH", "TRACE", "BREW"} - known:
        answer = service.send(method, path)
        media_type = "application/json" if path in complaints.BY_PATH else PROBLEM_TYPE
        assert (answer.status, answer.media_type) == (405, media_type), (method, path)
        assert answer.headers["allow"].split(", ") == sorted(known)

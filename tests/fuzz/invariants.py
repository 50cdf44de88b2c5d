"""What holds for every answer, whatever was sent."""

import json
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import SearchStrategy

from app.errors import PROBLEM_TYPE, Problem
from app.schemas import IngestResponse, RerankResponse
from tests.fuzz.bodies import Operation, damaged_bodies, damaged_bytes
from tests.fuzz.service import Answer, Service

Damage = Callable[[Operation], SearchStrategy[bytes]]

DAMAGES: dict[str, Damage] = {
    "values": lambda operation: damaged_bodies(operation).map(lambda body: json.dumps(body).encode()),
    "bytes": damaged_bytes,
}
"""Kind of damage -> bodies of an operation with such damage."""


def attack(service: Service, operation: Operation, damage: str, cases: int, *, repeatable: bool) -> Counter[int]:
    """Send damaged bodies; how many were answered with each status.

    Raises
    ------
    AssertionError : an answer breaks an invariant; the body is the smallest that does.
    """
    statuses: Counter[int] = Counter()

    @settings(
        max_examples=cases,
        deadline=None,
        database=None,
        derandomize=repeatable,
        suppress_health_check=list(HealthCheck),
    )
    @given(DAMAGES[damage](operation))
    def check(body: bytes) -> None:
        answer = service.send(operation.method, operation.target, body)
        statuses[answer.status] += 1
        found = complaint(service, operation.name, answer) or _wrong_content(operation, body, answer)
        assert found is None, (found, answer)

    check()
    return statuses


def complaint(service: Service, operation: tuple[str, str], answer: Answer) -> str | None:
    """What is wrong with an answer, as far as can be told without what was sent; None when nothing is.

    Parameters
    ----------
    operation : method and path template, as in the OpenAPI document.
    """
    method, template = operation
    documented = service.document["paths"][template][method.lower()]["responses"]
    if answer.status >= 500:
        return f"status {answer.status}"
    if str(answer.status) not in documented:
        return f"status {answer.status} is not documented"
    if answer.media_type not in documented[str(answer.status)]["content"]:
        return f"{answer.media_type!r} is not documented for status {answer.status}"
    if not answer.headers.get("x-request-id"):
        return "there is no request id"
    if answer.status < 400:
        return None
    return _wrong_problem(answer) if answer.media_type == PROBLEM_TYPE else _wrong_complaint(answer)


def _wrong_complaint(answer: Answer) -> str | None:
    """Of the error of another dialect, whose client reads nothing but a text."""
    told = msgspec.json.decode(answer.body, type=dict[str, str])
    return None if told.get("message") or told.get("error") else "it says nothing"


def _wrong_problem(answer: Answer) -> str | None:
    problem = msgspec.json.decode(answer.body, type=Problem)
    if problem.status != answer.status:
        return "the problem tells another status"
    if answer.status == 422 and not problem.errors:
        return "no field is named"
    if not all(error.pointer == "" or error.pointer.startswith("/") for error in problem.errors):
        return "a pointer is none"
    return None


def _wrong_content(operation: Operation, body: bytes, answer: Answer) -> str | None:
    if answer.status != 200:
        return None
    sent = json.loads(body.decode(errors="replace"))
    if "texts" in operation.good or ("documents" in operation.good and operation.template != "/ingest"):
        return _wrong_order(sent, json.loads(answer.body))
    if operation.template in ("/rerank", "/search"):
        return _wrong_selection(sent, msgspec.json.decode(answer.body, type=RerankResponse))
    if operation.template == "/ingest":
        report = msgspec.json.decode(answer.body, type=IngestResponse)
        done = report.created + report.updated + report.unchanged + report.stale + len(report.failed)
        return None if done == len(sent["documents"]) else "a document is neither stored nor failed"
    return None


def _wrong_order(request: Any, answer: Any) -> str | None:
    """All that was sent, or as many as were asked for, once each, with scores that fall."""
    if "candidates" in request:
        return None  # damage has made a request of the own dialect of it
    results = answer if isinstance(answer, list) else answer["results"]
    limit = request.get("top_n") or request.get("top_k")
    size = len(request["texts"] if "texts" in request else request["documents"])
    wanted = size if isinstance(answer, list) or limit is None else min(limit, size)
    indices = {result["index"] for result in results}
    if len(results) != wanted or len(indices) != wanted or not indices <= set(range(size)):
        return "it is no order of what was sent"
    scores = [result.get("score", result.get("relevance_score")) for result in results]
    falls = all(before > after for before, after in pairwise([*scores, 0.0]))
    return None if falls and max(scores, default=0.0) <= 1 else "scores do not fall from 1 to 0"


def _wrong_selection(request: Any, selection: RerankResponse) -> str | None:
    results = selection.results
    if len(results) > request.get("k", 20):
        return "there are more than k results"
    if [result.rank for result in results] != list(range(len(results))):
        return "ranks do not count up"
    indices = [result.index for result in results if result.index is not None]
    size = len(request["candidates"]) if "candidates" in request else request.get("pool_size") or 200
    if len(set(indices)) != len(indices) or not all(0 <= i < size for i in indices):
        return "an index is none of the request's, or there twice"
    ids = [result.id for result in results if result.id is not None]
    if len(set(ids)) != len(ids):
        return "a document is there twice"
    return None if 0 <= selection.quality.em <= 1 else "EM is no share"

"""The OpenAPI document: bodies are decoded from raw bytes, so their schemas are told here, from the same records."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from fastapi import FastAPI

from app.decoding import schema_of_custom
from app.errors import Problem
from app.security import is_open
from app.settings import Settings
from warp_core import SELECTORS

_REF = "#/components/schemas/{name}"

_FASTAPI_ERRORS = ("HTTPValidationError", "ValidationError")
_PROBLEMS = {
    400: "The body is no JSON.",
    401: "No key, or a wrong one, where the service has keys.",
    403: "The key lacks the right; or, without keys, a page of another site asks.",
    404: "Nothing has that name.",
    413: "The body is over the limit.",
    415: "The body is declared to be something else than JSON.",
    422: "A field breaks a rule; `errors` names each.",
    429: "Too much is under way; try again after `Retry-After` seconds.",
    503: "The store cannot be reached.",
    504: "It took longer than the service allows.",
}


class Described:
    """Collects the records that routes name, and adds their schemas to the document."""

    def __init__(self) -> None:
        self._records: list[type] = [Problem]

    def route(
        self,
        answer: type[msgspec.Struct],
        body: type[msgspec.Struct] | None = None,
        *,
        lines: type[msgspec.Struct] | None = None,
        problems: tuple[int, ...] = (),
        others: Mapping[int, tuple[str, type[msgspec.Struct]]] | None = None,
    ) -> dict[str, Any]:
        """What a route says of itself (`openapi_extra`).

        Parameters
        ----------
        answer : the record of a 200.
        body : the record of a JSON body.
        lines : the record of each line of an NDJSON body.
        problems : the statuses of its errors.
        others : the statuses of other answers, each with what it means and its record.
        """
        self._records += [record for record in (answer, body, lines) if record]
        said: dict[str, Any] = {"responses": {"200": _content("OK", "application/json", answer)}}
        for status in problems:
            said["responses"][str(status)] = _problem(status)
        for status, (meaning, record) in (others or {}).items():
            said["responses"][str(status)] = _content(meaning, "application/json", record)
        if body:
            said["requestBody"] = {"required": True, **_content("", "application/json", body)}
            del said["requestBody"]["description"]
        if lines:
            said["requestBody"]["content"]["application/x-ndjson"] = {"schema": _schema(lines)}
        return said

    def install(self, app: FastAPI, settings: Settings) -> None:
        """Make `app.openapi()` know the records, and the limits that are set."""
        build: Callable[[], dict[str, Any]] = app.openapi

        def openapi() -> dict[str, Any]:
            document = build()
            _, components = msgspec.json.schema_components(
                dict.fromkeys(self._records), ref_template=_REF, schema_hook=schema_of_custom
            )
            schemas = document.setdefault("components", {}).setdefault("schemas", {})
            schemas.update(components)
            _limit(schemas, settings)
            for name in _FASTAPI_ERRORS:  # errors of parameters have our one body too
                schemas.pop(name, None)
            document["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
            for path, operations in document["paths"].items():
                for operation in operations.values():
                    operation["responses"].get("422", {}).get("content", {}).pop("application/json", None)
                    if not is_open(path):
                        operation["security"] = [{}, {"key": []}]  # a service without keys asks for none
                        for status in (401, 403):
                            operation["responses"][str(status)] = _problem(status)
            return document

        app.openapi = openapi  # type: ignore[method-assign] # as FastAPI documents it


def _limit(schemas: dict[str, Any], settings: Settings) -> None:
    """What the service checks beyond the records."""
    for name in ("RerankRequest", "SearchRequest"):
        fields = schemas[name]["properties"]
        fields["variant"]["enum"] = ["auto", *SELECTORS]
        fields["k"]["maximum"] = settings.max_k
    schemas["RerankRequest"]["anyOf"] = [{"required": ["query"]}, {"required": ["entity"]}]
    schemas["RerankRequest"]["properties"]["candidates"]["maxItems"] = settings.max_candidates
    for kind in schemas["SearchRequest"]["properties"]["pool_size"]["anyOf"]:
        if kind["type"] == "integer":
            kind["maximum"] = settings.max_candidates


def _schema(record: type[msgspec.Struct]) -> dict[str, Any]:
    (schema,), _ = msgspec.json.schema_components([record], ref_template=_REF, schema_hook=schema_of_custom)
    return schema


def _problem(status: int) -> dict[str, Any]:
    return _content(_PROBLEMS[status], "application/problem+json", Problem)


def _content(description: str, media_type: str, record: type[msgspec.Struct]) -> dict[str, Any]:
    return {"description": description, "content": {media_type: {"schema": _schema(record)}}}


described = Described()

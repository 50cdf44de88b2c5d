"""The OpenAPI document: bodies are decoded from raw bytes, so their schemas are told here, from the same records."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from fastapi import FastAPI

from app.decoding import schema_of_custom
from app.errors import PROBLEM_TYPE, Problem
from app.security import is_open
from app.settings import Settings
from warp_core import SELECTORS

JSON = "application/json"
_REF = "#/components/schemas/{name}"

NATIVE_ERRORS: Mapping[str, type[msgspec.Struct]] = {PROBLEM_TYPE: Problem}
"""Media type and record of errors, but for those of other dialects."""
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
        self._records: list[Any] = [Problem]

    def route(
        self,
        answer: Any,
        *bodies: type[msgspec.Struct],
        lines: type[msgspec.Struct] | None = None,
        problems: tuple[int, ...] = (),
        errors: Mapping[str, type[msgspec.Struct]] = NATIVE_ERRORS,
        others: Mapping[int, tuple[str, type[msgspec.Struct]]] | None = None,
    ) -> dict[str, Any]:
        """What a route says of itself (`openapi_extra`).

        Parameters
        ----------
        answer : the record of a 200, or a union.
        bodies : the records of a JSON body; it may be any of them.
        lines : the record of each line of an NDJSON body.
        problems : the statuses of its errors.
        errors : their records by media type.
        others : the statuses of other answers, each with what it means and its record.
        """
        self._records += [answer, *bodies, *([lines] if lines else []), *errors.values()]
        said: dict[str, Any] = {"responses": {"200": {"description": "OK", **_content({JSON: answer})}}}
        for status in problems:
            said["responses"][str(status)] = {"description": _PROBLEMS[status], **_content(errors)}
        for status, (meaning, record) in (others or {}).items():
            said["responses"][str(status)] = {"description": meaning, **_content({JSON: record})}
        if bodies:
            schemas = [_schema(body) for body in bodies]
            schema = schemas[0] if len(schemas) == 1 else {"anyOf": schemas}
            said["requestBody"] = {"required": True, "content": {JSON: {"schema": schema}}}
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
                    answers = operation["responses"]
                    if _is_fastapis(errors := answers.get("422", {}).get("content", {})):
                        del errors[JSON]
                    if not is_open(path):
                        operation["security"] = [{}, {"key": []}]  # a service without keys asks for none
                        own = next((answers[s]["content"] for s in ("422", "503") if s in answers), None)
                        content = own or _content(NATIVE_ERRORS)["content"]
                        for status in (401, 403):
                            answers[str(status)] = {"description": _PROBLEMS[status], "content": content}
            return document

        app.openapi = openapi  # type: ignore[method-assign] # as FastAPI documents it


def _limit(schemas: dict[str, Any], settings: Settings) -> None:
    """What the service checks beyond the records."""
    for name in ("RerankRequest", "SearchRequest"):
        fields = schemas[name]["properties"]
        fields["variant"]["enum"] = ["auto", *SELECTORS]
        fields["k"]["maximum"] = settings.max_k
    for name, field in (("TeiRequest", "texts"), ("CohereRequest", "documents"), ("V1Request", "documents")):
        schemas[name]["properties"][field]["maxItems"] = settings.max_candidates
    schemas["TeiRequest"]["not"] = {"required": ["candidates"]}  # else it is the other dialect of the route
    schemas["RerankRequest"]["anyOf"] = [{"required": ["query"]}, {"required": ["entity"]}]
    schemas["RerankRequest"]["properties"]["candidates"]["maxItems"] = settings.max_candidates
    for kind in schemas["SearchRequest"]["properties"]["pool_size"]["anyOf"]:
        if kind["type"] == "integer":
            kind["maximum"] = settings.max_candidates


def _schema(record: Any) -> dict[str, Any]:
    (schema,), _ = msgspec.json.schema_components([record], ref_template=_REF, schema_hook=schema_of_custom)
    return schema


def _content(records: Mapping[str, Any]) -> dict[str, Any]:
    return {"content": {media_type: {"schema": _schema(record)} for media_type, record in records.items()}}


def _is_fastapis(content: Mapping[str, Any]) -> bool:
    """Whether FastAPI has put an error of its own into an answer."""
    reference: str = content.get(JSON, {}).get("schema", {}).get("$ref", "")
    return reference.endswith(_FASTAPI_ERRORS)


described = Described()

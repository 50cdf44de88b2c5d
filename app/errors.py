"""What goes wrong in the service, and the one table from exception to HTTP answer (RFC 9457 problem details).

ServiceError
├── InvalidRequestError       the body or a parameter breaks a rule; names each field      422
│   └── MalformedBodyError    the body is no JSON                                          400
├── UnsupportedMediaError     the body is declared to be something else than JSON          415
├── BodyTooLargeError         the body, or a line of it, is over the limit                 413
├── UnauthorizedError         no key, or a wrong one                                       401
├── ForbiddenError            the key lacks the right                                      403
├── NotFoundError             nothing has that name                                        404
├── OverloadedError           too much is under way                                        429
├── ClientGoneError           whoever asked has left; nobody reads the answer              400
├── DeadlineError             the answer took too long                                     504
├── CollectionChangedError    a change was made for another scale or vector space        503
├── IndexUnavailableError     another engine holds the vectors, and cannot be reached      503
└── StoreUnavailableError     the store cannot be reached, or refuses                      503

`warp_core.InvalidInputError` becomes 422 too, with the argument as the field.
"""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any, ClassVar

import msgspec
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.routing import Match
from starlette.types import Scope

from app.drop_in import complaints
from warp_core import InvalidInputError

PROBLEM_TYPE = "application/problem+json"
_METHODS = ("DELETE", "GET", "HEAD", "POST", "PUT")


class FieldError(msgspec.Struct, frozen=True):
    """One broken rule: where (a JSON pointer, RFC 6901) and what."""

    pointer: str
    detail: str


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """The one error body, `application/problem+json`."""

    type: str
    title: str
    status: int
    detail: str
    errors: Sequence[FieldError] = ()


def escaped(name: str) -> str:
    """A name as one step of a JSON pointer."""
    return name.replace("~", "~0").replace("/", "~1")


class ServiceError(Exception):
    """Any error that the service raises on purpose; subclasses fix the status and the kind."""

    status = HTTPStatus.INTERNAL_SERVER_ERROR
    kind = "internal"
    headers: ClassVar[Mapping[str, str]] = {}

    def __init__(self, detail: str, errors: Sequence[FieldError] = ()) -> None:
        super().__init__(detail)
        self.detail = detail
        self.errors = errors


class InvalidRequestError(ServiceError):
    """A field breaks a rule."""

    status = HTTPStatus.UNPROCESSABLE_ENTITY
    kind = "invalid-request"

    @classmethod
    def at(cls, pointer: str, detail: str) -> "InvalidRequestError":
        """The error of a single field."""
        return cls(f"{pointer}: {detail}" if pointer else detail, [FieldError(pointer, detail)])

    def below(self, pointer: str) -> "InvalidRequestError":
        """The same error of a field that lies below `pointer`."""
        return type(self).at(pointer + self.errors[0].pointer, self.errors[0].detail)

    def moved(self, field: str, own: str) -> "InvalidRequestError":
        """The same error where `field` is called `own`."""
        pointer, detail = self.errors[0].pointer, self.errors[0].detail
        return type(self).at(own + pointer.removeprefix(field), detail) if pointer.startswith(field) else self


@contextlib.contextmanager
def pointing_at(pointer: str) -> Iterator[None]:
    """Turn the core's complaint about an argument into one about the field at `pointer`."""
    try:
        yield
    except InvalidInputError as error:
        raise InvalidRequestError.at(pointer, error.detail) from error


class MalformedBodyError(InvalidRequestError):
    """The body is no JSON."""

    status = HTTPStatus.BAD_REQUEST
    kind = "malformed-body"


class UnsupportedMediaError(ServiceError):
    """The body is declared to be something else than JSON."""

    status = HTTPStatus.UNSUPPORTED_MEDIA_TYPE
    kind = "unsupported-media-type"


class BodyTooLargeError(ServiceError):
    """The body, or a line of it, is over the limit."""

    status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    kind = "body-too-large"


class UnauthorizedError(ServiceError):
    """No key, or a wrong one."""

    status = HTTPStatus.UNAUTHORIZED
    kind = "unauthorized"
    headers: ClassVar[Mapping[str, str]] = {"WWW-Authenticate": "Bearer"}


class ForbiddenError(ServiceError):
    """The key is known, but may not do that."""

    status = HTTPStatus.FORBIDDEN
    kind = "forbidden"


class NotFoundError(ServiceError):
    """Nothing has that name."""

    status = HTTPStatus.NOT_FOUND
    kind = "not-found"


class OverloadedError(ServiceError):
    """Too much is under way already."""

    status = HTTPStatus.TOO_MANY_REQUESTS
    kind = "overloaded"
    headers: ClassVar[Mapping[str, str]] = {"Retry-After": "1"}


class ClientGoneError(ServiceError):
    """Whoever asked has left."""

    status = HTTPStatus.BAD_REQUEST
    kind = "client-gone"


class DeadlineError(ServiceError):
    """The answer took too long."""

    status = HTTPStatus.GATEWAY_TIMEOUT
    kind = "deadline"


class CollectionChangedError(ServiceError):
    """A collection's scale or vector space is not what a change was made for; the change is to be made anew."""

    status = HTTPStatus.SERVICE_UNAVAILABLE
    kind = "collection-changed"


class IndexUnavailableError(ServiceError):
    """Another engine holds the vectors, and cannot be reached, or refuses."""

    status = HTTPStatus.SERVICE_UNAVAILABLE
    kind = "index-unavailable"
    headers: ClassVar[Mapping[str, str]] = {"Retry-After": "1"}


class StoreUnavailableError(ServiceError):
    """The store cannot be reached, or refuses."""

    status = HTTPStatus.SERVICE_UNAVAILABLE
    kind = "store-unavailable"
    headers: ClassVar[Mapping[str, str]] = {"Retry-After": "1"}


DIALECT = "dialect"
"""Under this name the scope of a request has the `Complaint` of its dialect, where its path does not tell it."""


def problem_response(
    scope: Scope,
    status: int,
    kind: str,
    detail: str,
    errors: Sequence[FieldError] = (),
    headers: Mapping[str, str] | None = None,
) -> Response:
    """The HTTP answer to an error, in the dialect of the request."""
    if complaint := scope.get(DIALECT) or complaints.BY_PATH.get(scope["path"]):
        return Response(msgspec.json.encode(complaint(status, detail)), status, headers, complaints.MEDIA_TYPE)
    body = Problem(f"urn:warp:problem:{kind}", HTTPStatus(status).phrase, status, detail, errors)
    return Response(msgspec.json.encode(body), status, headers, PROBLEM_TYPE)


def problem_of(scope: Scope, error: ServiceError | InvalidInputError) -> Response:
    """The HTTP answer to an error of ours."""
    if isinstance(error, ServiceError):
        return problem_response(scope, error.status, error.kind, error.detail, error.errors, error.headers)
    where = [FieldError(f"/{error.argument}", error.detail)]
    return problem_response(scope, HTTPStatus.UNPROCESSABLE_ENTITY, InvalidRequestError.kind, str(error), where)


def _allowed_methods(request: Request) -> list[str]:
    return [
        method
        for method in _METHODS
        if any(
            route.matches({**request.scope, "method": method})[0] is Match.FULL for route in request.app.router.routes
        )
    ]


def install_error_handlers(app: FastAPI) -> None:
    """Map exceptions to answers. What is unexpected is caught in `app.middleware`."""

    async def our_error(request: Request, error: Any) -> Response:
        return problem_of(request.scope, error)

    async def http_error(request: Request, error: Any) -> Response:
        detail = str(error.detail)
        if error.status_code == HTTPStatus.NOT_FOUND:
            detail = f"no route {request.method} {request.url.path}; see /docs for all of them"
        headers = dict(error.headers or {})
        if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
            headers["Allow"] = ", ".join(_allowed_methods(request))  # the error knows those of one route only
        return problem_response(request.scope, error.status_code, "http", detail, headers=headers)

    async def parameter_error(request: Request, error: Any) -> Response:
        broken = [FieldError(f"/{one['loc'][-1]}", one["msg"]) for one in error.errors()]
        return problem_response(
            request.scope,
            HTTPStatus.UNPROCESSABLE_ENTITY,
            InvalidRequestError.kind,
            "a parameter breaks a rule",
            broken,
        )

    app.add_exception_handler(ServiceError, our_error)
    app.add_exception_handler(InvalidInputError, our_error)
    app.add_exception_handler(HTTPException, http_error)
    app.add_exception_handler(RequestValidationError, parameter_error)

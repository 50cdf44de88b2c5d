"""Who may call, and what; and where the service may listen."""

import hmac
from collections.abc import Collection, Sequence
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from app.errors import ForbiddenError, ServiceError, UnauthorizedError, problem_of
from app.keys import Key, Right, digest_of
from app.settings import Settings
from warp_core import InvalidInputError

OPEN_PATHS = ("/livez", "/readyz", "/metrics", "/docs", "/openapi.json", "/")
"""Probes, metrics, documentation and the explorer page need no key; the page's own calls do."""
OPEN_FOLDERS = ("/explorer/", "/static-offline-docs/")

_READING_POSTS = ("/rerank", "/search")


class Gate:
    """ASGI middleware that lets only holders of a key with the right pass.

    Without keys it lets everybody pass but the pages of other sites: a browser would carry those past the firewall.

    Parameters
    ----------
    origins : sites whose pages may call, as `https://host`; or `*`.
    """

    def __init__(self, app: ASGIApp, keys: Sequence[Key], origins: Collection[str]) -> None:
        self._app = app
        self._check = self._check_key if keys else self._check_origin
        self._keys = keys
        self._origins = origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not is_open(scope["path"]):
            try:
                self._check(scope)
            except ServiceError as error:
                await problem_of(scope, error)(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _check_key(self, scope: Scope) -> None:
        authorization = b"".join(value for name, value in scope["headers"] if name == b"authorization")
        scheme, _, key = authorization.partition(b" ")
        digest = digest_of(key.strip())
        matching = [known for known in self._keys if hmac.compare_digest(digest, known.digest)]  # all, in equal time
        if scheme.lower() != b"bearer" or not matching:
            raise UnauthorizedError("a known bearer key is needed")
        needed = needed_right(scope["method"], scope["path"])
        if not any(needed in known.rights for known in matching):
            raise ForbiddenError(f"this key lacks the right {needed!r}")

    def _check_origin(self, scope: Scope) -> None:
        origin = next((value for name, value in scope["headers"] if name == b"origin"), None)
        if origin is None:
            return
        site = origin.decode("latin-1")
        own = Headers(scope=scope).get("host", "")
        if site not in self._origins and "*" not in self._origins and urlsplit(site).netloc != own:
            raise ForbiddenError("pages of other sites may not call; the setting cors_origins names those that may")


def needed_right(method: str, path: str) -> Right:
    """The right that a request needs; what is not known to need less needs `admin`."""
    if method in ("GET", "HEAD") or (method == "POST" and path.rstrip("/").endswith(_READING_POSTS)):
        return "read"
    if (method, path) == ("POST", "/ingest") or (method == "DELETE" and path.startswith("/documents/")):
        return "ingest"
    return "admin"


def is_open(path: str) -> bool:
    """Whether a path needs no key."""
    return path in OPEN_PATHS or path.startswith(OPEN_FOLDERS)


def check_exposure(settings: Settings) -> None:
    """Refuse to listen beyond this machine without keys.

    Raises
    ------
    InvalidInputError : the host is not a loopback address, there are no keys, and `insecure` is not set.
    """
    if settings.api_keys or settings.insecure or settings.host == "localhost":
        return
    try:
        local = ip_address(settings.host).is_loopback
    except ValueError:
        local = False
    if not local:
        raise InvalidInputError("host", f"{settings.host} is open to others: set WARP_API_KEYS, or pass --insecure")

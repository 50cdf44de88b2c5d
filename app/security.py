"""Who may call: bearer keys, when there are any."""

import hmac
from collections.abc import Sequence
from hashlib import sha256
from ipaddress import ip_address

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from app.errors import UnauthorizedError, problem_response
from app.settings import Settings
from warp_core import InvalidInputError

OPEN_PATHS = ("/livez", "/readyz", "/metrics", "/docs", "/openapi.json", "/")
"""Probes, metrics, documentation and the explorer page need no key; the page's own calls do."""
OPEN_FOLDERS = ("/explorer/", "/static-offline-docs/")


class KeyGate:
    """ASGI middleware that lets only holders of a key pass; without keys it lets everybody pass."""

    def __init__(self, app: ASGIApp, keys: Sequence[str]) -> None:
        self._app = app
        self._keys = [_digest(key) for key in keys]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and self._keys and not _is_open(scope["path"]):
            scheme, _, key = Headers(scope=scope).get("authorization", "").partition(" ")
            digest = _digest(key.strip())
            matches = [hmac.compare_digest(digest, known) for known in self._keys]  # all, in equal time
            if scheme.lower() != "bearer" or not any(matches):
                error = UnauthorizedError("a known bearer key is needed")
                await problem_response(error.status, error.kind, error.detail, (), error.headers)(scope, receive, send)
                return
        await self._app(scope, receive, send)


def _is_open(path: str) -> bool:
    return path in OPEN_PATHS or path.startswith(OPEN_FOLDERS)


def _digest(key: str) -> bytes:
    return sha256(key.encode(errors="surrogateescape")).digest()


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

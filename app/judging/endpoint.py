"""An OpenAI-compatible endpoint: POST {base}/chat/completions, with what can go wrong told apart.

EndpointError              a call failed; `kind` tells how, and the same call may succeed another time
└── EndpointStopError      no other call would fare better: a refused key, an unknown model, an empty account

httpx2 is an extra, so it is imported where an endpoint is opened.
"""

import asyncio
from http import HTTPStatus
from typing import Literal

import msgspec

from app.errors import ServiceError
from warp_core import InvalidInputError

Kind = Literal["refused", "rate limited", "server error", "timed out", "unreachable", "no completion", "stopped"]

ATTEMPTS = 5
PAUSE_S = 1.0
LONGEST_PAUSE_S = 60.0
_SHOWN = 300
"""Characters of an endpoint's own message that are passed on."""
_STOP: dict[int, str] = {
    HTTPStatus.UNAUTHORIZED: "refused the key",
    HTTPStatus.FORBIDDEN: "refused the key",
    HTTPStatus.PAYMENT_REQUIRED: "wants to be paid",
    HTTPStatus.NOT_FOUND: "knows no such route or model",
}
_SPENT = "insufficient_quota"
"""How some endpoints say 429 when the account is empty: waiting does not help."""


class EndpointError(ServiceError):
    """A call that failed, after all attempts."""

    status = HTTPStatus.BAD_GATEWAY

    def __init__(self, kind: Kind, detail: str) -> None:
        super().__init__(detail)
        self.failure: Kind = kind


class EndpointStopError(EndpointError):
    """A call that failed in a way that all others would."""

    def __init__(self, detail: str) -> None:
        super().__init__("stopped", detail)


class Reply(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a model said. `finish` is the endpoint's reason for the end; tokens are None where it does not tell them."""

    text: str
    finish: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class _Message(msgspec.Struct):
    content: str | None = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class _Completion(msgspec.Struct):
    choices: list[_Choice]
    usage: _Usage | None = None


class Endpoint:
    """One base URL with its key.

    Parameters
    ----------
    url : up to and without `/chat/completions`.
    role : `judge` or `answer`, whose settings these are.
    timeout_s : for one attempt, from the connection to the last byte.
    pause_s : before the second attempt; doubled for each further one. What the endpoint's `Retry-After` asks for counts
        where it is longer; beyond a minute the call fails instead.

    Raises
    ------
    InvalidInputError : the URL or the key cannot be used, or httpx2 is missing.
    """

    def __init__(self, role: str, url: str, key: str | None, timeout_s: float, pause_s: float = PAUSE_S) -> None:
        try:
            import httpx2
        except ImportError as error:
            raise InvalidInputError(f"{role}_url", f"needs the extra 'judge': {error}") from error
        try:
            parsed = httpx2.URL(url)
        except httpx2.InvalidURL as error:
            raise InvalidInputError(f"{role}_url", f"is no URL: {error}") from error
        if parsed.scheme not in ("http", "https") or not parsed.host:
            raise InvalidInputError(f"{role}_url", f"must begin with http:// or https:// and a host, got {url!r}")
        if parsed.userinfo:  # it would stand in the report
            raise InvalidInputError(f"{role}_url", f"must hold no user or password; the key is {role}_key")
        if key is not None and not (key.isascii() and key.isprintable() and key):
            raise InvalidInputError(f"{role}_key", "must be printable ASCII")
        self.url = url.rstrip("/")
        self._key = key
        self._timeout_s = timeout_s
        self._pause_s = pause_s
        headers = {"content-type": "application/json"}
        if key:
            headers["authorization"] = f"Bearer {key}"
        self._client = httpx2.AsyncClient(headers=headers, timeout=None)  # `_attempt` bounds all of it
        self._broken = httpx2.RequestError

    async def close(self) -> None:
        """Close all connections."""
        await self._client.aclose()

    async def complete(self, body: bytes) -> Reply:
        """What the model says to a request body; 429, 5xx, time-outs and lost connections are tried again.

        Raises
        ------
        EndpointError : it failed each time, or in a way that another attempt does not change.
        """
        for attempt in range(1, ATTEMPTS + 1):
            pause_s = min(self._pause_s * 2 ** (attempt - 1), LONGEST_PAUSE_S)
            try:
                return await self._attempt(body)
            except _TryAgainError as error:
                if attempt == ATTEMPTS:
                    raise EndpointError(error.kind, f"{error.detail}, {attempt} times") from error
                if error.after_s > LONGEST_PAUSE_S:
                    raise EndpointError(error.kind, f"{error.detail}, and asks to wait {error.after_s:g} s") from error
                pause_s = max(pause_s, error.after_s)
            await asyncio.sleep(pause_s)
        raise AssertionError("the last attempt returns or raises")

    async def _attempt(self, body: bytes) -> Reply:
        try:
            async with asyncio.timeout(self._timeout_s):
                response = await self._client.post(f"{self.url}/chat/completions", content=body)
        except TimeoutError as error:
            raise _TryAgainError("timed out", f"{self.url} did not answer within {self._timeout_s:g} s") from error
        except self._broken as error:
            raise _TryAgainError("unreachable", f"{self.url} cannot be reached: {error}") from error
        status, said = response.status_code, self._message(response.content)
        answered = f"{self.url} answered {status}{said and f': {said}'}"
        if status in _STOP or (status == HTTPStatus.TOO_MANY_REQUESTS and _SPENT.encode() in response.content):
            raise EndpointStopError(f"{answered} ({_STOP.get(status, 'wants to be paid')})")
        if status == HTTPStatus.TOO_MANY_REQUESTS or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            kind: Kind = "rate limited" if status == HTTPStatus.TOO_MANY_REQUESTS else "server error"
            raise _TryAgainError(kind, answered, _seconds(response.headers.get("retry-after")))
        if status != HTTPStatus.OK:
            raise EndpointError("refused", answered)
        try:
            completion = msgspec.json.decode(response.content, type=_Completion)
            choice = completion.choices[0]
        except (msgspec.DecodeError, UnicodeError, RecursionError, IndexError) as error:
            raise EndpointError("no completion", f"{answered} without a completion ({error})") from error
        usage = completion.usage or _Usage()
        return Reply(choice.message.content or "", choice.finish_reason, usage.prompt_tokens, usage.completion_tokens)

    def _message(self, content: bytes) -> str:
        """The endpoint's own words about an error, on one line, without the key."""
        try:
            error = msgspec.json.decode(content).get("error")
            said = error.get("message") if isinstance(error, dict) else error
        except (msgspec.DecodeError, UnicodeError, RecursionError, AttributeError):
            return ""
        if not isinstance(said, str):
            return ""
        hidden = said.replace(self._key, "***") if self._key else said
        return "".join(c if c.isprintable() else " " for c in hidden)[:_SHOWN]


class _TryAgainError(Exception):
    def __init__(self, kind: Kind, detail: str, after_s: float = 0.0) -> None:
        super().__init__(detail)
        self.kind: Kind = kind
        self.detail = detail
        self.after_s = after_s


def _seconds(retry_after: str | None) -> float:
    """A Retry-After in seconds; 0 where there is none, or it is a date."""
    return float(retry_after) if retry_after and retry_after.isdecimal() else 0.0

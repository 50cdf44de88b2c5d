"""The connection to one Redis server, as it is used; `app.store.redis.cluster` has that to a cluster.

No call is made twice by the driver, whose own default is to try ten times more, whatever the command is.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha1
from importlib.resources import files
from typing import Any

from redis.exceptions import ConnectionError as DisconnectedError
from redis.exceptions import (
    NoScriptError,
    RedisClusterException,
    RedisError,
    ResponseError,
)

from app.errors import StoreUnavailableError

CONNECT_TIMEOUT_S = 1.0
CALL_TIMEOUT_S = 2.0
MAX_CONNECTIONS = 32
"""To a server, or to each of a cluster."""
LOADS = 4
"""How often a server is told a script; more than once where partitions move to one that does not know it."""

Command = Sequence[Any]

Judge = Callable[[Mapping[str, Any], str | None], None]
"""Takes what a server says of itself, and its `appendfsync`, None when it does not tell; raises
`StoreUnavailableError` when it is not to be used.
"""


class UnfitError(RedisError):
    """A server was connected to that is not to be used; the cause says why."""


class Greeting:
    """What comes first on every connection. Which server is at its other end may have changed since the last one."""

    def __init__(self) -> None:
        self.judge: Judge = lambda info, appendfsync: None

    async def greet(self, connection: Any) -> None:
        """Log in, and have the server judged.

        Raises
        ------
        UnfitError : it is not to be used.
        """
        try:
            await connection.on_connect()
            info = _info(await _asked(connection, "INFO"))
            self.judge(info, await _setting(connection, "appendfsync"))
        except ResponseError as error:
            raise UnfitError from StoreUnavailableError(f"the store refuses: {error}")
        except StoreUnavailableError as error:
            raise UnfitError from error
        except AttributeError as error:  # who looks anew for a cluster's servers closes connections that others make
            raise DisconnectedError("the connection was closed while it was made") from error


class Script:
    """A Lua script of this package, called by its hash."""

    def __init__(self, name: str) -> None:
        self.source = (files("app.store.redis") / name).read_text()
        self.sha = sha1(self.source.encode(), usedforsecurity=False).hexdigest()


class Server:
    """One server, or the master that sentinels name.

    Every call raises `StoreUnavailableError` when it cannot be made or is refused.
    """

    def __init__(self, client: Any, greeting: Greeting) -> None:
        self.client = client  # the driver types answers as bytes or text; ours are bytes
        self._greeting = greeting

    def judged_by(self, judge: Judge) -> None:
        """Have every server judged as soon as a connection to it is made, and not used when it is found unfit."""
        self._greeting.judge = judge

    async def close(self) -> None:
        """Give up all connections."""
        await self.client.aclose()

    async def info(self) -> list[Mapping[str, Any]]:
        """What each server that is written to says of itself."""
        return [await self.call("INFO")]

    async def config(self, name: str) -> str | None:
        """A setting of the server; None when it does not tell."""
        try:
            found = await self.call("CONFIG GET", name)
        except StoreUnavailableError as error:
            if isinstance(error.__cause__, ResponseError):  # many a hosted server allows no look at its settings
                return None
            raise
        return next((text_of(value) for key, value in found.items() if text_of(key) == name), None)

    async def call(self, *command: Any) -> Any:
        """One command's answer."""
        with named():
            return await self.client.execute_command(*command)

    async def together(self, commands: Sequence[Command]) -> list[Any]:
        """The answers of several commands, in one round trip."""
        with named():
            return _all_good(await self._pipelined(commands) if commands else [])

    async def run(
        self, script: Script, calls: Sequence[tuple[str, Sequence[Any]]], confirm: Command | None = None
    ) -> list[Any]:
        """A script's answer for each key; one round trip, and another where the server does not know it yet.

        `confirm`, WAIT or WAITAOF, is asked of each server behind the calls, over their connection: only there does it
        speak of them. What it cannot confirm is an error.
        """
        answers: list[Any] = [None] * len(calls)
        left = list(range(len(calls)))
        with named():
            for _ in range(LOADS):
                if not left:
                    break
                commands = [("EVALSHA", script.sha, 1, calls[i][0], *calls[i][1]) for i in left]
                for i, answer in zip(left, await self._pipelined(commands, confirm), strict=True):
                    answers[i] = answer
                left = [i for i in left if isinstance(answers[i], NoScriptError)]
                if left:
                    await self.client.script_load(script.source)
            return _all_good(answers)

    async def _pipelined(self, commands: Sequence[Command], confirm: Command | None = None) -> list[Any]:
        """Answers, or errors in their place."""
        pipe = self.client.pipeline(transaction=False)
        for command in commands:
            pipe.execute_command(*command)
        if confirm:
            pipe.execute_command(*confirm)
        answers = await pipe.execute(raise_on_error=False)
        return confirmed(answers[:-1], answers[-1:]) if confirm else list(answers)


@contextmanager
def named() -> Iterator[None]:
    """Turn the driver's errors into the service's."""
    try:
        yield
    except UnfitError as error:
        raise StoreUnavailableError(str(error.__cause__)) from error.__cause__
    except ResponseError as error:
        raise StoreUnavailableError(f"the store refuses: {error}") from error
    except (RedisError, RedisClusterException, OSError) as error:
        raise StoreUnavailableError(f"the store cannot be reached: {error}") from error


def _all_good(answers: list[Any]) -> list[Any]:
    for answer in answers:
        if isinstance(answer, Exception):
            raise answer
    return answers


def confirmed(answers: list[Any], confirmations: Sequence[Any]) -> list[Any]:
    """The answers, once every server has confirmed what it was told."""
    for confirmation in confirmations:
        if isinstance(confirmation, Exception):
            raise confirmation
        told = confirmation if isinstance(confirmation, list) else [confirmation]
        if not all(told[:1]):
            raise StoreUnavailableError("the store has not confirmed in time that the change is kept as it is to be")
    return answers


async def _asked(connection: Any, *command: str) -> Any:
    await connection.send_command(*command)
    return await connection.read_response()


def _info(raw: Any) -> dict[str, str]:
    lines = (line.partition(":") for line in text_of(raw).splitlines())
    return {name: value for name, _, value in lines}


async def _setting(connection: Any, name: str) -> str | None:
    try:
        found = await _asked(connection, "CONFIG", "GET", name)
    except ResponseError:  # many a hosted server allows no look at its settings
        return None
    told = found if isinstance(found, dict) else dict(zip(found[::2], found[1::2], strict=True))
    return next((text_of(value) for key, value in told.items() if text_of(key) == name), None)


def text_of(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)

"""The connection to one Redis server, to the master that sentinels name, or to a cluster.

Opening connects to nothing: the server may come later, and come back. No call is made twice by the driver, whose own
default is to try ten times more, whatever the command is; each has a time limit.
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha1
from importlib.resources import files
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from redis.asyncio import BlockingConnectionPool, Redis, RedisCluster
from redis.asyncio.cluster import ClusterNode
from redis.asyncio.connection import parse_url
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import Sentinel, SentinelConnectionPool
from redis.backoff import NoBackoff
from redis.exceptions import (
    AskError,
    MovedError,
    NoScriptError,
    RedisClusterException,
    RedisError,
    ResponseError,
    TryAgainError,
)
from redis.exceptions import ConnectionError as DisconnectedError

from app.errors import StoreUnavailableError
from warp_core import InvalidInputError

CONNECT_TIMEOUT_S = 1.0
CALL_TIMEOUT_S = 2.0
MAX_CONNECTIONS = 32
"""To a server, or to each of a cluster."""
MOVES = 40
MOVE_PAUSE_S = 0.05
"""How often a partition is looked for that is just moving to another server of a cluster; after the first time with a
pause.
"""
LOADS = 4
"""How often a server is told a script; more than once where partitions move to one that does not know it."""

Command = Sequence[Any]

Judge = Callable[[Mapping[str, Any], str | None], None]
"""Takes what a server says of itself, and its `appendfsync`, None when it does not tell; raises
`StoreUnavailableError` when it is not to be used.
"""

_MOVING = MovedError | AskError | TryAgainError
"""What is answered by a server that does not hold a partition, no longer or not yet."""


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
        return next((_text(value) for key, value in found.items() if _text(key) == name), None)

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
        return _confirmed(answers[:-1], answers[-1:]) if confirm else list(answers)


class Watched(Server):
    """The master that sentinels name."""

    def __init__(self, client: Any, greeting: Greeting, sentinels: Sequence[Any]) -> None:
        super().__init__(client, greeting)
        self._sentinels = sentinels

    async def close(self) -> None:
        await super().close()
        for sentinel in self._sentinels:
            await sentinel.aclose()


class Cluster(Server):
    """A Redis Cluster. A pipeline is one round trip to each of its servers, at once."""

    def __init__(self, client: RedisCluster, greeting: Greeting) -> None:
        super().__init__(client, greeting)
        # The driver takes no such option, though it has one for itself; those of nodes that are found later are these.
        for options in (client.connection_kwargs, *(node.connection_kwargs for node in client.startup_nodes)):
            options["redis_connect_func"] = greeting.greet
        self._free = asyncio.Semaphore(MAX_CONNECTIONS)  # the driver would refuse one more, not wait

    async def info(self) -> list[Mapping[str, Any]]:
        with named():
            await self.client.initialize()
            found = await self.client.info(target_nodes=RedisCluster.PRIMARIES)
        several = all(isinstance(one, dict) for one in found.values())
        return list(found.values()) if several else [found]

    async def config(self, name: str) -> str | None:
        try:
            with named():
                found = await self.client.config_get(name, target_nodes=RedisCluster.PRIMARIES)
        except StoreUnavailableError as error:
            if isinstance(error.__cause__, ResponseError):
                return None
            raise
        several = all(isinstance(one, dict) for one in found.values())
        told = {_text(value) for one in (found.values() if several else [found]) for value in one.values()}
        return told.pop() if len(told) == 1 else None

    async def call(self, *command: Any) -> Any:
        (answer,) = await self.together([command])
        return answer

    async def _pipelined(self, commands: Sequence[Command], confirm: Command | None = None) -> list[Any]:
        # The driver's own way of following a partition that moves sends ASKING and what it is meant for over different
        # connections, and nothing that would confirm it.
        answers: list[Any] = [None] * len(commands)
        left: dict[int, ClusterNode | None] = dict.fromkeys(range(len(commands)))
        async with self._free, self._watched():
            await self.client.initialize()
            for move in range(MOVES):
                told = await self._round([commands[i] for i in left], list(left.values()), confirm)
                for i, answer in zip(left, told, strict=True):
                    answers[i] = answer
                left = {i: await self._followed(answers[i]) for i in left if isinstance(answers[i], _MOVING)}
                if not left:
                    break
                if move:
                    await asyncio.sleep(MOVE_PAUSE_S)
        return answers

    async def _round(
        self, commands: Sequence[Command], asked: Sequence[ClusterNode | None], confirm: Command | None
    ) -> list[Any]:
        """What the servers that hold them answer to commands, or those that are asked for what is on its way there."""
        pipe = self.client.pipeline()
        nodes: dict[str, ClusterNode] = {}
        places, n_sent = [], 0
        for command, taking in zip(commands, asked, strict=True):
            node = taking or self.client.get_node_from_key(command[3] if command[0] == "EVALSHA" else command[1])
            nodes[node.name] = node
            sent = [("ASKING",), command] if taking else [command]
            for one in sent:
                pipe.execute_command(*one, target_nodes=node)
            n_sent += len(sent)
            places.append(n_sent - 1)
        for node in nodes.values() if confirm else ():
            pipe.execute_command(*(confirm or ()), target_nodes=node)
        answers = await pipe.execute(raise_on_error=False, allow_redirections=False)
        for answer in answers:
            if isinstance(answer, (OSError, *RedisCluster.ERRORS_ALLOW_RETRY)):
                raise answer
        return _confirmed([answers[place] for place in places], answers[n_sent:])

    async def _followed(self, moving: MovedError | AskError | TryAgainError) -> ClusterNode | None:
        """Learn where a partition has moved; the server that has to be asked for it while it is on its way."""
        if isinstance(moving, MovedError):  # to the driver a kind of AskError
            await self.client.nodes_manager.move_slot(moving)
            return None
        if isinstance(moving, TryAgainError):
            return None
        taking: ClusterNode | None = self.client.get_node(host=moving.host, port=moving.port)
        if not taking:
            await self._refresh()
            taking = self.client.get_node(host=moving.host, port=moving.port)
        return taking

    async def _refresh(self) -> None:
        """Find out anew which server holds what."""
        with contextlib.suppress(RedisError, RedisClusterException, OSError):
            await self.client.nodes_manager.initialize()

    @contextlib.asynccontextmanager
    async def _watched(self) -> Any:
        """Look anew for who holds what, after a call that failed for want of a server."""
        try:
            yield
        except (RedisError, RedisClusterException, OSError, StoreUnavailableError) as error:
            cause = error.__cause__ if isinstance(error, StoreUnavailableError) else error
            if not isinstance(cause, ResponseError) or isinstance(cause, RedisCluster.ERRORS_ALLOW_RETRY):
                await self._refresh()
            raise


def open_server(url: str) -> Server:
    """The server behind a URL.

    Parameters
    ----------
    url : redis[s]://, redis[s]+cluster://HOST:PORT,HOST:PORT, redis[s]+sentinel://HOST:PORT,HOST:PORT/SERVICE[/DATABASE];
        all with user, password and the driver's options (`?ssl_ca_certs=FILE`) as usual.

    Raises
    ------
    InvalidInputError : it is none of these.
    """
    scheme, _, kind = urlsplit(url).scheme.partition("+")
    options: dict[str, Any] = {
        "socket_connect_timeout": CONNECT_TIMEOUT_S,
        "socket_timeout": CALL_TIMEOUT_S,
        "retry": Retry(NoBackoff(), 0),
    }
    greeting = Greeting()
    try:
        hosts, common = _hosts_and_options(url, scheme)
        if kind == "cluster":
            nodes = [ClusterNode(*host) for host in hosts]
            return Cluster(
                RedisCluster(
                    startup_nodes=nodes, max_connections=2 * MAX_CONNECTIONS, **_without_place(common), **options
                ),
                greeting,
            )
        if kind == "sentinel":
            return _master(url, scheme, hosts, common, options, greeting)
        pool = BlockingConnectionPool.from_url(
            url,
            max_connections=MAX_CONNECTIONS,
            timeout=CALL_TIMEOUT_S,
            redis_connect_func=greeting.greet,
            **options,
        )
    except (ValueError, TypeError, RedisClusterException) as error:
        raise InvalidInputError("store", f"is no URL of a Redis server: {error}") from error
    return Server(Redis.from_pool(pool), greeting)


def _hosts_and_options(url: str, scheme: str) -> tuple[list[tuple[str, int]], dict[str, Any]]:
    """The places that a URL names, and what the driver reads from the rest of it."""
    parts = urlsplit(url)
    login, at, places = parts.netloc.rpartition("@")
    first = urlunsplit((scheme, f"{login}{at}{places.split(',')[0]}", "", parts.query, ""))
    split_places = [urlsplit(f"//{place}") for place in places.split(",")]
    options = dict(parse_url(first))
    if "ssl" not in options and options.pop("connection_class", None) is not None:
        options["ssl"] = True
    return [(place.hostname or "localhost", place.port or 6379) for place in split_places], options


def _without_place(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name not in ("host", "port", "db")}


def _master(
    url: str,
    scheme: str,
    hosts: Sequence[tuple[str, int]],
    common: Mapping[str, Any],
    options: Mapping[str, Any],
    greeting: Greeting,
) -> Server:
    service, _, database = urlsplit(url).path.strip("/").partition("/")
    if not service:
        raise ValueError("the name of the master is missing: .../NAME")
    login = _without_place(common)
    sentinel: Any = Sentinel(  # type: ignore[no-untyped-call] # as the driver has it
        hosts, sentinel_kwargs={**options, "ssl": scheme == "rediss"}, **login, **options
    )
    pool: Any = _MasterPool(  # type: ignore[no-untyped-call]
        service,
        sentinel,
        max_connections=MAX_CONNECTIONS,
        db=int(database or 0),
        redis_connect_func=greeting.greet,
        **login,
        **options,
    )
    return Watched(Redis.from_pool(pool), greeting, sentinel.sentinels)


class _MasterPool(SentinelConnectionPool, BlockingConnectionPool):
    """Connections to the present master; one more than there may be waits for another to come back."""


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


def _confirmed(answers: list[Any], confirmations: Sequence[Any]) -> list[Any]:
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
    lines = (line.partition(":") for line in _text(raw).splitlines())
    return {name: value for name, _, value in lines}


async def _setting(connection: Any, name: str) -> str | None:
    try:
        found = await _asked(connection, "CONFIG", "GET", name)
    except ResponseError:  # many a hosted server allows no look at its settings
        return None
    told = found if isinstance(found, dict) else dict(zip(found[::2], found[1::2], strict=True))
    return next((_text(value) for key, value in told.items() if _text(key) == name), None)


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)

"""From a URL to the connection that it means: to one Redis server, to the master that sentinels name, or to a cluster.

Opening connects to nothing: the server may come later, and come back.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from redis.asyncio import BlockingConnectionPool, Redis, RedisCluster
from redis.asyncio.cluster import ClusterNode
from redis.asyncio.connection import parse_url
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import Sentinel, SentinelConnectionPool
from redis.backoff import NoBackoff
from redis.exceptions import RedisClusterException

from app.store.redis.cluster import Cluster
from app.store.redis.server import CALL_TIMEOUT_S, CONNECT_TIMEOUT_S, MAX_CONNECTIONS, Greeting, Server
from warp_core import InvalidInputError


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


class Watched(Server):
    """The master that sentinels name."""

    def __init__(self, client: Any, greeting: Greeting, sentinels: Sequence[Any]) -> None:
        super().__init__(client, greeting)
        self._sentinels = sentinels

    async def close(self) -> None:
        await super().close()
        for sentinel in self._sentinels:
            await sentinel.aclose()

"""Where a store lies while it is put to the test: a file, a server, or a cluster, started for it and stopped after."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from loadtest.reliability.proxy import Faults, Proxy
from tests.redis_cluster import RedisCluster, running_cluster
from tests.redis_server import RedisServer, free_ports, running_redis

STORES = ("sqlite", "redis", "cluster")


@dataclass(frozen=True)
class Place:
    """A store's place.

    Parameters
    ----------
    url : of the store.
    nodes : the servers, none for a file.
    cluster : those as a cluster.
    """

    url: str
    nodes: Sequence[RedisServer] = ()
    cluster: RedisCluster | None = None


@contextmanager
def place(kind: str, directory: Path, *options: str, replicas: int = 0) -> Iterator[Place]:
    """An empty place.

    Parameters
    ----------
    options : of servers, as on their command line; by default each write is on the disk before it is answered for.
    replicas : of each of a cluster's three masters.
    """
    if kind == "sqlite":
        yield Place(f"sqlite:///{directory / 'warp.db'}")
    elif kind == "redis":
        with running_redis(directory / "redis", *options) as server:
            yield Place(server.url, [server])
    else:
        with running_cluster(directory / "cluster", *options, replicas=replicas) as cluster:
            yield Place(cluster.url, cluster.nodes, cluster)


@contextmanager
def place_behind_proxies(
    kind: str, directory: Path, *options: str, replicas: int = 0
) -> Iterator[tuple[Place, str, list[Proxy]]]:
    """A place with servers; the URL through proxies; and the proxies, one before each server.

    A cluster's nodes name the proxies to everybody, so there only those who look on are before them too.
    """
    ports = free_ports(3 * (1 + replicas) if kind == "cluster" else 1)
    with ExitStack() as stack:
        if kind == "cluster":
            # The proxies come first: nodes find one another through them.
            cluster = RedisCluster(directory / "cluster", 3, replicas, options, ports)
            proxies = [
                stack.enter_context(Proxy(port, node.port)) for port, node in zip(ports, cluster.nodes, strict=True)
            ]
            stack.callback(cluster.stop)
            cluster.start()
            yield Place(cluster.url, cluster.nodes, cluster), cluster.url, proxies
        else:
            server = stack.enter_context(running_redis(directory / "redis", *options))
            proxy = stack.enter_context(Proxy(ports[0], server.port))
            yield Place(server.url, [server]), f"redis://127.0.0.1:{ports[0]}/0", [proxy]


def set_all(proxies: Sequence[Proxy], faults: Faults) -> None:
    """From here on these faults at every proxy."""
    for proxy in proxies:
        proxy.set(faults)

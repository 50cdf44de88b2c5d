"""A real Redis Cluster of one's own, on loopback: masters, and a number of replicas each."""

import atexit
import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import redis

from tests.redis_server import RedisServer, free_ports, shared_directory

SLOTS = 16384
NODE_TIMEOUT_MS = 1000
"""How long a node may be silent before the others take it for dead."""
FORM_S = 30
MOVE_TIMEOUT_MS = 5000

_OPTIONS = (
    *("--cluster-enabled", "yes", "--cluster-node-timeout", str(NODE_TIMEOUT_MS)),
    # While one master is dead the slots of the others stay in use.
    *("--cluster-require-full-coverage", "no", "--repl-diskless-sync-delay", "0"),
)


@cache
def shared_cluster() -> "RedisCluster":
    """Three masters for all tests that only need some place in a cluster; it ends with the tests, and keeps nothing."""
    cluster = RedisCluster(shared_directory(), options=("--appendonly", "no"))
    atexit.register(cluster.stop)
    cluster.start()
    return cluster


@contextlib.contextmanager
def running_cluster(
    directory: Path, *options: str, masters: int = 3, replicas: int = 0, announced: Sequence[int] = ()
) -> Iterator["RedisCluster"]:
    """Form a cluster in a directory, and stop all of it in the end."""
    cluster = RedisCluster(directory, masters, replicas, options, announced)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


class RedisCluster:
    """The nodes' processes. The first `masters` of `nodes` begin as masters; node i + masters replicates node i.

    Parameters
    ----------
    masters : each has an equal share of the slots.
    replicas : of each master.
    options : of every node, as on the server's command line.
    announced : the ports at which clients and replicas are told to find the nodes, when something stands in front.
    """

    def __init__(
        self,
        directory: Path,
        masters: int = 3,
        replicas: int = 0,
        options: tuple[str, ...] = (),
        announced: Sequence[int] = (),
    ) -> None:
        self.masters = masters
        n = masters * (1 + replicas)
        self._bus_ports = free_ports(n)
        self._ids: dict[str, RedisServer] = {}
        self.nodes = [
            RedisServer(directory / f"node{i}", (*_OPTIONS, "--cluster-port", str(port), *announce, *options))
            for i, (port, announce) in enumerate(zip(self._bus_ports, _announcing(announced) or [()] * n, strict=True))
        ]
        ports = announced or [node.port for node in self.nodes]
        self.url = "redis+cluster://" + ",".join(f"127.0.0.1:{port}" for port in ports)

    def start(self) -> None:
        """Start the nodes, join them, and wait until each can be written to or follows its master."""
        for node in self.nodes:
            node.start()
        self._meet()
        self._share_slots()
        self.wait_until_ok(FORM_S)
        for i, node in enumerate(self.nodes[self.masters :]):
            self.ask(node, "CLUSTER REPLICATE", self.id_of(self.nodes[i % self.masters]))
        self.wait_until_ok(FORM_S)

    def stop(self) -> None:
        """Kill all nodes."""
        for node in self.nodes:
            node.stop()

    def wait_until_ok(self, within_s: float) -> None:
        """Wait until every running node knows all others, holds the cluster for whole, and replicas are in step.

        Raises
        ------
        TimeoutError : they do not agree in time.
        """
        running = [node for node in self.nodes if node.running]
        _wait(lambda: all(self._is_ok(node) for node in running), within_s, "the cluster did not form")

    def master_of(self, node: RedisServer) -> RedisServer | None:
        """The node that a replica follows; None for a master."""
        return self._ids.get(self._line_of(node)[3])

    def current_masters(self) -> list[RedisServer]:
        """The running nodes that hold slots, as they say themselves."""
        return [node for node in self.nodes if node.running and self.slots_of(node)]

    def replicas_of(self, master: RedisServer) -> list[RedisServer]:
        """The running nodes that follow a master."""
        return [node for node in self.nodes if node.running and self.master_of(node) is master]

    def slots_of(self, node: RedisServer) -> list[int]:
        """The slots that a node holds."""
        line = self._line_of(node)
        ranges = [part for part in line[8:] if not part.startswith("[")] if "master" in line[2] else []
        return [slot for part in ranges for slot in _range(part)]

    def id_of(self, node: RedisServer) -> str:
        """The node's name within the cluster."""
        return self._line_of(node)[0]

    def _line_of(self, node: RedisServer) -> list[str]:
        """What a node says of itself: name, address, flags, master's name, four more, then its slots."""
        lines = [line.split() for line in self.ask(node, "CLUSTER NODES", raw=True).decode().splitlines()]
        return next(line for line in lines if "myself" in line[2])

    def info(self, node: RedisServer, section: str) -> dict[str, Any]:
        """A section of INFO."""
        with contextlib.closing(redis.Redis(port=node.port, socket_timeout=2)) as link:
            return dict(link.info(section))

    def ask(self, node: RedisServer, *command: Any, raw: bool = False) -> Any:
        """A command's answer from one node, over a connection of its own; `raw` leaves it as it came."""
        with contextlib.closing(redis.Redis(port=node.port, socket_timeout=5)) as link:
            if raw:
                link.response_callbacks.clear()
            return link.execute_command(*command)

    def _meet(self) -> None:
        first = self.nodes[0]
        for epoch, node in enumerate(self.nodes, 1):
            self._ids[self.id_of(node)] = node
            # Epochs that differ from the start need no settling, which takes a node timeout each.
            self.ask(node, "CLUSTER SET-CONFIG-EPOCH", epoch)
            if node is not first:
                self.ask(node, "CLUSTER MEET", "127.0.0.1", first.port, self._bus_ports[0])
        _wait(lambda: all(map(self._knows_all, self.nodes)), FORM_S, "the nodes did not meet")

    def _share_slots(self) -> None:
        bounds = [SLOTS * i // self.masters for i in range(self.masters + 1)]
        for node, first, after in zip(self.nodes, bounds, bounds[1:], strict=False):
            self.ask(node, "CLUSTER ADDSLOTSRANGE", first, after - 1)

    def _knows_all(self, node: RedisServer) -> bool:
        return f"cluster_known_nodes:{len(self.nodes)}\r\n" in self.ask(node, "CLUSTER INFO", raw=True).decode()

    def _is_ok(self, node: RedisServer) -> bool:
        try:
            state = self.ask(node, "CLUSTER INFO", raw=True).decode()
            replication = self.info(node, "replication")
        except redis.RedisError:
            return False
        return (
            "cluster_state:ok" in state
            and f"cluster_slots_ok:{SLOTS}" in state
            and replication.get("master_link_status", "up") == "up"
        )


class Move:
    """Slots' way from one master to another, as `redis-cli --cluster reshard` has it. Use as a context."""

    def __init__(self, cluster: RedisCluster, source: RedisServer, target: RedisServer) -> None:
        self._source_id, self._target_id = cluster.id_of(source), cluster.id_of(target)
        self._target_port = target.port
        self._giving, self._taking = redis.Redis(port=source.port), redis.Redis(port=target.port)

    def __enter__(self) -> "Move":
        return self

    def __exit__(self, *_: object) -> None:
        self._giving.close()
        self._taking.close()

    def begin(self, slot: int) -> int:
        """Bring a slot's keys over, and leave it on its way: the source sends on who asks for them. How many keys."""
        self._taking.execute_command("CLUSTER SETSLOT", slot, "IMPORTING", self._source_id)
        self._giving.execute_command("CLUSTER SETSLOT", slot, "MIGRATING", self._target_id)
        keys = 0
        while found := self._giving.execute_command("CLUSTER GETKEYSINSLOT", slot, 10):
            where = ("127.0.0.1", self._target_port, "", 0, MOVE_TIMEOUT_MS, "KEYS")
            self._giving.execute_command("MIGRATE", *where, *found)
            keys += len(found)
        return keys

    def end(self, slot: int) -> None:
        """The slot is the target's."""
        for link in (self._taking, self._giving):
            link.execute_command("CLUSTER SETSLOT", slot, "NODE", self._target_id)


def _announcing(ports: Sequence[int]) -> list[tuple[str, ...]]:
    return [("--cluster-announce-port", str(port)) for port in ports]


def _range(part: str) -> range:
    first, _, last = part.partition("-")
    return range(int(first), int(last or first) + 1)


def _wait(holds: Callable[[], bool], within_s: float, otherwise: str) -> None:
    deadline = time.monotonic() + within_s
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{otherwise} within {within_s} s")
        time.sleep(0.05)

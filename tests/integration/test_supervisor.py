"""Workers that are killed, hang, do not start or do not end, and the signals that a supervisor takes."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2 as httpx
import pytest
from uvicorn.config import STARTUP_FAILURE

from tests.integration.supervised import WORKERS
from tests.processes import all_gone, workers_of

PATIENCE_S = 30
"""Far below how long a worker may be silent, where nothing else is said."""


class Supervised:
    """The process, and what can be seen of it."""

    def __init__(self, process: "subprocess.Popen[bytes]", url: str, log: Path) -> None:
        self.process = process
        self.url = url
        self.log = log

    def workers(self) -> list[int]:
        """Process ids of all workers."""
        return workers_of(self.process.pid)

    def wait_for(self, seen: Callable[[], bool]) -> None:
        """Wait until something is seen."""
        deadline = time.monotonic() + PATIENCE_S
        while not seen():
            assert time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.02)

    def pid(self) -> int | None:
        """The worker that answers, if one does."""
        with contextlib.suppress(httpx.HTTPError):
            pid: int = httpx.get(f"{self.url}/pid", timeout=1).json()
            return pid
        return None

    def stop(self) -> int:
        """SIGTERM; the exit code, once nothing is left."""
        workers = self.workers()
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout=PATIENCE_S)
        assert all_gone(workers)
        return code


@contextlib.contextmanager
def supervised(tmp_path: Path, *flags: str, silent_s: int = 3600, graceful_s: int = 3600) -> Iterator[Supervised]:
    log = tmp_path / "log"
    environment = {**os.environ, "SILENT_S": str(silent_s), "GRACEFUL_S": str(graceful_s), **dict.fromkeys(flags, "1")}
    with socket.create_server(("127.0.0.1", 0)) as listening, log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.integration.supervised"],
            env={**environment, "LISTENING": str(listening.fileno())},
            pass_fds=[listening.fileno()],
            stdout=out,
            stderr=out,
        )
        service = Supervised(process, "http://{}:{}".format(*listening.getsockname()), log)
        try:
            yield service
        finally:
            for worker in service.workers():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(worker, signal.SIGKILL)
            process.kill()
            process.wait()


def test_it_ends_at_once_while_its_workers_are_being_made(tmp_path: Path) -> None:
    with supervised(tmp_path) as service:
        service.wait_for(lambda: len(service.workers()) == WORKERS)
        assert service.stop() == 0


def test_it_ends_at_once_while_its_workers_start(tmp_path: Path) -> None:
    """Though each would take an hour, and is given one to answer requests."""
    with supervised(tmp_path, "SLOW") as service:
        service.wait_for(lambda: service.log.read_text().count("Waiting for application startup") == WORKERS)
        assert service.stop() == 0


def test_a_worker_that_is_killed_while_it_is_asked_is_replaced_at_once(tmp_path: Path) -> None:
    """It is asked from the beginning, and cannot answer yet. Another one takes its place, and a SIGTERM is heard."""
    with supervised(tmp_path) as service:
        service.wait_for(lambda: len(service.workers()) == WORKERS)
        time.sleep(0.3)  # a few looks at the workers
        first, second = service.workers()
        os.kill(first, signal.SIGKILL)
        service.wait_for(lambda: len(service.workers()) == WORKERS and first not in service.workers())
        os.kill(second, signal.SIGKILL)
        assert service.stop() == 0


@pytest.mark.parametrize("flags", [(), ("SLOW",)])
def test_without_a_supervisor_no_worker_goes_on(tmp_path: Path, flags: tuple[str, ...]) -> None:
    """Nobody would replace it, nor tell it to end, and it would hold the port."""
    with supervised(tmp_path, *flags) as service:
        service.wait_for(lambda: service.log.read_text().count("Waiting for application startup") == WORKERS)
        workers = service.workers()
        service.process.kill()
        assert all_gone(workers, PATIENCE_S)


def test_a_worker_that_hangs_is_replaced(tmp_path: Path) -> None:
    with supervised(tmp_path, silent_s=3) as service:
        service.wait_for(lambda: service.pid() is not None)
        hung = service.workers()[0]
        os.kill(hung, signal.SIGSTOP)
        service.wait_for(lambda: hung not in service.workers() and len(service.workers()) == WORKERS)


@pytest.mark.parametrize("hang", [True, False])
def test_a_worker_that_does_not_end_is_not_waited_for_longer_than_it_may_take(tmp_path: Path, hang: bool) -> None:
    with supervised(tmp_path, *([] if hang else ["ENDLESS"]), graceful_s=1) as service:
        service.wait_for(lambda: service.log.read_text().count("Application startup complete") == WORKERS)
        if hang:
            os.kill(service.workers()[0], signal.SIGSTOP)
        assert service.stop() == 0


def test_a_service_that_cannot_start_says_so(tmp_path: Path) -> None:
    with supervised(tmp_path, "FAILS") as service:
        assert service.process.wait(timeout=PATIENCE_S) == STARTUP_FAILURE


def test_a_worker_more_and_a_worker_less(tmp_path: Path) -> None:
    with supervised(tmp_path) as service:
        service.wait_for(lambda: service.pid() is not None)
        service.process.send_signal(signal.SIGTTIN)
        service.wait_for(lambda: len(service.workers()) == WORKERS + 1)
        for left in (WORKERS, 1):
            service.process.send_signal(signal.SIGTTOU)
            service.wait_for(lambda left=left: len(service.workers()) == left)  # type: ignore[misc]
        service.process.send_signal(signal.SIGTTOU)
        assert service.stop() == 0


def test_it_ends_at_once_while_workers_are_replaced(tmp_path: Path) -> None:
    with supervised(tmp_path) as service:
        service.wait_for(lambda: service.pid() is not None)
        service.process.send_signal(signal.SIGHUP)
        service.wait_for(lambda: len(service.workers()) > WORKERS)
        assert service.stop() == 0


def test_workers_are_replaced_one_by_one_each_once_its_successor_serves(tmp_path: Path) -> None:
    with supervised(tmp_path) as service:
        service.wait_for(lambda: service.pid() is not None)
        before = set(service.workers())
        service.process.send_signal(signal.SIGHUP)
        service.wait_for(lambda: len(service.workers()) == WORKERS and not before & set(service.workers()))
        assert service.pid() in service.workers()

"""Several workers: each that ends or hangs is replaced, and all end when they are told to.

uvicorn's own supervisor waits for the answer of one worker before it looks at anything else, a SIGTERM included: for a
worker that is only just starting, and, since it holds both ends of the pipe, as long as a worker may be silent for one
that was killed before it answered. Nor does it ever give up a worker that does not end. This one waits for nobody.
"""

import logging
import os
import signal
import threading
import time
from collections.abc import Sequence
from socket import socket
from types import FrameType

import uvicorn
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import Multiprocess
from uvicorn.supervisors.multiprocess import Process

TICK_S = 0.1
"""How often the supervisor looks at signals and workers."""
CLOSE_S = 5
"""Once all requests are answered or given up, how long it may take to save the index and close the store."""

_log = logging.getLogger(__name__)


class Server(uvicorn.Server):
    """A server that ends when it is told to, whatever holds it up.

    Before it serves it ends at once: nobody waits for an answer of it yet, and the store is safe from worse.
    """

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if not self.started:
            os._exit(0)
        super().handle_exit(sig, frame)

    async def shutdown(self, sockets: list[socket] | None = None) -> None:
        limit = threading.Timer((self.config.timeout_graceful_shutdown or 0) + CLOSE_S, os._exit, [1])
        limit.daemon = True  # and not cancelled: threads that do not end hold up the interpreter too
        limit.start()
        await super().shutdown(sockets)


class Worker(Process):
    """A process that serves."""

    def __init__(self, config: uvicorn.Config, sockets: list[socket]) -> None:
        super().__init__(config, sockets)
        self.serves = False
        """Whether it had begun to serve when it last answered."""
        self._asked_s: float | None = None

    @property
    def server(self) -> uvicorn.Server:
        if self._server is None:
            self._server = Server(self.config)
        return self._server

    def always_pong(self) -> None:
        """In the worker: answer the supervisor as long as there is one, and without it end as after SIGTERM."""
        self.parent_conn.close()  # of the supervisor's end it has a copy, which would keep the pipe open
        try:
            super().always_pong()
        except (EOFError, OSError):
            _log.error("the supervisor is gone")
            os.kill(os.getpid(), signal.SIGTERM)

    def is_alive(self, timeout: float = 5) -> bool:
        """Whether it runs, and what it was asked last is answered, or no longer open than `timeout` (s)."""
        if not self.process.is_alive():
            return False
        try:
            while self.parent_conn.poll():
                self.serves = self.parent_conn.recv()
                self._asked_s = None
            if self._asked_s is None:
                self.parent_conn.send(b"ping")
                self._asked_s = time.monotonic()
        except (OSError, EOFError):
            return False
        return time.monotonic() - self._asked_s < timeout


class Supervisor(Multiprocess):
    """Workers over the same sockets.

    SIGTERM and SIGINT end them all, SIGHUP replaces one after the other, each once its successor serves; SIGTTIN and
    SIGTTOU add and take away one.

    Parameters
    ----------
    drain_s : how long a worker listens on after SIGTERM; after that, and what a `Server` may take, it is killed.
    """

    def __init__(self, config: uvicorn.Config, sockets: list[socket], drain_s: float) -> None:
        super().__init__(config, sockets)
        self._workers: list[Worker] = []
        self._wanted = config.workers
        self._to_replace: list[int] = []
        self._successor: Worker | None = None
        self._leaving: dict[Worker, float] = {}  # with when they are killed
        self._stop_s = drain_s + (config.timeout_graceful_shutdown or 0) + CLOSE_S + 1
        self.failed = False
        """Whether it ends because a worker could not start."""

    def run(self) -> None:
        """Return when all have ended."""
        _log.info("supervising %d workers, process %d", self._wanted, os.getpid())
        while not self.should_exit.wait(TICK_S if self._workers else 0):
            self.handle_signals()
            self.keep_subprocess_alive()
        self._dismiss([*self._workers, *([self._successor] if self._successor else [])])
        while self._leaving:
            self._pass_on_signals()
            self._see_off()
            time.sleep(TICK_S)

    def keep_subprocess_alive(self) -> None:
        """Replace workers that have ended or hang, and see to those that come and go."""
        if self.should_exit.is_set():
            return
        for i, worker in enumerate(self._workers):
            if not self._lives(worker):
                if self.should_exit.is_set():
                    return
                self._workers[i] = self._started()
        while len(self._workers) < self._wanted:
            self._workers.append(self._started())
        self._dismiss(self._workers[self._wanted :])
        del self._workers[self._wanted :]
        self._replace_next()
        self._see_off()

    def _lives(self, worker: Worker) -> bool:
        if worker.is_alive(self.config.timeout_worker_healthcheck):
            return True
        worker.kill()
        worker.join()
        _log.error("the worker %s has died or hung; its exit code is %s", worker.pid, worker.exitcode)
        if worker.exitcode == STARTUP_FAILURE:  # another one would fail the same way
            self.failed = True
            self.should_exit.set()
        return False

    def _started(self) -> Worker:
        worker = Worker(self.config, self.sockets)
        worker.start()
        return worker

    def _replace_next(self) -> None:
        """Go on with replacing all. A worker may take as long as it needs to begin to serve."""
        if not self._to_replace:
            return
        if self._successor is None:
            self._successor = self._started()
        elif not self._successor.is_alive(self.config.timeout_worker_healthcheck):
            _log.error("a new worker did not start; those that run are kept")
            self._successor.kill()
            self._successor.join()
            self._successor = None
            self._to_replace.clear()
        elif self._successor.serves:
            place = self._to_replace.pop(0)
            gone = self._workers[place : place + 1]
            self._workers[place : place + 1] = [self._successor]
            self._successor = None
            self._dismiss(gone)

    def _dismiss(self, workers: Sequence[Worker]) -> None:
        for worker in workers:
            worker.terminate()
            self._leaving[worker] = time.monotonic() + self._stop_s

    def _see_off(self) -> None:
        for worker, until_s in list(self._leaving.items()):
            if worker.exitcode is not None:
                del self._leaving[worker]
            elif time.monotonic() > until_s:
                _log.error("the worker %s does not end, and is killed", worker.pid)
                worker.kill()

    def _pass_on_signals(self) -> None:
        """Who says it once more does not want to wait."""
        while self.signal_queue:
            number = self.signal_queue.pop(0)
            if number in (signal.SIGTERM, signal.SIGINT):
                for worker in self._leaving:
                    if worker.exitcode is None and worker.pid is not None:
                        os.kill(worker.pid, number)

    def handle_hup(self) -> None:
        _log.info("replacing all workers")
        self._to_replace = list(range(len(self._workers)))

    def handle_ttin(self) -> None:
        self._wanted += 1

    def handle_ttou(self) -> None:
        self._wanted = max(1, self._wanted - 1)

"""A real service process on a free port."""

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import httpx2 as httpx

START_S = 60
STOP_S = 20
"""The time that docker-compose.yml gives it; that is above what its settings allow by default."""


@contextlib.contextmanager
def running_service(data_dir: Path, *options: str, **environment: str) -> Iterator["Service"]:
    """Start `warp-rerank serve`, wait until it is ready, and stop it in the end."""
    service = Service(data_dir, options, environment)
    try:
        service.start()
        yield service
    finally:
        service.process.terminate()  # not kill: it would leave worker processes behind
        service.process.wait(timeout=STOP_S)
        service.client.close()


class Service:
    """The process, and a client that talks to it."""

    def __init__(
        self, data_dir: Path, options: tuple[str, ...] = (), environment: dict[str, str] | None = None
    ) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = data_dir / "service.log"
        self.client = httpx.Client(base_url=self.url, timeout=30)
        self._command = [*warp_rerank("serve"), "--port", str(self.port), "--data-dir", str(data_dir), *options]
        self._environment = {**os.environ, "WARP_ENCODER": "wordllama", **(environment or {})}

    def start(self) -> None:
        """Start the process and wait until it is ready."""
        with self.log.open("ab") as log:
            self.process = self.launch(log)
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline:
            assert self.process.poll() is None, self.log.read_text()
            with contextlib.suppress(httpx.TransportError):
                if self.client.get("/readyz").status_code == 200:
                    return
            time.sleep(0.05)
        raise TimeoutError(self.log.read_text())

    def launch(self, log: IO[bytes]) -> "subprocess.Popen[bytes]":
        """Start the process."""
        return subprocess.Popen(self._command, stdout=log, stderr=log, env=self._environment)


def warp_rerank(*arguments: str) -> list[str]:
    """The command line that was installed beside this Python."""
    return [str(Path(sys.executable).with_name("warp-rerank")), *arguments]


def run(data_dir: Path, *arguments: str, stdin: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a subcommand to its end, in a folder of its own."""
    return subprocess.run(
        warp_rerank(*arguments),
        capture_output=True,
        text=True,
        input=stdin,
        timeout=120,
        cwd=data_dir,
        env={**os.environ, "WARP_DATA_DIR": str(data_dir), "COLUMNS": "160", **environment},
        check=False,
    )

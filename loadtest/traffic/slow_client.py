"""Clients whose lines are slow, and those that never send all of what they announced."""

import contextlib
import itertools
import time
from collections.abc import Sequence
from urllib.parse import SplitResult, urlsplit

from gevent import socket, ssl
from locust import task

from loadtest.traffic.agreement import REFUSED
from loadtest.traffic.users import Caller, rerank_bodies

SLOW_S = 2.0
"""How long a slow line takes to send its request: less than any sensible limit."""
CLOSED_S = 10.0
"""How long a client that never ends may hold its connection."""
ANSWERED_S = 30.0
CONNECT_S = 5.0
PARTS = 20
ANNOUNCED = 100_000
CLOSED = 0
"""In place of a status: the connection was closed."""


class SlowClient(Caller):
    """Must be answered when it is slow, and cut off when it never ends; the others' times show that they wait for
    neither.
    """

    weight = 2

    @task
    def slow(self) -> None:
        """All of it comes, in twenty parts."""
        body = rerank_bodies("ids", self.ledger.collection)[0]
        size = -(-len(body) // PARTS)
        parts = [body[i : i + size] for i in range(0, len(body), size)]
        self._send("slow", len(body), parts, SLOW_S / PARTS, ANSWERED_S, 200)

    @task
    def endless(self) -> None:
        """A byte now and then of what never comes."""
        self._send("endless", ANNOUNCED, [b" "] * ANNOUNCED, 0.5, CLOSED_S, CLOSED, 408)

    def _send(
        self, kind: str, announced: int, parts: Sequence[bytes], pause_s: float, most_s: float, *right: int
    ) -> None:
        """Send a request part by part, and note what came back."""
        begin = time.perf_counter()
        status = self._outcome(announced, parts, pause_s, begin + most_s)
        fits = status in right or (status in (REFUSED, CLOSED) and self.may_be_refused)
        said = {CLOSED: "was cut off", None: "held its connection"}.get(status, f"got {status}")
        self.environment.events.request.fire(
            request_type="POST",
            name=f"{kind} client",
            response_time=(time.perf_counter() - begin) * 1000,
            response_length=0,
            exception=None if fits else RuntimeError(said),
            context={"status": status or 0},
            response=None,
        )

    def _outcome(self, announced: int, parts: Sequence[bytes], pause_s: float, deadline: float) -> int | None:
        """The status of the answer, or that the connection was closed; None when neither came in time."""
        url = urlsplit(self.host or "")
        head = f"POST {url.path.rstrip('/')}/rerank HTTP/1.1\r\nhost: {url.hostname}\r\nconnection: close\r\n"
        head += f"content-type: application/json\r\ncontent-length: {announced}\r\n\r\n"
        try:
            with self._connection(url) as link:
                link.settimeout(pause_s)
                for part in itertools.chain([head.encode()], parts, itertools.repeat(b"")):
                    link.sendall(part)
                    with contextlib.suppress(TimeoutError):
                        answer = link.recv(4096)  # waits for as long as the pause is
                        return int(answer[9:12] or CLOSED)
                    if time.perf_counter() > deadline:
                        break
        except OSError:
            return CLOSED
        return None

    @staticmethod
    def _connection(url: SplitResult) -> socket.socket:
        secure = url.scheme == "https"
        link = socket.create_connection((url.hostname, url.port or (443 if secure else 80)), CONNECT_S)
        return ssl.create_default_context().wrap_socket(link, server_hostname=url.hostname) if secure else link

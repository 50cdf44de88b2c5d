"""Open loop load: requests leave when they are due, whether or not the ones before were answered.

So the time that a request waits for an overloaded server is counted, which a closed loop hides. One process on one core
sends a few thousand small requests a second.
"""

import asyncio
import gc
import random
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from time import perf_counter

BROKEN = 0
"""The status of a request whose connection broke before it was answered."""
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_CLOSES = re.compile(rb"\r\nconnection: *close", re.IGNORECASE)


def message(path: str, body: bytes | None = None, headers: str = "") -> bytes:
    """A request as it goes over the wire."""
    head = f"{'GET' if body is None else 'POST'} {path} HTTP/1.1\r\nhost: localhost\r\n{headers}"
    if body is None:
        return f"{head}\r\n".encode()
    return f"{head}content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body


@dataclass(frozen=True)
class Answer:
    """One answer: its status, when it was due to be asked for, and how long after that it came, in seconds."""

    status: int
    due_s: float
    took_s: float
    body: bytes


@dataclass(frozen=True)
class Answers:
    """All answers of a run."""

    all: Sequence[Answer]
    seconds: float

    def of(self, *statuses: int) -> "Answers":
        """Only those with one of these statuses."""
        return Answers([one for one in self.all if one.status in statuses], self.seconds)

    def after(self, due_s: float, until_s: float = float("inf")) -> "Answers":
        """Only those that were due in this part of the run."""
        kept = [one for one in self.all if due_s <= one.due_s < until_s]
        return Answers(kept, min(self.seconds, until_s) - due_s)

    def __len__(self) -> int:
        return len(self.all)

    @property
    def per_s(self) -> float:
        """Answers a second."""
        return len(self.all) / self.seconds

    def ms(self, share: float) -> float:
        """The time, in milliseconds, that this share of the answers did not exceed; nan without any."""
        took = sorted(one.took_s for one in self.all)
        return took[min(len(took) - 1, int(share * len(took)))] * 1000 if took else float("nan")

    def counts(self) -> dict[int, int]:
        """Answers by status."""
        return {status: len(self.of(status)) for status in sorted({one.status for one in self.all})}


class Connection(asyncio.Protocol):
    """One connection; asks one thing at a time."""

    def __init__(self, idle: list["Connection"]) -> None:
        self._idle = idle
        self._waiting: asyncio.Future[tuple[int, bytes]] | None = None
        self._got = bytearray()

    def connection_made(self, transport: asyncio.Transport) -> None:
        self.transport = transport

    def ask(self, request: bytes) -> asyncio.Future[tuple[int, bytes]]:
        """Send a request; the status and body of its answer."""
        self._waiting = asyncio.get_running_loop().create_future()
        self.transport.write(request)
        return self._waiting

    def data_received(self, data: bytes) -> None:
        self._got += data
        end = self._got.find(b"\r\n\r\n")
        if end < 0:
            return
        head = bytes(self._got[:end])
        length = _LENGTH.search(head)
        size = int(length[1]) if length else 0
        if len(self._got) < end + 4 + size:
            return
        body = bytes(self._got[end + 4 :])
        self._got.clear()
        if _CLOSES.search(head):
            self.transport.close()
        else:
            self._idle.append(self)
        self._done(int(head[9:12]), body)

    def connection_lost(self, exc: Exception | None) -> None:
        if self in self._idle:
            self._idle.remove(self)
        self._done(BROKEN, b"")

    def _done(self, status: int, body: bytes) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting and not waiting.done():
            waiting.set_result((status, body))


class Load:
    """Connections to one port, opened as they are needed."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._idle: list[Connection] = []
        self._all: list[Connection] = []

    async def ask(self, request: bytes, due_s: float | None = None, start_s: float = 0.0) -> Answer:
        """Ask, on a connection that is free; the time counts from when it was due (now, when left out)."""
        due_s = perf_counter() if due_s is None else due_s
        try:
            connection = self._idle.pop() if self._idle else await self._connection()
            status, body = await connection.ask(request)
        except OSError:
            status, body = BROKEN, b""
        return Answer(status, due_s - start_s, perf_counter() - due_s, body)

    async def _connection(self) -> Connection:
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(lambda: Connection(self._idle), "127.0.0.1", self.port)
        self._all.append(connection)
        return connection

    async def run(
        self, requests: Sequence[bytes], per_s: float, seconds: float, seed: int = 1, steady: bool = False
    ) -> Answers:
        """Ask at random moments (a Poisson process), or steadily, so many times a second on the average."""
        rng = random.Random(seed)
        start = perf_counter()
        due, asked = start, []
        while due < start + seconds:
            wait = due - perf_counter()
            if wait > 0:
                await asyncio.sleep(wait)
            asked.append(asyncio.ensure_future(self.ask(requests[len(asked) % len(requests)], due, start)))
            due += 1 / per_s if steady else rng.expovariate(per_s)
        return Answers(await asyncio.gather(*asked), seconds)

    async def run_during(self, requests: Sequence[bytes], per_s: float, lasting: asyncio.Task[None]) -> Answers:
        """`run`, second after second, until a task has ended, whose errors are raised."""
        start = perf_counter()
        answers: list[Answer] = []
        while not lasting.done():
            answers += (await self.run(requests, per_s, 1)).all
        await lasting
        return Answers(answers, perf_counter() - start)

    async def watch(self, request: bytes, until: asyncio.Event, pause_s: float = 0.01) -> Answers:
        """Ask one at a time, over and over, until told to stop."""
        start, asked = perf_counter(), []
        while not until.is_set():
            asked.append(await self.ask(request, start_s=start))
            await asyncio.sleep(pause_s)
        return Answers(asked, perf_counter() - start)

    def close(self) -> None:
        """Close all connections."""
        for connection in self._all:
            connection.transport.close()


@asynccontextmanager
async def load_on(port: int) -> AsyncIterator[Load]:
    """A load without garbage collections of its own."""
    load = Load(port)
    gc.disable()
    try:
        yield load
    finally:
        gc.enable()
        load.close()

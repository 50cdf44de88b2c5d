"""Everything that callers do, right and wrong, in random order at random moments."""

import asyncio
import contextlib
import json
import random
from collections import Counter
from collections.abc import Callable, Sequence
from time import perf_counter

from loadtest import bodies
from loadtest.open_loop import BROKEN, Load, message

PER_S = 150
SIZES = (1, 400)
"""Candidates of a re-ranking."""
PREPARED = 100
"""Different bodies of each form."""
OTHERS = 200
"""Documents that come and go, beside those that stay."""
RIGHT, REFUSED = (200,), 429
WRONG = (400, 404, 405, 413, 415, 422)

_BAD = (
    message("/rerank", b'{"entity": "Breakfast", "candidates": ['),
    message("/rerank", b'{"entity": "Breakfast", "candidates": [{"score": "high"}]}'),
    message("/rerank", b'{"entity": "Breakfast", "nothing": 1, "candidates": []}'),
    message("/rerank", b'{"entity": "Breakfast", "candidates": [{"si": 1e999}]}'),
    message("/rerank", b"[" * 10_000),
    message("/rerank", b'{"candidates": [], "k": 0}'),
    message("/search", b'{"query": 1}'),
    message("/ingest", b'{"documents": {}}'),
    message("/ingest", b"\xff\xfe"),
    message("/nowhere"),
    message("/documents/nobody"),
    message("/rerank"),
)


class Mixed:
    """One load of all kinds.

    Parameters
    ----------
    load : its connections.
    """

    def __init__(self, load: Load, rng: random.Random) -> None:
        self._load = load
        self._rng = rng
        self.asked = 0
        self.wrong: Counter[str] = Counter()
        """Answers that are not as they should be; a refusal is."""
        self._inline = [message("/rerank", bodies.inline(n, seed=n)) for n in self._sizes()]
        self._ids = [message("/rerank", bodies.ids_and_scores(n, seed=n)) for n in self._sizes()]
        self._kinds: Sequence[tuple[int, Callable[[], bytes], Sequence[int]]] = (
            (30, lambda: rng.choice(self._inline), RIGHT),
            (25, lambda: rng.choice(self._ids), RIGHT),
            (12, self._search, RIGHT),
            (10, self._ingest, RIGHT),
            (5, self._delete, RIGHT),
            (10, lambda: rng.choice(_BAD), WRONG),
            (2, lambda: message("/metrics"), RIGHT),
        )
        self._leaving = 6

    async def run(self, seconds: float) -> None:
        """Ask, `PER_S` times a second on the average."""
        rng, tasks = self._rng, set()
        weights = [weight for weight, _, _ in self._kinds]
        due = begin = perf_counter()
        while due < begin + seconds:
            await asyncio.sleep(max(0.0, due - perf_counter()))
            self.asked += 1
            if rng.random() * (sum(weights) + self._leaving) < self._leaving:
                task = asyncio.create_task(self._leave(rng.choice(self._inline), rng.random()))
            else:
                ((_, made, right),) = rng.choices(self._kinds, weights)
                task = asyncio.create_task(self._ask(made(), right))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
            due += rng.expovariate(PER_S)
        await asyncio.gather(*tasks)

    async def _ask(self, request: bytes, right: Sequence[int]) -> None:
        answer = await self._load.ask(request)
        if answer.status == BROKEN:  # once is right: the service had closed an idle connection when this was sent
            answer = await self._load.ask(request)
        if answer.status not in right and answer.status != REFUSED:
            self.wrong[f"{answer.status} to {request[:40]!r}"] += 1

    async def _leave(self, request: bytes, share: float) -> None:
        """Send a part of a request, or all of it, and go."""
        with contextlib.suppress(OSError):
            _, writer = await asyncio.open_connection("127.0.0.1", self._load.port)
            writer.write(request[: int(2 * share * len(request)) + 1])
            await asyncio.sleep(self._rng.random() / 100)
            writer.transport.abort()

    def _sizes(self) -> list[int]:
        return [self._rng.randint(*SIZES) for _ in range(PREPARED)]

    def _search(self) -> bytes:
        word = self._rng.choice(("breakfast", "coffee", "bread", "service"))
        query = f"What do guests think about the {word} at {self._rng.randrange(24)} o'clock?"
        asked = {"query": query, "entity": bodies.ENTITY, "collection": bodies.COLLECTION}
        return message("/search", json.dumps(asked).encode())

    def _ingest(self) -> bytes:
        names = [bodies.document_id(self._rng.randrange(bodies.DOCUMENTS)) for _ in range(3)]
        names += [f"other-{self._rng.randrange(OTHERS)}" for _ in range(2)]
        documents = [
            {
                "id": name,
                "text": bodies.text(self._rng),
                "opinions": [{"entity": bodies.ENTITY, "si": self._rng.choice(bodies.POSITIONS)}],
            }
            for name in names
        ]
        return message("/ingest", json.dumps({"collection": bodies.COLLECTION, "documents": documents}).encode())

    def _delete(self) -> bytes:
        name = f"other-{self._rng.randrange(OTHERS)}"
        return f"DELETE /documents/{name}?collection={bodies.COLLECTION} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode()

"""Replicas of the service over one store, and what they answer: a search that finds every document, and the counts."""

import asyncio
import contextlib
import math
import os
import re
import signal
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

import httpx2 as httpx

from app.encoder import open_encoder
from app.store.base import CollectionSettings, Document, Vector
from app.store.facets import ALL
from loadtest.reliability.content import COLLECTION, DOCUMENTS, ENTITIES, NUMBER_OF, change_of, recount
from loadtest.reliability.torture import PREFIX
from tests.end_to_end.process import Service

ENCODER = "wordllama"
QUERY = "what do people say about it"
SETTINGS = {
    "WARP_STORE_PREFIX": PREFIX,
    "WARP_ENCODER": ENCODER,
    "WARP_SNAPSHOT_CHANGES": "1000",  # every second or so: some are of what a server then loses
    "WARP_DRAIN_MS": "0",
}
READ_ANEW = "the index is read anew"
"""What a replica logs when it finds that the store has gone back, or has forgotten."""

_POSITIONS = CollectionSettings().positions
_LAG = re.compile(r"^warp_index_lag_seconds (\S+)$", re.MULTILINE)

Hit = tuple[str, float, float | None]
"""Id, similarity, opinion."""


@dataclass(frozen=True)
class Answers:
    """What a replica says, or must say.

    Parameters
    ----------
    found : by entity, all documents in the order of a search.
    counts : by entity, its counts by position; None when it is not known.
    """

    found: Mapping[str, Sequence[Hit]]
    counts: Mapping[str, Mapping[str, int] | None]

    def differing(self, other: "Answers") -> int:
        """Documents of which any search tells something else, and entities whose counts are others.

        Parameters
        ----------
        other : on all of the entities, or some.
        """
        documents = set()
        for entity, hits in other.found.items():
            documents |= {hit[0] for hit in _rounded(hits) ^ _rounded(self.found[entity])}
        return len(documents) + sum(self.counts[entity] != told for entity, told in other.counts.items())


def _rounded(hits: Iterable[Hit]) -> set[Hit]:
    return {(name, round(score, 5), si) for name, score, si in hits}


class Expected:
    """Works out what must be answered, from the numbers that are stored.

    A document's vector has one number that is not 0, in one of 256 places, so that its similarity to the query tells
    which of its versions was found.
    """

    def __init__(self) -> None:
        encoder = open_encoder(ENCODER, 1)
        assert encoder
        self.dimension = encoder.dimension
        self._query: Vector = asyncio.run(encoder.encode_queries([QUERY]))[0]
        encoder.close()

    def of(self, stored: Mapping[str, Document]) -> Answers:
        """The answers of a replica that is in step; equals are in no order."""
        contents = {}
        scores = {}
        for name, document in stored.items():
            change = change_of(NUMBER_OF[name], int(document.text), self.dimension)
            assert change.content
            assert change.vector is not None
            contents[name], scores[name] = change.content, float(change.vector @ self._query)
        counted = recount(contents.values())
        found: dict[str, Sequence[Hit]] = {}
        counts: dict[str, Mapping[str, int] | None] = {}
        for entity in ENTITIES:
            bins = {name: {o.entity: o.bin for o in content.opinions}.get(entity) for name, content in contents.items()}
            found[entity] = [
                (name, scores[name], None if bins[name] is None else _POSITIONS[bins[name]])
                for name, content in contents.items()
                if not content.excluded
            ]
            row = [counted[ALL, entity, b] for b in range(len(_POSITIONS))]
            counts[entity] = dict(zip(map(_as_key, _POSITIONS), row, strict=True)) if any(row) else None
        return Answers(found, counts)


def _as_key(position: float) -> str:
    return f"{position:g}"


class Replica:
    """One service with a data directory of its own. Use as an asynchronous context.

    Parameters
    ----------
    url : of the store.
    """

    def __init__(self, directory: Path, url: str) -> None:
        directory.mkdir()
        self._directory = directory
        self._service = Service(directory, environment={**SETTINGS, "WARP_STORE": url})
        self._client = httpx.AsyncClient(base_url=self._service.url, timeout=5)

    async def __aenter__(self) -> "Replica":
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.aclose()
        self._service.client.close()
        if self._service.process.poll() is None:
            self.send(signal.SIGCONT)
            await self.end(signal.SIGTERM)

    async def start(self) -> None:
        """Start the process, and wait until it is ready."""
        await asyncio.to_thread(self._service.start)

    def send(self, number: signal.Signals) -> None:
        """Send the process a signal."""
        os.kill(self._service.process.pid, number)

    async def end(self, number: signal.Signals) -> None:
        """Send it one that ends it, and wait until it has ended."""
        self.send(number)
        await asyncio.to_thread(self._service.process.wait, 60)

    @property
    def has_snapshot(self) -> bool:
        """Whether it has saved its index."""
        return (self._directory / "index" / "current").exists()

    @property
    def resyncs(self) -> int:
        """How often it has read its index anew."""
        return self._service.log.read_text().count(READ_ANEW)

    async def lag_s(self) -> float:
        """`warp_index_lag_seconds`."""
        text = (await self._client.get("/metrics")).text
        found = _LAG.search(text)
        assert found, text
        return float(found[1])

    async def answers(self, entities: Sequence[str] = ENTITIES) -> Answers | None:
        """What is compared; None when any of it is refused, or is marked as incomplete."""
        found: dict[str, Sequence[Hit]] = {}
        counts: dict[str, Mapping[str, int] | None] = {}
        for entity in entities:
            body = {
                "collection": COLLECTION,
                "query": QUERY,
                "entity": entity,
                "variant": "top_k",
                "expansion": "none",
                "pool_size": DOCUMENTS,
                "k": DOCUMENTS,
            }
            searched = await self._ask("POST", "/search", body)
            counted = await self._ask("GET", f"/entities/{entity}?collection={COLLECTION}")
            if searched is None or searched.get("degraded") or counted is None:
                return None
            found[entity] = [(one["id"], one["score"], one["si"]) for one in searched["results"]]
            counts[entity] = counted.get("counts")
        return Answers(found, counts)

    async def _ask(self, method: str, path: str, body: object = None) -> dict[str, Any] | None:
        """The answer; an empty one where there is nothing; None when it is refused."""
        try:
            answer = await self._client.request(method, path, json=body)
        except httpx.TransportError:
            return None
        if answer.status_code == 404:
            return {}
        return answer.json() if answer.status_code == 200 else None


@dataclass
class Lags:
    """Samples of how far replicas are behind, in s, while nothing goes wrong."""

    seconds: list[float] = field(default_factory=list)

    @contextlib.asynccontextmanager
    async def sampled(self, replicas: Sequence[Replica], every_s: float) -> AsyncIterator[None]:
        """Ask all replicas again and again meanwhile."""
        tasks = [asyncio.create_task(self._sample(replica.lag_s, every_s)) for replica in replicas]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _sample(self, lag_s: Callable[[], Any], every_s: float) -> None:
        while True:
            try:
                self.seconds.append(await lag_s())
            except httpx.TransportError:
                self.seconds.append(math.inf)
            await asyncio.sleep(every_s)

    @property
    def p99_s(self) -> float:
        """So far behind or less was a replica in 99 of 100 samples; infinite when there is none."""
        ordered = sorted(self.seconds)
        return ordered[min(len(ordered) * 99 // 100, len(ordered) - 1)] if ordered else math.inf

"""One writer: sends documents that the other writers send too, old versions among them, twice, and out of order."""

import asyncio
import json
import os
import random
import sys
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote

import httpx2 as httpx

import app.store.redis  # noqa: F401 - `open_store` imports it when it is needed; so it is there before the fork
from app.errors import StoreUnavailableError
from app.store import open_store
from app.store.base import Change, CollectionSettings, VectorSpace
from loadtest.reliability.content import COLLECTION, DOCUMENTS, SPACE, change_of
from loadtest.reliability.ledger import Gate, Ledger, Sent

MAX_BATCH = 8
STALE, TWICE, HELD_BACK = 0.08, 0.10, 0.30
"""Shares of old versions, of batches sent twice, and of those that later ones overtake."""
GIVES_UP = 0.2
"""Share of failures after which a writer leaves a batch alone; else it tries again."""
RETRY_S = 0.03


@dataclass(frozen=True)
class Orders:
    """What a writer is told.

    Parameters
    ----------
    number : of the writer.
    url : of a store, or http:// of a service.
    epoch : versions are the time since then, in the clock that all processes of the machine share.
    ack : asked of the store; None leaves it as it is by default.
    dimension : of the vectors.
    """

    number: int
    url: str
    prefix: str
    ledger: str
    gate: str
    seed: int
    epoch: float
    ack: str | None = None
    dimension: int = SPACE.dimension


class Channel(Protocol):
    """A way to the store."""

    async def send(self, changes: Sequence[Change]) -> Sequence[str]:
        """Outcomes; raises `Refused` when there is no answer, or a refusal."""

    async def close(self) -> None: ...


class Refused(Exception):  # noqa: N818 - nothing is wrong with it
    """The changes may be applied or not."""


class StoreChannel:
    """`Store.apply`, in this process."""

    def __init__(self, orders: Orders) -> None:
        self._store = open_store(orders.url, orders.prefix, **({"ack": orders.ack} if orders.ack else {}))
        self._space = VectorSpace(orders.dimension, SPACE.encoder)

    async def send(self, changes: Sequence[Change]) -> Sequence[str]:
        try:
            return await self._store.apply(COLLECTION, changes, self._space)
        except StoreUnavailableError as error:
            raise Refused(str(error)) from error

    async def close(self) -> None:
        await self._store.close()


class ServiceChannel:
    """POST /ingest, and a DELETE for each deletion that needs no version, which only `Store.apply` takes."""

    def __init__(self, orders: Orders) -> None:
        self._client = httpx.AsyncClient(base_url=orders.url, timeout=10)
        self._positions = CollectionSettings().positions

    async def send(self, changes: Sequence[Change]) -> Sequence[str]:
        documents = [self._body(change) for change in changes if change.content]
        report = await self._ask("POST", "/ingest", {"collection": COLLECTION, "documents": documents})
        if report["failed"]:
            raise Refused(str(report["failed"])[:300])
        outcomes = []
        for change in changes:
            if change.content:
                outcomes.append("done")
            elif change.version is not None:
                outcomes.append("not sent")
            else:
                path = f"/documents/{quote(change.id, safe='')}?collection={COLLECTION}"
                outcomes.append("deleted" if (await self._ask("DELETE", path))["deleted"] else "absent")
        return outcomes

    async def _ask(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        try:
            answer = await self._client.request(method, path, json=body)
        except httpx.TransportError as error:
            raise Refused(repr(error)) from error
        if answer.status_code != 200:
            raise Refused(f"{answer.status_code} {answer.text[:300]}")
        found: dict[str, Any] = answer.json()
        return found

    def _body(self, change: Change) -> dict[str, object]:
        content = change.content
        assert content
        assert change.vector is not None
        return {
            "id": change.id,
            "version": change.version,
            "text": content.text,
            "opinions": [{"entity": o.entity, "si": self._positions[o.bin]} for o in content.opinions],
            "attributes": content.attributes,
            "timestamp": content.timestamp,
            "excluded": content.excluded,
            "embedding": change.vector.tolist(),
        }

    async def close(self) -> None:
        await self._client.aclose()


class Writer:
    """The endless loop of one process."""

    def __init__(self, orders: Orders) -> None:
        self._orders = orders
        self._random = random.Random(orders.seed)
        self._gate = Gate(Path(orders.gate), orders.number)
        self._held_back: list[Sent] = []
        self._numbers = 0

    async def run(self) -> None:
        """Write until the gate says that it is the end."""
        kind = ServiceChannel if self._orders.url.startswith("http") else StoreChannel
        channel = kind(self._orders)
        self._ledger = Ledger(Path(self._orders.ledger))  # that it is there tells the parent that the writer is ready
        try:
            while await self._may_go():
                sent = self._batch()
                if self._random.random() < HELD_BACK:
                    self._held_back.append(sent)
                    continue
                await self._deliver(channel, sent)
                if self._random.random() < TWICE:
                    await self._deliver(channel, sent)
        finally:
            self._gate.leave(self._orders.number)
            await channel.close()

    async def _may_go(self) -> bool:
        """Wait until it may send; False at the end."""
        while (state := self._gate.enter()) == Gate.WAIT:  # noqa: ASYNC110 - another process sets it
            await asyncio.sleep(0.005)
        return state == Gate.RUN

    def _batch(self) -> Sent:
        if len(self._held_back) > 5 or (self._held_back and self._random.random() < HELD_BACK):
            return self._held_back.pop(self._random.randrange(len(self._held_back)))
        return [(self._random.randrange(DOCUMENTS), self._number()) for _ in range(self._random.randint(1, MAX_BATCH))]

    def _number(self) -> int:
        """The time in microseconds, or one that is long past; two writers may come to the same."""
        now = int((time.monotonic() - self._orders.epoch) * 1e6)
        return self._random.randrange(now) if self._random.random() < STALE else now

    async def _deliver(self, channel: Channel, sent: Sent) -> None:
        """Send a batch until it is answered for, or given up."""
        changes = [change_of(*one, self._orders.dimension) for one in sent]
        name = self._ledger.begins(sent)
        while await self._may_go():
            try:
                outcomes = await channel.send(changes)
            except Refused as error:
                self._ledger.failed(name, str(error))
                if self._random.random() < GIVES_UP:
                    return
                await asyncio.sleep(RETRY_S * self._random.random())
            else:
                self._ledger.answered(name, outcomes)
                return


def main() -> None:
    """Fork a writer for each line of orders, and tell its process id; for a line with such an id, tell how it ended.

    So what is imported is imported once.
    """
    for line in sys.stdin:
        asked = json.loads(line)
        if isinstance(asked, int):
            _, status = os.waitpid(asked, 0)
            print(os.waitstatus_to_exitcode(status), flush=True)
            continue
        if child := os.fork():
            print(child, flush=True)
            continue
        try:
            asyncio.run(Writer(Orders(**asked)).run())
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)


if __name__ == "__main__":
    main()

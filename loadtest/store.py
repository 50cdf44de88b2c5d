"""Bulk load of labelled documents through the store and through POST /ingest, beside what the store itself could take.

    python loadtest/store.py                      # 100,000 documents, SQLite and Redis, a few minutes
    python loadtest/store.py --documents 10000 --store redis

The yardstick is measured in the same run, in turns with ours: for SQLite plain inserts of the same rows, a transaction
for each batch, `synchronous=FULL`; for Redis pipelined HSETs of as many bytes by redis-benchmark, to a server that
syncs each write before it answers. Figures are medians of the rounds, each on a store of its own.
"""

import argparse
import asyncio
import json
import random
import sqlite3
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import httpx2 as httpx
import msgspec

from app.documents import draft
from app.ingestion import BATCH
from app.store import open_store
from app.store.base import Change, CollectionSettings
from tests.end_to_end.process import running_service
from tests.redis_server import running_redis

COLLECTION = "bulk"
ENTITIES, DAYS, LOOKUP = 200, 365, 200
CLIENTS = 4
"""Writers at once, of ours and of redis-benchmark."""


def documents(n: int) -> list[bytes]:
    """Reviews of about 300 bytes with one to three opinions, a day and an author group, as NDJSON lines."""
    rng = random.Random(1)
    positions = CollectionSettings().positions
    return [
        json.dumps(
            {
                "id": f"review-{i}",
                "text": " ".join(rng.choice(("quiet", "clean", "slow", "kind", "dear", "late")) for _ in range(30)),
                "opinions": [
                    {"entity": f"entity {e}", "si": rng.choice(positions)}
                    for e in rng.sample(range(ENTITIES), rng.randint(1, 3))
                ],
                "attributes": {"age": rng.choice(("18-34", "35-54", "55+"))},
                "timestamp": time.strftime("%Y-%m-%d", time.gmtime(1.7e9 + 86400 * rng.randrange(DAYS))),
            }
        ).encode()
        for i in range(n)
    ]


def batches(items: Sequence, size: int = BATCH) -> Iterator[Sequence]:
    """The items in order, a batch at a time."""
    return (items[start : start + size] for start in range(0, len(items), size))


async def by_apply(url: str, changes: Sequence[Change]) -> float:
    """Documents per second through `Store.apply`, several batches at once."""
    store = open_store(url)
    waiting = iter(list(batches(changes)))
    positions = CollectionSettings().positions

    async def writer() -> None:
        for batch in waiting:
            assert set(await store.apply(COLLECTION, batch, None, positions)) == {"created"}

    begin = time.perf_counter()
    await asyncio.gather(*(writer() for _ in range(CLIENTS)))
    rate = len(changes) / (time.perf_counter() - begin)
    await store.close()
    return rate


async def lookup_ms(url: str, n: int) -> float:
    """Median time of one lookup of 200 ids and an entity's counts, in ms."""
    store, rng, times = open_store(url), random.Random(2), []
    for _ in range(200):
        ids = [f"review-{i}" for i in rng.sample(range(n), min(LOOKUP, n))]
        begin = time.perf_counter()
        lookup = await store.lookup(COLLECTION, f"entity {rng.randrange(ENTITIES)}", ids)
        times.append(time.perf_counter() - begin)
        assert len(lookup.labels) == len(ids)
    await store.close()
    return statistics.median(times) * 1000


def by_ingest(url: str, directory: Path, lines: Sequence[bytes]) -> float:
    """Documents per second through POST /ingest as NDJSON, one request to one process."""
    with running_service(directory, WARP_STORE=url, WARP_ENCODER="") as service, closing(httpx.Client()) as client:
        begin = time.perf_counter()
        answer = client.post(
            f"{service.url}/ingest?collection={COLLECTION}",
            content=b"\n".join(lines),
            headers={"content-type": "application/x-ndjson"},
            timeout=3600,
        )
        rate = len(lines) / (time.perf_counter() - begin)
    assert answer.json()["created"] == len(lines), answer.text[:500]
    return rate


def plain_sqlite(directory: Path, changes: Sequence[Change]) -> float:
    """Rows per second of plain inserts: a document's row and its opinions' rows."""
    encode = msgspec.json.encode
    rows = [
        (COLLECTION, change.id, i, 1, change.fingerprint, encode(change.content).decode(), 0, None, "[]", None, 0)
        for i, change in enumerate(changes)
    ]
    opinions = [[(i, o.entity, o.bin) for o in change.content.opinions] for i, change in enumerate(changes)]
    with closing(sqlite3.connect(directory / "plain.db", isolation_level=None)) as db:
        db.executescript("pragma journal_mode = wal; pragma synchronous = full")
        db.execute(
            "create table document (collection text, id text, seq integer, version integer, fingerprint blob,"
            " content text, excluded integer, bin integer, facets text, vector blob, changed_us integer,"
            " primary key (collection, id))"
        )
        db.execute("create table opinion (document integer, entity text, bin integer, primary key (document, entity))")
        begin = time.perf_counter()
        for some, theirs in zip(batches(rows), batches(opinions), strict=True):
            db.execute("begin immediate")
            db.executemany(f"insert into document values ({','.join('?' * 11)})", some)
            db.executemany("insert into opinion values (?, ?, ?)", [row for one in theirs for row in one])
            db.execute("commit")
        return len(rows) / (time.perf_counter() - begin)


def plain_redis(port: int, changes: Sequence[Change]) -> float:
    """HSETs per second by redis-benchmark, each of as many bytes as our documents have, a batch in a pipeline."""
    size = int(statistics.mean(len(msgspec.json.encode(change.content)) for change in changes))
    command = [
        *("redis-benchmark", "-p", str(port), "-c", str(CLIENTS), "-P", str(BATCH), "-n", str(len(changes)), "--csv"),
        *("-r", str(len(changes)), "HSET", "plain", "d:__rand_int__", "x" * size),
    ]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return float(lines[-1].split(",")[1].strip('"'))


@contextmanager
def place(store: str, directory: Path) -> Iterator[tuple[str, int]]:
    """A store's URL, and the port of its server."""
    if store == "sqlite":
        yield f"sqlite:///{directory / 'warp.db'}", 0
    else:
        with running_redis(directory / "redis") as server:
            yield server.url, server.port


def measure(store: str, n: int, rounds: int) -> dict[str, float]:
    """Medians over the rounds."""
    lines = documents(n)
    scale = CollectionSettings().scale
    changes = [draft(line, scale).change for line in lines]
    found: dict[str, list[float]] = {"plain": [], "apply": [], "ingest": [], "lookup_ms": []}
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as name, place(store, Path(name)) as (url, port):
            directory = Path(name)
            found["plain"].append(plain_redis(port, changes) if port else plain_sqlite(directory, changes))
            found["apply"].append(asyncio.run(by_apply(url, changes)))
            found["lookup_ms"].append(asyncio.run(lookup_ms(url, n)))
        with tempfile.TemporaryDirectory() as name, place(store, Path(name)) as (url, _):
            found["ingest"].append(by_ingest(url, Path(name), lines))
    return {what: statistics.median(values) for what, values in found.items()}


def main() -> None:
    """Measure and print a line for each store."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--store", choices=("sqlite", "redis"))
    asked = parser.parse_args()
    for store in (asked.store,) if asked.store else ("sqlite", "redis"):
        found = measure(store, asked.documents, asked.rounds)
        plain, apply, ingest = found["plain"], found["apply"], found["ingest"]
        print(
            f"{store}: plain {plain:,.0f}/s; Store.apply {apply:,.0f}/s ({apply / plain:.2f} of plain); "
            f"POST /ingest {ingest:,.0f}/s ({ingest / plain:.2f}, {ingest / apply:.2f} of apply); "
            f"lookup of {LOOKUP} ids {found['lookup_ms']:.2f} ms",
            flush=True,
        )


if __name__ == "__main__":
    main()

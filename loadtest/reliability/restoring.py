"""R22: `verify` finds false counts of every kind, `--repair` mends them while writers go on; a backup brings all back.

The counts are falsified behind the store's back, in the file or on the server.
"""

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import redis

from app.store import open_store
from app.store.base import Drift, Store
from app.store.facets import ALL
from loadtest.reliability.content import COLLECTION, ENTITIES, FACETS
from loadtest.reliability.places import Place, place
from loadtest.reliability.result import Result, told
from loadtest.reliability.torture import PREFIX, Torture
from tests.end_to_end.process import run as warp_rerank

DOCUMENTS = ""
"""The facet of the number of documents, which servers keep and files do not."""

_NOBODY = "an entity that nobody has an opinion on"

Falsehood = tuple[str, str, int]
"""Facet and entity of a count, and by how much it is made wrong."""


async def run(store: str, directory: Path, short: bool) -> Result:
    """Falsify one count at a time, then many at once under load; then export, wipe, import."""
    with (
        place(store, directory) as at,
        Torture(directory, at.url, watched=False) as torture,
    ):
        await torture.run(1)
        opened = open_store(at.url, PREFIX)
        kinds = await _kinds(opened, store)
        found = [await _found_and_mended(opened, at, falsehood) for falsehood in kinds]
        by_command = await asyncio.to_thread(_by_command, at, directory, kinds)
        repaired = 0

        async def falsify(_: Torture) -> None:
            nonlocal repaired
            for _ in range(2 if short else 10):
                await asyncio.sleep(0.5)
                for falsehood in _added(kinds):
                    await asyncio.to_thread(_falsify, at, falsehood)
                repaired += len(await opened.repair())

        await torture.run(0, falsify)
        await opened.close()
        identical = await asyncio.to_thread(_restored, at, directory)
        findings = await torture.check()
    result = told(
        findings,
        f"{sum(found)} of {len(kinds)} kinds found and mended",
        f"by command {'all' if by_command else 'NOT all'}",
        f"{repaired} mended under load",
        f"export after restore {'identical' if identical else 'DIFFERS'}",
    )
    return Result(result.figure, result.passed and all(found) and by_command and repaired > 0 and identical)


async def _kinds(store: Store, kind: str) -> list[Falsehood]:
    """One falsehood of each kind: of an entity, of all entities, of an entity that nobody has an opinion on."""
    one_of_each = [ALL, *(next(f for f in FACETS if f.startswith(prefix)) for prefix in ("t:", "g:"))]
    counts: list[Falsehood] = []
    for facet in one_of_each:
        lookups = {entity: await store.lookup(COLLECTION, entity, [], [facet]) for entity in ENTITIES}
        busiest = max(ENTITIES, key=lambda entity: max(lookups[entity].entity_counts[0]))
        counts += [(facet, entity, by) for entity in (busiest, "") for by in (1, -1)]
    return [*counts, (ALL, _NOBODY, 1), *([] if kind == "sqlite" else [(DOCUMENTS, "", 1)])]


def _added(kinds: list[Falsehood]) -> list[Falsehood]:
    """Those that add, so that no two of them make up for one another."""
    return [falsehood for falsehood in kinds if falsehood[2] > 0]


async def _found_and_mended(store: Store, at: Place, falsehood: Falsehood) -> bool:
    facet, entity, by = falsehood
    _falsify(at, falsehood)
    found = await store.drift()
    mended = await store.repair()
    return _says(found, facet, entity, by) and mended == found and await store.drift() == []


def _says(found: list[Drift], facet: str, entity: str, by: int) -> bool:
    """Whether this one falsehood is all that was found."""
    told = [(one.collection, one.facet, one.entity, one.counted - one.recounted) for one in found]
    return told == [(COLLECTION, facet, entity, by)]


def _by_command(at: Place, directory: Path, kinds: list[Falsehood]) -> bool:
    """The same by the command line, all at once."""
    for falsehood in _added(kinds):
        _falsify(at, falsehood)
    statuses = [_command(at, directory, "verify", *more).returncode for more in ((), ("--repair",), ())]
    return statuses == [1, 0, 0]


def _restored(at: Place, directory: Path) -> bool:
    """Export, wipe, import, export again: whether both files are the same."""
    files = [directory / "before.jsonl.gz", directory / "after.jsonl.gz"]
    _command(at, directory, "export", str(files[0]), "--collection", COLLECTION).check_returncode()
    _wipe(at)
    _command(at, directory, "import", str(files[0]), "--collection", COLLECTION).check_returncode()
    _command(at, directory, "export", str(files[1]), "--collection", COLLECTION).check_returncode()
    return files[0].read_bytes() == files[1].read_bytes()


def _command(at: Place, directory: Path, *arguments: str) -> Any:
    return warp_rerank(directory, *arguments, WARP_STORE=at.url, WARP_STORE_PREFIX=PREFIX)


# Behind the store's back


def _falsify(at: Place, falsehood: Falsehood) -> None:
    """Make one count wrong, in a bin where it can be."""
    facet, entity, by = falsehood
    if not at.nodes:
        with closing(sqlite3.connect(_file(at), 30)) as db, db:
            where = (COLLECTION, entity, facet)
            db.execute("insert or ignore into population values (?, ?, ?, 0, 0)", where)
            (b,) = db.execute(
                "select bin from population where collection = ? and entity = ? and facet = ? order by n desc", where
            ).fetchone()
            db.execute(
                "update population set n = n + ? where collection = ? and entity = ? and facet = ? and bin = ?",
                (by, *where, b),
            )
        return
    field = "m" if facet == DOCUMENTS else f"{facet}{entity}"
    for link, key in _partitions(at):
        raw = link.hget(key, field)
        if (raw or entity == _NOBODY) and link.eval(_ADD, 1, key, field, by, "0,0,0,0,0,0,0"):
            return
    raise LookupError(field)


_ADD = """
local raw = redis.call('HGET', KEYS[1], ARGV[1]) or ARGV[3]
if ARGV[1] == 'm' then
    local m = cjson.decode(raw)
    redis.call('HSET', KEYS[1], 'm', string.format('[%.0f,"%s",%.0f]', m[1], m[2], m[3] + ARGV[2]))
    return 1
end
local done = false
local changed = string.gsub(raw, '%d+', function(n)
    if not done and tonumber(n) + ARGV[2] >= 0 then
        done = true
        return string.format('%.0f', tonumber(n) + ARGV[2])
    end
end)
redis.call('HSET', KEYS[1], ARGV[1], changed)
return done and 1 or 0
"""
"""Adds to the first bin that stays at zero or above, if there is one; at one moment, as writers may go on."""


def _partitions(at: Place) -> Iterator[tuple[redis.Redis, str]]:
    """The hashes that hold documents, with a link to their server."""
    for node in at.nodes:
        with closing(redis.Redis(port=node.port)) as link:
            for key in sorted(link.keys("*")):
                if link.hexists(key, "m"):
                    yield link, key


def _wipe(at: Place) -> None:
    if not at.nodes:
        for suffix in ("", "-wal", "-shm"):
            Path(_file(at) + suffix).unlink(missing_ok=True)
    for node in at.nodes:
        with closing(redis.Redis(port=node.port)) as link:
            link.flushall()


def _file(at: Place) -> str:
    return at.url.removeprefix("sqlite:///")

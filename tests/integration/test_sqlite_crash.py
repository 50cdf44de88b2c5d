"""A store that is killed in the middle of its work has lost nothing that it answered for."""

import asyncio
import random
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Timer

from app.store.base import Change
from app.store.sqlite import SqliteStore
from tests.conftest import counted, put

ROOT = Path(__file__).parents[2]
KILLS = 5
MAX_LIFE_S = 0.25
BATCH = 20


def batch_of(number: int) -> list[Change]:
    """New documents, one that every batch replaces, and the deletion of what an earlier batch stored."""
    new = [put(f"{number}/{i}", {"room": i % 7}) for i in range(BATCH)]
    return [*new, put("latest", {"room": number % 7}, text=str(number)), Change(f"{number - 1}/0")]


async def write(file: str, number: int) -> None:
    """Apply batch after batch, and print the number of each that was acknowledged."""
    store = SqliteStore(file)
    while True:
        await store.apply("c", batch_of(number))
        print(number, flush=True)  # noqa: T201 - the parent reads it
        number += 1


def killed_writer(file: Path, number: int, life_s: float) -> int:
    """Let a process write for a while after its first batch; the last batch that it was told is durable."""
    command = [sys.executable, "-m", "tests.integration.test_sqlite_crash", str(file), str(number)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        first = process.stdout.readline()
        Timer(life_s, process.kill).start()
        told = [first, *process.stdout]
    assert process.returncode == -9
    return max(int(line) for line in told if line.endswith("\n"))


async def stored_batches(store: SqliteStore, up_to: int) -> list[int]:
    """Documents that are left of each batch up to a number."""
    ids = {number: [f"{number}/{i}" for i in range(BATCH)] for number in range(up_to + 1)}
    return [len(await store.documents("c", batch)) for batch in ids.values()]


def test_a_killed_writer_leaves_every_acknowledged_batch_whole_and_counts_that_equal_a_recount(tmp_path: Path) -> None:
    file, rng, number = tmp_path / "warp.db", random.Random(1), 0

    async def check(acknowledged: int) -> int:
        """The last batch in the store: the last acknowledged one, or the one that was under way."""
        store = SqliteStore(file)
        latest = await store.document("c", "latest")
        assert latest
        last = int(latest.content.text)
        assert last in (acknowledged, acknowledged + 1)
        assert await stored_batches(store, last + 1) == [BATCH - 1] * last + [BATCH, 0]
        assert sum((await store.lookup("c", "room", [])).entity_counts[0]) == last * (BATCH - 1) + BATCH + 1
        assert await store.drift() == []
        await store.close()
        return last

    for _ in range(KILLS):
        acknowledged = killed_writer(file, number, rng.uniform(0, MAX_LIFE_S))
        number = asyncio.run(check(acknowledged)) + 1
    assert number > KILLS


def test_opening_waits_for_a_process_that_is_still_creating_the_file(tmp_path: Path) -> None:
    file = tmp_path / "warp.db"
    with closing(sqlite3.connect(file, isolation_level=None, check_same_thread=False)) as creating:
        creating.execute("begin immediate")
        with ThreadPoolExecutor(1) as other:
            other.submit(lambda: (time.sleep(0.3), creating.execute("commit")))
            store = SqliteStore(file)
    assert asyncio.run(store.apply("c", [put("d")])) == ["created"]
    asyncio.run(store.close())


def test_reading_waits_for_no_writer(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "warp.db")
    asyncio.run(store.apply("c", [put("d", {"room": 3})]))
    with closing(sqlite3.connect(tmp_path / "warp.db", isolation_level=None)) as writing:
        writing.execute("begin immediate")
        writing.execute("delete from population")
        assert asyncio.run(asyncio.wait_for(counted(store, "c", "room"), 10)) == {3: 1}
    asyncio.run(store.close())


if __name__ == "__main__":
    asyncio.run(write(sys.argv[1], int(sys.argv[2])))

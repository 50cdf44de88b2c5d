"""What 1, 2 and 4 workers take on 200,000 documents: resident and proportional set size, from real processes.

    python loadtest/memory.py
    python loadtest/memory.py --documents 50000 --workers 1 2

Each worker's shared pages count whole in its RSS, and by its part in its PSS, so the sum of the PSS is what the
machine gives up. Linux only. The store is filled first; the first start makes the snapshot, the others map it.
"""

import argparse
import asyncio
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import msgspec
import numpy as np

from app.store import open_store
from app.store.base import Change, Document, Opinion, VectorSpace

DIMENSION, ENTITIES, OPINIONS, BATCH = 384, 2000, 3, 1000
SETTLE_S = 300


async def fill(directory: Path, n: int) -> None:
    """Store n documents with three opinions each and random unit vectors."""
    rng = np.random.default_rng(0)
    store = open_store(f"sqlite:///{directory / 'warp.db'}")
    for start in range(0, n, BATCH):
        vectors = rng.standard_normal((BATCH, DIMENSION), dtype=np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        changes = []
        for i, vector in enumerate(vectors, start):
            entities = rng.choice(ENTITIES, OPINIONS, replace=False).tolist()
            held = zip(entities, rng.integers(0, 7, OPINIONS).tolist(), strict=True)
            content = Document("text", [Opinion(f"entity {entity}", b) for entity, b in held])
            changes.append(Change(f"document-{i}", content, msgspec.json.encode(content), vector))
        await store.apply("default", changes, VectorSpace(DIMENSION, None))
    await store.close()


def sizes(pid: int) -> tuple[float, float]:
    """RSS and PSS of a process in MiB."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    found = {name: int(re.search(rf"^{name}:\s+(\d+)", text, re.MULTILINE)[1]) / 1024 for name in ("Rss", "Pss")}
    return found["Rss"], found["Pss"]


def workers_of(pid: int, n: int) -> list[int]:
    """The processes that serve: the children that were started for it, or with one worker the process itself."""
    if n == 1:
        return [pid]
    children = [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return [one for one in children if "spawn_main" in Path(f"/proc/{one}/cmdline").read_text()]


def measure(directory: Path, n: int, matrix_mib: float) -> None:
    """Start the service with n workers, wait until all hold the vectors and memory has settled, and print it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(Path(sys.executable).with_name("warp-rerank")), "serve", "--port", str(port), "--workers", str(n)]
    environment = {**os.environ, "WARP_DATA_DIR": str(directory)}
    begin = time.monotonic()
    with (directory / "service.log").open("ab") as log:
        service = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        while not _ready(port):
            time.sleep(0.1)
            assert service.poll() is None, (directory / "service.log").read_text()
        ready_s = time.monotonic() - begin
        found: list[tuple[float, float]] = []
        while time.monotonic() < begin + SETTLE_S:
            before = found
            time.sleep(5)
            try:
                found = [sizes(pid) for pid in workers_of(service.pid, n)]
            except OSError:  # one has ended, and another is started in its place
                continue
            saved = (directory / "index" / "current").exists()  # until then it is at work on a snapshot
            whole = len(found) == n and min(r for r, _ in found) > matrix_mib
            if saved and whole and before and abs(sum(p for _, p in found) - sum(p for _, p in before)) < 2:
                break
        rss, pss = [round(r) for r, _ in found], sum(p for _, p in found)
        print(f"| {n} | {ready_s:.1f} | {', '.join(map(str, rss))} | {pss:.0f} |", flush=True)
    finally:
        service.send_signal(signal.SIGTERM)
        service.wait(60)


def _ready(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=200_000)
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 1, 2, 4])
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        asyncio.run(fill(Path(directory), given.documents))
        matrix = given.documents * DIMENSION * 4 / 2**20
        print(f"{given.documents:,} documents; one copy of the vectors is {matrix:.0f} MiB\n")
        print("| workers | s to ready | RSS of each, MiB | PSS of all, MiB |\n| ---: | ---: | --- | ---: |")
        for n in given.workers:
            measure(Path(directory), n, matrix)

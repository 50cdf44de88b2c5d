"""What a scrape costs after callers have sent all sorts of names: scoreboard row R17.

    python -m loadtest.metrics_size

Starts a service, sends it 10,000 entities, 1,000 ids and 100 paths that do not exist, and scrapes it. Passes with at
most 500 series, 100 KB and 50 ms, as many series as before, and a clean `promtool check metrics`.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from tests.end_to_end.process import running_service

MAX_SERIES, MAX_BYTES, MAX_MS = 500, 100_000, 50.0
METHODS = ("GET", "POST", "DELETE", "PUT", "OPTIONS", "BREW")
BATCH = 1000


@dataclass(frozen=True)
class Scrape:
    """One reading of `/metrics`."""

    text: str
    ms: float

    @property
    def series(self) -> set[str]:
        """Names with labels."""
        return {line.rpartition(" ")[0] for line in self.text.splitlines() if not line.startswith("#")}


def scrape(client: Any, times: int = 5) -> Scrape:
    """The metrics, and the median time to get them."""
    spent = []
    for _ in range(times):
        begin = perf_counter()
        answer = client.get("/metrics")
        spent.append((perf_counter() - begin) * 1000)
    return Scrape(answer.text, median(spent))


def send_all_sorts(client: Any, entities: int, ids: int, paths: int) -> None:
    """Names of every kind that a caller chooses: entities, collections, ids, paths, methods."""
    for begin in range(0, entities, BATCH):
        documents = [
            {"id": f"d{i}", "opinions": [{"entity": f"entity {i}", "si": 10 * (i % 3)}]}
            for i in range(begin, min(begin + BATCH, entities))
        ]
        lines = "\n".join(map(json.dumps, documents))
        client.post("/ingest", content=lines, headers={"content-type": "application/x-ndjson"}).raise_for_status()
    for i in range(ids):
        body = {"entity": f"entity {i}", "collection": f"c{i % 100}", "candidates": [{"id": f"x{i}", "score": 1.0}]}
        client.post("/rerank", json=body).raise_for_status()
        client.get(f"/documents/x{i}")
    for i in range(paths):
        client.request(METHODS[i % len(METHODS)], f"/scan/{i}.php?{i}")


def complaints(text: str) -> str:
    """What `promtool check metrics` finds wrong."""
    done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def main() -> int:
    """Measure, print one line, and tell by the exit status whether it passes."""
    with tempfile.TemporaryDirectory() as folder, running_service(Path(folder)) as service:
        before = scrape(service.client)
        send_all_sorts(service.client, 10_000, 1_000, 100)
        after = scrape(service.client)
    new = after.series - before.series
    checked = complaints(after.text) or "clean" if shutil.which("promtool") else "not installed"
    size = len(after.text.encode())
    passed = (
        len(after.series) <= MAX_SERIES
        and size <= MAX_BYTES
        and after.ms <= MAX_MS
        and not new
        and checked in ("clean", "not installed")
    )
    print(
        f"R17 metrics: {len(after.series)} series ({len(new)} new), {size / 1000:.0f} KB, {after.ms:.1f} ms, "
        f"promtool {checked}: {'pass' if passed else 'FAIL'}"
    )
    return not passed


if __name__ == "__main__":
    sys.exit(main())

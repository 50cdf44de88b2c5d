"""The load tests tell a service that keeps the agreement from one that does not."""

import os
import subprocess
import sys
from pathlib import Path

from loadtest.traffic.__main__ import LOCUSTFILE

ROOT = LOCUSTFILE.parents[1]
NAMES = ("/rerank inline", "/rerank ids", "/search", "/ingest known", "/v1/rerank drop-in", "/rerank drop-in")
PATIENT = {"WARP_LOOKUP_TIMEOUT_MS": "20000", "WARP_MAX_QUEUE_MS": "20000"}
"""On a machine without a free core nothing is degraded or refused for that alone."""


def traffic(*options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "loadtest.traffic", "--users", "8", *options]
    environment = {**os.environ, **PATIENT}
    return subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=ROOT, env=environment, check=False)


def line(run: subprocess.CompletedProcess[str]) -> str:
    """What is said of the whole run."""
    return next((line for line in run.stdout.splitlines() if line.startswith("LOAD ")), run.stdout + run.stderr)


def test_a_short_ramp_is_kept_and_all_that_was_acknowledged_is_there(tmp_path: Path) -> None:
    """A generous limit: this is about what is counted, on whatever machine."""
    report = tmp_path / "report.html"
    run = traffic("--seconds", "8", "--sla-ms", "20000", "--html", str(report))
    assert run.returncode == 0, run.stdout + run.stderr
    assert line(run).endswith("pass")
    assert ", 0 of 5xx, 0 refused" in line(run)
    assert " 0 differences in the end" in line(run)
    assert "all counts equal a recount" in run.stdout
    assert all(name in report.read_text() for name in NAMES)


def test_a_limit_that_cannot_be_kept_is_missed_and_named() -> None:
    run = traffic("--seconds", "3", "--sla-ms", "0.001")
    assert run.returncode == 1
    assert line(run).endswith("MISS")
    (missed,) = [one for one in run.stdout.splitlines() if one.startswith("missed: ")]
    assert missed.startswith("missed: /rerank p99 of ")
    assert missed.endswith("the limit is 0.001 ms")


def test_where_nobody_listens_nothing_passes() -> None:
    run = traffic("--shape", "spike", "--host", "http://127.0.0.1:1")
    assert run.returncode == 1
    assert "missed: not begun: " in run.stdout

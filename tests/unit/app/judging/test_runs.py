"""Files of runs are checked line by line."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from app.judging.runs import read_runs
from warp_core import InvalidInputError

POPULATION = {"negative": 1, "neutral": 0, "positive": 3}


def run(**changes: Any) -> dict[str, Any]:
    whole = {"query": "How is it?", "population": POPULATION, "documents": {"top_k": ["a"], "auto": ["b", "c"]}}
    return {k: v for k, v in (whole | changes).items() if v is not None}


def read(tmp_path: Path, *lines: dict[str, Any], baseline: str = "top_k", with_population: bool = True):
    file = tmp_path / "runs.jsonl"
    file.write_bytes(b"\n\n".join(map(msgspec.json.encode, lines)))
    return read_runs(file, baseline, with_population)


def test_the_other_methods_are_compared_with_the_baseline(tmp_path: Path):
    runs = read(tmp_path, run(), run(query="And the pool?", entity="Pool"))
    assert (len(runs.runs), runs.baseline, runs.methods) == (2, "top_k", ["auto"])
    assert read(tmp_path, run(), baseline="auto").methods == ["top_k"]


def test_without_proportional_accuracy_no_population_is_needed(tmp_path: Path):
    assert read(tmp_path, run(population=None), with_population=False).runs[0].population is None


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (run(query=""), "/query: "),
        (run(query=None), "/query: this field is required"),
        (run(documents={"auto": ["b"]}), "/documents/top_k: the baseline's documents are needed"),
        (run(documents={"top_k": ["a"], "mmr": ["b"]}), "/documents: must be of auto, top_k, as in the first line"),
        (run(documents={"top_k": ["a"], "auto": []}), "/documents"),
        (run(documents={"top_k": ["a"], "auto": [""]}), "/documents"),
        (run(population=None), "/population: needed"),
        (run(population=POPULATION | {"positive": -1}), "/population/positive: "),
        (run(population={"negative": 0, "neutral": 0, "positive": 0}), "/population: at least one weight"),
        (run(population={"-30": 1}), "/population/-30: unknown field"),
        (run(), "/query: line 1 asks the same"),
        (run(query="x", k=3), "/k: unknown field"),
    ],
)
def test_a_wrong_line_is_named_with_its_field(tmp_path: Path, line: dict[str, Any], message: str):
    with pytest.raises(InvalidInputError) as caught:
        read(tmp_path, run(), line)
    assert caught.value.argument == "runs"
    assert caught.value.detail.startswith(f"runs.jsonl:3: {message}")


def test_files_that_hold_nothing_to_compare_are_refused(tmp_path: Path):
    with pytest.raises(InvalidInputError, match="holds no question"):
        read(tmp_path)
    with pytest.raises(InvalidInputError, match="no method to compare"):
        read(tmp_path, run(documents={"top_k": ["a"]}))
    with pytest.raises(InvalidInputError, match="cannot be read"):
        read_runs(tmp_path, "top_k", True)

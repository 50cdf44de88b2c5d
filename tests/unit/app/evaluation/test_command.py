import json
from importlib.util import find_spec
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from app.cli import app
from tests.unit.app.evaluation.small import documents
from warp_core import InvalidInputError

pytestmark = pytest.mark.skipif(find_spec("wordllama") is None, reason="the encoder is missing")


def called(folder: Path, *options: str) -> Result:
    corpus = folder / "small.jsonl"
    corpus.write_text("\n".join(map(json.dumps, documents())))
    cache = ("--cache", str(folder / "cache"))
    return CliRunner().invoke(app, ["evaluate", str(corpus), "--out", str(folder / "report"), *cache, *options])


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--methods", "best"], "methods: must be auto, top_k"),
        (["--methods", "w1_mmr,adaptive+"], r"got 'adaptive\+'"),
        (["--k", "5,x"], "k: must be whole numbers"),
        (["--k", "0"], "k: must be whole numbers"),
        (["--k", ""], "k: must be whole numbers"),
        (["--pool-size", "-3"], "pool_size: must be whole numbers"),
        (["--k", "300"], "k: must be at most the largest pool size, 200, got 300"),
        (["--layout", "nowhere"], "layout: must be one of"),
        (["--layout", "table"], r"corpus: small.jsonl:1: text|none of its"),
        (["--min-count", "100000"], "corpus: none of its"),
    ],
)
def test_a_wrong_option_is_named(tmp_path: Path, options: list[str], complaint: str):
    result = called(tmp_path, "--encoder", "wordllama", "--jobs", "1", *options)
    assert isinstance(result.exception, InvalidInputError), result.output
    with pytest.raises(InvalidInputError, match=complaint):
        raise result.exception
    assert not (tmp_path / "report").exists()


@pytest.mark.parametrize(
    "options", [["--min-entropy", "2"], ["--min-minority", "0.6"], ["--jobs", "0"], ["--seed", "-1"]]
)
def test_an_option_out_of_range_is_a_wrong_call(tmp_path: Path, options: list[str]):
    assert called(tmp_path, "--encoder", "wordllama", *options).exit_code == 2


def test_an_encoder_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("WARP_ENCODER", raising=False)
    assert "encoder: is needed" in str(called(tmp_path).exception)


def test_a_missing_package_is_named_with_its_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("app.cli.evaluation.find_spec", lambda _name: None)
    assert "need the extra 'evaluate' (matplotlib is not installed)" in str(called(tmp_path).exception)

"""The `warp-rerank` command in the tests' own process."""

import json
from dataclasses import dataclass
from typing import Any

import pytest

from app.cli import main


@dataclass(frozen=True)
class Ran:
    """How a command ended, and what it printed."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What it printed, when that is JSON."""
        return json.loads(self.out)


class CommandLine:
    """Runs commands on one store."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], store: str) -> None:
        self.store = store
        self._monkeypatch = monkeypatch
        self._capsys = capsys

    def __call__(self, *arguments: str, store: str | None = None) -> Ran:
        """Run a command to its end."""
        self._monkeypatch.setenv("WARP_STORE", store or self.store)
        self._monkeypatch.setenv("COLUMNS", "200")
        self._monkeypatch.setattr("sys.argv", ["warp-rerank", *arguments])
        self._capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        told = self._capsys.readouterr()
        return Ran(int(ended.value.code or 0), told.out, told.err)

"""Settings that are secrets."""

import os

import pytest
from typer.testing import CliRunner

from app.cli import app
from app.settings import Settings

KEYS = {"WARP_JUDGE_KEY": "sk-judge", "WARP_ANSWER_KEY": "sk-answer"}


def test_keys_of_endpoints_are_never_shown():
    shown = CliRunner().invoke(app, ["settings"], env={**KEYS, "COLUMNS": "200"}, catch_exceptions=False).stdout
    assert "WARP_JUDGE_KEY" in shown
    assert not any(key in shown for key in KEYS.values())
    assert not any(key in repr(Settings(judge_key="sk-judge")) for key in KEYS.values())


def test_what_is_handed_on_to_processes_is_read_there_as_it_was(monkeypatch: pytest.MonkeyPatch):
    parameters = '{"temperature": 0.7, "stop": ["x"]}'
    for name, value in {**KEYS, "WARP_JUDGE_PARAMETERS": parameters, "WARP_JUDGE_MODELS": '["a", "b"]'}.items():
        monkeypatch.setenv(name, value)
    settings = Settings()
    settings.export()
    assert Settings() == settings
    assert os.environ["WARP_JUDGE_KEY"] == "sk-judge"

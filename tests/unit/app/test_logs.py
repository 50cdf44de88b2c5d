"""What a line of the log looks like."""

import json
import logging
import sys

import pytest

from app.logs import JsonLines, TextLines, log_config, request_id
from app.settings import Settings
from tests.hostile import NAMES


def event(message: str, *values: object, **extra: object) -> logging.LogRecord:
    return logging.makeLogRecord(
        {"name": "app.test", "levelname": "WARNING", "msg": message, "args": values, "created": 1.5, **extra}
    )


def failed(message: str) -> logging.LogRecord:
    try:
        raise KeyError(message)
    except KeyError:
        return event("unexpected error", exc_info=sys.exc_info())


def test_an_event_in_json_is_its_time_level_logger_message_and_fields() -> None:
    line = JsonLines().format(event("%s of %d", "one", 2, fields={"ms": 0.5, "path": "/a"}))
    assert json.loads(line) == {
        "time": "1970-01-01T00:00:01.500+00:00",
        "level": "warning",
        "logger": "app.test",
        "message": "one of 2",
        "ms": 0.5,
        "path": "/a",
    }


def test_an_event_as_text_holds_the_same() -> None:
    line = TextLines().format(event("%s of %d", "one", 2, fields={"ms": 0.5, "path": "/a"}))
    assert line == "1970-01-01T00:00:01.500+00:00 warning app.test: one of 2 ms=0.5 path=/a"


@pytest.mark.parametrize("lines", [JsonLines(), TextLines()])
@pytest.mark.parametrize("name", [*NAMES, "cut \ud83d emoji"])
def test_no_name_leaves_its_line(lines: logging.Formatter, name: str) -> None:
    line = lines.format(event("about %s", name, fields={"path": name}))
    assert line.isprintable()


@pytest.mark.parametrize("lines", [JsonLines, TextLines])
def test_an_error_tells_its_kind_and_place_and_its_message_only_when_debugging(lines: type[logging.Formatter]) -> None:
    record = failed("what the caller wrote")
    line = lines().format(record)
    assert "builtins.KeyError" in line
    assert "tests/unit/app/test_logs.py:" in line
    assert "what the caller wrote" not in line
    assert line.isprintable()
    assert "what the caller wrote" in lines(with_messages=True).format(record)


def test_an_event_carries_the_id_of_the_request_that_is_served() -> None:
    token = request_id.set("r-1")
    try:
        assert json.loads(JsonLines().format(event("x")))["request_id"] == "r-1"
    finally:
        request_id.reset(token)
    assert "request_id" not in json.loads(JsonLines().format(event("x")))


def test_the_setting_chooses_the_format() -> None:
    for name, formatter in (("json", "app.logs.JsonLines"), ("text", "app.logs.TextLines")):
        assert log_config(Settings(log_format=name))["formatters"]["lines"]["()"] == formatter

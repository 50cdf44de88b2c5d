"""What the service writes about itself: one line an event, in JSON or as text, through the standard library's logging.

Names that callers choose may hold anything, so nothing is written raw: an event is one line, without control
characters, in either format. Of an unexpected error the line tells the type and where it happened, but not its message,
which may quote what a caller sent; with `log_level` debug it tells that too.
"""

import logging
import traceback
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from app.settings import Settings

request_id: ContextVar[str | None] = ContextVar("request_id", default=None)
"""Of the request that is being served; every line that is written meanwhile carries it."""

_encode = msgspec.json.Encoder().encode
_HERE = Path(__file__).parents[1]
_FRAMES = 12


def log_config(settings: "Settings") -> dict[str, Any]:
    """How to log, as `logging.config.dictConfig` takes it; uvicorn's own loggers are part of it."""
    lines = "app.logs.JsonLines" if settings.log_format == "json" else "app.logs.TextLines"
    level = settings.log_level.upper()
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"lines": {"()": lines, "with_messages": settings.log_level == "debug"}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "lines"}},
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {"uvicorn": {"level": level}, "uvicorn.error": {"level": level}},
    }


class _Lines(logging.Formatter):
    """Takes an event apart; how it is written is the subclass's matter."""

    def __init__(self, with_messages: bool = False) -> None:
        super().__init__()
        self._with_messages = with_messages

    def fields(self, record: logging.LogRecord) -> dict[str, Any]:
        """What an event tells, in the order in which it is written."""
        told: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _printable(record.getMessage()),
        }
        if served := request_id.get():
            told["request_id"] = served
        told.update({name: _printable(value) for name, value in getattr(record, "fields", {}).items()})
        if record.exc_info and record.exc_info[1]:
            told.update(self._error(record.exc_info[1]))
        return told

    def _error(self, error: BaseException) -> dict[str, str]:
        frames = traceback.extract_tb(error.__traceback__)[-_FRAMES:]
        told = {
            "error": f"{type(error).__module__}.{type(error).__qualname__}",
            "at": " < ".join(f"{_short(frame.filename)}:{frame.lineno} {frame.name}" for frame in reversed(frames)),
        }
        if self._with_messages:
            told["error_message"] = _printable(str(error))
        return told


class JsonLines(_Lines):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """The event as JSON."""
        return _encode(self.fields(record)).decode()


class TextLines(_Lines):
    """Time, level, message, and what else there is as name=value."""

    def format(self, record: logging.LogRecord) -> str:
        """The event as text."""
        told = self.fields(record)
        rest = [f"{name}={value}" for name, value in told.items() if name not in ("time", "level", "logger", "message")]
        return " ".join([told["time"], f"{told['level']:7}", f"{told['logger']}:", told["message"], *rest])


def _printable(value: Any) -> Any:
    """A text with everything escaped that would not stay on its line, or would move the cursor; else the value."""
    if not isinstance(value, str) or value.isprintable():
        return value
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in value)


def _short(filename: str) -> str:
    path = Path(filename)
    return path.relative_to(_HERE).as_posix() if path.is_relative_to(_HERE) else "/".join(path.parts[-2:])

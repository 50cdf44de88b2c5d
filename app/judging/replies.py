"""What models have said, kept under a digest of what they were asked: nothing is paid for twice."""

import contextlib
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from app.judging.endpoint import Reply


class Call(msgspec.Struct, frozen=True):
    """One request: where it goes, and its body.

    `key` is the sha256 of both, so the same call is made once, in this run and in later ones. The bearer key is no part
    of it.
    """

    url: str
    model: str
    body: bytes

    @property
    def key(self) -> str:
        """What the reply is kept under."""
        return hashlib.sha256(self.url.encode() + b"\n" + self.body).hexdigest()


def call_of(url: str, model: str, messages: list[dict[str, str]], parameters: Mapping[str, Any]) -> Call:
    """The call that asks a model."""
    body = {"model": model, "messages": messages, **parameters}
    return Call(url, model, msgspec.json.encode(body, order="sorted"))


class _Line(msgspec.Struct, frozen=True):
    key: str
    reply: Reply


class Replies:
    """A JSON Lines file that grows by one reply at a time, and all that it holds.

    A line that cannot be read, as a kill leaves one behind, is as good as none: its call is made again.

    Parameters
    ----------
    file : read now; created, with its folder, when the first reply is put.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._out: BinaryIO | None = None
        self._replies: dict[str, Reply] = {}
        self._cut_off = False
        if not file.exists():
            return
        content = file.read_bytes()
        self._cut_off = bool(content) and not content.endswith(b"\n")
        decoder = msgspec.json.Decoder(_Line)
        for line in content.splitlines():
            with contextlib.suppress(msgspec.DecodeError, UnicodeError):
                kept = decoder.decode(line)
                self._replies[kept.key] = kept.reply

    def get(self, call: Call) -> Reply | None:
        """What was said; None when it was not asked."""
        return self._replies.get(call.key)

    def put(self, call: Call, reply: Reply) -> None:
        """Keep a reply; a kill after this call does not lose it."""
        if self._out is None:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            self._out = self._file.open("ab")
            if self._cut_off:
                self._out.write(b"\n")
        self._out.write(msgspec.json.encode(_Line(call.key, reply)) + b"\n")
        self._out.flush()
        self._replies[call.key] = reply

    def close(self) -> None:
        """Close the file."""
        if self._out is not None:
            self._out.close()

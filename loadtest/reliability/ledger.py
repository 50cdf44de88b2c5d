"""What the writers sent and what they were told, written down at once, so that a killed writer loses none of it."""

import json
import mmap
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

Sent = list[tuple[int, int]]
"""Documents with the numbers that they were sent with."""

NEVER = float("inf")


class Ledger:
    """One writer's file: a line when it begins to send a batch, and one when it is told what became of it.

    Times are of the clock that all processes of a machine share.
    """

    def __init__(self, file: Path) -> None:
        self._file = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._batches = 0

    def begins(self, sent: Sent) -> int:
        """Note a batch before its first sending; returns its name in this file."""
        self._batches += 1
        name = self._batches
        self._note(name, "sent", sent)
        return name

    def failed(self, name: int, reason: str) -> None:
        """One sending failed, and may come to be applied all the same."""
        self._note(name, "failed", reason)

    def answered(self, name: int, outcomes: Sequence[str]) -> None:
        """What became of each document. `done`: it is not known more exactly."""
        self._note(name, "answered", outcomes)

    def _note(self, name: int, kind: str, what: object) -> None:
        os.write(self._file, json.dumps([os.getpid(), name, time.monotonic(), kind, what]).encode() + b"\n")


@dataclass
class Batch:
    """One batch from its first sending to its answer. Without an answer it may be applied at any time after."""

    sent: Sent
    begun: float
    outcomes: list[str] | None = None
    ended: float = NEVER
    failures: list[str] = field(default_factory=list)


def read(files: Sequence[Path]) -> list[Batch]:
    """All batches of all writers."""
    batches: dict[tuple[int, int], Batch] = {}
    for pid, name, at, kind, what in _lines(files):
        if kind == "sent":
            batches[pid, name] = Batch([(document, number) for document, number in what], at)
        elif kind == "failed":
            batches[pid, name].failures.append(what)
        else:
            batches[pid, name].outcomes, batches[pid, name].ended = what, at
    return list(batches.values())


def _lines(files: Sequence[Path]) -> Iterator[list]:
    for file in files:
        for line in file.read_bytes().splitlines(keepends=True):
            if line.endswith(b"\n"):  # the last of a killed writer may be cut
                yield json.loads(line)


class Gate:
    """What parent and writers share: one byte that says whether to send, to wait or to end, and one a writer.

    Parameters
    ----------
    writer : its number; None for the parent.
    """

    RUN, WAIT, END = b"rwe"
    MAX_WRITERS = 255

    def __init__(self, file: Path, writer: int | None = None) -> None:
        if not file.exists():
            file.write_bytes(bytes([self.WAIT]) + bytes(self.MAX_WRITERS))
        with file.open("r+b") as opened:
            self._bytes = mmap.mmap(opened.fileno(), 0)
        self._writer = writer

    def set(self, state: int) -> None:
        """Tell all writers; what they are sending they go on to send."""
        self._bytes[0] = state

    def enter(self) -> int:
        """The state; a writer that is told to run is busy from then on."""
        assert self._writer is not None
        self._bytes[1 + self._writer] = 1  # before it looks, so that the parent cannot miss it
        state = self._bytes[0]
        if state != self.RUN:
            self.leave(self._writer)
        return state

    def leave(self, writer: int) -> None:
        """A writer is not busy, or dead."""
        self._bytes[1 + writer] = 0

    @property
    def busy(self) -> bool:
        """Whether any writer is sending."""
        return any(self._bytes[1:])

"""A power cut, played on the files of a process that was killed: what was not synced is gone, in part, and may be torn.

`powercut.c` notes what the process writes and syncs. Directory entries are taken to survive, and so is what the process
writes past libc (what stdio buffers, say).
"""

import random
import struct
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

_NOTE = struct.Struct("=cQQQII")
_SECTOR = 512
"""What a disk writes whole."""


@dataclass(frozen=True)
class _Write:
    """One write, or a truncation, that no sync covers."""

    truncates: bool
    offset: int
    size_before: int
    old: bytes
    new: bytes


@cache
def _library() -> Path:
    """The compiled notes-taker.

    Raises
    ------
    FileNotFoundError : there is no C compiler.
    """
    library = Path(mkdtemp(prefix="warp-powercut-")) / "powercut.so"
    source = Path(__file__).with_name("powercut.c")
    subprocess.run(["gcc", "-O2", "-Wall", "-shared", "-fPIC", str(source), "-o", str(library), "-ldl"], check=True)
    return library


class Power:
    """The power of some processes, which can be cut again and again.

    Parameters
    ----------
    directory : whose files are watched.
    log : a file beside it, for the notes.
    appends : the files are only appended to. Then a cut keeps a front part of what is not synced, as file systems do
        with a growing file; else any part of it may be there, in place.
    """

    def __init__(self, directory: Path, log: Path, *, appends: bool) -> None:
        self._directory, self._log, self._appends = directory.resolve(), log, appends

    @property
    def environment(self) -> Mapping[str, str]:
        """Of the processes."""
        return {"LD_PRELOAD": str(_library()), "WARP_CUT_DIR": str(self._directory), "WARP_CUT_LOG": str(self._log)}

    def cut(self, rng: random.Random) -> int:
        """Undo what the killed processes had not synced, but for a part; how many writes were not synced."""
        unsynced, n = self._unsynced(), 0
        for file in self._directory.rglob("*"):
            writes = unsynced.get(file.stat().st_ino, []) if file.is_file() else []
            if writes:
                _spoil(file, writes, rng, self._appends)
                n += len(writes)
        self._log.unlink(missing_ok=True)
        return n

    def _unsynced(self) -> dict[int, list[_Write]]:
        """Writes by inode, in order, past the last sync of each."""
        writes: dict[int, list[tuple[int, _Write]]] = defaultdict(list)
        for at, kind, inode, offset, size, old, new in self._notes():
            if kind == b"s":
                writes[inode] = [one for one in writes[inode] if one[0] >= offset]
            else:
                writes[inode].append((at, _Write(kind == b"t", offset, size, old, new)))
        return {inode: [write for _, write in some] for inode, some in writes.items()}

    def _notes(self) -> Iterator[tuple[int, bytes, int, int, int, bytes, bytes]]:
        log = self._log.read_bytes() if self._log.exists() else b""
        at = 0
        while at + _NOTE.size <= len(log):
            kind, inode, offset, size, n_old, n_new = _NOTE.unpack_from(log, at)
            begin = at + _NOTE.size
            end = begin + n_old + n_new
            if end > len(log):
                break
            yield at, kind, inode, offset, size, log[begin : begin + n_old], log[begin + n_old : end]
            at = end


def _spoil(file: Path, writes: list[_Write], rng: random.Random, appends: bool) -> None:
    """Take a file back to what is synced, and let some of the writes since survive."""
    with file.open("r+b") as opened:
        for write in reversed(writes):
            opened.seek(write.offset)
            opened.write(write.old)
            opened.truncate(write.size_before)
        survivors, torn = _survivors(writes, rng, appends)
        for write in survivors:
            if write.truncates:
                opened.truncate(write.offset)
                continue
            piece = write.new
            if write is torn:
                unit = 1 if appends else _SECTOR  # a file that grows may end anywhere
                piece = piece[: rng.randrange(len(piece)) // unit * unit]
            opened.seek(write.offset)
            opened.write(piece)


def _survivors(writes: list[_Write], rng: random.Random, appends: bool) -> tuple[list[_Write], _Write | None]:
    """Those that survive, in order, and which of them is torn."""
    if appends:
        survivors = writes[: rng.choice((0, rng.randint(0, len(writes))))]
    else:
        survivors = [write for write in writes if rng.random() < 0.5]
    whole = not survivors or rng.random() < 0.5
    return survivors, None if whole else survivors[-1] if appends else rng.choice(survivors)

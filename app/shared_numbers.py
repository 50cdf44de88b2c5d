"""Numbers of the worker processes of one service, each process writing its own and reading those of all.

Each keeps its numbers in a file of one directory, and holds the lock on that file for as long as it lives. When it
dies, what it counted stays, and the process that takes its place goes on in the same file: there are never more files
than there were processes at once.
"""

import contextlib
import mmap
import os
from collections.abc import Iterator
from hashlib import blake2b
from itertools import count
from pathlib import Path
from typing import TypeAlias

with contextlib.suppress(ImportError):  # Windows has none; there one process serves
    import fcntl

Numbers: TypeAlias = "memoryview[float]"

_WIDTH = 8


class SharedNumbers:
    """A file of one's own, mapped into memory, and a look at those of the others.

    Parameters
    ----------
    layout : what the numbers mean; files of another layout, as an upgrade leaves them, are not looked at.
    size : how many numbers there are.

    Raises
    ------
    OSError : the directory cannot be written.
    """

    def __init__(self, directory: Path, layout: str, size: int) -> None:
        self._pattern = f"{blake2b(layout.encode(), digest_size=8).hexdigest()}-*"
        self._directory = directory
        self._size = size * _WIDTH
        directory.mkdir(parents=True, exist_ok=True)
        for number in count():
            self._path = directory / self._pattern.replace("*", str(number))
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            if _lock(self._file):
                break
            os.close(self._file)
        os.ftruncate(self._file, self._size)
        self.own: Numbers = memoryview(mmap.mmap(self._file, self._size)).cast("d")

    def others(self) -> Iterator[tuple[Numbers, bool]]:
        """The numbers of each other process, and whether it is alive."""
        for path in self._directory.glob(self._pattern):
            if path == self._path:
                continue
            file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                content = os.pread(file, self._size, 0)
                if len(content) == self._size:  # else it has just begun
                    yield memoryview(content).cast("d"), not _lock(file)
            finally:
                os.close(file)


def _lock(file: int) -> bool:
    """Whether the lock could be taken: nobody else holds it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True

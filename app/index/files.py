"""How a segment lies in a file, and how files are written so that a crash leaves the old or the new one, never a part.

A segment's file: 8 bytes of magic, the length of the header as 8 bytes, the header (name, type, shape and offset of
each array, as MessagePack), the arrays. The checksum stands where the file is named (see `app.index.snapshots`).
"""

import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO
from zlib import crc32

import msgspec
import numpy as np

from app.index.merging import Merger
from app.index.segment import Segment

MAGIC = b"WARPSEG1"
ALIGNMENT = 64
SYNC_BYTES = 2**26


class FileMark(msgspec.Struct, frozen=True):
    """A file as it was written: its name in the directory, its size in bytes and its CRC-32."""

    name: str
    size: int
    checksum: int


class DamagedFileError(Exception):
    """A file is not what was written."""


class ArrayPlace(msgspec.Struct, frozen=True, array_like=True):
    """Where an array lies in a file."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    offset: int


class Checked:
    """A file that is being written, with the checksum of what was."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._unsynced = 0
        self.size = 0
        self.checksum = 0

    def write(self, data: bytes | memoryview) -> None:
        """Append; now and then to the disk, so that the end does not wait for all of it."""
        self._file.write(data)
        self.checksum = crc32(data, self.checksum)
        self.size += len(data)
        self._unsynced += len(data)
        if self._unsynced >= SYNC_BYTES:
            self.sync()

    def pad(self, offset: int) -> None:
        """Append zeros up to an offset."""
        self.write(bytes(offset - self.size))

    def sync(self) -> None:
        """Have it on the disk."""
        self._file.flush()
        os.fsync(self._file.fileno())
        self._unsynced = 0


@contextmanager
def written(directory: Path, name: str) -> Iterator[Checked]:
    """A new file that stands under its name once it is whole and on the disk; nothing is left if it fails."""
    temporary = directory / f"{name}.tmp"
    try:
        with temporary.open("wb") as file:
            checked = Checked(file)
            yield checked
            checked.sync()
        temporary.replace(directory / name)
        _sync_directory(directory)
    finally:
        temporary.unlink(missing_ok=True)


def _sync_directory(directory: Path) -> None:
    opened = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def write_segment(directory: Path, name: str, merger: Merger) -> FileMark:
    """Write what a merger makes; of the vectors only some are in memory at a time."""
    arrays = dict(merger.segment(np.zeros((0, merger.dimension), np.float32)).arrays())
    shapes = {key: array.shape for key, array in arrays.items()} | {"matrix": (len(merger), merger.dimension)}
    places = _places({key: (array.dtype, shapes[key]) for key, array in arrays.items()})
    header = msgspec.msgpack.encode(places)
    with written(directory, name) as file:
        file.write(MAGIC + len(header).to_bytes(8, "little") + header)
        base = _aligned(file.size)
        for place in places:
            file.pad(base + place.offset)
            for block in merger.blocks() if place.name == "matrix" else (arrays[place.name],):
                file.write(np.ascontiguousarray(block).data.cast("B") if block.size else b"")
    return FileMark(name, file.size, file.checksum)


def _places(wanted: dict[str, tuple[np.dtype[np.generic], tuple[int, ...]]]) -> list[ArrayPlace]:
    """Offsets, counted from the end of the header, of arrays that lie one after another."""
    places, offset = [], 0
    for name, (dtype, shape) in wanted.items():
        places.append(ArrayPlace(name, dtype.str, shape, offset))
        offset = _aligned(offset + dtype.itemsize * int(np.prod(shape)))
    return places


def _aligned(offset: int) -> int:
    return -(-offset // ALIGNMENT) * ALIGNMENT


def read_segment(directory: Path, mark: FileMark) -> Segment:
    """Map a segment's file; it may be replaced or removed meanwhile.

    Raises
    ------
    DamagedFileError : it is not what was written.
    OSError : it cannot be read.
    """
    whole = _mapped(directory, mark)
    if whole[:8].tobytes() != MAGIC:
        raise DamagedFileError(f"{mark.name} is no segment")
    length = int.from_bytes(whole[8:16].tobytes(), "little")
    base = _aligned(16 + length)
    places = msgspec.msgpack.decode(whole[16 : 16 + length].tobytes(), type=list[ArrayPlace])
    arrays = {}
    for place in places:
        dtype, count = np.dtype(place.dtype), int(np.prod(place.shape))
        start = base + place.offset
        arrays[place.name] = whole[start : start + count * dtype.itemsize].view(dtype).reshape(place.shape)
    return Segment(**arrays)


def read_bytes(directory: Path, mark: FileMark) -> bytes:
    """A file's content. Errors as with `read_segment`."""
    return _mapped(directory, mark).tobytes()


def _mapped(directory: Path, mark: FileMark) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    with (directory / mark.name).open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size != mark.size:
            raise DamagedFileError(f"{mark.name} holds {size} bytes, {mark.size} were written")
        whole = np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)
    if crc32(whole.data) != mark.checksum:
        raise DamagedFileError(f"{mark.name} has another checksum than when it was written")
    return whole

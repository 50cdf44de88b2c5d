"""The index on the disk: what a process starts from, and what the processes of one data directory share.

A directory holds segments (`*.segment`), what changed since they were made (`*.changes`), and `current`, which names
those that belong together, with their checksums, the store they were read from and how far it was followed. A file is
never changed once it has its name, so a process that has mapped one keeps it, whatever the others write.
"""

import fcntl
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4
from weakref import WeakKeyDictionary
from zlib import crc32

import msgspec
import numpy as np

from app.index.collection import LocalCollection, View
from app.index.files import DamagedFileError, FileMark, read_bytes, read_segment, write_segment, written
from app.index.local import LocalIndex
from app.index.merging import Merger
from app.index.segment import EMPTY, Segment
from app.store.base import Cursor, IndexEntry

FORMAT = 2
ATTEMPTS = 3
"""How often a snapshot is opened that another process replaces at the same time."""


@dataclass(frozen=True)
class Loaded:
    """An index, and how far the store was followed to make it what it is."""

    index: LocalIndex
    cursor: Cursor


class SnapshotError(Exception):
    """There is a snapshot, and it cannot be used; says why."""


class SavedEntry(msgspec.Struct, frozen=True, array_like=True):
    """An `IndexEntry` on the disk; the vector as its bytes."""

    collection: str
    id: str
    present: bool
    excluded: bool
    bins: dict[str, int]
    document_bin: int | None
    vector: bytes | None


class Snapshot(msgspec.Struct, frozen=True):
    """What `current` says."""

    format: int
    store: str
    cursor: bytes
    segments: dict[str, FileMark]
    changes: FileMark


class Snapshots:
    """The snapshots of one directory, for one process.

    Parameters
    ----------
    store : which store the index follows; a snapshot of another is refused.
    keeps_vectors : see `LocalIndex`; a snapshot that differs in this is refused.
    approximate_from : see `Merger`.
    """

    def __init__(self, directory: Path, store: str, keeps_vectors: bool, approximate_from: int) -> None:
        self.directory = directory
        self._store = store if keeps_vectors else f"{store} without vectors"
        self._keeps_vectors = keeps_vectors
        self._approximate_from = approximate_from
        self._seen: bytes | None = None
        """`current` as this process last read or wrote it."""
        self._marks: WeakKeyDictionary[Segment, FileMark] = WeakKeyDictionary()
        """The files of the segments that this process has mapped."""

    def load(self) -> Loaded | None:
        """The index as it was saved last; None when none was saved.

        Raises
        ------
        SnapshotError : it is damaged, or of another store or format.
        """
        for attempt in range(1, ATTEMPTS + 1):
            try:
                raw = self._read_current()
            except OSError as error:
                raise SnapshotError(str(error)) from error
            if raw is None:
                return None
            try:
                loaded = self._loaded(raw)
            except FileNotFoundError as error:
                if attempt == ATTEMPTS or self._read_current() == raw:
                    self._seen = raw
                    raise SnapshotError(str(error)) from error
            except (OSError, DamagedFileError, msgspec.MsgspecError, ValueError, TypeError) as error:
                self._seen = raw
                raise SnapshotError(str(error)) from error
            else:
                self._seen = raw
                return loaded
        return None

    def _loaded(self, raw: bytes) -> Loaded:
        snapshot = _decoded(raw)
        if snapshot.format != FORMAT:
            raise DamagedFileError(f"it is of format {snapshot.format}, this version reads {FORMAT}")
        if snapshot.store != self._store:
            raise DamagedFileError(f"it is of the store {snapshot.store}, not of {self._store}")
        mapped = {mark: segment for segment, mark in self._marks.items()}
        collections = {}
        for name, mark in snapshot.segments.items():
            segment = mapped.get(mark) or read_segment(self.directory, mark)
            self._marks[segment] = mark
            collections[name] = LocalCollection(segment)
        index = LocalIndex(self._keeps_vectors, collections)
        for entry in _decode_entries(read_bytes(self.directory, snapshot.changes)):
            index.put(_index_entry(entry))
        return Loaded(index, _cursor(snapshot.cursor))

    @contextmanager
    def locked(self) -> Iterator[bool]:
        """Keep other processes from saving; False when one of them is at it. A process that ends lets go."""
        self.directory.mkdir(parents=True, exist_ok=True)
        opened = os.open(self.directory / "lock", os.O_RDWR | os.O_CREAT, 0o644)
        try:
            try:
                fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
            else:
                yield True
        finally:
            os.close(opened)

    def is_newer(self) -> bool:
        """Whether another process has saved since this one last loaded or saved."""
        return self._read_current() != self._seen

    def save(
        self, views: Mapping[str, View], cursor: Cursor, to_seal: Iterable[str], checkpoint: Callable[[], None]
    ) -> dict[str, LocalCollection]:
        """Write the index as it was when the views were taken, while the lock is held.

        Parameters
        ----------
        to_seal : collections that get a new segment; of the others what changed is written.

        Returns
        -------
        The sealed collections, as the views show them, over segments that are mapped from their files.

        Raises
        ------
        OSError : it cannot be written; the snapshot before it stays.
        """
        sealing = set(to_seal)
        segments: dict[str, FileMark] = {}
        sealed: dict[str, LocalCollection] = {}
        entries: list[SavedEntry] = []
        for name, view in views.items():
            mark = self._marks.get(view.segment)
            if name in sealing or (mark is None and len(view.segment)):
                segment = self._sealed(view, checkpoint)
                sealed[name] = LocalCollection(segment, view.excluded)
                mark = self._marks.get(segment)
            else:
                entries += map(_saved_entry, view.changes(name))
            entries += map(_saved_entry, view.hidden(name))
            if mark is not None:
                segments[name] = mark
        changes = f"{uuid4().hex}.changes"
        with written(self.directory, changes) as file:
            file.write(msgspec.msgpack.encode(entries))
        mark = FileMark(changes, file.size, file.checksum)
        raw = _encoded(Snapshot(FORMAT, self._store, msgspec.msgpack.encode(cursor), segments, mark))
        with written(self.directory, "current") as file:
            file.write(raw)
        self._seen = raw
        self._remove_all_but({changes, *(mark.name for mark in segments.values())})
        return sealed

    def _sealed(self, view: View, checkpoint: Callable[[], None]) -> Segment:
        merger = Merger(view.parts(), self._approximate_from, checkpoint)
        if not len(merger):
            return EMPTY
        mark = write_segment(self.directory, f"{uuid4().hex}.segment", merger)
        segment = read_segment(self.directory, mark)
        self._marks[segment] = mark
        return segment

    def _read_current(self) -> bytes | None:
        try:
            return (self.directory / "current").read_bytes()
        except FileNotFoundError:
            return None

    def _remove_all_but(self, names: set[str]) -> None:
        for path in self.directory.iterdir():
            if path.suffix in (".segment", ".changes", ".tmp") and path.name not in names:
                path.unlink(missing_ok=True)


def _encoded(snapshot: Snapshot) -> bytes:
    content = msgspec.json.encode(snapshot)
    return b"%08x\n%s" % (crc32(content), content)


def _decoded(raw: bytes) -> Snapshot:
    checksum, _, content = raw.partition(b"\n")
    if checksum != b"%08x" % crc32(content):
        raise DamagedFileError("current has another checksum than when it was written")
    return msgspec.json.decode(content, type=Snapshot)


_decode_entries = msgspec.msgpack.Decoder(list[SavedEntry]).decode


def _saved_entry(entry: IndexEntry) -> SavedEntry:
    vector = None if entry.vector is None else entry.vector.tobytes()
    return SavedEntry(
        entry.collection, entry.id, entry.present, entry.excluded, dict(entry.bins), entry.document_bin, vector
    )


def _index_entry(saved: SavedEntry) -> IndexEntry:
    vector = None if saved.vector is None else np.frombuffer(saved.vector, np.float32)
    return IndexEntry(saved.collection, saved.id, saved.present, saved.excluded, saved.bins, saved.document_bin, vector)


def _cursor(saved: bytes) -> Cursor:
    """A cursor again. Stores make theirs of tuples, dicts, texts and numbers; MessagePack has lists for tuples."""
    return _with_tuples(msgspec.msgpack.decode(saved))


def _with_tuples(value: Any) -> Any:
    if isinstance(value, dict):
        return {_with_tuples(key): _with_tuples(one) for key, one in value.items()}
    return tuple(map(_with_tuples, value)) if isinstance(value, list | tuple) else value

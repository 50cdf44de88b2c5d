"""When the index is saved, given new segments, or taken over from another process of the same data directory."""

import asyncio
import contextlib
import ctypes
import logging
import threading
import time
from dataclasses import dataclass

from app.follower import Follower
from app.index.collection import LocalCollection, View
from app.index.local import LocalIndex
from app.index.merging import merged
from app.index.snapshots import Loaded, SnapshotError, Snapshots
from app.store.base import Cursor

_log = logging.getLogger(__name__)

Sealed = dict[str, LocalCollection]
"""Collections over new segments."""

REST = 10
"""After work that took t seconds, new segments wait this many times t: they take at most a tenth of one core."""


class StoppedError(Exception):
    """The process ends; what was begun is given up."""


@dataclass(frozen=True)
class Keeping:
    """How often the index is saved.

    Parameters
    ----------
    changes : after so many, or
    interval_s : after this time, if there was a change.
    look_s : how often it is looked whether that is so.
    """

    changes: int
    interval_s: float
    look_s: float


class Keeper:
    """Saves an index that a follower writes, beside it: neither readers nor the follower wait for that."""

    def __init__(
        self, index: LocalIndex, follower: Follower, snapshots: Snapshots, approximate_from: int, keeping: Keeping
    ) -> None:
        self._index = index
        self._follower = follower
        self._snapshots = snapshots
        self._approximate_from = approximate_from
        self._keeping = keeping
        self._saved_at = 0  # the follower's count of changes
        self._saved_s = time.monotonic()
        self._seal_from_s = 0.0
        self._task: asyncio.Task[None] | None = None
        self._stopping = threading.Event()
        self._woken = asyncio.Event()

    async def restore(self) -> None:
        """Let the follower go on from the snapshot, when there is one that can be used."""
        loaded = await asyncio.to_thread(self._loaded)
        if loaded is not None:
            self._index.adopt(loaded.index)
            await self._follower.go_on_from(loaded.index, loaded.cursor)

    def start(self) -> None:
        """Keep looking whether there is something to save."""
        self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                await self.keep()
            except StoppedError:
                return
            except Exception:  # whatever it is, the index is served all the same; nobody else would ever see it
                _log.exception("the index cannot be saved")
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._woken.wait(), self._keeping.look_s)

    async def keep(self) -> None:
        """Save, seal or take over, if it is time to."""
        to_seal = self._index.to_seal() if time.monotonic() >= self._seal_from_s else []
        unsaved = self._follower.followed - self._saved_at
        late = time.monotonic() - self._saved_s >= self._keeping.interval_s
        cursor = self._follower.position
        if cursor is None or not (to_seal or unsaved >= self._keeping.changes or (unsaved and late)):
            return
        views, followed, begun_s = self._index.views(), self._follower.followed, time.monotonic()
        try:
            done = await asyncio.to_thread(self._saved, views, cursor, to_seal)
        except OSError as error:
            self._warn("the index cannot be saved in %s: %s", error)
            done = await asyncio.to_thread(self._sealed, views, to_seal)
        if done is None:  # another process is saving
            return
        self._saved_at, self._saved_s = followed, time.monotonic()
        self._seal_from_s = self._saved_s + REST * (self._saved_s - begun_s)
        if isinstance(done, Loaded):
            await self._follower.go_on_from(done.index, done.cursor)
        elif done:
            await self._follower.go_on_from(self._index.replaced(done), cursor)
        if done:
            del views, done
            await asyncio.to_thread(_give_back_memory)

    def _saved(self, views: dict[str, View], cursor: Cursor, to_seal: list[str]) -> Loaded | Sealed | None:
        """What another process has saved since, else new segments; None while another process is saving."""
        with self._snapshots.locked() as locked:
            if not locked:
                return None
            newer = self._loaded() if self._snapshots.is_newer() else None
            return newer or self._snapshots.save(views, cursor, to_seal, self._checkpoint)

    def _sealed(self, views: dict[str, View], to_seal: list[str]) -> Sealed:
        """New segments in memory, where none can be written."""
        return {
            name: LocalCollection(
                merged(views[name].parts(), self._approximate_from, self._checkpoint), views[name].excluded
            )
            for name in to_seal
        }

    def _loaded(self) -> Loaded | None:
        try:
            return self._snapshots.load()
        except SnapshotError as error:
            self._warn("the snapshot in %s cannot be used, the index is read from the store: %s", error)
            return None

    def _warn(self, message: str, error: Exception) -> None:
        _log.warning(message, self._snapshots.directory, error)

    def _checkpoint(self) -> None:
        if self._stopping.is_set():
            raise StoppedError

    async def stop(self) -> None:
        """Give up what was begun, and save what changed, where that is quickly done."""
        self._stopping.set()
        self._woken.set()
        if self._task:
            await self._task
        cursor = self._follower.position
        if cursor is None or self._follower.followed == self._saved_at or self._index.to_seal():
            return
        try:
            await asyncio.to_thread(self._saved, self._index.views(), cursor, [])
        except (OSError, StoppedError) as error:
            self._warn("the index cannot be saved in %s: %s", error)


def _give_back_memory() -> None:
    """Let the system have what was freed, where the C library would keep it: half of what a first walk takes."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)

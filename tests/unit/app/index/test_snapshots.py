import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from app.index.collection import LocalCollection
from app.index.local import LocalIndex
from app.index.snapshots import FORMAT, Loaded, SnapshotError, Snapshots
from app.store.base import Cursor, Vector
from tests.indexes import EVERYTHING, entry, members, search

STORE = "sqlite:///warp.db warp"
EAST, NORTH = np.array([1, 0], np.float32), np.array([0, 1], np.float32)


def filled(n: int = 50) -> LocalIndex:
    """Two collections, of which `c` was changed after it was filled."""
    index = LocalIndex()
    for i in range(n):
        index.put(entry(f"d{i}", EAST if i % 3 else NORTH, {"room": i % 7, f"Zoë {i % 2}": 3}))
    index.put(entry("d0", present=False))
    index.put(entry("d1", NORTH, {"room": 6}, document_bin=4))
    index.put(entry("d2", EAST, {"room": 6}, excluded=True))
    index.put(entry("\U0001f600 d", None, {"room": 2}, collection="other"))
    return index


def found(index: LocalIndex) -> list[object]:
    """All that a reader sees."""
    seen: list[object] = []
    for name in ("c", "other"):
        one: LocalCollection = index[name]
        seen += [len(one), members(one), one.entities("", 9), search(one, EAST, 99), one.counts(None, 7)]
        seen.append(one.labels("room", [f"d{i}" for i in range(5)]))
    return seen


def save(snapshots: Snapshots, index: LocalIndex, cursor: Cursor, *to_seal: str) -> LocalIndex:
    """Save, and tell the index to go on with."""
    with snapshots.locked() as locked:
        assert locked
        return index.replaced(snapshots.save(index.views(), cursor, to_seal, lambda: None))


def opened(directory: Path, store: str = STORE, keeps_vectors: bool = True) -> Snapshots:
    return Snapshots(directory, store, keeps_vectors, EVERYTHING)


def load(directory: Path) -> Loaded:
    """What a process finds that starts now."""
    loaded = opened(directory).load()
    assert loaded is not None
    return loaded


@pytest.mark.parametrize("to_seal", [(), ("c",), ("c", "other")])
def test_what_was_saved_is_found_again_whatever_was_sealed(tmp_path: Path, to_seal: tuple[str, ...]):
    index = filled()
    before = found(index)
    index = save(opened(tmp_path), index, 5, *to_seal)
    assert found(index) == before
    loaded = load(tmp_path)
    assert (found(loaded.index), loaded.cursor) == (before, 5)
    assert [len(loaded.index[name].segment) > 0 for name in ("c", "other")] == [
        name in to_seal for name in ("c", "other")
    ]


def test_changes_on_top_of_a_segment_are_saved_without_it(tmp_path: Path):
    snapshots = opened(tmp_path)
    index = save(snapshots, filled(), 1, "c", "other")
    (segment,) = (path for path in tmp_path.glob("*.segment") if path.stat().st_size > 2000)
    written = segment.stat().st_mtime_ns
    index["c"].put(entry("d3", present=False))
    index["c"].put(entry("d4", NORTH, {"room": 0}))
    index["c"].put(entry("new", EAST, {"new entity": 5}))
    save(snapshots, index, 2)
    assert (segment.stat().st_mtime_ns, found(load(tmp_path).index)) == (written, found(index))
    save(snapshots, index, 3, "c")
    assert not segment.exists()
    assert found(load(tmp_path).index) == found(index)


@pytest.mark.parametrize(
    "cursor",
    [
        (7, (6, "token")),
        (0, (0, "")),
        {("hotels", 3): (5, "chain"), ("h/ö", 0): (2**60, "")},
        {},
        "text",
    ],
)
def test_a_cursor_comes_back_as_it_was(tmp_path: Path, cursor: Cursor):
    save(opened(tmp_path), filled(), cursor)
    assert load(tmp_path).cursor == cursor


def test_nothing_is_loaded_where_nothing_was_saved(tmp_path: Path):
    assert opened(tmp_path / "never").load() is None
    assert not (tmp_path / "never").exists()


def truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 1)


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def swap_for_nothing(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize("damage", [truncate, flip, swap_for_nothing, Path.unlink])
@pytest.mark.parametrize("pattern", ["current", "*.segment", "*.changes"])
def test_damage_is_named_and_the_next_save_mends_it(tmp_path: Path, damage: Callable[[Path], None], pattern: str):
    save(opened(tmp_path), filled(), 1, "c")  # and nothing maps it while it is damaged
    (path,) = tmp_path.glob(pattern)
    damage(path)
    snapshots = opened(tmp_path)
    if pattern == "current" and not path.exists():
        assert snapshots.load() is None
    else:
        with pytest.raises(SnapshotError, match=path.name):
            snapshots.load()
    fresh = filled()
    save(snapshots, fresh, 2, "c")
    assert found(load(tmp_path).index) == found(fresh)


def test_a_snapshot_of_another_store_or_kind_is_refused_by_name(tmp_path: Path):
    save(opened(tmp_path), filled(), 1, "c")
    with pytest.raises(SnapshotError, match=r"of the store .*/warp[.]db warp, not of redis://host other"):
        opened(tmp_path, "redis://host other").load()
    with pytest.raises(SnapshotError, match="without vectors"):
        opened(tmp_path, keeps_vectors=False).load()


def test_a_snapshot_of_another_format_is_refused_by_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    save(opened(tmp_path), filled(), 1, "c")
    monkeypatch.setattr("app.index.snapshots.FORMAT", FORMAT + 1)
    with pytest.raises(SnapshotError, match=f"of format {FORMAT}, this version reads {FORMAT + 1}"):
        opened(tmp_path).load()


def test_a_segment_that_another_process_replaced_stays_with_those_who_mapped_it(tmp_path: Path):
    save(opened(tmp_path), filled(), 1, "c")
    held = load(tmp_path).index
    before = found(held)
    other = load(tmp_path).index
    for i in range(50):
        other["c"].put(entry(f"d{i}", present=False))
    other["c"].put(entry("new", EAST))
    save(opened(tmp_path), other, 2, "c")
    assert found(held) == before
    assert found(load(tmp_path).index) == found(other)


def test_a_save_is_newer_to_all_but_those_who_made_or_loaded_it(tmp_path: Path):
    mine, other = opened(tmp_path), opened(tmp_path)
    assert not mine.is_newer()
    save(other, filled(), 1)
    assert (mine.is_newer(), other.is_newer()) == (True, False)
    mine.load()
    assert not mine.is_newer()


def test_what_is_mapped_already_is_not_mapped_again(tmp_path: Path):
    snapshots = opened(tmp_path)
    index = save(snapshots, filled(), 1, "c")
    loaded = snapshots.load()
    assert loaded is not None
    assert loaded.index["c"].segment is index["c"].segment


def test_while_one_process_saves_no_other_may_until_it_ends(tmp_path: Path):
    script = (
        "import sys, pathlib; from app.index.snapshots import Snapshots\n"
        "with Snapshots(pathlib.Path(sys.argv[1]), '', True, 1).locked() as locked:\n"
        "    print(locked, flush=True); sys.stdin.read()"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert other.stdout is not None
    assert other.stdout.readline() == "True\n"
    with opened(tmp_path).locked() as locked:
        assert not locked
    other.kill()
    other.communicate()
    with opened(tmp_path).locked() as locked:
        assert locked


@pytest.mark.parametrize("stage", [0, 1, 2, 3])
def test_a_save_that_fails_leaves_the_one_before_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: int):
    index = save(opened(tmp_path), filled(), 1, "c")
    before = found(index)
    index["c"].put(entry("late", EAST, {"room": 1}))
    replaced, replace = 0, Path.replace

    def failing(path: Path, target: Path) -> Path:
        nonlocal replaced
        replaced += 1
        if replaced > stage:
            raise OSError("disk full, for the test")
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", failing)
    if stage < 3:
        with pytest.raises(OSError, match="disk full"):
            save(opened(tmp_path), index, 2, "c")
    else:
        save(opened(tmp_path), index, 2, "c")
    loaded = load(tmp_path)
    assert (found(loaded.index), loaded.cursor) == ((before, 1) if stage < 3 else (found(index), 2))
    assert not list(tmp_path.glob("*.tmp"))


def test_work_that_is_to_end_ends_at_the_next_checkpoint_and_leaves_nothing(tmp_path: Path):
    class EndError(Exception):
        pass

    def checkpoint() -> None:
        raise EndError

    index, snapshots = filled(), opened(tmp_path)
    with snapshots.locked(), pytest.raises(EndError):
        snapshots.save(index.views(), 1, ["c"], checkpoint)
    assert {path.name for path in tmp_path.iterdir()} == {"lock"}


@pytest.mark.parametrize("vector", [None, EAST])
def test_a_collection_that_lost_all_its_documents_is_saved_empty(tmp_path: Path, vector: Vector | None):
    index = LocalIndex()
    for i in range(9):
        index.put(entry(f"d{i}", vector, {"room": 1}))
    snapshots = opened(tmp_path)
    index = save(snapshots, index, 1, "c")
    for i in range(9):
        index["c"].put(entry(f"d{i}", present=False))
    index = save(snapshots, index, 2, "c")
    assert len(index) == len(load(tmp_path).index) == 0
    assert not list(tmp_path.glob("*.segment"))

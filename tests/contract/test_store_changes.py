"""What every store promises about changes: which version wins."""

import numpy as np
import pytest

from app.store.base import MAX_VERSION, Change, Store, VectorSpace
from tests.conftest import counted, put, walk

LOW, HIGH, GONE = {"room": 0}, {"room": 6}, None
Step = tuple[dict[str, int] | None, int | None, str]

HISTORIES: dict[str, list[Step]] = {
    "other content updates": [(LOW, None, "created"), (HIGH, None, "updated")],
    "the same again is unchanged": [(LOW, None, "created"), (LOW, None, "unchanged")],
    "a lower version is stale": [(LOW, 5, "created"), (HIGH, 4, "stale"), (LOW, 4, "stale")],
    "the same version again is unchanged": [(LOW, 5, "created"), (LOW, 5, "unchanged")],
    "the same version of other content is a conflict": [(LOW, 5, "created"), (HIGH, 5, "conflict")],
    "a higher version updates": [(LOW, 5, "created"), (HIGH, 6, "updated"), (LOW, 5, "stale")],
    "a higher version of the same content counts": [(LOW, 5, "created"), (LOW, 7, "updated"), (HIGH, 6, "stale")],
    "0 is a version": [(LOW, 0, "created"), (HIGH, 0, "conflict"), (HIGH, 1, "updated")],
    "without one the later wins": [(LOW, 5, "created"), (HIGH, None, "updated"), (LOW, 5, "stale")],
    "without one the same is unchanged": [(LOW, 5, "created"), (LOW, None, "unchanged"), (HIGH, 6, "updated")],
    "the highest stands": [
        (LOW, MAX_VERSION - 1, "created"),
        (HIGH, MAX_VERSION, "updated"),
        (LOW, MAX_VERSION - 1, "stale"),
        (LOW, MAX_VERSION, "conflict"),
    ],
    "without one the later wins even over the highest": [(LOW, MAX_VERSION, "created"), (HIGH, None, "updated")],
    "a deleted document keeps its version": [
        (LOW, 5, "created"),
        (GONE, None, "deleted"),
        (LOW, 5, "stale"),
        (HIGH, 4, "stale"),
        (HIGH, 6, "created"),
    ],
    "a deleted document comes back without one": [
        (LOW, 5, "created"),
        (GONE, None, "deleted"),
        (LOW, None, "created"),
        (HIGH, 5, "stale"),
    ],
    "deleting twice deletes nothing": [(LOW, None, "created"), (GONE, None, "deleted"), (GONE, None, "absent")],
    "what never was is absent": [(GONE, None, "absent")],
}


def change(bins: dict[str, int] | None, version: int | None) -> Change:
    return Change("d") if bins is None else put("d", bins, version=version)


@pytest.mark.parametrize("together", [False, True], ids=["one by one", "in one batch"])
@pytest.mark.parametrize("history", HISTORIES.values(), ids=HISTORIES)
async def test_versions_decide_what_becomes_of_a_change(store: Store, history: list[Step], together: bool) -> None:
    changes = [change(bins, version) for bins, version, _ in history]
    batches = [changes] if together else [[one] for one in changes]
    assert [o for batch in batches for o in await store.apply("c", batch)] == [outcome for *_, outcome in history]

    *_, last = [GONE, *(bins for bins, _, outcome in history if outcome in ("created", "updated", "deleted"))]
    stored = await store.document("c", "d")
    assert (stored and {o.entity: o.bin for o in stored.content.opinions}) == last
    counts = dict.fromkeys((last or {}).values(), 1)
    assert (await counted(store, "c", "room"), await counted(store, "c")) == (counts, counts)


async def test_a_document_tells_its_version_and_without_one_takes_a_higher(store: Store) -> None:
    versions = []
    for step in (change(LOW, 2**53 + 1), change(HIGH, None), change(GONE, None), change(HIGH, None)):
        await store.apply("c", [step])
        stored = await store.document("c", "d")
        versions.append(stored.version if stored else None)
    first, second, deleted, revived = versions
    assert (first, deleted) == (2**53 + 1, None)
    assert 2**53 + 1 < (second or 0) < (revived or 0) <= MAX_VERSION


async def test_the_same_content_gives_a_vector_to_a_document_without_one_and_changes_nothing_else(store: Store) -> None:
    first, second = np.eye(2, dtype=np.float32)
    await store.apply("c", [put("d", LOW, version=5)])
    repeats = [put("d", LOW, version=v, vector=vector) for v, vector in ((4, first), (5, first), (5, second))]
    outcomes = await store.apply("c", [*repeats, put("d", LOW, vector=second)], VectorSpace(2, "model"))
    assert outcomes == ["stale", "updated", "unchanged", "unchanged"]
    (entry,) = (await walk(store)).entries
    assert (entry.vector.tolist(), (await store.document("c", "d")).version) == (first.tolist(), 5)
    assert await counted(store, "c") == {0: 1}

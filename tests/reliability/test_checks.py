"""The scoreboard's own measures: what is wrong is found."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from app.store import open_store
from app.store.base import Change, Opinion, Store
from loadtest.reliability.checking import Findings, astray, check
from loadtest.reliability.content import COLLECTION, DOCUMENTS, ENTITIES, SPACE, change_of, is_versioned, name_of
from loadtest.reliability.ledger import NEVER, Batch

STORED = [document for document in range(DOCUMENTS) if change_of(document, 7).content]
VERSIONED = next(document for document in STORED if is_versioned(document))
UNVERSIONED = next(document for document in STORED if not is_versioned(document))


def batch(document: int, number: int, begun: float, ended: float = NEVER) -> Batch:
    """One document sent; acknowledged when it has an end."""
    outcome = "created" if change_of(document, number).content else "deleted"
    return Batch([(document, number)], begun, [outcome] if ended < NEVER else None, ended)


def number_after(document: int, number: int) -> int:
    """The next number under which the document is stored, not deleted."""
    return next(n for n in range(number + 1, number + 100) if change_of(document, n).content)


class Sent:
    """A store that has what was sent, and what was sent."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.batches = [batch(document, 7, 10, 11) for document in range(DOCUMENTS)]

    async def store(self) -> Store:
        store = open_store(f"sqlite:///{self.file}")
        await store.apply(COLLECTION, [change_of(document, 7) for document in range(DOCUMENTS)], SPACE)
        return store

    async def found(self, *more: Batch, change: Change | None = None, sql: str = "", since: float = 0.0) -> Findings:
        """What the check finds, when more was sent, or the store was changed otherwise."""
        store = await self.store()
        try:
            if change:
                await store.apply(COLLECTION, [change], SPACE)
            if sql:
                with closing(sqlite3.connect(self.file)) as db, db:
                    assert db.execute(sql).rowcount > 0
            return await check(store, [*self.batches, *more], since)
        finally:
            await store.close()


@pytest.fixture
def sent(tmp_path: Path) -> Sent:
    return Sent(tmp_path / "warp.db")


async def test_nothing_is_found_where_all_is_as_it_was_sent(sent: Sent) -> None:
    findings = await sent.found()
    assert findings.exact
    assert (findings.lost, findings.acknowledged) == ([], DOCUMENTS)


async def test_a_newer_version_that_was_acknowledged_and_is_not_there_is_lost(sent: Sent) -> None:
    findings = await sent.found(batch(VERSIONED, 8, 12, 13))
    assert [(lost.document, lost.number, lost.told_at) for lost in findings.lost] == [(VERSIONED, 8, 13)]


async def test_what_was_never_acknowledged_is_not_lost(sent: Sent) -> None:
    assert (await sent.found(batch(VERSIONED, 8, 12))).lost == []


async def test_what_was_found_lost_before_is_not_told_again(sent: Sent) -> None:
    assert (await sent.found(batch(VERSIONED, 8, 12, 13), since=20)).lost == []


async def test_an_answer_that_cannot_be_is_wrong(sent: Sent) -> None:
    assert (await sent.found(Batch([(VERSIONED, 7)], 12, ["absent"], 13))).wrong


async def test_the_later_of_two_writes_without_a_version_is_the_one_that_must_be_there(sent: Sent) -> None:
    later = number_after(UNVERSIONED, 7)
    assert [lost.number for lost in (await sent.found(batch(UNVERSIONED, later, 12, 13))).lost] == [later]


async def test_of_two_that_overlap_either_may_be_there(sent: Sent) -> None:
    later = number_after(UNVERSIONED, 7)
    assert (await sent.found(batch(UNVERSIONED, later, 10.5, 13))).lost == []


async def test_content_that_is_not_the_number_s_is_wrong_and_so_are_the_counts_though_the_store_agrees(
    sent: Sent,
) -> None:
    content = change_of(VERSIONED, 7).content
    assert content
    falsified = replace(content, opinions=[Opinion(ENTITIES[0], 3), Opinion(ENTITIES[1], 3), Opinion(ENTITIES[2], 3)])
    findings = await sent.found(batch(VERSIONED, 8, 12, 13), change=Change(name_of(VERSIONED), falsified, b"", None, 8))
    assert findings.wrong
    assert findings.drift


async def test_a_number_that_nobody_sent_is_wrong(sent: Sent) -> None:
    assert (await sent.found(change=change_of(VERSIONED, number_after(VERSIONED, 7)))).wrong


@pytest.mark.parametrize("kind", ["p:", "t:", "g:"])
async def test_a_count_that_is_off_by_one_is_drift(sent: Sent, kind: str) -> None:
    which = f"select entity, facet, bin from population where facet like '{kind}%' and entity <> '' limit 1"
    findings = await sent.found(sql=f"update population set n = n + 1 where (entity, facet, bin) = ({which})")
    assert len(findings.drift) == 2  # by our recount, and by the store's own
    assert not findings.exact


async def test_a_follower_that_missed_a_change_is_astray(sent: Sent) -> None:
    store = await sent.store()
    followed = {entry.id: entry for entry in (await store.changes(None)).entries}
    stored = {
        document.id: document.content for document in (await store.documents(COLLECTION, list(followed))).values()
    }
    assert astray(followed, stored) == 0
    del followed[name_of(VERSIONED)]
    assert astray(followed, stored) == 1
    assert astray(followed, {**stored, name_of(UNVERSIONED): None}) == 2
    await store.close()

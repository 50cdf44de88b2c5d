"""What must be stored and counted by now, worked out from what was sent, and held against the store."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from app.store.base import Document, IndexEntry, Record, Store
from loadtest.reliability.content import (
    COLLECTION,
    ENTITIES,
    FACETS,
    NUMBER_OF,
    SPACE,
    change_of,
    is_versioned,
    name_of,
    recount,
)
from loadtest.reliability.ledger import NEVER, Batch

_NOT_APPLIED = ("not sent",)
_OF_STORING = ("created", "updated", "unchanged", "stale", "done")
_OF_DELETING = ("deleted", "absent", "stale", "not sent")
"""What a writer can be told; no version has two contents, so none can be in conflict."""


@dataclass(frozen=True)
class Lost:
    """A change that was acknowledged, and can no longer be there, given what is."""

    document: int
    number: int
    told_at: float
    there: int | None

    def __str__(self) -> str:
        """For the eye."""
        kind = "stored" if change_of(self.document, self.number).content else "deleted"
        return f"{name_of(self.document)!r}: {self.number} {kind}, but there is {self.there}"


@dataclass
class Findings:
    """What a check found; all but the first two must be nothing.

    Parameters
    ----------
    sent, acknowledged : changes, by document.
    refused : sendings that had no answer, or a refusal.
    lost : changes that were acknowledged, and are not there.
    wrong : documents whose stored content is not that of their number, or whose number nobody sent; and answers that
        cannot be.
    drift : counts that differ from our recount, or from the store's own.
    negatives : counts below zero.
    astray : documents that a follower from the beginning has otherwise than the store.
    """

    sent: int = 0
    acknowledged: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    lost: list[Lost] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    drift: list[str] = field(default_factory=list)
    negatives: int = 0
    astray: int = 0

    @property
    def exact(self) -> bool:
        """Whether all is as it must be; changes may be lost all the same."""
        return not (self.wrong or self.drift or self.negatives or self.astray)

    def include(self, before: "Findings") -> None:
        """Keep what an earlier check found; a later one may not see it any more."""
        self.lost += before.lost
        self.wrong += before.wrong
        self.drift += before.drift
        self.astray += before.astray
        self.negatives += before.negatives


@dataclass
class _Past:
    """What became of one document's sendings, where it matters for what may be there now."""

    last_end: dict[int, float] = field(default_factory=dict)  # by number; infinite while it may still be applied
    told: list[tuple[int, float, float]] = field(default_factory=list)  # number, begin and end of what was acknowledged


async def check(store: Store, batches: Sequence[Batch], since: float) -> Findings:
    """Hold the store against the batches; nobody may be writing.

    Parameters
    ----------
    since : what was begun before then may be lost (a check before has already told of it).
    """
    findings = Findings(sent=sum(len(batch.sent) for batch in batches))
    for batch in batches:
        findings.refused.update(batch.failures)
        findings.acknowledged += sum(outcome not in _NOT_APPLIED for outcome in batch.outcomes or ())
        for sent, outcome in zip(batch.sent, batch.outcomes or (), strict=False):
            stored = change_of(*sent).content is not None
            if outcome not in (_OF_STORING if stored else _OF_DELETING):
                findings.wrong.append(f"{name_of(sent[0])!r}: {sent[1]} was told to be {outcome}")
    records = {record.id: record async for record in store.records(COLLECTION)}
    contents: list[Document] = []
    pasts = _pasts(batches)
    for document, past in pasts.items():
        record = records.pop(name_of(document), None)
        content = record.content if record else None
        number = _number(document, record)
        if number is not None:
            if content != change_of(document, number).content or number not in past.last_end:
                findings.wrong.append(f"{name_of(document)!r}: {content} under {number}")
            if is_versioned(document) and record and record.version != number:
                findings.wrong.append(f"{name_of(document)!r}: {number} under version {record.version}")
        if content:
            contents.append(change_of(document, number).content or content)
        findings.lost += _lost(document, number, past, since)
    findings.wrong += [f"{name!r}: never sent" for name in records]
    await _count(store, contents, findings)
    return findings


def _number(document: int, record: Record | None) -> int | None:
    """The number that a stored document was sent with, or a deleted one, where that can be known."""
    if record and record.content:
        return int(record.content.text)
    return record.version if record and is_versioned(document) else None


def _pasts(batches: Iterable[Batch]) -> dict[int, _Past]:
    pasts: dict[int, _Past] = {}
    for batch in batches:
        for i, (document, number) in enumerate(batch.sent):
            past = pasts.setdefault(document, _Past())
            # A sending that failed may still be under way when the next one is answered.
            end = NEVER if batch.failures else batch.ended
            past.last_end[number] = max(past.last_end.get(number, 0.0), end)
            if batch.outcomes and batch.outcomes[i] not in _NOT_APPLIED:
                past.told.append((number, batch.begun, batch.ended))
    return pasts


def _lost(document: int, there: int | None, past: _Past, since: float) -> list[Lost]:
    """What was acknowledged, and can no longer be there when `there` is."""
    told = [one for one in past.told if one[1] > since]
    if is_versioned(document):
        lost = [one for one in told if there is None or one[0] > there]
    else:  # what is there, or the deletion of all, was applied last; so it ended after the others had begun
        ends = [
            end
            for number, end in past.last_end.items()
            if number == there or (there is None and change_of(document, number).content is None)
        ]
        lost = [one for one in told if one[1] > max(ends, default=0.0)]
    return [Lost(document, number, told_at, there) for number, _, told_at in lost]


async def _count(store: Store, contents: Iterable[Document], findings: Findings) -> None:
    expected = recount(contents)
    for entity in ENTITIES:
        lookup = await store.lookup(COLLECTION, entity, [], FACETS)
        for whose, rows in ((entity, lookup.entity_counts), ("", lookup.domain_counts)):
            for facet, row in zip(FACETS, rows, strict=True):
                for b, n in enumerate(row):
                    findings.negatives += n < 0
                    if n != expected[facet, whose, b] and (whose or entity == ENTITIES[0]):
                        findings.drift.append(f"{facet}{whose}, bin {b}: {n}, should be {expected[facet, whose, b]}")
    findings.drift += map(str, await store.drift())


def astray(
    followed: Mapping[str, IndexEntry], stored: Mapping[str, Document | None], dimension: int = SPACE.dimension
) -> int:
    """Documents that a follower has otherwise than they are stored (None: deleted, or never stored)."""
    differing = 0
    for name in NUMBER_OF:
        content, entry = stored.get(name), followed.get(name)
        if content is None:
            differing += entry is not None and entry.present
            continue
        change = change_of(NUMBER_OF[name], int(content.text), dimension)
        differing += (
            entry is None
            or not entry.present
            or dict(entry.bins) != {opinion.entity: opinion.bin for opinion in content.opinions}
            or entry.excluded != content.excluded
            or entry.vector is None
            or change.vector is None
            or entry.vector.tobytes() != change.vector.tobytes()
        )
    return differing

"""The ingest use case: document -> vector -> store. The index follows by itself (see `app.follower`)."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import msgspec

from app.documents import Draft, draft, readable_id
from app.encoder import Encoder, unit
from app.entities import NamesInText
from app.errors import CollectionChangedError, InvalidRequestError, pointing_at
from app.labelling import Label, open_labeller
from app.names import checked_name
from app.schemas import FailedDocument, IngestResponse
from app.store.base import Change, CollectionSettings, Store, Vector, VectorSpace
from warp_core import OpinionScale

NAMED = 1000
"""Failed documents that a report names; of more it tells the number."""
BATCH = 256
"""Documents that are encoded together and stored in one transaction."""
BATCH_BYTES = 4 * 2**20
"""Fewer are, where they are large: what waits is held in memory."""
ATTEMPTS = 3
"""How often a batch is read anew because its collection changed; one that will not hold still is an error."""


class Ingestion:
    """One run of documents into a collection. Good documents are stored, bad ones are named.

    Documents are taken up with `add`; `finish` stores the last of them and reports. Every batch is durable when `add`
    returns from it.

    Raises
    ------
    InvalidRequestError : the collection's name is not allowed.
    """

    def __init__(self, store: Store, encoder: Encoder | None, collection: str) -> None:
        with pointing_at("/collection"):
            self._collection = checked_name("collection", collection)
        self._store = store
        self._encoder = encoder
        self._taken = 0
        self._bytes = 0
        self._waiting: list[tuple[int, msgspec.Raw | bytes]] = []
        self._outcomes: Counter[str] = Counter()
        self._failed: list[FailedDocument] = []
        self._failed_more = 0
        self._entities: set[str] = set()

    async def add(self, raw: msgspec.Raw | bytes) -> None:
        """Take up the next document, as JSON.

        Raises
        ------
        StoreUnavailableError : the store refused; earlier batches are stored.
        CollectionChangedError : so did the collection, each time that the batch was read anew.
        """
        self._waiting.append((self._taken, raw))
        self._taken += 1
        self._bytes += len(memoryview(raw))
        if len(self._waiting) >= BATCH or self._bytes >= BATCH_BYTES:
            await self._flush()

    async def finish(self) -> IngestResponse:
        """Store what still waits, and report on the whole run."""
        await self._flush()
        done = self._outcomes
        self._failed.sort(key=lambda failed: failed.index)
        return IngestResponse(
            done["created"],
            done["updated"],
            done["unchanged"],
            done["stale"],
            self._failed,
            self._failed_more,
            len(self._entities),
            await self._store.acknowledgement(),
        )

    async def _flush(self) -> None:
        waiting, self._waiting = self._waiting, []
        self._bytes = 0
        if not waiting:
            return
        failed_before, more_before = len(self._failed), self._failed_more
        for attempt in range(1, ATTEMPTS + 1):
            try:
                await self._store_batch(waiting)
            except CollectionChangedError:  # between the reading of its scale and the storing: read it again
                del self._failed[failed_before:]
                self._failed_more = more_before
                if attempt == ATTEMPTS:
                    raise
            else:
                return

    async def _store_batch(self, waiting: Sequence[tuple[int, msgspec.Raw | bytes]]) -> None:
        settings = await self._store.settings(self._collection) or CollectionSettings()
        with pointing_at("/collection"):
            label = open_labeller(settings)
        if label is None:
            drafts = self._drafted(waiting, settings.scale, None)
        else:
            # Which entities are looked for in a text is what the registry says, and not what opinions are held on by
            # now: the same document makes the same opinions whenever it comes.
            names = NamesInText({**{entity: entity for entity in settings.registry}, **settings.aliases})
            reads = partial(label, names=names)
            drafts = await asyncio.to_thread(self._drafted, waiting, settings.scale, reads)  # reading takes long
        changes, space = await self._with_vectors(drafts)
        outcomes = await self._store.apply(
            self._collection, [change for _, change in changes], space, settings.positions
        )
        for (index, change), outcome in zip(changes, outcomes, strict=True):
            self._outcomes[outcome] += 1
            if outcome == "conflict":
                detail = f"conflict: version {change.version} is stored with other content"
                self._fail(index, change.id, InvalidRequestError.at("/version", detail))
            elif outcome in ("created", "updated") and change.content:
                self._entities.update(settings.labels(change.content))

    def _drafted(
        self,
        waiting: Sequence[tuple[int, msgspec.Raw | bytes]],
        scale: OpinionScale,
        label: Callable[[str], Label | None] | None,
    ) -> list[tuple[int, Draft]]:
        drafts: list[tuple[int, Draft]] = []
        for index, raw in waiting:
            try:
                drafts.append((index, draft(raw, scale, label)))
            except InvalidRequestError as error:
                self._fail(index, readable_id(raw), error)
        return drafts

    async def _with_vectors(
        self, drafts: Sequence[tuple[int, Draft]]
    ) -> tuple[list[tuple[int, Change]], VectorSpace | None]:
        """The changes with their unit vectors, and the space of these; a draft that can have none fails."""
        space = await self._store.vector_space(self._collection) or self._new_space(drafts)
        encoder = self._encoder
        encodes = encoder is not None and space is not None and encoder.made(space)
        texts = [one.to_encode for _, one in drafts if one.to_encode] if encodes else []
        encoded: Iterator[Vector] = iter(await encoder.encode(texts) if encoder else ())
        changes: list[tuple[int, Change]] = []
        for index, one in drafts:
            vector: Vector | None = None
            try:
                if one.embedding is not None:
                    vector = _brought(one.embedding, space)
                elif one.to_encode and encodes:
                    vector = next(encoded)
                elif one.to_encode and space and encoder:
                    raise InvalidRequestError.at("/embedding", f"is needed: {encoder.refusal(space)}")
            except InvalidRequestError as error:
                self._fail(index, one.change.id, error)
            else:
                changes.append((index, msgspec.structs.replace(one.change, vector=vector)))
        return changes, space if any(change.vector is not None for _, change in changes) else None

    def _new_space(self, drafts: Sequence[tuple[int, Draft]]) -> VectorSpace | None:
        """The space of a collection without vectors: the encoder's, else that of the first brought vector."""
        if self._encoder:
            return self._encoder.space
        return next((VectorSpace(len(one.embedding), None) for _, one in drafts if one.embedding), None)

    def _fail(self, index: int, document_id: str | None, error: InvalidRequestError) -> None:
        if len(self._failed) >= NAMED:
            self._failed_more += 1
            return
        broken = error.errors[0]
        self._failed.append(FailedDocument(index, document_id, broken.pointer, broken.detail))


def _brought(embedding: list[float], space: VectorSpace | None) -> Vector:
    if space is None or len(embedding) != space.dimension:
        needed = space.dimension if space else "at least 1"
        raise InvalidRequestError.at(
            "/embedding", f"holds {len(embedding)} numbers, this collection's vectors hold {needed}"
        )
    return unit(embedding)

"""The ingest use case: document -> vector -> store. The index follows by itself (see `app.follower`)."""

from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from app.documents import Draft, draft, readable_id
from app.encoder import Encoder, unit
from app.errors import CollectionChangedError, InvalidRequestError, pointing_at
from app.names import checked_name
from app.schemas import FailedDocument, IngestResponse
from app.store.base import Change, CollectionSettings, Store, Vector, VectorSpace

BATCH = 256
"""Documents that are encoded together and stored in one transaction."""
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
        self._waiting: list[tuple[int, msgspec.Raw | bytes]] = []
        self._outcomes: Counter[str] = Counter()
        self._failed: list[FailedDocument] = []
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
        if len(self._waiting) >= BATCH:
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
            len(self._entities),
            await self._store.acknowledgement(),
        )

    async def _flush(self) -> None:
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        failed_before = len(self._failed)
        for attempt in range(1, ATTEMPTS + 1):
            try:
                await self._store_batch(waiting)
            except CollectionChangedError:  # between the reading of its scale and the storing: read it again
                del self._failed[failed_before:]
                if attempt == ATTEMPTS:
                    raise
            else:
                return

    async def _store_batch(self, waiting: Sequence[tuple[int, msgspec.Raw | bytes]]) -> None:
        settings = await self._store.settings(self._collection) or CollectionSettings()
        drafts: list[tuple[int, Draft]] = []
        for index, raw in waiting:
            try:
                drafts.append((index, draft(raw, settings.scale)))
            except InvalidRequestError as error:
                self._fail(index, readable_id(raw), error)
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

    async def _with_vectors(
        self, drafts: Sequence[tuple[int, Draft]]
    ) -> tuple[list[tuple[int, Change]], VectorSpace | None]:
        """The changes with their unit vectors, and the space of these; a draft that can have none fails."""
        space = await self._store.vector_space(self._collection) or self._new_space(drafts)
        encoder = self._encoder
        encodes = encoder is not None and space is not None and encoder.name == space.encoder
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
                    raise InvalidRequestError.at("/embedding", _no_encoder(space, encoder))
            except InvalidRequestError as error:
                self._fail(index, one.change.id, error)
            else:
                changes.append((index, msgspec.structs.replace(one.change, vector=vector)))
        return changes, space if any(change.vector is not None for _, change in changes) else None

    def _new_space(self, drafts: Sequence[tuple[int, Draft]]) -> VectorSpace | None:
        """The space of a collection without vectors: the encoder's, else that of the first brought vector."""
        if self._encoder:
            return VectorSpace(self._encoder.dimension, self._encoder.name)
        return next((VectorSpace(len(one.embedding), None) for _, one in drafts if one.embedding), None)

    def _fail(self, index: int, document_id: str | None, error: InvalidRequestError) -> None:
        broken = error.errors[0]
        self._failed.append(FailedDocument(index, document_id, broken.pointer, broken.detail))


def _brought(embedding: list[float], space: VectorSpace | None) -> Vector:
    if space is None or len(embedding) != space.dimension:
        needed = space.dimension if space else "at least 1"
        raise InvalidRequestError.at(
            "/embedding", f"holds {len(embedding)} numbers, this collection's vectors hold {needed}"
        )
    return unit(embedding)


def _no_encoder(space: VectorSpace, encoder: Encoder) -> str:
    return (
        f"is needed: this collection's vectors were made by {space.encoder or 'the callers'}, "
        f"and this service's encoder is {encoder.name}"
    )

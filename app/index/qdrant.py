"""`Index` over collections that an operator keeps in Qdrant: vectors are read there, and never copied or written.

What is an opinion, and which documents there are, the store says, as with the local index; the follower keeps that part
in memory, without vectors. Of Qdrant we ask points: `id` in their payload is the document's id (else the point's own
id is), and `opinions` is as in POST /ingest, `[{"entity": "breakfast", "si": 20}]`, with the entity in the form that
GET /entities shows. The payload only tells Qdrant where to look. A point that the store knows nothing of, or another
opinion, is passed over: whoever writes to both may be late in one of them, and what is excluded must not come back.
"""

import re
from collections.abc import Awaitable, Collection, Sequence
from typing import TypeVar
from urllib.parse import unquote, urlsplit
from uuid import UUID

import numpy as np
from qdrant_client import AsyncQdrantClient, models
from qdrant_client.http.exceptions import ApiException

from app.errors import IndexUnavailableError
from app.index.base import MAX_RESULTS, Held, Hit, Wanted
from app.index.collection import LocalCollection
from app.index.local import LocalIndex
from app.store.base import Labels, Vector
from warp_core import InvalidInputError

Answer = TypeVar("Answer")

TIMEOUT_S = 2
MOST_POINTS = 4 * MAX_RESULTS
"""So many points a search reads at most, when the store does not know those that it found first."""
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,255}")


class QdrantIndex:
    """Parameters
    ----------
    client : of the server.
    prefix : a collection `hotels` is the server's `<prefix>hotels`.
    documents : what the follower knows, without vectors.
    """

    def __init__(self, client: AsyncQdrantClient, prefix: str, documents: LocalIndex) -> None:
        self._client = client
        self._prefix = prefix
        self._documents = documents
        self._dimensions: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._documents)

    def __getitem__(self, collection: str) -> "QdrantCollection":
        return QdrantCollection(self._client, self._prefix + collection, self._documents[collection], self._dimensions)

    async def close(self) -> None:
        """Give up the connections."""
        await self._client.close()


class QdrantCollection:
    """`CollectionIndex` over one collection of the server; one that is not there is empty.

    Parameters
    ----------
    dimensions : of the collections that were found on the server, for all of an index.
    """

    def __init__(
        self, client: AsyncQdrantClient, name: str, documents: LocalCollection, dimensions: dict[str, int]
    ) -> None:
        self._client = client
        self._name = name
        self._documents = documents
        self._dimensions = dimensions

    def labels(self, entity: str | None, ids: Sequence[str]) -> dict[str, Labels]:
        return self._documents.labels(entity, ids)

    def excluded(self, ids: Sequence[str]) -> Collection[str]:
        return self._documents.excluded(ids)

    def counts(self, entity: str | None, n_bins: int) -> list[int]:
        return self._documents.counts(entity, n_bins)

    def entities(self, after: str, limit: int) -> list[tuple[str, int]]:
        return self._documents.entities(after, limit)

    def knows(self, entity: str) -> bool:
        return self._documents.knows(entity)

    async def search(self, query: Vector, k: int) -> list[Hit]:
        if k < 1 or await self._dimension() != len(query):
            return []
        k = min(k, MAX_RESULTS)
        limit = k
        while True:
            (points,) = await self._nearest([(query, None)], limit, exact=False)
            known = self._living(None, [name for name, _ in points])
            hits = [hit for hit in points if hit[0] in known]
            if len(hits) >= k or len(points) < limit or limit >= MOST_POINTS:
                return hits[:k]
            limit *= 2

    async def held(
        self, entity: str, wanted: Sequence[Wanted], limit: int, without: Collection[str], together: bool = False
    ) -> Held:
        dimension = await self._dimension() if self.knows(entity) and wanted and limit else None
        if dimension is None:
            return Held([], [], [])
        most = limit + len(without)
        if any(len(one.query) != dimension for one in wanted):
            found = [await self._any(_opinion(entity, one.position), most) for one in wanted]
        else:
            found = await self._nearest(
                [(one.query, _opinion(entity, one.position)) for one in wanted], most, exact=True
            )
        held: list[tuple[str, int, float]] = []
        for one, points in zip(wanted, found, strict=True):
            bins = self._living(entity, [name for name, _ in points])
            known = [hit for hit in points if hit[0] not in without and bins.get(hit[0]) == one.bin][:limit]
            held += [(name, one.bin, score) for name, score in known]
        if together:
            held = sorted(held, key=lambda one: (-one[2], one[0]))[:limit]
        return Held.of(held)

    async def vectors(self, ids: Sequence[str]) -> dict[str, Vector]:
        wanted = list(self._living(None, ids))
        if not wanted or await self._dimension() is None:
            return {}
        named = models.FieldCondition(key="id", match=models.MatchAny(any=wanted))
        numbered = models.HasIdCondition(has_id=[point for name in wanted if (point := _point_id(name)) is not None])
        records, _ = await self._asked(
            self._client.scroll(
                self._name,
                models.Filter(should=[named, numbered]),
                limit=2 * len(wanted),
                with_payload=["id"],
                with_vectors=True,
            )
        )
        found = {_document_id(record): np.array(record.vector, np.float32) for record in records}
        return {name: found[name] for name in wanted if name in found}

    def _living(self, entity: str | None, ids: Sequence[str]) -> dict[str, int | None]:
        """Those of the documents that are neither deleted nor excluded, with their bin on an entity."""
        labels = self._documents.labels(entity, ids)
        return {name: one.entity_bin for name, one in labels.items() if not one.excluded}

    async def _dimension(self) -> int | None:
        """Length of the collection's vectors; None when there is no such collection.

        Raises
        ------
        IndexUnavailableError : its vectors are several a point, or are not compared by their angle.
        """
        if self._name in self._dimensions:
            return self._dimensions[self._name]
        # The name becomes part of a path.
        if not _NAME.fullmatch(self._name) or not await self._asked(self._client.collection_exists(self._name)):
            return None
        vectors = (await self._asked(self._client.get_collection(self._name))).config.params.vectors
        if not isinstance(vectors, models.VectorParams):
            raise IndexUnavailableError(f"the points of {self._name} have named vectors; one without a name is needed")
        if vectors.distance not in (models.Distance.COSINE, models.Distance.DOT):
            raise IndexUnavailableError(f"{self._name} compares by {vectors.distance.value}; Cosine or Dot is needed")
        self._dimensions[self._name] = vectors.size
        return vectors.size

    async def _nearest(
        self, queries: Sequence[tuple[Vector, models.Filter | None]], limit: int, exact: bool
    ) -> list[list[Hit]]:
        """For each query the points nearest to it that pass its filter, best first, in one round trip."""
        requests = [
            models.QueryRequest(
                query=query.tolist(),
                filter=condition,
                limit=limit,
                with_payload=["id"],
                params=models.SearchParams(exact=exact),
            )
            for query, condition in queries
        ]
        answers = await self._asked(self._client.query_batch_points(self._name, requests))
        return [_ranked([(_document_id(point), point.score) for point in answer.points]) for answer in answers]

    async def _any(self, condition: models.Filter, limit: int) -> list[Hit]:
        """Points that pass a filter, where there is no query to compare them with."""
        records, _ = await self._asked(self._client.scroll(self._name, condition, limit=limit, with_payload=["id"]))
        return _ranked([(_document_id(record), 0.0) for record in records])

    async def _asked(self, answer: Awaitable[Answer]) -> Answer:
        try:
            return await answer
        except (ApiException, ValueError) as error:
            self._dimensions.pop(self._name, None)  # the collection may be gone, or another one
            status = getattr(error, "status_code", None)
            raise IndexUnavailableError(f"Qdrant {f'answers {status}' if status else 'cannot be reached'}") from error


def open_qdrant(url: str, documents: LocalIndex) -> QdrantIndex:
    """The index behind `qdrant://[:KEY@]HOST[:PORT]/PREFIX`, or `qdrant+https://`. The server is asked later.

    Raises
    ------
    InvalidInputError : that is no such URL.
    """
    parts = urlsplit(url)
    prefix = parts.path.removeprefix("/")
    if not parts.hostname or not re.fullmatch(r"[A-Za-z0-9_.-]*", prefix):
        raise InvalidInputError("index", "must be qdrant://HOST:PORT/PREFIX, the prefix of letters, digits, _ . and -")
    client = AsyncQdrantClient(
        host=parts.hostname,
        port=parts.port or 6333,
        https=parts.scheme.endswith("+https"),
        api_key=unquote(parts.password) if parts.password else None,
        timeout=TIMEOUT_S,
        check_compatibility=False,  # it would ask the server here, and print
    )
    return QdrantIndex(client, prefix, documents)


def _opinion(entity: str, position: float) -> models.Filter:
    """Points with this opinion; the bounds on both sides match 20 and 20.0 alike."""
    both = models.Filter(
        must=[
            models.FieldCondition(key="entity", match=models.MatchValue(value=entity)),
            models.FieldCondition(key="si", range=models.Range(gte=position, lte=position)),
        ]
    )
    return models.Filter(must=[models.NestedCondition(nested=models.Nested(key="opinions", filter=both))])


def _document_id(point: models.ScoredPoint | models.Record) -> str:
    return str((point.payload or {}).get("id", point.id))


def _point_id(document_id: str) -> int | str | None:
    """The point whose own id the document's may be: a number, or a UUID."""
    if document_id.isascii() and document_id.isdigit() and int(document_id) < 2**64:
        return int(document_id)
    try:
        return str(UUID(document_id))
    except ValueError:
        return None


def _ranked(hits: list[Hit]) -> list[Hit]:
    return sorted(hits, key=lambda hit: (-hit[1], hit[0]))

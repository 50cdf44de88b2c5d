"""The encoder's seam: texts -> unit vectors, shape (n, dimension), whichever model makes them."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.encoder import identity
from app.encoder.batches import Batches, unit
from app.remembered import Remembered
from app.store.base import Vector, VectorSpace

Model = Callable[[list[str]], NDArray[np.float32]]
"""A batch of texts -> vectors of any length, shape (n, dimension)."""

QUERY_CACHE_SIZE = 10_000
CHARACTERS_A_TOKEN = 64
"""A model that reads so many tokens of a text is given this many characters for each; the rest it would not see, but
its tokenizer would have to read."""


@dataclass(frozen=True)
class Prompts:
    """What a model was trained to see before a text, by what the text is."""

    query: str = ""
    document: str = ""

    @classmethod
    def among(cls, named: Mapping[str, str | None]) -> "Prompts":
        """Those of a sentence-transformers model, by the names that it uses for them."""
        document = next((prompt for name in ("document", "passage", "corpus") if (prompt := named.get(name))), "")
        return cls(named.get("query") or "", document)


class Encoder:
    """A model behind one thread, with a cache of query vectors.

    Parameters
    ----------
    name : which model it is, as people call it.
    model : the model itself. It is run once, so that it is warm and known by what it makes.
    """

    def __init__(self, name: str, model: Model, prompts: Prompts | None = None) -> None:
        self.name = name
        self._prompts = prompts or Prompts()
        probes = unit(model([self._prompts.document + text for text in identity.PROBES]))
        self.dimension = int(probes.shape[1])
        self._sketch = identity.sketch_of(probes)
        self._batches = Batches(model, "encoder")
        self._queries: Remembered[str, Vector] = Remembered(QUERY_CACHE_SIZE)
        self._coming: dict[str, Future[Vector]] = {}

    @property
    def space(self) -> VectorSpace:
        """What the vectors of this encoder share, to be kept with them."""
        return VectorSpace(self.dimension, identity.pin(self.name, self._sketch))

    def made(self, space: VectorSpace) -> bool:
        """Whether a collection's vectors are this model's, under whatever name or backend."""
        if space.encoder is None or space.dimension != self.dimension:
            return False
        return identity.is_same(space.encoder, self.name, self._sketch)

    def compares_with(self, space: VectorSpace | None) -> bool:
        """Whether its vectors may be compared with a collection's: it made them, or callers did in its dimension.

        What cannot be known, since the store is away, is not refused.
        """
        if space is None:
            return True
        return self.made(space) if space.encoder is not None else space.dimension == self.dimension

    def refusal(self, space: VectorSpace) -> str:
        """Why a collection's vectors do not go with this encoder, and what to do."""
        if space.encoder is None:
            maker, remedy = "its callers", "bring embeddings"
        else:
            maker = identity.pinned_name(space.encoder)
            remedy = f"run the service with WARP_ENCODER={maker}"
            if maker == self.name:
                maker, remedy = f"{maker} of another version", "run the service with that version"
        return (
            f"the collection's vectors come from {maker} and hold {space.dimension} numbers; this service's encoder is "
            f"{self.name} with {self.dimension}: {remedy}, or ingest the documents into a new collection"
        )

    async def encode(self, texts: Sequence[str]) -> Vector:
        """Unit vectors of documents, shape (n, dimension); what a model sees nothing in gives zeros."""
        if not texts:
            return np.zeros((0, self.dimension), np.float32)
        prompted = [self._prompts.document + text for text in texts]
        return await asyncio.wrap_future(self._batches.submit(prompted, urgent=False))

    async def encode_queries(self, queries: Sequence[str]) -> Vector:
        """The same for queries; the last 10,000 are kept, and one that is being encoded is not encoded again."""
        vectors: dict[str, Vector] = {}
        coming: dict[str, Future[Vector]] = {}
        for query in dict.fromkeys(queries):
            # In this order: what has ceased to come is known by then.
            future = self._coming.get(query)
            known = self._queries.get(query) if future is None else None
            if known is None:
                coming[query] = future or self._encode_query(query)
            else:
                vectors[query] = known
        for query, future in coming.items():
            # Whoever gives up waiting must not cancel what others wait for too.
            (vectors[query],) = await asyncio.shield(asyncio.wrap_future(future))
        return np.stack([vectors[query] for query in queries])

    def _encode_query(self, query: str) -> Future[Vector]:
        future = self._coming[query] = self._batches.submit([self._prompts.query + query], urgent=True)

        def keep(done: Future[Vector]) -> None:
            if not done.exception():
                self._queries.put(query, done.result()[0])
            del self._coming[query]

        future.add_done_callback(keep)
        return future

    def close(self) -> None:
        """Let the thread end, once it has done what was asked for."""
        self._batches.close()

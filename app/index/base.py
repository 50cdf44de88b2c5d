"""The index's seam: what the use cases ask of one collection."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from app.store.base import Labels, Vector

MAX_RESULTS = 2000
"""No search gives more than this, whatever is asked for."""

Hit = tuple[str, float]
"""A document and its similarity to the query."""


class Wanted(NamedTuple):
    """A bin whose documents are wanted, its position on the scale, and the unit vector that they should be near to."""

    bin: int
    position: float
    query: Vector


@dataclass(frozen=True)
class Held:
    """Documents that hold an opinion on an entity, in columns: id, bin, similarity to the query of the bin."""

    ids: list[str]
    bins: list[int]
    scores: list[float]

    @classmethod
    def of(cls, documents: Sequence[tuple[str, int, float]]) -> "Held":
        """The columns of these documents."""
        ids, bins, scores = zip(*documents, strict=True) if documents else ((), (), ())
        return cls([*ids], [*bins], [*scores])


class CollectionIndex(Protocol):
    """The documents of one collection that are neither deleted nor excluded; of the excluded ones just the names.

    What is asynchronous raises `IndexUnavailableError` where another engine is asked, and does not answer.
    """

    def labels(self, entity: str | None, ids: Sequence[str]) -> dict[str, Labels]:
        """What those of the documents that there are, excluded ones included, say on an entity."""

    def excluded(self, ids: Sequence[str]) -> Collection[str]:
        """Those of the documents that are excluded."""

    def counts(self, entity: str | None, n_bins: int) -> list[int]:
        """Documents in each bin of an entity, or of all entities together."""

    def entities(self, after: str, limit: int) -> list[tuple[str, int]]:
        """Entities that opinions are held on, and how many; a page in name order, past the name `after`."""

    def knows(self, entity: str) -> bool:
        """Whether an opinion is held on the entity."""

    async def search(self, query: Vector, k: int) -> list[Hit]:
        """The k documents nearest to a unit vector, shape (dimension,), by inner product, best first.

        At most `MAX_RESULTS`; nothing for a query of another dimension. Equals come in an order that is the same on
        every replica.
        """

    async def held(
        self, entity: str, wanted: Sequence[Wanted], limit: int, without: Collection[str], together: bool = False
    ) -> Held:
        """Of the documents on the entity in the wanted bins those that are nearest to the query of their bin.

        Exact at any size, best first: up to `limit` a bin, bin after bin; or, `together`, up to `limit` of all of the
        bins. Those in `without` are left out. The similarity to a query of another dimension (0 where there is no
        encoder) is 0.
        """

    async def vectors(self, ids: Sequence[str]) -> dict[str, Vector]:
        """Unit vectors, shape (dimension,), of those of the documents that have one."""


class Index(Protocol):
    """All collections."""

    def __len__(self) -> int:
        """Documents in all collections."""

    def __getitem__(self, collection: str) -> CollectionIndex:
        """The index of a collection; an empty one when nothing has come yet."""

    async def close(self) -> None:
        """Give up all resources; no call may follow."""

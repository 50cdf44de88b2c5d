"""The use case behind every dialect: texts in, an order of all of them out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app import reranking
from app.drop_in.addressing import Addressed, address_of
from app.errors import InvalidRequestError
from app.resources import Resources
from app.schemas import DEFAULT_K, CandidateInput, RerankRequest


@dataclass(frozen=True)
class Ordered:
    """Positions of the documents, best first, each with a score.

    Parameters
    ----------
    order : distinct positions in what was sent, one for each asked for.
    scores : 1 for the first, and falling by 1/N, so that who sorts by them keeps the order.
    collection : that it was about.
    warnings : what a caller should know.
    """

    order: list[int]
    scores: list[float]
    collection: str
    warnings: list[str]


async def ordered(
    query: str,
    documents: Sequence[CandidateInput],
    field: str,
    about: Addressed,
    headers: Mapping[str, str],
    limit: int | None,
    resources: Resources,
) -> Ordered:
    """Put N documents in an order whose beginnings represent the population, as far as the variant allows.

    What the selector leaves, and what is excluded, stands at the end as it came. Nothing is added to what was sent:
    these clients know a document by its position.

    Parameters
    ----------
    field : the pointer of the documents in the request, for errors.
    about, headers : the request's body and headers, which tell the collection, entity and variant.
    limit : how many are wanted; None, or more than there are: all. All are put in order by a selection as long as
        `max_k` allows, of the kind that suits a list of the usual length: nobody says where the caller will cut it.

    Raises
    ------
    InvalidRequestError : a field breaks a rule.
    """
    n = len(documents)
    address = await address_of(about, headers, resources.lookups.is_collection)
    if not n:
        return Ordered([], [], address.collection, [])
    wanted = min(n, limit or n)
    request = RerankRequest(
        query=query,
        candidates=[*documents],
        collection=address.collection,
        entity=address.entity,
        variant=address.variant,
        expansion="none",
        k=min(wanted, resources.settings.max_k),
        fill=True,
    )
    try:
        answer = await reranking.rerank(request, resources, typical_k=None if limit else DEFAULT_K)
    except InvalidRequestError as error:
        raise error.moved("/candidates", field) from error
    chosen = [result.index for result in answer.results if result.index is not None]
    left = sorted(set(range(n)).difference(chosen))
    return Ordered([*chosen, *left][:wanted], [1 - r / n for r in range(wanted)], address.collection, answer.warnings)

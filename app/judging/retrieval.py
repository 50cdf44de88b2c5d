"""Questions about a collection -> runs: the documents that each variant finds for them."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from app import reranking
from app.decoding import BodyDecoder
from app.errors import InvalidRequestError
from app.judging.runs import Population, Run, Text
from app.presentation import DIGITS
from app.resources import Resources
from app.schemas import AUTO, RerankResponse, SearchRequest, Strict
from warp_core import InvalidInputError, OpinionScale


class Question(Strict):
    """A question; left out, the entity is the one that it names."""

    query: Text
    entity: str | None = None


def read_questions(path: Path) -> list[Question]:
    """The questions of a JSON Lines file.

    Raises
    ------
    InvalidInputError : a line breaks a rule, or there is none.
    """
    decoder = BodyDecoder(Question)
    found = []
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        if line.strip():
            try:
                found.append(decoder.decode(line))
            except InvalidRequestError as error:
                raise InvalidInputError("questions", f"{path.name}:{number}: {error.detail}") from error
    if not found:
        raise InvalidInputError("questions", f"{path} holds no question")
    return found


async def retrieve(
    questions: Sequence[Question],
    variants: Sequence[str],
    collection: str,
    k: int,
    resources: Resources,
    advance: Callable[[], object],
) -> tuple[list[Run], list[str]]:
    """The runs, and what is missing in them, in words.

    `auto` may expand the pool; a selector chooses from the same pool that the others see, without expansion. The
    population is the target that the choice was aimed at, told as its three sides.

    Parameters
    ----------
    advance : called after each question.

    Raises
    ------
    InvalidRequestError : there is no such variant, or the service cannot search.
    InvalidInputError : there is no such collection, or a question names no entity of it.
    """
    settings = await resources.store.settings(collection)
    if settings is None:
        raise InvalidInputError("collection", f"there is no collection {collection!r}")
    runs, missing = [], []
    for question in questions:
        documents: dict[str, list[str]] = {}
        for variant in variants:
            answer = await _answer(question, variant, collection, k, resources)
            documents[variant] = [
                result.text for result in answer.results if isinstance(result.text, str) and result.text
            ]
            if absent := len(answer.results) - len(documents[variant]):
                missing.append(f"{question.query}: {absent} documents of {variant} have no text")
        if empty := [variant for variant, texts in documents.items() if not texts]:
            missing.append(f"{question.query}: left out, since {', '.join(empty)} found nothing")
        else:
            population = _sides(answer.target.distribution, settings.scale)
            runs.append(Run(question.query, documents, answer.decision.entity, population))
        advance()
    return runs, missing


async def _answer(question: Question, variant: str, collection: str, k: int, resources: Resources) -> RerankResponse:
    answer = await reranking.search(
        SearchRequest(
            query=question.query,
            entity=question.entity,
            collection=collection,
            k=k,
            variant=variant,
            expansion="auto" if variant == AUTO else "none",
        ),
        resources,
    )
    if answer.decision.entity is None:
        raise InvalidInputError("questions", f"{question.query!r} names no entity of {collection!r}")
    return answer


def _sides(distribution: Mapping[str, float], scale: OpinionScale) -> Population:
    """Shares below, at and above the middle of the scale."""
    middle = (scale.positions[0] + scale.positions[-1]) / 2
    sides = {-1: 0.0, 0: 0.0, 1: 0.0}
    for position, share in distribution.items():
        away = float(position) - middle
        sides[(away > 0) - (away < 0)] += share
    return Population(*(round(share, DIGITS) for share in sides.values()))

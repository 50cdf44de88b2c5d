"""An opinion as a caller writes it -> the bin it falls in."""

from app.errors import InvalidRequestError
from app.schemas import OpinionInput
from warp_core import InvalidInputError, OpinionScale


def bin_of_opinion(opinion: OpinionInput, scale: OpinionScale, pointer: str) -> int:
    """The bin of an opinion given as exactly one of `si`, `sentiment` (with `intensity`) or `stars`.

    Raises
    ------
    InvalidRequestError : none or several are given, or the value lies off the scale; points below `pointer`.
    """
    given = [name for name in ("si", "sentiment", "stars") if getattr(opinion, name) is not None]
    if len(given) != 1:
        raise InvalidRequestError.at(
            pointer, f"exactly one of si, sentiment and stars is needed, got {' and '.join(given) or 'none'}"
        )
    if opinion.intensity is not None and opinion.sentiment is None:
        raise InvalidRequestError.at(f"{pointer}/intensity", "only goes with a sentiment")
    try:
        if opinion.si is not None:
            return scale.bin_at(opinion.si)
        if opinion.stars is not None:
            return scale.bin_of_stars(opinion.stars)
        assert opinion.sentiment is not None  # noqa: S101 - the last of the three
        return scale.bin_of_sentiment(opinion.sentiment, opinion.intensity or "medium")
    except InvalidInputError as error:
        raise InvalidRequestError.at(f"{pointer}/{given[0]}", error.detail) from error


def bin_of_position(position: float, scale: OpinionScale, pointer: str) -> int:
    """The bin of a document-level `si`.

    Raises
    ------
    InvalidRequestError : the scale has no such position.
    """
    try:
        return scale.bin_at(position)
    except InvalidInputError as error:
        raise InvalidRequestError.at(pointer, error.detail) from error

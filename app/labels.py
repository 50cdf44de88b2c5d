"""An opinion as a caller writes it -> the bin it falls in."""

from app.errors import InvalidRequestError
from app.names import entity_key
from app.schemas import OpinionInput
from warp_core import InvalidInputError, OpinionScale


def entity_and_bin(opinion: OpinionInput, scale: OpinionScale) -> tuple[str, int]:
    """The entity's key, and the bin that is given as exactly one of `si`, `sentiment` (with `intensity`) or `stars`.

    Raises
    ------
    InvalidRequestError : the name is not allowed, none or several are given, or the value lies off the scale; the
        pointer starts at the opinion.
    """
    si, sentiment, stars = opinion.si, opinion.sentiment, opinion.stars
    if (si is not None) + (sentiment is not None) + (stars is not None) != 1:
        given = [name for name in ("si", "sentiment", "stars") if getattr(opinion, name) is not None]
        got = " and ".join(given) or "none"
        raise InvalidRequestError.at("", f"exactly one of si, sentiment and stars is needed, got {got}")
    if opinion.intensity is not None and sentiment is None:
        raise InvalidRequestError.at("/intensity", "only goes with a sentiment")
    try:
        entity = entity_key("entity", opinion.entity)
        if si is not None:
            return entity, scale.bin_at(si)
        if stars is not None:
            return entity, scale.bin_of_stars(stars)
        assert sentiment is not None  # noqa: S101 - the last of the three
        return entity, scale.bin_of_sentiment(sentiment, opinion.intensity or "medium")
    except InvalidInputError as error:
        field = "sentiment" if error.argument == "si" and si is None else error.argument
        raise InvalidRequestError.at(f"/{field}", error.detail) from error


def bin_of_position(position: float, scale: OpinionScale) -> int:
    """The bin of a document-level `si`.

    Raises
    ------
    InvalidRequestError : the scale has no such position.
    """
    try:
        return scale.bin_at(position)
    except InvalidInputError as error:
        raise InvalidRequestError.at("/si", error.detail) from error

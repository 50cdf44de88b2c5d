"""A document as a caller writes it -> a change for the store."""

import hashlib

import msgspec
import numpy as np

from app.decoding import BodyDecoder
from app.errors import InvalidRequestError, escaped, pointing_at
from app.labels import bin_of_position, entity_and_bin
from app.names import MAX_NAME_BYTES, checked_name
from app.schemas import DocumentInput
from app.store.base import MAX_VERSION, Change, Document, Opinion
from app.store.facets import day_of
from warp_core import OpinionScale

_decoder = BodyDecoder(DocumentInput)
_encode = msgspec.json.Encoder(order="deterministic").encode


class Draft(msgspec.Struct):
    """A checked document: the change that it asks for, still without a vector, and the embedding it brought."""

    change: Change
    content: Document
    embedding: list[float] | None

    @property
    def to_encode(self) -> str:
        """The text that its vector has to come from; empty when it needs none."""
        return "" if self.embedding is not None or self.content.excluded else self.content.text


def draft(raw: msgspec.Raw | bytes, scale: OpinionScale) -> Draft:
    """Check one document, as JSON.

    Raises
    ------
    InvalidRequestError : a field breaks a rule; its pointer starts at the document.
    """
    document = _decoder.decode(raw)
    with pointing_at("/id"):
        checked_name("id", document.id)
    if document.timestamp is not None:
        _check_timestamp(document.timestamp)
    for name, value in document.attributes.items():
        _check_attribute(name, value)
    content = Document(
        document.text,
        _opinions(document, scale),
        None if document.si is None else bin_of_position(document.si, scale),
        document.attributes,
        document.metadata,
        document.timestamp,
        document.excluded,
    )
    # Of the vectors only a brought one tells contents apart: the encoder's follows from the text.
    brought = np.asarray(document.embedding or (), np.float64).tobytes()
    fingerprint = hashlib.blake2b(_encode(content) + brought, digest_size=16).digest()
    change = Change(document.id, content, fingerprint, version=_version(document.version))
    return Draft(change, content, document.embedding)


def readable_id(raw: msgspec.Raw | bytes) -> str | None:
    """The id of a document that breaks a rule, when it can be read all the same."""
    try:
        fields = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    found = fields.get("id") if isinstance(fields, dict) else None
    return found if isinstance(found, str) else None


def _opinions(document: DocumentInput, scale: OpinionScale) -> list[Opinion]:
    opinions: dict[str, Opinion] = {}
    for position, given in enumerate(document.opinions):
        pointer = f"/opinions/{position}"
        try:
            entity, b = entity_and_bin(given, scale)
        except InvalidRequestError as error:
            raise error.below(pointer) from error
        if entity in opinions:
            raise InvalidRequestError.at(f"{pointer}/entity", f"a second opinion on {entity!r}")
        opinions[entity] = Opinion(
            entity, b, given.confidence, given.evidence, given.evidence_type, given.impact, given.markers
        )
    return list(opinions.values())


def _check_timestamp(given: str) -> None:
    try:
        day_of(given)
    except ValueError:
        raise InvalidRequestError.at("/timestamp", f"must be an ISO 8601 date or time, got {given[:40]!r}") from None


def _check_attribute(name: str, value: str) -> None:
    pointer = f"/attributes/{escaped(name)}"
    for part in (name, value):
        if len(part.encode(errors="surrogatepass")) > MAX_NAME_BYTES:
            raise InvalidRequestError.at(
                pointer, f"name and value must each be at most {MAX_NAME_BYTES} bytes of UTF-8"
            )


def _version(given: int | str | None) -> int | None:
    if given is None:
        return None
    if isinstance(given, str) and not (given.isascii() and given.isdigit() and len(given) <= len(str(MAX_VERSION))):
        raise InvalidRequestError.at("/version", f"must be a whole number or its decimal string, got {given[:40]!r}")
    if not 0 <= int(given) <= MAX_VERSION:
        raise InvalidRequestError.at("/version", f"must lie in 0 .. {MAX_VERSION}, got {given}")
    return int(given)

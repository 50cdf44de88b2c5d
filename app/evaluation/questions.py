"""What is asked: six questions about each entity that is disputed enough, or those of a file."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from app.evaluation.layout import Questions
from app.evaluation.rows import rows_of
from app.names import entity_key
from warp_core import InvalidInputError

GIVEN = "given"


class Question(msgspec.Struct, frozen=True):
    """A question about an entity (its key); `kind` is breadth, polar, segment or given."""

    text: str
    entity: str
    kind: str


def templated(entities: Iterable[str], names: Mapping[str, str], wording: Questions) -> list[Question]:
    """The questions about each entity, two of a kind."""
    kinds = {"breadth": wording.breadth, "polar": wording.polar, "segment": wording.segment}
    return [
        Question(template.replace("{entity}", names.get(entity, entity)), entity, kind)
        for entity in entities
        for kind, templates in kinds.items()
        for template in templates
    ]


def from_file(path: Path, known: Sequence[str]) -> list[Question]:
    """The questions of a JSONL, CSV or TSV file: `query`, `entity`, and `kind` if it likes.

    Raises
    ------
    InvalidInputError : a row lacks one, names an entity without an opinion, or there is no row.
    """
    found = []
    entities = set(known)
    for place, row in rows_of(path):
        for column in ("query", "entity"):
            if not isinstance(row.get(column), str):
                raise InvalidInputError("queries", f"{place}: {column} must be text, got {row.get(column)!r}")
        entity = entity_key("entity", row["entity"])
        if entity not in entities:
            raise InvalidInputError("queries", f"{place}: the corpus holds no opinion on {row['entity']!r}")
        found.append(Question(row["query"], entity, str(row.get("kind", GIVEN))))
    if not found:
        raise InvalidInputError("queries", f"{path} holds no question")
    return found

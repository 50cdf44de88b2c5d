"""Documents -> opinions, for documents that bring none. Which labeller does it is a value of the collection.

A lexicon tells how a text speaks, not about what: its label is the whole document's, and an entity's only where the
text names that entity.
"""

from dataclasses import dataclass, field
from functools import lru_cache
from importlib.util import find_spec
from typing import Protocol

from app.entities import NamesInText
from app.labelling import vader
from app.store.base import CollectionSettings
from warp_core import InvalidInputError, OpinionScale


@dataclass(frozen=True)
class Label:
    """What a labeller makes of a text: bins of the whole and of each entity that it names."""

    document: int
    entities: dict[str, int] = field(default_factory=dict)


class Labeller(Protocol):
    """Reads texts."""

    def __call__(self, text: str, names: NamesInText) -> Label | None:
        """The label of a text, and of the entities that it names; None when there is nothing to read."""


def open_labeller(settings: CollectionSettings) -> Labeller | None:
    """The labeller of a collection; None when it has none.

    Raises
    ------
    InvalidInputError : its package is not installed, or the collection's scale has no place for its labels.
    """
    return None if settings.labeller == "none" else _opened(settings.scale)


@lru_cache(maxsize=256)
def _opened(scale: OpinionScale) -> Labeller:
    if find_spec("vaderSentiment") is None:
        raise InvalidInputError("labeller", "'vader' needs the extra 'label': No module named 'vaderSentiment'")
    if missing := sorted(set(vader.POSITIONS) - set(scale.positions)):
        raise InvalidInputError("labeller", f"'vader' labels with {missing}, which this scale has not")

    def by_lexicon(text: str, names: NamesInText) -> Label | None:
        found = vader.intensities(text, names)
        if found is None:
            return None
        whole, entities = found
        return Label(scale.bin_at(whole), {name: scale.bin_at(si) for name, si in entities.items()})

    return by_lexicon

"""Which entity a question is about: the longest known name in it."""

from collections.abc import Mapping

from app.index import CollectionIndex
from app.names import folded

MAX_WORDS = 256
"""Words of a query that are looked at."""
MAX_NAME_WORDS = 8
"""Words that a name in a query may have."""
_EDGES = ".,;:!?'\"()[]{}<>«»“”‘’¿¡…"


def entity_in(query: str, index: CollectionIndex, aliases: Mapping[str, str]) -> str | None:
    """The known entity that a query names, under any of its names, case- and width-insensitively, as whole words.

    The longest name wins, then the earlier one; None when it names none.
    """
    names = (name for name in _possible_names(query) if name in aliases or index.knows(name))
    found = max(names, key=len, default=None)
    return None if found is None else aliases.get(found, found)


def _possible_names(query: str) -> list[str]:
    """Runs of whole words, as entity keys, in order of their start; punctuation at the ends may be part of a name."""
    words = folded(query).split()[:MAX_WORDS]
    names: dict[str, None] = {}
    for start in range(len(words)):
        for end in range(start + 1, min(start + MAX_NAME_WORDS, len(words)) + 1):
            run = " ".join(words[start:end])
            names[run] = None
            names[run.strip(_EDGES)] = None
    return [name for name in names if name]

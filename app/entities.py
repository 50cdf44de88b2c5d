"""Which entity a question is about: the longest known name in it."""

from app.index.base import CollectionIndex
from app.names import folded

MAX_WORDS = 256
"""Words of a query that are looked at."""
MAX_NAME_WORDS = 8
"""Words that a name in a query may have."""
_EDGES = ".,;:!?'\"()[]{}<>«»“”‘’¿¡…"


def entity_in(query: str, index: CollectionIndex) -> str | None:
    """The known entity that a query names, case- and width-insensitively, as whole words.

    The longest name wins, then the earlier one; None when it names none.
    """
    return max(filter(index.knows, _possible_names(query)), key=len, default=None)


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

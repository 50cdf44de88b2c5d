"""Which entity a question is about: the longest known name in it."""

from app.names import folded
from app.store.base import Store

MAX_WORDS = 256
"""Words of a query that are looked at."""
MAX_NAME_WORDS = 8
"""Words that a name in a query may have."""
_EDGES = ".,;:!?'\"()[]{}<>«»“”‘’¿¡…"


async def entity_in(query: str, collection: str, store: Store) -> str | None:
    """The known entity that a query names, case- and width-insensitively, as whole words.

    The longest name wins, then the earlier one; None when it names none.
    """
    names = _possible_names(query)
    known = await store.existing_entities(collection, names) if names else set()
    return max((name for name in names if name in known), key=len, default=None)


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

"""Which entity a question is about: the longest known name in it, or the name that it is nearest to."""

import asyncio
import contextlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from app.encoder import Encoder
from app.index.base import CollectionIndex
from app.names import folded
from app.remembered import Remembered
from app.store.base import Vector

MAX_WORDS = 256
"""Words of a query that are looked at."""
MAX_NAME_WORDS = 8
"""Words that a name in a query may have."""
_EDGES = ".,;:!?'\"()[]{}<>«»“”‘’¿¡…"

_WORD = re.compile(r"\w+")

MARGIN = 0.05
"""The nearest name must be nearer than any other by this much; else it would be a guess between the two."""
MAX_NAMES = 10_000
"""Collections with more entities find none by nearness."""
REMEMBERED_COLLECTIONS = 16
"""Collections whose names' vectors are kept; with the most names, of 384 numbers, they take 246 MB."""
PATIENCE_S = 0.5
"""How long a question waits while names are encoded; the encoding goes on after it."""
_AT_ONCE = 256
"""Names that are handed to the encoder together, so that it can be closed in time."""


def entity_in(query: str, index: CollectionIndex, aliases: Mapping[str, str]) -> str | None:
    """The known entity that a query names, under any of its names, case- and width-insensitively, as whole words.

    The longest name wins, then the earlier one; None when it names none.
    """
    names = (name for name in _possible_names(query) if name in aliases or index.knows(name))
    found = max(names, key=len, default=None)
    return None if found is None else aliases.get(found, found)


class NamesInText:
    """Finds entities by any of their names in texts, as whole words.

    Parameters
    ----------
    names : entity by name; names are keys (see `app.names`).
    """

    def __init__(self, names: Mapping[str, str]) -> None:
        # By its first word a name is looked for only in texts that hold this, however many names there are.
        self._by_first: dict[str, list[tuple[str, str]]] = {}
        for name, entity in names.items():
            first = _WORD.search(name)
            self._by_first.setdefault(first[0] if first else "", []).append((name, entity))

    def __bool__(self) -> bool:
        return bool(self._by_first)

    def entities_in(self, text: str) -> set[str]:
        """Entities that a text names."""
        read = folded(text)
        words = {"", *_WORD.findall(read)}
        return {
            entity
            for word in words & self._by_first.keys()
            for name, entity in self._by_first[word]
            if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", read)
        }


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


@dataclass(frozen=True)
class Nearest:
    """What nearness found.

    Parameters
    ----------
    entity : None when no name is near enough, or two are about as near.
    reason : either way, with the similarities that decided; empty when nothing was compared.
    """

    entity: str | None
    reason: str


NOT_ASKED = Nearest(None, "")


@dataclass(frozen=True)
class _Names:
    """Names of a collection's entities and their unit vectors, shape (n, dimension), in one order."""

    names: Sequence[str] = ()
    vectors: Vector = field(default_factory=lambda: np.zeros((0, 0), np.float32))


class NearestNames:
    """Entity names by the similarity of their vectors to a question's; each name is encoded once."""

    def __init__(self, encoder: Encoder | None) -> None:
        self._encoder = encoder
        self._known: Remembered[str, _Names] = Remembered(REMEMBERED_COLLECTIONS)
        self._learning: dict[str, asyncio.Task[None]] = {}

    async def nearest(
        self, query: str, collection: str, index: CollectionIndex, aliases: Mapping[str, str], least: float
    ) -> Nearest:
        """The entity of which a name is nearest to a query, if at least `least` similar and by far the nearest.

        Measured on 63 questions about a hotel that name none of 15 aspects, with MiniLM and wordllama: at 0.45, 22 and
        11 of 43 that paraphrase one find it, 1 finds a neighbour ("Are the rooms clean?" the rooms), and none of 20
        that are about something else finds anything.

        Parameters
        ----------
        aliases : entity by other name.
        """
        if self._encoder is None or not query.strip() or least >= 1:
            return NOT_ASKED
        entities = [name for name, _ in index.entities("", MAX_NAMES + 1)]
        names = [*entities, *aliases]
        if not names:
            return NOT_ASKED
        if len(names) > MAX_NAMES:
            return Nearest(None, f"over {MAX_NAMES} names are too many to look for the nearest")
        known = self._known.get(collection)
        if known is None or known.names != names:
            known = await self._learned(collection, names)
            if known is None:
                return Nearest(None, "the names of the entities are still being encoded")
        (vector,) = await self._encoder.encode_queries([query])
        return _nearest(known, known.vectors @ vector, aliases, least)

    async def _learned(self, collection: str, names: list[str]) -> _Names | None:
        task = self._learning.get(collection)
        if task is None:
            task = self._learning[collection] = asyncio.create_task(self._learn(collection, names))
            task.add_done_callback(lambda _: self._learning.pop(collection))
        done, _ = await asyncio.wait({task}, timeout=PATIENCE_S)
        if not done:
            return None
        task.result()  # what the model raised is raised here
        return self._known.get(collection)

    async def _learn(self, collection: str, names: list[str]) -> None:
        assert self._encoder is not None  # noqa: S101 - without one nobody asks
        before = self._known.get(collection) or _Names()
        rows = {name: row for row, name in enumerate(before.names)}
        vectors = np.zeros((len(names), self._encoder.dimension), np.float32)
        missing = []
        for i, name in enumerate(names):
            if name in rows:
                vectors[i] = before.vectors[rows[name]]
            else:
                missing.append(i)
        for start in range(0, len(missing), _AT_ONCE):
            some = missing[start : start + _AT_ONCE]
            vectors[some] = await self._encoder.encode([names[i] for i in some])
        self._known.put(collection, _Names(names, vectors))

    async def close(self) -> None:
        """Learn no more."""
        for task in list(self._learning.values()):
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task


def _nearest(known: _Names, similarities: Vector, aliases: Mapping[str, str], least: float) -> Nearest:
    order = np.argsort(-similarities, kind="stable").tolist()
    best, similarity = known.names[order[0]], float(similarities[order[0]])
    entity = aliases.get(best, best)
    if similarity < least:
        return Nearest(None, f"the nearest, {best!r}, has a similarity of {similarity:.2f}, below {least:g}")
    others = ((i, name) for i in order if aliases.get(name := known.names[i], name) != entity)
    i, other = next(others, (None, ""))
    if i is not None and similarity - similarities[i] < MARGIN:
        return Nearest(None, f"{best!r} and {other!r} are about as near ({similarity:.2f})")
    return Nearest(entity, f"{best!r} is the nearest to the question (similarity {similarity:.2f})")

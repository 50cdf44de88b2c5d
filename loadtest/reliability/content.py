"""What the writers write: a document's content is a function of the document and a number.

So whoever reads a number can work out everything that must be stored and counted, and trusts no stored label. Of three
documents in four the number is the version that the writer gives; the others leave versions to the store, and bring the
number as their text.
"""

import random
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

import msgspec
import numpy as np

from app.store.base import Change, Document, Opinion, VectorSpace
from app.store.facets import facets_of

COLLECTION = "torture"
DOCUMENTS = 400
ENTITIES = [f"entity {i}" for i in range(12)]
BINS = 7
SPACE = VectorSpace(4, None)
DAYS = [f"2025-03-{day:02}" for day in range(1, 5)]
AGES = ["18-34", "35-54", "55+"]
FACETS = sorted({facet for day in DAYS for age in AGES for facet in facets_of(day, {"age": age})})

_AWKWARD = ["", ":", "{x}", "}{", "\n", "\0", "é", "'\"\\", "*", "\u202e"]


def name_of(document: int) -> str:
    """Its id; no text may confuse a store."""
    return f"{document}{_AWKWARD[document % len(_AWKWARD)]}"


NUMBER_OF = {name_of(document): document for document in range(DOCUMENTS)}


def is_versioned(document: int) -> bool:
    """Whether its versions are the writers'."""
    return document % 4 != 0


@lru_cache(maxsize=65_536)
def change_of(document: int, number: int, dimension: int = SPACE.dimension) -> Change:
    """The change that a writer sends; one in ten deletes. Contents are the same in every dimension."""
    rng = random.Random(f"{document}/{number}")
    version = number if is_versioned(document) else None
    if rng.random() < 0.1:
        return Change(name_of(document), version=version)
    entities = rng.sample(ENTITIES, rng.choice((0, 1, 1, 2, 3)))
    content = Document(
        text=str(number),
        opinions=[Opinion(entity, rng.randrange(BINS)) for entity in entities],
        attributes={"age": rng.choice(AGES)} if rng.random() < 0.5 else {},
        timestamp=rng.choice(DAYS) if rng.random() < 0.5 else None,
        excluded=rng.random() < 0.1,
    )
    vector = np.zeros(dimension, np.float32)
    vector[rng.randrange(dimension)] = rng.choice((-1, 1))
    return Change(name_of(document), content, msgspec.json.encode(content), vector, version)


def recount(contents: Iterable[Document]) -> Counter[tuple[str, str, int]]:
    """Opinions by facet, entity and bin; under the entity "" those on all entities."""
    counts: Counter[tuple[str, str, int]] = Counter()
    for content in contents:
        if not content.excluded:
            for opinion in content.opinions:
                for facet in facets_of(content.timestamp, content.attributes):
                    counts[facet, opinion.entity, opinion.bin] += 1
                    counts[facet, "", opinion.bin] += 1
    return counts

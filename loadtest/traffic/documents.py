"""The documents of a run. What one says follows from its name and version, so that every count can be told."""

import random
from collections.abc import Sequence
from typing import Any

from loadtest.bodies import ENTITY, POPULATION, POSITIONS, document_id, text

KNOWN = 2000
"""Documents that are there from the beginning."""
OTHERS = ("Staff", "Room", "Pool", "Wi-Fi")
"""Each document holds an opinion on one of these too."""
ENTITIES = (ENTITY, *OTHERS)


def known(i: int) -> str:
    """Name of the i-th document that is there from the beginning."""
    return document_id(i % KNOWN)


def opinions_of(name: str, version: int) -> Sequence[tuple[str, int]]:
    """Entities and positions of a version of a document."""
    rng = random.Random(f"{name}/{version}")
    positions = rng.choices(POSITIONS, POPULATION, k=2)
    return list(zip((ENTITY, rng.choice(OTHERS)), positions, strict=True))


def document(name: str, version: int) -> dict[str, Any]:
    """A version of a document, as POST /ingest takes it."""
    opinions = [{"entity": entity, "si": si} for entity, si in opinions_of(name, version)]
    return {"id": name, "version": version, "text": text(random.Random(name)), "opinions": opinions}

"""What the load is made of: one population, and the bodies of re-rankings over it."""

import json
import random
from collections.abc import Mapping, Sequence
from typing import Any

ENTITY = "Breakfast"
COLLECTION = "hotels"
QUESTION = "What do guests think about the breakfast?"
POSITIONS = (-30, -20, -10, 0, 10, 20, 30)
POPULATION = (30, 5, 5, 10, 10, 10, 30)
"""Opinions in a hundred, by position."""
POOL = (15, 6, 7, 12, 12, 20, 28)
"""The same among retrieved candidates, which praise more; no opinion is so rare that expansion is called for."""
DOCUMENTS = 4000

_WORDS = ("the", "breakfast", "was", "served", "until", "ten", "with", "fresh", "bread", "and", "cold", "coffee")


def document_id(i: int) -> str:
    """Name of the i-th document of the population."""
    return f"review-{i:05d}"


def documents(n: int = DOCUMENTS) -> list[dict[str, Any]]:
    """The population, as POST /ingest takes it."""
    rng = random.Random(1)
    return [
        {"id": document_id(i), "text": text(rng), "opinions": [{"entity": ENTITY, "si": position}]}
        for i, position in enumerate(_positions(rng, n, POPULATION))
    ]


def inline(n: int, variant: str = "auto", *, dimension: int = 0, seed: int = 2, **asked: Any) -> bytes:
    """A body whose n candidates bring text and opinion, about 170 bytes each, and a vector when one is asked for.

    `asked` are more fields of the request.
    """
    rng = random.Random(seed)
    candidates = [
        {
            "id": document_id(i),
            "score": round(1 - i / (2 * n) + rng.random() / 100, 4),
            "text": text(rng),
            "opinions": [{"entity": ENTITY, "si": position}],
        }
        for i, position in enumerate(_positions(rng, n, POOL))
    ]
    if dimension:
        for one in candidates:
            one["embedding"] = [round(rng.gauss(0, 1), 6) for _ in range(dimension)]
    return _body(candidates, variant, asked)


def ids_and_scores(n: int, variant: str = "auto", *, of: int = DOCUMENTS, seed: int = 3, **asked: Any) -> bytes:
    """A body whose n candidates are known to the store, which holds `of`: their opinions are looked up."""
    rng = random.Random(seed)
    candidates = [
        {"id": document_id(i), "score": round(1 - r / (2 * n), 4)} for r, i in enumerate(rng.sample(range(of), n))
    ]
    return _body(candidates, variant, asked)


def known_texts(n: int, *, of: int = DOCUMENTS, seed: int = 4) -> list[dict[str, str]]:
    """N documents that the store, which holds `of`, knows by their id, as the clients of other re-rankers send them."""
    rng = random.Random(seed)
    return [{"id": document_id(i), "text": text(rng)} for i in rng.sample(range(of), n)]


def text(rng: random.Random) -> str:
    """A sentence of 16 words, cut off after 82 characters."""
    return " ".join(rng.choices(_WORDS, k=16))[:82]


def _body(candidates: Sequence[Any], variant: str, asked: Mapping[str, Any]) -> bytes:
    question = {"query": QUESTION, "entity": ENTITY, "collection": COLLECTION}
    return json.dumps({**question, "k": 20, "variant": variant, **asked, "candidates": candidates}).encode()


def _positions(rng: random.Random, n: int, weights: Sequence[int]) -> list[int]:
    """N positions in these proportions, shuffled."""
    total = sum(weights)
    positions = [position for position, weight in zip(POSITIONS, weights, strict=True) for _ in range(weight)]
    drawn = [positions[i % total] for i in range(n)] if n % total == 0 else rng.choices(positions, k=n)
    rng.shuffle(drawn)
    return drawn

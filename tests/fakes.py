"""A small deterministic model for tests that need vectors but no meaning."""

from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from app.encoder import Encoder

DIMENSION = 16


def bag_of_words(texts: list[str]) -> NDArray[np.float32]:
    """Each word adds one of 16 axes, chosen by its hash; texts that share words are similar."""
    vectors = np.zeros((len(texts), DIMENSION), np.float32)
    for row, text in enumerate(texts):
        for word in text.lower().split():
            vectors[row, blake2b(word.encode(), digest_size=1).digest()[0] % DIMENSION] += 1
    return vectors


def other_words(texts: list[str]) -> NDArray[np.float32]:
    """The same with other weights: each word has another axis."""
    return np.roll(bag_of_words(texts), 5, axis=1)


def fake_encoder(name: str = "bag-of-words") -> Encoder:
    """An `Encoder` over `bag_of_words`."""
    return Encoder(name, bag_of_words)

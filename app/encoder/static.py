"""wordllama: the mean of a text's token vectors, without torch. Both tokenizer and vectors lie in its package."""

from pathlib import Path
from typing import Any

import numpy as np
import wordllama
from numpy.typing import NDArray

from app.encoder.base import Model, Prompts

BLOCK = 4096
"""Tokens whose vectors are gathered at a time, so that a huge text takes no huge memory."""


def load(_name: str, _threads: int) -> tuple[Model, Prompts]:
    """The model that the package carries, in the layout of a download cache; it takes one thread."""
    loaded = wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)
    loaded.tokenizer.no_padding()

    def encode(texts: list[str]) -> NDArray[np.float32]:
        return np.stack([_mean(loaded.tokenizer.encode(text, add_special_tokens=False).ids, table) for text in texts])

    table: NDArray[np.float32] = loaded.embedding
    return encode, Prompts()


def _mean(ids: list[int], table: NDArray[np.float32]) -> NDArray[Any]:
    """The mean of rows, shape (dimension,); zeros of none."""
    total = np.zeros(table.shape[1], np.float32)
    for start in range(0, len(ids), BLOCK):
        total += table[ids[start : start + BLOCK]].sum(axis=0)
    return total / max(len(ids), 1)

"""BM25 over the pool's texts (Robertson and Zaragoza 2009): the lexical baseline of LMVU."""

import re
from collections import Counter
from collections.abc import Sequence
from math import log

import numpy as np

from warp_core.candidates import CandidatePool, Options
from warp_core.distributions import FloatArray
from warp_core.selectors.base import Selector
from warp_core.selectors.ranking import affordable, best_first
from warp_core.target import TargetDistribution

K1 = 1.2
"""How soon further occurrences of a term stop counting (LMVU, "Baseline Definitions")."""
B = 0.75
"""How far a text's length is held against it, 0 .. 1 (same source)."""

_WORD = re.compile(r"\w+")


def bm25_scores(query: str, texts: Sequence[str]) -> FloatArray:
    """BM25 of each text for the query, shape (N,), at least 0.

    sum over the query's words t: idf_t * tf * (K1 + 1) / (tf + K1 * (1 - B + B * length / mean length)),
    idf_t = ln(1 + (N - n_t + 0.5) / (n_t + 0.5)), where n_t of the N texts hold t, tf times in this one.

    Words are runs of letters, digits and underscores, whatever their case; one that the query repeats counts again.
    This idf, unlike the first one, is positive for words that most texts hold, as the entity's name is.
    O(total length of the texts).
    """
    wanted = Counter(_words(query))
    words = [_words(text) for text in texts]
    frequencies = [Counter(filter(wanted.__contains__, of_text)) for of_text in words]
    holding = Counter(word for of_text in frequencies for word in of_text)
    weight = {
        word: repeats * (K1 + 1) * log(1 + (len(texts) - holding[word] + 0.5) / (holding[word] + 0.5))
        for word, repeats in wanted.items()
    }
    per_word = K1 * B * len(texts) / max(sum(map(len, words)), 1)
    lengths = [K1 * (1 - B) + per_word * len(of_text) for of_text in words]
    scores = [
        sum(weight[word] * tf / (tf + length) for word, tf in of_text.items())
        for of_text, length in zip(frequencies, lengths, strict=True)
    ]
    return np.array(scores, np.float64)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _pick(pool: CandidatePool, _target: TargetDistribution, k: int, options: Options) -> list[int]:
    assert pool.texts is not None  # noqa: S101 - the selector needs them
    scores = bm25_scores(options.query, pool.texts)
    return affordable(pool, best_first(pool, scores), k, options.token_budget)


bm25 = Selector(_pick, needs_bins=False, needs=("texts",))
"""The k texts with the highest BM25 for `query`; the scores stay the same while a budget is spent."""

from math import log

import numpy as np
import pytest

from warp_core import CandidatePool, InvalidInputError
from warp_core.selectors import bm25
from warp_core.selectors.bm25 import K1, B, bm25_scores

UNIFORM = [1] * 7
TEXTS = ["Battery, battery: dead.", "The screen is fine", "battery fine", ""]


def pool_of(texts=TEXTS, relevance=(0.1, 0.2, 0.3, 0.4), **columns) -> CandidatePool:
    return CandidatePool(relevance, [-1] * len(texts), texts=texts, **columns)


def chosen(query: str, k: int = 9, pool=None, **options) -> list[int]:
    return bm25(pool or pool_of(), UNIFORM, k, query=query, **options).indices.tolist()


def test_scores_are_those_of_the_formula():
    # 4 texts of 3, 4, 2 and 0 words, 2.25 on average; two hold "battery": idf ln(1 + 2.5 / 2.5) = ln 2.
    # Twice in 3 words: 2 * 2.2 / (2 + 1.2 * (0.25 + 0.75 * 3 / 2.25)) = 4.4 / 3.5
    # Once in 2 words: 2.2 / (1 + 1.2 * (0.25 + 0.75 * 2 / 2.25)) = 2.2 / 2.1
    assert bm25_scores("battery", TEXTS) == pytest.approx(log(2) * np.array([4.4 / 3.5, 0, 2.2 / 2.1, 0]))


def test_scores_of_several_words_add_up_and_a_repeated_one_counts_again():
    battery, fine = bm25_scores("battery", TEXTS), bm25_scores("fine", TEXTS)
    assert bm25_scores("fine battery FINE", TEXTS) == pytest.approx(battery + 2 * fine)


def test_a_word_that_all_texts_hold_still_counts():
    assert (bm25_scores("it", ["it is", "it was"]) > 0).all()


@pytest.mark.parametrize("query", ["", "?!", "unheard"])
def test_without_a_word_in_common_the_order_is_relevance(query):
    assert bm25_scores(query, TEXTS).tolist() == [0] * 4
    assert chosen(query) == [3, 2, 1, 0]


@pytest.mark.parametrize("texts", [[], ["", ""], ["...", "?"]])
def test_texts_without_words_score_0(texts):
    assert bm25_scores("battery", texts).tolist() == [0] * len(texts)


def test_words_match_in_any_case_and_script():
    assert (bm25_scores("STRASSE кофе", ["die Straße", "Кофе!"]) > 0).all()


def test_the_best_match_comes_first_then_relevance():
    assert chosen("battery") == [0, 2, 3, 1]
    assert chosen("battery", 1) == [0]


def test_unknown_bins_are_chosen_and_the_target_plays_no_part():
    assert chosen("fine", 1) == [2]


def test_only_the_eligible_texts_are_counted():
    pool = pool_of(matched=[True, True, False, False])
    assert chosen("battery", pool=pool, scope="entity") == [0, 1]


def test_scores_stay_the_same_while_a_budget_is_spent():
    # "fine" is rare among all five texts and beats "battery"; once the long texts are struck out it would not be.
    texts = ["battery", "fine", "battery x", "battery x", "battery x"]
    pool = pool_of(texts, [0.5] * 5, tokens=[1, 1, 9, 9, 9])
    assert chosen("battery fine", pool=pool) == [1, 0, 2, 3, 4]
    assert chosen("battery fine", pool=pool, token_budget=2) == [1, 0]


def test_a_pool_without_texts_is_refused():
    with pytest.raises(InvalidInputError) as caught:
        bm25(CandidatePool([0.5], [0]), UNIFORM, 1, query="battery")
    assert caught.value.argument == "texts"


def random_texts() -> list[list[str]]:
    rng = np.random.default_rng(9)
    words = [f"w{i}" for i in range(40)]
    return [rng.choice(words, rng.integers(1, 30), p=rng.dirichlet(np.ones(40))).tolist() for _ in range(60)]


def test_scores_equal_those_of_bm25s():
    bm25s = pytest.importorskip("bm25s")
    texts, query = random_texts(), ["w1", "w2", "w3", "w30"]
    peer = bm25s.BM25(k1=K1, b=B, method="lucene")
    peer.index(texts, show_progress=False)
    expected = peer.get_scores(query) * (K1 + 1)  # Lucene leaves out the constant factor
    assert bm25_scores(" ".join(query), [" ".join(words) for words in texts]) == pytest.approx(expected, rel=1e-5)


def test_scores_equal_those_of_rank_bm25_but_for_its_idf():
    rank_bm25 = pytest.importorskip("rank_bm25")
    texts, query = random_texts(), ["w1", "w2", "w3", "w30"]
    peer = rank_bm25.BM25Okapi(texts, k1=K1, b=B)
    for word in query:
        holding = sum(word in words for words in texts)
        peer.idf[word] = log(1 + (len(texts) - holding + 0.5) / (holding + 0.5))
    expected = peer.get_scores(query)
    assert bm25_scores(" ".join(query), [" ".join(words) for words in texts]) == pytest.approx(expected)

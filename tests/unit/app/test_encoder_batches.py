"""The order in which texts reach a model, told by a model that waits for the test."""

from collections.abc import Iterator
from concurrent.futures import Future
from threading import Event

import numpy as np
import pytest

from app.encoder.batches import DOCUMENTS, QUERIES, Batches, Vectors


class Held:
    """A model that takes no batch until it is released, and notes what it was given."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.begun, self.released = Event(), Event()
        self.fails_at = ""

    def __call__(self, texts: list[str]) -> Vectors:
        self.batches.append(texts)
        self.begun.set()
        assert self.released.wait(10)
        if self.fails_at in texts:
            raise RuntimeError(f"cannot encode {self.fails_at}")
        return np.array([[len(text), 1] for text in texts], np.float32)


@pytest.fixture
def model() -> Held:
    return Held()


@pytest.fixture
def batches(model: Held) -> Iterator[Batches]:
    """A thread that is busy with the text `first` until the model is released."""
    opened = Batches(model, "test")
    opened.submit(["first"], urgent=False)
    assert model.begun.wait(10)
    yield opened
    model.released.set()
    opened.close()


def documents(n: int, start: int = 0) -> list[str]:
    """Texts of one length, so that they keep their order."""
    return [f"d{i:03}" for i in range(start, start + n)]


def vector(future: Future[Vectors]) -> list[list[float]]:
    return future.result(10).astype(float).round(4).tolist()


def test_what_comes_while_the_model_is_busy_goes_to_it_together(model: Held, batches: Batches):
    asked = [batches.submit([f"q{i}"], urgent=True) for i in range(3)]
    model.released.set()
    # length 2 -> (2, 1) / sqrt(5)
    assert [vector(one) for one in asked] == [[[0.8944, 0.4472]]] * 3
    assert model.batches == [["first"], ["q0", "q1", "q2"]]


def test_queries_go_before_documents_that_came_earlier(model: Held, batches: Batches):
    late = batches.submit(documents(1), urgent=False)
    batches.submit(["query"], urgent=True)
    model.released.set()
    late.result(10)
    assert model.batches == [["first"], ["query"], ["d000"]]


def test_a_query_waits_for_one_batch_of_a_long_job_and_not_for_the_job(model: Held, batches: Batches):
    long = batches.submit(documents(3 * DOCUMENTS), urgent=False)
    model.begun.clear()
    model.released.set()
    assert model.begun.wait(10)
    vector(batches.submit(["query"], urgent=True))
    long.result(10)
    assert len(model.batches) == 1 + 3 + 1
    assert max(map(len, model.batches)) == DOCUMENTS


def test_a_short_job_does_not_wait_for_the_end_of_a_long_one(model: Held, batches: Batches):
    long = batches.submit(documents(3 * DOCUMENTS), urgent=False)
    batches.submit(["short"], urgent=False)
    model.released.set()
    long.result(10)
    assert model.batches[1] == documents(DOCUMENTS)
    assert model.batches[2][0] == "short"
    assert len(model.batches[2]) == DOCUMENTS  # the room beside it is used


def test_at_most_sixteen_queries_go_together(model: Held, batches: Batches):
    asked = [batches.submit([f"q{i}"], urgent=True) for i in range(QUERIES + 2)]
    model.released.set()
    for one in asked:
        one.result(10)
    assert [len(batch) for batch in model.batches] == [1, QUERIES, 2]


def test_texts_of_like_length_go_together_and_vectors_come_back_in_the_order_of_the_texts(
    model: Held, batches: Batches
):
    texts = ["x" * (1 + 7 * i % 19) for i in range(19)]  # lengths 1 to 19, mixed
    found = batches.submit(texts, urgent=False)
    model.released.set()
    lengths = [first / second for first, second in found.result(10).tolist()]
    assert lengths == pytest.approx([len(text) for text in texts])
    assert [len(text) for batch in model.batches[1:] for text in batch] == list(range(1, 20))


def test_what_nobody_waits_for_any_more_is_not_encoded(model: Held, batches: Batches):
    dropped, kept = batches.submit(["dropped"], urgent=True), batches.submit(["kept"], urgent=True)
    assert dropped.cancel()
    model.released.set()
    kept.result(10)
    assert model.batches == [["first"], ["kept"]]


def test_what_a_model_raises_reaches_all_of_the_batch_and_the_next_is_encoded(model: Held, batches: Batches):
    model.fails_at = "bad"
    failing = [batches.submit([text], urgent=True) for text in ("good", "bad")]
    partly = batches.submit(["bad", *documents(2 * DOCUMENTS)], urgent=False)
    cancelled = batches.submit(["bad"], urgent=False)
    cancelled.cancel()
    model.released.set()
    for one in (*failing, partly):
        with pytest.raises(RuntimeError, match="cannot encode bad"):
            one.result(10)
    assert vector(batches.submit(["after"], urgent=True)) == [[0.9806, 0.1961]]  # (5, 1) / sqrt(26)
    assert len(model.batches) == 4  # first, both queries, the first batch of `partly`, after


def test_closing_finishes_what_was_submitted(model: Held):
    opened = Batches(model, "test")
    found = [opened.submit(documents(20), urgent=False), opened.submit(["query"], urgent=True)]
    model.released.set()
    opened.close()
    assert [one.done() for one in found] == [True, True]

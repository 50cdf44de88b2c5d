"""One thread that runs a model, and the texts that wait for it.

A model takes little longer for a batch than for one text, so what came while it was busy goes to it together; nothing
ever waits for a batch to fill. Queries go before documents, and documents are taken a few at a time, each job in turn:
a question that comes in the middle of a long ingest waits for one short batch, not for the ingest.
"""

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from threading import Condition, Thread

import numpy as np
from numpy.typing import ArrayLike, NDArray

Vectors = NDArray[np.float32]
Run = Callable[[list[str]], Vectors]

QUERIES, DOCUMENTS = 16, 8
"""Texts that a model takes at once. On a CPU, 16 queries together cost a third of 16 alone; more documents than 8 gain
nothing, and queries would wait for them (`loadtest/encoder.py`)."""


@dataclass
class _Job:
    """Texts of one caller; `waiting` holds the positions that no batch has taken yet, those of like length together."""

    texts: Sequence[str]
    future: Future[Vectors] = field(default_factory=Future)
    vectors: list[Vectors | None] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.vectors = [None] * len(self.texts)
        # In a batch all texts are as long as the longest: like goes with like.
        self.waiting = sorted(range(len(self.texts)), key=lambda i: len(self.texts[i]))
        self.missing = len(self.texts)

    def take(self, n: int) -> list[int]:
        """The next positions, up to n."""
        taken, self.waiting = self.waiting[:n], self.waiting[n:]
        return taken


class Batches:
    """Runs a model in a thread of its own, over all texts that were submitted, in batches across callers."""

    def __init__(self, run: Run, name: str) -> None:
        self._run = run
        self._urgent: deque[_Job] = deque()
        self._patient: deque[_Job] = deque()
        self._changed = Condition()
        self._closed = False
        self._thread = Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def submit(self, texts: Sequence[str], *, urgent: bool) -> Future[Vectors]:
        """Vectors of the texts, shape (n, dimension), in time; `urgent` ones go first. A cancelled one is dropped."""
        job = _Job(texts)
        with self._changed:
            (self._urgent if urgent else self._patient).append(job)
            self._changed.notify()
        return job.future

    def close(self) -> None:
        """Finish what was submitted, and end the thread."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._urgent or self._patient or self._closed)
                batch = _next_batch(self._urgent, QUERIES) or _next_batch(self._patient, DOCUMENTS)
                ended = self._closed and not self._urgent and not self._patient
            if batch:
                self._encode(batch)
            elif ended:
                return

    def _encode(self, batch: Sequence[tuple[_Job, list[int]]]) -> None:
        try:
            found = unit(self._run([job.texts[i] for job, positions in batch for i in positions]))
        except Exception as error:  # whatever a model raises belongs to those who asked
            for job, _ in batch:
                if job.future.set_running_or_notify_cancel():
                    job.future.set_exception(error)
            return
        vectors = iter(found)
        for job, positions in batch:
            for i in positions:
                job.vectors[i] = next(vectors)
            job.missing -= len(positions)
            if not job.missing and job.future.set_running_or_notify_cancel():
                job.future.set_result(np.stack([vector for vector in job.vectors if vector is not None]))


def _next_batch(jobs: deque[_Job], room: int) -> list[tuple[_Job, list[int]]]:
    """Up to `room` texts, from the front of the queue; a job of which some remain goes to its end."""
    batch: list[tuple[_Job, list[int]]] = []
    for _ in range(len(jobs)):
        if not room:
            break
        job = jobs.popleft()
        if job.future.done():  # cancelled, or failed in an earlier batch
            continue
        taken = job.take(room)
        room -= len(taken)
        batch.append((job, taken))
        if job.waiting:
            jobs.append(job)
    return batch


def unit(vectors: ArrayLike) -> Vectors:
    """Vectors, shape (..., dimension), at length 1; zero stays zero."""
    wide = np.asarray(vectors, np.float64)
    peaks = np.abs(wide).max(axis=-1, keepdims=True, initial=0.0)
    wide = np.divide(wide, peaks, out=np.zeros_like(wide), where=peaks > 0)  # squares of large numbers overflow
    norms = np.linalg.norm(wide, axis=-1, keepdims=True)
    np.divide(wide, norms, out=wide, where=norms > 0)
    narrow: Vectors = wide.astype(np.float32)
    return narrow

"""Pieces of work over processes: each is done once, kept, and not done again after a kill."""

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from typing import TypeVar

import msgspec

from app.evaluation.cache import Cache
from app.settings import keep_children_on_one_thread

Input = TypeVar("Input")
Output = TypeVar("Output")


@contextmanager
def worker_processes(jobs: int) -> Iterator[Executor]:
    """Processes for pieces of work, also when it is one: all work is done under the same conditions.

    Spawned, not forked: a forked child would inherit locks that FAISS's and the encoder's threads may hold.
    """
    keep_children_on_one_thread()
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), _end_with_parent) as workers:
        try:
            yield workers
        except BaseException:
            workers.shutdown(cancel_futures=True)
            raise


def _end_with_parent() -> None:
    """See to it that no process is left behind when this run is killed."""
    parent = multiprocessing.parent_process()
    assert parent is not None  # noqa: S101 - this runs in a child

    def wait() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def done(
    work: Sequence[tuple[str, Input]],
    function: Callable[[Input], Output],
    output: type[Output],
    cache: Cache,
    workers: Executor,
    advance: Callable[[], object],
) -> list[Output]:
    """What the function makes of each input, in order; from the cache where it is there.

    Parameters
    ----------
    work : each input with the key of its output. function : one that a fresh process can import, of an input alone.
    output : what it returns, as msgspec has it. advance : called as each is done.
    """
    decode = msgspec.msgpack.Decoder(output).decode
    found: dict[int, Output] = {}
    waiting: dict[Future[Output], int] = {}
    for position, (key, one) in enumerate(work):
        kept = cache.get(key)
        if kept is None:
            waiting[workers.submit(function, one)] = position
        else:
            found[position] = decode(kept)
            advance()
    for future in as_completed(waiting):
        position = waiting[future]
        found[position] = future.result()
        cache.put(work[position][0], msgspec.msgpack.encode(found[position]))
        advance()
    return [found[position] for position in range(len(work))]

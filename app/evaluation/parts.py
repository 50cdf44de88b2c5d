"""Pieces of work over processes: each is done once, kept, and not done again after a kill."""

import multiprocessing
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from typing import TypeVar

import msgspec

from app.evaluation.cache import Cache

Input = TypeVar("Input")
Output = TypeVar("Output")


def done(
    work: Sequence[tuple[str, Input]],
    function: Callable[[Input], Output],
    output: type[Output],
    cache: Cache,
    jobs: int,
    advance: Callable[[], object],
) -> list[Output]:
    """What the function makes of each input, in order; from the cache where it is there.

    Parameters
    ----------
    work : each input with the key of its output. function : one that a fresh process can import, of an input alone.
    output : what it returns, as msgspec has it. jobs : processes; 1 is this one.
    advance : called as each is done.
    """
    decode = msgspec.msgpack.Decoder(output).decode
    found: dict[int, Output] = {}
    missing = []
    for position, (key, _) in enumerate(work):
        kept = cache.get(key)
        if kept is None:
            missing.append(position)
        else:
            found[position] = decode(kept)
            advance()

    def keep(position: int, result: Output) -> None:
        cache.put(work[position][0], msgspec.msgpack.encode(result))
        found[position] = result
        advance()

    if jobs == 1 or len(missing) < 2:
        for position in missing:
            keep(position, function(work[position][1]))
        return [found[position] for position in range(len(work))]
    # Spawned, not forked: a forked child would inherit locks that FAISS's and the encoder's threads may hold.
    with ProcessPoolExecutor(min(jobs, len(missing)), multiprocessing.get_context("spawn")) as pool:
        positions: dict[Future[Output], int] = {
            pool.submit(function, work[position][1]): position for position in missing
        }
        try:
            for future in as_completed(positions):
                keep(positions[future], future.result())
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return [found[position] for position in range(len(work))]

"""Inner loops of the W1 and Jensen-Shannon selectors, compiled (`_native.c`) where the build had a compiler.

Each has a pure form, which is the reference, and which does the work wherever the compiled one cannot.
"""

from collections.abc import Callable
from enum import IntEnum
from functools import wraps

import numpy as np

from warp_core.candidates import CandidatePool, Options, Pick
from warp_core.distributions import entropy
from warp_core.greedy import GRID, TIE
from warp_core.target import TargetDistribution
from warp_core.transport import LARGEST_EXACT

try:
    from warp_core._native import choose
except ImportError:  # built without a compiler
    choose = None  # type: ignore[assignment]

IS_COMPILED = choose is not None


class Method(IntEnum):
    """What to compute; the values are the compiled code's."""

    W1_MINIMIZER = 0
    W1_MMR = 1
    W1_EXACT = 2
    JS_MINIMIZER = 3
    JS_MMR = 4


def compiled(method: Method) -> Callable[[Pick], Pick]:
    """Decorate a pure pick, so that the compiled form of the method is asked first; `__wrapped__` is the pure one."""

    def decorate(pure: Pick) -> Pick:
        @wraps(pure)
        def pick(pool: CandidatePool, target: TargetDistribution, k: int, options: Options) -> list[int]:
            size = min(k, len(pool))
            largest: float = 4 * target.total * (size + 1) * sum(pool.scale.gaps)
            if options.weight and size:
                largest = max(largest, 4 * GRID * float(np.abs(options.relevance).max()))
            if not IS_COMPILED or options.redundancy_weight or not largest < LARGEST_EXACT:
                return pure(pool, target, k, options)
            return _choose(method, pool, target, size, options)

        return pick

    return decorate


def _choose(method: Method, pool: CandidatePool, target: TargetDistribution, k: int, options: Options) -> list[int]:
    scale, total, weight = pool.scale, target.total, options.weight
    order, ends = pool.queue_order(k)
    size = min(k, len(order))
    transport, reward = 1.0, 0.0
    if weight and size:
        transport, reward = (1 - weight) * scale.unit / (scale.range * size * total), weight / size
    unit, furthest, tie = scale.unit, scale.range, TIE
    if method in (Method.JS_MINIMIZER, Method.JS_MMR):
        unit, furthest = 1 - entropy(target.shares) / 2, 1.0  # the divergence's constant, and its largest value
    elif method != Method.W1_MMR:
        tie = TIE * total / scale.unit  # a document; costs are whole numbers here
    picked: list[int] = choose(
        method,
        np.ascontiguousarray(pool.relevance),
        np.ascontiguousarray(options.relevance),
        order,
        ends,
        np.array(target.cumulative, np.float64),
        np.array(scale.gaps, np.float64),
        size,
        weight,
        unit,
        furthest,
        tie,
        transport,
        reward,
    )
    return picked

"""The W1 selectors' inner loops in compiled form (`_native.c`), where the build had a compiler and the numbers fit.

Each has a pure form, which is the reference, and which does the work wherever the compiled one cannot.
"""

from collections.abc import Callable
from enum import IntEnum
from functools import wraps

import numpy as np

from warp_core.candidates import CandidatePool, Options
from warp_core.greedy import TIE
from warp_core.selectors.base import Pick
from warp_core.target import TargetDistribution

try:
    from warp_core import _native
except ImportError:  # built without a compiler
    _native = None  # type: ignore[assignment]

_LARGEST_EXACT = 2**53
"""Doubles hold whole numbers below this exactly."""


class Method(IntEnum):
    """What to compute; the values are the compiled code's."""

    W1_MINIMIZER = 0
    W1_MMR = 1
    W1_EXACT = 2


def compiled(method: Method) -> Callable[[Pick], Pick]:
    """Decorate a pure pick, so that the compiled form of the method is asked first; `__wrapped__` is the pure one."""

    def decorate(pure: Pick) -> Pick:
        @wraps(pure)
        def pick(pool: CandidatePool, target: TargetDistribution, k: int, options: Options) -> list[int]:
            size = min(k, len(pool))
            costs = 4 * target.total * (size + 1) * sum(pool.scale.gaps)
            if _native is None or options.redundancy_weight or costs >= _LARGEST_EXACT:
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
    picked: list[int] = _native.choose(
        method,
        np.ascontiguousarray(pool.relevance),
        np.ascontiguousarray(options.relevance),
        order,
        ends,
        np.array(target.cumulative, np.float64),
        np.array(scale.gaps, np.float64),
        size,
        weight,
        scale.unit,
        scale.range,
        TIE if method is Method.W1_MMR else TIE * total / scale.unit,  # as the pure forms have it
        transport,
        reward,
    )
    return picked

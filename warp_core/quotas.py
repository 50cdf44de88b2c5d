"""How many of k places each bin gets: apportionment in whole numbers."""

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise

Apportionment = Callable[[Sequence[int], int], list[int]]
"""(weight of each bin, whole and not all zero; k) -> places of each bin; they sum to k."""


def largest_remainder(weights: Sequence[int], k: int) -> list[int]:
    """Each bin gets floor(k * share); what is left goes one each to the largest remainders, ties to the lower bin.

    Also known as Hamilton's method. Exact; O(n_bins log n_bins).
    """
    total = sum(weights)
    quotas = [k * weight // total for weight in weights]
    by_remainder = sorted(range(len(weights)), key=lambda b: -(k * weights[b] % total))
    for b in by_remainder[: k - sum(quotas)]:
        quotas[b] += 1
    return quotas


def rounded_cumulative(weights: Sequence[int], k: int) -> list[int]:
    """The first i bins together get k * (their share), to the nearest whole number, halves up: the lower bin gains.

    Of all ways to share out k places this has the least W1 to the weights, whatever the scale: each term
    |C_i / k - F_i| is as small as whole numbers C_i allow. Exact; O(n_bins).
    """
    total = sum(weights)
    ends = [(2 * k * weight + total) // (2 * total) for weight in accumulate(weights)]
    return [end - start for start, end in pairwise([0, *ends])]


def within_capacity(weights: Sequence[int], capacity: Sequence[int], k: int) -> list[int]:
    """Largest-remainder quotas, none above its bin's capacity; k at most the sum of the capacities.

    What full bins leave over is shared out again among the others, in proportion to their weights; once no bin of
    positive weight has room, in proportion to the room that there is. At most n_bins + 1 rounds.
    """
    quotas = [0] * len(weights)
    while left := k - sum(quotas):
        room = [size - quota for size, quota in zip(capacity, quotas, strict=True)]
        open_weights = [weight if free else 0 for weight, free in zip(weights, room, strict=True)]
        extra = largest_remainder(open_weights if any(open_weights) else room, left)
        quotas = [quota + min(more, free) for quota, more, free in zip(quotas, extra, room, strict=True)]
    return quotas

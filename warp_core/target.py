"""Population counts -> the target distribution, and which rule made it."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate
from math import fsum, lcm, ulp
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from warp_core import arguments
from warp_core.distributions import FloatArray

TargetRule = Literal["request", "external", "entity", "smoothed", "domain", "uniform"]

MIN_OPINIONS = 25
"""From this many opinions on, an entity's own distribution is used (WARP, appendix F.4)."""
MIN_BINS = 2
MIN_BIN_SHARE = 0.05
SMOOTHING = 50
"""tau of alpha = n / (n + tau), in opinions (WARP, appendix F.4)."""

_LARGEST_DENOMINATOR = 10**6
_RESOLUTION = 10**12
"""Shares are recovered as ratios of whole numbers where they are such ratios, so that a target given as shares behaves
as the counts it came from; else they are kept to 12 decimals, far finer than the 1e-9 within which scores are equal."""


@dataclass(frozen=True)
class TargetDistribution:
    """What the selection should look like, kept as whole numbers so that costs compare exactly.

    Parameters
    ----------
    cumulative : cumulative weights over the bins, length n_bins; the last entry is their total.
    rule : what made it.
    n : opinions on the entity behind it.
    alpha : weight of the entity's own distribution against the domain's, 0 .. 1.
    """

    cumulative: tuple[int, ...]
    rule: TargetRule = "request"
    n: int = 0
    alpha: float = 1.0

    @classmethod
    def of_counts(
        cls, counts: Sequence[int], rule: TargetRule = "request", n: int = 0, alpha: float = 1.0
    ) -> "TargetDistribution":
        """Exact, from whole-number weights with a positive total."""
        return cls(tuple(accumulate(counts)), rule, n, alpha)

    @classmethod
    def of_weights(cls, weights: ArrayLike, rule: TargetRule = "request", n: int = 0) -> "TargetDistribution":
        """From any non-negative weights over the bins, shape (n_bins,); they need not sum to 1.

        Raises
        ------
        InvalidInputError : a weight is negative, not finite or no number, or all are zero.
        """
        return cls(_whole(tuple(arguments.weights("target", weights))), rule, n)

    @property
    def total(self) -> int:
        """Sum of the weights."""
        return self.cumulative[-1]

    @property
    def n_bins(self) -> int:
        """Number of bins."""
        return len(self.cumulative)

    @cached_property
    def weights(self) -> tuple[int, ...]:
        """The weight of each bin."""
        return tuple(b - a for a, b in zip((0, *self.cumulative), self.cumulative, strict=False))

    @cached_property
    def shares(self) -> FloatArray:
        """Shape (n_bins,), sums to 1."""
        return np.array([w / self.total for w in self.weights])


def target_distribution(
    entity_counts: Sequence[int], domain_counts: Sequence[int] | None = None, unit: int = 1
) -> TargetDistribution:
    """The corpus's target for an entity, smoothed toward its domain when the entity has said little.

    With n opinions on the entity: its own distribution when n >= 25 and at least 2 bins hold more than 0.05;
    else alpha * P_entity + (1 - alpha) * P_domain, alpha = n / (n + 50); the domain's alone when n = 0; uniform
    when the domain is empty too. All are exact: the smoothed one is counts * N + 50 * domain over (n + 50) * N.

    Parameters
    ----------
    entity_counts : opinions on the entity in each bin, length n_bins, non-negative whole numbers.
    domain_counts : the same over all entities of the collection; None or all zero when there are none.
    unit : what one opinion counts, where opinions have weights (of their age, say); n is then the sum of the weights.

    Raises
    ------
    InvalidInputError : a count is negative or the lengths differ, or the unit is below 1.

    Notes
    -----
    Source: WARP, appendix F.4.
    """
    own = arguments.counts("entity_counts", entity_counts)
    domain = [0] * len(own) if domain_counts is None else arguments.counts("domain_counts", domain_counts, len(own))
    unit = arguments.whole_number("unit", unit, 1)
    own_total, domain_total = sum(own), sum(domain)
    n = own_total // unit
    if n >= MIN_OPINIONS and sum(c > MIN_BIN_SHARE * own_total for c in own) >= MIN_BINS:
        return TargetDistribution.of_counts(own, "entity", n)
    if own_total == 0 and domain_total == 0:
        return TargetDistribution.of_counts([1] * len(own), "uniform", 0, 0.0)
    if own_total == 0:
        return TargetDistribution.of_counts(domain, "domain", 0, 0.0)
    if domain_total == 0:
        return TargetDistribution.of_counts(own, "entity", n)
    return smoothed_target(own, domain, unit)


def smoothed_target(entity_counts: Sequence[int], domain_counts: Sequence[int], unit: int = 1) -> TargetDistribution:
    """The mixture alpha * P_entity + (1 - alpha) * P_domain, alpha = n / (n + 50), exact.

    Parameters
    ----------
    entity_counts, domain_counts : whole numbers, length n_bins; there is at least one opinion in the domain.
    unit : as for `target_distribution`.
    """
    own_total, domain_total = sum(entity_counts), sum(domain_counts)
    mixed = [c * domain_total + SMOOTHING * unit * d for c, d in zip(entity_counts, domain_counts, strict=True)]
    alpha = own_total / (own_total + SMOOTHING * unit)
    return TargetDistribution.of_counts(mixed, "smoothed", own_total // unit, alpha)


@lru_cache(maxsize=4096)
def _whole(weights: tuple[float, ...]) -> tuple[int, ...]:
    """Cumulative whole numbers in the proportions of the weights."""
    total = fsum(weights)
    ratios = [Fraction(w / total).limit_denominator(_LARGEST_DENOMINATOR) for w in weights]
    denominator = lcm(*(r.denominator for r in ratios))
    exact = all(abs(r - w / total) <= 2 * ulp(w / total) for r, w in zip(ratios, weights, strict=True))
    if exact and sum(ratios) == 1 and denominator <= _RESOLUTION:
        return tuple(accumulate(int(r * denominator) for r in ratios))
    return tuple(round(c / total * _RESOLUTION) for c in accumulate(weights))

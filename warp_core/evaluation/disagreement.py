"""How far the opinions on an entity disagree, and which entities disagree enough to be asked about (WARP, 3.1)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from warp_core import arguments
from warp_core.distributions import FloatArray, entropy, shares
from warp_core.scale import SENTIMENT_INTENSITY, OpinionScale

MIN_ENTROPY = 0.6
"""In bits, over the three sides. The entropies that the paper prints (table 13) reach 1.49, and follow from its
minority shares on this reading: so it is not normalised to 0 .. 1, whose largest value would be 1."""
MIN_MINORITY = 0.10
MIN_COUNT = 100


def sides(counts: ArrayLike, scale: OpinionScale = SENTIMENT_INTENSITY) -> FloatArray:
    """Opinions below, at and above the middle of the scale, shape (3,), from those in each bin, shape (n_bins,)."""
    given: FloatArray = np.asarray(counts, np.float64)
    away = np.array(scale.positions) - (scale.positions[0] + scale.positions[-1]) / 2
    return np.array([given[away < 0].sum(), given[away == 0].sum(), given[away > 0].sum()])


def side_entropy(counts: ArrayLike, scale: OpinionScale = SENTIMENT_INTENSITY) -> float:
    """Shannon entropy of the three sides, in bits: 0 .. log2(3) = 1.58."""
    return entropy(shares(sides(counts, scale)))


def minority_share(counts: ArrayLike, scale: OpinionScale = SENTIMENT_INTENSITY) -> float:
    """The smaller of the two sides as a share of both together, 0 .. 0.5; 0 when there is neither."""
    below, _, above = sides(counts, scale).tolist()
    return min(below, above) / (below + above) if below + above else 0.0


@dataclass(frozen=True)
class Disagreement:
    """What makes an entity worth asking about: how many opinions, their entropy in bits, the minority's share."""

    n: int
    entropy: float
    minority: float


def disagreement(counts: Sequence[int], scale: OpinionScale = SENTIMENT_INTENSITY) -> Disagreement:
    """The three of one entity, from its opinions in each bin, length n_bins."""
    return Disagreement(sum(counts), side_entropy(counts, scale), minority_share(counts, scale))


def disputed(
    counts: Mapping[str, Sequence[int]],
    most: int,
    scale: OpinionScale = SENTIMENT_INTENSITY,
    *,
    min_entropy: float = MIN_ENTROPY,
    min_minority: float = MIN_MINORITY,
    min_count: int = MIN_COUNT,
) -> dict[str, Disagreement]:
    """The entities with enough opinions that differ enough, the highest entropy first, equals by name.

    Parameters
    ----------
    counts : opinions in each bin, length n_bins, by entity.
    most : how many entities at most; at least 1.
    min_entropy : in bits. min_minority : 0 .. 0.5. min_count : opinions.

    Raises
    ------
    InvalidInputError : a threshold is out of its range.
    """
    arguments.whole_number("most", most, 1)
    arguments.whole_number("min_count", min_count, 0)
    arguments.number_between("min_entropy", min_entropy, 0, np.log2(3))
    arguments.number_between("min_minority", min_minority, 0, 0.5)
    found = {entity: disagreement(own, scale) for entity, own in counts.items()}
    enough = [
        (-one.entropy, entity)
        for entity, one in found.items()
        if one.n >= min_count and one.entropy >= min_entropy and one.minority >= min_minority
    ]
    return {entity: found[entity] for _, entity in sorted(enough)[:most]}

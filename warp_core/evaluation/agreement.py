"""How far two rulers agree: two labellings of the same documents, two distances over the same methods."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan

import numpy as np
import scipy  # loads its parts when they are first used, which takes a second
from numpy.typing import ArrayLike

from warp_core.distributions import FloatArray, IntArray
from warp_core.errors import InvalidInputError
from warp_core.scale import SENTIMENT_INTENSITY, OpinionScale


@dataclass(frozen=True)
class LabelAgreement:
    """Two labellings of the same n documents.

    Parameters
    ----------
    spearman, pearson : correlations, -1 .. 1; nan when one labelling is constant.
    p : two-sided, of the Spearman correlation.
    same_side : share of documents on the same side of the middle (the papers' same-valence agreement).
    mae : mean absolute difference, in scale units.
    bias : mean of the second minus the first, in scale units.
    """

    n: int
    spearman: float
    p: float
    pearson: float
    same_side: float
    mae: float
    bias: float


def label_agreement(first: IntArray, second: IntArray, scale: OpinionScale = SENTIMENT_INTENSITY) -> LabelAgreement:
    """Compare two labellings, bins of shape (n,); documents that one of them leaves unknown (-1) are left out.

    Raises
    ------
    InvalidInputError : they differ in length.

    Notes
    -----
    Source: WARP, 4.5 and appendix E.
    """
    if len(first) != len(second):
        raise InvalidInputError("second", f"{len(first)} bins are needed, got {len(second)}")
    known = (first >= 0) & (second >= 0)
    positions = np.array(scale.positions)
    a, b = positions[first[known]], positions[second[known]]
    if not len(a):
        return LabelAgreement(0, nan, nan, nan, nan, nan, nan)
    middle = (scale.positions[0] + scale.positions[-1]) / 2
    spearman = p = pearson = nan
    if len(set(a.tolist())) > 1 and len(set(b.tolist())) > 1:
        ranked = scipy.stats.spearmanr(a, b)
        spearman, p = float(ranked.statistic), float(ranked.pvalue)
        pearson = float(scipy.stats.pearsonr(a, b).statistic)
    return LabelAgreement(
        n=len(a),
        spearman=spearman,
        p=p,
        pearson=pearson,
        same_side=float((np.sign(a - middle) == np.sign(b - middle)).mean()),
        mae=float(np.abs(a - b).mean()),
        bias=float((b - a).mean()),
    )


@dataclass(frozen=True)
class TriangleBound:
    """What a target that took part in nothing guarantees, from the distances to one that did.

    Parameters
    ----------
    gap : mean W1 between the two targets. method_most : the method lies within this of the independent target.
    baseline_least : the baseline is at least this far from it. reduction : the least reduction that follows; nan when
        the baseline may lie at 0.
    """

    gap: float
    method_most: float
    baseline_least: float
    reduction: float


def triangle_bound(method: float, baseline: float, gaps: Sequence[float]) -> TriangleBound:
    """The worst case by the triangle inequality (WARP, 4.5), W1 in scale units.

    Parameters
    ----------
    method, baseline : mean W1 to the target that was used.
    gaps : W1 between the two targets, one an entity; at least one.

    Raises
    ------
    InvalidInputError : there is no gap.
    """
    if not len(gaps):
        raise InvalidInputError("gaps", "at least one is needed")
    gap = float(np.mean(gaps))
    most, least = method + gap, max(0.0, baseline - gap)
    return TriangleBound(gap, most, least, 1 - most / least if least else nan)


@dataclass(frozen=True)
class RankAgreement:
    """Two distances over the same methods: rank correlations, and the line second = slope * first + intercept."""

    kendall: float
    spearman: float
    slope: float
    intercept: float
    r_squared: float


def rank_agreement(first: ArrayLike, second: ArrayLike) -> RankAgreement:
    """Whether two distances put the methods in the same order (WARP, C.4).

    Parameters
    ----------
    first, second : mean distance of each method, shape (n,), n >= 2; methods with a nan are left out.

    Returns
    -------
    All nan when fewer than two methods are left, or a distance is the same for all.
    """
    a: FloatArray = np.asarray(first, np.float64)
    b: FloatArray = np.asarray(second, np.float64)
    kept = ~np.isnan(a + b)
    a, b = a[kept], b[kept]
    if len(a) < 2 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return RankAgreement(nan, nan, nan, nan, nan)
    line = scipy.stats.linregress(a, b)
    return RankAgreement(
        float(scipy.stats.kendalltau(a, b).statistic),
        float(scipy.stats.spearmanr(a, b).statistic),
        float(line.slope),
        float(line.intercept),
        float(line.rvalue) ** 2,
    )

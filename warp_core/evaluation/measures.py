"""Measures of one list: how far its opinions lie from the population's, how wide they spread, whose they are.

W1, matched W1 and EM are properties of a `Selection`; here is what the papers measure beside them. The list is given
as counts over bins, so that any list is measured alike, whoever chose it.
"""

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import nan

import numpy as np
from numpy.typing import ArrayLike

from warp_core.distributions import FloatArray, IntArray, bin_counts, jensen_shannon, shares
from warp_core.scale import SENTIMENT_INTENSITY, OpinionScale
from warp_core.target import TargetDistribution
from warp_core.transport import w1_of_counts, wasserstein2

MIN_GROUP = 10
"""A group whose population holds fewer opinions on an entity has no distribution worth comparing with."""


@dataclass(frozen=True)
class ListMeasures:
    """The distributional measures of one list; nan where it holds no known opinion.

    Parameters
    ----------
    w1, w2 : to the target, in scale units. w1_matched : W1 of the entity-matched part alone.
    js : Jensen-Shannon divergence from the target, in bits.
    em : share of the list that matches the entity. selected : its length.
    """

    w1: float
    w1_matched: float
    w2: float
    js: float
    em: float
    selected: int


def measure(
    bins: IntArray, matched: ArrayLike, target: TargetDistribution, scale: OpinionScale = SENTIMENT_INTENSITY
) -> ListMeasures:
    """All of them, of a list of documents with these bins (-1: unknown), shape (k,), and entity matches, shape (k,)."""
    hits = np.asarray(matched, np.bool_)
    counts = bin_counts(bins, scale.n_bins).tolist()
    own = bin_counts(bins[hits], scale.n_bins).tolist()
    known = sum(counts) > 0
    return ListMeasures(
        w1=w1_of_counts(counts, target, scale),
        w1_matched=w1_of_counts(own, target, scale),
        w2=wasserstein2(counts, target.weights, scale) if known else nan,
        js=jensen_shannon(shares(counts), target.shares) if known else nan,
        em=float(hits.mean()) if len(hits) else 0.0,
        selected=len(bins),
    )


def spread(values: ArrayLike) -> float:
    """Standard deviation of a list's values (SI positions, impacts), over n; nan for none ("Sent-Int sigma").

    Source: "Retrieval-Augmented Generation Must Move Beyond Factual Grounding", appendix M.
    """
    given: FloatArray = np.asarray(values, np.float64)
    return float(given.std()) if len(given) else nan


def distinct(markers: Collection[Sequence[str]]) -> int:
    """How many different emotional markers the documents of a list carry, each document with its own (appendix M)."""
    return len({marker for carried in markers for marker in carried})


def coverage(values: Collection[Hashable], categories: Collection[Hashable]) -> float:
    """Share of an attribute's categories that a list's documents represent, 0 .. 1; nan when there are no categories.

    None among `values` is a document without the attribute (appendix M, "Demographic Coverage").
    """
    possible = set(categories) - {None}
    return len(possible & set(values)) / len(possible) if possible else nan


@dataclass(frozen=True)
class Fairness:
    """How unlike its own population the worst represented group of authors is in a list.

    Parameters
    ----------
    worst : the largest W2(P_pop(. | g), P_list(. | g)) over the groups that the list holds, in scale units; nan when it
        holds none.
    group : the group whose it is; None when there is none.
    absent : share of the groups that the list does not hold at all. Their distance is not defined, and any number put
        in its place would decide the maximum at every k below the number of groups: so they are counted apart.
    """

    worst: float
    group: str | None
    absent: float


def fairness(
    bins: IntArray,
    groups: Sequence[str | None],
    population: Mapping[str, Sequence[int]],
    scale: OpinionScale = SENTIMENT_INTENSITY,
    min_group: int = MIN_GROUP,
) -> Fairness:
    """The fairness term max_g W2(P_pop(. | g), P_list(. | g)) of one attribute (second paper, equation 8).

    Parameters
    ----------
    bins : of the list's documents on the entity, shape (k,); -1 counts nowhere.
    groups : the group of each document's author; None where it is unknown.
    population : opinions on the entity in each bin, by group; groups with fewer than `min_group` are left out.
    """
    compared = {group: counts for group, counts in population.items() if sum(counts) >= min_group}
    members: dict[str, list[int]] = {}
    for group, b in zip(groups, bins.tolist(), strict=True):
        if group in compared and b >= 0:
            members.setdefault(group, []).append(b)
    if not members:
        return Fairness(nan, None, 1.0 if compared else nan)
    gaps = {
        group: wasserstein2(compared[group], bin_counts(own, scale.n_bins), scale) for group, own in members.items()
    }
    group = min(gaps, key=lambda name: (-gaps[name], name))
    return Fairness(gaps[group], group, 1 - len(members) / len(compared))

"""What the methods bear: wrong targets, wrong labels, noisy scores, few opinions (WARP, appendix F).

All methods meet the same disturbances, and every list is measured undisturbed: by its true labels, against the true
target. All results are W1 in scale units; nan where a list holds no known opinion.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from warp_core.candidates import CandidatePool
from warp_core.distributions import FloatArray, IntArray, bin_counts
from warp_core.evaluation.experiment import Case
from warp_core.evaluation.perturbation import (
    COLD_STARTS,
    EPSILONS,
    ERROR_RATES,
    NOISE,
    SAMPLE_SIZES,
    dirichlet_target,
    mislabelled,
    noisy_scores,
    own_target,
    seen_counts,
)
from warp_core.scale import OpinionScale
from warp_core.selectors import select
from warp_core.target import TargetDistribution, smoothed_target, target_distribution
from warp_core.transport import w1_of_counts, wasserstein1

ESTIMATORS = ("own", "smoothed", "rule", "domain")
"""What a target is made of when few opinions were seen: these alone; always mixed with the domain's; the service's rule
(`warp_core.target`); the domain's alone."""


@dataclass(frozen=True, eq=False)
class Population:
    """All opinions on the queried entity.

    Parameters
    ----------
    bins : of the entity's documents, shape (N,).
    members : of each candidate the position among them, shape (n,); -1 for one that is not about the entity.
    domain : opinions on all other entities in each bin, length n_bins: what is known before the entity is.
    """

    bins: IntArray
    members: IntArray
    domain: Sequence[int]


def under_wrong_targets(
    case: Case, methods: Sequence[str], k: int, samples: int, rng: np.random.Generator
) -> FloatArray:
    """With targets under Dirichlet noise (F.1.1); shape (methods, EPSILONS, samples)."""
    found = np.empty((len(methods), len(EPSILONS), samples))
    for e, epsilon in enumerate(EPSILONS):
        for s in range(samples):
            target = dirichlet_target(case.target, epsilon, rng)
            for m, method in enumerate(methods):
                found[m, e, s] = _w1(case, method, k, target)
    return found


def under_wrong_labels(
    case: Case, population: Population, methods: Sequence[str], k: int, repetitions: int, rng: np.random.Generator
) -> FloatArray:
    """With wrong labels on candidates and behind the target; shape (methods, ERROR_RATES, repetitions).

    Source: WARP, F.1.2. A candidate about the entity is one of its population: both see the same wrong label.
    """
    found = np.empty((len(methods), len(ERROR_RATES), repetitions))
    pool, n_bins = case.pool, case.pool.scale.n_bins
    own = population.members >= 0
    for r, rate in enumerate(ERROR_RATES):
        for s in range(repetitions):
            everyone = mislabelled(population.bins, rate, n_bins, rng)
            bins = mislabelled(pool.bins, rate, n_bins, rng)
            bins[own] = everyone[population.members[own]]
            counts = bin_counts(everyone, n_bins).tolist()
            target = target_distribution(
                counts, [n + other for n, other in zip(counts, population.domain, strict=True)]
            )
            disturbed = _with(pool, pool.relevance, bins)
            for m, method in enumerate(methods):
                found[m, r, s] = _w1(case, method, k, target, disturbed)
    return found


def under_noisy_scores(case: Case, k: int, repetitions: int, rng: np.random.Generator) -> FloatArray:
    """Plain top-k after 5% noise on the scores (F.2), a control; shape (repetitions,)."""
    found = np.empty(repetitions)
    for s in range(repetitions):
        relevance = noisy_scores(case.pool.relevance, NOISE, rng)
        found[s] = _w1(case, "top_k", k, case.target, _with(case.pool, relevance, case.pool.bins))
    return found


def at_cold_start(
    case: Case, population: Population, method: str, k: int, repetitions: int, rng: np.random.Generator
) -> FloatArray:
    """With targets estimated from the first few opinions (F.4); shape (ESTIMATORS, COLD_STARTS, repetitions)."""
    found = np.empty((len(ESTIMATORS), len(COLD_STARTS), repetitions))
    for c, n in enumerate(COLD_STARTS):
        for s in range(repetitions):
            counts = seen_counts(population.bins, n, case.pool.scale.n_bins, rng)
            for e, estimator in enumerate(ESTIMATORS):
                found[e, c, s] = _w1(case, method, k, estimated(estimator, counts, population.domain))
    return found


def estimated(estimator: str, counts: Sequence[int], domain: Sequence[int]) -> TargetDistribution:
    """The target that one of `ESTIMATORS` makes of the opinions seen, and of the domain's."""
    if estimator == "own" or not sum(domain):
        return own_target(counts)
    if estimator == "smoothed":
        return smoothed_target(counts, domain)
    return target_distribution(counts if estimator == "rule" else [0] * len(counts), domain)


def estimation_error(bins: IntArray, scale: OpinionScale, repetitions: int, rng: np.random.Generator) -> FloatArray:
    """W1 between the distribution of n opinions and that of all, bins of shape (N,); shape (SAMPLE_SIZES, repetitions).

    nan where there are no more than n (F.4).
    """
    everyone = bin_counts(bins, scale.n_bins)
    found = np.full((len(SAMPLE_SIZES), repetitions), np.nan)
    for i, n in enumerate(SAMPLE_SIZES):
        if n < len(bins):
            for s in range(repetitions):
                found[i, s] = wasserstein1(seen_counts(bins, n, scale.n_bins, rng), everyone, scale)
    return found


def _with(pool: CandidatePool, relevance: FloatArray, bins: IntArray) -> CandidatePool:
    """The pool with other scores or labels, and without the columns that the methods tried here do not need."""
    return CandidatePool(relevance, bins, pool.matched, pool.scale)


def _w1(case: Case, method: str, k: int, target: TargetDistribution, disturbed: CandidatePool | None = None) -> float:
    chosen = select(method, case.pool if disturbed is None else disturbed, target, k, seed=case.seed)
    return w1_of_counts(case.pool.counts(chosen.indices), case.target, case.pool.scale)

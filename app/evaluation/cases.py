"""All that is computed about one question, as one piece of work for one process: lists, curves, disturbances."""

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter

import msgspec
import numpy as np

from warp_core.candidates import RelevanceNorm
from warp_core.distributions import BoolArray, IntArray
from warp_core.evaluation.experiment import Case, Setting, choose, measures_of, settings_of, w1_curve
from warp_core.evaluation.measures import measure
from warp_core.evaluation.robustness import (
    Population,
    at_cold_start,
    under_noisy_scores,
    under_wrong_labels,
    under_wrong_targets,
)

CURVES = (
    "top_k",
    "mmr",
    "dpp",
    "opinion_mmr",
    "js_minimizer",
    "w1_mmr",
    "w1_minimizer",
    "wassrank_ot",
    "w1_exact",
)
"""Methods whose W1 is followed from one document to the next: those of the paper's figure 2, and the best there is."""
DISTURBED = ("w1_minimizer", "w1_mmr", "wassrank_ot", "js_minimizer", "w1_exact")
"""Methods that are tried on wrong targets and wrong labels."""
COLD = "w1_minimizer"


class Asked(msgspec.Struct, frozen=True):
    """What a piped method chose: documents by number, and how long re-ranking took, expansion included."""

    method: str
    k: int
    n: int
    chosen: list[int]
    seconds: float


@dataclass(frozen=True)
class Plan:
    """What is tried with every question.

    Parameters
    ----------
    selectors : their names; the piped methods come with the work.
    disturb : whether wrong targets, wrong labels, noise and cold starts are tried too.
    target_samples, label_samples : repetitions of each disturbance of the target, and of everything else.
    """

    selectors: tuple[str, ...]
    ks: tuple[int, ...]
    sizes: tuple[int, ...]
    seed: int
    disturb: bool
    target_samples: int
    label_samples: int

    @property
    def k(self) -> int:
        """The k of the main table."""
        return max(self.ks)

    @property
    def n(self) -> int:
        """The pool size of the main table."""
        return max(self.sizes)

    def of(self, methods: Sequence[str]) -> list[str]:
        """Those of the methods that are compared here."""
        return [method for method in methods if method in self.selectors]


@dataclass(frozen=True, eq=False)
class Work:
    """A question's case, and where its documents stand in the corpus.

    Parameters
    ----------
    documents : number of each candidate, shape (n,). bins, matched : of every document of the corpus with regard to
        the entity, for lists that hold more than the pool.
    stream : tells this question's random numbers from those of the others.
    """

    case: Case
    population: Population
    documents: IntArray
    asked: Sequence[Asked]
    bins: IntArray
    matched: BoolArray
    stream: int


class List(msgspec.Struct, frozen=True, array_like=True):
    """A chosen list: documents by number, its measures, and the seconds that choosing took."""

    method: str
    k: int
    n: int
    weight: float | None
    norm: RelevanceNorm | None
    chosen: list[int]
    w1: float
    w1_matched: float
    w2: float
    js: float
    em: float
    seconds: float


class Answered(msgspec.Struct, frozen=True):
    """What became of one question.

    Parameters
    ----------
    pool : the candidates by number, best first. lists : of every setting.
    curves : method -> W1 of its lists of 1, 2 .. k documents.
    wrong_targets, wrong_labels : by method (`Plan.of(DISTURBED)`), strength and sample. noise : by sample.
    cold_start : by estimator, sample size and sample.
    """

    pool: list[int]
    lists: list[List]
    curves: dict[str, list[float]]
    wrong_targets: list[list[list[float]]] = []
    wrong_labels: list[list[list[float]]] = []
    noise: list[float] = []
    cold_start: list[list[list[float]]] = []


def answer(plan: Plan, work: Work) -> Answered:
    """Choose all lists and try all disturbances."""
    case = work.case
    pool = work.documents.tolist()
    settings = settings_of(plan.selectors, plan.ks, plan.sizes)
    lists = [_chosen(work, setting) for setting in settings]
    lists += [_asked(work, one) for one in work.asked]
    curves = {method: w1_curve(case, method, plan.k, plan.n).tolist() for method in plan.of(CURVES)}
    if not plan.disturb:
        return Answered(pool, lists, curves)
    disturbed = plan.of(DISTURBED)

    def rng(experiment: int) -> np.random.Generator:
        return np.random.default_rng([plan.seed, work.stream, experiment])

    targets, labels, population = plan.target_samples, plan.label_samples, work.population
    return Answered(
        pool,
        lists,
        curves,
        under_wrong_targets(case, disturbed, plan.k, targets, rng(1)).tolist(),
        under_wrong_labels(case, population, disturbed, plan.k, labels, rng(2)).tolist(),
        under_noisy_scores(case, plan.k, labels, rng(3)).tolist(),
        at_cold_start(case, population, COLD, plan.k, labels, rng(4)).tolist() if COLD in plan.selectors else [],
    )


def _chosen(work: Work, setting: Setting) -> List:
    pool = work.case.cut_to(setting.n)  # afresh, so that no method profits from what another has worked out
    begin = perf_counter()
    selection = choose(work.case, setting, pool)
    seconds = perf_counter() - begin
    found = measures_of(selection)
    return List(
        setting.method,
        setting.k,
        setting.n,
        setting.weight,
        setting.norm,
        work.documents[selection.indices].tolist(),
        found.w1,
        found.w1_matched,
        found.w2,
        found.js,
        found.em,
        seconds,
    )


def _asked(work: Work, one: Asked) -> List:
    chosen = np.array(one.chosen, np.intp)
    found = measure(work.bins[chosen], work.matched[chosen], work.case.target, work.case.pool.scale)
    return List(
        one.method,
        one.k,
        one.n,
        None,
        None,
        one.chosen,
        found.w1,
        found.w1_matched,
        found.w2,
        found.js,
        found.em,
        one.seconds,
    )

"""What the methods bear, and how few opinions a target can be made of (WARP, appendix F)."""

import numpy as np

from app.evaluation.cases import COLD, DISTURBED
from app.evaluation.methods import BASELINE
from app.evaluation.report.outcomes import Outcomes, mean
from app.evaluation.report.section import Cell, Column, Lines, Section, Series, Table
from warp_core.distributions import FloatArray
from warp_core.evaluation.perturbation import COLD_STARTS, EPSILONS, ERROR_RATES, NOISE, SAMPLE_SIZES
from warp_core.evaluation.robustness import ESTIMATORS, estimation_error
from warp_core.evaluation.significance import reduction, wilcoxon_p

_ESTIMATION = 102
"""The stream of random numbers that is the estimation's."""


def sections(outcomes: Outcomes) -> list[Section]:
    """All disturbances that were tried."""
    return [
        *_wrong_targets(outcomes),
        *_wrong_labels(outcomes),
        _noise(outcomes),
        _estimation(outcomes),
        *_cold_start(outcomes),
    ]


def _wrong_targets(o: Outcomes) -> list[Section]:
    found = np.array([one.wrong_targets for one in o.answers])  # question, method, epsilon, sample
    if not found.size:
        return []
    methods, base = o.findings.plan.of(DISTURBED), o.means(o.at(BASELINE)).w1
    means, better = _over_questions(found), _better(o, found)
    rows: list[tuple[Cell, ...]] = []
    for method, path, gains in zip(methods, means.tolist(), better.tolist(), strict=True):
        for epsilon, w1, gain in zip(EPSILONS, path, gains, strict=True):
            rows.append((method, epsilon, w1, w1 / path[0] - 1 if path[0] else float("nan"), gain))
    columns = (
        Column("method", "text"),
        Column("epsilon", "count"),
        Column("W1"),
        Column("worse than undisturbed", "reduction"),
        Column("better than top-k", "reduction"),
    )
    text = (
        "The target is (1 - epsilon) P + epsilon D, with D drawn evenly from all distributions over the bins, "
        f"{found.shape[-1]} times a question; lists are measured against the undisturbed P.",
    )
    series = {method: Series(EPSILONS, path) for method, path in zip(methods, means.tolist(), strict=True)}
    plot = Lines("wrong_targets", f"Dirichlet noise on the target, k = {o.k}", "epsilon", "W1", series, base)
    return [Section("Wrong targets", text, [Table("wrong_targets", "Dirichlet noise", columns, rows)], [plot])]


def _wrong_labels(o: Outcomes) -> list[Section]:
    found = np.array([one.wrong_labels for one in o.answers])
    if not found.size:
        return []
    methods, base = o.findings.plan.of(DISTURBED), o.means(o.at(BASELINE)).w1
    means, better = _over_questions(found), _better(o, found)
    rows: list[tuple[Cell, ...]] = []
    for method, path, gains in zip(methods, means.tolist(), better.tolist(), strict=True):
        over = [rate for rate, gain in zip(ERROR_RATES, gains, strict=True) if gain < 0]
        crossover = f"{over[0]:.0%}" if over else "never"
        for rate, w1, gain in zip(ERROR_RATES, path, gains, strict=True):
            rows.append((method, rate, w1, gain, crossover))
    columns = (
        Column("method", "text"),
        Column("wrong labels", "share"),
        Column("W1"),
        Column("better than top-k", "reduction"),
        Column("crosses top-k at", "text"),
    )
    text = (
        "Each label is with the given chance replaced by another one, all others alike, in the candidates and in the "
        f"population behind the target at once, {found.shape[-1]} times a question; lists are measured by the true "
        "labels against the true target. Top-k does not look at labels.",
    )
    series = {method: Series(ERROR_RATES, path) for method, path in zip(methods, means.tolist(), strict=True)}
    plot = Lines("wrong_labels", f"Wrong labels, k = {o.k}", "share of wrong labels", "W1", series, base)
    return [Section("Wrong labels", text, [Table("wrong_labels", "Wrong labels", columns, rows)], [plot])]


def _noise(o: Outcomes) -> Section:
    noisy = np.array([mean(one.noise) for one in o.answers])
    base = mean(o.baseline)
    rows: list[tuple[Cell, ...]] = [(BASELINE, base, 0.0, float("nan"))]
    if not np.isnan(noisy).all():
        rows.append(
            (f"{BASELINE}, {NOISE:.0%} noise", mean(noisy), 1 - mean(noisy) / base, wilcoxon_p(o.baseline, noisy))
        )
    for method in o.present(("w1_minimizer", "w1_mmr")):
        w1 = o.w1(o.at(method))
        rows.append((method, mean(w1), 1 - mean(w1) / base, wilcoxon_p(o.baseline, w1)))
    columns = (Column("method", "text"), Column("W1"), Column("reduction", "reduction"), Column("p", "p"))
    text = (
        f"A control: Gaussian noise of {NOISE:.0%} of each score's size, then plain top-k. If any reshuffling came "
        "nearer to the population, the methods' gains would mean little.",
    )
    return Section("Noise control", text, [Table("noise", f"k = {o.k}", columns, rows)])


def _estimation(o: Outcomes) -> Section:
    found = []
    for stream, entity in enumerate(o.findings.entities):
        own, _ = o.labels.on(entity)
        rng = np.random.default_rng([o.findings.plan.seed, _ESTIMATION, stream])
        found.append(estimation_error(own[own >= 0], o.findings.scale, o.findings.plan.target_samples, rng))
    errors = np.array(found)  # entity, size, sample
    rows: list[tuple[Cell, ...]] = []
    for i, n in enumerate(SAMPLE_SIZES):
        known = errors[:, i][~np.isnan(errors[:, i])]
        if len(known):
            low, high = np.quantile(known, [0.025, 0.975]).tolist()
            rows.append((n, float(known.mean()), low, high, len(known) // errors.shape[2]))
    columns = (
        Column("opinions seen", "count"),
        Column("W1 to all"),
        Column("95% from"),
        Column("to"),
        Column("entities", "count"),
    )
    text = (
        "W1 between the distribution of the opinions seen, drawn without replacement, and that of all of the entity's; "
        "the band holds 95% of the draws.",
    )
    x = [float(row[0]) for row in rows]
    line = Series(x, [float(row[1]) for row in rows], [float(row[2]) for row in rows], [float(row[3]) for row in rows])
    plot = Lines("estimation", "Error of an estimated target", "opinions seen", "W1", {"estimated target": line})
    return Section("Population estimation", text, [Table("estimation", "Error", columns, rows)], [plot])


def _cold_start(o: Outcomes) -> list[Section]:
    found = np.array([one.cold_start for one in o.answers])  # question, estimator, size, sample
    if not found.size:
        return []
    means, base = _over_questions(found), o.means(o.at(BASELINE)).w1
    rows: list[tuple[Cell, ...]] = []
    for estimator, path, gains in zip(ESTIMATORS, means.tolist(), _better(o, found).tolist(), strict=True):
        for n, w1, gain in zip(COLD_STARTS, path, gains, strict=True):
            rows.append((_ESTIMATOR_NAMES[estimator], n, w1, gain))
    columns = (
        Column("target from", "text"),
        Column("opinions seen", "count"),
        Column("W1"),
        Column("better than top-k", "reduction"),
    )
    text = (
        f"{COLD} with a target made of the first few opinions; lists are measured against the target of all. The "
        "domain is all other entities of the corpus. The service's rule mixes below 25 opinions only.",
    )
    series = {
        _ESTIMATOR_NAMES[estimator]: Series(COLD_STARTS, path)
        for estimator, path in zip(ESTIMATORS, means.tolist(), strict=True)
    }
    plot = Lines("cold_start", f"Cold start, k = {o.k}", "opinions seen", "W1", series, base)
    return [Section("Cold start", text, [Table("cold_start", "Cold start", columns, rows)], [plot])]


_ESTIMATOR_NAMES = {
    "own": "the opinions alone",
    "smoothed": "mixed with the domain",
    "rule": "the service's rule",
    "domain": "the domain alone",
}


def _better(o: Outcomes, found: FloatArray) -> FloatArray:
    """Reduction of W1 against top-k over the same questions; shape of `found` without its first and last axis."""
    per_question = np.array([_over_questions(one[None]) for one in found])  # samples averaged
    gains = [
        [reduction(o.baseline, per_question[:, m, strength]) for strength in range(found.shape[2])]
        for m in range(found.shape[1])
    ]
    return np.array(gains)


def _over_questions(found: FloatArray) -> FloatArray:
    """Means over questions (first axis) and samples (last), of what is not nan."""
    known = ~np.isnan(found)
    total: FloatArray = np.where(known, found, 0.0).sum(axis=(0, -1))
    counted = known.sum(axis=(0, -1))
    means: FloatArray = np.divide(total, counted, out=np.full_like(total, np.nan), where=counted > 0)
    return means

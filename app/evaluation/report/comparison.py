"""The main comparison: the papers' table 1, its statistics, and where the gains are."""

from itertools import pairwise

import numpy as np

from app.evaluation.methods import BASELINE
from app.evaluation.report.outcomes import Outcomes, mean
from app.evaluation.report.section import Bars, Cell, Column, Section, Table
from warp_core import attainable_em
from warp_core.distributions import BoolArray
from warp_core.evaluation.significance import (
    RESAMPLES,
    benjamini_hochberg,
    clustered_bootstrap,
    paired_differences,
    paired_reduction,
    reduction,
    stars,
    wilcoxon_p,
)

FAMILY = (
    "w1_minimizer",
    "w1_mmr",
    "w1_exact",
    "wassrank_ot",
    "entity_gated+w1_minimizer",
    "adaptive+w1_minimizer",
    "auto",
)
"""The methods that aim at the population, in plots and narrow tables."""
_BOOTSTRAP = 101
"""The stream of random numbers that is the bootstrap's."""


def sections(outcomes: Outcomes) -> list[Section]:
    """The main table, its statistics, and its breakdowns."""
    return [
        _main(outcomes),
        _by_k(outcomes),
        _significance(outcomes),
        _bootstrap(outcomes),
        _by_density(outcomes),
        _by_entity(outcomes),
        _by_kind(outcomes),
    ]


def main_rows(outcomes: Outcomes) -> list[tuple[Cell, ...]]:
    """The rows of the main table, one a method."""
    rows: list[tuple[Cell, ...]] = []
    for method in outcomes.findings.methods.names:
        found, w1 = outcomes.means(outcomes.at(method)), outcomes.w1(outcomes.at(method))
        p = wilcoxon_p(outcomes.baseline, w1)
        less, less_paired = reduction(outcomes.baseline, w1), paired_reduction(outcomes.baseline, w1)
        if method == BASELINE:
            p, less, less_paired = float("nan"), 0.0, 0.0
        marks = "" if np.isnan(p) else stars(p)
        rows.append(
            (method, found.w1, found.w1_matched, found.em, found.selected, less, less_paired, p, marks, found.n)
        )
    return rows


MAIN_COLUMNS = (
    Column("method", "text"),
    Column("W1"),
    Column("matched W1"),
    Column("EM", "share"),
    Column("selected"),
    Column("reduction", "reduction"),
    Column("paired reduction", "reduction"),
    Column("p", "p"),
    Column("stars", "text"),
    Column("questions", "count"),
)


def _main(o: Outcomes) -> Section:
    methods = o.findings.methods.names
    bars = {name: [getattr(o.means(o.at(method)), field) for method in methods] for name, field in _DISTANCES.items()}
    return Section(
        f"Main results, N = {o.n}, k = {o.k}",
        (
            "W1 is the transport distance between the opinions of the list and the population's, in points of the "
            "scale (0 to 60). Matched W1 is that of the part of the list that is about the entity: a list can come "
            "near the population with documents about something else, and then only matched W1 tells. EM is the "
            "share of the list about the entity. Means are over the questions to which a method gave a document with "
            "a known opinion; reductions and p (paired Wilcoxon, two-sided) are against top-k over the same questions.",
        ),
        [Table("main", f"All methods, {o.label} labels", MAIN_COLUMNS, main_rows(o))],
        [Bars("main", f"Distance to the population, N = {o.n}, k = {o.k}", "W1", methods, bars)],
    )


_DISTANCES = {"W1": "w1", "matched W1": "w1_matched"}


def _by_k(o: Outcomes) -> Section:
    rows: list[tuple[Cell, ...]] = []
    for method in o.findings.methods.names:
        for k in o.findings.plan.ks:
            found = o.means(o.at(method, k))
            less = reduction(o.w1(o.at(BASELINE, k)), o.w1(o.at(method, k)))
            rows.append((method, k, found.w1, found.w1_matched, found.em, found.selected, less))
    columns = (
        Column("method", "text"),
        Column("k", "count"),
        *MAIN_COLUMNS[1:5],
        Column("reduction", "reduction"),
    )
    return Section("By list length", (), [Table("by_k", f"N = {o.n}", columns, rows)])


def _significance(o: Outcomes) -> Section:
    tests = [
        (method, k, o.w1(o.at(BASELINE, k)), o.w1(o.at(method, k)))
        for method in o.findings.methods.names
        if method != BASELINE
        for k in o.findings.plan.ks
    ]
    raw = [wilcoxon_p(before, after) for _, _, before, after in tests]
    adjusted = benjamini_hochberg(raw).tolist()
    rows: list[tuple[Cell, ...]] = [
        (
            method,
            k,
            len(paired_differences(before, after)),
            paired_reduction(before, after),
            p,
            p_adjusted,
            stars(p_adjusted),
        )
        for (method, k, before, after), p, p_adjusted in zip(tests, raw, adjusted, strict=True)
    ]
    gains = [mean(before - after) for _, _, before, after in tests]
    survive = sum(p <= _ALPHA for p in adjusted)
    better = sum(p <= _ALPHA and gain > 0 for p, gain in zip(adjusted, gains, strict=True))
    columns = (
        Column("method", "text"),
        Column("k", "count"),
        Column("pairs", "count"),
        Column("paired reduction", "reduction"),
        Column("p", "p"),
        Column("p adjusted", "p"),
        Column("stars", "text"),
    )
    return Section(
        "Significance",
        (
            f"Paired Wilcoxon tests of every method at every k against top-k, {len(tests)} in all, with "
            f"Benjamini-Hochberg correction over the whole family: {survive} survive at a false discovery rate of "
            f"{_ALPHA:g}, {better} of them in favour of the method.",
        ),
        [Table("significance", "The family of tests", columns, rows)],
    )


_ALPHA = 0.05


def _bootstrap(o: Outcomes) -> Section:
    rows: list[tuple[Cell, ...]] = []
    for method in o.findings.methods.names:
        if method == BASELINE:
            continue
        rng = np.random.default_rng([o.findings.plan.seed, _BOOTSTRAP])
        found = clustered_bootstrap(o.baseline - o.w1(o.at(method)), o.entities, rng)
        verdict = "better" if found.low > 0 else "worse" if found.high < 0 else "no"
        rows.append((method, found.clusters, found.n, found.mean, found.low, found.high, verdict))
    columns = (
        Column("method", "text"),
        Column("entities", "count"),
        Column("questions", "count"),
        Column("mean gain in W1"),
        Column("95% from"),
        Column("to"),
        Column("excludes zero", "text"),
    )
    text = (
        f"Questions on one entity share its opinions. So entities are drawn with replacement, {RESAMPLES:,} times, "
        "each with all its questions; the gain is W1 of top-k less that of the method.",
    )
    return Section("Entity-clustered bootstrap", text, [Table("bootstrap", f"k = {o.k}", columns, rows)])


_BANDS = (0.0, 0.25, 0.5, 0.85, 1.0)
"""Of attainable EM; 85% is from where the paper, and the service's policy, call a pool dense."""


def _by_density(o: Outcomes) -> Section:
    attainable = np.array([attainable_em(_matched(o, position).tolist(), o.k) for position in range(len(o.answers))])
    shown = o.present((BASELINE, *FAMILY))
    rows: list[tuple[Cell, ...]] = []
    for low, high in pairwise(_BANDS):
        inside = (attainable >= low) & ((attainable < high) | (high == _BANDS[-1]))
        if inside.any():
            band = f"{low:.0%} to {high:.0%}"
            rows.append((band, "W1", int(inside.sum()), *(mean(o.w1(o.at(m))[inside]) for m in shown)))
            rows.append((band, "matched W1", int(inside.sum()), *(mean(o.w1_matched(o.at(m))[inside]) for m in shown)))
    columns = (
        Column("attainable EM", "text"),
        Column("measure", "text"),
        Column("questions", "count"),
        *(Column(method) for method in shown),
    )
    text = ("Attainable EM is what filtering the pool could reach, the number that the service's policy decides on.",)
    return Section("By density of the pool", text, [Table("density", f"N = {o.n}, k = {o.k}", columns, rows)])


def _by_entity(o: Outcomes) -> Section:
    shown = o.present((BASELINE, *FAMILY))
    methods = o.findings.methods.names
    wide: list[tuple[Cell, ...]] = []
    long: list[tuple[Cell, ...]] = []
    for entity, about in o.findings.entities.items():
        asked = o.entities == entity
        matched = [_matched(o, position) for position in np.flatnonzero(asked).tolist()]
        density = mean([float(hits.mean()) for hits in matched])
        attainable = mean([attainable_em(hits.tolist(), o.k) for hits in matched])
        name = o.findings.corpus.names.get(entity, entity)
        cells = [mean(o.w1(o.at(method))[asked]) for method in shown]
        wide.append((name, about.n, about.entropy, about.minority, density, attainable, *cells))
        long += [
            (
                name,
                method,
                mean(o.w1(o.at(method))[asked]),
                mean(o.w1_matched(o.at(method))[asked]),
                _em(o, method, asked),
            )
            for method in methods
        ]
    columns = (
        Column("entity", "text"),
        Column("opinions", "count"),
        Column("entropy, bits", "number"),
        Column("minority", "share"),
        Column("EM of the pool", "share"),
        Column("attainable EM", "share"),
        *(Column(method) for method in shown),
    )
    long_columns = (
        Column("entity", "text"),
        Column("method", "text"),
        Column("W1"),
        Column("matched W1"),
        Column("EM", "share"),
    )
    return Section(
        "By entity",
        (
            "Entropy is Shannon's, over negative, neutral and positive opinions; the minority is the smaller of the "
            "two sides as a share of both. Attainable EM is what filtering the pool could reach.",
        ),
        [
            Table("entities", f"W1 by entity, k = {o.k}", columns, wide),
            Table("entities_all", "All methods by entity", long_columns, long),
        ],
    )


def _matched(o: Outcomes, position: int) -> BoolArray:
    """Whether each candidate of a question's pool is about the entity."""
    own, _ = o.labels.on(o.findings.questions[position].entity)
    hits: BoolArray = own[o.answers[position].pool] >= 0
    return hits


def _em(o: Outcomes, method: str, asked: BoolArray) -> float:
    return mean([one.em for one, here in zip(o.lists(o.at(method)), asked.tolist(), strict=True) if here])


def _by_kind(o: Outcomes) -> Section:
    kinds = list(dict.fromkeys(question.kind for question in o.findings.questions))
    asked = {kind: np.array([q.kind == kind for q in o.findings.questions]) for kind in kinds}
    rows: list[tuple[Cell, ...]] = [
        (method, *(mean(o.w1(o.at(method))[asked[kind]]) for kind in kinds))
        for method in o.present((BASELINE, *FAMILY))
    ]
    columns = (Column("method", "text"), *(Column(kind) for kind in kinds))
    return Section("By kind of question", (), [Table("kinds", f"W1, k = {o.k}", columns, rows)])

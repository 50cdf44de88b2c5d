"""What the gains come from: metric, entity filter, length of the list, lambda, size of the pool (WARP, C and F.3)."""

import numpy as np

from app.evaluation.methods import BASELINE
from app.evaluation.report.comparison import FAMILY
from app.evaluation.report.outcomes import Outcomes, mean
from app.evaluation.report.section import Cell, Column, Dots, Lines, Section, Series, Table
from app.reranking import MIN_GAIN
from warp_core import SELECTORS
from warp_core.evaluation.agreement import rank_agreement
from warp_core.evaluation.experiment import NORMS, RELEVANCE_WEIGHTS, Setting, converged_at
from warp_core.evaluation.significance import reduction, stars, wilcoxon_p


def sections(outcomes: Outcomes) -> list[Section]:
    """All ablations that the compared methods allow."""
    return [
        *_metric(outcomes),
        _second_order(outcomes),
        *_entity_filter(outcomes),
        *_convergence(outcomes),
        *_weights(outcomes),
        *_norms(outcomes),
        _pool_size(outcomes),
    ]


_PAIRS = (("js_minimizer", "w1_minimizer", "equal"), ("js_mmr", "w1_mmr", "not held equal"))


def _metric(o: Outcomes) -> list[Section]:
    rows: list[tuple[Cell, ...]] = []
    for by_js, by_w1, em in _PAIRS:
        if not o.has(by_js, by_w1):
            continue
        for k in o.findings.plan.ks:
            js, w1 = o.means(o.at(by_js, k)), o.means(o.at(by_w1, k))
            before, after = o.w1(o.at(by_js, k)), o.w1(o.at(by_w1, k))
            p = wilcoxon_p(before, after)
            rows.append(
                (
                    f"{by_js}, {by_w1}",
                    k,
                    em,
                    js.w1,
                    w1.w1,
                    js.w1_matched,
                    w1.w1_matched,
                    js.em,
                    w1.em,
                    reduction(before, after),
                    p,
                    stars(p),
                )
            )
    columns = (
        Column("pair", "text"),
        Column("k", "count"),
        Column("EM", "text"),
        Column("W1 by JS"),
        Column("W1 by W1"),
        Column("matched W1 by JS"),
        Column("matched W1 by W1"),
        Column("EM by JS", "share"),
        Column("EM by W1", "share"),
        Column("W1 over JS", "reduction"),
        Column("p", "p"),
        Column("stars", "text"),
    )
    text = (
        "The same greedy loop with Jensen-Shannon divergence, which knows no order of opinions, in place of W1. The "
        "minimizers choose among the entity's documents only, so that EM is the same for both; the hybrids choose from "
        "the whole pool, and differ in EM too, which matched W1 shows.",
    )
    return [Section("JS against W1", text, [Table("metric", "Pairs", columns, rows)])] if rows else []


def _second_order(o: Outcomes) -> Section:
    means = {method: o.means(o.at(method)) for method in o.findings.methods.names}
    found = rank_agreement([one.w1 for one in means.values()], [one.w2 for one in means.values()])
    columns = (Column("method", "text"), Column("W1"), Column("W2"), Column("JS, bits", "number"))
    rows = [(method, one.w1, one.w2, one.js) for method, one in means.items()]
    points = {method: (one.w1, one.w2) for method, one in means.items()}
    text = (
        f"Whether a quadratic ground cost would order the methods otherwise: Kendall's tau {found.kendall:.3f}, "
        f"Spearman's rho {found.spearman:.3f}, W2 = {found.slope:.2f} W1 + {found.intercept:.2f} with "
        f"R² = {found.r_squared:.3f}.",
    )
    plot = Dots("w2", f"W1 and W2, k = {o.k}", "W1", "W2", points, (found.slope, found.intercept))
    return Section("W2 beside W1", text, [Table("w2", "Mean distances", columns, rows)], [plot])


_FILTERED = ("entity_top_k", "entity_mmr", "entity_dpp")


def _entity_filter(o: Outcomes) -> list[Section]:
    if not o.has("entity_top_k"):
        return []
    filtered = o.w1(o.at("entity_top_k"))
    rows: list[tuple[Cell, ...]] = []
    for method in o.present((BASELINE, *_FILTERED, *FAMILY)):
        found, w1 = o.means(o.at(method)), o.w1(o.at(method))
        less, beyond = reduction(o.baseline, w1), reduction(filtered, w1)
        rows.append((method, found.w1, found.w1_matched, found.em, less, beyond))
    columns = (
        Column("method", "text"),
        Column("W1"),
        Column("matched W1"),
        Column("EM", "share"),
        Column("against top-k", "reduction"),
        Column("against filtered top-k", "reduction"),
    )
    text = ("How much filtering by the entity does alone, and what choosing toward the population adds.",)
    return [Section("Entity-filter control", text, [Table("entity_filter", f"k = {o.k}", columns, rows)])]


def _convergence(o: Outcomes) -> list[Section]:
    curves = {method: np.array([one.curves[method] for one in o.answers]) for method in o.answers[0].curves}
    rows: list[tuple[Cell, ...]] = []
    series = {}
    lengths = list(range(1, o.k + 1))
    for method, by_question in curves.items():
        whole = by_question[~np.isnan(by_question).any(axis=1)]
        stops = [converged_at(curve, MIN_GAIN) for curve in whole]
        at_stop = [float(curve[stop - 1]) for curve, stop in zip(whole, stops, strict=True)]
        median = float(np.median(stops)) if stops else float("nan")
        path = [mean(by_question[:, i]) for i in range(o.k)]
        series[method] = Series(lengths, path)
        rows.append((method, median, mean(at_stop), path[-1], len(whole)))
    columns = (
        Column("method", "text"),
        Column("median k*", "count"),
        Column("W1 at k*"),
        Column(f"W1 at {o.k}"),
        Column("questions", "count"),
    )
    text = (
        f"k* is the length after which one more document lowers W1 by less than {MIN_GAIN:g}. Each point of the plot "
        "is a list chosen for its own length.",
    )
    plot = Lines("convergence", f"W1 by list length, N = {o.n}", "k", "W1", series)
    return [Section("Convergence", text, [Table("convergence", "Convergence", columns, rows)], [plot])] if rows else []


def _weights(o: Outcomes) -> list[Section]:
    rows: list[tuple[Cell, ...]] = []
    series = {}
    for method in _blending(o):
        found = [o.means(Setting(method, o.k, o.n, weight)) for weight in RELEVANCE_WEIGHTS]
        rows += [
            (method, weight, one.w1, one.w1_matched, one.em)
            for weight, one in zip(RELEVANCE_WEIGHTS, found, strict=True)
        ]
        series[method] = Series(RELEVANCE_WEIGHTS, [one.w1 for one in found])
    columns = (
        Column("method", "text"),
        Column("lambda", "count"),
        Column("W1"),
        Column("matched W1"),
        Column("EM", "share"),
    )
    text = ("Lambda is the weight of relevance: 1 is relevance alone, 0 the population alone.",)
    plot = Lines("weights", f"W1 by lambda, N = {o.n}, k = {o.k}", "lambda", "W1", series, o.means(o.at(BASELINE)).w1)
    return [Section("Lambda", text, [Table("weights", "Sweep", columns, rows)], [plot])] if rows else []


def _blending(o: Outcomes) -> list[str]:
    return [method for method in o.findings.methods.selectors if SELECTORS[method].relevance_weight is not None]


def _norms(o: Outcomes) -> list[Section]:
    rows: list[tuple[Cell, ...]] = []
    for method in _blending(o):
        own = SELECTORS[method].rel_norm
        for norm in NORMS:
            found = o.means(Setting(method, o.k, o.n, norm=norm))
            rows.append((method, f"{norm}{' (default)' * (norm == own)}", found.w1, found.w1_matched, found.em))
    columns = (
        Column("method", "text"),
        Column("relevance", "text"),
        Column("W1"),
        Column("matched W1"),
        Column("EM", "share"),
    )
    text = (
        "How relevance is scaled before a method blends it: as the retriever gave it, which is what the paper does "
        "with cosines; stretched so that the pool's best has 1 and its worst 0; or by rank.",
    )
    return [Section("Scale of relevance", text, [Table("norms", f"k = {o.k}", columns, rows)])] if rows else []


def _pool_size(o: Outcomes) -> Section:
    sizes = sorted(o.findings.plan.sizes)
    rows: list[tuple[Cell, ...]] = []
    series = {}
    for method in o.findings.methods.names:
        found = [o.means(o.at(method, n=n)) for n in sizes]
        rows += [(method, n, m.w1, m.w1_matched, m.em, m.selected) for n, m in zip(sizes, found, strict=True)]
        if method in (BASELINE, *FAMILY):
            series[method] = Series(sizes, [one.w1 for one in found])
    columns = (
        Column("method", "text"),
        Column("N", "count"),
        Column("W1"),
        Column("matched W1"),
        Column("EM", "share"),
        Column("selected"),
    )
    plot = Lines("pool_size", f"W1 by pool size, k = {o.k}", "N", "W1", series)
    return Section("Pool size", (), [Table("pool_size", f"k = {o.k}", columns, rows)], [plot])

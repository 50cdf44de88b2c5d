"""Whether the labels are to be trusted: people's against those from the text (WARP, 4.5 and appendix E)."""

import numpy as np

from app.evaluation.methods import BASELINE
from app.evaluation.report.comparison import FAMILY, MAIN_COLUMNS, main_rows
from app.evaluation.report.outcomes import Outcomes, mean
from app.evaluation.report.section import Bars, Cell, Column, Section, Table
from warp_core import wasserstein1
from warp_core.distributions import FloatArray, IntArray, bin_counts
from warp_core.evaluation.agreement import label_agreement, triangle_bound
from warp_core.evaluation.significance import reduction
from warp_core.transport import w1_of_counts


def sections(human: Outcomes, text: Outcomes) -> list[Section]:
    """How far the two labellings agree, what that does to the results, and what holds against an independent target."""
    return [_agreement(human, text), _difference(human, text), _independent(human, text)]


def _agreement(human: Outcomes, text: Outcomes) -> Section:
    scale = human.findings.scale
    firsts, seconds = [], []
    rows: list[tuple[Cell, ...]] = []
    for entity in human.findings.entities:
        first, second = _both(human, text, entity)
        firsts.append(first)
        seconds.append(second)
        rows.append(
            (
                human.findings.corpus.names.get(entity, entity),
                *_figures(human, first, second),
                _gap(human, text, entity),
            )
        )
    gaps = [float(row[-1]) for row in rows]
    rows.insert(0, ("all together", *_figures(human, np.concatenate(firsts), np.concatenate(seconds)), mean(gaps)))
    documents = human.findings.labels["human"].documents, human.findings.labels["text"].documents
    if (documents[0] >= 0).any():
        rows.insert(1, ("documents as a whole", *_figures(human, *documents), float("nan")))
    columns = (
        Column("entity", "text"),
        Column("labels", "count"),
        Column("Spearman", "number"),
        Column("Pearson", "number"),
        Column("same side", "share"),
        Column("mean difference, absolute"),
        Column("mean difference, signed"),
        Column("W1 between the targets"),
    )
    words = (
        "The same documents labelled by people and, from the text alone, by the VADER lexicon; differences are in "
        f"points of the scale, which is {scale.range:g} long, text less people. The last column is the distance "
        "between the population's distributions that the two labellings give: for all together the mean over entities.",
    )
    tables = [Table("label_agreement", "Agreement", columns, rows)]
    return Section("Labels from people and from the text", words, tables)


def _figures(o: Outcomes, first: IntArray, second: IntArray) -> tuple[Cell, ...]:
    found = label_agreement(first, second, o.findings.scale)
    return found.n, found.spearman, found.pearson, found.same_side, found.mae, found.bias


def _both(human: Outcomes, text: Outcomes, entity: str) -> tuple[IntArray, IntArray]:
    return human.findings.labels["human"].on(entity)[0], text.findings.labels["text"].on(entity)[0]


def _gap(human: Outcomes, text: Outcomes, entity: str) -> float:
    scale = human.findings.scale
    by_people = human.findings.labels["human"].counts(entity)
    by_text = text.findings.labels["text"].counts(entity)
    return wasserstein1(by_people, by_text, scale) if sum(by_people) and sum(by_text) else float("nan")


def _difference(human: Outcomes, text: Outcomes) -> Section:
    other = text if human.label == human.findings.main else human
    rows: list[tuple[Cell, ...]] = []
    for method in human.findings.methods.names:
        by_human, by_text = human.means(human.at(method)), text.means(text.at(method))
        less = reduction(human.baseline, human.w1(human.at(method))), reduction(text.baseline, text.w1(text.at(method)))
        rows.append(
            (method, by_human.w1, by_text.w1, by_human.w1_matched, by_text.w1_matched, *less, less[1] - less[0])
        )
    columns = (
        Column("method", "text"),
        Column("W1, human"),
        Column("W1, text"),
        Column("matched W1, human"),
        Column("matched W1, text"),
        Column("reduction, human", "reduction"),
        Column("reduction, text", "reduction"),
        Column("difference", "reduction"),
    )
    words = (
        "The whole evaluation under either labelling: target, pool and lists all by the one or all by the other. The "
        "questions, and the documents retrieved for them, are the same.",
    )
    tables = [
        Table("labels_compared", f"k = {human.k}", columns, rows),
        Table(f"main_{other.label}", f"All methods, {other.label} labels", MAIN_COLUMNS, main_rows(other)),
    ]
    return Section("What the labels change", words, tables)


def _independent(human: Outcomes, text: Outcomes) -> Section:
    """Lists chosen by text labels toward a target from text labels, held to people's labels, which took no part."""
    methods = text.present((BASELINE, *FAMILY))
    gaps = [gap for entity in human.findings.entities if not np.isnan(gap := _gap(human, text, entity))]
    direct = {method: _by_people(human, text, method) for method in methods}
    base = text.means(text.at(BASELINE)).w1
    rows: list[tuple[Cell, ...]] = []
    for method in methods:
        found = text.means(text.at(method)).w1
        bound = triangle_bound(found, base, gaps)
        least = float("nan") if method == BASELINE else bound.reduction
        seen = reduction(direct[BASELINE], direct[method])
        rows.append((method, found, bound.method_most, bound.baseline_least, least, mean(direct[method]), seen))
    columns = (
        Column("method", "text"),
        Column("W1 to the text's target"),
        Column("bound: at most"),
        Column("bound: top-k at least"),
        Column("reduction, worst case", "reduction"),
        Column("W1 by people's labels"),
        Column("reduction, as seen", "reduction"),
    )
    words = (
        "Lists are chosen by labels from the text toward a target from the text. The papers bound their distance to a "
        f"target from people by the triangle inequality, with the mean distance between the targets, {mean(gaps):.2f}. "
        "Since people labelled the documents too, the last columns measure it: the same lists by people's labels "
        "against the target from people's labels.",
    )
    bars = {"W1 by people's labels": [mean(direct[method]) for method in methods]}
    plot = Bars("independent", f"Chosen by text labels, measured by people's, k = {text.k}", "W1", methods, bars)
    return Section("Independent target", words, [Table("independent", f"k = {text.k}", columns, rows)], [plot])


def _by_people(human: Outcomes, text: Outcomes, method: str) -> FloatArray:
    """W1, by people's labels against people's target, of what a method chose by the text's; one a question."""
    labels = human.findings.labels["human"]
    found = []
    for question, one in zip(human.findings.questions, text.lists(text.at(method)), strict=True):
        _, shown = labels.on(question.entity)
        counts = bin_counts(shown[one.chosen], labels.scale.n_bins).tolist()
        found.append(w1_of_counts(counts, labels.target(question.entity), labels.scale))
    return np.array(found)

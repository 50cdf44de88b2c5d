"""The second paper's measures: how widely a list's opinions spread, and whose they are (its section 6, appendix M)."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from app.evaluation.cases import List
from app.evaluation.methods import BASELINE
from app.evaluation.report.comparison import FAMILY
from app.evaluation.report.outcomes import Outcomes, mean
from app.evaluation.report.section import Cell, Column, Section, Table
from app.store.base import Opinion
from warp_core.distributions import IntArray, bin_counts
from warp_core.evaluation.measures import coverage, distinct, fairness, spread
from warp_core.evaluation.significance import stars, wilcoxon_p

_METHODS = (BASELINE, "mmr", "dpp", "entity_top_k", "stratified", *FAMILY)


def sections(outcomes: Outcomes) -> list[Section]:
    """Spread always; impact, markers and evidence where opinions have them; coverage and fairness by attribute."""
    return [_spread(outcomes), *_details(outcomes), *_groups(outcomes)]


def _spread(o: Outcomes) -> Section:
    positions = np.array(o.findings.scale.positions)
    rows: list[tuple[Cell, ...]] = []
    population = []
    for entity in o.entities.tolist():
        own, _ = o.labels.on(entity)
        population.append(spread(positions[own[own >= 0]]))
    rows.append(("the population", float("nan"), mean(population), mean(population), 1.0, float("nan"), ""))
    for method in o.present(_METHODS):
        for k in o.findings.plan.ks:
            sigma, base = _sigmas(o, method, k, positions), _sigmas(o, BASELINE, k, positions)
            p = float("nan") if method == BASELINE else wilcoxon_p(base[:, 0], sigma[:, 0])
            rows.append(
                (
                    method,
                    k,
                    mean(sigma[:, 0]),
                    mean(sigma[:, 1]),
                    o.means(o.at(method, k)).em,
                    p,
                    "" if np.isnan(p) else stars(p),
                )
            )
    columns = (
        Column("method", "text"),
        Column("k", "count"),
        Column("SI sigma"),
        Column("SI sigma, matched"),
        Column("EM", "share"),
        Column("p", "p"),
        Column("stars", "text"),
    )
    text = (
        "SI sigma is the standard deviation of the opinions in a list. The second paper takes more for better; a list "
        "like the population has the population's, which the first row gives. p is against top-k at the same k.",
    )
    return Section("Spread of opinions", text, [Table("spread", "SI sigma", columns, rows)])


def _sigmas(o: Outcomes, method: str, k: int, positions: np.ndarray) -> np.ndarray:
    """Spread of all known opinions and of the matched ones of each list, shape (questions, 2)."""
    found = []
    for entity, one in zip(o.entities.tolist(), o.lists(o.at(method, k)), strict=True):
        own, shown = (bins[one.chosen] for bins in o.labels.on(entity))
        found.append([spread(positions[shown[shown >= 0]]), spread(positions[own[own >= 0]])])
    return np.array(found)


def _details(o: Outcomes) -> list[Section]:
    details = o.findings.corpus.details
    if not details:
        return []

    def of(entity: str, one: List) -> list[Opinion]:
        return [details[number, entity] for number in one.chosen if (number, entity) in details]

    kinds = {opinion.evidence_type for opinion in details.values()}
    measures: dict[Column, Callable[[Sequence[Opinion]], float]] = {
        Column("impact sigma"): lambda own: spread([x.impact for x in own if x.impact is not None]),
        Column("emotional markers"): lambda own: distinct([x.markers for x in own]),
        Column("evidence types", "share"): lambda own: coverage([x.evidence_type for x in own], kinds),
    }
    rows: list[tuple[Cell, ...]] = []
    for method in o.present(_METHODS):
        for k in o.findings.plan.ks:
            lists = list(zip(o.entities.tolist(), o.lists(o.at(method, k)), strict=True))
            cells = [mean([measure(of(entity, one)) for entity, one in lists]) for measure in measures.values()]
            rows.append((method, k, *cells))
    columns = (Column("method", "text"), Column("k", "count"), *measures)
    text = ("Means over questions, of what the lists' opinions on the entity carry.",)
    return [Section("Impact, emotions, evidence", text, [Table("details", "By list length", columns, rows)])]


def _groups(o: Outcomes) -> list[Section]:
    attributes = o.findings.corpus.attributes
    if not attributes:
        return []
    rows: list[tuple[Cell, ...]] = []
    for name, values in attributes.items():
        population = {entity: _population(o, entity, values) for entity in dict.fromkeys(o.entities.tolist())}
        for method in o.present(_METHODS):
            rows += [(name, method, k, *_group_cells(o, method, k, values, population)) for k in o.findings.plan.ks]
    columns = (
        Column("attribute", "text"),
        Column("method", "text"),
        Column("k", "count"),
        Column("coverage", "share"),
        Column("coverage, matched", "share"),
        Column("max W2 of a group"),
        Column("groups absent", "share"),
    )
    text = (
        "Coverage is the share of the attribute's categories among the authors of a list, and among those of its part "
        "about the entity. Max W2 is the fairness term: the distance between a group's opinions on the entity in the "
        "list and in the population, for the group where it is largest. A group without a document in the list has no "
        "such distance; the last column is the share of those. More coverage with a larger distance is no "
        "contradiction: a group of one or two documents cannot look like its population.",
    )
    return [Section("Authors", text, [Table("groups", "Coverage and fairness", columns, rows)])]


def _population(o: Outcomes, entity: str, values: Sequence[str | None]) -> dict[str, list[int]]:
    own, _ = o.labels.on(entity)
    members: dict[str, list[int]] = {}
    for number in np.flatnonzero(own >= 0).tolist():
        group = values[number]
        if group is not None:
            members.setdefault(group, []).append(int(own[number]))
    return {group: bin_counts(bins, o.findings.scale.n_bins).tolist() for group, bins in members.items()}


def _group_cells(
    o: Outcomes,
    method: str,
    k: int,
    values: Sequence[str | None],
    population: Mapping[str, Mapping[str, Sequence[int]]],
) -> tuple[Cell, ...]:
    categories = {value for value in values if value is not None}
    covered, covered_matched, worst, absent = [], [], [], []
    for entity, one in zip(o.entities.tolist(), o.lists(o.at(method, k)), strict=True):
        own: IntArray = o.labels.on(entity)[0][one.chosen]
        groups = [values[number] for number in one.chosen]
        found = fairness(own, groups, population[entity], o.findings.scale)
        covered.append(coverage(groups, categories))
        matched = [group for group, b in zip(groups, own.tolist(), strict=True) if b >= 0]
        covered_matched.append(coverage(matched, categories))
        worst.append(found.worst)
        absent.append(found.absent)
    return mean(covered), mean(covered_matched), mean(worst), mean(absent)

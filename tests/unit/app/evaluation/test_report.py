import asyncio
import csv
import io
import json
import re
from pathlib import Path

import numpy as np
import pytest

from app.evaluation.report.outcomes import mean
from app.evaluation.report.plots import drawn
from app.evaluation.report.section import Bars, Column, Dots, Lines, Plot, Series, Table, shown
from app.evaluation.report.writing import sections_of, write
from app.evaluation.running import Findings
from tests.unit.app.evaluation.small import run
from warp_core.evaluation.significance import benjamini_hochberg, wilcoxon_p
from warp_core.transport import w1_of_counts

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    """All methods, and all disturbances."""
    return asyncio.run(run(tmp_path_factory.mktemp("everything")))


@pytest.fixture(scope="module")
def tables(everything: Findings) -> dict[str, Table]:
    return tables_of(everything)


def tables_of(findings: Findings) -> dict[str, Table]:
    return {table.name: table for section in sections_of(findings) for table in section.tables}


def rows_of(table: Table) -> list[dict[str, object]]:
    names = [column.name for column in table.columns]
    return [dict(zip(names, row, strict=True)) for row in table.rows]


def test_every_table_has_a_cell_a_column_and_a_name_of_its_own(everything: Findings):
    found = [table for section in sections_of(everything) for table in section.tables]
    assert len({table.name for table in found}) == len(found)
    for table in found:
        assert table.rows, table.name
        assert {len(row) for row in table.rows} == {len(table.columns)}, table.name
        assert len({column.name for column in table.columns}) == len(table.columns), table.name
    expected = {
        "norms", "main", "by_k", "density", "significance", "bootstrap", "entities", "entities_all", "kinds", "metric",
        "w2", "entity_filter", "convergence", "weights", "pool_size", "wrong_targets", "wrong_labels", "noise",
        "estimation", "cold_start", "label_agreement", "labels_compared", "main_text", "independent",
        "spread", "details", "groups",
    }  # fmt: skip
    assert {table.name for table in found} == expected


def test_the_main_table_is_the_means_over_the_questions(everything: Findings, tables: dict[str, Table]):
    rows = {row["method"]: row for row in rows_of(tables["main"])}
    assert list(rows) == everything.methods.names
    chosen = [one for answered in everything.answers["human"] for one in answered.lists]
    main = [one for one in chosen if (one.k, one.n, one.weight, one.norm) == (6, 30, None, None)]
    lists = {method: [one for one in main if one.method == method] for method in rows}
    w1 = {method: np.array([x.w1 for x in own]) for method, own in lists.items()}
    for method, row in rows.items():
        assert row["W1"] == pytest.approx(np.nanmean(w1[method]))
        assert row["EM"] == pytest.approx(np.mean([x.em for x in lists[method]]))
        assert row["questions"] == (~np.isnan(w1[method])).sum()
    assert rows["auto"]["reduction"] == pytest.approx(1 - w1["auto"].mean() / w1["top_k"].mean())
    assert rows["auto"]["p"] == wilcoxon_p(w1["top_k"], w1["auto"])
    assert rows["top_k"]["stars"] == ""


def test_the_family_of_tests_is_every_method_at_every_k(everything: Findings, tables: dict[str, Table]):
    rows = rows_of(tables["significance"])
    assert [(row["method"], row["k"]) for row in rows] == [(m, k) for m in everything.methods.names[1:] for k in (3, 6)]
    assert [row["p adjusted"] for row in rows] == pytest.approx(benjamini_hochberg([row["p"] for row in rows]))


def test_the_bands_of_density_hold_every_question_once(everything: Findings, tables: dict[str, Table]):
    rows = [row for row in rows_of(tables["density"]) if row["measure"] == "W1"]
    assert sum(row["questions"] for row in rows) == len(everything.questions)
    whole = sum(row["questions"] * row["top_k"] for row in rows) / len(everything.questions)
    assert whole == pytest.approx(rows_of(tables["main"])[0]["W1"])


def test_the_default_scale_of_relevance_is_that_of_the_main_table(tables: dict[str, Table]):
    plain = {row["method"]: row["W1"] for row in rows_of(tables["main"])}
    defaults = [row for row in rows_of(tables["norms"]) if "default" in row["relevance"]]
    assert {row["method"] for row in defaults} >= {"w1_mmr", "mmr", "wassrank_ot"}
    assert all(row["W1"] == pytest.approx(plain[row["method"]]) for row in defaults)


def test_the_minimizers_have_equal_em(tables: dict[str, Table]):
    rows = rows_of(tables["metric"])
    assert [row["EM"] for row in rows] == ["equal"] * 2 + ["not held equal"] * 2
    assert all(row["EM by JS"] == row["EM by W1"] for row in rows[:2])


def test_undisturbed_the_disturbed_methods_are_the_plain_ones(tables: dict[str, Table]):
    plain = {row["method"]: row["W1"] for row in rows_of(tables["main"])}
    for name, strength in (("wrong_targets", "epsilon"), ("wrong_labels", "wrong labels")):
        for row in rows_of(tables[name]):
            if row[strength] == 0:
                assert row["W1"] == pytest.approx(plain[row["method"]])


def test_the_bound_is_the_distance_and_the_mean_gap_between_the_targets(tables: dict[str, Table]):
    gap = rows_of(tables["label_agreement"])[0]["W1 between the targets"]
    rows = {row["method"]: row for row in rows_of(tables["independent"])}
    for row in rows.values():
        assert row["bound: at most"] == pytest.approx(row["W1 to the text's target"] + gap)
        assert row["bound: top-k at least"] == max(0, rows["top_k"]["W1 to the text's target"] - gap)


def test_lists_chosen_by_the_text_are_measured_by_what_people_said(everything: Findings, tables: dict[str, Table]):
    rows = {row["method"]: row for row in rows_of(tables["independent"])}
    labels, found = everything.labels["human"], []
    for question, answered in zip(everything.questions, everything.answers["text"], strict=True):
        (one,) = (x for x in answered.lists if (x.method, x.k, x.n) == ("top_k", 6, 30))
        opinions = labels.opinions[question.entity]
        bins = [opinions.get(number, int(labels.documents[number])) for number in one.chosen]
        counts = np.bincount(bins, minlength=7).tolist()
        found.append(w1_of_counts(counts, labels.target(question.entity), labels.scale))
    assert rows["top_k"]["W1 by people's labels"] == pytest.approx(np.mean(found))


def test_coverage_and_markers_are_those_of_the_lists(everything: Findings, tables: dict[str, Table]):
    (group,) = (r for r in rows_of(tables["groups"]) if (r["method"], r["k"]) == ("top_k", 6))
    (detail,) = (r for r in rows_of(tables["details"]) if (r["method"], r["k"]) == ("top_k", 6))
    covered, markers = [], []
    for question, answered in zip(everything.questions, everything.answers["human"], strict=True):
        (one,) = (x for x in answered.lists if (x.method, x.k, x.n) == ("top_k", 6, 30))
        covered.append(len({i % 3 for i in one.chosen if i % 5}) / 3)
        own = everything.labels["human"].opinions[question.entity]
        markers.append(len({marker for i in one.chosen if i in own for marker in ["hope", "anger"][: i % 3]}))
    assert group["coverage"] == pytest.approx(np.mean(covered))
    assert detail["emotional markers"] == pytest.approx(np.mean(markers))


async def test_a_run_with_the_baseline_alone_is_a_report_too(tmp_path: Path):
    findings = await run(tmp_path, methods=["top_k"])
    assert rows_of(tables_of(findings)["main"])[0]["reduction"] == 0


LINE = Series([1, 2], [3.0, 1.0], [2.0, 0.5], [4.0, 2.0])
PLOTS = [
    Lines("lines", "Lines & more", "x", "y", {"a": LINE}, 2.0),
    Bars("bars", "Bars", "x", ["one", "two"], {"a": [1.0, float("nan")], "b": [2.0, 3.0]}),
    Dots("dots", "Dots", "x", "y", {"a": (1.0, 2.0), "gone": (float("nan"), 1.0)}, (1.0, 0.5)),
]


@pytest.mark.parametrize("plot", PLOTS, ids=lambda plot: plot.name)
def test_a_plot_is_the_same_bytes_twice_and_holds_its_words(plot: Plot):
    svg, png = drawn(plot)
    assert (svg, png) == drawn(plot)
    assert svg.startswith("<svg")
    assert png.startswith(b"\x89PNG")
    assert plot.title.replace("&", "&amp;") in svg
    assert "gone" not in svg


def test_csv_json_and_html_agree_and_names_are_shown_as_text(everything: Findings, tmp_path: Path):
    write(everything, tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text()
    assert "<b>bar</b>" not in page
    assert "&lt;b&gt;bar&lt;/b&gt; &amp; grill" in page
    assert not re.search(r"<script|https?://(?!www\.w3\.org|purl\.org|creativecommons\.org)", page)
    assert page.count("<svg") == len(list((tmp_path / "out" / "plots").glob("*.png")))
    listed = json.loads((tmp_path / "out" / "results.json").read_text())["tables"]["entities"]
    rows = list(csv.DictReader(io.StringIO((tmp_path / "out" / "tables" / "entities.csv").read_text())))
    assert [row["entity"] for row in rows] == [row["entity"] for row in listed]
    assert [float(row["top_k"]) for row in rows] == [row["top_k"] for row in listed]


@pytest.mark.parametrize(
    ("cell", "kind", "text"),
    [
        (0.12345, "share", "12.3%"),
        (0.5, "reduction", "+50.0%"),
        (-0.031, "reduction", "-3.1%"),
        (-0.0001, "reduction", "+0.0%"),
        (0.00001, "p", "<0.0001"),
        (0.0312, "p", "0.0312"),
        (2.345, "w1", "2.35"),
        (7, "count", "7"),
        (float("nan"), "w1", "–"),
        ("name", "text", "name"),
        (0.0123, "milliseconds", "0.012"),
    ],
)
def test_cells_are_shown_by_what_they_are(cell, kind, text: str):
    assert shown(cell, Column("", kind).kind) == text


def test_means_leave_out_what_has_no_distance():
    assert mean([1, float("nan"), 3]) == 2
    assert np.isnan(mean([float("nan")]))

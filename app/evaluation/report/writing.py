"""Findings -> files. All but latency.* is the same, byte for byte, whenever the same is evaluated."""

import csv
import io
from collections.abc import Sequence
from math import isnan
from pathlib import Path
from typing import Any

import msgspec

from app.evaluation.report import ablations, comparison, labels, latency, representation, robustness
from app.evaluation.report.outcomes import Outcomes
from app.evaluation.report.page import page
from app.evaluation.report.section import Cell, Plot, Section, Table
from app.evaluation.running import Findings

DIGITS = 10
"""Decimals of numbers in CSV and JSON."""


def sections_of(findings: Findings) -> list[Section]:
    """The whole report, without latencies."""
    main = Outcomes(findings, findings.main)
    found = [*comparison.sections(main), *ablations.sections(main), *robustness.sections(main)]
    if len(findings.labels) == 2:
        human, text = Outcomes(findings, "human"), Outcomes(findings, "text")
        found += labels.sections(human, text)
    return [*found, *representation.sections(main)]


def write(findings: Findings, folder: Path) -> list[Path]:
    """Write report.html, results.json, latency.html, tables/*.csv and plots/*.png; returns the files written."""
    from app.evaluation.report.plots import drawn  # brings matplotlib, an extra

    sections = sections_of(findings)
    timed = latency.section(Outcomes(findings, findings.main))
    plots: list[Plot] = [plot for section in sections for plot in section.plots]
    drawings = {plot.name: drawn(plot) for plot in plots}
    title = f"Evaluation: {findings.layout.about or 'a corpus of documents'}"
    facts = _facts(findings)
    files: dict[str, bytes] = {
        "report.html": page(title, facts, sections, {name: svg for name, (svg, _) in drawings.items()}).encode(),
        "results.json": _json(facts, sections),
        "latency.html": page(f"Latency: {findings.layout.about}", facts, [timed], {}).encode(),
    }
    tables = [table for section in (*sections, timed) for table in section.tables]
    files |= {f"tables/{table.name}.csv": _csv(table) for table in tables}
    files |= {f"plots/{name}.png": png for name, (_, png) in drawings.items()}
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return [folder / name for name in files]


def _facts(findings: Findings) -> dict[str, str]:
    plan, methods = findings.plan, findings.methods.names
    return {
        "documents": f"{len(findings.corpus):,}",
        "entities": ", ".join(findings.corpus.names.get(entity, entity) for entity in findings.entities),
        "questions": str(len(findings.questions)),
        "labels": f"{findings.main}{', beside the other' if len(findings.labels) == 2 else ''}",
        "k": ", ".join(map(str, sorted(plan.ks))),
        "N": ", ".join(map(str, sorted(plan.sizes))),
        "methods": f"{len(methods)}: {', '.join(methods)}",
        "seed": str(plan.seed),
        "latency": "in latency.html and tables/latency.csv, since no two runs take the same time",
    }


def _csv(table: Table) -> bytes:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(column.name for column in table.columns)
    writer.writerows([_plain(cell) for cell in row] for row in table.rows)
    return out.getvalue().encode()


def _json(facts: dict[str, str], sections: Sequence[Section]) -> bytes:
    tables: dict[str, Any] = {
        table.name: [
            {column.name: _plain(cell) for column, cell in zip(table.columns, row, strict=True)} for row in table.rows
        ]
        for section in sections
        for table in section.tables
    }
    return msgspec.json.format(msgspec.json.encode({"facts": facts, "tables": tables}))


def _plain(cell: Cell) -> Cell | None:
    """A cell as data: numbers rounded, nothing in place of nan."""
    if isinstance(cell, float):
        return None if isnan(cell) else round(cell, DIGITS)
    return cell

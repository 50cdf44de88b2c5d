"""Sections -> one HTML page that needs nothing else: style inside, plots as SVG inside, no script."""

from collections.abc import Mapping, Sequence
from html import escape

from app.evaluation.report.section import Section, Table, shown

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: #1b1f24; }
h1 { font-size: 1.6rem; }
h2 { font-size: 1.2rem; margin-top: 2.5rem; border-top: 1px solid #d5d9de; padding-top: 1rem; }
nav { columns: 3 16rem; font-size: .9rem; } nav a { display: block; }
.wide { overflow-x: auto; max-height: 56rem; overflow-y: auto; margin: .7rem 0; }
table { border-collapse: collapse; font-size: .82rem; }
caption { text-align: left; font-weight: 600; padding: .3rem 0; }
th { text-align: right; vertical-align: bottom; position: sticky; top: 0; background: #f3f5f7; }
th, td { padding: .15rem .55rem; border-bottom: 1px solid #e4e7eb; }
td { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
th.text, td.text { text-align: left; } tr:hover td { background: #f7fafd; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; font-size: .9rem; } dd { margin: 0; }
svg { max-width: 100%; height: auto; }
"""


def page(title: str, facts: Mapping[str, str], sections: Sequence[Section], plots: Mapping[str, str]) -> str:
    """The page; `plots` are the sections' plots as SVG, by name."""
    contents = "\n".join(f'<a href="#s{i}">{escape(section.title)}</a>' for i, section in enumerate(sections))
    listed = "\n".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in facts.items())
    body = "\n".join(_section(i, section, plots) for i, section in enumerate(sections))
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>\n'
        f"<style>{_STYLE}</style></head>\n<body>\n<h1>{escape(title)}</h1>\n<dl>\n{listed}\n</dl>\n"
        f"<nav>\n{contents}\n</nav>\n{body}\n</body></html>\n"
    )


def _section(number: int, section: Section, plots: Mapping[str, str]) -> str:
    words = "\n".join(f"<p>{escape(paragraph)}</p>" for paragraph in section.text)
    drawn = "\n".join(f"<figure>{plots[plot.name]}</figure>" for plot in section.plots)
    tables = "\n".join(map(_table, section.tables))
    return f'<h2 id="s{number}">{escape(section.title)}</h2>\n{words}\n{drawn}\n{tables}'


def _table(table: Table) -> str:
    classes = ["text" if column.kind == "text" else "" for column in table.columns]
    head = "".join(f'<th class="{c}">{escape(col.name)}</th>' for c, col in zip(classes, table.columns, strict=True))
    rows = "\n".join(
        "<tr>"
        + "".join(
            f'<td class="{css}">{escape(shown(cell, column.kind))}</td>'
            for css, column, cell in zip(classes, table.columns, row, strict=True)
        )
        + "</tr>"
        for row in table.rows
    )
    return (
        f'<div class="wide"><table><caption>{escape(table.title)} ({escape(table.name)}.csv)</caption>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody></table></div>"
    )

"""What a report is made of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from typing import Literal

Cell = str | int | float
Kind = Literal["text", "count", "w1", "share", "reduction", "number", "p", "milliseconds"]
"""How a column's cells are shown; in CSV and JSON numbers stand as they are."""


@dataclass(frozen=True)
class Column:
    """A column's heading, and what its cells are."""

    name: str
    kind: Kind = "w1"


@dataclass(frozen=True)
class Table:
    """A table; `name` is that of its CSV file. nan is a cell without a value."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: Sequence[tuple[Cell, ...]]


@dataclass(frozen=True)
class Series:
    """A line: its points, shape (n,) each, and, where there is one, its band."""

    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()


@dataclass(frozen=True)
class Lines:
    """A plot of lines; `baseline` is drawn across, dashed."""

    name: str
    title: str
    x: str
    y: str
    series: Mapping[str, Series]
    baseline: float | None = None


@dataclass(frozen=True)
class Bars:
    """A plot of horizontal bars, one group a label, one bar a series; nan is no bar."""

    name: str
    title: str
    x: str
    labels: Sequence[str]
    series: Mapping[str, Sequence[float]]


@dataclass(frozen=True)
class Dots:
    """A plot of named points, with a line y = slope * x + intercept where there is one."""

    name: str
    title: str
    x: str
    y: str
    points: Mapping[str, tuple[float, float]]
    line: tuple[float, float] | None = None


Plot = Lines | Bars | Dots


@dataclass(frozen=True)
class Section:
    """A part of the report: what is shown and how it came about, in words, then the tables and plots."""

    title: str
    text: Sequence[str]
    tables: Sequence[Table] = field(default_factory=tuple)
    plots: Sequence[Plot] = field(default_factory=tuple)


def shown(cell: Cell, kind: Kind) -> str:
    """A cell as a reader sees it."""
    if isinstance(cell, str):
        return cell
    if isnan(cell):
        return "–"
    match kind:
        case "share" | "reduction":
            rounded = round(cell, 3) + 0.0  # no minus sign before a zero
            return f"{rounded:+.1%}" if kind == "reduction" else f"{rounded:.1%}"
        case "p":
            return "<0.0001" if cell < 0.0001 else f"{cell:.4f}"
        case "number" | "milliseconds":
            return f"{cell:.3f}"
        case "w1":
            return f"{cell:.2f}"
        case _:
            return f"{cell:g}"

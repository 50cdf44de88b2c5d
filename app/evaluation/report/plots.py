"""Plots by matplotlib (the extra `evaluate`), without a date or a random id: the same data gives the same bytes."""

import io
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from app.evaluation.report.section import Bars, Dots, Lines, Plot

_STYLE: Any = {  # matplotlib types the keys one by one
    "svg.hashsalt": "warp",  # ids of elements follow from this and the drawing alone
    "svg.fonttype": "none",  # text stays text: small files, and words that can be searched
    "font.family": "DejaVu Sans",  # comes with matplotlib, so no machine's fonts matter
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "lines.markersize": 3,
    "figure.constrained_layout.use": True,
}
_WIDTH, _HEIGHT = 7.5, 4.0
_DPI = 120


def drawn(plot: Plot) -> tuple[str, bytes]:
    """The plot as an SVG element, and as a PNG file."""
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(_WIDTH, _height(plot)))
        axes = figure.add_subplot()
        match plot:
            case Lines():
                _lines(axes, plot)
            case Bars():
                _bars(axes, plot)
            case Dots():
                _dots(axes, plot)
        axes.set_title(plot.title, loc="left", fontsize=10)
        axes.set_xlabel(plot.x)
        figure.draw_without_rendering()  # places everything, once
        figure.set_layout_engine("none")
        text, image = io.StringIO(), io.BytesIO()
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
        figure.savefig(image, format="png", dpi=_DPI, metadata={"Software": None})
    found = text.getvalue()
    return found[found.index("<svg") :], image.getvalue()


def _height(plot: Plot) -> float:
    if isinstance(plot, Bars):
        return 1.2 + 0.11 * len(plot.labels) * (len(plot.series) + 0.7)
    return _HEIGHT


def _lines(axes: Axes, plot: Lines) -> None:
    for position, (name, series) in enumerate(plot.series.items()):
        style = "-" if position < _COLOURS else "--"
        axes.plot(series.x, series.y, marker="o", linestyle=style, label=name)
        if series.low:
            axes.fill_between(series.x, series.low, series.high, alpha=0.2)
    if plot.baseline is not None:
        axes.axhline(plot.baseline, color="crimson", linestyle=":", label="top_k")
    axes.set_ylabel(plot.y)
    axes.set_ylim(bottom=0)
    axes.legend(fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)


_COLOURS = 10
"""Lines that matplotlib gives colours of their own."""


def _bars(axes: Axes, plot: Bars) -> None:
    thickness = 0.8 / len(plot.series)
    for position, (name, values) in enumerate(plot.series.items()):
        at = [label + position * thickness for label in range(len(plot.labels))]
        axes.barh(at, values, thickness, label=name)
    axes.set_yticks([label + 0.4 - thickness / 2 for label in range(len(plot.labels))], plot.labels)
    axes.set_ylim(len(plot.labels) - 0.1, -0.5)  # the first on top
    axes.grid(visible=False, axis="y")
    if len(plot.series) > 1:
        axes.legend(fontsize=7, frameon=False)


def _dots(axes: Axes, plot: Dots) -> None:
    known = {name: point for name, point in plot.points.items() if point[0] == point[0] and point[1] == point[1]}
    xs, ys = [x for x, _ in known.values()], [y for _, y in known.values()]
    axes.scatter(xs, ys, s=14)
    for name, point in known.items():
        axes.annotate(name, point, fontsize=6, xytext=(3, 2), textcoords="offset points")
    if plot.line is not None and xs:
        slope, intercept = plot.line
        ends = [min(xs), max(xs)]
        axes.plot(ends, [slope * x + intercept for x in ends], color="grey", linewidth=1)
    axes.set_ylabel(plot.y)

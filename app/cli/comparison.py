"""An answer for the eye: bars that set the population beside top-k and WARP, and the chosen documents."""

from collections.abc import Mapping

from msgspec import UnsetType
from rich.console import Console
from rich.table import Table
from rich.text import Text

from app.schemas import RerankResponse

BAR_WIDTH = 20


def show(answer: RerankResponse, console: Console) -> None:
    """Print the comparison, the decision and the documents."""
    quality, decision = answer.quality, answer.decision
    if not isinstance(answer.distributions, UnsetType):
        top_k, selection = answer.distributions.top_k, answer.distributions.selection
        console.print(_bars(answer.target.distribution, top_k, selection), highlight=False)
    console.print(
        f"W1 {_number(quality.w1_top_k)} top-k, {_number(quality.w1)} WARP, {_number(quality.w1_best)} at best; "
        f"EM {decision.em_top_k:.2f} top-k, {quality.em:.2f} WARP",
        highlight=False,
    )
    console.print(
        f"{decision.variant}, expansion {decision.expansion} (+{decision.added}): {decision.reason}", highlight=False
    )
    for warning in answer.warnings:
        console.print(f"warning: {warning}", highlight=False, markup=False)
    documents = Table(box=None, pad_edge=False, expand=True)
    for heading in ("#", "SI", "from", "id"):
        documents.add_column(heading, no_wrap=True)
    documents.add_column("text", no_wrap=True, overflow="ellipsis", ratio=1)
    for result in answer.results:
        text = "" if isinstance(result.text, UnsetType) else " ".join(result.text.split())
        si = "?" if result.si is None else f"{result.si:+g}"
        documents.add_row(str(result.rank + 1), si, result.origin, Text(result.id or ""), Text(text))
    console.print(documents)


def _bars(target: Mapping[str, float], top_k: Mapping[str, float], selection: Mapping[str, float]) -> Table:
    table = Table("SI", "population", "top-k", "WARP", box=None, pad_edge=False)
    positions = sorted({*target, *top_k, *selection}, key=float)
    for position in positions:
        shares = (distribution.get(position, 0.0) for distribution in (target, top_k, selection))
        table.add_row(f"{float(position):+g}", *(f"{'█' * round(s * BAR_WIDTH):<{BAR_WIDTH}}{s:4.0%}" for s in shares))
    return table


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"

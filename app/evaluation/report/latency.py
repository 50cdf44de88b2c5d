"""How long choosing took. Kept apart from all else: no two runs take the same time."""

import numpy as np

from app.evaluation.report.outcomes import Outcomes
from app.evaluation.report.section import Cell, Column, Section, Table


def section(o: Outcomes) -> Section:
    """Percentiles over the questions, one call each, at the main k and pool size."""
    rows: list[tuple[Cell, ...]] = []
    for method in o.findings.methods.names:
        milliseconds = np.array([one.seconds for one in o.lists(o.at(method))]) * 1000
        rows.append((method, len(milliseconds), *np.percentile(milliseconds, [50, 95, 99, 100]).tolist()))
    columns = (
        Column("method", "text"),
        Column("questions", "count"),
        Column("p50", "milliseconds"),
        Column("p95", "milliseconds"),
        Column("p99", "milliseconds"),
        Column("max", "milliseconds"),
    )
    text = (
        "Milliseconds from a pool in memory to the chosen list, expansion included for the methods that search "
        "themselves, retrieval not. One call a question, the first on its pool; several processes may have shared the "
        "machine, which the upper percentiles show. What an earlier run left finished keeps the time it took then.",
    )
    return Section("Latency", text, [Table("latency", f"N = {o.n}, k = {o.k}", columns, rows)])

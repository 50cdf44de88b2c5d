"""Findings -> files: everything as JSON, the tables as CSV, a page to read. The same replies give the same bytes."""

import csv
import io
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec

from app.judging.comparing import Findings, Pair
from app.judging.costs import Usage
from app.judging.results import JudgeQuality, Outcome, Results

RESULTS = "results.json"
OUTCOMES = "results.csv"
JUDGES = "judges.csv"
ANSWERS = "answers.jsonl"
JUDGEMENTS = "judgements.jsonl"
PAGE = "report.md"

_NOTES = """\
Each pair of answers is judged in both orders; a preference that does not hold in both is a tie. A pair is won or lost \
by more than half of all votes. Fair% = W / (W + L), Win% = W / (W + L + T). p is the two-sided sign test of W against \
L, p (W > L) the one-sided one, which the paper prints; neither is corrected for the number of rows, nor for several \
questions being about one entity. A reply that could not be read, and a call that failed, is no vote; a pair with too \
few votes for a majority is unjudged and counts nowhere else.

First%, Second%: pairs in which a judge preferred the answer in that place in both orders. Order kappa: its agreement \
with itself between the two orders, over the pairs in which it commits in both; directional kappa: the mean agreement \
with the other judges, likewise. Longer%: decided pairs in which the longer answer is preferred."""


def write_report(findings: Findings, results: Results, usage: Sequence[Usage], directory: Path) -> None:
    """Write all files into a folder."""
    directory.mkdir(parents=True, exist_ok=True)
    plan = findings.plan
    whole = {
        "questions": len(plan.runs.runs),
        "baseline": plan.runs.baseline,
        "writer": {"model": plan.writer, "url": plan.writing.url, "parameters": plan.writing.parameters},
        "judges": {
            "models": plan.judges,
            "url": plan.judging.url,
            "parameters": plan.judging.parameters,
            "repeats": plan.repeats,
        },
        **msgspec.structs.asdict(results),
        "usage": usage,
    }
    _write(directory / RESULTS, msgspec.json.format(msgspec.json.encode(whole)) + b"\n")
    _write(directory / OUTCOMES, _csv(results.outcomes, Outcome))
    _write(directory / JUDGES, _csv(results.judges, JudgeQuality))
    _write(directory / ANSWERS, _lines(_answers(findings)))
    _write(directory / JUDGEMENTS, _lines(_judgements(findings)))
    _write(directory / PAGE, page(findings, results, usage).encode())


def page(findings: Findings, results: Results, usage: Sequence[Usage]) -> str:
    """The tables in Markdown, warnings first."""
    plan = findings.plan
    parts = [
        "# Generation evaluation",
        f"{len(plan.runs.runs)} questions; answers by {_cell(plan.writer)}; votes of {len(plan.voters)} "
        f"({', '.join(map(_cell, plan.judges))}; {plan.repeats} each); against {_cell(plan.runs.baseline)}.",
        *(f"**{_cell(warning)}**" for warning in results.warnings),
    ]
    for (fairness, dimension), rows in groupby(results.outcomes, lambda row: (row.fairness, row.dimension)):
        sense = fairness if dimension == "fairness" else f"beside fairness as {fairness}"
        parts += [f"## {dimension.capitalize()} ({sense})", _outcome_table(rows)]
    for fairness, judges in groupby(results.judges, lambda row: row.fairness):
        parts += [f"## Judges ({fairness})", _judge_table(judges)]
    parts += ["## Cost", _usage_table(usage), "## How to read this", _NOTES]
    return "\n\n".join(parts) + "\n"


def _outcome_table(rows: Iterable[Outcome]) -> str:
    return _table(
        ("Method", "W/L/T", "Fair%", "Win%", "Tie%", "p", "p (W > L)", "Unjudged", "Verdict"),
        (
            (
                row.method,
                f"{row.wins}/{row.losses}/{row.ties}",
                _percent(row.fair),
                _percent(row.win),
                _percent(row.tie),
                f"{row.p:.3g}",
                f"{row.p_greater:.3g}",
                row.unjudged,
                row.verdict,
            )
            for row in rows
        ),
    )


def _judge_table(rows: Iterable[JudgeQuality]) -> str:
    return _table(
        (
            "Judge",
            "Pairs",
            "Tie%",
            "First%",
            "Second%",
            "Consistent%",
            "Order kappa",
            "Directional kappa",
            "Agree%",
            "Longer%",
            "Unreadable",
            "Missing",
        ),
        (
            (
                row.judge,
                row.pairs,
                _percent(row.tie),
                _percent(row.first),
                _percent(row.second),
                _percent(row.consistent),
                _number(row.order_kappa),
                _number(row.kappa),
                _percent(row.agreement),
                _percent(row.longer),
                row.unreadable,
                row.missing,
            )
            for row in rows
        ),
    )


def _usage_table(rows: Iterable[Usage]) -> str:
    return _table(
        ("Stage", "Model", "Calls", "Tokens in", "Tokens out", "Without usage", "Cut off", "Cost"),
        (
            (
                row.stage,
                row.model,
                row.calls,
                row.prompt_tokens,
                row.completion_tokens,
                row.without_usage,
                row.cut_off,
                "-" if row.cost is None else f"{row.cost:.4f}",
            )
            for row in rows
        ),
    )


def _answers(findings: Findings) -> Iterable[dict[str, Any]]:
    runs = findings.plan.runs
    for i, run in enumerate(runs.runs):
        for method in runs.all_methods:
            answer = findings.answers.get(Pair(method, i))
            yield {"query": run.query, "entity": run.entity, "method": method, "answer": answer}


def _judgements(findings: Findings) -> Iterable[dict[str, Any]]:
    runs = findings.plan.runs.runs
    for asked, verdict in findings.verdicts.items():
        yield {
            "query": runs[asked.pair.question].query,
            "entity": runs[asked.pair.question].entity,
            "method": asked.pair.method,
            "fairness": asked.fairness,
            "judge": asked.voter.judge,
            "draw": asked.voter.draw,
            "method_is": "A" if asked.method_first else "B",
            "verdict": verdict,
        }


def _csv(rows: Iterable[msgspec.Struct], kind: type[msgspec.Struct]) -> bytes:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(kind.__struct_fields__)
    writer.writerows(msgspec.structs.astuple(row) for row in rows)
    return out.getvalue().encode()


def _lines(rows: Iterable[dict[str, Any]]) -> bytes:
    return b"".join(msgspec.json.encode(row) + b"\n" for row in rows)


def _write(path: Path, content: bytes) -> None:
    unfinished = path.with_name(f"{path.name}.part")
    unfinished.write_bytes(content)
    unfinished.replace(path)  # what has this name is always whole


def _table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(_cell(str(cell)) for cell in line)} |" for line in lines)


def _cell(text: str) -> str:
    """A name from outside as one cell of a table: no line break, no column, no markup."""
    plain = "".join(c if c.isprintable() else " " for c in text)
    for sign, shown in (("&", "&amp;"), ("<", "&lt;"), ("|", "&#124;"), ("*", "&#42;"), ("`", "&#96;")):
        plain = plain.replace(sign, shown)
    return plain


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.0%}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"

"""`retrieve` and `judge`: what variants find for questions, and which answers written from it are the fairer ones."""

import asyncio
import sys
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from app.cli.options import Collection, DataDir, EncoderName, StoreUrl, settings_with
from app.judging.comparing import Plan, Role, compare, read_answers
from app.judging.costs import Estimate, Price, estimated, price_of, used
from app.judging.endpoint import Endpoint
from app.judging.prompts import FAIRNESS, Fairness
from app.judging.replies import Replies
from app.judging.report import PAGE, page, write_report
from app.judging.results import results_of
from app.judging.retrieval import read_questions
from app.judging.retrieval import retrieve as runs_of
from app.judging.runs import Run, read_runs
from app.metrics import Metrics
from app.resources import open_resources
from app.settings import Settings
from warp_core import InvalidInputError

REPLIES = "replies.jsonl"
OURS = {"model", "messages", "seed", "stream"}
"""Fields of a request that are not the caller's to set."""
VARIANTS = ["top_k", "auto"]
SENSES = ["proportional", "coverage"]
"""What is compared, and in which senses of fairness, when nothing else is asked for."""


def retrieve(
    questions: Annotated[Path, typer.Argument(help='JSON Lines: {"query", "entity"?}.', exists=True, dir_okay=False)],
    collection: Collection = "default",
    variant: Annotated[list[str], typer.Option(help="auto, or a selector; several times.")] = VARIANTS,
    k: Annotated[int, typer.Option(min=1, help="How many documents.")] = 5,
    data_dir: DataDir = None,
    store: StoreUrl = None,
    encoder: EncoderName = None,
) -> None:
    """Print, one question a line, the documents that each variant finds for it: what `judge` reads.

    Example: warp-rerank retrieve questions.jsonl --collection hotels --encoder wordllama > runs.jsonl
    """
    asked = read_questions(questions)
    settings = settings_with(data_dir=data_dir, store=store, encoder=encoder)

    async def run() -> tuple[list[Run], list[str]]:
        async with open_resources(settings, Metrics()) as resources:
            with _progress() as stage:
                advance = stage("questions", len(asked))
                return await runs_of(asked, list(dict.fromkeys(variant)), collection, k, resources, advance)

    runs, missing = asyncio.run(run())
    messages = Console(stderr=True)
    for line in missing:
        messages.print(line, highlight=False, markup=False)
    sys.stdout.buffer.write(b"".join(msgspec.json.encode(one) + b"\n" for one in runs))


def judge(
    runs: Annotated[
        Path,
        typer.Argument(
            help='JSON Lines: {"query", "entity"?, "population": {"negative", "neutral", "positive"}, '
            '"documents": {METHOD: [TEXT]}}.',
            exists=True,
            dir_okay=False,
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder for the report and the replies.", file_okay=False)],
    baseline: Annotated[str, typer.Option(help="The method that the others are compared with.")] = "top_k",
    fairness: Annotated[list[str], typer.Option(help=f"What is fair: {', '.join(FAIRNESS)}; several times.")] = SENSES,
    model: Annotated[list[str] | None, typer.Option("--judge", help="A judge's model; several times.")] = None,
    repeats: Annotated[int, typer.Option(min=1, max=99, help="Votes of each judge (at a temperature above 0).")] = 1,
    price: Annotated[
        list[str] | None, typer.Option(help="MODEL=PROMPT/COMPLETION per million tokens; several times.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell what it would take.")] = False,
) -> None:
    """Have answers written from the documents of each method, and judges compare them with the baseline's.

    The endpoints, models and keys are the settings judge_* and answer_*. Run it again after an interruption: no reply
    is paid for twice.

    Example: WARP_JUDGE_URL=http://localhost:8080/v1 warp-rerank judge runs.jsonl --out judged --judge gemma --dry-run
    """
    settings = settings_with(judge_models=tuple(model) if model else None)
    senses = _senses(fairness)
    prices = dict(map(price_of, price or ()))
    read = read_runs(runs, baseline, "proportional" in senses)
    url, models = settings.judge_url, tuple(dict.fromkeys(settings.judge_models))
    if url is None:
        raise InvalidInputError("judge_url", "set WARP_JUDGE_URL to the base URL of an OpenAI-compatible endpoint")
    if not models:
        raise InvalidInputError("judge_models", "set WARP_JUDGE_MODELS, or give --judge MODEL")
    plan = Plan(
        runs=read,
        fairness=senses,
        writer=settings.answer_model or models[0],
        writing=Role((settings.answer_url or url).rstrip("/"), settings.answer_parameters),
        judges=models,
        judging=Role(url.rstrip("/"), settings.judge_parameters),
        repeats=repeats,
    )
    for role, asked in (("judge", plan.judging), ("answer", plan.writing)):
        if ours := OURS & asked.parameters.keys():
            raise InvalidInputError(f"{role}_parameters", f"must not hold {', '.join(sorted(ours))}")
    replies = Replies(out / REPLIES)
    if dry_run:
        _show(estimated(plan, read_answers(plan, replies), replies, prices))
        return
    try:
        whole = asyncio.run(_judge(plan, settings, replies, prices, out))
    finally:
        replies.close()
    raise typer.Exit(0 if whole else 1)


async def _judge(plan: Plan, settings: Settings, replies: Replies, prices: dict[str, Price], out: Path) -> bool:
    key, timeout_s = settings.judge_key, settings.judge_timeout_s
    async with AsyncExitStack() as stack:
        judging = Endpoint("judge", plan.judging.url, key.get_secret_value() if key else None, timeout_s)
        stack.push_async_callback(judging.close)
        writing = judging
        if settings.answer_url is not None:  # another endpoint never sees the judges' key
            key = settings.answer_key
            writing = Endpoint("answer", plan.writing.url, key.get_secret_value() if key else None, timeout_s)
            stack.push_async_callback(writing.close)
        with _progress() as stage:
            findings = await compare(plan, writing, judging, replies, settings.judge_concurrency, stage)
    results, usage = results_of(findings), used(findings, replies, prices)
    write_report(findings, results, usage, out)
    sys.stdout.write(page(findings, results, usage))
    Console(stderr=True).print(f"written to {out / PAGE}", highlight=False, markup=False)
    return not any(failures.kinds for failures in findings.failures.values())


def _senses(given: list[str]) -> tuple[Fairness, ...]:
    for name in given:
        if name not in FAIRNESS:
            raise InvalidInputError("fairness", f"must be one of {', '.join(FAIRNESS)}, got {name!r}")
    return tuple(sense for sense in FAIRNESS if sense in given)


def _show(estimate: Estimate) -> None:
    table = Table("stage", "model", "calls", "tokens in", "tokens out", "cost", box=None, pad_edge=False)
    for row in estimate.usage:
        cost = "-" if row.cost is None else f"{row.cost:.2f}"
        numbers = (f"{row.calls}", f"~{row.prompt_tokens}", f"~{row.completion_tokens}")
        table.add_row(row.stage, row.model, *numbers, cost)
    console = Console()
    console.print(table, highlight=False, markup=False)
    calls = sum(row.calls for row in estimate.usage)
    console.print(f"{calls} calls to make, {estimate.kept} replies are kept already", highlight=False)


@contextmanager
def _progress() -> Iterator[Callable[[str, int], Callable[[], object]]]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:

        def stage(name: str, total: int) -> Callable[[], object]:
            task = progress.add_task(name, total=total)
            return lambda: progress.advance(task)

        yield stage

"""`evaluate`."""

import asyncio
import os
from collections.abc import Callable
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from app.cli.options import DataDir, EncoderName, settings_with
from app.encoder import open_encoder
from app.evaluation.cache import Cache
from app.evaluation.cases import Plan
from app.evaluation.corpus import read_corpus
from app.evaluation.layout import load_layout
from app.evaluation.methods import ALL, methods_of
from app.evaluation.parts import worker_processes
from app.evaluation.report.comparison import MAIN_COLUMNS, main_rows
from app.evaluation.report.outcomes import Outcomes
from app.evaluation.report.section import shown
from app.evaluation.report.writing import write
from app.evaluation.rows import is_table
from app.evaluation.running import Choice, Findings
from app.evaluation.running import evaluate as run
from warp_core import SENTIMENT_INTENSITY, InvalidInputError
from warp_core.evaluation.disagreement import MIN_COUNT, MIN_ENTROPY, MIN_MINORITY

_SHOWN = {"method", "W1", "matched W1", "EM", "reduction", "p", "stars"}
"""Columns of the main table that fit a terminal."""
_PACKAGES = {"matplotlib": "plots", "vaderSentiment": "labels from the text"}


def evaluate(
    corpus: Annotated[
        Path, typer.Argument(help="Documents: JSON Lines, CSV or TSV, plain or .gz, or a folder of them.", exists=True)
    ],
    out: Annotated[Path, typer.Option(help="The folder for the report.", file_okay=False)],
    layout: Annotated[
        str | None,
        typer.Option(help="What is where in the corpus: a packaged layout's name, or a .toml file; left out: neutral."),
    ] = None,
    queries: Annotated[
        Path | None,
        typer.Option(help="Questions (query, entity) in place of six an entity.", exists=True, dir_okay=False),
    ] = None,
    methods: Annotated[str, typer.Option(help="Names, comma-separated; left out: all.")] = ",".join(ALL),
    k: Annotated[str, typer.Option(help="List lengths, comma-separated; the largest is the main one.")] = "5,10,20",
    pool_size: Annotated[str, typer.Option(help="Pool sizes; the largest is the main one.")] = "25,50,100,200",
    labels: Annotated[
        Literal["human", "text"] | None, typer.Option(help="Which labels the main tables go by; left out: people's.")
    ] = None,
    entities: Annotated[int, typer.Option(min=1, help="Entities at most, the most disputed first.")] = 10,
    min_entropy: Annotated[
        float, typer.Option(min=0, max=1.58, help="Least entropy of an entity's opinions, bits.")
    ] = MIN_ENTROPY,
    min_minority: Annotated[
        float, typer.Option(min=0, max=0.5, help="Least share of its smaller side.")
    ] = MIN_MINORITY,
    min_count: Annotated[int, typer.Option(min=1, help="Fewest opinions on it.")] = MIN_COUNT,
    target_samples: Annotated[int, typer.Option(min=1, help="Disturbed targets a question and strength.")] = 30,
    label_samples: Annotated[int, typer.Option(min=1, help="Repetitions of the other disturbances.")] = 20,
    seed: Annotated[int, typer.Option(min=0, help="Of whatever is random.")] = 0,
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes; left out: one a core.")] = None,
    cache: Annotated[
        Path | None, typer.Option(help="What is finished; left out: in the data directory.", file_okay=False)
    ] = None,
    data_dir: DataDir = None,
    encoder: EncoderName = None,
) -> None:
    """Compare the methods on a corpus, as the papers do: tables, plots and one HTML report.

    Killed, it goes on where it stopped when it is started again.

    Example: warp-rerank evaluate reviews.jsonl.gz --encoder wordllama --out report
    """
    for package, purpose in _PACKAGES.items():
        if find_spec(package) is None:
            raise InvalidInputError("evaluate", f"{purpose} need the extra 'evaluate' ({package} is not installed)")
    compared = methods_of(_listed(methods))
    ks, sizes = (tuple(sorted(set(_numbers(name, given)))) for name, given in (("k", k), ("pool_size", pool_size)))
    plan = Plan(compared.selectors, ks, sizes, seed, True, target_samples, label_samples)
    if plan.k > plan.n:
        raise InvalidInputError("k", f"must be at most the largest pool size, {plan.n}, got {plan.k}")
    settings = settings_with(data_dir=data_dir, encoder=encoder)
    opened = open_encoder(settings.encoder, settings.encoder_threads)
    if opened is None:
        raise InvalidInputError("encoder", "is needed to retrieve: --encoder wordllama, or WARP_ENCODER")
    scale = SENTIMENT_INTENSITY
    choice = Choice(entities, min_entropy, min_minority, min_count, queries, labels)
    messages = Console(stderr=True)
    finished = Cache(cache or settings.data_dir / "evaluation")
    with closing(opened), worker_processes(jobs or os.cpu_count() or 1) as workers, _Bars(messages) as bars:
        shape = load_layout(layout or ("table" if _is_table(corpus) else "neutral"))
        documents = read_corpus(corpus, shape, scale)
        findings = asyncio.run(
            run(documents, shape, scale, compared, choice, plan, opened, settings, finished, workers, bars)
        )
        advance = bars.stage("report", 1)
        files = write(findings, out)
        advance()
    _show(findings, Console())
    messages.print(f"{len(files)} files in {out}; open {out / 'report.html'}", highlight=False, soft_wrap=True)


def _listed(given: str) -> list[str]:
    return [name for part in given.split(",") if (name := part.strip())]


def _numbers(argument: str, given: str) -> list[int]:
    listed = _listed(given)
    if not listed or not all(one.isascii() and one.isdigit() and int(one) for one in listed):
        raise InvalidInputError(argument, f"must be whole numbers of at least 1, comma-separated, got {given!r}")
    return [int(one) for one in listed]


def _is_table(corpus: Path) -> bool:
    return corpus.is_file() and is_table(corpus)


class _Bars:
    """A progress bar a stage, on stderr."""

    def __init__(self, console: Console) -> None:
        columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
        self._progress = Progress(*columns, console=console)

    def __enter__(self) -> "_Bars":
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def stage(self, name: str, total: int) -> Callable[[], object]:
        """Begin a stage; what comes back is called after each of its steps."""
        task = self._progress.add_task(name, total=total)
        return lambda: self._progress.advance(task)


def _show(findings: Findings, console: Console) -> None:
    table = Table(box=None, pad_edge=False)
    for column in MAIN_COLUMNS:
        if column.name in _SHOWN:
            table.add_column(column.name, justify="left" if column.kind == "text" else "right", no_wrap=True)
    for row in main_rows(Outcomes(findings, findings.main)):
        cells = zip(row, MAIN_COLUMNS, strict=True)
        table.add_row(*(shown(cell, column.kind) for cell, column in cells if column.name in _SHOWN))
    console.print(table)

"""`ingest`."""

import asyncio
import gzip
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import track

from app.cli.options import Collection, DataDir, EncoderName, StoreUrl, settings_with
from app.encoder import Encoder, open_encoder
from app.ingestion import Ingestion
from app.resources import store_of
from app.schemas import IngestResponse
from app.settings import Settings
from app.store.base import Store
from warp_core import InvalidInputError

MAX_SHOWN = 20
"""Failed documents that are printed one by one."""


def ingest(
    files: Annotated[list[Path], typer.Argument(help="JSON Lines, plain or .gz.", exists=True, dir_okay=False)],
    collection: Collection = "default",
    data_dir: DataDir = None,
    store: StoreUrl = None,
    encoder: EncoderName = None,
) -> None:
    """Store documents, one JSON object a line; running it again changes nothing.

    Example: warp-rerank ingest reviews.jsonl.gz --collection hotels --encoder wordllama
    """
    settings = settings_with(data_dir=data_dir, store=store, encoder=encoder)
    for path in files:
        if not path.name.endswith((".jsonl", ".jsonl.gz", ".ndjson", ".ndjson.gz")):
            raise InvalidInputError("files", f"{path} is neither .jsonl nor .jsonl.gz")
    failed = asyncio.run(_ingest(settings, collection, files, Console(stderr=True)))
    raise typer.Exit(1 if failed else 0)


async def _ingest(settings: Settings, collection: str, files: Iterable[Path], messages: Console) -> int:
    store = store_of(settings)
    encoder = open_encoder(settings.encoder, settings.encoder_threads)
    try:
        reports = [await load(store, encoder, collection, list(_lines(path)), messages, str(path)) for path in files]
    finally:
        if encoder:
            encoder.close()
        await store.close()
    return sum(len(report.failed) for report in reports)


async def load(
    store: Store,
    encoder: Encoder | None,
    collection: str,
    documents: list[bytes],
    messages: Console,
    source: str = "documents",
) -> IngestResponse:
    """Ingest documents with a progress bar, and say what became of them."""
    ingestion = Ingestion(store, encoder, collection)
    for raw in track(documents, description=f"{source} -> {collection}", console=messages):
        await ingestion.add(raw)
    report = await ingestion.finish()
    messages.print(
        f"{report.created} created, {report.updated} updated, {report.unchanged} unchanged, {report.stale} stale, "
        f"{len(report.failed)} failed",
        highlight=False,
    )
    for one in report.failed[:MAX_SHOWN]:
        messages.print(f"  line {one.index + 1}, {one.id}: {one.pointer}: {one.detail}", highlight=False, markup=False)
    return report


def _lines(path: Path) -> Iterator[bytes]:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rb") as file:
        yield from (line for line in file if line.strip())

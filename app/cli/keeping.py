"""`verify`, `export` and `import`: looking after what is stored."""

import asyncio
import contextlib
import gzip
import zlib
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress, TextColumn

from app import transfer
from app.cli.options import Collection, DataDir, StoreUrl, settings_with
from app.errors import InvalidRequestError
from app.resources import store_of
from app.settings import Settings
from app.store.base import Damage, Drift

MAX_SHOWN = 20
"""Findings that are printed one by one."""


def verify(
    repair: Annotated[bool, typer.Option("--repair", help="Set right what can be.")] = False,
    data_dir: DataDir = None,
    store: StoreUrl = None,
) -> None:
    """Recount all stored opinions, and name every count that differs and every value that cannot be read; exit status 1
    when there is one, and it is not repaired.

    Writers may go on meanwhile.

    Example: warp-rerank verify --repair
    """

    async def looked_through() -> list[Drift | Damage]:
        opened = store_of(settings_with(data_dir=data_dir, store=store))
        try:
            return await (opened.repair() if repair else opened.drift())
        finally:
            await opened.close()

    found = asyncio.run(looked_through())
    console = Console()
    for one in found[:MAX_SHOWN]:
        console.print(str(one), highlight=False, markup=False, soft_wrap=True)
    left = [one for one in found if not repair or (isinstance(one, Damage) and not one.mendable)]
    damaged = sum(isinstance(one, Damage) for one in found)
    told = []
    if len(found) > damaged or not found:
        what = "were repaired" if repair else "differ from a recount"
        told.append(f"{len(found) - damaged} counts {what}" if found else "all counts equal a recount")
    if damaged:
        told.append(f"{damaged} values cannot be read")
        if repair:
            told.append(f"{damaged - len(left)} of them were repaired")
    console.print("; ".join(told), highlight=False)
    raise typer.Exit(1 if left else 0)


def export(
    file: Annotated[Path, typer.Argument(help="The file to write, .jsonl.gz.", dir_okay=False)],
    collection: Collection = "default",
    data_dir: DataDir = None,
    store: StoreUrl = None,
) -> None:
    """Write a whole collection to a file: documents with their versions and vectors, settings, external targets.

    Example: warp-rerank export hotels.jsonl.gz --collection hotels
    """
    count = asyncio.run(_export(settings_with(data_dir=data_dir, store=store), collection, file))
    Console(stderr=True).print(f"{count} documents written to {file}", highlight=False, markup=False)


async def _export(settings: Settings, collection: str, file: Path) -> int:
    store, unfinished = store_of(settings), file.with_name(f"{file.name}.part")
    try:
        with unfinished.open("wb") as raw, transfer.compressed(raw) as out, _progress() as progress:
            task = progress.add_task(f"{collection} -> {file}", total=None)
            async for line in transfer.exported(store, collection):
                out.write(line + b"\n")
                progress.advance(task)
        unfinished.replace(file)  # what has this name is always whole
    except OSError as error:
        raise InvalidRequestError.at("/file", f"{file} cannot be written: {error}") from error
    finally:
        with contextlib.suppress(OSError):
            unfinished.unlink(missing_ok=True)
        await store.close()
    return int(progress.tasks[task].completed) - 1


def import_(
    file: Annotated[Path, typer.Argument(help="A file that export wrote.", exists=True, dir_okay=False)],
    collection: Collection = "default",
    data_dir: DataDir = None,
    store: StoreUrl = None,
) -> None:
    """Fill a collection from a file that `export` wrote, from whichever store; again after an interruption.

    Example: warp-rerank import hotels.jsonl.gz --collection hotels --store redis://localhost
    """
    count = asyncio.run(_import(settings_with(data_dir=data_dir, store=store), collection, file))
    Console(stderr=True).print(f"{count} documents read from {file}", highlight=False, markup=False)


async def _import(settings: Settings, collection: str, file: Path) -> int:
    store = store_of(settings)
    try:
        with gzip.open(file, "rb") as lines, _progress() as progress:
            task = progress.add_task(f"{file} -> {collection}", total=None)
            async for count in transfer.imported(store, collection, iter(lines)):
                progress.advance(task, count)
    except (OSError, EOFError, zlib.error) as error:
        raise InvalidRequestError.at("/file", f"{file} cannot be read to its end: {error}") from error
    finally:
        await store.close()
    return int(progress.tasks[task].completed)


def _progress() -> Progress:
    columns = (TextColumn("{task.description}"), TextColumn("{task.completed:.0f}"))
    return Progress(*columns, console=Console(stderr=True), transient=True)

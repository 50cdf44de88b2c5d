"""`registry` and `target`: the entities of a collection, their names and the targets given for them."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
import typer
from rich.console import Console

from app.cli.options import Collection, DataDir, StoreUrl, settings_with
from app.errors import InvalidRequestError, pointing_at
from app.names import entity_key
from app.presentation import by_position
from app.registry import checked_registry, merged
from app.resources import store_of
from app.store.base import CollectionSettings, ExternalTarget, Store
from app.targets import weights_at
from warp_core import TargetDistribution
from warp_core.distributions import shares

T = TypeVar("T")

registry = typer.Typer(no_args_is_help=True, help="Which names are one entity; opinions count under the first.")
target = typer.Typer(no_args_is_help=True, help="Targets that come from elsewhere: stars, a survey, a prior.")

Entity = Annotated[str, typer.Argument(help="The entity.")]


def _with_store(work: Callable[[Store], Awaitable[T]], data_dir: Path | None, store: str | None) -> T:
    async def run() -> T:
        opened = store_of(settings_with(data_dir=data_dir, store=store))
        try:
            return await work(opened)
        finally:
            await opened.close()

    return asyncio.run(run())


async def _settings(store: Store, collection: str) -> CollectionSettings:
    settings = await store.settings(collection)
    if settings is None:
        raise InvalidRequestError.at("/collection", f"there is no collection {collection!r}")
    return settings


@registry.command("show")
def show_registry(collection: Collection = "default", data_dir: DataDir = None, store: StoreUrl = None) -> None:
    """Print the registry as JSON: each entity's other names.

    Example: warp-rerank registry show --collection hotels
    """

    async def read(opened: Store) -> CollectionSettings:
        return await _settings(opened, collection)

    _print(_with_store(read, data_dir, store).registry)


@registry.command("merge")
def merge(
    entity: Annotated[str, typer.Argument(help="The name that opinions are to count under.")],
    others: Annotated[list[str], typer.Argument(help="Names of the same entity.")],
    collection: Collection = "default",
    data_dir: DataDir = None,
    store: StoreUrl = None,
) -> None:
    """Make several names one entity; stored opinions move at once, and later ones follow.

    Example: warp-rerank registry merge breakfast brekkie "morning meal" --collection hotels
    """

    async def change(opened: Store) -> CollectionSettings:
        settings = await _settings(opened, collection)
        changed = msgspec.structs.replace(settings, registry=merged(settings.registry, entity, others))
        await opened.put_settings(collection, changed)
        return changed

    _print(_with_store(change, data_dir, store).registry)


@registry.command("split")
def split(
    names: Annotated[list[str], typer.Argument(help="Names that are to be entities of their own.")],
    collection: Collection = "default",
    data_dir: DataDir = None,
    store: StoreUrl = None,
) -> None:
    """Take names out of the registry; opinions that were given under them count under them again.

    Example: warp-rerank registry split brekkie --collection hotels
    """

    async def change(opened: Store) -> CollectionSettings:
        settings = await _settings(opened, collection)
        with pointing_at("/names"):
            gone = {entity_key("entity", name) for name in names}
        left = {entity: set(aliases) - gone for entity, aliases in settings.registry.items() if entity not in gone}
        changed = msgspec.structs.replace(settings, registry=checked_registry(left))
        await opened.put_settings(collection, changed)
        return changed

    _print(_with_store(change, data_dir, store).registry)


@target.command("show")
def show_target(
    entity: Entity, collection: Collection = "default", data_dir: DataDir = None, store: StoreUrl = None
) -> None:
    """Print the target given for an entity as JSON, shares by position; null when there is none.

    Example: warp-rerank target show breakfast --collection hotels
    """

    async def read(opened: Store) -> dict[str, float] | None:
        settings, key = await _named(opened, collection, entity)
        found = (await opened.lookup(collection, key, [])).external
        if found is None or found.positions != settings.positions:
            return None
        return by_position(shares(found.weights).tolist(), settings.scale)

    _print(_with_store(read, data_dir, store))


@target.command("set")
def set_target(
    entity: Entity,
    weights: Annotated[list[str], typer.Argument(help="POSITION=WEIGHT, for each position that has one.")],
    collection: Collection = "default",
    data_dir: DataDir = None,
    store: StoreUrl = None,
) -> None:
    """Keep a target for an entity; it is used in place of the population's.

    Example: warp-rerank target set breakfast -- -30=12 20=40 30=48
    """
    distribution = {}
    for given in weights:
        position, separator, weight = given.partition("=")
        try:
            distribution[position] = float(weight)
        except ValueError:
            separator = ""
        if not separator:
            raise InvalidRequestError.at("/weights", f"must be POSITION=WEIGHT, got {given!r}")

    async def keep(opened: Store) -> None:
        settings, key = await _named(opened, collection, entity)
        by_bin = weights_at(distribution, settings.scale, "/weights")
        with pointing_at("/weights"):
            TargetDistribution.of_weights(by_bin)
        await opened.put_target(collection, key, ExternalTarget(settings.positions, tuple(by_bin)))

    _with_store(keep, data_dir, store)


@target.command("clear")
def clear_target(
    entity: Entity, collection: Collection = "default", data_dir: DataDir = None, store: StoreUrl = None
) -> None:
    """Forget the target given for an entity; exit status 1 when there was none.

    Example: warp-rerank target clear breakfast --collection hotels
    """

    async def forget(opened: Store) -> bool:
        _, key = await _named(opened, collection, entity)
        return await opened.put_target(collection, key, None)

    raise typer.Exit(0 if _with_store(forget, data_dir, store) else 1)


async def _named(store: Store, collection: str, entity: str) -> tuple[CollectionSettings, str]:
    """The settings, and the name that the entity's opinions count under."""
    settings = await _settings(store, collection)
    with pointing_at("/entity"):
        key = entity_key("entity", entity)
    return settings, settings.aliases.get(key, key)


def _print(value: Any) -> None:
    Console().print_json(msgspec.json.encode(value).decode())

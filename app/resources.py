"""What the use cases work with, opened and closed in one place, in order."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

import faiss

from app.encoder import Encoder, open_encoder
from app.follower import Follower
from app.index import LOCAL, open_index
from app.index.base import Index
from app.index.local import LocalIndex
from app.index.snapshots import Snapshots
from app.keeper import Keeper, Keeping
from app.lookups import Lookups
from app.metrics import Metrics
from app.settings import Settings
from app.store import open_store
from app.store.base import Store
from warp_core import SELECTORS, InvalidInputError, Policy


@dataclass(frozen=True)
class Resources:
    """The open resources of one process."""

    settings: Settings
    policy: Policy
    metrics: Metrics
    store: Store
    encoder: Encoder | None
    index: Index
    follower: Follower
    lookups: Lookups


def policy_of(settings: Settings) -> Policy:
    """The decision matrix as set.

    Raises
    ------
    InvalidInputError : a variant is no selector.
    """
    for argument in ("dense_variant", "sparse_variant"):
        name = getattr(settings, argument)
        if name not in SELECTORS:
            raise InvalidInputError(argument, f"must be one of {', '.join(SELECTORS)}, got {name!r}")
    return Policy(settings.dense_em, settings.dense_variant, settings.sparse_variant)


@asynccontextmanager
async def open_resources(settings: Settings, metrics: Metrics) -> AsyncIterator[Resources]:
    """Open all, with the index caught up and the encoder warm; close all at the end.

    Raises
    ------
    InvalidInputError : a setting is wrong.
    StoreUnavailableError : the store cannot be opened.
    """
    faiss.omp_set_num_threads(1)  # a request is served by one thread; more only contend
    async with AsyncExitStack() as stack:
        policy = policy_of(settings)
        store = open_store(settings.store_url, settings.store_prefix)
        stack.push_async_callback(store.close)
        encoder = open_encoder(settings.encoder, settings.encoder_threads)
        if encoder:
            stack.callback(encoder.close)
        documents = LocalIndex(keeps_vectors=settings.index == LOCAL)
        index = open_index(settings.index, documents)
        stack.push_async_callback(index.close)
        look_s = settings.poll_interval_ms / 1000
        follower = Follower(store, documents, look_s)
        stack.push_async_callback(follower.stop)
        snapshots = Snapshots(
            settings.data_dir / "index", _name_of(settings), documents.keeps_vectors, settings.approximate_from
        )
        keeping = Keeping(settings.snapshot_changes, settings.snapshot_interval_s, look_s)
        keeper = Keeper(documents, follower, snapshots, settings.approximate_from, keeping)
        stack.push_async_callback(keeper.stop)
        await keeper.restore()
        await follower.start()
        keeper.start()
        yield Resources(settings, policy, metrics, store, encoder, index, follower, Lookups(store, index, follower))


def _name_of(settings: Settings) -> str:
    """The store, as a snapshot names it: without what may change, or must not be written down."""
    scheme, _, rest = settings.store_url.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2].partition('?')[0]} {settings.store_prefix}"

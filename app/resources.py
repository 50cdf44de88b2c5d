"""What the use cases work with, opened and closed in one place, in order."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

import faiss

from app.encoder import Encoder, open_encoder
from app.follower import Follower
from app.index import Index
from app.lookups import Lookups
from app.metrics import Metrics
from app.retention import Retention
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


def store_of(settings: Settings) -> Store:
    """The store as set, not yet connected to if it is on a server.

    Raises
    ------
    InvalidInputError : a setting is wrong.
    StoreUnavailableError : the embedded store cannot be opened.
    """
    return open_store(settings.store_url, settings.store_prefix, partitions=settings.store_partitions, ack=settings.ack)


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
        store = store_of(settings)
        stack.push_async_callback(store.close)
        encoder = open_encoder(settings.encoder, settings.encoder_threads)
        if encoder:
            stack.callback(encoder.close)
        index = Index()
        retention = Retention(store)
        stack.push_async_callback(retention.stop)
        retention.start()
        follower = Follower(store, index, settings.poll_interval_ms / 1000)
        stack.push_async_callback(follower.stop)
        await follower.start()
        yield Resources(settings, policy, metrics, store, encoder, index, follower, Lookups(store, index, follower))

"""What the use cases work with, opened and closed in one place, in order."""

from collections.abc import AsyncIterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

import faiss

from app.admission import Admission
from app.encoder import Encoder, open_encoder
from app.entities import NearestNames
from app.expansion import PoleVectors
from app.follower import Follower
from app.index import LOCAL, open_index
from app.index.base import Index
from app.index.local import LocalIndex
from app.index.snapshots import Snapshots
from app.keeper import Keeper, Keeping
from app.lookups import Lookups
from app.metrics import Metrics
from app.policy import policy_of
from app.pulse import Pulse
from app.retention import Retention
from app.settings import Settings
from app.store import open_store
from app.store.base import Store
from app.vitals import told_vitals
from warp_core import Policy

THREADS = 2
"""Beside the event loop: more would only contend with it."""


@dataclass(frozen=True)
class Resources:
    """The open resources of one process."""

    settings: Settings
    policy: Policy
    metrics: Metrics
    store: Store
    encoder: Encoder | None
    poles: PoleVectors
    names: NearestNames
    index: Index
    follower: Follower
    lookups: Lookups
    admission: Admission
    """Turns of re-rankings and searches."""
    ingests: Admission
    """Turns of ingests."""
    threads: Executor
    """For what would hold up the event loop."""


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
        names = NearestNames(encoder)
        stack.push_async_callback(names.close)
        documents = LocalIndex(keeps_vectors=settings.index == LOCAL)
        index = open_index(settings.index, documents)
        stack.push_async_callback(index.close)
        retention = Retention(store)
        stack.push_async_callback(retention.stop)
        retention.start()
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
        await stack.enter_async_context(told_vitals(metrics, index, follower))
        lookups = Lookups(store, index, follower, look_s, settings.lookup_timeout_ms / 1000)
        threads = ThreadPoolExecutor(THREADS, "beside")
        pulse = Pulse()
        stack.enter_context(pulse.beating())
        stack.callback(threads.shutdown, wait=False, cancel_futures=True)
        yield Resources(
            settings,
            policy,
            metrics,
            store,
            encoder,
            PoleVectors(encoder),
            names,
            index,
            follower,
            lookups,
            admission_of(settings, metrics, pulse),
            admission_of(settings, metrics, pulse),
            threads,
        )


def admission_of(settings: Settings, metrics: Metrics, pulse: Pulse) -> Admission:
    """Turns as set."""
    return Admission(
        settings.max_inflight,
        settings.max_queued,
        settings.max_queue_ms / 1000,
        settings.max_inflight_bytes,
        metrics.shed.inc,
        lambda: pulse.late_s,
    )


def _name_of(settings: Settings) -> str:
    """The store, as a snapshot names it: without what may change, or must not be written down."""
    scheme, _, rest = settings.store_url.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2].partition('?')[0]} {settings.store_prefix}"

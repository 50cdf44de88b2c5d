"""The index against bare FAISS and NumPy on the same vectors: ratios from one run, on one thread.

    python loadtest/index.py                  # 100,000 and 1,000,000 documents: the README's figures
    python loadtest/index.py --documents 20000
    python loadtest/index.py --vectors FILE   # a .npy of unit vectors, shape (n, dimension), instead of random ones

Times are those of the one thread's processor, so that what else the machine does counts little.
Random vectors are unit, in clusters of about 500; each document holds an opinion on one of n / 1000 entities.
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path

import faiss
import numpy as np

from app.expansion import FromIndex, adaptive, entity_gated
from app.index.base import Hit
from app.index.collection import LocalCollection
from app.index.files import read_segment, write_segment
from app.index.merging import Merger, Part
from app.index.segment import Segment, hash_of, segment_of
from app.metrics import Metrics
from app.reranking import rerank
from app.resources import open_resources
from app.schemas import CandidateInput, OpinionInput, RerankRequest, TargetInput
from app.settings import Settings
from app.store.base import IndexEntry, Vector
from warp_core import SENTIMENT_INTENSITY, Policy, TargetDistribution

DIMENSION, MEMBERS, K, POOL = 384, 1000, 20, 200
BINS = [0.3, 0.05, 0.05, 0.1, 0.1, 0.1, 0.3]
POLICY, EVEN = Policy(), TargetDistribution.of_counts([1] * 7)
SHORT = [0, 9, 9, 0, 9, 9, 0]
"""Documents of a pool in each bin, of which an even target misses three."""
NOISE = 0.8
QUERIES = 50
SAME_RECALL = 0.005


def median_us(run: Callable[[], object], budget_s: float = 1.5, least: int = 5) -> float:
    """Median time of a call in microseconds, over as many as the budget allows."""
    run()
    times: list[float] = []
    end = time.perf_counter() + budget_s
    while len(times) < least or time.perf_counter() < end:
        begin = time.thread_time()
        run()
        times.append(time.thread_time() - begin)
    return statistics.median(times) * 1e6


def clustered(n: int) -> Vector:
    """Unit vectors around random centres, shape (n, DIMENSION)."""
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((max(1, n // 500), DIMENSION), dtype=np.float32)
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    vectors = np.empty((n, DIMENSION), np.float32)
    for start in range(0, n, 50_000):
        size = min(50_000, n - start)
        noise = rng.standard_normal((size, DIMENSION), dtype=np.float32) * np.float32(NOISE / DIMENSION**0.5)
        block = centres[rng.integers(0, len(centres), size)] + noise
        vectors[start : start + size] = block / np.linalg.norm(block, axis=1, keepdims=True)
    return vectors


def mapped(vectors: Vector, directory: Path, approximate_from: int) -> Segment:
    """A segment of these documents, mapped from its file."""
    n = len(vectors)
    rng = np.random.default_rng(1)
    entities, bins = rng.integers(0, max(1, n // MEMBERS), n).tolist(), rng.choice(len(BINS), n, p=BINS).tolist()
    hashes = np.array([hash_of(f"d{i}") for i in range(n)], np.uint64)
    opinions = [{f"e{entity}": b} for entity, b in zip(entities, bins, strict=True)]
    whole = segment_of([f"d{i}" for i in range(n)], opinions, [-1] * n, vectors, hashes)
    merger = Merger([Part(whole, np.arange(n))], approximate_from, lambda: None)
    return read_segment(directory, write_segment(directory, "s.segment", merger))


def queries_of(vectors: Vector) -> Vector:
    """Queries near some of the documents."""
    rng = np.random.default_rng(2)
    chosen = vectors[np.sort(rng.choice(len(vectors), QUERIES, replace=False))]
    noise = rng.standard_normal(chosen.shape, dtype=np.float32) * np.float32(0.3 / chosen.shape[1] ** 0.5)
    near = chosen + noise
    return np.ascontiguousarray(near / np.linalg.norm(near, axis=1, keepdims=True))


def waited(runner: asyncio.Runner, run: Callable[[], object]) -> float:
    """Median microseconds of an asynchronous call, measured inside the event loop."""

    async def measured() -> float:
        await run()
        times: list[float] = []
        end = time.perf_counter() + 1.5
        while len(times) < 5 or time.perf_counter() < end:
            begin = time.thread_time()
            await run()
            times.append(time.thread_time() - begin)
        return statistics.median(times) * 1e6

    return runner.run(measured())


def expansion(index: LocalCollection, queries: Vector, runner: asyncio.Runner) -> None:
    """Entity-gated and adaptive expansion beside the bare product of the entity's rows with one query."""
    entities = cycle(list(index.segment.names))
    matrix, poles = index.segment.matrix, queries[:3]

    def source() -> FromIndex:
        entity = next(entities)
        return FromIndex(index, entity, SENTIMENT_INTENSITY, poles, None, {f"d{i}" for i in range(POOL)})

    def bare() -> object:
        rows = index.segment.members(next(entities))[0]
        return matrix[rows] @ poles[0]

    gathered = median_us(bare)
    for name, run in (
        ("entity-gated expansion", lambda: entity_gated(source(), SENTIMENT_INTENSITY, K, POLICY)),
        ("adaptive expansion, 3 bins short", lambda: adaptive(source(), SHORT, EVEN, K, POLICY)),
    ):
        row(name, waited(runner, run), "gather and multiply", gathered)


def recall(found: list[list[str]], exact: list[list[str]]) -> float:
    """Share of the exact results that were found."""
    return float(np.mean([len(set(a) & set(b)) / len(b) for a, b in zip(found, exact, strict=True)]))


def names(hits: list[Hit]) -> list[str]:
    return [name for name, _ in hits]


def search(index: LocalCollection, vectors: Vector, queries: Vector) -> None:
    """Search beside bare FAISS: the flat index for an exact one, else the inverted file that finds as much."""
    following, view = cycle(queries), index.view()
    ours = median_us(lambda: view.search(next(following), POOL))
    if not len(index.segment.centroids):
        flat = faiss.IndexFlatIP(vectors.shape[1])
        flat.add(vectors)
        theirs = median_us(lambda: flat.search(next(following)[None], POOL))
        row(f"search for {POOL}, exact", ours, "FAISS flat", theirs)
        return
    _, rows = faiss.knn(queries, vectors, POOL, metric=faiss.METRIC_INNER_PRODUCT)
    exact = [[f"d{i}" for i in found] for found in rows.tolist()]
    reached = recall([names(view.search(query, POOL)) for query in queries], exact)
    # Of FAISS's the first that finds as much, of 1, 2, 4, ... probes.
    probes, share, theirs = next(
        one for one in inverted_files(index, vectors, queries, exact) if one[1] >= reached - SAME_RECALL
    )
    against = f"FAISS IVF, {probes} probes, recall {share:.3f}"
    row(f"search for {POOL}, recall {reached:.3f}", ours, against, theirs)


def inverted_files(
    index: LocalCollection, vectors: Vector, queries: Vector, exact: list[list[str]]
) -> Iterator[tuple[int, float, float]]:
    """FAISS's inverted file over the same centroids, with 1, 2, 4, ... probes: probes, recall, microseconds."""
    centroids = np.ascontiguousarray(index.segment.centroids[:-1])
    coarse = faiss.IndexFlatIP(vectors.shape[1])
    coarse.add(centroids)
    inverted = faiss.IndexIVFFlat(coarse, vectors.shape[1], len(centroids), faiss.METRIC_INNER_PRODUCT)
    inverted.is_trained = True
    inverted.add(vectors)
    following = cycle(queries)
    probes = 1
    while probes <= len(centroids):
        inverted.nprobe = probes
        _, rows = inverted.search(queries, POOL)
        share = recall([[f"d{i}" for i in found] for found in rows.tolist()], exact)
        yield probes, share, median_us(lambda: inverted.search(next(following)[None], POOL))
        probes *= 2


def replacing(index: LocalCollection) -> None:
    """Replace documents one after another, and search among what is new."""
    n = len(index.segment)
    following = iter(range(n))
    vector = np.array(index.segment.matrix[0])

    def replace() -> None:
        index.put(IndexEntry("c", f"d{next(following)}", True, False, {"e0": 3}, None, vector))

    times = []
    for _ in range(max(1000, n // 100)):
        begin = time.thread_time()
        replace()
        times.append(time.thread_time() - begin)
    us = np.array(times) * 1e6
    print(f"| replace a document | {np.median(us):.1f} (largest of {len(us):,}: {us.max():.0f}) | | | |")


async def bypass(runs: int = 300) -> float:
    """Median microseconds of the expansion stage of a re-ranking whose pool lacks nothing."""
    candidates = [
        CandidateInput(id=f"c{i}", score=1 - i / POOL, opinions=[OpinionInput("room", si=float(10 * (i % 7) - 30))])
        for i in range(POOL)
    ]
    request = RerankRequest(entity="room", candidates=candidates, target=TargetInput(source="uniform"))
    with tempfile.TemporaryDirectory() as directory:
        async with open_resources(Settings(data_dir=Path(directory)), Metrics()) as resources:
            answers = [await rerank(request, resources) for _ in range(runs)]
    if any(answer.decision.added or answer.decision.deficit for answer in answers):
        raise RuntimeError("the pool lacked something")
    return statistics.median(answer.timings_ms["expansion"] for answer in answers) * 1000


def row(name: str, ours: float, against: str, theirs: float) -> None:
    print(f"| {name} | {ours:,.0f} | {against} | {theirs:,.0f} | {ours / theirs:.2f} |", flush=True)


def measure(vectors: Vector) -> None:
    """All figures over one collection."""
    print(f"\n{len(vectors):,} documents of {vectors.shape[1]} numbers, about {MEMBERS:,} an entity\n")
    queries = queries_of(vectors)
    with tempfile.TemporaryDirectory() as directory, asyncio.Runner() as runner:
        begin = time.perf_counter()
        segment = mapped(vectors, Path(directory), Settings().approximate_from)
        print(f"segment made and written in {time.perf_counter() - begin:.0f} s\n")
        print("| what | us | against | us | ratio |\n| --- | ---: | --- | ---: | ---: |")
        index = LocalCollection(segment)
        expansion(index, queries, runner)
        search(index, vectors, queries)
        replacing(index)
        following, view = cycle(queries), index.view()
        ours = median_us(lambda: view.search(next(following), POOL))
        print(f"| search, with a hundredth replaced since | {ours:,.0f} | | | |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, nargs="*", default=[100_000, 1_000_000])
    parser.add_argument("--vectors", type=Path, help="a .npy file of unit vectors")
    given = parser.parse_args()
    faiss.omp_set_num_threads(1)
    if given.vectors:
        measure(np.ascontiguousarray(np.load(given.vectors), np.float32))
    else:
        for n in given.documents:
            measure(clustered(n))
        print(f"\nexpansion that bypasses itself: {asyncio.run(bypass()):.1f} us")

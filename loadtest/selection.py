"""Selectors against the papers' literal form, the form vectorised over the pool, and pyversity: ratios from one run.

    python loadtest/selection.py            # the README's figures
    python loadtest/selection.py --growth   # over pool sizes up to 100,000 and list lengths up to 100

Every figure is the median of several runs in one process, with the making of the input records included on our side.
"""

import argparse
import statistics
import time
from collections.abc import Callable

import literal
import numpy as np

from warp_core import SELECTORS, CandidatePool, TargetDistribution, native

N, K, BINS, DIMENSION = 200, 20, 7, 384
LITERAL = {
    "w1_minimizer": literal.w1_minimizer,
    "w1_mmr": literal.w1_mmr,
    "js_minimizer": literal.js_minimizer,
    "js_mmr": literal.js_mmr,
    "w1_exact": literal.w1_minimizer,  # has no literal form; the greedy one is what it is compared with
    "wassrank_ot": literal.wassrank_ot,
}
VECTORISED = {
    "w1_minimizer": literal.w1_minimizer_vectorised,
    "w1_mmr": literal.w1_mmr_vectorised,
    "js_minimizer": literal.js_minimizer_vectorised,
    "js_mmr": literal.js_mmr_vectorised,
    "w1_exact": literal.w1_minimizer_vectorised,
}


def median_us(run: Callable[[], object], budget_s: float = 0.4, least: int = 5) -> float:
    """Median time of a call in microseconds, over as many as the budget allows."""
    run()
    times: list[float] = []
    end = time.perf_counter() + budget_s
    while len(times) < least or time.perf_counter() < end:
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    return statistics.median(times) * 1e6


def problem(n: int, seed: int = 7) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Relevances, bins and the counts of a skewed target."""
    rng = np.random.default_rng(seed)
    return rng.random(n), rng.choice(BINS, n, p=[0.3, 0.05, 0.05, 0.1, 0.1, 0.1, 0.3]), rng.integers(1, 90, BINS)


def ours(name: str, relevance: np.ndarray, bins: np.ndarray, counts: np.ndarray, k: int) -> Callable[[], object]:
    listed = counts.tolist()

    def run() -> object:
        return SELECTORS[name](CandidatePool(relevance, bins), TargetDistribution.of_counts(listed), k).indices

    return run


def against_the_papers() -> None:
    """Times of each W1 and JS selector, as ratios to the literal and the vectorised form."""
    relevance, bins, counts = problem(N)
    shares = counts / counts.sum()
    print(f"N = {N}, k = {K}, m = {BINS}; compiled form: {'yes' if native.IS_COMPILED else 'no'}\n")
    print("| selector | us | literal form / ours | vectorised over N / ours |")
    print("| --- | ---: | ---: | ---: |")
    for name, written_out in LITERAL.items():
        if name not in SELECTORS:
            continue
        us = median_us(ours(name, relevance, bins, counts, K))
        slow = median_us(lambda run=written_out: run(relevance, bins, shares, K), least=3)
        vectorised = VECTORISED.get(name)
        quick = median_us(lambda run=vectorised: run(relevance, bins, shares, K)) if vectorised else None
        print(f"| `{name}` | {us:.0f} | {slow / us:.0f} | {'-' if quick is None else f'{quick / us:.1f}'} |")


def against_pyversity() -> None:
    """MMR and DPP over embeddings, as ratios to pyversity."""
    try:
        from pyversity import dpp, mmr
    except ImportError:
        print("\npyversity is not installed (pip install pyversity): MMR and DPP are left out")
        return
    relevance, bins, counts = problem(N)
    vectors = np.random.default_rng(1).normal(size=(N, DIMENSION))
    target = TargetDistribution.of_counts(counts.tolist())
    print(f"\n{DIMENSION}-dimensional embeddings\n\n| selector | us | ours / pyversity's |\n| --- | ---: | ---: |")
    for name, theirs in (("mmr", mmr), ("kdpp", dpp)):
        us = median_us(lambda n=name: SELECTORS[n](CandidatePool(relevance, bins, embeddings=vectors), target, K))
        them = median_us(lambda run=theirs: run(vectors, relevance, K))
        print(f"| `{name}` | {us:.0f} | {us / them:.2f} |")


def growth() -> None:
    """Times over N and k, the ratio to the vectorised form, and the exponent of N."""
    sizes, lengths = (50, 200, 1_000, 10_000, 100_000), (5, 20, 100)
    print("\nmicroseconds (vectorised over N / ours)\n")
    print("| selector, k | " + " | ".join(f"N = {n:,}" for n in sizes) + " | exponent of N |")
    print("| --- | " + "---: | " * (len(sizes) + 1))
    for name, vectorised in VECTORISED.items():
        if name not in SELECTORS:
            continue
        for k in lengths:
            cells, times = [], []
            for n in sizes:
                relevance, bins, counts = problem(n)
                us = median_us(ours(name, relevance, bins, counts, k), 0.2)
                them = median_us(
                    lambda r=relevance, b=bins, c=counts, k=k, run=vectorised: run(r, b, c / c.sum(), k), 0.2, 3
                )
                times.append(us)
                cells.append(f"{us:,.0f} ({them / us:.1f})")
            exponent = np.polyfit(np.log(sizes[2:]), np.log(times[2:]), 1)[0]
            print(f"| `{name}`, {k} | " + " | ".join(cells) + f" | {exponent:.2f} |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--growth", action="store_true", help="over pool sizes and list lengths")
    if parser.parse_args().growth:
        growth()
    else:
        against_the_papers()
        against_pyversity()

"""R19: what leaks is found, and in a short soak nothing does."""

from collections import Counter
from dataclasses import replace

import pytest

from loadtest.production.soak import Held, Soaked, soak

SECONDS = [float(second) for second in range(100)]
HELD = Held(descriptors=24, threads=10, index_files=4, store_mb=10.0)
FLAT = Soaked(SECONDS, [300 + second % 3 for second in SECONDS], HELD, HELD, 20_000, 50_000, Counter())
"""Memory goes up and down, and stays."""


def test_what_stays_the_same_leaks_nothing() -> None:
    assert FLAT.leaks() == []
    assert replace(FLAT, after=replace(HELD, descriptors=20, threads=9, index_files=2)).leaks() == []


@pytest.mark.parametrize(("mb_a_second", "requests", "leaks"), [(0.1, 50_000, True), (0.05, 50_000, False)])
def test_memory_that_grows_by_more_than_caches_do_is_a_leak(mb_a_second: float, requests: int, leaks: bool) -> None:
    grown = replace(FLAT, rss_mb=[300 + mb_a_second * second for second in SECONDS], requests=requests)
    assert grown.grown_mb == pytest.approx(99 * mb_a_second)
    assert grown.leaks() == (["memory"] if leaks else [])


def test_caches_may_fill_before_it_is_warm() -> None:
    filling = replace(FLAT, rss_mb=[300 + 0.2 * second for second in SECONDS], warm_up=5_000)
    assert filling.leaks() == []
    assert replace(filling, warm_up=20_000).leaks() == ["memory"]


def test_in_a_long_run_one_per_cent_in_100_000_requests_is_a_leak() -> None:
    grown = replace(FLAT, rss_mb=[300 + 0.05 * second for second in SECONDS], requests=100_000)
    assert grown.share_in_100k == pytest.approx(0.0165)
    assert grown.leaks() == ["memory"]
    assert replace(grown, requests=200_000).leaks() == []


@pytest.mark.parametrize(
    ("after", "leak"),
    [
        (replace(HELD, descriptors=25), "descriptors"),
        (replace(HELD, threads=11), "threads"),
        (replace(HELD, index_files=7), "index files"),
    ],
)
def test_one_more_of_what_is_held_is_a_leak(after: Held, leak: str) -> None:
    assert replace(FLAT, after=after).leaks() == [leak]


async def test_mixed_load_is_answered_as_it_should_be_and_leaves_nothing_open() -> None:
    """F115. Caches still fill in so short a time, so memory may grow here, but not by much."""
    soaked = await soak(12)
    assert soaked.requests > 100
    assert (soaked.wrong, soaked.leaks()) == (Counter(), []), f"{soaked.before}, then {soaked.after}"

"""Plain top-k: the baseline that every other selector is compared with."""

from warp_core.candidates import CandidatePool, Options
from warp_core.selectors.base import Selector
from warp_core.target import TargetDistribution


def _pick(pool: CandidatePool, _target: TargetDistribution, k: int, _options: Options) -> list[int]:
    picked: list[int] = pool.by_relevance[:k].tolist()
    return picked


top_k = Selector(_pick, needs_bins=False)
"""The k most relevant candidates; equals in input order. O(N log N)."""

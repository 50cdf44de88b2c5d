"""Which expansion and which selector a pool calls for (WARP, table 3), and the reason in words.

One number decides: the attainable entity match, the EM that filtering could reach. Table 1 of the paper shows two
domains with the same top-k EM of which one is dense and one sparse; what differs is what filtering reaches.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from warp_core.distributions import BoolArray

Expansion = Literal["none", "entity_gated", "adaptive"]


@dataclass(frozen=True)
class Policy:
    """The decision matrix; every cell is a setting.

    Parameters
    ----------
    dense_em : from this attainable EM on, a pool is dense (0 .. 1).
    dense_variant, sparse_variant : the selector for either kind of pool.
    short_pool_expansion : what is done when a pool is not dense, or lacks opinions.
    """

    dense_em: float = 0.85
    dense_variant: str = "w1_minimizer"
    sparse_variant: str = "w1_mmr"
    short_pool_expansion: Expansion = "entity_gated"

    def expansion(self, em_attainable: float, deficit: bool) -> tuple[Expansion, str]:
        """The expansion that a pool calls for, and why."""
        if em_attainable < self.dense_em:
            return self.short_pool_expansion, f"the pool attains an EM of {em_attainable:.2f}, below {self.dense_em:g}"
        if deficit:
            return self.short_pool_expansion, "the pool is short of opinions that the population holds"
        return "none", f"the pool attains an EM of {em_attainable:.2f} and lacks no opinion"

    def variant(self, em_attainable: float) -> tuple[str, str]:
        """The selector that a pool, after expansion, calls for, and why."""
        if em_attainable >= self.dense_em:
            return self.dense_variant, f"{self.dense_variant} since it is dense (attainable EM {em_attainable:.2f})"
        return self.sparse_variant, f"{self.sparse_variant} since it is sparse (attainable EM {em_attainable:.2f})"


def attainable_em(matched: Sequence[bool] | BoolArray, k: int) -> float:
    """The EM that filtering could reach: min(1, entity-matched in the pool / k).

    Parameters
    ----------
    matched : whether each candidate of the pool matches the entity, shape (N,).
    k : at least 1.
    """
    return min(1.0, sum(matched) / k)

"""Which expansion and which selector a pool calls for (WARP, table 3), and the reason in words.

One number decides: the attainable entity match, the EM that filtering could reach. Table 1 of the paper shows two
domains with the same top-k EM of which one is dense and one sparse; what differs is what filtering reaches.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from warp_core.deficit import DEFICIT_RATIO
from warp_core.distributions import BoolArray

Expansion = Literal["none", "entity_gated", "adaptive"]


@dataclass(frozen=True)
class Policy:
    """The decision matrix and the budgets of both expansions; every number is a setting of the service or a collection.

    Parameters
    ----------
    dense_em : from this attainable EM on, a pool is dense (0 .. 1).
    dense_variant, sparse_variant : the selector for either kind of pool.
    short_pool_expansion : what is done when a pool is not dense, or lacks opinions.
    deficit_ratio : delta; a bin below this part of its share of the target is short (0 .. 1).
    n_exp : most documents that adaptive expansion adds of each short bin; None: k.
    n2 : most documents that entity-gated expansion adds; None: 5 k.
    tau : entity-gated expansion leaves out documents less similar to the question than this (-1 .. 1); None: none.
    """

    dense_em: float = 0.85
    dense_variant: str = "w1_minimizer"
    sparse_variant: str = "w1_mmr"
    short_pool_expansion: Expansion = "entity_gated"
    deficit_ratio: float = DEFICIT_RATIO
    n_exp: int | None = None
    n2: int | None = None
    tau: float | None = None

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

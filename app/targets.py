"""Which distribution a request aims at: its own, or the population's as the store has it."""

from collections.abc import Mapping

from app.errors import InvalidRequestError, escaped, pointing_at
from app.schemas import TargetInput
from app.store.base import Lookup
from warp_core import OpinionScale, TargetDistribution, target_distribution


def target_for(asked: TargetInput, lookup: Lookup) -> TargetDistribution:
    """The target that was asked for.

    Raises
    ------
    InvalidRequestError : the distribution given has a position that the scale has not, or no usable weights.
    """
    scale = lookup.settings.scale
    if asked.distribution is not None:
        return _given(asked.distribution, scale)
    if asked.source == "uniform":
        return TargetDistribution.of_counts([1] * scale.n_bins, "uniform", 0, 0.0)
    return target_distribution(lookup.entity_counts, lookup.domain_counts)


def _given(distribution: Mapping[str, float], scale: OpinionScale) -> TargetDistribution:
    weights = [0.0] * scale.n_bins
    for key, weight in distribution.items():
        pointer = f"/target/distribution/{escaped(key)}"
        if weight < 0:
            raise InvalidRequestError.at(pointer, f"must not be negative, got {weight:g}")
        with pointing_at(pointer):
            weights[scale.bin_at(_number(key))] += weight
    with pointing_at("/target/distribution"):
        return TargetDistribution.of_weights(weights)


def _number(key: str) -> float:
    try:
        return float(key)
    except ValueError:
        return float("nan")  # no scale has it, and the error names the field

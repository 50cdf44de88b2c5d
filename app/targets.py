"""Which distribution a request aims at: its own, one that was given for the entity, or the population's."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from app.errors import InvalidRequestError, escaped, pointing_at
from app.schemas import TargetInput
from app.store.base import ExternalTarget, Lookup
from app.store.facets import ALL, of_day, of_group
from warp_core import OpinionScale, TargetDistribution, target_distribution

MAX_WINDOW_DAYS = 3650
MAX_HALF_LIFE_DAYS = 365
HALF_LIVES = 10
"""Opinions older than this many half-lives, of a weight below 1/1000, are not counted."""
WEIGHT_UNIT = 2**16
"""Weights of a half-life are whole numbers of this, so that the target stays exact."""

_DAYS = re.compile(r"([1-9]\d{0,4})d", re.ASCII)


@dataclass(frozen=True)
class Population:
    """Whose opinions count for a target: the facets to add up, and the weight of each, in 1/unit."""

    facets: Sequence[str] = (ALL,)
    weights: Sequence[int] = (1,)
    unit: int = 1

    def counts(self, by_facet: Sequence[Sequence[int]]) -> list[int]:
        """The weighted sum of the facets' counts, by bin."""
        if len(by_facet) == self.unit == self.weights[0] == 1:
            return list(by_facet[0])
        rows = zip(self.weights, by_facet, strict=True)
        return [sum(column) for column in zip(*([w * n for n in row] for w, row in rows), strict=True)]


def population_of(asked: TargetInput, now: datetime | None = None) -> Population:
    """The population that a request asks about.

    Raises
    ------
    InvalidRequestError : a window, half-life or group breaks a rule, or does not go with what else is asked for.
    """
    recency = [name for name in ("window", "half_life") if getattr(asked, name) is not None]
    wanted = [*recency, *(["group"] if asked.group is not None else [])]
    if wanted and (asked.distribution is not None or asked.source not in ("auto", "corpus")):
        other = "distribution" if asked.distribution is not None else f"source {asked.source}"
        raise InvalidRequestError.at(f"/target/{wanted[0]}", f"does not go with a target of {other}")
    if asked.group is not None:
        return Population((_group(asked.group, recency),))
    if not recency:
        return Population()
    window = _days("window", asked.window, MAX_WINDOW_DAYS)
    half_life = _days("half_life", asked.half_life, MAX_HALF_LIFE_DAYS)
    today = (now or datetime.now(UTC)).date()
    ages = range(min(window or MAX_WINDOW_DAYS, HALF_LIVES * half_life if half_life else MAX_WINDOW_DAYS))
    facets = [of_day(today - timedelta(days=age)) for age in ages]
    if half_life is None:
        return Population(facets, [1] * len(facets))
    return Population(facets, [round(WEIGHT_UNIT * 2 ** (-age / half_life)) for age in ages], WEIGHT_UNIT)


def _group(group: Mapping[str, str], recency: Sequence[str]) -> str:
    if recency:
        raise InvalidRequestError.at("/target/group", f"does not go with a {recency[0]}")
    if len(group) != 1:
        raise InvalidRequestError.at(
            "/target/group", f'must be one attribute and its value, {{"traveller": "family"}}, got {len(group)}'
        )
    ((attribute, value),) = group.items()
    return of_group(attribute, value)


def _days(name: str, given: str | None, most: int) -> int | None:
    if given is None:
        return None
    found = _DAYS.fullmatch(given)
    if not found or int(found[1]) > most:
        raise InvalidRequestError.at(f"/target/{name}", f'must be days, "1d" .. "{most}d", got {given[:40]!r}')
    return int(found[1])


def target_for(asked: TargetInput, lookup: Lookup, population: Population) -> TargetDistribution:
    """The target that was asked for.

    Raises
    ------
    InvalidRequestError : the distribution given has a position that the scale has not, or no usable weights; or an
        external target is asked for, and none was given for the entity.
    """
    scale = lookup.settings.scale
    if asked.distribution is not None:
        weights = weights_at(asked.distribution, scale, "/target/distribution")
        with pointing_at("/target/distribution"):
            return TargetDistribution.of_weights(weights)
    if asked.source == "uniform":
        return TargetDistribution.of_counts([1] * scale.n_bins, "uniform", 0, 0.0)
    own, domain = (population.counts(counts) for counts in (lookup.entity_counts, lookup.domain_counts))
    external = _usable(lookup.external, scale)
    if external and asked.source != "corpus" and population == Population():
        return TargetDistribution.of_weights(external.weights, "external", sum(own))
    if asked.source == "external":
        raise InvalidRequestError.at("/target/source", "no external target was given for this entity")
    return _of_counts(tuple(own), tuple(domain), unit=population.unit)


_of_counts = lru_cache(maxsize=1024)(target_distribution)
"""Many ask about the same entity between two changes of its counts."""


def _usable(external: ExternalTarget | None, scale: OpinionScale) -> ExternalTarget | None:
    """The external target, unless the collection has got another scale since it was given."""
    return external if external and external.positions == scale.positions else None


def weights_at(distribution: Mapping[str, float], scale: OpinionScale, pointer: str) -> list[float]:
    """Weights by position, as JSON has them -> weights by bin.

    Raises
    ------
    InvalidRequestError : a position is none of the scale's, or a weight is negative; below `pointer`.
    """
    weights = [0.0] * scale.n_bins
    for key, weight in distribution.items():
        at = f"{pointer}/{escaped(key)}"
        if weight < 0:
            raise InvalidRequestError.at(at, f"must not be negative, got {weight:g}")
        with pointing_at(at):
            weights[scale.bin_at(_number(key))] += weight
    return weights


def _number(key: str) -> float:
    try:
        return float(key)
    except ValueError:
        return float("nan")  # no scale has it, and the error names the field

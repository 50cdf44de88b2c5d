"""What decides: the service's settings, and where a collection has its own, those."""

from dataclasses import fields, replace
from functools import lru_cache

from app.settings import Settings
from app.store.base import CollectionPolicy
from warp_core import SELECTORS, InvalidInputError, Policy

_NUMBERS = tuple(field.name for field in fields(Policy))


def policy_of(settings: Settings) -> Policy:
    """The decision matrix as the service has it.

    Raises
    ------
    InvalidInputError : a variant is no selector.
    """
    return _checked(
        Policy(
            settings.dense_em,
            settings.dense_variant,
            settings.sparse_variant,
            settings.short_pool_expansion,
            settings.deficit_ratio,
        )
    )


@lru_cache(maxsize=1024)
def policy_for(service: Policy, own: CollectionPolicy) -> Policy:
    """The decision matrix for a collection.

    Raises
    ------
    InvalidInputError : a variant of its own is no selector.
    """
    given = {name: value for name in _NUMBERS if (value := getattr(own, name)) is not None}
    return _checked(replace(service, **given)) if given else service


def _checked(policy: Policy) -> Policy:
    for argument in ("dense_variant", "sparse_variant"):
        name = getattr(policy, argument)
        if name not in SELECTORS:
            raise InvalidInputError(argument, f"must be one of {', '.join(SELECTORS)}, got {name[:40]!r}")
    return policy

"""Checks of arguments that several functions share: what passes is plain Python, what does not names its argument."""

import operator
from collections.abc import Collection, Sequence
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from warp_core.errors import InvalidInputError


def whole_number(argument: str, value: Any, at_least: int) -> int:
    """A whole number, plain or NumPy's, but no truth value.

    Raises
    ------
    InvalidInputError : it is something else, or too small.
    """
    if type(value) is int and value >= at_least:
        return value
    if isinstance(value, float | np.floating) and value.is_integer():
        value = int(value)
    try:
        number = operator.index(value)
    except TypeError:
        number = at_least - 1
    if number < at_least or isinstance(value, bool | np.bool_):
        raise InvalidInputError(argument, f"must be a whole number of at least {at_least}, got {value!r}")
    return number


def number_between(argument: str, value: Any, low: float, high: float) -> float:
    """A number in low .. high, plain or NumPy's, but no truth value.

    Raises
    ------
    InvalidInputError : it is something else.
    """
    real = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not real or not low <= value <= high:
        raise InvalidInputError(argument, f"must be a number in {low:g} .. {high:g}, got {value!r}")
    return float(value)


def share(argument: str, value: Any) -> float:
    """A number in 0 .. 1; errors as `number_between`."""
    return number_between(argument, value, 0, 1)


def one_of(argument: str, value: Any, allowed: Collection[str]) -> None:
    """Refuse a name that is not among the allowed ones.

    Raises
    ------
    InvalidInputError : it is not.
    """
    if not isinstance(value, str) or value not in allowed:
        raise InvalidInputError(argument, f"must be one of {', '.join(allowed)}, got {value!r}")


def counts(argument: str, values: Sequence[int], length: int | None = None) -> list[int]:
    """Non-negative whole numbers, one a bin.

    Raises
    ------
    InvalidInputError : there are none, not `length`, or one is something else.
    """
    if not len(values) or (length is not None and len(values) != length):
        raise InvalidInputError(argument, f"{length or 'at least 1'} counts are needed, got {len(values)}")
    return [whole_number(argument, value, 0) for value in values]


def weights(argument: str, values: ArrayLike, length: int | None = None) -> list[float]:
    """Finite, non-negative numbers with a positive sum, one a bin; scaled so that the largest is 1.

    Raises
    ------
    InvalidInputError : they are something else, or not `length` many.
    """
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise InvalidInputError(argument, f"must be a list of numbers ({error})") from error
    if array.ndim != 1 or not array.size or (length is not None and array.size != length):
        raise InvalidInputError(argument, f"{length or 'at least 1'} weights are needed, got shape {array.shape}")
    if array.dtype.kind not in "iuf":
        raise InvalidInputError(argument, f"must be numbers, got {array.tolist()[:10]}")
    listed: list[float] = array.tolist()
    if not all(map(isfinite, listed)) or min(listed) < 0:
        raise InvalidInputError(argument, f"must be finite and not negative, got {listed}")
    peak = max(listed)
    if peak == 0:
        raise InvalidInputError(argument, "at least one weight must be above zero")
    return [w / peak for w in listed]

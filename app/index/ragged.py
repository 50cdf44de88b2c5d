"""Lists of different lengths in one array: list i is values[ends[i]:ends[i + 1]], and ends[0] is 0."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Value = TypeVar("Value", bound=np.generic)
Ends = NDArray[np.int64]
Bytes = NDArray[np.uint8]


def ends_of(lengths: Iterable[int] | NDArray[np.int64]) -> Ends:
    """The `ends` of lists of these lengths."""
    listed = lengths if isinstance(lengths, np.ndarray) else np.array(list(lengths), np.int64)
    ends = np.zeros(len(listed) + 1, np.int64)
    listed.cumsum(out=ends[1:])
    return ends


def positions(ends: Ends, chosen: NDArray[np.int64]) -> tuple[NDArray[np.int64], Ends]:
    """Where the values of some of the lists stand, in the order given, and the ends of the lists that they make."""
    starts = ends[chosen]
    lengths = ends[chosen + 1] - starts
    new = ends_of(lengths)
    where = np.repeat(starts - new[:-1], lengths)
    where += np.arange(new[-1])
    return where, new


def gathered(values: NDArray[Value], ends: Ends, chosen: NDArray[np.int64]) -> tuple[NDArray[Value], Ends]:
    """Some of the lists, in the order given."""
    where, new = positions(ends, chosen)
    return values[where], new


def joined(parts: Sequence[tuple[NDArray[Value], Ends]]) -> tuple[NDArray[Value], Ends]:
    """The lists of all parts, one part after another; there is at least one part."""
    lengths = np.concatenate([np.diff(ends) for _, ends in parts])
    return np.concatenate([values for values, _ in parts]), ends_of(lengths)


def packed(texts: Sequence[str]) -> tuple[Bytes, Ends]:
    """Texts as UTF-8."""
    encoded = [text.encode() for text in texts]
    return np.frombuffer(b"".join(encoded), np.uint8), ends_of(map(len, encoded))


def unpacked(values: Bytes, ends: Ends) -> list[str]:
    """The texts again."""
    whole, limits = values.tobytes(), ends.tolist()
    if whole.isascii():
        text = whole.decode()
        return [text[a:b] for a, b in pairwise(limits)]
    return [whole[a:b].decode() for a, b in pairwise(limits)]

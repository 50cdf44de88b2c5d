"""Counters, gauges and histograms as numbers in one block of memory, and Prometheus' text of them.

A request touches about twenty of them, so that each has to cost next to nothing: 10 us a request, where
prometheus_client takes 35, and 58 when worker processes share (more than the selection itself). What makes it possible
is that all series are known before the first request: no label takes a value that is not listed.

One thread a process may write. Worker processes add theirs up by way of `app.shared_numbers`.
"""

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from math import isnan, nan
from pathlib import Path

from app.shared_numbers import Numbers, SharedNumbers


class Number:
    """One counter or gauge."""

    __slots__ = ("_at", "_numbers")

    def __init__(self, numbers: Numbers, at: int) -> None:
        self._numbers = numbers
        self._at = at

    def inc(self, by: float = 1) -> None:
        """Add to it."""
        self._numbers[self._at] += by

    def set(self, value: float) -> None:
        """Replace it."""
        self._numbers[self._at] = value


class Buckets:
    """The sum of the observed values, and how many of them fell in each bucket."""

    __slots__ = ("_at", "_bounds", "_numbers")

    def __init__(self, numbers: Numbers, at: int, bounds: Sequence[float]) -> None:
        self._numbers = numbers
        self._at = at
        self._bounds = bounds

    def observe(self, value: float) -> None:
        """Count a value in the first bucket whose bound is not below it."""
        numbers, at = self._numbers, self._at
        numbers[at] += value
        numbers[at + 1 + bisect_left(self._bounds, value)] += 1


class Family(ABC):
    """A metric: its name, its meaning, its labels, and every combination of their values that it will ever have."""

    kind = ""
    width = 1
    """Numbers that one combination takes."""

    def __init__(
        self, name: str, text: str, labels: Sequence[str] = (), combinations: Iterable[tuple[str, ...]] = ((),)
    ) -> None:
        self.name = name
        self.text = text
        self.combinations = tuple(dict.fromkeys(combinations))
        self._labels = tuple(labels)

    @abstractmethod
    def bind(self, numbers: Numbers, begin: int) -> None:
        """Keep the numbers of all combinations at a place of a block."""

    def lines(self, begin: int) -> Iterator[tuple[str, slice]]:
        """The series by name and labels, each with the numbers of a block whose sum is its value."""
        for at, combination in enumerate(self.combinations, begin):
            yield self.name + self._braces(combination), slice(at, at + 1)

    def _braces(self, combination: Sequence[str], **more: str) -> str:
        pairs = [*zip(self._labels, combination, strict=True), *more.items()]
        return "{" + ",".join(f'{name}="{value}"' for name, value in pairs) + "}" if pairs else ""


class Counter(Family):
    """A number that only grows; its name ends in `_total`."""

    kind = "counter"

    def bind(self, numbers: Numbers, begin: int) -> None:
        self._children = {c: Number(numbers, at) for at, c in enumerate(self.combinations, begin)}

    def labels(self, *values: str) -> Number:
        """The series with these label values; KeyError unless they are among the combinations."""
        return self._children[values]

    def inc(self, by: float = 1) -> None:
        """Add to the only series of a counter without labels."""
        self._children[()].inc(by)


class Gauge(Family):
    """A number that comes and goes.

    Parameters
    ----------
    merge : what the living processes say -> what is told. One that has only just begun says nothing yet.
    """

    kind = "gauge"

    def __init__(self, name: str, text: str, merge: Callable[[Iterable[float]], float]) -> None:
        super().__init__(name, text)
        self.merge = merge

    def bind(self, numbers: Numbers, begin: int) -> None:
        self._number = Number(numbers, begin)

    def set(self, value: float) -> None:
        """Replace it."""
        self._number.set(value)


class Histogram(Family):
    """How values are distributed over buckets, given by their upper bounds in ascending order."""

    kind = "histogram"

    def __init__(
        self,
        name: str,
        text: str,
        bounds: Sequence[float],
        labels: Sequence[str] = (),
        combinations: Iterable[tuple[str, ...]] = ((),),
    ) -> None:
        super().__init__(name, text, labels, combinations)
        self.bounds = tuple(bounds)
        self.width = len(bounds) + 2  # the sum, and the bucket above the last bound

    def bind(self, numbers: Numbers, begin: int) -> None:
        self._children = {
            combination: Buckets(numbers, begin + i * self.width, self.bounds)
            for i, combination in enumerate(self.combinations)
        }

    def labels(self, *values: str) -> Buckets:
        """The series with these label values; KeyError unless they are among the combinations."""
        return self._children[values]

    def lines(self, begin: int) -> Iterator[tuple[str, slice]]:
        """Of each combination the buckets, each with all below it, the sum and the count."""
        for i, combination in enumerate(self.combinations):
            total = begin + i * self.width
            first, end = total + 1, total + self.width
            for last, bound in enumerate([*map(repr, self.bounds), "+Inf"], first + 1):
                yield f"{self.name}_bucket{self._braces(combination, le=bound)}", slice(first, last)
            yield f"{self.name}_sum{self._braces(combination)}", slice(total, first)
            yield f"{self.name}_count{self._braces(combination)}", slice(first, end)


class Block:
    """The numbers of all families: those of this process, and in the text of all processes that share a directory.

    Parameters
    ----------
    directory : where the processes of one service keep their numbers; None for a process of its own.

    Raises
    ------
    OSError : the directory cannot be written.
    """

    def __init__(self, families: Sequence[Family], directory: Path | None = None) -> None:
        *begins, size = accumulate((family.width * len(family.combinations) for family in families), initial=0)
        lines = [list(family.lines(begin)) for family, begin in zip(families, begins, strict=True)]
        self._text = [
            (f"# HELP {family.name} {family.text}\n# TYPE {family.name} {family.kind}\n", some)
            for family, some in zip(families, lines, strict=True)
        ]
        self._gauges = [(begin, f.merge) for f, begin in zip(families, begins, strict=True) if isinstance(f, Gauge)]
        self._shared = SharedNumbers(directory, repr(lines), size) if directory else None
        self._numbers = self._shared.own if self._shared else memoryview(bytearray(size * 8)).cast("d")
        for at, _ in self._gauges:
            self._numbers[at] = nan
        for family, begin in zip(families, begins, strict=True):
            family.bind(self._numbers, begin)

    def text(self) -> str:
        """All series with their values, in Prometheus' text format."""
        others = self._shared.others() if self._shared else ()
        everybody = [(self._numbers, True), *others]
        sums = [sum(column) for column in zip(*(numbers for numbers, _ in everybody), strict=True)]
        for at, merge in self._gauges:
            said = [numbers[at] for numbers, alive in everybody if alive and not isnan(numbers[at])]
            sums[at] = merge(said) if said else 0.0
        told = []
        for header, lines in self._text:
            told.append(header)
            told += [f"{name} {sum(sums[where])!r}\n" for name, where in lines]
        return "".join(told)

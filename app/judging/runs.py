"""What is judged: questions, each with the documents that every method chose for it, one JSON object a line."""

from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from app.decoding import BodyDecoder
from app.errors import InvalidRequestError, escaped
from app.schemas import Strict
from warp_core import InvalidInputError

Text = Annotated[str, Meta(min_length=1)]
Weight = Annotated[float, Meta(ge=0)]


class Population(Strict):
    """How many hold an opinion below, at and above the middle of the scale: counts, or shares."""

    negative: Weight
    neutral: Weight
    positive: Weight


class Run(Strict):
    """A question and, by method, the documents chosen for it, in the order in which the answer's prompt shows them.

    Parameters
    ----------
    population : what all opinions on the entity are; the fairness `proportional` tells it to the judge.
    """

    query: Text
    documents: dict[str, Annotated[list[Text], Meta(min_length=1)]]
    entity: str | None = None
    population: Population | None = None


class Runs(msgspec.Struct, frozen=True):
    """Questions, and the methods that each has documents of: the baseline, and those that are compared with it."""

    runs: list[Run]
    baseline: str
    methods: list[str]

    @property
    def all_methods(self) -> list[str]:
        """The baseline first."""
        return [self.baseline, *self.methods]


def read_runs(path: Path, baseline: str, with_population: bool) -> Runs:
    """Read a file and check that its lines belong together.

    Raises
    ------
    InvalidInputError : a line breaks a rule; lacks a method that another has, or the population; asks what another
        asks; or there is no line, or no second method.
    """
    decoder = BodyDecoder(Run)
    runs: list[Run] = []
    asked: dict[tuple[str, str | None], int] = {}
    for number, line in _lines(path):
        try:
            run = decoder.decode(line)
            _check(run, runs[0] if runs else run, baseline, with_population)
            earlier = asked.setdefault((run.query, run.entity), number)
            if earlier != number:
                raise InvalidRequestError.at("/query", f"line {earlier} asks the same")
        except InvalidRequestError as error:
            raise InvalidInputError("runs", f"{path.name}:{number}: {error.detail}") from error
        runs.append(run)
    if not runs:
        raise InvalidInputError("runs", f"{path} holds no question")
    methods = [method for method in runs[0].documents if method != baseline]
    if not methods:
        raise InvalidInputError("runs", f"{path} holds no method to compare with {baseline!r}")
    return Runs(runs, baseline, methods)


def _check(run: Run, first: Run, baseline: str, with_population: bool) -> None:
    if baseline not in run.documents:
        raise InvalidRequestError.at(f"/documents/{escaped(baseline)}", "the baseline's documents are needed")
    if run.documents.keys() != first.documents.keys():
        wanted, found = (", ".join(sorted(one.documents)) for one in (first, run))
        raise InvalidRequestError.at("/documents", f"must be of {wanted}, as in the first line; got {found}")
    if with_population and run.population is None:
        raise InvalidRequestError.at("/population", "needed, since `proportional` tells it to the judge")
    if run.population is not None and not max(msgspec.structs.astuple(run.population)):
        raise InvalidRequestError.at("/population", "at least one weight must be above zero")


def _lines(path: Path) -> list[tuple[int, bytes]]:
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise InvalidInputError("runs", f"{path} cannot be read: {error}") from error
    return [(number, line) for number, line in enumerate(lines, 1) if line.strip()]

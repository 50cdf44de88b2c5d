"""The answers to all questions under one labelling, as arrays by setting."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from app.evaluation.cases import Answered, List
from app.evaluation.corpus import Labels
from app.evaluation.methods import BASELINE
from app.evaluation.running import Findings, LabelName
from warp_core.distributions import FloatArray
from warp_core.evaluation.experiment import Setting


@dataclass(frozen=True)
class Means:
    """Mean measures over the questions that have them; `n` of W1."""

    w1: float
    w1_matched: float
    w2: float
    js: float
    em: float
    selected: float
    n: int


@dataclass(frozen=True)
class Outcomes:
    """What the methods chose under one labelling; every array has an entry a question, in their order."""

    findings: Findings
    label: LabelName

    @cached_property
    def answers(self) -> Sequence[Answered]:
        """By question."""
        return self.findings.answers[self.label]

    @cached_property
    def _lists(self) -> dict[Setting, list[List]]:
        found: dict[Setting, list[List]] = {}
        for answered in self.answers:
            for one in answered.lists:
                found.setdefault(Setting(one.method, one.k, one.n, one.weight, one.norm), []).append(one)
        return found

    @cached_property
    def entities(self) -> NDArray[np.str_]:
        """The entity of each question."""
        return np.array([question.entity for question in self.findings.questions])

    @cached_property
    def labels(self) -> Labels:
        """The labelling."""
        return self.findings.labels[self.label]

    @property
    def k(self) -> int:
        """The k of the main table."""
        return self.findings.plan.k

    @property
    def n(self) -> int:
        """The pool size of the main table."""
        return self.findings.plan.n

    def has(self, *methods: str) -> bool:
        """Whether all these methods were compared."""
        return set(methods) <= set(self.findings.methods.names)

    def present(self, methods: Sequence[str]) -> list[str]:
        """Those of the methods that were compared."""
        return [method for method in methods if self.has(method)]

    def at(self, method: str, k: int | None = None, n: int | None = None) -> Setting:
        """A method's setting, at the main k and pool size when these are left out."""
        return Setting(method, k or self.k, n or self.n)

    def lists(self, setting: Setting) -> list[List]:
        """The lists of a setting."""
        return self._lists[setting]

    def w1(self, setting: Setting) -> FloatArray:
        """W1 of each list; nan where it holds no known opinion."""
        return np.array([one.w1 for one in self._lists[setting]])

    def w1_matched(self, setting: Setting) -> FloatArray:
        """W1 of the entity-matched part of each list; nan where it is empty."""
        return np.array([one.w1_matched for one in self._lists[setting]])

    def means(self, setting: Setting) -> Means:
        """The means over all questions."""
        lists, w1 = self._lists[setting], self.w1(setting)
        return Means(
            mean(w1),
            mean(self.w1_matched(setting)),
            mean([one.w2 for one in lists]),
            mean([one.js for one in lists]),
            mean([one.em for one in lists]),
            mean([len(one.chosen) for one in lists]),
            int((~np.isnan(w1)).sum()),
        )

    @cached_property
    def baseline(self) -> FloatArray:
        """W1 of top-k in the main setting."""
        return self.w1(self.at(BASELINE))


def mean(values: Sequence[float] | FloatArray) -> float:
    """Mean of what is not nan; nan when nothing is."""
    known = np.asarray(values, np.float64)
    known = known[~np.isnan(known)]
    return float(known.mean()) if len(known) else float("nan")

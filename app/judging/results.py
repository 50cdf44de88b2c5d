"""Verdicts -> the papers' tables: who wins by majority, and how far each judge can be believed."""

from math import isnan
from typing import NamedTuple

import msgspec
import numpy as np

from app.judging.comparing import Findings, Pair
from app.judging.prompts import DIMENSIONS, Dimension, Fairness, mark_of
from warp_core.distributions import FloatArray
from warp_core.evaluation.judgements import (
    Tally,
    consistent,
    directional_agreement,
    majority,
    position_bias,
    tally,
)

DIGITS = 6
ALPHA = 0.05
BIASED = 0.5
"""A judge whose preference follows position or length in more than this share of pairs beyond chance is warned of."""


class Outcome(msgspec.Struct, frozen=True):
    """A method against the baseline, by majority vote (WARP, tables 2, 20, 21 and 22).

    Parameters
    ----------
    identical : ties among `ties` that no judge saw, because both answers are the same.
    fair, win, tie : shares, None where there is nothing to share. p, p_greater : of the sign test, see `Tally`.
    verdict : `better` or `worse` where p is under 0.05, else `undecided`.
    """

    fairness: Fairness
    dimension: Dimension
    method: str
    wins: int
    losses: int
    ties: int
    identical: int
    unjudged: int
    fair: float | None
    win: float | None
    tie: float | None
    p: float
    p_greater: float
    verdict: str


class JudgeQuality(msgspec.Struct, frozen=True):
    """A judge on the dimension of fairness, over all methods (WARP, tables 18 and 19).

    Parameters
    ----------
    judgements : replies that could be read. unreadable : replies that could not. missing : calls that failed.
    pairs : judged in both orders.
    tie : share of these that end as ties. first, second, consistent, position_p : see `PositionBias`.
    order_kappa : directional kappa of the judge with itself, between the two orders.
    longer : share of its decided pairs in which it prefers the longer answer. longer_p : of the sign test against half.
    agreement, kappa : means of the directional agreement with each of the other judges; None without others.
    """

    fairness: Fairness
    judge: str
    judgements: int
    unreadable: int
    missing: int
    pairs: int
    tie: float | None
    first: float | None
    second: float | None
    consistent: float | None
    position_p: float
    order_kappa: float | None
    longer: float | None
    longer_p: float
    agreement: float | None
    kappa: float | None


class JudgePair(msgspec.Struct, frozen=True):
    """Two judges: pairs in which both commit to a preference, the share in which it is the same, directional kappa."""

    fairness: Fairness
    judge: str
    other: str
    n: int
    agreement: float | None
    kappa: float | None


class Results(msgspec.Struct, frozen=True):
    """All tables. `warnings` say what a reader must not overlook."""

    outcomes: list[Outcome]
    judges: list[JudgeQuality]
    agreements: list[JudgePair]
    warnings: list[str]


class _Votes(NamedTuple):
    """Preferences by voter and pair in the two orders, each of shape (voters, pairs); nan where there is none."""

    method_first: FloatArray
    method_second: FloatArray

    def of(self, rows: list[int]) -> "_Votes":
        """Those of some voters, one behind the other as one row."""
        return _Votes(self.method_first[rows].reshape(-1), self.method_second[rows].reshape(-1))

    @property
    def settled(self) -> FloatArray:
        """What holds in both orders, shape (voters, pairs)."""
        return np.array([consistent(a, b) for a, b in zip(self.method_first, self.method_second, strict=True)])


def results_of(findings: Findings) -> Results:
    """All that the verdicts say."""
    outcomes: list[Outcome] = []
    judges: list[JudgeQuality] = []
    agreements: list[JudgePair] = []
    for fairness in findings.plan.fairness:
        outcomes += [one for dimension in DIMENSIONS for one in _outcomes(findings, fairness, dimension)]
        votes = _votes(findings, fairness, "fairness")
        pairs = _agreements(findings, fairness, votes)
        agreements += pairs
        judges += [_judge(findings, fairness, judge, votes, pairs) for judge in findings.plan.judges]
    return Results(outcomes, judges, agreements, _warnings(findings, judges))


def _pairs(findings: Findings) -> list[Pair]:
    runs = findings.plan.runs
    return [Pair(method, i) for method in runs.methods for i in range(len(runs.runs))]


def _votes(findings: Findings, fairness: Fairness, dimension: Dimension) -> _Votes:
    rows = {voter: i for i, voter in enumerate(findings.plan.voters)}
    columns = {pair: i for i, pair in enumerate(_pairs(findings))}
    votes = _Votes(np.full((len(rows), len(columns)), np.nan), np.full((len(rows), len(columns)), np.nan))
    for asked, verdict in findings.verdicts.items():
        if asked.fairness == fairness and verdict is not None:
            side = getattr(verdict, dimension)
            preference = 0 if side == "tie" else 1 if (side == "A") == asked.method_first else -1
            order = votes.method_first if asked.method_first else votes.method_second
            order[rows[asked.voter], columns[asked.pair]] = preference
    return votes


def _outcomes(findings: Findings, fairness: Fairness, dimension: Dimension) -> list[Outcome]:
    pairs = _pairs(findings)
    decided = majority(_votes(findings, fairness, dimension).settled)
    decided[[pair in findings.identical for pair in pairs]] = 0
    of_method = np.array([pair.method for pair in pairs])
    return [
        _outcome(findings, fairness, dimension, method, tally(decided[of_method == method]))
        for method in findings.plan.runs.methods
    ]


def _outcome(findings: Findings, fairness: Fairness, dimension: Dimension, method: str, count: Tally) -> Outcome:
    return Outcome(
        fairness=fairness,
        dimension=dimension,
        method=method,
        wins=count.wins,
        losses=count.losses,
        ties=count.ties,
        identical=sum(pair.method == method for pair in findings.identical),
        unjudged=count.unjudged,
        fair=_shown(count.fair),
        win=_shown(count.win),
        tie=_shown(count.tie),
        p=round(count.p, DIGITS),
        p_greater=round(count.p_greater, DIGITS),
        verdict="undecided" if count.p >= ALPHA else "better" if count.wins > count.losses else "worse",
    )


def _agreements(findings: Findings, fairness: Fairness, votes: _Votes) -> list[JudgePair]:
    judges = findings.plan.judges
    settled = {judge: majority(votes.settled[_rows(findings, judge)]) for judge in judges}
    found = []
    for i, judge in enumerate(judges):
        for other in judges[i + 1 :]:
            one = directional_agreement(settled[judge], settled[other])
            found.append(JudgePair(fairness, judge, other, one.n, _shown(one.agreement), _shown(one.kappa)))
    return found


def _judge(
    findings: Findings, fairness: Fairness, judge: str, votes: _Votes, agreements: list[JudgePair]
) -> JudgeQuality:
    rows = _rows(findings, judge)
    own = votes.of(rows)
    settled = consistent(*own)
    count, bias = tally(settled), position_bias(*own)
    longer = tally(settled * np.tile(_longer(findings), len(rows)))
    replies = [v for asked, v in findings.verdicts.items() if (asked.fairness, asked.voter.judge) == (fairness, judge)]
    wanted = 2 * len(rows) * (len(_pairs(findings)) - len(findings.identical))
    others = [one for one in agreements if judge in (one.judge, one.other)]
    return JudgeQuality(
        fairness=fairness,
        judge=judge,
        judgements=sum(verdict is not None for verdict in replies),
        unreadable=sum(verdict is None for verdict in replies),
        missing=wanted - len(replies),
        pairs=count.n,
        tie=_shown(count.tie),
        first=_shown(bias.first),
        second=_shown(bias.second),
        consistent=_shown(bias.consistent),
        position_p=round(bias.p, DIGITS),
        order_kappa=_shown(directional_agreement(*own).kappa),
        longer=_shown(longer.fair),
        longer_p=round(longer.p, DIGITS),
        agreement=_mean([one.agreement for one in others]),
        kappa=_mean([one.kappa for one in others]),
    )


def _rows(findings: Findings, judge: str) -> list[int]:
    return [i for i, voter in enumerate(findings.plan.voters) if voter.judge == judge]


def _longer(findings: Findings) -> FloatArray:
    """1 where the method's answer is the longer one, -1 where the baseline's is, 0 where neither, shape (pairs,)."""
    answers, baseline = findings.answers, findings.plan.runs.baseline
    differences = [
        len(answers.get(pair, "")) - len(answers.get(Pair(baseline, pair.question), "")) for pair in _pairs(findings)
    ]
    return np.sign(np.array(differences, np.float64))


def _warnings(findings: Findings, judges: list[JudgeQuality]) -> list[str]:
    found = []
    for stage, failures in findings.failures.items():
        found += [
            f"{n} calls for {stage} failed ({kind}): {failures.details[kind]}" for kind, n in failures.kinds.items()
        ]
        if failures.not_made:
            found.append(f"{failures.not_made} further calls for {stage} were not made, since too many failed in a row")
    runs = findings.plan.runs
    absent = len(runs.runs) * len(runs.all_methods) - len(findings.answers)
    if absent:
        found.append(f"{absent} answers are missing or empty; their pairs are unjudged")
    repeating = sum(mark_of(runs.runs[i].documents[m]) in text for (m, i), text in findings.answers.items())
    if repeating:
        found.append(f"{repeating} answers repeat the marks of their prompt: their model does not keep to its task")
    for one in judges:
        who = f"{one.judge} ({one.fairness})"
        if one.unreadable:
            found.append(f"{who}: {one.unreadable} of {one.unreadable + one.judgements} replies could not be read")
        if (one.first or 0) + (one.second or 0) > BIASED:
            found.append(f"{who}: {(one.first or 0) + (one.second or 0):.0%} of its preferences follow the position")
        if one.longer is not None and abs(one.longer - 0.5) > BIASED / 2 and one.longer_p < ALPHA:
            which = "longer" if one.longer > 0.5 else "shorter"
            found.append(f"{who}: {max(one.longer, 1 - one.longer):.0%} of its preferences go to the {which} answer")
    return found


def _shown(value: float) -> float | None:
    return None if isnan(value) else round(value, DIGITS)


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return round(sum(known) / len(known), DIGITS) if known else None

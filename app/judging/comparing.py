"""Runs -> answers -> judgements: which calls that takes, and what their replies say."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any, NamedTuple

from app.judging.asking import Failures, ask
from app.judging.endpoint import Endpoint
from app.judging.prompts import Fairness, answer_messages, judge_messages
from app.judging.replies import Call, Replies, call_of
from app.judging.runs import Runs
from app.judging.verdicts import Verdict, verdict_of

Parameters = Mapping[str, Any]


@dataclass(frozen=True)
class Role:
    """Who is asked: an endpoint's URL, and the fields of each request beside model and messages."""

    url: str
    parameters: Parameters


@dataclass(frozen=True)
class Plan:
    """What is asked of whom.

    Parameters
    ----------
    judges : models. repeats : how often each is asked the same; all judgements of a pair are votes.
    """

    runs: Runs
    fairness: tuple[Fairness, ...]
    writer: str
    writing: Role
    judges: tuple[str, ...]
    judging: Role
    repeats: int = 1

    @property
    def voters(self) -> list["Voter"]:
        """All votes of a pair, a judge's own beside one another."""
        return [Voter(judge, draw) for judge in self.judges for draw in range(self.repeats)]


class Voter(NamedTuple):
    """A judge, and which time it is asked."""

    judge: str
    draw: int


class Pair(NamedTuple):
    """A method's answer to a question (by number) beside the baseline's."""

    method: str
    question: int


class Asked(NamedTuple):
    """One judgement that is asked for: of which pair, in which order, by whom, in which sense of fairness."""

    fairness: Fairness
    pair: Pair
    voter: Voter
    method_first: bool


@dataclass
class Findings:
    """What was said.

    Parameters
    ----------
    answers : by method and question; a pair's method may be the baseline. Missing: the call failed, or gave no text.
    identical : pairs whose two answers are equal: ties that need no judge.
    verdicts : None where the reply could not be read. Missing: the call failed.
    failures : the calls that failed, in the stages `answers` and `judgements`.
    """

    plan: Plan
    answers: dict[Pair, str] = field(default_factory=dict)
    identical: set[Pair] = field(default_factory=set)
    verdicts: dict[Asked, Verdict | None] = field(default_factory=dict)
    failures: dict[str, Failures] = field(default_factory=dict)


def writing_calls(plan: Plan) -> dict[Pair, Call]:
    """The calls that write the answers, the baseline's included."""
    return {
        Pair(method, i): call_of(
            plan.writing.url, plan.writer, answer_messages(run.query, run.documents[method]), plan.writing.parameters
        )
        for i, run in enumerate(plan.runs.runs)
        for method in plan.runs.all_methods
    }


def judgements_of(plan: Plan) -> Iterator[Asked]:
    """All judgements of all pairs: each voter, in both orders, in each sense of fairness."""
    pairs = [Pair(method, i) for method in plan.runs.methods for i in range(len(plan.runs.runs))]
    for fairness, pair, voter, method_first in product(plan.fairness, pairs, plan.voters, (True, False)):
        yield Asked(fairness, pair, voter, method_first)


def judging_call(plan: Plan, asked: Asked, answers: Mapping[Pair, str]) -> Call:
    """The call that asks for a judgement of two answers."""
    run = plan.runs.runs[asked.pair.question]
    own, base = answers[asked.pair], answers[_baseline(plan, asked.pair)]
    first, second = (own, base) if asked.method_first else (base, own)
    messages = judge_messages(run.query, first, second, asked.fairness, run.population)
    # A number of its own makes another request of the same question, to our cache and to the endpoint's.
    seed = {"seed": asked.voter.draw} if asked.voter.draw else {}
    return call_of(plan.judging.url, asked.voter.judge, messages, {**plan.judging.parameters, **seed})


def judging_calls(findings: Findings) -> dict[Asked, Call]:
    """The calls that judge the answers that are there and differ."""
    plan, answers = findings.plan, findings.answers
    return {
        asked: judging_call(plan, asked, answers)
        for asked in judgements_of(plan)
        if asked.pair in answers and _baseline(plan, asked.pair) in answers and asked.pair not in findings.identical
    }


def read_answers(plan: Plan, replies: Replies) -> Findings:
    """The answers that are kept."""
    findings = Findings(plan)
    for pair, call in writing_calls(plan).items():
        reply = replies.get(call)
        if reply is not None and reply.text.strip():
            findings.answers[pair] = reply.text.strip()
    for pair, answer in findings.answers.items():
        if pair.method != plan.runs.baseline and answer == findings.answers.get(_baseline(plan, pair)):
            findings.identical.add(pair)
    return findings


def read_verdicts(findings: Findings, replies: Replies) -> None:
    """Add the verdicts that are kept."""
    for asked, call in judging_calls(findings).items():
        reply = replies.get(call)
        if reply is not None:
            findings.verdicts[asked] = verdict_of(reply.text)


async def compare(
    plan: Plan,
    writing: Endpoint,
    judging: Endpoint,
    replies: Replies,
    concurrency: int,
    progress: Callable[[str, int], Callable[[], object]],
) -> Findings:
    """Make all calls that have no reply yet, and read all replies.

    Parameters
    ----------
    progress : stage and number of steps -> called as each is done.

    Raises
    ------
    EndpointStopError : no further call would fare better.
    """
    failed = {"answers": Failures(), "judgements": Failures()}
    written = list(writing_calls(plan).values())
    advance = progress("answers", _missing(written, replies))
    await ask(writing, written, replies, concurrency, failed["answers"], advance)
    findings = read_answers(plan, replies)
    findings.failures = failed
    judged = list(judging_calls(findings).values())
    advance = progress("judgements", _missing(judged, replies))
    await ask(judging, judged, replies, concurrency, failed["judgements"], advance)
    read_verdicts(findings, replies)
    return findings


def _missing(calls: list[Call], replies: Replies) -> int:
    return len({call.key for call in calls if replies.get(call) is None})


def _baseline(plan: Plan, pair: Pair) -> Pair:
    return Pair(plan.runs.baseline, pair.question)

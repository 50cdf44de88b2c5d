"""What calls cost: tokens as the endpoint tells them, money by the caller's prices; before any call, a guess."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

from app.judging.comparing import Findings, Pair, Plan, judgements_of, judging_call, judging_calls, writing_calls
from app.judging.replies import Call, Replies
from warp_core import InvalidInputError

CHARACTERS_PER_TOKEN = 4
"""A rough mean over English text, for estimates only."""
ANSWER_TOKENS = 350
JUDGEMENT_TOKENS = 100
"""What an answer and a judgement are taken to be long, for estimates only."""


class Price(NamedTuple):
    """Of a model: per million tokens read, and per million written, in any currency."""

    prompt: float
    completion: float


def price_of(given: str) -> tuple[str, Price]:
    """A model and its price, from MODEL=PROMPT/COMPLETION.

    Raises
    ------
    InvalidInputError : it is something else.
    """
    model, _, prices = given.rpartition("=")
    try:
        prompt, completion = map(float, prices.split("/"))
    except ValueError:
        prompt = completion = -1.0
    if not model or not 0 <= prompt < float("inf") or not 0 <= completion < float("inf"):
        raise InvalidInputError("price", f"must be MODEL=PROMPT/COMPLETION, per million tokens, got {given!r}")
    return model, Price(prompt, completion)


class Usage(msgspec.Struct):
    """Calls of a model in a stage.

    Parameters
    ----------
    without_usage : calls whose endpoint told no tokens; they are missing in the sums.
    cut_off : replies that ended because they were long enough, not because they were finished.
    cost : None without a price.
    """

    stage: str
    model: str
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    without_usage: int = 0
    cut_off: int = 0
    cost: float | None = None


def used(findings: Findings, replies: Replies, prices: Mapping[str, Price]) -> list[Usage]:
    """What the replies behind the findings took, whenever they were made."""
    stages = {
        "answers": writing_calls(findings.plan).values(),
        "judgements": judging_calls(findings).values(),
    }
    return [row for stage, calls in stages.items() for row in _summed(stage, calls, replies, prices)]


def _summed(stage: str, calls: Iterable[Call], replies: Replies, prices: Mapping[str, Price]) -> list[Usage]:
    rows: dict[str, Usage] = {}
    for call in {call.key: call for call in calls}.values():
        reply = replies.get(call)
        if reply is None:
            continue
        row = rows.setdefault(call.model, Usage(stage, call.model))
        row.calls += 1
        row.cut_off += reply.finish == "length"
        if reply.prompt_tokens is None or reply.completion_tokens is None:
            row.without_usage += 1
        else:
            row.prompt_tokens += reply.prompt_tokens
            row.completion_tokens += reply.completion_tokens
    return [_priced(row, prices) for row in rows.values()]


class Estimate(NamedTuple):
    """What a run is going to take: all its calls, and of these the ones that are not kept yet."""

    usage: list[Usage]
    kept: int


def estimated(plan: Plan, findings: Findings, replies: Replies, prices: Mapping[str, Price]) -> Estimate:
    """Count the calls that are still to be made, and guess their tokens; no call is made.

    Answers that are not written yet are taken to differ from one another.

    Parameters
    ----------
    findings : the answers that are kept (`comparing.read_answers`).
    """
    answers = dict(findings.answers)
    unwritten = "x" * ANSWER_TOKENS * CHARACTERS_PER_TOKEN
    writing = writing_calls(plan)
    rows: dict[tuple[str, str], Usage] = {}
    kept = 0
    asked: set[str] = set()

    def count(stage: str, call: Call, tokens: int) -> None:
        row = rows.setdefault((stage, call.model), Usage(stage, call.model))
        row.calls += 1
        row.prompt_tokens += len(call.body.decode()) // CHARACTERS_PER_TOKEN
        row.completion_tokens += tokens

    for call in writing.values():
        if replies.get(call) is not None:
            kept += call.key not in asked
        elif call.key not in asked:
            count("answers", call, ANSWER_TOKENS)
        asked.add(call.key)
    for one in judgements_of(plan):
        base = Pair(plan.runs.baseline, one.pair.question)
        if one.pair in findings.identical or writing[one.pair].key == writing[base].key:
            continue
        call = judging_call(plan, one, {base: unwritten, one.pair: unwritten} | answers)
        if one.pair in answers and base in answers and replies.get(call) is not None:
            kept += 1
        else:
            count("judgements", call, JUDGEMENT_TOKENS)
    return Estimate([_priced(row, prices) for row in rows.values()], kept)


def _priced(row: Usage, prices: Mapping[str, Price]) -> Usage:
    price = prices.get(row.model)
    if price:
        row.cost = round((row.prompt_tokens * price.prompt + row.completion_tokens * price.completion) / 1e6, 6)
    return row

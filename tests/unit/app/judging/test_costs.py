"""What calls took, and what they are going to take."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.judging.comparing import Pair, Plan, Role, judging_calls, read_answers, read_verdicts, writing_calls
from app.judging.costs import Price, estimated, price_of, used
from app.judging.endpoint import Reply
from app.judging.prompts import mark_of
from app.judging.replies import Replies
from app.judging.results import results_of
from app.judging.runs import Run, Runs
from warp_core import InvalidInputError

VERDICT = '{"fairness": "A", "informativeness": "A", "groundedness": "A"}'
PRICES = {"writer": Price(1, 10), "judge": Price(2, 4)}


@pytest.fixture
def replies(tmp_path: Path) -> Iterator[Replies]:
    kept = Replies(tmp_path / "replies.jsonl")
    yield kept
    kept.close()


@pytest.fixture
def plan() -> Plan:
    """Of the second question both methods chose the same documents: three answers, one pair that needs judges."""
    asked = [
        Run("What of one?", {"top_k": ["a", "b"], "warp": ["a", "c"]}),
        Run("What of two?", {"top_k": ["d"], "warp": ["d"]}),
    ]
    role = Role("http://127.0.0.1:1/v1", {})
    return Plan(Runs(asked, "top_k", ["warp"]), ("coverage",), "writer", role, ("judge",), role)


def write(plan: Plan, replies: Replies, answers: dict[Pair, str]) -> None:
    for pair, call in writing_calls(plan).items():
        if pair in answers:
            replies.put(call, Reply(answers[pair], "stop", 100, 10))


def counted(plan: Plan, replies: Replies) -> tuple[dict[str, int], int]:
    found = estimated(plan, read_answers(plan, replies), replies, PRICES)
    return {row.stage: row.calls for row in found.usage}, found.kept


def test_equal_documents_are_one_answer_and_no_judgement(plan: Plan, replies: Replies):
    assert counted(plan, replies) == ({"answers": 3, "judgements": 2}, 0)


def test_what_is_kept_is_not_estimated_again(plan: Plan, replies: Replies):
    write(plan, replies, {Pair("top_k", 0): "x", Pair("top_k", 1): "z"})
    assert counted(plan, replies) == ({"answers": 1, "judgements": 2}, 2)
    write(plan, replies, {Pair("warp", 0): "y"})
    assert counted(plan, replies) == ({"judgements": 2}, 3)
    for call in judging_calls(read_answers(plan, replies)).values():
        replies.put(call, Reply(VERDICT))
    assert counted(plan, replies) == ({}, 5)


def test_answers_that_turned_out_equal_need_no_judge(plan: Plan, replies: Replies):
    write(plan, replies, {Pair("top_k", 0): "x", Pair("warp", 0): "x", Pair("top_k", 1): "z"})
    assert counted(plan, replies) == ({}, 3)


def test_an_estimate_is_priced_by_its_guessed_tokens(plan: Plan, replies: Replies):
    answers, judgements = estimated(plan, read_answers(plan, replies), replies, PRICES).usage
    assert answers.completion_tokens == 3 * 350
    assert answers.cost == pytest.approx((answers.prompt_tokens * 1 + 3 * 350 * 10) / 1e6)
    assert judgements.prompt_tokens > 2 * 2 * 350  # both answers are read in each order


def test_calls_without_usage_and_cut_off_replies_are_counted(plan: Plan, replies: Replies):
    write(plan, replies, {Pair("top_k", 0): "x", Pair("warp", 0): "y", Pair("top_k", 1): "z"})
    findings = read_answers(plan, replies)
    first, second = judging_calls(findings).values()
    replies.put(first, Reply(VERDICT, "stop", 50, 5))
    replies.put(second, Reply('{"fairness": "A", "inf', "length"))
    answers, judgements = used(findings, replies, PRICES)
    assert (answers.calls, answers.prompt_tokens, answers.completion_tokens, answers.cost) == (3, 300, 30, 0.0006)
    assert (judgements.calls, judgements.without_usage, judgements.cut_off) == (2, 1, 1)
    assert (judgements.prompt_tokens, judgements.completion_tokens, judgements.cost) == (50, 5, 0.00012)


def test_an_answer_that_repeats_the_marks_of_its_prompt_is_told_of(plan: Plan, replies: Replies):
    mark = mark_of(["a", "b"])
    write(plan, replies, {Pair("top_k", 0): f"[{mark} review 1] a", Pair("warp", 0): "y", Pair("top_k", 1): "z"})
    findings = read_answers(plan, replies)
    read_verdicts(findings, replies)
    assert results_of(findings).warnings == [
        "1 answers repeat the marks of their prompt: their model does not keep to its task"
    ]


def test_prices_are_read_by_model_whatever_it_is_called():
    assert price_of("maker/model=a:free=0.15/0.6") == ("maker/model=a:free", Price(0.15, 0.6))


@pytest.mark.parametrize("given", ["m", "m=1", "m=1/2/3", "=1/2", "m=-1/2", "m=nan/1", "m=1/inf", "m=a/b"])
def test_anything_else_is_no_price(given: str):
    with pytest.raises(InvalidInputError, match="MODEL=PROMPT/COMPLETION"):
        price_of(given)

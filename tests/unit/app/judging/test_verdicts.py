"""What a judge's reply says, and what says nothing."""

import pytest

from app.judging.verdicts import Verdict, verdict_of

PLAIN = '{"fairness": "A", "informativeness": "tie", "groundedness": "B", "reasoning": "More even."}'
OTHER = PLAIN.replace('"A"', '"B"')
READ = Verdict("A", "tie", "B", "More even.")


@pytest.mark.parametrize(
    "reply",
    [
        PLAIN,
        f"  {PLAIN}\n",
        f"```json\n{PLAIN}\n```",
        f"<think>Is {{A}} or B fairer?</think>Here it is: {PLAIN} I hope that helps.",
        f"{PLAIN}\n{PLAIN}",
        PLAIN.replace('"A"', '"a"').replace('"tie"', '"Tie "'),
        PLAIN.replace("}", ', "confidence": 0.9}'),
    ],
)
def test_a_verdict_is_found_alone_or_among_other_text(reply: str):
    assert verdict_of(reply) == READ


def test_braces_in_the_reasoning_do_no_harm():
    assert verdict_of(PLAIN.replace("More even", "{sic}")) == Verdict("A", "tie", "B", "{sic}.")


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "I'd rather not compare these.",
        "A",
        PLAIN[:-20],
        PLAIN.replace('"B"', '"C"'),
        PLAIN.replace('"B"', '"A or B"'),
        PLAIN.replace('"B"', "null"),
        PLAIN.replace('"B"', "2"),
        PLAIN.replace('"groundedness": "B", ', ""),
        f"{PLAIN} or rather {OTHER}",
        '{"fairness": "A"|"B"|"tie", "informativeness": "A"|"B"|"tie", "groundedness": "A"|"B"|"tie"}',
        "[" * 100_000,
        PLAIN.replace("More even.", "\\ud800"),
    ],
)
def test_anything_else_is_no_verdict(reply: str):
    assert verdict_of(reply) is None

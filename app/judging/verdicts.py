"""A judge's reply -> what it prefers. What cannot be read is no verdict, and never a tie."""

import re
from typing import Literal

import msgspec

Side = Literal["A", "B", "tie"]
_OBJECT = re.compile(r"\{[^{}]*\}")
_SIDES: dict[str, Side] = {"a": "A", "b": "B", "tie": "tie"}


class Verdict(msgspec.Struct, frozen=True):
    """Which answer is better on each dimension, and why."""

    fairness: Side
    informativeness: Side
    groundedness: Side
    reasoning: str = ""


class _Said(msgspec.Struct):
    fairness: str
    informativeness: str
    groundedness: str
    reasoning: str | None = None


def verdict_of(reply: str) -> Verdict | None:
    """The verdict in a reply: its one JSON object, alone or among other text (a code fence, a model's thoughts).

    None when there is none, a dimension is missing or is something else than A, B or tie in any case, or two objects
    disagree.
    """
    found = {_key(verdict): verdict for text in _candidates(reply) if (verdict := _read(text)) is not None}
    return next(iter(found.values())) if len(found) == 1 else None


def _candidates(reply: str) -> list[str]:
    whole = reply.strip()
    return [whole] if _read(whole) else _OBJECT.findall(whole)


def _read(text: str) -> Verdict | None:
    try:
        said = msgspec.json.decode(text, type=_Said)
    except (msgspec.DecodeError, UnicodeError, RecursionError):  # a lone surrogate is no Unicode
        return None
    sides = [_SIDES.get(one.strip().lower()) for one in (said.fairness, said.informativeness, said.groundedness)]
    fairness, informativeness, groundedness = sides
    if fairness is None or informativeness is None or groundedness is None:
        return None
    return Verdict(fairness, informativeness, groundedness, said.reasoning or "")


def _key(verdict: Verdict) -> tuple[Side, Side, Side]:
    return verdict.fairness, verdict.informativeness, verdict.groundedness

"""A small corpus with every kind of thing in it, and a run of the evaluation over it."""

import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import msgspec

from app.evaluation.cache import Cache
from app.evaluation.cases import Plan
from app.evaluation.corpus import read_corpus
from app.evaluation.layout import Layout, Questions, load_layout
from app.evaluation.methods import ALL, methods_of
from app.evaluation.running import Choice, Findings, evaluate
from app.settings import Settings
from tests.fakes import fake_encoder
from warp_core import SENTIMENT_INTENSITY

ENTITIES = ("pool", "<b>bar</b> & grill")
MOODS = {5: "lovely great", 4: "good nice", 3: "there is a", 2: "bad poor", 1: "awful terrible"}
STARS = (5, 5, 1, 4, 2, 5, 3, 1)
TRAVELLERS = ("solo", "couple", "family")


NEUTRAL = msgspec.structs.replace(
    load_layout("neutral"),
    questions=Questions(breadth=("What of {entity}?",), polar=("What is bad about {entity}?",), segment=()),
)
"""Two questions an entity are enough here."""


class Inline(Executor):
    """Does the work at once, in this process; `calls` counts it."""

    def __init__(self) -> None:
        self.calls = 0

    def submit(self, function: Callable[..., Any], /, *given: Any, **named: Any) -> "Future[Any]":
        self.calls += 1
        done: Future[Any] = Future()
        done.set_result(function(*given, **named))
        return done


class Quiet:
    """No progress bar; `stages` are their names."""

    def __init__(self) -> None:
        self.stages: list[str] = []

    def stage(self, name: str, _total: int) -> Callable[[], object]:
        self.stages.append(name)
        return lambda: None


def documents() -> Iterator[dict[str, Any]]:
    """Sixty: forty about the pool, twenty-four about the bar, eight of them about both, four about nothing."""
    for i in range(60):
        stars = STARS[i % len(STARS)]
        about = [ENTITIES[0]] * (i < 40) + [ENTITIES[1]] * (32 <= i < 56)
        opinions = [
            {
                "entity": entity,
                "stars": (stars + 2 * place) % 5 + 1,
                "impact": 10 * (i % 3 + 1),
                "markers": ["hope", "anger"][: i % 3],
                "evidence_type": ("personal", "data")[i % 2],
            }
            for place, entity in enumerate(about)
        ]
        text = f"{MOODS[stars]} {' '.join(about)} visit{i % 7}. Some more about stay{i}."
        yield {
            "id": f"d{i}",
            "text": text,
            "opinions": opinions,
            "si": SENTIMENT_INTENSITY.positions[SENTIMENT_INTENSITY.bin_of_stars(stars)],
            "attributes": {"traveller": TRAVELLERS[i % 3]} if i % 5 else {},
        }


async def run(
    folder: Path,
    *,
    methods: Sequence[str] = ALL,
    layout: Layout | None = None,
    choice: Choice | None = None,
    workers: Inline | None = None,
    progress: Quiet | None = None,
    disturb: bool = True,
) -> Findings:
    """Evaluate the small corpus; what is finished is kept in the folder."""
    path = folder / "small.jsonl"
    path.write_text("\n".join(map(json.dumps, documents())))
    compared = methods_of(methods)
    layout = layout or NEUTRAL
    encoder = fake_encoder()
    try:
        return await evaluate(
            read_corpus(path, load_layout("neutral"), SENTIMENT_INTENSITY),
            layout,
            SENTIMENT_INTENSITY,
            compared,
            choice or Choice(min_count=20),
            Plan(compared.selectors, (3, 6), (12, 30), 1, disturb, 2, 2),
            encoder,
            Settings(),
            Cache(folder / "cache"),
            workers or Inline(),
            progress or Quiet(),
        )
    finally:
        encoder.close()

"""Entities by nearness, with a model that puts names at chosen cosines with every query."""

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable
from typing import Any

import numpy as np
import pytest

from app import entities
from app.encoder import Encoder
from app.entities import NearestNames
from app.index.collection import LocalCollection
from app.store.base import Vector
from tests.indexes import entry, index_of


class Plane:
    """A text's last number is its cosine with the first axis: `breakfast 0.9`; texts without one lie on it."""

    def __init__(self) -> None:
        self.texts: Counter[str] = Counter()

    def __call__(self, texts: list[str]) -> Vector:
        self.texts.update(texts)
        found = [re.search(r"(-?\d\.\d+)$", text) for text in texts]
        cosines = np.array([float(match[1]) if match else 1.0 for match in found])
        return np.stack([cosines, np.sqrt(1 - cosines**2)], axis=1).astype(np.float32)


def index(*names: str) -> LocalCollection:
    return index_of(entry(name, bins={name: 3}) for name in names)


@pytest.fixture
def model() -> Plane:
    return Plane()


Ask = Callable[..., Any]


@pytest.fixture
def ask(model: Plane) -> Ask:
    """Asks within one loop, and closes what it opened."""

    async def asked(
        *questions: tuple[str, LocalCollection], least: float = 0.5, aliases: dict[str, str] | None = None
    ) -> list[tuple[str | None, str]]:
        async for names in opened(model):
            model.texts.clear()
            answers = [await names.nearest(query, "c", known, aliases or {}, least) for query, known in questions]
        return [(one.entity, one.reason) for one in answers]

    return asked


async def opened(model: Plane) -> AsyncIterator[NearestNames]:
    encoder = Encoder("plane", model)
    names = NearestNames(encoder)
    yield names
    await names.close()
    encoder.close()


async def test_the_nearest_name_is_found_with_its_similarity(ask: Ask):
    ((entity, reason),) = await ask(("query", index("far 0.3", "near 0.8")))
    assert (entity, reason) == ("near 0.8", "'near 0.8' is the nearest to the question (similarity 0.80)")


async def test_a_name_below_the_threshold_is_not_taken_and_told(ask: Ask):
    known = index("far 0.3", "near 0.49")
    ((entity, reason),) = await ask(("query", known))
    assert (entity, reason) == (None, "the nearest, 'near 0.49', has a similarity of 0.49, below 0.5")
    ((entity, _),) = await ask(("query", known), least=0.48)
    assert entity == "near 0.49"


async def test_of_two_names_about_as_near_neither_is_guessed(ask: Ask):
    (close, apart) = await ask(
        ("query", index("one 0.82", "two 0.78")),
        ("query", index("one 0.84", "two 0.78")),
    )
    assert close == (None, "'one 0.82' and 'two 0.78' are about as near (0.82)")
    assert apart[0] == "one 0.84"


async def test_an_entity_is_found_by_any_of_its_names_which_do_not_compete(ask: Ask):
    aliases = {"other 0.82": "one 0.3", "third 0.80": "one 0.3"}
    answers = await ask(("query", index("one 0.3", "two 0.7")), aliases=aliases)
    assert answers == [("one 0.3", "'other 0.82' is the nearest to the question (similarity 0.82)")]
    close = await ask(("query", index("one 0.3", "two 0.78")), aliases=aliases)
    assert close == [(None, "'other 0.82' and 'two 0.78' are about as near (0.82)")]


async def test_a_sole_entity_still_has_to_be_near(ask: Ask):
    answers = await ask(("query", index("sole 0.8")), ("query", index("sole 0.2")))
    assert [entity for entity, _ in answers] == ["sole 0.8", None]


@pytest.mark.parametrize(("query", "least"), [("", 0.5), ("  ", 0.5), ("query", 1.0)])
async def test_nothing_is_encoded_for_no_question_or_when_it_is_off(ask: Ask, model: Plane, query: str, least: float):
    assert await ask((query, index("a 0.9")), least=least) == [(None, "")]
    assert not model.texts


async def test_an_empty_collection_has_no_nearest_entity(ask: Ask, model: Plane):
    assert await ask(("query", index())) == [(None, "")]
    assert not model.texts


async def test_without_an_encoder_nothing_is_near():
    assert (await NearestNames(None).nearest("query", "c", index("a 0.9"), {}, 0.0)).entity is None


async def test_each_name_is_encoded_once_also_when_others_come_and_go(ask: Ask, model: Plane):
    answers = await ask(
        ("query", index("a 0.6", "b 0.7")),
        ("query", index("a 0.6", "b 0.7")),
        ("query", index("a 0.6", "b 0.7", "c 0.9")),
        ("query", index("a 0.6", "c 0.9")),
    )
    assert [entity for entity, _ in answers] == ["b 0.7", "b 0.7", "c 0.9", "c 0.9"]
    assert model.texts == {"query": 1, "a 0.6": 1, "b 0.7": 1, "c 0.9": 1}


async def test_many_who_ask_at_once_wait_for_one_encoding_of_the_names(model: Plane):
    async for names in opened(model):
        model.texts.clear()
        known = index("a 0.6", "b 0.9")
        answers = await asyncio.gather(*(names.nearest("query", "c", known, {}, 0.5) for _ in range(10)))
        assert {one.entity for one in answers} == {"b 0.9"}
        assert model.texts == {"query": 1, "a 0.6": 1, "b 0.9": 1}


async def test_who_comes_while_many_names_are_encoded_is_told_and_who_comes_after_is_answered(
    model: Plane, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(entities, "PATIENCE_S", 0.0)
    async for names in opened(model):
        known = index("a 0.6", "b 0.9")
        first = await names.nearest("query", "c", known, {}, 0.5)
        assert (first.entity, first.reason) == (None, "the names of the entities are still being encoded")
        await asyncio.gather(*names._learning.values())
        assert (await names.nearest("query", "c", known, {}, 0.5)).entity == "b 0.9"


async def test_too_many_entities_are_not_looked_through(ask: Ask, model: Plane, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(entities, "MAX_NAMES", 2)
    ((entity, reason),) = await ask(("query", index("a 0.6", "b 0.9", "c 0.1")))
    assert (entity, reason) == (None, "over 2 names are too many to look for the nearest")
    assert not model.texts

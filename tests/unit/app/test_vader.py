import pytest

from app.entities import NamesInText
from app.labelling import vader
from app.remembered import Remembered


class OneScore:
    """An analyzer of a single mood."""

    def __init__(self, compound: float) -> None:
        self.compound = compound

    def polarity_scores(self, _text: str) -> dict[str, float]:
        return {"compound": self.compound}


@pytest.mark.parametrize(
    ("lean", "intensity"),
    [
        (1, "high"),
        (0.7, "high"),
        (0.6999, "medium"),
        (0.35, "medium"),
        (0.3499, "low"),
        (0, "low"),
        (-0.2, "low"),
        (-1, "low"),
    ],
)
@pytest.mark.parametrize("sign", [1, -1])
def test_strengths_are_cut_at_35_and_70_hundredths_toward_the_known_side(
    monkeypatch: pytest.MonkeyPatch, lean: float, intensity: str, sign: int
):
    monkeypatch.setattr(vader, "_analyzer", lambda: OneScore(sign * lean))
    assert vader.intensity_toward("", sign) == intensity


@pytest.mark.parametrize(
    ("text", "sign", "intensity"),
    [
        # compound = s / sqrt(s * s + 15), s the sum of the words' weights
        ("it was okay", 1, "low"),  # okay 0.9: 0.2263
        ("it was good", 1, "medium"),  # good 1.9: 0.4404
        ("it was good", -1, "low"),
        ("great love", 1, "high"),  # 3.1 + 3.2: 0.8519
        ("it was bad", -1, "medium"),  # bad -2.5: -0.5423
        ("", 1, "low"),
    ],
)
def test_the_lexicon_tells_how_strong_a_text_is(text: str, sign: int, intensity: str):
    pytest.importorskip("vaderSentiment")
    assert vader.intensity_toward(text, sign) == intensity


def names(*entities: str) -> NamesInText:
    return NamesInText({entity: entity for entity in entities})


NONE = names()


@pytest.fixture
def scores(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Sentences score what they say, `+0.5.`; the list tells which were read."""
    read: list[str] = []

    class Literal:
        def polarity_scores(self, sentence: str) -> dict[str, float]:
            read.append(sentence)
            return {"compound": float(sentence.split()[-1].rstrip("!"))}

    monkeypatch.setattr(vader, "_analyzer", Literal)
    monkeypatch.setattr(vader, "_compounds", Remembered(10))
    return read


@pytest.mark.parametrize(
    ("compound", "position"),
    [(0, 0), (0.04, 0), (0.05, 10), (0.06, 10), (0.34, 10), (0.35, 20), (0.69, 20), (0.7, 30), (1, 30)],
)
@pytest.mark.parametrize("sign", [1, -1])
def test_labels_are_cut_at_5_35_and_70_hundredths(scores: list[str], compound: float, position: float, sign: int):
    assert vader.intensities(f"it is {sign * compound}!", NONE) == (sign * position, {})


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("a 0.8! b 0.9!", 30),
        ("a 0.8! b -0.2!", 10),  # mean 0.3
        ("a 0.8! b 0.0! c 0.01!", 30),  # only what leans counts: mean 0.8
        ("a 0.8! b -0.8!", 0),
        ("a 0.0!", 0),
    ],
)
def test_a_text_is_labelled_by_the_mean_of_the_sentences_that_lean(scores: list[str], text: str, position: float):
    assert vader.intensities(text, NONE) == (position, {})


def test_an_entity_is_labelled_by_the_sentences_that_name_it(scores: list[str]):
    text = "the pool 0.8! the room -0.8! the Pool and room 0.96! nothing 0.4!"
    assert vader.intensities(text, names("pool", "room", "bar")) == (10, {"pool": 30, "room": 10})


@pytest.mark.parametrize("text", ["", "  ", "\n\n"])
def test_a_text_without_words_has_no_label(scores: list[str], text: str):
    assert vader.intensities(text, NONE) is None


def test_a_text_that_comes_again_is_not_read_again(scores: list[str]):
    for looked_for in (NONE, names("pool")):
        vader.intensities("the pool 0.8! b 0.1!", looked_for)
    assert scores == ["the pool 0.8!", "b 0.1!"]


def test_the_lexicon_labels_real_sentences():
    pytest.importorskip("vaderSentiment")
    text = "The breakfast was wonderful, we loved it! The pool was dirty and horrible. It opens at ten."
    # 2.7 + 2.9 + 0.292 for the sign: 0.84; -1.9 - 2.5: -0.75; their mean of 0.04 leans nowhere
    assert vader.intensities(text, names("breakfast", "pool")) == (0, {"breakfast": 30, "pool": -30})

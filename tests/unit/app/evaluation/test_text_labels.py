import pytest

from app.evaluation.text_labels import Labelled, Task, label
from app.labelling import vader

WORDS = {"awful": -0.8, "bad": -0.4, "meh": 0.0, "good": 0.4, "lovely": 0.8}


@pytest.fixture(autouse=True)
def small_lexicon(monkeypatch: pytest.MonkeyPatch):
    """The mood of a text is the mean over the words that have one."""

    def mood(text: str) -> float:
        found = [value for word, value in WORDS.items() for _ in range(text.lower().count(word))]
        return sum(found) / len(found) if found else 0.0

    monkeypatch.setattr(vader, "mood", mood)


def labelled(text: str, *entities: str, by_mention: bool = False, **mentions: list[str]) -> Labelled:
    (found,) = label(Task([text], [list(entities)], mentions, by_mention))
    return found


def test_an_opinion_is_the_mood_of_the_sentences_that_mention_its_entity():
    found = labelled("Lovely pool. The bar was awful! Rest was meh.", "pool", "bar")
    assert found.opinions == {"pool": 30, "bar": -30}
    assert found.whole == 0


def test_several_sentences_count_as_their_mean():
    # (0.8 + 0.4) / 2 = 0.6: medium
    assert labelled("Lovely pool. A good pool. Awful bar.", "pool").opinions == {"pool": 20}


def test_what_is_not_mentioned_is_labelled_by_the_whole_text():
    assert labelled("Good. Good.", "parking") == Labelled(20, {"parking": 20})


def test_mentions_are_whole_words_in_any_case():
    found = labelled("Lovely carpool. Awful BEDS.", "pool", "rooms", rooms=["bed", "beds"])
    assert found.opinions == {"pool": 0, "rooms": -30}  # pool is not mentioned: lovely and awful make 0


def test_by_mention_finds_entities_and_labels_no_others():
    found = labelled("Lovely pool. Bad bar.", by_mention=True, pool=["pool"], bar=["bar"], gym=["gym"])
    assert found.opinions == {"pool": 30, "bar": -20}


def test_a_name_that_looks_like_a_pattern_is_a_name():
    assert labelled("The a/c (cold) was lovely. Awful food.", "a/c (cold)").opinions == {"a/c (cold)": 30}


def test_sentences_end_where_writers_end_them():
    assert vader.sentences_of("One. Two!Three? four 3.5 five\nsix...  Seven") == [
        "One.",
        "Two!",
        "Three?",
        "four 3.5 five",
        "six...",
        "Seven",
    ]


@pytest.mark.parametrize(
    ("compound", "position"),
    [(0, 0), (0.0499, 0), (0.05, 10), (-0.05, -10), (0.35, 20), (-0.7, -30), (0.6999, 20), (1, 30)],
)
def test_the_lexicons_score_becomes_a_position(compound: float, position: int):
    assert vader.position_of([compound]) == position

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from app.evaluation.corpus import Corpus, Labels, read_corpus
from app.evaluation.layout import load_layout
from warp_core import SENTIMENT_INTENSITY, InvalidInputError, target_distribution


def read(folder: Path, layout: str, *rows: dict[str, Any]) -> Corpus:
    path = folder / "corpus.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    return read_corpus(path, load_layout(layout), SENTIMENT_INTENSITY)


def opinions_of(corpus: Corpus) -> dict[str, dict[int, float]]:
    assert corpus.human is not None
    positions = SENTIMENT_INTENSITY.positions
    return {e: {i: positions[b] for i, b in own.items()} for e, own in corpus.human.opinions.items()}


def test_neutral_documents_are_those_of_ingest(tmp_path: Path):
    corpus = read(
        tmp_path,
        "neutral",
        {"id": "a", "text": "x", "si": -10, "opinions": [{"entity": "The  Pool", "stars": 5, "impact": 30}]},
        {"id": "gone", "text": "y", "excluded": True},
        {"id": "b", "text": "z", "opinions": [{"entity": "the pool", "sentiment": "negative", "intensity": "high"}]},
    )
    assert corpus.ids == ["a", "b"]
    assert opinions_of(corpus) == {"the pool": {0: 30, 1: -30}}
    assert corpus.names == {"the pool": "The  Pool"}
    assert corpus.human is not None
    assert corpus.human.documents.tolist() == [2, -1]
    assert corpus.details[0, "the pool"].impact == 30
    assert (1, "the pool") not in corpus.details


def test_a_broken_document_is_named_with_its_place_and_field(tmp_path: Path):
    good = {"id": "a", "text": "x"}
    with pytest.raises(InvalidInputError, match=r"corpus.jsonl:2: /opinions/0/stars"):
        read(tmp_path, "neutral", good, {"id": "b", "text": "y", "opinions": [{"entity": "e", "stars": 9}]})
    with pytest.raises(InvalidInputError, match="two documents have the id 'a'"):
        read(tmp_path, "neutral", good, good)
    with pytest.raises(InvalidInputError, match="holds no document"):
        read(tmp_path, "neutral", {"id": "a", "text": "x", "excluded": True})


def test_every_kind_of_label_reaches_its_position(tmp_path: Path):
    labels = [{"stars": 2}, {"polarity": "conflict"}, {"polarity": "negative"}, {"strength": 2}, {"mean": -1.3}]
    rows = [
        {"id": str(i), "text": "t", "opinions": [{"entity": "e", **label, "value": 0}]}
        for i, label in enumerate(labels)
    ]
    # -1.3 * 7.5 = -9.75, nearest -10
    assert opinions_of(read(tmp_path, "opinion_lists", *rows)) == {"e": {0: -20, 1: 0, 2: -30, 3: 20, 4: -10}}


def test_several_opinions_on_one_entity_count_as_their_mean(tmp_path: Path):
    said = [{"entity": "food", "polarity": p} for p in ("positive", "positive", "negative")]
    corpus = read(tmp_path, "opinion_lists", {"id": "a", "text": "t", "opinions": [*said, {"entity": "x", "stars": 4}]})
    assert opinions_of(corpus) == {"food": {0: 10}, "x": {0: 20}}
    assert corpus.human is not None
    assert corpus.human.documents.tolist() == [4]  # the mean of 10 and 20, a tie, toward zero: +10


def test_the_document_as_a_whole_is_the_overall_rating_where_a_layout_says_so(tmp_path: Path):
    said = [{"entity": "overall", "stars": 1}, {"entity": "rooms", "stars": 5}]
    corpus = read(tmp_path, "tripadvisor_hotels", {"id": "a", "text": "t", "opinions": said})
    assert opinions_of(corpus) == {"rooms": {0: 30}}
    assert corpus.human is not None
    assert corpus.human.documents.tolist() == [0]


def test_only_opinions_that_match_count(tmp_path: Path):
    said = [{"entity": "food", "polarity": "positive", "kind": k} for k in ("term", "category")]
    said[0]["polarity"] = "negative"
    corpus = read(tmp_path, "semeval_restaurants", {"id": "a", "text": "t", "opinions": said})
    assert opinions_of(corpus) == {"food": {0: 30}}


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ({"text": "t"}, r"corpus\.jsonl:1: id: is missing"),
        ({"id": "a", "text": "t", "opinions": 3}, "opinions: must be a list"),
        ({"id": "a", "text": "t", "opinions": [3]}, "must be a list of objects"),
        (
            {"id": "a", "text": "t", "opinions": [{"entity": "e", "stars": "many"}]},
            "stars: must be a number, got 'many'",
        ),
        ({"id": "a", "text": "t", "opinions": [{"entity": "e", "stars": True}]}, "stars: must be a number"),
        (
            {"id": "a", "text": "t", "opinions": [{"entity": "e", "polarity": "so-so"}]},
            "polarity: must be one of positive",
        ),
    ],
)
def test_a_row_that_breaks_its_layout_is_named(tmp_path: Path, row: dict[str, Any], complaint: str):
    with pytest.raises(InvalidInputError, match=complaint):
        read(tmp_path, "opinion_lists", row)


def test_author_attributes_are_cut_into_categories_and_rare_ones_put_together(tmp_path: Path):
    layout = tmp_path / "mine.toml"
    layout.write_text(
        "[attributes]\n"
        'experience = { column = "author.reviews", cuts = [2, 11], names = ["new", "some", "many"] }\n'
        'country = { column = "author.country", at_least = 2 }\n'
    )
    authors = [(1, "UK"), (2, "UK"), (11, "US"), (None, None)]
    rows = [{"id": str(i), "text": "t", "author": {"reviews": n, "country": c}} for i, (n, c) in enumerate(authors)]
    corpus = read(tmp_path, str(layout), *rows)
    assert corpus.attributes == {"country": ["UK", "UK", "other", None], "experience": ["new", "some", "many", None]}
    assert corpus.human is None


def table(folder: Path, *rows: tuple[object, ...]) -> Corpus:
    path = folder / "corpus.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    return read_corpus(path, load_layout("table"), SENTIMENT_INTENSITY)


def test_a_table_has_an_opinion_a_row(tmp_path: Path):
    corpus = table(
        tmp_path,
        ("id", "text", "entity", "stars", "sentiment", "document_stars"),
        ("a", "one", "pool", 5, "", 4),
        ("a", "one", "bar", "", "negative", ""),
        ("b", "two", "", "", "", 1),
    )
    assert corpus.texts == ["one", "two"]
    assert opinions_of(corpus) == {"pool": {0: 30}, "bar": {0: -20}}
    assert corpus.human is not None
    assert corpus.human.documents.tolist() == [5, 0]


def test_one_id_with_two_texts_is_refused(tmp_path: Path):
    with pytest.raises(InvalidInputError, match=r"corpus\.csv:3: id: 'a' has two texts"):
        table(tmp_path, ("id", "text"), ("a", "one"), ("a", "two"))


def test_wide_tables_have_an_entity_a_column(tmp_path: Path):
    layout = tmp_path / "wide.toml"
    layout.write_text(
        "[[entity_columns]]\nentity = 'rooms'\nlabel = { column = 'rooms_stars', kind = 'stars' }\n"
        "[[entity_columns]]\nentity = 'food'\nlabel = { column = 'food_stars', kind = 'stars' }\n"
    )
    corpus = read(tmp_path, str(layout), {"id": "a", "text": "t", "rooms_stars": "4", "food_stars": 1})
    assert opinions_of(corpus) == {"rooms": {0: 20}, "food": {0: -30}}


def test_labels_know_what_a_document_counts_as_in_a_list_about_an_entity(tmp_path: Path):
    corpus = read(
        tmp_path,
        "neutral",
        {"id": "a", "text": "x", "si": -30, "opinions": [{"entity": "e", "si": 30}, {"entity": "f", "si": 0}]},
        {"id": "b", "text": "y", "si": 10},
        {"id": "c", "text": "z"},
    )
    labels = corpus.human
    assert isinstance(labels, Labels)
    own, shown = labels.on("e")
    assert (own.tolist(), shown.tolist()) == ([6, -1, -1], [6, 4, -1])
    assert labels.counts("e") == [0, 0, 0, 0, 0, 0, 1]
    assert labels.counts("nobody's") == [0] * 7
    assert labels.domain == [0, 0, 0, 1, 0, 0, 1]
    assert labels.target("e") == target_distribution(labels.counts("e"), labels.domain)

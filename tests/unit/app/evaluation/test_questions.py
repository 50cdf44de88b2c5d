from pathlib import Path

import pytest

from app.evaluation.layout import Questions
from app.evaluation.methods import ALL, methods_of
from app.evaluation.questions import Question, from_file, templated
from warp_core import SELECTORS, InvalidInputError


def test_an_entity_gets_six_questions_under_the_name_that_the_corpus_gives_it():
    questions = templated(["pool", "bar"], {"pool": "The Pool"}, Questions())
    assert len(questions) == 12
    assert [question.kind for question in questions[:6]] == ["breadth"] * 2 + ["polar"] * 2 + ["segment"] * 2
    assert questions[0] == Question("What do people think about The Pool?", "pool", "breadth")
    assert all("bar" in question.text for question in questions[6:])


@pytest.mark.parametrize("name", ["q.jsonl", "q.csv"])
def test_questions_come_from_a_file(tmp_path: Path, name: str):
    path = tmp_path / name
    path.write_text(
        '{"query": "How is it?", "entity": " POOL "}' if name == "q.jsonl" else "query,entity\nHow is it?, POOL \n"
    )
    assert from_file(path, ["pool"]) == [Question("How is it?", "pool", "given")]


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ('{"query": "How?"}', "q.jsonl:1: entity must be text"),
        ('{"entity": "pool", "query": 3}', "query must be text, got 3"),
        ('{"entity": "spa", "query": "How?"}', "no opinion on 'spa'"),
        ("", "holds no question"),
    ],
)
def test_a_question_that_cannot_be_asked_is_named(tmp_path: Path, line: str, complaint: str):
    path = tmp_path / "q.jsonl"
    path.write_text(line)
    with pytest.raises(InvalidInputError, match=complaint):
        from_file(path, ["pool"])


def test_all_methods_are_every_selector_and_the_piped_ones():
    found = methods_of(ALL)
    assert list(found.selectors) == list(SELECTORS)
    assert [one.name for one in found.piped] == ["entity_gated+w1_minimizer", "adaptive+w1_minimizer", "auto"]


def test_the_baseline_is_always_among_them_and_first():
    assert methods_of(["w1_mmr"]).names == ["top_k", "w1_mmr"]
    assert methods_of(["w1_mmr", "top_k", "w1_mmr"]).names == ["top_k", "w1_mmr"]


def test_any_selector_goes_with_an_expansion():
    (piped,) = methods_of(["adaptive+w1_exact"]).piped
    assert (piped.variant, piped.expansion) == ("w1_exact", "adaptive")


@pytest.mark.parametrize("name", ["best", "adaptive+", "adaptive+auto", "+top_k", "none+top_k"])
def test_an_unknown_method_is_refused(name: str):
    with pytest.raises(InvalidInputError, match="methods"):
        methods_of([name])

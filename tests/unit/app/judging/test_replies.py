"""What was said is kept, whole lines only."""

from pathlib import Path

import pytest

from app.judging.endpoint import Reply
from app.judging.replies import Call, Replies, call_of

ONE, TWO = (Call("http://a/v1", "m", body) for body in (b"1", b"2"))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    kept = Replies(tmp_path / "out" / "replies.jsonl")
    kept.put(ONE, Reply("eins", "stop", 3, 1))
    kept.put(TWO, Reply("zwei\n\x00"))
    kept.close()
    return tmp_path / "out" / "replies.jsonl"


def test_replies_outlive_the_process(file: Path):
    kept = Replies(file)
    assert (kept.get(ONE), kept.get(TWO)) == (Reply("eins", "stop", 3, 1), Reply("zwei\n\x00"))


def test_nothing_is_written_before_the_first_reply(tmp_path: Path):
    Replies(tmp_path / "out" / "replies.jsonl").close()
    assert not (tmp_path / "out").exists()


def test_every_cut_of_the_file_loses_the_last_reply_at_most(file: Path):
    content = file.read_bytes()
    second = content.index(b"\n") + 1
    for length in range(second, len(content)):
        file.write_bytes(content[:length])
        kept = Replies(file)
        assert kept.get(ONE) is not None
        assert (kept.get(TWO) is None) == (length < len(content) - 1)  # without its line break the line is whole
        kept.put(TWO, Reply("again"))
        kept.close()
        assert Replies(file).get(TWO) == Reply("again")
        assert Replies(file).get(ONE) == Reply("eins", "stop", 3, 1)


def test_a_call_is_another_one_by_url_model_messages_parameters_and_number():
    calls = [
        call_of(url, model, [{"role": "user", "content": text}], parameters)
        for url in ("http://a/v1", "http://b/v1")
        for model in ("m", "n")
        for text in ("x", "y")
        for parameters in ({}, {"temperature": 0}, {"temperature": 0, "seed": 1})
    ]
    assert len({call.key for call in calls}) == 24


def test_the_order_of_parameters_makes_no_other_call():
    first, second = (
        call_of("u", "m", [], p) for p in ({"a": 1, "b": {"c": 2, "d": 3}}, {"b": {"d": 3, "c": 2}, "a": 1})
    )
    assert first.key == second.key

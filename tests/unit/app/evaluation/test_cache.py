from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from app.evaluation.cache import Cache, code_of, digest_of


def test_what_is_put_can_be_got_and_nothing_else(tmp_path: Path):
    cache = Cache(tmp_path / "new" / "folder")
    assert cache.get("aa11") is None
    cache.put("aa11", b"x")
    cache.put("aa11", b"y")
    assert Cache(tmp_path / "new" / "folder").get("aa11") == b"y"
    assert cache.get("aa12") is None


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    cache = Cache(tmp_path)

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        cache.put("aa11", b"x")
    monkeypatch.undo()
    assert cache.get("aa11") is None


def test_digests_tell_apart_what_differs_and_nothing_else():
    same = digest_of(np.array([1.0, 2.0]), {"b": 1, "a": [2]}, b"x")
    assert same == digest_of(np.array([1.0, 2.0]), {"a": [2], "b": 1}, b"x")
    others = [
        digest_of(np.array([1.0, 2.5]), {"b": 1, "a": [2]}, b"x"),
        digest_of(np.array([[1.0, 2.0]]), {"b": 1, "a": [2]}, b"x"),
        digest_of(np.array([1, 2]), {"b": 1, "a": [2]}, b"x"),
        digest_of(np.array([1.0, 2.0]), {"b": 1, "a": [3]}, b"x"),
        digest_of(np.array([1.0, 2.0]), {"b": 1, "a": [2]}, b"y"),
        digest_of(b"x"),
    ]
    assert len({same, *others}) == 1 + len(others)


def test_parts_do_not_run_into_each_other():
    assert digest_of(b"ab", b"c") != digest_of(b"a", b"bc")


def test_an_array_is_what_it_holds_not_how_it_lies():
    wide = np.arange(6.0).reshape(2, 3)
    assert digest_of(wide) == digest_of(np.asfortranarray(wide))


def test_changed_code_has_another_digest(tmp_path: Path):
    package = tmp_path / "p"
    (package / "inner").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "inner" / "a.py").write_text("x = 1")
    (package / "notes.txt").write_text("no code")
    module = ModuleType("p")
    module.__file__ = str(package / "__init__.py")
    before = code_of(module)
    (package / "notes.txt").write_text("still no code")
    assert code_of(module) == before
    (package / "inner" / "a.py").write_text("x = 2")
    assert code_of(module) != before

import gzip
from pathlib import Path

import pytest

from app.evaluation.rows import files_of, is_table, rows_of
from warp_core import InvalidInputError


def written(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return path


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.jsonl", b'{"id": "1", "t": "x"}\n\n{"id": "2", "t": "y"}\n'),
        ("a.ndjson.gz", b'{"id": "1", "t": "x"}\n\n{"id": "2", "t": "y"}'),
        ("a.csv", b"id,t\r\n1,x\r\n2,y\r\n"),
        ("a.csv.gz", b"\xef\xbb\xbfid,t\n1,x\n2,y\n"),
        ("a.tsv", b"id\tt\n1\tx\n2\ty\n"),
    ],
)
def test_all_kinds_of_files_give_the_same_rows(tmp_path: Path, name: str, content: bytes):
    rows = list(rows_of(written(tmp_path, name, content)))
    assert [row for _, row in rows] == [{"id": "1", "t": "x"}, {"id": "2", "t": "y"}]
    assert rows[0][0] == f"{name}:{1 if 'json' in name else 2}"
    assert is_table(tmp_path / name) == ("json" not in name)


def test_an_empty_cell_is_no_value(tmp_path: Path):
    assert [row for _, row in rows_of(written(tmp_path, "a.csv", b"id,t,u\n1,,z\n"))] == [{"id": "1", "u": "z"}]


def test_a_cell_may_hold_lines_and_be_long(tmp_path: Path):
    text = "line one\nline two " + "x" * 200_000
    path = written(tmp_path, "a.csv", f'id,t\n1,"{text}"\n'.encode())
    assert [row["t"] for _, row in rows_of(path)] == [text]


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("a.jsonl", b'{"id": 1}\n{"id"', "a.jsonl:2"),
        ("a.jsonl", b"[1]", "a.jsonl:1: a JSON object"),
        ("a.jsonl", b"[" * 100_000, "a.jsonl:1"),
        ("a.csv", b"id,t\n1,2,3\n", "a.csv:2: more cells"),
        ("a.csv", b"id,t\n1,\xff\n", "utf-8"),
        ("a.txt", b"x", "neither"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, name: str, content: bytes, complaint: str):
    with pytest.raises(InvalidInputError, match=complaint):
        list(rows_of(written(tmp_path, name, content)))


def test_a_torn_gzip_file_is_named(tmp_path: Path):
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"id": 1}\n' * 1000)[:40])
    with pytest.raises(InvalidInputError, match=r"a\.jsonl\.gz"):
        list(rows_of(path))


def test_a_folder_gives_the_files_that_match_in_order(tmp_path: Path):
    for name in ("b.jsonl", "a.jsonl", "c.txt"):
        written(tmp_path, name, b"{}")
    assert [file.name for file in files_of(tmp_path, ("*.jsonl",))] == ["a.jsonl", "b.jsonl"]
    assert files_of(tmp_path / "c.txt", ("*.jsonl",)) == [tmp_path / "c.txt"]
    with pytest.raises(InvalidInputError, match=r"\*.csv or \*.tsv"):
        files_of(tmp_path, ("*.csv", "*.tsv"))

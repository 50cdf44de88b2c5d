"""Files -> rows: JSON Lines, CSV and TSV, plain or gzipped."""

import codecs
import csv
import gzip
from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import msgspec

from warp_core import InvalidInputError

Row = dict[str, Any]
_DELIMITERS = {".csv": ",", ".tsv": "\t"}
LARGEST_CELL = 2**24
"""Characters in a cell of a table; Python's own limit is below a long document."""


def files_of(corpus: Path, patterns: Sequence[str]) -> list[Path]:
    """The file itself, or those in a folder whose names match one of the patterns, in order.

    Raises
    ------
    InvalidInputError : there is none.
    """
    if corpus.is_file():
        return [corpus]
    found = sorted(file for file in corpus.glob("*") if any(fnmatch(file.name, pattern) for pattern in patterns))
    if not found:
        raise InvalidInputError("corpus", f"{corpus} is no file, and no folder with {' or '.join(patterns)}")
    return found


def rows_of(path: Path) -> Iterator[tuple[str, Row]]:
    """The rows of a file, each with where it stands: "reviews.jsonl:17".

    Raises
    ------
    InvalidInputError : the file is of another kind, cannot be read, or a line is no JSON object.
    """
    kind = _kind(path)
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
            yield from _lines(path, file) if kind == ".jsonl" else _cells(path, file, _DELIMITERS[kind])
    except (OSError, EOFError, UnicodeDecodeError, csv.Error) as error:
        raise InvalidInputError("corpus", f"{path}: {error}") from error


def is_table(path: Path) -> bool:
    """Whether a file is a table of cells, and no list of JSON documents."""
    return _kind(path) in _DELIMITERS


def _kind(path: Path) -> str:
    kind = Path(path.name.removesuffix(".gz")).suffix
    kind = ".jsonl" if kind == ".ndjson" else kind
    if kind != ".jsonl" and kind not in _DELIMITERS:
        raise InvalidInputError("corpus", f"{path} is neither .jsonl, .csv nor .tsv, plain or .gz")
    return kind


def _lines(path: Path, file: Any) -> Iterator[tuple[str, Row]]:
    for number, line in enumerate(file, 1):
        if not line.strip():
            continue
        place = f"{path.name}:{number}"
        try:
            row = msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise InvalidInputError("corpus", f"{place}: {error}") from error
        if not isinstance(row, dict):
            raise InvalidInputError("corpus", f"{place}: a JSON object is needed, got {type(row).__name__}")
        yield place, row


def _cells(path: Path, file: Any, delimiter: str) -> Iterator[tuple[str, Row]]:
    csv.field_size_limit(LARGEST_CELL)
    reader = csv.DictReader(codecs.iterdecode(file, "utf-8-sig"), delimiter=delimiter)
    for row in reader:
        if None in row:
            raise InvalidInputError("corpus", f"{path.name}:{reader.line_num}: more cells than columns")
        yield f"{path.name}:{reader.line_num}", {name: cell for name, cell in row.items() if cell not in (None, "")}

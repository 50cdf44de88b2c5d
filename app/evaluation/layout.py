"""How a corpus is laid out, as data: which column is what, how labels are read, and how its questions are worded.

A layout is a TOML file. Those of some public corpora lie in `layouts/`; they hold names of columns and wordings only.
"""

import tomllib
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import msgspec

from app.store.base import PoleQueries
from warp_core import InvalidInputError

_PACKAGED = files(__package__) / "layouts"
_SUFFIX = ".toml"


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A part of a layout; what it does not know is refused."""


class Label(Part, frozen=True):
    """A column that may hold an opinion's label.

    Parameters
    ----------
    column : its name; `a.b` is b inside a.
    kind : `si` is a position of the scale, `stars` 1 to 5, `number` any number, taken `times` and to the nearest
        position, `named` a word that `positions` gives a position.
    """

    column: str
    kind: Literal["si", "stars", "number", "named"]
    times: float = 1.0
    positions: Mapping[str, float] = {}


class Opinions(Part, frozen=True):
    """Where opinions stand.

    Parameters
    ----------
    list : the column with a list of them, whose entries have the columns named below; None: the row itself is one.
    entity : the column that names the entity.
    labels : tried in this order; the first that is there counts.
    where : what a column of the opinion must hold for it to count.
    leave_out : entities that are not asked about.
    """

    list: str | None = None
    entity: str = "entity"
    labels: tuple[Label, ...] = ()
    where: Mapping[str, str] = {}
    leave_out: tuple[str, ...] = ()


class EntityColumn(Part, frozen=True):
    """A column that holds the label of one entity, as wide tables have them."""

    entity: str
    label: Label


class WholeDocument(Part, frozen=True):
    """Where a document's opinion as a whole comes from: its labels, else an entity's, else the mean of its opinions."""

    labels: tuple[Label, ...] = ()
    entity: str | None = None
    mean_of_opinions: bool = False


class Attribute(Part, frozen=True):
    """A categorical attribute of the author.

    Parameters
    ----------
    column : its column.
    cuts : turn a number into one of `names`: below the first cut, from it on, from the second on ..
    at_least : a category with fewer documents counts as "other".
    """

    column: str
    cuts: tuple[float, ...] = ()
    names: tuple[str, ...] = ()
    at_least: int = 1


class Questions(Part, frozen=True):
    """The wording of the six questions an entity gets (WARP, table 6)."""

    breadth: tuple[str, ...] = (
        "What do people think about {entity}?",
        "Summarize people's opinions on {entity}.",
    )
    polar: tuple[str, ...] = (
        "What are the biggest complaints about {entity}?",
        "What positive experiences have people had with {entity}?",
    )
    segment: tuple[str, ...] = (
        "How do newcomers vs regulars feel about {entity}?",
        "Do people on their own and families differ in their views of {entity}?",
    )


class Layout(Part, frozen=True):
    """A whole layout.

    Parameters
    ----------
    about : what the corpus is, one line for the report.
    files : patterns of the files that count, when a folder is given.
    id, text, timestamp : columns; without an id, rows are numbered.
    neutral : documents are as for /ingest, and nothing else here tells how to read them.
    entities_from : `opinions`, or `mentions`: then a document has an opinion on each entity that it mentions, labelled
        by the lexicon from the sentences that do, and by people as the document as a whole.
    mentions : words by which the text mentions an entity; left out, its name.
    labels : which labels the main tables go by.
    """

    about: str = ""
    files: tuple[str, ...] = ("*.jsonl", "*.jsonl.gz", "*.csv", "*.csv.gz", "*.tsv", "*.tsv.gz")
    id: str | None = "id"
    text: str = "text"
    timestamp: str | None = None
    neutral: bool = False
    opinions: Opinions = Opinions()
    entity_columns: tuple[EntityColumn, ...] = ()
    document: WholeDocument = WholeDocument()
    attributes: Mapping[str, Attribute] = {}
    entities_from: Literal["opinions", "mentions"] = "opinions"
    mentions: Mapping[str, tuple[str, ...]] = {}
    labels: Literal["human", "text"] = "human"
    questions: Questions = Questions()
    pole_queries: PoleQueries = PoleQueries()


def packaged_layouts() -> list[str]:
    """Names of the layouts that come with this package."""
    return sorted(entry.name.removesuffix(_SUFFIX) for entry in _PACKAGED.iterdir() if entry.name.endswith(_SUFFIX))


def load_layout(name: str) -> Layout:
    """A packaged layout by name, or one by path.

    A layout may name another as its `base`; its own entries then go over those of the base, table by table.

    Raises
    ------
    InvalidInputError : there is none, or it breaks a rule; the detail names the entry.
    """
    try:
        layout = msgspec.convert(_merged(name, ()), Layout)
    except msgspec.ValidationError as error:
        raise InvalidInputError("layout", f"{name}: {error}") from error
    for attribute, wanted in layout.attributes.items():
        if wanted.cuts and len(wanted.names) != len(wanted.cuts) + 1:
            raise InvalidInputError("layout", f"{name}: attributes.{attribute}: one more name than cuts is needed")
    return layout


def _merged(name: str, below: tuple[str, ...]) -> dict[str, Any]:
    if name in below:
        raise InvalidInputError("layout", f"{name} is its own base")
    entries = _read(name)
    base = entries.pop("base", None)
    if base is None:
        return entries
    if not isinstance(base, str):
        raise InvalidInputError("layout", f"{name}: base must be a name or a path, got {base!r}")
    return _over(_merged(base, (*below, name)), entries)


def _read(name: str) -> dict[str, Any]:
    path = Path(name)
    source = path if path.suffix == _SUFFIX else _PACKAGED / f"{name}{_SUFFIX}"
    try:
        return tomllib.loads(source.read_text(encoding="utf-8"))
    except (FileNotFoundError, IsADirectoryError):
        names = ", ".join(packaged_layouts())
        raise InvalidInputError("layout", f"must be one of {names}, or a .toml file, got {name!r}") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidInputError("layout", f"{name}: {error}") from error


def _over(base: dict[str, Any], entries: dict[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in entries.items():
        below = merged.get(key)
        merged[key] = _over(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return merged

"""A row as its layout describes it -> a document as for /ingest."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from app.documents import Draft, draft
from app.errors import InvalidRequestError
from app.evaluation.layout import Attribute, Label, Layout, Opinions
from app.evaluation.rows import Row
from warp_core import InvalidInputError, OpinionScale


def drafts_of(rows: Iterator[tuple[str, Row]], layout: Layout, scale: OpinionScale) -> Iterator[tuple[Draft, Row]]:
    """Checked documents, each with the neutral form that it was made of.

    Rows of one id make one document; of several opinions on one entity the mean counts, taken to the nearest position.

    Raises
    ------
    InvalidInputError : a row breaks a rule; the detail says where it stands.
    """
    documents = rows if layout.neutral else _gathered(rows, layout, scale)
    for place, document in documents:
        try:
            yield draft(msgspec.json.encode(document), scale), document
        except InvalidRequestError as error:
            raise InvalidInputError("corpus", f"{place}: {error}") from error


def _gathered(rows: Iterator[tuple[str, Row]], layout: Layout, scale: OpinionScale) -> Iterator[tuple[str, Row]]:
    found: dict[str, tuple[str, Row, dict[str, list[float]]]] = {}
    for place, row in rows:
        try:
            name = str(len(found) + 1) if layout.id is None else _needed(row, layout.id)
            text = _needed(row, layout.text)
            if name not in found:
                neutral: Row = {"id": name, "text": text, "attributes": _attributes(row, layout.attributes)}
                if layout.timestamp and (timestamp := _at(row, layout.timestamp)) is not None:
                    neutral["timestamp"] = str(timestamp)
                if (own := _position(row, layout.document.labels, scale)) is not None:
                    neutral["si"] = own
                found[name] = place, neutral, {}
            elif found[name][1]["text"] != text:
                raise InvalidInputError(layout.id or "id", f"{name!r} has two texts")
            for entity, position in _opinions(row, layout, scale):
                found[name][2].setdefault(entity, []).append(position)
        except InvalidInputError as error:
            raise InvalidInputError("corpus", f"{place}: {error}") from error
    for place, neutral, opinions in found.values():
        yield place, _with_opinions(neutral, opinions, layout, scale)


def _with_opinions(neutral: Row, opinions: Mapping[str, list[float]], layout: Layout, scale: OpinionScale) -> Row:
    positions = {entity: _mean(own, scale) for entity, own in opinions.items()}
    whole = layout.document
    if "si" not in neutral and whole.entity in positions:
        neutral["si"] = positions[whole.entity]
    elif "si" not in neutral and whole.mean_of_opinions and positions:
        neutral["si"] = _mean(list(positions.values()), scale)
    asked = [entity for entity in positions if entity not in layout.opinions.leave_out]
    neutral["opinions"] = [{"entity": entity, "si": positions[entity]} for entity in asked]
    return neutral


def _mean(positions: list[float], scale: OpinionScale) -> float:
    if len(positions) == 1:
        return positions[0]
    return scale.positions[scale.nearest_bin(sum(positions) / len(positions))]


def _opinions(row: Row, layout: Layout, scale: OpinionScale) -> Iterator[tuple[str, float]]:
    for column in layout.entity_columns:
        position = _position(row, (column.label,), scale)
        if position is not None:
            yield column.entity, position
    wanted = layout.opinions
    if not wanted.labels:
        return
    given = [row] if wanted.list is None else _at(row, wanted.list) or []
    if not isinstance(given, list):
        raise InvalidInputError(wanted.list or "", "must be a list of opinions")
    for one in given:
        if not isinstance(one, dict):
            raise InvalidInputError(wanted.list or "", "must be a list of objects")
        entity, position = _at(one, wanted.entity), _position(one, wanted.labels, scale)
        if entity is not None and position is not None and _counts(one, wanted):
            yield str(entity), position


def _counts(opinion: Row, wanted: Opinions) -> bool:
    return all(str(_at(opinion, column)) == value for column, value in wanted.where.items())


def _position(row: Row, labels: tuple[Label, ...], scale: OpinionScale) -> float | None:
    """The position that the first label that is there stands for."""
    for label in labels:
        given = _at(row, label.column)
        if given is not None:
            try:
                return scale.positions[_bin(given, label, scale)]
            except InvalidInputError as error:
                raise InvalidInputError(label.column, error.detail) from error
    return None


def _bin(given: Any, label: Label, scale: OpinionScale) -> int:
    if label.kind == "named":
        if given not in label.positions:
            raise InvalidInputError(label.column, f"must be one of {', '.join(label.positions)}, got {given!r}")
        return scale.bin_at(label.positions[given])
    value = _number(given)
    if label.kind == "stars":
        return scale.bin_of_stars(value)
    return scale.bin_at(value) if label.kind == "si" else scale.nearest_bin(value * label.times)


def _number(given: Any) -> float:
    try:
        if isinstance(given, bool):
            raise TypeError
        return float(given)
    except (TypeError, ValueError):
        raise InvalidInputError("", f"must be a number, got {given!r}") from None


def _attributes(row: Row, wanted: Mapping[str, Attribute]) -> dict[str, str]:
    found = {}
    for name, attribute in wanted.items():
        given = _at(row, attribute.column)
        if given is None:
            continue
        if attribute.cuts:
            value = _number(given)
            given = attribute.names[sum(value >= cut for cut in attribute.cuts)]
        found[name] = str(given)
    return found


def _at(row: Row, column: str) -> Any:
    """The cell of a column; `a.b` is b inside a. None where there is none."""
    if column in row:
        return row[column]
    cell: Any = row
    for step in column.split("."):
        cell = cell.get(step) if isinstance(cell, dict) else None
    return cell


def _needed(row: Row, column: str) -> str:
    given = _at(row, column)
    if given is None:
        raise InvalidInputError(column, "is missing")
    return str(given)

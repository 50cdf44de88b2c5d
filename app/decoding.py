"""Raw body -> checked record, or an error that points at the field."""

import difflib
import json
import math
import re
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

import msgspec
import numpy as np

from app.errors import InvalidRequestError, MalformedBodyError, escaped
from app.schemas import Embedding

T = TypeVar("T")

_PATH = re.compile(r"^(?P<what>.*) - at `(?P<path>\$.*)`$", re.DOTALL)
_STEP = re.compile(r"\.([^.\[]+)|\[(\d+)\]")
_UNKNOWN = re.compile(r"^Object contains unknown field `(?P<field>.*)`$", re.DOTALL)
_MISSING = re.compile(r"^Object missing required field `(?P<field>.*)`$", re.DOTALL)

LARGEST_DIAGNOSED_BODY = 2**20
"""Where a number is not finite, or a text no Unicode, is searched for in bodies up to this size, in bytes."""


class BodyDecoder(Generic[T]):
    """Decodes one type of body, strictly."""

    def __init__(self, type_: type[T]) -> None:
        self._decoder = msgspec.json.Decoder(type_, dec_hook=_custom)
        self._fields = sorted(_field_names(type_))

    def decode(self, body: bytes | msgspec.Raw) -> T:
        """The record in a body.

        Raises
        ------
        MalformedBodyError : the body is no JSON.
        InvalidRequestError : a field is unknown, missing, of another type or out of range.
        """
        try:
            return self._decoder.decode(body)
        except msgspec.ValidationError as error:
            raise self._invalid(bytes(body), str(error)) from error
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise _malformed(bytes(body), str(error)) from error
        except RecursionError as error:
            raise InvalidRequestError.at("", "the body is nested too deeply") from error

    def _invalid(self, body: bytes, message: str) -> InvalidRequestError:
        match = _PATH.match(message)
        what, path = (match["what"], match["path"]) if match else (message, "$")
        inner = _PATH.match(what)  # of a value that `_custom` made
        what, below = (inner["what"], inner["path"][1:]) if inner else (what, "")
        path, inside_mapping, _ = path.partition("[...]")  # msgspec does not tell the keys of a mapping
        if inside_mapping and (unacceptable := _first_unacceptable(body)):
            return InvalidRequestError.at(*unacceptable)
        pointer = "".join(f"/{escaped(name) or position}" for name, position in _STEP.findall(path + below))
        if unknown := _UNKNOWN.match(what):
            near = difflib.get_close_matches(unknown["field"], self._fields, 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            return InvalidRequestError.at(f"{pointer}/{escaped(unknown['field'])}", f"unknown field{hint}")
        if missing := _MISSING.match(what):
            return InvalidRequestError.at(f"{pointer}/{missing['field']}", "this field is required")
        return InvalidRequestError.at(pointer, what[:1].lower() + what[1:])


def _custom(type_: type[Any], value: Any) -> Any:
    """A value of a type that JSON does not have: an embedding.

    Each is made of its list at once, which also lets other threads run between two of them: of a body of megabytes,
    embeddings are all that takes long.
    """
    if type_ is not Embedding:
        raise TypeError(f"no such type in a body: {type_}")
    if not isinstance(value, list):
        raise ValueError(f"Expected `array`, got `{_name(value)}`")
    if not _NUMBERS.issuperset(map(type, value)):
        wrong = next(i for i, item in enumerate(value) if type(item) not in _NUMBERS)
        raise ValueError(f"Expected `float`, got `{_name(value[wrong])}` - at `$[{wrong}]`")
    try:
        return np.array(value, np.float64)
    except OverflowError:
        raise ValueError("Number out of range") from None


_NUMBERS = frozenset({float, int})
_NAMES = {str: "str", bool: "bool", type(None): "null", list: "array", dict: "object", int: "int", float: "float"}


def _name(value: Any) -> str:
    return _NAMES[type(value)]


def schema_of_custom(type_: type[Any]) -> dict[str, Any]:
    """The JSON schema of an embedding."""
    if type_ is not Embedding:
        raise TypeError(f"no such type in a body: {type_}")
    return {"type": "array", "items": {"type": "number"}}


def _field_names(type_: Any) -> set[str]:
    """Names of all fields of a Struct and of those inside it."""
    names: set[str] = set()
    waiting: list[Any] = [msgspec.inspect.type_info(type_)]
    while waiting:
        info = waiting.pop()
        if isinstance(info, msgspec.inspect.StructType):
            names.update(f.encode_name for f in info.fields)
            waiting += [f.type for f in info.fields]
        elif isinstance(info, msgspec.inspect.UnionType):
            waiting += info.types
        elif isinstance(info, msgspec.inspect.ListType | msgspec.inspect.VarTupleType):
            waiting.append(info.item_type)
    return names


def _malformed(body: bytes, message: str) -> InvalidRequestError:
    if unacceptable := _first_unacceptable(body):
        return InvalidRequestError.at(*unacceptable)
    return MalformedBodyError.at("", f"the body is no valid JSON: {message}")


def _first_unacceptable(body: bytes) -> tuple[str, str] | None:
    """Pointer and detail of the first number that is not finite, or text that is no Unicode.

    JSON has neither NaN nor lone surrogates, but Python's own parser takes them, which lets us name the field.
    """
    if len(body) > LARGEST_DIAGNOSED_BODY:
        return None
    try:
        return next(_unacceptable(json.loads(body), ""), None)
    except (ValueError, RecursionError):
        return None


def _unacceptable(value: Any, pointer: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for name, item in value.items():
            where = f"{pointer}/{_printable(escaped(name))}"
            yield from _unacceptable(name, where)
            yield from _unacceptable(item, where)
    elif isinstance(value, list):
        for position, item in enumerate(value):
            yield from _unacceptable(item, f"{pointer}/{position}")
    elif isinstance(value, float) and not math.isfinite(value):
        yield pointer, "must be a finite number"
    elif isinstance(value, str) and _printable(value) != value:
        yield pointer, "must be valid Unicode, without lone surrogates"


def _printable(text: str) -> str:
    return text.encode(errors="replace").decode()

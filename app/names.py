"""Identifiers from outside: which are allowed, and when two entity names are one."""

import unicodedata
from functools import lru_cache

from warp_core import InvalidInputError

MAX_NAME_BYTES = 512


def checked_name(argument: str, name: str) -> str:
    """An id or a name as given, once it is known to be allowed.

    Raises
    ------
    InvalidInputError : it is empty, over 512 bytes of UTF-8, or no valid Unicode.
    """
    if not name:
        raise InvalidInputError(argument, "must not be empty")
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        raise InvalidInputError(argument, "must be valid Unicode, without lone surrogates") from None
    if size > MAX_NAME_BYTES:
        raise InvalidInputError(argument, f"must be at most {MAX_NAME_BYTES} bytes of UTF-8, got {size}")
    return name


def is_name(text: str) -> bool:
    """Whether `checked_name` allows it."""
    try:
        checked_name("", text)
    except InvalidInputError:
        return False
    return True


def folded(text: str) -> str:
    """Text as entity names are compared: NFKC, casefolded, outer space dropped, inner space single."""
    return " ".join(unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold()).split())


@lru_cache(maxsize=65_536)
def entity_key(argument: str, name: str) -> str:
    """The one form of an entity's name, as `folded`.

    Raises
    ------
    InvalidInputError : as `checked_name`, or nothing is left.
    """
    return checked_name(argument, folded(checked_name(argument, name)))

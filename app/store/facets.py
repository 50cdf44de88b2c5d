"""Which opinions a population count counts: all of them, those of one day, or those of one author group.

A facet is written as the front of a count's name; the entity follows, and nothing for all entities together:

    p:<entity>                        all opinions
    t:<day>:<entity>                  those of documents of one day, as its proleptic ordinal, UTC
    g:<length>:<group><entity>        those of documents whose authors share an attribute; the group is
                                      JSON, [attribute, value], and its length in bytes tells where it ends
"""

from collections.abc import Mapping
from datetime import UTC, date, datetime

import msgspec

ALL = "p:"

_encode = msgspec.json.encode


def of_day(day: date) -> str:
    """The opinions of one day."""
    return f"t:{day.toordinal()}:"


def of_group(attribute: str, value: str) -> str:
    """The opinions of authors who share an attribute."""
    group = _encode([attribute, value])
    return f"g:{len(group)}:{group.decode()}"


def facets_of(timestamp: str | None, attributes: Mapping[str, str]) -> list[str]:
    """All facets that a document's opinions count in.

    Parameters
    ----------
    timestamp : ISO 8601; without an offset it is UTC.
    """
    days = [] if timestamp is None else [of_day(day_of(timestamp))]
    return [ALL, *days, *(of_group(*group) for group in sorted(attributes.items()))]


def day_of(timestamp: str) -> date:
    """The day, in UTC, of an ISO 8601 date or time.

    Raises
    ------
    ValueError : it is none, or lies outside the years 1 to 9999 in UTC.
    """
    try:
        moment = datetime.fromisoformat(timestamp)
        return (moment if moment.tzinfo is None else moment.astimezone(UTC)).date()
    except OverflowError as error:
        raise ValueError(str(error)) from error


def split(name: bytes) -> tuple[str, str]:
    """A count's name -> its facet and entity."""
    kind, rest = name[:2], name[2:]
    if kind == b"t:":
        end = 2 + rest.index(b":") + 1
    elif kind == b"g:":
        length, _, _ = rest.partition(b":")
        end = 2 + len(length) + 1 + int(length)
    else:
        end = 2
    return name[:end].decode(), name[end:].decode()


def described(facet: str) -> str:
    """A facet for the eye; nothing for all opinions."""
    kind, _, rest = facet.partition(":")
    if kind == "t":
        return f" on {date.fromordinal(int(rest[:-1]))}"
    if kind == "g":
        attribute, value = msgspec.json.decode(rest.partition(":")[2])
        return f" by {attribute} {value}"
    return ""

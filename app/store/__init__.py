"""`open_store(url)`: the one place that knows which backends there are."""

from app.store.base import Store
from app.store.sqlite import SqliteStore
from warp_core import InvalidInputError


def open_store(url: str) -> Store:
    """Open the store behind a URL, creating it when it is new.

    Raises
    ------
    InvalidInputError : no backend has this scheme.
    StoreUnavailableError : it cannot be opened.
    """
    scheme, separator, rest = url.partition("://")
    if separator and scheme == "sqlite" and rest.startswith("/") and len(rest) > 1:
        return SqliteStore(rest[1:])
    raise InvalidInputError("store", f"must be sqlite:///FILE, got {url!r}")

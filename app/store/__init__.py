"""`open_store(url)`: the one place that knows which backends there are."""

from app.store.base import Store
from app.store.sqlite import SqliteStore
from warp_core import InvalidInputError


def open_store(url: str, prefix: str = "warp") -> Store:
    """Open the store behind a URL.

    Parameters
    ----------
    prefix : of all keys, in a store that others share.

    Raises
    ------
    InvalidInputError : no backend has this scheme, or its driver is not installed.
    StoreUnavailableError : the embedded store cannot be opened. One on a server is connected to when it is asked.
    """
    scheme, separator, rest = url.partition("://")
    if separator and scheme == "sqlite" and rest.startswith("/") and len(rest) > 1:
        return SqliteStore(rest[1:])
    if separator and scheme in ("redis", "rediss"):
        try:
            from app.store.redis import RedisStore
        except ImportError as error:
            raise InvalidInputError("store", f"{scheme}:// needs the extra 'redis': {error}") from error
        return RedisStore(url, prefix)
    raise InvalidInputError("store", f"must be sqlite:///FILE, redis:// or rediss://, got {scheme!r}")

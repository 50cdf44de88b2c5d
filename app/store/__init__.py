"""`open_store(url)`: the one place that knows which backends there are."""

import re

from app.store.base import Ack, Store
from app.store.sqlite import SqliteStore
from warp_core import InvalidInputError

REDIS = tuple(f"{scheme}{kind}" for scheme in ("redis", "rediss") for kind in ("", "+cluster", "+sentinel"))


def open_store(url: str, prefix: str = "warp", *, partitions: int | None = None, ack: Ack | None = None) -> Store:
    """Open the store behind a URL.

    Parameters
    ----------
    prefix : of all keys, in a store that others share.
    partitions : of each collection on a Redis server, fixed when it is first used; None takes what it has.
    ack : where a change has to be once it is answered for; None is what the store's own settings give.

    Raises
    ------
    InvalidInputError : no backend has this scheme, or its driver is not installed, or it cannot give this `ack`.
    StoreUnavailableError : the embedded store cannot be opened. One on a server is connected to when it is asked.
    """
    scheme, separator, rest = url.partition("://")
    if separator and scheme == "sqlite" and rest.startswith("/") and len(rest) > 1:
        if ack not in (None, "local"):
            raise InvalidInputError("ack", f"must be local with an embedded store, got {ack!r}")
        return SqliteStore(rest[1:])
    if separator and scheme in REDIS:
        if not re.fullmatch(r"[\w.:-]+", prefix, re.ASCII):
            raise InvalidInputError("store_prefix", f"may hold letters, digits and _.:- only, got {prefix!r}")
        try:
            from app.store.redis import RedisStore
        except ImportError as error:
            raise InvalidInputError("store", f"{scheme}:// needs the extra 'redis': {error}") from error
        return RedisStore(url, prefix, partitions, ack)
    raise InvalidInputError("store", f"must be sqlite:///FILE or one of {', '.join(REDIS)}, got {scheme!r}")

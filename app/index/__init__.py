"""What is known of each collection's documents for search and expansion: opinions by entity, and vectors.

`base` is the seam that the use cases call. `local` serves it from this process: documents in immutable segments, mapped
from the data directory and shared by all processes there, with what changed since on top; `snapshots` writes those.
`qdrant` reads the vectors of an engine that has them already.
"""

from app.index.base import Index
from app.index.local import LocalIndex
from warp_core import InvalidInputError

LOCAL = "local"


def open_index(url: str, documents: LocalIndex) -> Index:
    """The index behind a URL, over the documents that the follower tells of.

    Raises
    ------
    InvalidInputError : no engine has this scheme, or its driver is not installed.
    """
    if url == LOCAL:
        return documents
    scheme = url.partition("://")[0]
    if scheme not in ("qdrant", "qdrant+https"):
        raise InvalidInputError("index", f"must be local, qdrant:// or qdrant+https://, got {scheme!r}")
    try:
        from app.index.qdrant import open_qdrant
    except ImportError as error:
        raise InvalidInputError("index", f"{scheme}:// needs the extra 'qdrant': {error}") from error
    return open_qdrant(url, documents)

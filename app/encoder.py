"""Texts -> unit vectors, shape (n, dimension). Which model does it is a value of the `encoder` setting.

`wordllama` is a static model without torch; any other name or path is loaded by sentence-transformers. Both are extras,
so they are imported where they are opened.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from app.store.base import Vector
from warp_core import InvalidInputError

Model = Callable[[list[str]], NDArray[np.float32]]
"""A batch of texts -> vectors of any length, shape (n, dimension)."""

STATIC = "wordllama"
QUERY_CACHE_SIZE = 10_000


class Encoder:
    """A model behind one thread, with a cache of query vectors.

    Parameters
    ----------
    name : which model it is; kept with the vectors that it makes.
    model : the model itself. It is run once, to learn the dimension and to be warm.
    """

    def __init__(self, name: str, model: Model) -> None:
        self.name = name
        self._model = model
        self._thread = ThreadPoolExecutor(1, "encoder")
        self._queries: OrderedDict[str, Vector] = OrderedDict()
        self.dimension = int(model(["warm"]).shape[1])

    async def encode(self, texts: Sequence[str]) -> Vector:
        """Unit vectors of the texts, shape (n, dimension); a text without any known word gives zeros."""
        if not texts:
            return np.zeros((0, self.dimension), np.float32)

        def run() -> Vector:
            return unit(self._model(list(texts)))

        return await asyncio.get_running_loop().run_in_executor(self._thread, run)

    async def encode_queries(self, queries: Sequence[str]) -> Vector:
        """The same for queries, of which the last 10,000 are kept."""
        vectors = {query: self._queries[query] for query in queries if query in self._queries}
        missing = [query for query in dict.fromkeys(queries) if query not in vectors]
        vectors.update(zip(missing, await self.encode(missing), strict=True))
        self._queries.update(vectors)
        for query in vectors:
            self._queries.move_to_end(query)
        while len(self._queries) > QUERY_CACHE_SIZE:
            self._queries.popitem(last=False)
        return np.stack([vectors[query] for query in queries])

    def close(self) -> None:
        """Let the thread end."""
        self._thread.shutdown()


def unit(vectors: ArrayLike) -> Vector:
    """Vectors, shape (..., dimension), at length 1; zero stays zero."""
    wide = np.asarray(vectors, np.float64)
    peaks = np.abs(wide).max(axis=-1, keepdims=True, initial=0.0)
    wide = np.divide(wide, peaks, out=np.zeros_like(wide), where=peaks > 0)  # squares of large numbers overflow
    norms = np.linalg.norm(wide, axis=-1, keepdims=True)
    np.divide(wide, norms, out=wide, where=norms > 0)
    narrow: Vector = wide.astype(np.float32)
    return narrow


def open_encoder(name: str | None, threads: int) -> Encoder | None:
    """Load a model by name or path; None when there is no name.

    Raises
    ------
    InvalidInputError : the model, or the package that runs it, is not there.
    """
    if not name:
        return None
    try:
        return Encoder(name, _static_model() if name == STATIC else _sentence_transformer(name, threads))
    except ImportError as error:
        extra = "static" if name == STATIC else "encoder"
        raise InvalidInputError("encoder", f"{name!r} needs the extra {extra!r}: {error}") from error
    except (OSError, ValueError) as error:
        raise InvalidInputError("encoder", f"{name!r} cannot be loaded: {error}") from error


def _static_model() -> Model:
    import wordllama

    # Tokenizer and weights lie in the package itself, in the layout of a download cache.
    model = wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)
    return lambda texts: np.asarray(model.embed(texts), np.float32)


def _sentence_transformer(name: str, threads: int) -> Model:
    import torch
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(threads)
    model = SentenceTransformer(name)
    return lambda texts: np.asarray(model.encode(texts, show_progress_bar=False), np.float32)

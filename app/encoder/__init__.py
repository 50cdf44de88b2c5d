"""Texts -> unit vectors. `open_encoder(name)` is the one place that knows which backends there are.

The packages that run a model are extras, so each is imported where its backend is opened.
"""

from importlib import import_module

from app.encoder.base import Encoder, Model, Prompts
from app.encoder.batches import unit
from warp_core import InvalidInputError

__all__ = ["Encoder", "Model", "Prompts", "open_encoder", "unit"]

STATIC = "wordllama"
ONNX = "onnx:"


def open_encoder(name: str | None, threads: int) -> Encoder | None:
    """Load a model: `wordllama`, `onnx:FOLDER`, or a sentence-transformers name or path; None when there is no name.

    Raises
    ------
    InvalidInputError : the model, or the package that runs it, is not there, or it is of a kind that is not supported.
    """
    if not name:
        return None
    if name == STATIC:
        backend, source, extra = "static", name, "static"
    elif name.startswith(ONNX):
        backend, source, extra = "onnx_runtime", name.removeprefix(ONNX), "onnx"
    else:
        backend, source, extra = "sentence_transformer", name, "encoder"
    try:
        model, prompts = import_module(f"app.encoder.{backend}").load(source, threads)
        return Encoder(name, model, prompts)
    except ImportError as error:
        raise InvalidInputError("encoder", f"{name!r} needs the extra {extra!r}: {error}") from error
    except (OSError, ValueError) as error:
        raise InvalidInputError("encoder", f"{name!r} cannot be loaded: {error}") from error

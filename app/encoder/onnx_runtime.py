"""A sentence-transformers model that was exported to ONNX, without torch: the same vectors in a third of the time.

The folder is laid out as sentence-transformers lays out a model: `model.onnx` (or `onnx/model.onnx`), `tokenizer.json`,
`modules.json` with the pooling's `config.json`, and where they are there `sentence_bert_config.json`,
`tokenizer_config.json` and `config_sentence_transformers.json`. `warp-rerank export-encoder` makes one.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

from app.encoder.base import CHARACTERS_A_TOKEN, Model, Prompts

Pooling = Callable[[NDArray[np.float32], NDArray[np.int64]], NDArray[np.float32]]
"""Vectors of tokens, shape (n, length, dimension), and which are there, shape (n, length) -> shape (n, dimension)."""

FILES = ("model.onnx", "onnx/model.onnx")
USUAL_LENGTH = 512
"""Tokens that are read of a text when the folder does not say."""
_SUPPORTED_MODULES = ("Transformer", "Pooling", "Normalize")
_LEGACY = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
"""How versions before 6 of sentence-transformers wrote the mode down."""


def load(source: str, threads: int) -> tuple[Model, Prompts]:
    """The model in a folder, and the prompts that it was trained with.

    Raises
    ------
    ValueError : a file is missing or broken, or the model has a part that is not supported.
    """
    folder = Path(source)
    graph = _graph(folder, threads)
    tokenizer = _tokenizer(folder)
    pooling = _pooling(folder)
    inputs = [given.name for given in graph.get_inputs()]
    columns = {"input_ids": "ids", "attention_mask": "attention_mask", "token_type_ids": "type_ids"}
    if unknown := set(inputs) - columns.keys():
        raise ValueError(f"the model asks for {', '.join(sorted(unknown))}, which a text does not give")
    pad = _padding(folder, tokenizer)
    limit = _length(folder) * CHARACTERS_A_TOKEN

    def encode(texts: list[str]) -> NDArray[np.float32]:
        # One at a time: the tokenizer's own batches take all cores.
        encoded = [tokenizer.encode(text[:limit]) for text in texts]
        feed = {name: _padded(encoded, columns[name], pad if name == "input_ids" else 0) for name in inputs}
        found: NDArray[np.float32] = graph.run(None, feed)[0]
        if found.ndim == 2:  # the export has pooled already
            return found
        return pooling(found, _padded(encoded, "attention_mask", 0))

    return encode, Prompts.among(_read(folder / "config_sentence_transformers.json").get("prompts") or {})


def _graph(folder: Path, threads: int) -> onnxruntime.InferenceSession:
    file = next((folder / name for name in FILES if (folder / name).is_file()), None)
    if file is None:
        raise ValueError(f"there is no model.onnx in {folder}")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    try:
        return onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # it raises what its C++ raises
        raise ValueError(str(error)) from error


def _tokenizer(folder: Path) -> Tokenizer:
    """The tokenizer, which cuts a text off where the model does."""
    try:
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    except Exception as error:  # it raises no narrower class
        raise ValueError(f"tokenizer.json: {error}") from error
    tokenizer.no_padding()
    tokenizer.enable_truncation(_length(folder))
    return tokenizer


def _length(folder: Path) -> int:
    """Tokens that the model reads of a text."""
    given = _read(folder / "sentence_bert_config.json").get("max_seq_length")
    if given:
        return int(given)
    lengths = (
        _read(folder / "tokenizer_config.json").get("model_max_length"),
        _read(folder / "config.json").get("max_position_embeddings"),
    )
    return min((int(length) for length in lengths if length), default=USUAL_LENGTH)


def _padding(folder: Path, tokenizer: Tokenizer) -> int:
    """The token that fills up a short text; what it is does not show, since it is masked."""
    config = _read(folder / "tokenizer_config.json")
    token = config.get("pad_token")
    name = token.get("content") if isinstance(token, dict) else token
    return (tokenizer.token_to_id(name) if name else None) or 0


def _padded(encoded: Sequence[Encoding], column: str, pad: int) -> NDArray[np.int64]:
    """One column of the tokens, shape (n, longest)."""
    rows = [getattr(one, column) for one in encoded]
    padded = np.full((len(rows), max(map(len, rows))), pad, np.int64)
    for row, values in zip(padded, rows, strict=True):
        row[: len(values)] = values
    return padded


def _pooling(folder: Path) -> Pooling:
    modules = _read(folder / "modules.json") or []
    kinds = [module["type"].rpartition(".")[2] for module in modules]
    if unknown := [kind for kind in kinds if kind not in _SUPPORTED_MODULES]:
        raise ValueError(f"modules of the kinds {', '.join(unknown)} are not supported")
    path = next((module["path"] for module, kind in zip(modules, kinds, strict=True) if kind == "Pooling"), "1_Pooling")
    config = _read(folder / path / "config.json")
    if config.get("include_prompt") is False:
        raise ValueError("models whose pooling leaves out the prompt are not supported")
    legacy = [mode for key, mode in _LEGACY.items() if config.get(key)]
    given = config.get("pooling_mode", legacy or "mean")
    modes = [given] if isinstance(given, str) else given
    if len(modes) != 1 or modes[0] not in _POOLINGS:
        raise ValueError(f"pooling must be one of {', '.join(_POOLINGS)}, got {', '.join(modes)}")
    return _POOLINGS[modes[0]]


def _mean(tokens: NDArray[np.float32], mask: NDArray[np.int64]) -> NDArray[np.float32]:
    there = mask[..., None].astype(np.float32)
    found: NDArray[np.float32] = (tokens * there).sum(axis=1) / np.maximum(there.sum(axis=1), 1e-9)
    return found


def _first(tokens: NDArray[np.float32], _mask: NDArray[np.int64]) -> NDArray[np.float32]:
    return tokens[:, 0]


def _largest(tokens: NDArray[np.float32], mask: NDArray[np.int64]) -> NDArray[np.float32]:
    found: NDArray[np.float32] = np.where(mask[..., None] > 0, tokens, -np.inf).max(axis=1)
    return found


_POOLINGS: dict[str, Pooling] = {"mean": _mean, "cls": _first, "max": _largest}


def _read(file: Path) -> Any:
    """What a JSON file holds; an empty mapping when it is not there."""
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}

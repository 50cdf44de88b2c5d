"""A sentence-transformers model -> a folder that ONNX Runtime serves without torch."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sentence_transformers import SentenceTransformer

from app.encoder import onnx_runtime, sentence_transformer
from app.encoder.batches import unit
from app.encoder.identity import PROBES
from warp_core import InvalidInputError

_WEIGHTS = ("*.safetensors", "*.bin", "*.msgpack", "*.h5", "*.ot", "README.md")
_INPUTS = ("input_ids", "attention_mask", "token_type_ids")
LEAST_COSINE = 0.9999
"""Between the vectors of the model and of its export."""


class _Tokens(torch.nn.Module):
    """The transformer alone: what a text's columns are -> the vectors of its tokens."""

    def __init__(self, transformer: Any, names: list[str]) -> None:
        super().__init__()
        self.transformer = transformer
        self.names = names

    def forward(self, *columns: torch.Tensor) -> Any:
        return self.transformer(**dict(zip(self.names, columns, strict=True))).last_hidden_state


def export(name: str, folder: Path) -> float:
    """Write the model's graph, tokenizer and configuration, and compare the two on real sentences.

    Parameters
    ----------
    folder : made if need be; it must hold nothing yet.

    Returns
    -------
    The least cosine between both vectors of a sentence.

    Raises
    ------
    InvalidInputError : the folder holds something, or the model is of a kind that cannot be exported.
    """
    if folder.exists() and any(folder.iterdir()):
        raise InvalidInputError("folder", f"{folder} is not empty")
    try:
        model = SentenceTransformer(name, device="cpu")
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as directory:  # so that the folder is whole or not there
            made = Path(directory) / "model"
            model.save(str(made), create_model_card=False)
            _write_graph(model, made / "model.onnx")
            for pattern in _WEIGHTS:
                for file in made.rglob(pattern):
                    file.unlink()
            least = _least_cosine(name, made)
            made.replace(folder)
    except (OSError, ValueError, torch.onnx.OnnxExporterError) as error:
        raise InvalidInputError("model", f"{name!r} cannot be exported: {error}") from error
    return least


def _write_graph(model: SentenceTransformer, file: Path) -> None:
    transformer = getattr(model[0], "model", None) or getattr(model[0], "auto_model", None)
    if transformer is None:
        raise ValueError("its first module is no transformer")
    columns = dict(model.tokenizer(list(PROBES), padding=True, return_tensors="pt"))
    names = [column for column in _INPUTS if column in columns]
    any_size = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
    torch.onnx.export(
        _Tokens(transformer, names).eval(),
        tuple(columns[column] for column in names),
        str(file),
        input_names=names,
        output_names=["last_hidden_state"],
        dynamic_shapes=(tuple(any_size for _ in names),),
        dynamo=True,
        external_data=False,
        verbose=False,
    )


def _least_cosine(name: str, folder: Path) -> float:
    (before, _), (after, _) = sentence_transformer.load(name, 1), onnx_runtime.load(str(folder), 1)
    least = float(np.min(np.sum(unit(before(list(PROBES))) * unit(after(list(PROBES))), axis=1)))
    if least < LEAST_COSINE:
        raise ValueError(f"the export's vectors differ: a cosine of {least:.4f} is below {LEAST_COSINE}")
    return least

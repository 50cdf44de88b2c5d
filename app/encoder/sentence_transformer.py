"""Any sentence-transformers model, by name or path, on torch."""

import numpy as np
import torch
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer

from app.encoder.base import CHARACTERS_A_TOKEN, Model, Prompts


def load(name: str, threads: int) -> tuple[Model, Prompts]:
    """The model on a CPU, and the prompts that it was trained with.

    Raises
    ------
    ValueError : its pooling leaves the prompt out, so that a prompt is no part of the text.
    """
    torch.set_num_threads(threads)
    model = SentenceTransformer(name, device="cpu")
    prompts = Prompts.among(model.prompts)
    if prompts != Prompts() and not all(getattr(module, "include_prompt", True) for module in model):
        raise ValueError("models whose pooling leaves out the prompt are not supported")
    limit = (model.max_seq_length or 0) * CHARACTERS_A_TOKEN or None

    def encode(texts: list[str]) -> NDArray[np.float32]:
        shown = [text[:limit] for text in texts]
        # An empty prompt keeps the model from its default one: prompts are put before the texts already.
        return np.asarray(model.encode(shown, prompt="", show_progress_bar=False), np.float32)

    return encode, prompts

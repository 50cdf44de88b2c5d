"""Which model made a collection's vectors: told apart by what it makes of a few sentences, not by its name.

A name does not tell weights or versions, and the same weights have several names (a torch model and its ONNX export, a
hub name and a folder). So a collection is pinned to a name, which people read, and a sketch, which decides: some
numbers of the vectors of fixed sentences, coarsely rounded. Two backends that run the same weights differ there by
rounding at most; other weights differ by far more than is tolerated. A hash of the rounded numbers would not do: one
number near the edge of its rounding would make another hash.
"""

import base64
import re

import numpy as np

from app.encoder.batches import Vectors

PROBES = (
    "The breakfast was wonderful.",
    "We waited two hours at the front desk, and nobody said sorry.",
    "What are the biggest complaints about the battery?",
    "It works as described; neither good nor bad.",
    "Das Zimmer war sauber, aber zu laut.",
    "7:30 AM, room 1024, 89.50 EUR",
    "not recommended",
    "I have used this medicine for three years and would not want to be without it, whatever its price.",
)
"""Changing these sentences makes every collection foreign to its own encoder."""
NUMBERS = 4
"""Leading numbers of each probe's vector that are kept."""
STEP = 1 / 16
"""A number is rounded to this, in units of the root mean square of a vector's numbers."""
TOLERANCE = 1.0
"""Root mean square difference, in steps, up to which two sketches are of the same model: a mean cosine of 0.998 between
the probes' vectors. Another backend or 16-bit arithmetic stays above 0.9999; an 8-bit export of MiniLM is at 0.964."""

_PIN = re.compile(r"(?P<name>.*)#(?P<sketch>[\w-]{43}|[\w-]{32}|[\w-]{22}|[\w-]{11})", re.DOTALL | re.ASCII)
"""The lengths are those of 8 probes with four numbers, or with all of a shorter vector."""


def sketch_of(probes: Vectors) -> str:
    """The sketch of a model from its unit vectors of `PROBES`, shape (8, dimension)."""
    scaled = probes[:, :NUMBERS] * np.sqrt(probes.shape[1])
    steps = np.clip(np.rint(scaled / STEP), -127, 127).astype(np.int8)
    return base64.urlsafe_b64encode(steps.tobytes()).decode().rstrip("=")


def pin(name: str, sketch: str) -> str:
    """What a collection keeps of the encoder of its vectors."""
    return f"{name}#{sketch}"


def pinned_name(pinned: str) -> str:
    """The name in a pin; a pin of an older version is the name alone."""
    match = _PIN.fullmatch(pinned)
    return match["name"] if match else pinned


def is_same(pinned: str, name: str, sketch: str) -> bool:
    """Whether the model of a pin is the one with this name and sketch."""
    match = _PIN.fullmatch(pinned)
    if match is None:
        return pinned == name
    one, other = _steps(match["sketch"]), _steps(sketch)
    return len(one) == len(other) and float(np.sqrt(np.mean((one - other) ** 2))) <= TOLERANCE


def _steps(sketch: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    padded = sketch + "=" * (-len(sketch) % 4)
    return np.frombuffer(base64.urlsafe_b64decode(padded), np.int8).astype(np.float64)

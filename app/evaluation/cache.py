"""What is finished stays finished: results kept under a digest of all that they follow from, code included.

So a run that was killed goes on where it stopped, and nothing is ever taken from an older version of the code.
"""

import hashlib
import tempfile
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from types import ModuleType

import msgspec
import numpy as np


class Cache:
    """Files in a folder, each written whole or not at all."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def get(self, key: str) -> bytes | None:
        """What is kept under a key; None when nothing is."""
        try:
            return self._path(key).read_bytes()
        except FileNotFoundError:
            return None

    def put(self, key: str, content: bytes) -> None:
        """Keep it."""
        path = self._path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(content)
        Path(file.name).replace(path)

    def _path(self, key: str) -> Path:
        return self._directory / key[:2] / key


def digest_of(*parts: object) -> str:
    """A digest of arrays, bytes and whatever msgspec encodes; equal parts give equal digests, in every process."""
    digest = hashlib.blake2b(digest_size=20)
    for part in parts:
        if isinstance(part, np.ndarray):
            digest.update(f"{part.dtype}{part.shape}".encode())
            content = np.ascontiguousarray(part).tobytes()
        else:
            content = part if isinstance(part, bytes) else msgspec.msgpack.encode(part, order="deterministic")
        digest.update(len(content).to_bytes(8))
        digest.update(content)
    return digest.hexdigest()


def code_of(*modules: ModuleType) -> str:
    """A digest of the modules' source; of a package, of all files in it that are code or are compiled from it."""
    return digest_of(*(content for module in modules for content in _sources(module)))


def packages_of(*names: str) -> list[str]:
    """Names and versions of installed packages."""
    return [f"{name} {version(name)}" for name in names]


_CODE = {".py", ".c", ".so", ".pyd", ".toml"}


def _sources(module: ModuleType) -> Iterable[bytes]:
    assert module.__file__ is not None  # noqa: S101 - these are modules of our own, that came from files
    path = Path(module.__file__)
    files = [path] if path.name != "__init__.py" else sorted(path.parent.rglob("*"))
    for file in files:
        if file.suffix in _CODE:
            yield file.relative_to(path.parent).as_posix().encode()
            yield file.read_bytes()

"""Every arrow points down: which part of the code may import what."""

import ast
import sys
from collections.abc import Collection, Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CORE_MAY_IMPORT = sys.stdlib_module_names | {"numpy", "scipy", "warp_core"}
WEB_FILES = ("app/routes/", "app/main.py", "app/errors.py")
MAY_IMPORT = {
    "fastapi": (*WEB_FILES, "app/openapi.py"),
    "starlette": (*WEB_FILES, "app/middleware.py", "app/openapi.py", "app/security.py", "app/server.py"),
}
ENVIRONMENT_READERS = ("app/settings.py",)


def module_of(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def imports(path: str, tree: ast.Module, modules: Collection[str]) -> Iterator[str]:
    """Dotted names of the modules that a file imports, anywhere in it."""
    package = path.split("/")[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = package[: len(package) - node.level + 1] if node.level else []
            source = ".".join([*parents, *filter(None, [node.module])])
            parts = (f"{source}.{alias.name}" for alias in node.names)
            yield from (part if part in modules else source for part in parts)


def names_the_environment(tree: ast.Module) -> bool:
    names = {"environ", "environb", "getenv"}
    return any(
        (isinstance(node, ast.Attribute) and node.attr in names) or (isinstance(node, ast.alias) and node.name in names)
        for node in ast.walk(tree)
    )


def violations(root: Path) -> list[str]:
    files = sorted([*root.glob("app/**/*.py"), *root.glob("warp_core/**/*.py")])
    trees = {file.relative_to(root).as_posix(): ast.parse(file.read_text()) for file in files}
    modules = set(map(module_of, trees))
    found = []
    core = {}
    for path, tree in trees.items():
        imported = set(imports(path, tree, modules))
        packages = {name.split(".")[0] for name in imported}
        if path.startswith("warp_core/"):
            core[module_of(path)] = imported & modules
            forbidden = packages - CORE_MAY_IMPORT
        else:
            forbidden = {web for web in packages & MAY_IMPORT.keys() if not path.startswith(MAY_IMPORT[web])}
        found += [f"{path} imports {package}" for package in sorted(forbidden)]
        if names_the_environment(tree) and not path.startswith(ENVIRONMENT_READERS):
            found.append(f"{path} reads the environment")
    try:
        TopologicalSorter(core).prepare()
    except CycleError as error:
        found.append(f"cycle of {', '.join(sorted(set(error.args[1])))}")
    return found


def write(root: Path, files: dict[str, str]) -> None:
    for path, source in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(source)


def test_the_code_keeps_the_import_direction():
    assert (ROOT / "warp_core/__init__.py").is_file()
    assert violations(ROOT) == []


CYCLE = "cycle of warp_core.a, warp_core.b"


@pytest.mark.parametrize(
    ("path", "source", "violation"),
    [
        ("warp_core/a.py", "import app.settings", "warp_core/a.py imports app"),
        ("warp_core/a.py", "from app import settings", "warp_core/a.py imports app"),
        ("warp_core/a.py", "def late():\n    import faiss", "warp_core/a.py imports faiss"),
        ("warp_core/a.py", "from warp_core import b", CYCLE),
        ("warp_core/a.py", "from warp_core.b import x", CYCLE),
        ("warp_core/a.py", "from . import b", CYCLE),
        ("warp_core/a.py", "from .b import x", CYCLE),
        ("warp_core/a.py", "import os\nos.environ['X']", "warp_core/a.py reads the environment"),
        ("app/reranking.py", "from fastapi import Request", "app/reranking.py imports fastapi"),
        ("app/reranking.py", "import starlette.requests", "app/reranking.py imports starlette"),
        ("app/middleware.py", "import fastapi", "app/middleware.py imports fastapi"),
        ("app/store/redis.py", "from os import environ", "app/store/redis.py reads the environment"),
        ("app/cli/serve.py", "import os\nos.getenv('X')", "app/cli/serve.py reads the environment"),
    ],
)
def test_a_wrong_import_is_noticed(tmp_path, path, source, violation):
    write(tmp_path, {"warp_core/b.py": "import warp_core.a", "warp_core/a.py": "", path: source})
    assert violations(tmp_path) == [violation]


def test_the_allowed_imports_are_no_violation(tmp_path):
    allowed = {
        "warp_core/__init__.py": "from warp_core.a import x",
        "warp_core/a.py": "import math, numpy as np\nfrom scipy import stats\nfrom warp_core.b import x",
        "warp_core/b.py": "from . import c",
        "warp_core/c.py": "",
        "app/main.py": "import fastapi, starlette, warp_core",
        "app/routes/rerank.py": "from fastapi import APIRouter",
        "app/errors.py": "from fastapi import FastAPI",
        "app/middleware.py": "from starlette.types import ASGIApp",
        "app/openapi.py": "import fastapi, starlette",
        "app/security.py": "import starlette",
        "app/settings.py": "import os\nos.environ",
    }
    write(tmp_path, allowed)
    assert violations(tmp_path) == []

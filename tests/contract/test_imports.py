"""Every arrow points down: which part of the code may import what."""

import ast
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CORE_MAY_IMPORT = sys.stdlib_module_names | {"numpy", "scipy", "warp_core"}
MAY_IMPORT_FASTAPI = ("app/routes/", "app/main.py", "app/errors.py")
MAY_IMPORT_STARLETTE = (*MAY_IMPORT_FASTAPI, "app/middleware.py", "app/openapi.py", "app/security.py")
MAY_READ_THE_ENVIRONMENT = ("app/settings.py",)


def imports(path: str, tree: ast.Module) -> Iterator[str]:
    """Dotted names of what a file imports: `from a import b` gives both a and a.b."""
    package = path.split("/")[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = package[: len(package) - node.level + 1] if node.level else []
            source = ".".join([*parents, *([node.module] if node.module else [])])
            yield source
            yield from (f"{source}.{alias.name}" for alias in node.names)


def names_the_environment(tree: ast.Module) -> bool:
    names = {"environ", "environb", "getenv"}
    return any(
        (isinstance(node, ast.Attribute) and node.attr in names) or (isinstance(node, ast.alias) and node.name in names)
        for node in ast.walk(tree)
    )


def violations(root: Path) -> list[str]:
    found = []
    core: dict[str, set[str]] = {}
    for file in sorted([*root.glob("app/**/*.py"), *root.glob("warp_core/**/*.py")]):
        path = file.relative_to(root).as_posix()
        tree = ast.parse(file.read_text())
        imported = set(imports(path, tree))
        packages = {name.split(".")[0] for name in imported}
        if path.startswith("warp_core/"):
            core[path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")] = imported
            found += [f"{path} imports {package}" for package in sorted(packages - CORE_MAY_IMPORT)]
        if "fastapi" in packages and not path.startswith(MAY_IMPORT_FASTAPI):
            found.append(f"{path} imports fastapi")
        if "starlette" in packages and not path.startswith(MAY_IMPORT_STARLETTE):
            found.append(f"{path} imports starlette")
        if names_the_environment(tree) and not path.startswith(MAY_READ_THE_ENVIRONMENT):
            found.append(f"{path} reads the environment")
    try:
        TopologicalSorter({module: imported & core.keys() for module, imported in core.items()}).prepare()
    except CycleError as error:
        found.append(f"cycle: {' -> '.join(error.args[1])}")
    return found


def test_the_code_keeps_the_import_direction():
    assert (ROOT / "warp_core/__init__.py").is_file()
    assert violations(ROOT) == []


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("warp_core/a.py", "import app.settings"),
        ("warp_core/a.py", "from app import settings"),
        ("warp_core/a.py", "def late():\n    import faiss"),
        ("warp_core/a.py", "from warp_core import b"),
        ("warp_core/a.py", "from warp_core.b import x"),
        ("warp_core/a.py", "from . import b"),
        ("warp_core/a.py", "from .b import x"),
        ("warp_core/a.py", "import os\nos.environ['X']"),
        ("app/reranking.py", "from fastapi import Request"),
        ("app/reranking.py", "import starlette.requests"),
        ("app/middleware.py", "import fastapi"),
        ("app/store/redis.py", "from os import environ"),
        ("app/cli/serve.py", "import os\nos.getenv('X')"),
    ],
)
def test_a_wrong_import_is_noticed(tmp_path, path, source):
    write(tmp_path, {"warp_core/b.py": "import warp_core.a", path: source})
    assert len(violations(tmp_path)) == len([v for v in violations(tmp_path) if path in v or "cycle" in v]) > 0


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
        "app/openapi.py": "import starlette",
        "app/security.py": "import starlette",
        "app/settings.py": "import os\nos.environ",
    }
    write(tmp_path, allowed)
    assert violations(tmp_path) == []


def write(root: Path, files: dict[str, str]) -> None:
    for path, source in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(source)

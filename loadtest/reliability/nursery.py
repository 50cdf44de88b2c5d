"""The parent's side of the writers: processes that cost no imports to start, and can be killed."""

import atexit
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from pathlib import Path

from loadtest.reliability.writer import Orders

ROOT = Path(__file__).parents[2]


class Nursery:
    """A process that has imported all that a writer needs, and forks writers.

    Use as a context; when it ends, its writers must have ended.

    Parameters
    ----------
    tree : where the service's packages are taken from.
    environment : of the writers, besides our own.
    """

    def __init__(self, tree: Path = ROOT, environment: Mapping[str, str] | None = None) -> None:
        path = {"PYTHONPATH": os.pathsep.join(map(str, (tree, ROOT)))}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "loadtest.reliability.writer"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **path, **(environment or {})},
            cwd=tree,
        )

    def __enter__(self) -> "Nursery":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def start(self, orders: Orders) -> int:
        """A writer's process id."""
        return self._ask(asdict(orders))

    def wait_for(self, writer: int) -> int:
        """Its exit code."""
        return self._ask(writer)

    def _ask(self, what: object) -> int:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(what).encode() + b"\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())


@cache
def usual_nursery() -> Nursery:
    """The one for all writers that need no other."""
    nursery = Nursery()
    atexit.register(nursery.__exit__)
    return nursery

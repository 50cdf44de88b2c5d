"""What a command loads before it does anything: each worker of a service pays for it in time and memory."""

import subprocess
import sys

SELDOM = ("scipy.stats", "scipy.sparse", "matplotlib", "torch", "sentence_transformers", "onnxruntime", "qdrant_client")


def test_a_command_starts_without_what_few_of_them_need() -> None:
    code = f"import app.cli, app.main, sys; print(*(name for name in {SELDOM} if name in sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert run.stdout.split() == []

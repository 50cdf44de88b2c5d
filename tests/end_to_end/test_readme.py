"""What the README shows is what happens."""

import re
import subprocess
import sys
from pathlib import Path

from tests.end_to_end.process import Service

README = (Path(__file__).parents[2] / "README.md").read_text()


def block(language: str, after: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", README[README.index(after) :], re.DOTALL)
    assert found
    return found[1]


def shell(command: str, demo: Service) -> str:
    command = command.replace("http://127.0.0.1:8765", demo.url)
    return subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True, timeout=60).stdout


def test_the_curl_against_the_demo_returns_what_the_readme_prints(demo: Service) -> None:
    printed = shell(block("sh", "<!-- tests/end_to_end/test_readme.py"), demo)
    assert printed == block("json", "<!-- tests/end_to_end/test_readme.py")


def test_the_curl_with_candidates_takes_both_sides(demo: Service) -> None:
    printed = shell(block("sh", "## Use it with your own store"), demo)
    assert '"id":"r19"' in printed


def test_the_library_example_prints_what_its_comment_says() -> None:
    example = block("python", "As a library")
    printed = subprocess.run([sys.executable, "-c", example], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == example.rpartition("# ")[2].strip()

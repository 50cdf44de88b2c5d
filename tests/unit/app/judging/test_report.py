"""The page shows names from outside as text."""

from app.judging.comparing import Findings, Plan, Role
from app.judging.report import page
from app.judging.results import results_of
from app.judging.runs import Run, Runs

HOSTILE = "<img src=x>|**x**\n# `y`"


def test_names_from_outside_are_text_in_the_page():
    role = Role("http://127.0.0.1:1/v1", {})
    runs = Runs([Run("q", {"top_k": ["a"], HOSTILE: ["b"]})], "top_k", [HOSTILE])
    findings = Findings(Plan(runs, ("coverage",), HOSTILE, role, (HOSTILE,), role))
    shown = page(findings, results_of(findings), [])
    assert "<img" not in shown
    assert "\n# `y`" not in shown
    row = next(line for line in shown.splitlines() if line.startswith("| &lt;img"))
    assert (
        row == "| &lt;img src=x>&#124;&#42;&#42;x&#42;&#42; # &#96;y&#96; | 0/0/0 | - | - | - | 1 | 1 | 1 | undecided |"
    )

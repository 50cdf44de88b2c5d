"""R1: eight writers on the same documents, and every count equals a recount."""

from pathlib import Path

from loadtest.reliability.places import place
from loadtest.reliability.result import Result, told
from loadtest.reliability.torture import Torture


async def run(store: str, directory: Path, short: bool) -> Result:
    """Nothing goes wrong but what the writers do themselves."""
    with place(store, directory) as at, Torture(directory, at.url) as torture:
        findings = await torture.run(3 if short else 30)
    refused = sum(findings.refused.values())
    result = told(findings, f"refused {refused}")
    return Result(result.figure, result.passed and not refused)

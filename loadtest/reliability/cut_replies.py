"""R2: one answer in ten never arrives, though what was asked is done; and connections end within a request."""

import asyncio
from pathlib import Path

from loadtest.reliability.places import place_behind_proxies, set_all
from loadtest.reliability.proxy import Faults
from loadtest.reliability.result import Result, told
from loadtest.reliability.torture import Torture

FAULTS = Faults(cut_reply=0.1, cut_request=0.02)


async def run(store: str, directory: Path, short: bool) -> Result:
    """All writers write through the bad network."""
    with (
        place_behind_proxies(store, directory) as (at, writers_url, proxies),
        Torture(directory, at.url, writers_url) as torture,
    ):

        async def spoil(_: Torture) -> None:
            set_all(proxies, FAULTS)
            await asyncio.sleep(3 if short else 30)
            set_all(proxies, Faults())

        findings = await torture.run(0, spoil)
    cut = sum(findings.refused.values())
    result = told(findings, f"cut {cut}")
    return Result(result.figure, result.passed and cut > 0)

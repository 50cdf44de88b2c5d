"""The command line: `python -m loadtest.reliability ROW`."""

import argparse
import asyncio
import logging
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from loadtest.reliability import (
    convergence,
    cut_replies,
    defaults,
    exact_counts,
    failover,
    kills,
    power_cuts,
    resharding,
    restoring,
    state_machine,
    upgrade,
)
from loadtest.reliability.places import STORES
from loadtest.reliability.result import Result


@dataclass(frozen=True)
class Row:
    """A row of the scoreboard: what it says, and over which stores."""

    name: str
    run: Callable[[str, Path, bool], Awaitable[Result]]
    stores: Sequence[str] = STORES


SERVERS = ("redis", "cluster")
ROWS = {
    "r1": Row("exact counts", exact_counts.run),
    "r2": Row("cut replies", cut_replies.run, SERVERS),
    "r3": Row("kill -9", kills.run),
    "r4": Row("power cuts", power_cuts.run, ["sqlite", "redis"]),
    "r5": Row("failover", failover.run, ["cluster"]),
    "r6": Row("resharding under load", resharding.run, ["cluster"]),
    "r7": Row("replica convergence", convergence.run, SERVERS),
    "r8": Row("state machine", state_machine.run),
    "r20": Row("safe defaults", defaults.run, SERVERS),
    "r22": Row("verify and restore", restoring.run),
    "r23": Row("rolling upgrade", upgrade.run, SERVERS),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one row, or all of them, and print a line each."""
    parser = argparse.ArgumentParser(prog="python -m loadtest.reliability", description=__doc__)
    parser.add_argument("row", choices=[*ROWS, "all"])
    parser.add_argument("--short", action="store_true", help="seconds instead of minutes")
    parser.add_argument("--store", choices=STORES, help="left out: all that the row is about")
    asked = parser.parse_args(argv)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that what was started is stopped
    logging.disable(logging.WARNING)  # what goes wrong goes wrong on purpose
    names = list(ROWS) if asked.row == "all" else [asked.row]
    passed = [_line(name, asked.short, asked.store) for name in names]
    return 0 if all(passed) else 1


def _line(name: str, short: bool, store: str | None) -> bool:
    row = ROWS[name]
    stores = [one for one in row.stores if store in (None, one)]
    begin, parts, passed = time.monotonic(), [], bool(stores)
    for one in stores:
        with tempfile.TemporaryDirectory(prefix="warp-reliability-") as directory:
            result = _result(row, one, Path(directory), short)
        parts.append(f"{one}: {result.figure}")
        passed = passed and result.passed
    said = "; ".join(parts) or f"is about {', '.join(row.stores)} only"
    print(
        f"{name.upper()} {row.name} · {said} · {time.monotonic() - begin:.0f} s · {'pass' if passed else 'MISS'}",
        flush=True,
    )
    return passed


def _result(row: Row, store: str, directory: Path, short: bool) -> Result:
    try:
        return asyncio.run(row.run(store, directory, short))
    except Exception as error:  # the other stores and rows are still to be looked at
        traceback.print_exc()
        return Result(f"broken off by {error!r}", False)


if __name__ == "__main__":
    sys.exit(main())

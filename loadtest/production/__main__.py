"""The command line: `python -m loadtest.production ROW`."""

import argparse
import os
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import uvloop

from loadtest.production import bombs, drain, large_requests, overload, probes, slow_clients, soak, store_down, workers
from loadtest.reliability.result import Result
from loadtest.servers import LOAD_CORE


@dataclass(frozen=True)
class Row:
    """A row of the scoreboard: what it says, and how long its parts last, long and short, in seconds."""

    name: str
    run: Callable[[float], Awaitable[Result]]
    seconds: float
    short_seconds: float


ROWS = {
    "r9": Row("Redis down", store_down.run, 30, 5),
    "r10": Row("overload", overload.run, 60, 4),
    "r11": Row("drain", drain.run, 30, 10),
    "r12": Row("probes", probes.run, 0, 0),
    "r14": Row("bombs", bombs.run, 20, 4),
    "r15": Row("slow clients", slow_clients.run, 0, 0),
    "r19": Row("soak", soak.run, 1200, 90),
    "large": Row("large requests", large_requests.run, 0, 0),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one row, or all of them, and print a line each; or the table of workers."""
    parser = argparse.ArgumentParser(prog="python -m loadtest.production", description=__doc__)
    parser.add_argument("row", choices=[*ROWS, "all", "workers"])
    parser.add_argument("--short", action="store_true", help="seconds instead of minutes")
    asked = parser.parse_args(argv)
    if asked.row == "workers":
        print(workers.table(3 if asked.short else 10))
        return 0
    os.sched_setaffinity(0, {LOAD_CORE} & os.sched_getaffinity(0) or os.sched_getaffinity(0))
    names = list(ROWS) if asked.row == "all" else [asked.row]
    passed = [_line(name, asked.short) for name in names]
    return int(not all(passed))


def _line(name: str, short: bool) -> bool:
    row = ROWS[name]
    begin = time.monotonic()
    result = uvloop.run(row.run(row.short_seconds if short else row.seconds))
    verdict = "pass" if result.passed else "MISS"
    print(f"{name.upper()} {row.name} · {result.figure} · {time.monotonic() - begin:.0f} s · {verdict}", flush=True)
    return result.passed


if __name__ == "__main__":
    sys.exit(main())

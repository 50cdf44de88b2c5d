"""The command line: `python -m loadtest.traffic --shape ramp --html report.html`.

Starts the service on one core with documents of its own, and locust on another; in the end recounts the store. With
`--host` it asks a service that runs already. Exit status 1 when the agreement was not kept.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from loadtest.servers import LOAD_CORE, SERVER_CORE, started
from loadtest.traffic.plans import PLANS

LOCUSTFILE = Path(__file__).parents[1] / "locustfile.py"


def main(argv: Sequence[str] | None = None) -> int:
    """Run one shape."""
    parser = argparse.ArgumentParser(prog="python -m loadtest.traffic", description=__doc__)
    parser.add_argument("--shape", choices=[*PLANS], default="ramp")
    parser.add_argument("--users", type=int, help="most at once; left out: as the shape has it")
    parser.add_argument("--seconds", type=int, help="left out: as the shape has it")
    parser.add_argument("--sla-ms", type=float, default=310.0, help="for 99%% of the re-rankings (310)")
    parser.add_argument("--html", type=Path, help="file of the report")
    parser.add_argument("--host", help="URL of a running service")
    parser.add_argument("--workers", type=int, default=1, help="of the service that is started, each on a core (1)")
    asked = parser.parse_args(argv)
    with ExitStack() as opened:
        if asked.host:
            return _locust(asked.host, asked)
        cores = range(SERVER_CORE, SERVER_CORE + asked.workers)
        options = ("--workers", str(asked.workers))
        server = opened.enter_context(started({"WARP_ENCODER": "wordllama"}, *options, cores=cores))
        missed = _locust(server.url, asked)
        return missed or _recount(server.environment) or _faults(Path(server.log.name))


def _locust(host: str, asked: argparse.Namespace) -> int:
    command = [sys.executable, "-m", "locust", "-f", str(LOCUSTFILE), "--headless", "--only-summary"]
    command += ["--loglevel", "WARNING", "--host", host, "--shape", asked.shape, "--sla-ms", str(asked.sla_ms)]
    command += ["--users", str(asked.users)] if asked.users else []
    command += ["--run-time", f"{asked.seconds}s"] if asked.seconds else []
    command += ["--html", str(asked.html)] if asked.html else []
    cores = {LOAD_CORE} & os.sched_getaffinity(0) or os.sched_getaffinity(0)
    environment = {"GEVENT_RESOLVER": "block", **os.environ}  # its threads, for names, take 10 ms a new connection
    pin = partial(os.sched_setaffinity, 0, cores)
    return subprocess.run(command, check=False, env=environment, preexec_fn=pin).returncode


def _recount(environment: Mapping[str, str]) -> int:
    """What `warp-rerank verify` says."""
    command = [sys.executable, "-c", "from app.cli import main; main()", "verify"]
    return subprocess.run(command, check=False, env=environment).returncode


def _faults(log: Path) -> int:
    """Whether the service's log tells of a fault of its own."""
    found = [line for line in log.read_text().splitlines() if "Traceback" in line or "ERROR" in line]
    print("\n".join(f"missed: the service logged {line}" for line in found[:3]), end="\n" if found else "")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())

"""What locust reads: users, shapes, and the verdict at the end.

    python -m locust -f loadtest/locustfile.py --headless --shape spike --host http://127.0.0.1:8765 --html report.html

`python -m loadtest.traffic` starts a service too, and recounts its store. The documents of a run lie in a collection of
their own, and are deleted in the end. One process; the names of user classes at the end of the line leave others out.
"""

import time
from typing import Any

from locust import events
from locust.env import Environment
from locust.runners import MasterRunner, WorkerRunner

from loadtest.traffic.plans import PLANS
from loadtest.traffic.run import Run
from loadtest.traffic.shape import Shape
from loadtest.traffic.slow_client import SlowClient
from loadtest.traffic.users import DropIn, Ingester, Reranker, Searcher

__all__ = ["DropIn", "Ingester", "Reranker", "Searcher", "Shape", "SlowClient"]


@events.init_command_line_parser.add_listener
def _options(parser: Any) -> None:
    group = parser.add_argument_group("WARP")
    group.add_argument(
        "--shape", choices=[*PLANS], default="ramp", env_var="WARP_LOAD_SHAPE", help="users over time (ramp)"
    )
    group.add_argument(
        "--sla-ms",
        type=float,
        default=310.0,
        env_var="WARP_SLA_MS",
        help="what 99%% of the re-rankings must not exceed, in milliseconds (310)",
    )


@events.init.add_listener
def _plan(environment: Environment, **_: Any) -> None:
    if isinstance(environment.runner, MasterRunner | WorkerRunner):
        raise SystemExit("one process must know all that was acknowledged: no --processes, --master, --worker")
    assert environment.parsed_options
    Run(environment, f"load-{time.time_ns():x}")

"""One run from the first document to the verdict."""

import time
from dataclasses import replace
from typing import Any

from locust.env import Environment

from loadtest.traffic.agreement import Agreement
from loadtest.traffic.lateness import Lateness
from loadtest.traffic.ledger import Ledger
from loadtest.traffic.plans import PLANS
from loadtest.traffic.shape import Shape
from loadtest.traffic.users import Caller

STOP_S = 30.0
"""What users may take to end what they are at, so that nothing is in doubt."""
MOST_SHOWN = 10
BUSY = 0.9
LATE_MS = 20.0
"""From this share of a core on, or when it is so late, times are those of the load generator."""


class Run:
    """Hears of everything that happens in an environment, and decides its exit status.

    Parameters
    ----------
    collection : where the documents are kept; nobody else may use it.
    """

    def __init__(self, environment: Environment, collection: str) -> None:
        options: Any = environment.parsed_options
        plan = PLANS[options.shape]
        Shape.plan = replace(plan, users=options.num_users or plan.users, seconds=options.run_time or plan.seconds)
        environment.stop_timeout = STOP_S
        self._environment = environment
        self._agreement = Agreement(options.sla_ms, Shape.plan.may_refuse)
        self._ledger = Ledger(collection)
        self._lateness = Lateness()
        self._begin_s = self._begin_cpu_s = self._seconds = self._cpu_s = 0.0
        self._broken: list[str] = []
        for user in environment.user_classes:
            if issubclass(user, Caller):
                user.ledger, user.may_be_refused = self._ledger, Shape.plan.may_refuse
        environment.events.test_start.add_listener(self._start)
        environment.events.request.add_listener(self._note)
        environment.events.test_stop.add_listener(self._stop)
        environment.events.quitting.add_listener(self._verdict)

    def _start(self, **_: Any) -> None:
        try:
            self._ledger.fill(self._environment.host or "")
        except (OSError, RuntimeError, ValueError) as error:
            self._broken.append(f"not begun: {error}")
            Shape.plan = replace(Shape.plan, seconds=1e-9)
        if self._environment.shape_class:
            self._environment.shape_class.reset_time()
        self._lateness.start()
        self._begin_s, self._begin_cpu_s = time.monotonic(), time.process_time()

    def _note(self, name: str, response_time: float, response: Any, exception: Any, context: Any, **_: Any) -> None:
        status = context["status"] if response is None else response.status_code
        failure = None if exception is None else f"status {status}" if status >= 400 else str(exception)
        self._agreement.note(name, response_time, status, failure)

    def _stop(self, **_: Any) -> None:
        self._lateness.stop()
        self._seconds = time.monotonic() - self._begin_s
        self._cpu_s = time.process_time() - self._begin_cpu_s

    def _verdict(self, **_: Any) -> None:
        """Print a line as the scoreboard does, and one for each thing that was missed."""
        misses = [*self._broken, *self._agreement.misses(), *self._exceptions()]
        differences = [] if self._broken else self._differences()
        misses += differences[:MOST_SHOWN]
        busy = self._cpu_s / max(self._seconds, 1e-9)
        figures = [
            str(self._agreement),
            f"{self._ledger.acknowledged_changes:,} changes acknowledged, {len(differences)} differences in the end",
            f"load generator at {100 * busy:.0f}% of a core, late by {self._lateness.ms(0.99):.0f} ms p99, "
            f"{self._lateness.ms(1):.0f} ms at most",
        ]
        plan = Shape.plan
        print(
            f"LOAD {plan.shape}, {plan.users} users · {'; '.join(figures)} · {self._seconds:.0f} s · "
            f"{'MISS' if misses else 'pass'}",
            flush=True,
        )
        for miss in misses:
            print(f"missed: {miss}", flush=True)
        if busy > BUSY or self._lateness.ms(0.99) > LATE_MS:
            print("the load generator had no time left: all times are too long", flush=True)
        self._environment.process_exit_code = int(bool(misses))

    def _exceptions(self) -> list[str]:
        runner = self._environment.runner
        return [str(one["msg"]) for one in runner.exceptions.values()] if runner else []

    def _differences(self) -> list[str]:
        host = self._environment.host or ""
        try:
            found = self._ledger.differences(host)
            self._ledger.forget(host)
        except (OSError, ValueError, LookupError) as error:
            return [f"what is stored cannot be read: {error!r}"]
        return found

"""The plan of a run, as locust follows it."""

from locust import LoadTestShape

from loadtest.traffic.plans import PLANS

ARRIVAL_S = 3.0
"""A crowd comes within this time."""


class Shape(LoadTestShape):
    """Follows a plan."""

    use_common_options = True  # --users and --run-time are part of the plan
    plan = PLANS["ramp"]

    def tick(self) -> tuple[int, float] | None:
        """The users that there should be now, and how many of them come in a second."""
        users = self.plan.users_at(self.get_run_time())
        return None if users is None else (users, self.plan.users / ARRIVAL_S)

"""What callers do all day, as users of locust, and whether the service kept its promises meanwhile.

`python -m loadtest.traffic --shape ramp` starts a service and a load on it; locust reads `loadtest/locustfile.py`.
"""

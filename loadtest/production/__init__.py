"""The service under load, overload and faults: `python -m loadtest.production ROW`, a row of the scoreboard each.

Each starts the real service, and prints one line with its figures and whether they are good enough.
"""

"""The reliability scoreboard: faults are made on purpose, and the store is held against a recount of our own.

python -m loadtest.reliability r1                          # one row over every store: one line, exit code 1 on a miss
python -m loadtest.reliability r4 --short --store sqlite
make reliability                                           # all rows
"""

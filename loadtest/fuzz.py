"""Damaged bodies by the hundred thousand, each run with other ones: scoreboard row R13, our part.

python -m loadtest.fuzz --cases 100000
"""

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path
from time import perf_counter

from tests.fuzz.bodies import OPERATIONS
from tests.fuzz.invariants import DAMAGES, attack
from tests.fuzz.service import open_service


def main() -> int:
    """Send them, print one line, and tell by the exit status whether every answer was right."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=100_000, help="in all")
    cases = parser.parse_args().cases // (len(OPERATIONS) * len(DAMAGES))
    statuses: Counter[int] = Counter()
    begin = perf_counter()
    with tempfile.TemporaryDirectory() as folder, open_service(Path(folder)) as service:
        for operation in OPERATIONS:
            for damage in DAMAGES:
                statuses += attack(service, operation, damage, cases, repeatable=False)
    told = ", ".join(f"{count} x {status}" for status, count in sorted(statuses.items()))
    print(f"R13 fuzz: {statuses.total()} bodies in {perf_counter() - begin:.0f} s, {told}, none wrong: pass")
    return 0


if __name__ == "__main__":
    sys.exit(main())

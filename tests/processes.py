"""What can be seen of other processes."""

import time
from collections.abc import Sequence
from pathlib import Path


def workers_of(supervisor: int) -> list[int]:
    """Process ids of the workers that a service's supervisor has; it has other children beside them."""
    try:
        children = Path(f"/proc/{supervisor}/task/{supervisor}/children").read_text().split()
    except OSError:  # it has just ended
        return []
    return [int(child) for child in children if b"spawn_main" in _command_of(child)]


def all_gone(processes: Sequence[int], patience_s: float = 5) -> bool:
    """Whether none of the processes runs any more, or soon will not."""
    deadline = time.monotonic() + patience_s
    while any(_command_of(str(process)) for process in processes):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def _command_of(process: str) -> bytes:
    """Nothing of one that has ended."""
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""

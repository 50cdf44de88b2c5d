"""What processes hold: memory, file descriptors and threads, from /proc."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from loadtest.servers import Server, children


def all_of(server: Server) -> list[int]:
    """The process and those that it started, in all generations."""
    found, waiting = [], [server.process.pid]
    while waiting:
        pid = waiting.pop()
        found.append(pid)
        waiting += children(pid)
    return found


def rss_mb(server: Server) -> float:
    """Resident memory of all its processes, in MB; what they share counts in each."""
    return sum(_kb(pid, "status", "VmRSS") for pid in all_of(server)) / 1024


def pss_mb(server: Server) -> float:
    """The same with what they share counted once."""
    return sum(_kb(pid, "smaps_rollup", "Pss") for pid in all_of(server)) / 1024


def descriptors(server: Server, beside: Path | None = None) -> int:
    """Open files and sockets of all its processes, without the files of one directory."""
    return sum(not (beside and target.is_relative_to(beside)) for pid in all_of(server) for target in _open_files(pid))


def threads(server: Server) -> int:
    """Threads of all its processes."""
    return sum(len(list(Path(f"/proc/{pid}/task").iterdir())) for pid in all_of(server))


def _open_files(pid: int) -> Iterator[Path]:
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            yield link.readlink()


def _kb(pid: int, file: str, field: str) -> int:
    for line in Path(f"/proc/{pid}/{file}").read_text().splitlines():
        name, _, value = line.partition(":")
        if name == field:
            return int(value.split()[0])
    return 0

"""Throughput and memory for 1, 2 and 4 workers."""

import os

from loadtest import bodies
from loadtest.closed_loop import measure
from loadtest.production.processes import all_of, pss_mb, rss_mb
from loadtest.servers import service

COUNTS = (1, 2, 4)
PATIENT = {"WARP_MAX_QUEUE_MS": "10000", "WARP_MAX_QUEUED": "1000"}
"""All are answered: a refusal costs next to nothing, and would count as speed."""


def table(seconds: float) -> str:
    """A Markdown table; the load generator shares the cores."""
    body = bodies.inline(200)
    cores = sorted(os.sched_getaffinity(0))
    lines = [
        f"{len(cores)} cores, shared with the load generator\n",
        "| workers | requests/s | p50 ms | p99 ms | processes | RSS MB | PSS MB |",
        "| ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for count in COUNTS:
        with service("--workers", str(count), environment=PATIENT, cores=cores) as server:
            rate = measure(server, body, 64, seconds)
            if rate.not_ok:
                raise RuntimeError(f"{rate.not_ok} answers were no success")
            lines.append(
                f"| {count} | {rate.per_s:.0f} | {rate.p50_ms:.1f} | {rate.p99_ms:.1f} | {len(all_of(server))} "
                f"| {rss_mb(server):.0f} | {pss_mb(server):.0f} |"
            )
    return "\n".join(lines)

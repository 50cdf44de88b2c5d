"""Closed loop load by `wrk`: so many connections, each of which asks again as soon as it is answered."""

import json
import subprocess
import tempfile
from dataclasses import dataclass

from loadtest.servers import LOAD_CORE, Server

_SCRIPT = """
wrk.method, wrk.path = "POST", "{path}"
wrk.headers["content-type"] = "application/json"
local file = io.open("{body}", "rb")
wrk.body = file:read("*a")
file:close()
function done(summary, latency, requests)
  io.write(string.format(
    '\\n{{"answers": %d, "us": %d, "not_ok": %d, "broken": %d, "p50_us": %d, "p99_us": %d}}\\n',
    summary.requests, summary.duration, summary.errors.status,
    summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout,
    latency:percentile(50), latency:percentile(99)))
end
"""


@dataclass(frozen=True)
class Rate:
    """What came back: answers a second, and the times that half and 99% of them took."""

    per_s: float
    p50_ms: float
    p99_ms: float
    cpu_us: float
    """Processor time of the server for one answer: what is left of the figures when others use the machine too."""
    not_ok: int
    """Answers of 400 and more, and connections that broke."""


def measure(server: Server, body: bytes, connections: int, seconds: float, path: str = "/rerank") -> Rate:
    """POST a body over and over.

    Raises
    ------
    FileNotFoundError : `wrk` is not installed (Debian: apt-get install wrk).
    """
    with tempfile.NamedTemporaryFile() as sent, tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        sent.write(body)
        sent.flush()
        script.write(_SCRIPT.format(path=path, body=sent.name))
        script.flush()
        command = ["taskset", "-c", str(LOAD_CORE), "wrk", "--latency", "-t", "1", "-c", str(connections)]
        command += ["-d", f"{max(1, round(seconds))}s", "-s", script.name, server.url]
        before = server.cpu_s()
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        used = server.cpu_s() - before
    counted = json.loads(said.splitlines()[-1])
    return Rate(
        counted["answers"] / counted["us"] * 1e6,
        counted["p50_us"] / 1000,
        counted["p99_us"] / 1000,
        used / counted["answers"] * 1e6,
        counted["not_ok"] + counted["broken"],
    )

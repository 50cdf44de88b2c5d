"""Whether names that callers choose stay names: scoreboard row R16.

    python -m loadtest.injection

Starts a service on a real Redis and sends it hostile ids and entities by every way in. Passes when the server holds the
same keys as before, when every event is one line of the log, and when no control character stands in it, in either
format; and when each document comes back under the id that it was stored under.
"""

import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import redis

from tests.end_to_end.process import Service, running_service
from tests.hostile import NAMES
from tests.redis_server import running_redis

BENIGN = 400
"""Documents that fill every partition, before a hostile one comes."""


@dataclass
class Figures:
    """What was found."""

    names: int = 0
    keys_before: int = 0
    new_keys: int = 0
    lost: int = 0
    requests: int = 0
    events: int = 0
    raw_control_characters: int = 0

    @property
    def passed(self) -> bool:
        """Whether the row passes."""
        return not self.new_keys and not self.lost and self.requests == self.events and not self.raw_control_characters


def documents(names: tuple[str, ...]) -> list[dict[str, object]]:
    """Each name as an id, an entity, an attribute, a text."""
    return [
        {
            "id": name,
            "text": name,
            "opinions": [{"entity": name + "!", "si": 10, "evidence": name, "markers": [name]}],
            "attributes": {name: name},
            "metadata": {name: name},
        }
        for name in names
    ]


def in_path(name: str) -> str:
    """A name as a path's last step, with dots that no client takes for a folder."""
    return "".join(f"%{byte:02X}" for byte in name.encode())


def attack(service: Service, names: tuple[str, ...], figures: Figures) -> None:
    """Send every name in by every way, and ask for it."""
    client = service.client
    for document in documents(names):
        answer = client.post("/ingest", json={"documents": [document]}).json()
        figures.lost += answer["created"] + answer["unchanged"] != 1
        name = str(document["id"])
        path = f"/documents/{in_path(name)}"
        figures.lost += client.get(path, headers={"x-request-id": "r-16"}).json().get("id") != name
        client.get(f"/entities/{in_path(name + '!')}")
        client.post("/rerank", json={"entity": name + "!", "query": name, "candidates": [{"id": name, "score": 1.0}]})
        client.get("/entities", params={"after": name})
        figures.requests += 5
    figures.names += len(names)


def read_log(service: Service, figures: Figures) -> None:
    """Count the events of requests to names, and what should not stand in a log."""
    raw = service.log.read_bytes().decode()
    figures.raw_control_characters = sum(not c.isprintable() and c != "\n" for c in raw)
    for line in raw.splitlines():
        event = json.loads(line) if line.startswith("{") else _text_event(line)
        figures.events += event.get("message") == "request" and event["path"] != "/readyz"


def _text_event(line: str) -> dict[str, str]:
    _time, _level, _logger, message, rest = line.split(maxsplit=4)
    return {"message": message, "path": rest.partition("path=")[2].partition(" status=")[0]}


def run(log_format: str, folder: Path) -> Figures:
    """One service, one log format."""
    figures = Figures()
    with (
        running_redis(folder) as server,
        running_service(folder, WARP_STORE=server.url, WARP_LOG_FORMAT=log_format, WARP_ACCESS_LOG="true") as service,
        redis.Redis.from_url(server.url) as client,
    ):
        benign = [{"id": f"d{i}", "text": "t", "opinions": [{"entity": "e", "si": 10}]} for i in range(BENIGN)]
        service.client.post("/ingest", json={"documents": benign}).raise_for_status()
        figures.requests += 1
        before = set(client.keys("*"))
        attack(service, NAMES, figures)
        figures.keys_before = len(before)
        figures.new_keys = len(set(client.keys("*")) - before)
    read_log(service, figures)  # a request's line comes after its answer, and the last one when the service has ended
    return figures


def main() -> int:
    """Measure, print one line a format, and tell by the exit status whether it passes."""
    failed = False
    for log_format in ("json", "text"):
        with tempfile.TemporaryDirectory() as folder:
            found = run(log_format, Path(folder))
        failed |= not found.passed
        print(
            f"R16 injection ({log_format} log): {found.names} hostile names, {found.keys_before} keys in the store and "
            f"{found.new_keys} new, {found.lost} documents lost, {found.requests} requests in {found.events} lines, "
            f"{found.raw_control_characters} raw control characters: {'pass' if found.passed else 'FAIL'}"
        )
    return failed


if __name__ == "__main__":
    sys.exit(main())

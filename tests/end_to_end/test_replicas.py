"""Two services on one Redis server, and the traps of an index, with real processes."""

import contextlib
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.process import Service, running_service
from tests.redis_server import NoServerError, running_redis

TRAPS = Path(__file__).parents[2] / "loadtest" / "index_traps.py"
LIMIT_S = 60


def document(i: int, word: str, si: int) -> dict[str, Any]:
    return {"id": f"d{i}", "text": f"the {word} number {i}", "opinions": [{"entity": word, "si": si}]}


def answers(service: Service) -> list[Any]:
    """What a service says, without its timings."""
    said = []
    for path, body in (
        ("/search", {"query": "the pool number 7", "k": 20}),
        ("/rerank", {"entity": "pool", "candidates": [], "k": 20}),
        ("/rerank", {"entity": "breakfast", "candidates": [{"id": "d1", "score": 1.0}], "k": 20}),
    ):
        answer = service.client.post(path, json=body).json()
        answer.pop("timings_ms")
        said.append(answer)
    said.append(service.client.get("/entities").json())
    return said


def metric(service: Service, name: str) -> float:
    """The present value of a metric without labels."""
    lines = service.client.get("/metrics").text.splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith(f"{name} "))


def alike(services: list[Service], entities: dict[str, int]) -> None:
    """Wait until all count so many opinions, and say the same."""
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline:
        first, *others = map(answers, services)
        counted = {one["entity"]: one["n"] for one in first[-1]["entities"]}
        if counted == entities and all(one == first for one in others):
            return
        time.sleep(0.02)
    raise AssertionError(f"{counted}, expected {entities}; alike: {[one == first for one in others]}")


def test_two_services_on_one_server_answer_alike_and_one_that_was_killed_catches_up(tmp_path: Path) -> None:
    with contextlib.ExitStack() as stack:
        (tmp_path / "redis").mkdir()
        try:
            server = stack.enter_context(running_redis(tmp_path / "redis"))
        except NoServerError as error:
            pytest.skip(str(error))
        services = []
        for name in "ab":
            (tmp_path / name).mkdir()
            services.append(stack.enter_context(running_service(tmp_path / name, WARP_STORE=server.url)))
        a, b = services
        documents = [document(i, "pool" if i % 2 else "breakfast", 10 * (i % 7) - 30) for i in range(60)]
        assert a.client.post("/ingest", json={"documents": documents}).json()["created"] == 60
        alike(services, {"breakfast": 30, "pool": 30})
        assert b.client.delete("/documents/d1").json()["deleted"]
        assert b.client.post("/ingest", json={"documents": [document(3, "breakfast", 30)]}).json()["updated"] == 1
        alike(services, {"breakfast": 31, "pool": 28})
        assert 0 <= metric(a, "warp_index_lag_seconds") < LIMIT_S
        deadline = time.monotonic() + LIMIT_S
        while metric(a, "warp_index_lag_events"):  # until a look finds nothing more
            assert time.monotonic() < deadline

        b.process.kill()
        b.process.wait()
        assert a.client.post("/ingest", json={"documents": [document(100, "pool", 0)]}).json()["created"] == 1
        b.start()
        alike(services, {"breakfast": 31, "pool": 29})


def test_the_traps_of_an_index_do_not_harm_a_real_process() -> None:
    """The short form of R21; see the command for the long one."""
    run = subprocess.run(
        [sys.executable, str(TRAPS), "--seconds", "3", "--kills", "1"],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        cwd=TRAPS.parents[1],
    )
    assert run.returncode == 0, run.stderr
    assert "none failed" in run.stdout
    assert "all that was acknowledged is found" in run.stdout

"""Metrics of a service with several worker processes."""

import os
import re
import signal
import time
from pathlib import Path

from tests.end_to_end.process import Service, running_service
from tests.processes import workers_of

N_REQUESTS = 60


def value(service: Service, series: str) -> float:
    """A value as whichever worker is asked tells it."""
    (found,) = re.findall(rf"^{re.escape(series)} (\S+)$", service.client.get("/metrics").text, re.MULTILINE)
    return float(found)


def test_any_worker_tells_the_sum_of_all_and_a_killed_one_takes_nothing_away(tmp_path: Path) -> None:
    series = 'warp_request_seconds_count{route="/rerank",status="2xx"}'
    with running_service(tmp_path, "--workers", "2") as service:
        service.client.headers["connection"] = "close"  # so that each request may reach the other worker
        service.client.post("/ingest", json={"documents": [{"id": "d"}]})
        for _ in range(N_REQUESTS):
            assert service.client.post("/rerank", json={"entity": "tea", "candidates": []}).status_code == 200
        assert {value(service, series) for _ in range(20)} == {N_REQUESTS}
        workers = workers_of(service.process.pid)
        assert len(workers) == 2
        os.kill(workers[0], signal.SIGKILL)
        for _ in range(60):  # while a new one starts, and when it serves
            assert value(service, series) == N_REQUESTS
            assert value(service, "warp_index_documents") == 1
            assert value(service, "warp_store_up") == 1
            time.sleep(0.05)
        assert len({*workers, *workers_of(service.process.pid)}) == 3
        service.client.post("/rerank", json={"entity": "tea", "candidates": []})
        assert value(service, series) == N_REQUESTS + 1

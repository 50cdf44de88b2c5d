"""The service under what happens to services: slow clients, too many of them, restarts."""

import contextlib
import json
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import httpx2 as httpx
import pytest

from app.settings import Settings
from tests.end_to_end.process import STOP_S, Service, running_service
from tests.integration.test_work import LONG, SHORT
from tests.processes import all_gone, workers_of

JSON = {"content-type": "application/json"}
HALF_HEAD = b"POST /rerank HTTP/1.1\r\nHost: x\r\n"
HALF_BODY = HALF_HEAD + b'Content-Length: 1000\r\n\r\n{"entity": '


@contextlib.contextmanager
def connections(service: Service, sent: Sequence[bytes]) -> Iterator[list[socket.socket]]:
    """One connection for each, over which that much of a request has been sent."""
    with contextlib.ExitStack() as opened:
        links = []
        for part in sent:
            link = opened.enter_context(socket.create_connection(("127.0.0.1", service.port), timeout=30))
            link.sendall(part)
            links.append(link)
        yield links


def ended(link: socket.socket) -> bool:
    """Whether the other side closes the connection, waited for as long as its time-out says."""
    try:
        return link.recv(1) == b""
    except ConnectionResetError:
        return True
    except TimeoutError:
        return False


def test_requests_that_do_not_arrive_are_not_waited_for_and_keep_nobody_from_the_service(tmp_path: Path) -> None:
    with (
        running_service(tmp_path, WARP_RECEIVE_TIMEOUT_MS="1000", WARP_MAX_INFLIGHT="2") as service,
        connections(service, [b"", HALF_HEAD, HALF_BODY] * 30) as slow,
    ):
        assert service.client.get("/livez").status_code == 200
        assert service.client.post("/rerank", content=SHORT, headers=JSON).status_code == 200
        assert all(map(ended, slow))
        assert "Traceback" not in service.log.read_text()


def test_a_long_upload_may_take_longer_than_a_short_one(tmp_path: Path) -> None:
    """Half a megabyte earns it half a minute."""
    first, rest = LONG[: len(LONG) - 10], LONG[len(LONG) - 10 :]
    padded = b" " * 500_000 + first
    head = f"POST /rerank HTTP/1.1\r\nHost: x\r\nContent-Length: {len(padded) + len(rest)}\r\n\r\n".encode()
    with (
        running_service(tmp_path, WARP_RECEIVE_TIMEOUT_MS="300") as service,
        connections(service, [head + padded]) as (link,),
    ):
        time.sleep(1.5)
        link.sendall(rest)
        assert link.recv(12) == b"HTTP/1.1 200"


def test_an_idle_connection_is_kept_for_as_long_as_is_set(tmp_path: Path) -> None:
    request = b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"
    with running_service(tmp_path, WARP_KEEP_ALIVE_MS="1500") as service, connections(service, [request]) as (link,):
        answer = b""
        while b"}" not in answer:
            answer += link.recv(4096)
        assert answer.startswith(b"HTTP/1.1 200")
        link.settimeout(0.5)
        assert not ended(link)
        link.settimeout(30)
        assert ended(link)
    assert Settings().keep_alive_ms > 60_000  # for which balancers keep theirs


def test_an_answer_may_take_longer_than_a_request_to_arrive(tmp_path: Path) -> None:
    with running_service(tmp_path, WARP_RECEIVE_TIMEOUT_MS="20") as service:
        assert service.client.post("/rerank", content=LONG, headers=JSON).status_code == 200


def test_overload_is_refused_at_once_and_never_an_error(tmp_path: Path) -> None:
    limits = {"MAX_INFLIGHT": 1, "MAX_QUEUED": 2, "MAX_QUEUE_MS": 60_000, "REQUEST_TIMEOUT_MS": 60_000}
    with running_service(tmp_path, **{f"WARP_{name}": str(value) for name, value in limits.items()}) as service:
        statuses: list[int] = []

        def ask() -> None:
            with httpx.Client(base_url=service.url, timeout=60) as client:
                answer = client.post("/rerank", content=LONG, headers=JSON)
                statuses.append(answer.status_code)
                assert (answer.status_code == 429) == ("retry-after" in answer.headers)

        threads = [threading.Thread(target=ask) for _ in range(12)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            assert service.client.get("/livez").status_code == 200
        refused = statuses.count(429)
        assert (len(statuses), set(statuses)) == (12, {200, 429})
        assert f"warp_shed_total {float(refused)}" in service.client.get("/metrics").text


def test_a_term_signal_is_told_by_readiness_first_and_all_that_was_asked_is_answered(tmp_path: Path) -> None:
    with running_service(tmp_path, WARP_DRAIN_MS="1500") as service:
        with httpx.Client(base_url=service.url, timeout=60) as other:
            answers = []
            asking = threading.Thread(
                target=lambda: answers.append(other.post("/rerank", content=LONG, headers=JSON).status_code)
            )
            asking.start()
            service.process.send_signal(signal.SIGTERM)
            deadline = time.monotonic() + 10
            while (ready := service.client.get("/readyz")).status_code == 200:
                assert time.monotonic() < deadline
            assert ready.json()["checks"]["process"] == "about to end"
            still = service.client.post("/rerank", content=SHORT, headers=JSON)
            assert (still.status_code, still.headers["connection"]) == (200, "close")
            asking.join()
        assert answers == [200]
        assert service.process.wait(timeout=30) == 0
        assert "Traceback" not in service.log.read_text()


def test_a_second_term_signal_does_not_wait_for_the_balancer(tmp_path: Path) -> None:
    with running_service(tmp_path, WARP_DRAIN_MS="600000") as service:
        service.process.send_signal(signal.SIGTERM)
        time.sleep(0.5)
        service.process.send_signal(signal.SIGTERM)
        assert service.process.wait(timeout=30) == 0


@pytest.mark.parametrize("workers", ["1", "2"])
def test_it_ends_in_time_though_connections_stay_open(tmp_path: Path, workers: str) -> None:
    with (
        running_service(tmp_path, "--workers", workers, WARP_DRAIN_MS="0") as service,
        connections(service, [b"", HALF_HEAD]),
    ):
        service.client.get("/livez")  # and leaves its connection open
        service.process.send_signal(signal.SIGTERM)
        assert service.process.wait(timeout=30) == 0


@pytest.mark.parametrize("after_s", [0, 0.5])
def test_it_ends_in_time_after_a_worker_was_killed_and_while_another_starts(tmp_path: Path, after_s: float) -> None:
    with running_service(tmp_path, "--workers", "2") as service:
        workers = workers_of(service.process.pid)
        os.kill(workers[0], signal.SIGKILL)
        time.sleep(after_s)
        workers += workers_of(service.process.pid)
        service.process.send_signal(signal.SIGTERM)
        assert service.process.wait(timeout=STOP_S) == 0
        assert all_gone(workers)
        assert "Traceback" not in service.log.read_text()


@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize("after", ["Started server process", "Application startup complete"])
def test_it_ends_at_once_while_it_starts(tmp_path: Path, workers: str, after: str) -> None:
    service = Service(tmp_path, ("--workers", workers))
    with service.log.open("wb") as log:
        process = service.launch(log)
    deadline = time.monotonic() + 60
    while after not in service.log.read_text():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    started = workers_of(process.pid)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=STOP_S) == 0
    assert all_gone(started)
    assert "Traceback" not in service.log.read_text()
    service.client.close()


def test_a_restart_of_two_workers_under_load_loses_no_request(tmp_path: Path) -> None:
    with running_service(tmp_path, "--workers", "2") as service:
        statuses: list[int] = []
        done = threading.Event()

        def ask() -> None:
            with httpx.Client(base_url=service.url, timeout=60) as client:
                while not done.is_set():
                    statuses.append(client.post("/rerank", content=SHORT, headers=JSON).status_code)

        def workers_seen() -> int:
            return service.log.read_text().count("Started server process")

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        service.process.send_signal(signal.SIGHUP)
        deadline = time.monotonic() + 120
        while service.log.read_text().count("Finished server process") < 2:
            assert time.monotonic() < deadline, service.log.read_text()
            time.sleep(0.1)
        done.set()
        for thread in threads:
            thread.join()
        assert workers_seen() == 4
        assert len(statuses) > 20
        assert set(statuses) == {200}


def test_a_body_that_is_too_large_is_refused_before_it_has_come(tmp_path: Path) -> None:
    head = b"POST /rerank HTTP/1.1\r\nHost: x\r\nContent-Length: 200000000\r\n\r\n"
    with running_service(tmp_path) as service, connections(service, [head]) as (link,):
        answer = b""
        while b"}" not in answer:
            answer += link.recv(4096)
        assert answer.startswith(b"HTTP/1.1 413")
        assert json.loads(answer.partition(b"\r\n\r\n")[2])["type"] == "urn:warp:problem:body-too-large"


def test_a_client_that_sends_on_can_read_its_answer_and_is_then_left(tmp_path: Path) -> None:
    head = b"POST /rerank HTTP/1.1\r\nHost: x\r\nContent-Length: 200000000\r\n\r\n"
    with running_service(tmp_path) as service, connections(service, [head]) as (link,):
        link.settimeout(0.3)
        sent = 0
        with contextlib.suppress(TimeoutError):  # nobody reads it any more
            while sent < 100_000_000:
                sent += link.send(b" " * 1_000_000)
        assert sent < 100_000_000
        assert link.recv(12) == b"HTTP/1.1 413"
        link.settimeout(30)
        with contextlib.suppress(ConnectionResetError):
            while link.recv(4096):
                pass
        with pytest.raises((ConnectionResetError, BrokenPipeError)):
            link.sendall(b" " * 10_000_000)

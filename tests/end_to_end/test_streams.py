"""Bodies without end, over a real socket: row R14 of the scoreboard and fault F109."""

import socket
from pathlib import Path

import pytest

from tests.end_to_end.process import Service, running_service

LIMIT = 2**20
WANTED = 500 * 2**20
"""Bytes that the client would like to send."""
CHUNK = b"%x\r\n" % 65_536 + b" " * 65_536 + b"\r\n"


def resident_bytes(service: Service) -> int:
    """Memory of the process now."""
    return int(Path(f"/proc/{service.process.pid}/statm").read_text().split()[1]) * 4096


def stream(service: Service, head: str) -> tuple[int, bytes]:
    """Send chunk after chunk until the service has had enough; how much it took, and its answer."""
    request = f"{head}\r\nhost: warp\r\ntransfer-encoding: chunked\r\n\r\n"
    with socket.create_connection(("127.0.0.1", service.port), timeout=20) as client:
        client.sendall(request.encode())
        sent = 0
        answer = b""
        try:
            while sent < WANTED:
                client.sendall(CHUNK)
                sent += len(CHUNK)
        except OSError:  # it has closed the connection, after its answer
            pass
        try:
            while part := client.recv(65_536):
                answer += part
        except ConnectionResetError:
            pass
    return sent, answer


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads /proc")
def test_a_body_of_500_mb_is_cut_off_early_and_costs_next_to_nothing(tmp_path: Path) -> None:
    with running_service(tmp_path, WARP_MAX_BODY_BYTES=str(LIMIT)) as service:
        service.client.post("/rerank", json={"entity": "tea", "candidates": []})
        before = resident_bytes(service)
        for head in (
            "POST /rerank HTTP/1.1\r\ncontent-type: application/json",
            "POST /ingest HTTP/1.1\r\ncontent-type: application/x-ndjson",
            "PUT /collections/c HTTP/1.1\r\ncontent-type: application/json",
            "POST /nowhere HTTP/1.1\r\ncontent-type: application/json",
            "GET /livez HTTP/1.1",
        ):
            sent, answer = stream(service, head)
            assert sent < WANTED / 10, (head, sent)
            assert answer == b"" or answer.split()[1] in (b"413", b"404", b"200"), (head, answer)
            assert service.client.get("/livez").status_code == 200
        assert resident_bytes(service) - before < 2 * LIMIT + 8 * 2**20  # what the kernel and the allocator keep
        assert "Traceback" not in service.log.read_text()

"""The life of a real process."""

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from app.cli import COMMANDS, app
from tests.end_to_end.process import run, running_service, warp_rerank

DOCUMENTS = [
    {"id": f"d{i}", "text": f"review {i} of the tea", "opinions": [{"entity": "tea", "si": si}]}
    for i, si in enumerate((-30, -10, 10, 20, 30))
]


def test_what_was_answered_for_survives_a_kill(tmp_path: Path) -> None:
    with running_service(tmp_path) as service:
        assert service.client.post("/ingest", json={"documents": DOCUMENTS}).json()["created"] == 5
        service.process.send_signal(signal.SIGKILL)
        service.process.wait()
        service.start()
        entity = service.client.get("/entities/tea").json()
        found = service.client.post("/search", json={"query": "tea", "k": 5}).json()
    assert (entity["n"], entity["counts"]["-30"]) == (5, 1)
    assert {result["id"] for result in found["results"]} == {"d0", "d1", "d2", "d3", "d4"}
    assert run(tmp_path, "verify").returncode == 0


def test_a_term_signal_ends_it_cleanly(tmp_path: Path) -> None:
    with running_service(tmp_path) as service:
        service.process.send_signal(signal.SIGTERM)
        assert service.process.wait(timeout=10) in (0, -signal.SIGTERM)
        assert "Traceback" not in service.log.read_text()


def test_a_running_service_sees_what_another_process_ingests(tmp_path: Path) -> None:
    lines = tmp_path / "reviews.jsonl"
    lines.write_text("".join(json.dumps(document) + "\n" for document in DOCUMENTS))
    with running_service(tmp_path, WARP_POLL_INTERVAL_MS="20") as service:
        done = run(tmp_path, "ingest", str(lines), "--encoder", "wordllama")
        assert (done.returncode, done.stdout) == (0, ""), done.stderr
        assert "5 created" in done.stderr
        for _ in range(100):
            answer = service.client.post("/rerank", json={"entity": "tea", "candidates": [], "k": 5}).json()
            if answer["decision"]["added"] == 5:
                break
        assert answer["decision"]["added"] == 5
        again = run(tmp_path, "ingest", str(lines), "--encoder", "wordllama")
    assert "5 unchanged" in again.stderr


def test_two_workers_answer_alike_soon_after_an_ingest(tmp_path: Path) -> None:
    with running_service(tmp_path, "--workers", "2", WARP_POLL_INTERVAL_MS="20") as service:
        service.client.post("/ingest", json={"documents": DOCUMENTS})
        time.sleep(1)
        service.client.headers["connection"] = "close"  # so that the next request may reach the other worker
        answers = [
            service.client.post("/rerank", json={"entity": "tea", "candidates": [], "k": 5}).json()["results"]
            for _ in range(40)
        ]
    assert len(answers[0]) == 5
    assert all(answer == answers[0] for answer in answers)


def test_with_keys_only_their_holders_may_call(tmp_path: Path) -> None:
    with running_service(tmp_path, WARP_API_KEYS='["one", "two"]') as service:

        def status(authorization: str | None) -> int:
            headers = {} if authorization is None else {"authorization": authorization}
            return service.client.get("/collections", headers=headers).status_code

        assert [status(given) for given in (None, "", "Basic one", "Bearer", "Bearer three", "one")] == [401] * 6
        assert [status(given) for given in ("Bearer one", "bearer two", "BEARER  one")] == [200] * 3
        refused = service.client.post("/rerank", json={})
        assert refused.headers["www-authenticate"] == "Bearer"
        assert refused.headers["content-type"] == "application/problem+json"
        for open_path in ("/livez", "/readyz", "/metrics", "/docs", "/openapi.json", "/", "/explorer/explorer.js"):
            assert service.client.get(open_path).status_code == 200, open_path
        assert "one" not in service.log.read_text().split()


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])
def test_a_public_address_needs_keys(tmp_path: Path, host: str) -> None:
    done = run(tmp_path, "serve", "--host", host)
    assert done.returncode == 2
    assert "WARP_API_KEYS" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "environment", "words"),
    [
        (("serve", "--store", "ftp://nowhere"), {}, "store"),
        (("serve",), {"WARP_PORT": "many"}, "port"),
        (("serve",), {"WARP_DENSE_VARIANT": "best"}, "dense_variant"),
        (("ingest", "reviews.pdf"), {}, "reviews.pdf"),
        (("rerank", "-"), {}, "query"),
    ],
)
def test_a_wrong_call_ends_with_2_and_one_line_that_names_it(
    tmp_path: Path, arguments: tuple[str, ...], environment: dict[str, str], words: str
) -> None:
    (tmp_path / "reviews.pdf").touch()
    done = run(tmp_path, *arguments, stdin='{"candidates": []}', **environment)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_every_command_has_help_with_an_example() -> None:
    for command in COMMANDS:
        shown = CliRunner().invoke(app, [command.__name__.replace("_", "-"), "--help"])
        assert shown.exit_code == 0
        assert "Example:" in shown.stdout


def test_settings_are_shown_with_their_values(tmp_path: Path) -> None:
    done = run(tmp_path, "settings", WARP_PORT="9001", WARP_API_KEYS='["secret"]')
    assert "9001" in done.stdout
    assert "secret" not in done.stdout


def test_a_request_is_re_ranked_in_the_terminal(tmp_path: Path) -> None:
    candidates = [{"id": d["id"], "score": 1.0, "text": d["text"], "opinions": d["opinions"]} for d in DOCUMENTS]
    request = json.dumps({"entity": "tea", "candidates": candidates, "k": 2, "expansion": "none"})
    shown = run(tmp_path, "rerank", "-", stdin=request)
    assert shown.returncode == 0, shown.stderr
    for words in ("population", "top-k", "WARP", "W1", "EM", "review"):
        assert words in shown.stdout
    answer = json.loads(run(tmp_path, "rerank", "-", "--json", stdin=request).stdout)
    assert len(answer["results"]) == 2


def test_a_broken_pipe_of_requests_leaves_the_service_standing(tmp_path: Path) -> None:
    """A client that goes away in the middle of an upload fails alone."""
    with running_service(tmp_path) as service:
        half = (
            b"POST /ingest HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-ndjson\r\nContent-Length: 1000\r\n\r\n"
            b'{"id": "whole", "text": "t"}\n{"id": "ha'
        )
        subprocess.run(
            ["bash", "-c", f"exec 3<>/dev/tcp/127.0.0.1/{service.port}; cat >&3"], input=half, check=True, timeout=20
        )
        assert service.client.get("/livez").status_code == 200
        assert service.client.get("/documents/ha").status_code == 404


def test_the_command_is_installed() -> None:
    assert subprocess.run(warp_rerank("--help"), capture_output=True, check=True).returncode == 0

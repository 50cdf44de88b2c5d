"""Rules and dashboard against a real Prometheus that scrapes a real service, as the shipped configuration has it."""

import json
import math
import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2 as httpx
import pytest
import yaml

from tests.end_to_end.process import Service, running_service

DEPLOY = Path(__file__).parents[2] / "deploy"
RULES = DEPLOY / "prometheus"
DASHBOARD = json.loads((DEPLOY / "grafana/dashboards/warp.json").read_text())
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
QUERIES = [(panel["title"], target["expr"]) for panel in PANELS for target in panel["targets"]]
START_S = 30

pytestmark = pytest.mark.skipif(
    shutil.which("prometheus") is None and "CI" not in os.environ, reason="prometheus is not installed"
)


def promtool(*arguments: str) -> None:
    done = subprocess.run(["promtool", *arguments], capture_output=True, text=True, cwd=RULES, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_configuration_and_its_rules_are_valid() -> None:
    promtool("check", "config", "--lint=all", "--lint-fatal", "prometheus.yml")
    promtool("check", "rules", "--lint=all", "--lint-fatal", "warp.rules.yml")


def test_the_rules_compute_and_alert_as_their_unit_tests_say() -> None:
    promtool("test", "rules", "warp.rules.test.yml")


def test_every_alert_has_a_unit_test() -> None:
    groups = yaml.safe_load((RULES / "warp.rules.yml").read_text())["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    tested = re.findall(r"alertname: (\w+)", (RULES / "warp.rules.test.yml").read_text())
    assert {rule["alert"] for rule in rules if "alert" in rule} == set(tested)


def test_every_panel_asks_the_provisioned_data_source() -> None:
    (source,) = yaml.safe_load((DEPLOY / "grafana/provisioning/datasources/prometheus.yml").read_text())["datasources"]
    named = re.findall(r'"datasource": \{\s*"type": "(\w+)",\s*"uid": "([^"]+)"', json.dumps(DASHBOARD))
    assert len(named) == len(PANELS) + len(QUERIES) + len(DASHBOARD["templating"]["list"])
    assert set(named) == {(source["type"], source["uid"])}
    assert "${DS_" not in json.dumps(DASHBOARD)  # what an export for sharing leaves unresolved


def test_panels_have_ids_of_their_own_and_do_not_overlap() -> None:
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])
    cells = [
        (x, y)
        for grid in (panel["gridPos"] for panel in DASHBOARD["panels"])
        for x in range(grid["x"], grid["x"] + grid["w"])
        for y in range(grid["y"], grid["y"] + grid["h"])
    ]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24


class Prometheus:
    """A server that runs the shipped configuration, but for the target's address and how often it looks."""

    def __init__(self, directory: Path, service: Service) -> None:
        config = (RULES / "prometheus.yml").read_text()
        for shipped, here in (("warp:8765", f"127.0.0.1:{service.port}"), ("_interval: 15s", "_interval: 1s")):
            assert shipped in config
            config = config.replace(shipped, here)
        (directory / "prometheus.yml").write_text(config)
        shutil.copy(RULES / "warp.rules.yml", directory)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{free.getsockname()[1]}"
        self._command = [
            "prometheus",
            f"--config.file={directory / 'prometheus.yml'}",
            f"--storage.tsdb.path={directory / 'data'}",
            f"--web.listen-address={address}",
        ]
        self._log = directory / "prometheus.log"
        self.client = httpx.Client(base_url=f"http://{address}", timeout=10)

    def start(self) -> None:
        """Start the process."""
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(self._command, stdout=log, stderr=log)

    def has_seen_enough(self) -> bool:
        """Whether it has looked a few times, and its rules have recorded what it saw."""
        try:
            return bool(
                self.values('count_over_time(up{job="warp"}[1m]) > 3')
                and self.values('route:warp_request_seconds:p99{route="/search"} > 0')
            )
        except httpx.TransportError:  # it does not listen yet
            return False

    def values(self, query: str) -> list[float]:
        """What a query finds now."""
        answer = self.client.get("/api/v1/query", params={"query": query})
        if answer.status_code == 503:  # it is not ready yet
            return []
        assert answer.json()["status"] == "success", answer.text
        return [float(one["value"][1]) for one in answer.json()["data"]["result"]]

    def label_values(self, label: str, selector: str) -> list[str]:
        """Values of a label over the series that a selector matches."""
        answer = self.client.get(f"/api/v1/label/{label}/values", params={"match[]": selector}).json()
        return list(answer["data"])


def talk_to(service: Service) -> None:
    """Some of everything: ingest, both kinds of pool, mistakes."""
    reviews = [
        {"id": f"d{i}", "text": f"review {i} of the tea", "opinions": [{"entity": "tea", "si": (-30, 10, 30)[i % 3]}]}
        for i in range(30)
    ]
    service.client.post("/ingest", json={"documents": reviews}).raise_for_status()
    for i in range(20):
        service.client.post("/search", json={"query": "tea", "k": 5}).raise_for_status()
        pool = [{"id": f"d{j}", "score": 1 / (j + 1)} for j in range(i, i + 10)]
        service.client.post("/rerank", json={"entity": "tea", "candidates": pool, "k": 5}).raise_for_status()
        service.client.post("/rerank", json={"entity": "tea"})


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """A server that has looked while things were going on."""
    directory = tmp_path_factory.mktemp("monitoring")
    with running_service(directory) as service:
        server = Prometheus(directory, service)
        server.start()
        try:
            deadline = time.monotonic() + START_S
            while not server.has_seen_enough():
                assert server.process.poll() is None
                assert time.monotonic() < deadline
                talk_to(service)
            yield server
        finally:
            server.process.kill()
            server.process.wait()
            server.client.close()


@pytest.mark.parametrize(("title", "query"), QUERIES)
def test_every_query_of_the_dashboard_finds_data(prometheus: Prometheus, title: str, query: str) -> None:
    (variable,) = DASHBOARD["templating"]["list"]
    label = re.fullmatch(r"label_values\((.+), (\w+)\)", variable["query"]["query"])
    assert label is not None
    instances = prometheus.label_values(label[2], label[1])
    assert len(instances) == 1
    for instance in (variable["allValue"], instances[0]):
        resolved = query.replace("$__rate_interval", "1m").replace("$__range", "1h").replace("$instance", instance)
        assert "$" not in resolved
        found = prometheus.values(resolved)
        assert any(math.isfinite(value) for value in found), (title, resolved, found)


def test_nothing_alerts_while_all_is_well(prometheus: Prometheus) -> None:
    assert prometheus.values("ALERTS") == []

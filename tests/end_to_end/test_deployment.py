"""Image and compose files, as far as they can be tried without a container engine."""

import json
import re
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import yaml

from app.settings import Settings
from tests.end_to_end.process import running_service

ROOT = Path(__file__).parents[2]
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
DOCKERFILE = re.sub(
    r"\\\n", "", "\n".join(line for line in (ROOT / "Dockerfile").read_text().splitlines() if not line.startswith("#"))
)
INSTRUCTIONS = [tuple(line.strip().split(maxsplit=1)) for line in DOCKERFILE.splitlines() if line.strip()]
LAST_STAGE = INSTRUCTIONS[max(i for i, (word, _) in enumerate(INSTRUCTIONS) if word == "FROM") :]


def of_image(word: str) -> list[str]:
    """What the last stage says to a word."""
    return [rest for instruction, rest in LAST_STAGE if instruction == word]


def image_environment() -> dict[str, str]:
    (told,) = of_image("ENV")
    return dict(pair.split("=", 1) for pair in told.split())


def mounts(service: str) -> list[tuple[str, str]]:
    """Host path and path in the container, of what is mounted from this repository."""
    volumes = COMPOSE["services"][service].get("volumes", ())
    return [(host, inside) for host, inside, *_ in (v.split(":") for v in volumes) if host.startswith("./")]


def test_compose_follows_its_published_schema() -> None:
    check_jsonschema = pytest.importorskip("check_jsonschema", reason="the schema lies in check-jsonschema")
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(files(check_jsonschema).joinpath("builtin_schemas/vendor/compose-spec.json").read_text())
    jsonschema.validate(COMPOSE, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"services": {"warp": {"image": 1}}}, schema)


def test_prometheus_scrapes_where_the_service_listens() -> None:
    """F095."""
    config = yaml.safe_load((ROOT / "deploy/prometheus/prometheus.yml").read_text())
    targets = [t for job in config["scrape_configs"] for static in job["static_configs"] for t in static["targets"]]
    port = Settings().port
    assert targets == [f"warp:{port}"]
    assert "warp" in COMPOSE["services"]
    assert of_image("EXPOSE") == [str(port)] == [image_environment()["WARP_PORT"]]
    assert COMPOSE["services"]["warp"]["ports"] == [f"127.0.0.1:{port}:{port}"]
    assert "metrics_path" not in str(config)  # the default, /metrics, is what the service has


def test_what_is_mounted_is_there_and_where_it_is_looked_for() -> None:
    for service in COMPOSE["services"]:
        assert all((ROOT / host).is_dir() for host, _ in mounts(service))
    assert ("./deploy/prometheus", "/etc/prometheus") in mounts("prometheus")
    assert ("./deploy/grafana/provisioning", "/etc/grafana/provisioning") in mounts("grafana")
    grafana = ROOT / "deploy/grafana"
    (provider,) = yaml.safe_load((grafana / "provisioning/dashboards/warp.yml").read_text())["providers"]
    dashboards = provider["options"]["path"]
    assert ("./deploy/grafana/dashboards", dashboards) in mounts("grafana")
    home = COMPOSE["services"]["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    assert (grafana / "dashboards" / Path(home).relative_to(dashboards)).is_file()
    (source,) = yaml.safe_load((grafana / "provisioning/datasources/prometheus.yml").read_text())["datasources"]
    assert source["url"] == "http://prometheus:9090"


def test_nothing_is_published_beyond_this_machine() -> None:
    published = [port for service in COMPOSE["services"].values() for port in service.get("ports", ())]
    assert len(published) == 3
    assert all(port.startswith("127.0.0.1:") for port in published)


def test_the_service_may_do_little_in_its_container() -> None:
    warp = COMPOSE["services"]["warp"]
    assert warp["read_only"] is True
    assert warp["cap_drop"] == ["ALL"]
    assert of_image("USER")[-1].isdigit()
    assert of_image("USER")[-1] != "0"
    written = {image_environment()["WARP_DATA_DIR"], image_environment()["HOME"]}
    assert written <= {*of_image("VOLUME"), *warp["tmpfs"]}


def test_redis_keeps_what_was_acknowledged() -> None:
    command = " ".join(COMPOSE["services"]["redis"]["command"])
    assert "--appendonly yes" in command
    assert "--maxmemory-policy noeviction" in command


def test_every_setting_that_is_given_is_one() -> None:
    known = {f"WARP_{name.upper()}" for name in Settings.model_fields}
    given = {*image_environment(), *COMPOSE["services"]["warp"]["environment"]}
    assert {name for name in given if name.startswith("WARP_")} <= known


def test_the_image_is_built_from_what_is_there_and_not_left_out() -> None:
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    assert ignored[0] == "*"
    sources = [
        source
        for word, rest in INSTRUCTIONS
        if word == "COPY" and not rest.startswith("--from")
        for source in rest.split()[:-1]
    ]
    assert len(sources) >= 7
    for source in sources:
        assert (ROOT / source).exists()
        assert f"!{source}" in ignored, source


def health_check(port: int) -> subprocess.CompletedProcess[bytes]:
    (told,) = of_image("HEALTHCHECK")
    command = json.loads(told[told.index("CMD") + 3 :])
    assert command[0] == "python"
    return subprocess.run(
        [sys.executable, *command[1:]], env={"WARP_PORT": str(port)}, capture_output=True, timeout=10, check=False
    )


def test_the_health_check_tells_a_service_that_answers_from_one_that_does_not(tmp_path: Path) -> None:
    with running_service(tmp_path) as service:
        assert health_check(service.port).returncode == 0
    assert health_check(service.port).returncode != 0


def test_the_image_runs_a_command_that_there_is(tmp_path: Path) -> None:
    (entry,), (command,) = of_image("ENTRYPOINT"), of_image("CMD")
    arguments: list[Any] = [*json.loads(entry), *json.loads(command), "--help"]
    found = Path(sys.executable).with_name(arguments[0])
    done = subprocess.run([str(found), *arguments[1:]], capture_output=True, cwd=tmp_path, timeout=60, check=False)
    assert done.returncode == 0

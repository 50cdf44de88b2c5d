"""What Prometheus reads."""

import bisect
import os
import random
import shutil
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient

from app.main import create_app
from app.metrics import OTHER, STAGES, Metrics
from app.settings import Settings
from loadtest.metrics_size import MAX_BYTES, MAX_MS, MAX_SERIES, complaints, scrape, send_all_sorts
from warp_core import SELECTORS, Policy

PROMISED = {
    "warp_rerank_seconds": {"variant", "expansion"},
    "warp_request_seconds": {"route", "status"},
    "warp_stage_seconds": {"stage"},
    "warp_sla_breaches": {"variant"},
    "warp_decisions": {"variant", "expansion", "rule"},
    "warp_w1": {"stage"},
    "warp_em": {"stage"},
    "warp_documents": {"outcome"},
    "warp_index_documents": set(),
    "warp_store_up": set(),
    "warp_degraded": {"reason"},
    "warp_shed": set(),
    "warp_abandoned": set(),
}
"""Families of the contract (the parser drops `_total`) and their labels."""

RERANK = {"entity": "pool", "collection": "hotels", "candidates": []}

Sample = tuple[str, frozenset[tuple[str, str]]]


def samples(text: str) -> dict[Sample, float]:
    """Value by name and labels."""
    return {
        (s.name, frozenset(s.labels.items())): s.value
        for family in text_string_to_metric_families(text)
        for s in family.samples
    }


def grown(client: TestClient, name: str, act: Callable[[], Any]) -> dict[tuple[str, ...], float]:
    """By how much the series of a name grow when something is done, by label values in order of label names."""
    before = samples(client.get("/metrics").text)
    act()
    after = samples(client.get("/metrics").text)
    return {
        tuple(value for _, value in sorted(labels)): value - before[one, labels]
        for (one, labels), value in after.items()
        if one == name and value != before[one, labels]
    }


def without_scrapes(growth: dict[tuple[str, ...], float]) -> dict[tuple[str, ...], float]:
    """The scrape that reads the value before counts itself."""
    own = (OTHER, "2xx")
    rest = {**growth, own: growth.get(own, 0) - 1}
    return {labels: by for labels, by in rest.items() if by}


def test_all_promised_series_stand_at_zero_before_the_first_request(tmp_path) -> None:
    with TestClient(create_app(Settings(data_dir=tmp_path))) as fresh:
        families = list(text_string_to_metric_families(fresh.get("/metrics").text))
    told = {family.name: family for family in families}
    assert PROMISED.keys() <= told.keys()
    for name, labels in PROMISED.items():
        assert told[name].samples, name
        for sample in told[name].samples:
            assert set(sample.labels) - {"le"} == labels, name
            assert sample.value == (1 if name == "warp_store_up" else 0), sample


@pytest.mark.parametrize(
    ("act", "expected"),
    [
        (lambda c: c.post("/rerank", json=RERANK), ("/rerank", "2xx")),
        (lambda c: c.post("/rerank", json={}), ("/rerank", "4xx")),
        (lambda c: c.get("/rerank"), ("/rerank", "4xx")),
        (lambda c: c.post("/search", json={"query": "pool"}), ("/search", "2xx")),
        (lambda c: c.post("/ingest", json={"documents": []}), ("/ingest", "2xx")),
        (lambda c: c.get("/documents/none"), (OTHER, "4xx")),
        (lambda c: c.get("/entities"), (OTHER, "2xx")),
        (lambda c: c.get("/.env"), ("unmatched", "4xx")),
        (lambda c: c.request("BREW", "/coffee"), ("unmatched", "4xx")),
    ],
)
def test_a_request_adds_one_to_exactly_one_series(
    client: TestClient, act: Callable[[TestClient], Any], expected: tuple[str, str]
) -> None:
    growth = without_scrapes(grown(client, "warp_request_seconds_count", lambda: act(client)))
    assert growth == {expected: 1}


def test_an_unexpected_error_counts_once_as_ours(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: object) -> None:
        raise RuntimeError("broken for the test")

    resources = client.app.state.resources
    monkeypatch.setattr(resources.lookups, "lookup", broken)
    growth = without_scrapes(grown(client, "warp_request_seconds_count", lambda: client.post("/rerank", json=RERANK)))
    assert growth == {("/rerank", "5xx"): 1}


def test_a_re_ranking_is_one_decision_and_one_time(client: TestClient) -> None:
    def act() -> None:
        assert client.post("/rerank", json=RERANK).json()["decision"]["added"] == 2

    assert grown(client, "warp_decisions_total", act) == {("entity_gated", "smoothed", "w1_mmr"): 1}
    assert grown(client, "warp_rerank_seconds_count", act) == {("entity_gated", "w1_mmr"): 1}
    assert grown(client, "warp_w1_count", act) == {("selection",): 1}  # an empty pool has none
    assert grown(client, "warp_em_count", act) == {("top_k",): 1, ("pool",): 1, ("selection",): 1}
    seen = grown(client, "warp_stage_seconds_count", act)
    assert seen == {(stage,): 1 for stage in STAGES if stage != "retrieve"}


def test_a_document_counts_once_by_its_outcome(client: TestClient) -> None:
    def ingest() -> None:
        documents = [{"id": "m1", "text": "a"}, {"id": "m2", "text": "b"}, {"id": ""}]
        client.post("/ingest", json={"collection": "counted once", "documents": documents})

    assert grown(client, "warp_documents_total", ingest) == {("created",): 2, ("failed",): 1}
    assert grown(client, "warp_documents_total", ingest) == {("unchanged",): 2, ("failed",): 1}
    gone = grown(client, "warp_documents_total", lambda: client.delete("/documents/m1?collection=counted once"))
    assert gone == {("deleted",): 1}


@pytest.mark.parametrize("variant", SELECTORS)
def test_every_selector_is_counted_under_a_name_that_was_there(client: TestClient, variant: str) -> None:
    candidates = [{"id": f"s{i}", "score": 1.0 - i / 10, "text": f"text {i}", "tokens": 1} for i in range(5)]
    body = {"query": "pool", "entity": "pool", "candidates": candidates, "k": 2, "variant": variant}
    growth = grown(client, "warp_sla_breaches_total", lambda: None)
    assert growth == {}
    growth = grown(client, "warp_rerank_seconds_count", lambda: client.post("/rerank", json=body))
    named = variant if variant in ("top_k", "w1_minimizer", "w1_mmr") else OTHER
    assert {labels[1]: by for labels, by in growth.items()} == {named: 1}


def test_the_selectors_of_the_policy_have_their_own_series() -> None:
    text = Metrics(Policy(dense_variant="w1_exact", sparse_variant="js_mmr")).text()
    assert 'warp_sla_breaches_total{variant="w1_exact"}' in text
    assert 'warp_sla_breaches_total{variant="js_mmr"}' in text
    assert 'variant="w1_minimizer"' not in text


def test_a_re_ranking_over_the_limit_is_a_breach(tmp_path) -> None:
    with TestClient(create_app(Settings(data_dir=tmp_path, sla_ms=1e-6))) as strict:
        growth = grown(strict, "warp_sla_breaches_total", lambda: strict.post("/rerank", json=RERANK))
    assert growth == {("w1_mmr",): 1}


def test_no_name_that_callers_send_makes_a_series(client: TestClient) -> None:
    """Row R17 of the scoreboard, short; `python -m loadtest.metrics_size` is the long form."""
    before = scrape(client)
    send_all_sorts(client, entities=200, ids=60, paths=40)
    after = scrape(client)
    assert after.series == before.series
    assert len(after.series) <= MAX_SERIES
    assert len(after.text.encode()) <= MAX_BYTES
    assert after.ms <= 4 * MAX_MS  # the row's own limit is for a quiet machine


def test_promtool_finds_nothing_wrong(client: TestClient) -> None:
    if shutil.which("promtool") is None:
        if "CI" in os.environ:  # there it must run
            raise FileNotFoundError("promtool")
        pytest.skip("promtool is not installed")
    assert complaints(client.get("/metrics").text) == ""


@pytest.mark.parametrize("centre_s", [40e-6, 70e-6, 0.2, 0.3, 0.33, 0.4])
def test_the_buckets_tell_the_quantiles_where_they_matter(centre_s: float) -> None:
    """Prometheus interpolates inside a bucket: with values 20% around the centre, p50, p95 and p99 come out within a
    factor of 2, and on the right side of 310 and 365 ms.
    """
    metrics = Metrics()
    rng = random.Random(1)
    values = sorted(rng.lognormvariate(np.log(centre_s), 0.2) for _ in range(5000))
    for value in values:
        metrics.rerank_seconds.labels("w1_minimizer", "none").observe(value)
    buckets = [
        (float(dict(labels)["le"]), count)
        for (name, labels), count in samples(metrics.text()).items()
        if name == "warp_rerank_seconds_bucket" and {("variant", "w1_minimizer"), ("expansion", "none")} <= labels
    ]
    buckets.sort()
    for q in (0.5, 0.95, 0.99):
        told, true = quantile(q, buckets), values[int(q * len(values))]
        assert 1 / 2 <= told / true <= 2, (q, told, true)
        for limit in (0.31, 0.365):
            assert (told <= limit) == (true <= limit)


def quantile(q: float, buckets: list[tuple[float, float]]) -> float:
    """As Prometheus' histogram_quantile: linear inside the bucket that holds the rank, the last bound above it."""
    rank = q * buckets[-1][1]
    at = bisect.bisect_left([count for _, count in buckets], rank)
    low, below = buckets[at - 1] if at else (0.0, 0.0)
    high, upto = buckets[at]
    return low if high == float("inf") else low + (high - low) * (rank - below) / (upto - below)

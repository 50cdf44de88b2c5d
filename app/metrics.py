"""Every Prometheus metric with its unit and labels. No value that a caller chooses freely is ever a label."""

from collections.abc import Iterable
from itertools import product
from typing import get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from app.clock import Stopwatch
from app.schemas import ExpansionChoice, RerankResponse
from warp_core import SELECTORS, Policy
from warp_core.target import TargetRule

USUAL_VARIANTS = ("top_k", Policy.dense_variant, Policy.sparse_variant)
"""Their histograms stand at zero from the start; those of the other selectors appear when one is asked for."""
STAGES = ("labels", "target", "expansion", "rerank", "encode", "retrieve")
EXPANSIONS = tuple(choice for choice in get_args(ExpansionChoice) if choice != "auto")
W1_STAGES = ("top_k", "pool", "selection")
OUTCOMES = ("created", "updated", "unchanged", "stale", "deleted", "failed")

_SECONDS = (
    *(25e-6, 50e-6, 75e-6, 1e-4, 1.5e-4, 2e-4, 3e-4, 5e-4, 7.5e-4),
    *(1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 0.1, 0.2, 0.31, 0.365, 0.5, 1.0, 2.5, 5.0),
)
"""Resolves well under a millisecond, and holds the papers' bounds of 310 and 365 ms."""
_W1 = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 40.0, 60.0)
_SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.99, 1.0)


class Metrics:
    """The metrics of one service, on a registry of its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.rerank_seconds = self._histogram(
            "warp_rerank_seconds", "Re-ranking alone: pool in memory to selection.", _SECONDS, "variant", "expansion"
        )
        self.request_seconds = self._histogram(
            "warp_request_seconds", "Whole requests by route.", _SECONDS, "route", "status"
        )
        self.stage_seconds = self._histogram("warp_stage_seconds", "Stages of a request.", _SECONDS, "stage")
        self.sla_breaches = self._counter("warp_sla_breaches", "Re-rankings slower than sla_ms.", "variant")
        self.decisions = self._counter("warp_decisions", "What was done.", "variant", "expansion", "rule")
        self.w1 = self._histogram("warp_w1", "W1 to the target, in scale units.", _W1, "stage")
        self.em = self._histogram("warp_em", "Entity match.", _SHARES, "stage")
        self.documents = self._counter("warp_documents", "Documents by what became of them.", "outcome")
        self.degraded = self._counter("warp_degraded", "Answers without all that they need.", "reason")
        self.index_documents = Gauge("warp_index_documents", "Documents in the index.", registry=self.registry)
        self.index_lag_events = Gauge(
            "warp_index_lag_events", "Changes that the last look at the store found.", registry=self.registry
        )
        self.index_lag_seconds = Gauge(
            "warp_index_lag_seconds", "Since the index was last known to be in step.", registry=self.registry
        )
        self.store_up = Gauge("warp_store_up", "Whether the store answered last time.", registry=self.registry)
        for variant, expansion in product(USUAL_VARIANTS, EXPANSIONS):
            self.rerank_seconds.labels(variant, expansion)
            for rule in get_args(TargetRule):
                self.decisions.labels(variant, expansion, rule)
        for variant in SELECTORS:
            self.sla_breaches.labels(variant)
        for stage in STAGES:
            self.stage_seconds.labels(stage)
        for stage in W1_STAGES:
            self.w1.labels(stage)
            self.em.labels(stage)
        for reason in ("store", "index"):
            self.degraded.labels(reason)
        for outcome in OUTCOMES:
            self.documents.labels(outcome)

    def observe(self, answer: RerankResponse, watch: Stopwatch, sla_ms: float, lacks: Iterable[str]) -> None:
        """Count one answered re-ranking, which lacks something of the store or the index where these stay away."""
        decision, quality = answer.decision, answer.quality
        self.rerank_seconds.labels(decision.variant, decision.expansion).observe(watch.stages_s["rerank"])
        self.decisions.labels(decision.variant, decision.expansion, answer.target.rule).inc()
        for reason in lacks:
            self.degraded.labels(reason).inc()
        for stage, seconds in watch.stages_s.items():
            self.stage_seconds.labels(stage).observe(seconds)
        if watch.stages_s["rerank"] * 1000 > sla_ms:
            self.sla_breaches.labels(decision.variant).inc()
        for stage, w1 in (("top_k", quality.w1_top_k), ("pool", quality.w1_pool), ("selection", quality.w1)):
            if w1 is not None:
                self.w1.labels(stage).observe(w1)
        for stage, em in (("top_k", decision.em_top_k), ("pool", decision.em_pool), ("selection", quality.em)):
            self.em.labels(stage).observe(em)

    def _histogram(self, name: str, text: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
        return Histogram(name, text, labels, buckets=buckets, registry=self.registry)

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(name, text, labels, registry=self.registry)

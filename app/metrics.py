"""Every Prometheus metric with its unit and labels. No value that a caller chooses freely is ever a label.

All series stand at zero from the start and no request adds any; the whole is under 500 of them, so that what a service
costs its Prometheus is known. That is why `variant` names the selectors of the policy and calls the others `other`, and
why `status` is a class.
"""

from collections.abc import Iterable
from itertools import product
from pathlib import Path
from typing import get_args

from app.clock import Stopwatch
from app.drop_in import complaints
from app.schemas import ExpansionChoice, RerankResponse
from app.series import Block, Counter, Gauge, Histogram
from warp_core import SELECTORS, Policy
from warp_core.target import TargetRule

OTHER = "other"
UNMATCHED = "unmatched"
ROUTES = ("/rerank", "/search", "/ingest")
"""Those that do the work, under their own name; the rest is `other`, or `unmatched` where there is no such route."""
_DROP_IN = dict.fromkeys((*complaints.BY_PATH, "/rerank/"), "/rerank")
"""What counts as a re-ranking."""
STATUSES = ("2xx", "4xx", "5xx")
STAGES = ("labels", "target", "expansion", "rerank", "encode", "retrieve")
EXPANSIONS = tuple(choice for choice in get_args(ExpansionChoice) if choice != "auto")
W1_STAGES = ("top_k", "pool", "selection")
OUTCOMES = ("created", "updated", "unchanged", "stale", "deleted", "failed")
DEGRADED = ("store", "index")

# 310 and 365 ms are the papers' limits of a re-ranking and of a whole request; the rest resolves what we take. Another
# bound of the first is 12 series more.
_RERANK_S = (25e-6, 50e-6, 1e-4, 2e-4, 1e-3, 1e-2, 0.1, 0.31, 0.365, 0.5)
_REQUEST_S = (2.5e-4, 5e-4, 1e-3, 5e-3, 0.05, 0.31, 0.365, 1.0)
_STAGE_S = (5e-5, 5e-4, 5e-3, 0.05, 0.31, 0.365)
_W1 = (0.5, 1.0, 2.0, 5.0, 15.0)
_SHARES = (0.5, 0.85, 0.95, 0.99)


class Metrics:
    """The metrics of one process, summed in the text with those of the other workers of the service.

    Parameters
    ----------
    policy : names the selectors that have series of their own.
    directory : where the workers of a service share; None when there is one.
    """

    def __init__(self, policy: Policy | None = None, directory: Path | None = None) -> None:
        policy = policy or Policy()
        named = dict.fromkeys(("top_k", policy.dense_variant, policy.sparse_variant))
        self._variants = {name: name if name in named else OTHER for name in SELECTORS}
        variants = (*named, OTHER)
        self.rerank_seconds = Histogram(
            "warp_rerank_seconds",
            "Re-ranking alone: pool in memory to selection.",
            _RERANK_S,
            ("variant", "expansion"),
            product(variants, EXPANSIONS),
        )
        self.request_seconds = Histogram(
            "warp_request_seconds",
            "Whole requests by route.",
            _REQUEST_S,
            ("route", "status"),
            (*product((*ROUTES, OTHER), STATUSES), (UNMATCHED, "4xx")),
        )
        self.stage_seconds = Histogram(
            "warp_stage_seconds", "Stages of a request.", _STAGE_S, ("stage",), _each(STAGES)
        )
        self.sla_breaches = Counter(
            "warp_sla_breaches_total", "Re-rankings slower than sla_ms.", ("variant",), _each(variants)
        )
        self.decisions = Counter(
            "warp_decisions_total",
            "What was done.",
            ("variant", "expansion", "rule"),
            product(variants, EXPANSIONS, get_args(TargetRule)),
        )
        self.w1 = Histogram("warp_w1", "W1 to the target, in scale units.", _W1, ("stage",), _each(W1_STAGES))
        self.em = Histogram("warp_em", "Entity match.", _SHARES, ("stage",), _each(W1_STAGES))
        self.documents = Counter(
            "warp_documents_total", "Documents by what became of them.", ("outcome",), _each(OUTCOMES)
        )
        self.degraded = Counter(
            "warp_degraded_total", "Answers without all that they need.", ("reason",), _each(DEGRADED)
        )
        self.shed = Counter("warp_shed_total", "Requests refused because too many were under way.")
        self.abandoned = Counter("warp_abandoned_total", "Requests whose client left first.")
        self.index_documents = Gauge("warp_index_documents", "Documents in the index.", max)
        self.index_lag_events = Gauge("warp_index_lag_events", "Changes that the last look at the store found.", max)
        self.index_lag_seconds = Gauge("warp_index_lag_seconds", "Since the index was last known in step.", max)
        self.store_up = Gauge("warp_store_up", "Whether the store answered last time.", min)
        self.resident_bytes = Gauge("process_resident_memory_bytes", "Memory of all processes.", sum)
        self.open_fds = Gauge("process_open_fds", "File descriptors of all processes.", sum)
        families = [family for family in vars(self).values() if isinstance(family, Counter | Gauge | Histogram)]
        self._block = Block(families, directory)

    def text(self) -> str:
        """All series, in Prometheus' text format."""
        return self._block.text()

    def observe(self, answer: RerankResponse, watch: Stopwatch, sla_ms: float, lacks: Iterable[str]) -> None:
        """Count one answered re-ranking, which lacks something of the store or the index where these stay away."""
        decision, quality = answer.decision, answer.quality
        variant = self._variants[decision.variant]
        seconds = watch.stages_s["rerank"]
        self.rerank_seconds.labels(variant, decision.expansion).observe(seconds)
        self.decisions.labels(variant, decision.expansion, answer.target.rule).inc()
        for reason in lacks:
            self.degraded.labels(reason).inc()
        for stage, spent in watch.stages_s.items():
            self.stage_seconds.labels(stage).observe(spent)
        if seconds * 1000 > sla_ms:
            self.sla_breaches.labels(variant).inc()
        for stage, w1 in (("top_k", quality.w1_top_k), ("pool", quality.w1_pool), ("selection", quality.w1)):
            if w1 is not None:
                self.w1.labels(stage).observe(w1)
        for stage, em in (("top_k", decision.em_top_k), ("pool", decision.em_pool), ("selection", quality.em)):
            self.em.labels(stage).observe(em)

    def observe_request(self, path: str, matched: bool, status: int, seconds: float) -> None:
        """Count one request.

        Parameters
        ----------
        matched : whether there is a route of that path.
        status : what was answered; 0 when the caller left before that, which counts as the caller's mistake.
        """
        kind = "2xx" if 200 <= status < 400 else "5xx" if status >= 500 else "4xx"
        path = _DROP_IN.get(path, path)
        route = path if path in ROUTES else OTHER if matched or kind != "4xx" else UNMATCHED
        self.request_seconds.labels(route, kind).observe(seconds)


def _each(values: Iterable[str]) -> list[tuple[str]]:
    return [(value,) for value in values]

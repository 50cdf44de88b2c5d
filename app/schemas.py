"""Bodies of requests and answers. Decoding is strict: no coercion, finite numbers, unknown fields refused."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from msgspec import UNSET, Meta, UnsetType

from app.names import MAX_NAME_BYTES
from app.store.base import Ack

Share = Annotated[float, Meta(ge=0, le=1)]
Count = Annotated[int, Meta(ge=1)]
EntitySource = Literal["request", "query", "nearest", "none"]
ExpansionChoice = Literal["auto", "none", "entity_gated", "adaptive"]


Embedding = np.ndarray
"""A list of numbers in JSON; `app.decoding.custom` makes float64 of it, shape (d,)."""

AUTO = "auto"
"""The variant, or expansion, that the policy chooses."""
DEFAULT_COLLECTION = "default"
DEFAULT_K = 20

MAX_OPINIONS = 64
MAX_ATTRIBUTES = 16
"""Of a stored document. Its opinions are counted once for each attribute, all in one write."""


class Strict(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A request's body, or a part of it. No part refers to a whole, so the garbage collector has nothing to find."""


class Answer(msgspec.Struct, gc=False):
    """An answer's body, or a part of it."""


class OpinionInput(Strict):
    """An opinion: its bin as exactly one of `si` (a position of the scale), `sentiment` or `stars`."""

    entity: str
    si: float | None = None
    sentiment: Literal["positive", "negative", "neutral", "mixed"] | None = None
    intensity: Literal["low", "medium", "high"] | None = None
    stars: float | None = None
    confidence: Share | None = None
    evidence: str | None = None
    evidence_type: str | None = None
    impact: float | None = None
    markers: tuple[str, ...] = ()


class CandidateInput(Strict):
    """A candidate. What it does not tell of its opinions is looked up by its id."""

    id: Annotated[str, Meta(min_length=1, max_length=MAX_NAME_BYTES)] | None = None
    score: float | None = None
    text: str | None = None
    embedding: Embedding | None = None
    opinions: list[OpinionInput] | None = None
    si: float | None = None
    tokens: Annotated[int, Meta(ge=0)] | None = None
    attributes: dict[str, str] | None = None
    metadata: dict[str, Any] | None = None


class TargetInput(Strict):
    """The target: weights over the scale's positions, or where it comes from.

    `auto` is the target that was given for the entity (`external`), else the population's (`corpus`). Of the population
    a `window` takes the opinions of the last days, a `half_life` lets older ones weigh less, a `group` takes those of
    authors who share an attribute.
    """

    distribution: dict[str, float] | None = None
    source: Literal["auto", "corpus", "external", "uniform"] = "auto"
    window: str | None = None
    half_life: str | None = None
    group: dict[str, str] | None = None


class Ask(Strict, kw_only=True):
    """What `/rerank` and `/search` share."""

    query: str | None = None
    entity: str | None = None
    collection: str = DEFAULT_COLLECTION
    k: Count = DEFAULT_K
    variant: str = AUTO
    expansion: ExpansionChoice = "auto"
    target: TargetInput | None = None
    scope: Literal["pool", "entity"] | None = None
    relevance_weight: Share | None = None
    rel_norm: Literal["none", "minmax", "rank"] | None = None
    fill: bool = False
    token_budget: Annotated[int, Meta(ge=0)] | None = None
    adaptive_k: bool | Annotated[float, Meta(ge=0)] = False
    redundancy_weight: Share = 0.0
    seed: Annotated[int, Meta(ge=0)] = 0
    explain: bool = False


class RerankRequest(Ask, kw_only=True):
    """POST /rerank. `tail`: what the caller's ranking has beyond the candidates, in the same shape and scored alike;
    expansion then takes from it what the candidates lack, and from nowhere else.
    """

    candidates: list[CandidateInput | str]
    tail: list[CandidateInput | str] | None = None
    score_kind: Literal["similarity", "distance"] = "similarity"


class SearchRequest(Ask, kw_only=True):
    """POST /search. The pool is the 200 nearest documents, or fewer where the service allows fewer."""

    query: str
    pool_size: Count | None = None


class Result(Answer):
    """A chosen document. `index` is its position in the request (for /search: in the retrieved pool), null for one that
    expansion found.
    """

    id: str | None
    index: int | None
    rank: int
    score: float | None
    si: float | None
    entity_match: bool
    origin: Literal["pool", "expansion"]
    w1_after: float | None
    text: str | UnsetType = UNSET
    metadata: dict[str, Any] | UnsetType = UNSET
    attributes: dict[str, str] | UnsetType = UNSET
    w1_gain: float | UnsetType | None = UNSET


class Decision(Answer):
    """What was done, and why."""

    entity: str | None
    entity_source: EntitySource
    variant: str
    expansion: str
    em_top_k: float
    em_pool: float
    em_attainable: float
    deficit: list[float]
    added: int
    reason: str


class TargetOutput(Answer):
    """The target that was aimed at, and the rule that made it."""

    distribution: Mapping[str, float]
    rule: str
    n: int
    alpha: float


class Quality(Answer):
    """W1 in scale units; null where a list holds no known opinion."""

    w1: float | None
    w1_matched: float | None
    w1_best: float | None
    w1_top_k: float | None
    w1_pool: float | None
    em: float
    selected: int
    requested: int
    tokens: int | None


class Distributions(Answer):
    """Shares over the scale's positions."""

    pool: Mapping[str, float]
    top_k: Mapping[str, float]
    selection: Mapping[str, float]


class RerankResponse(Answer):
    """The answer to `/rerank` and `/search`."""

    results: list[Result]
    decision: Decision
    target: TargetOutput
    quality: Quality
    timings_ms: Mapping[str, float]
    degraded: bool
    warnings: list[str]
    distributions: Distributions | UnsetType = UNSET


class DocumentInput(Strict):
    """A document to store."""

    id: str
    text: str = ""
    embedding: list[float] | None = None
    opinions: Annotated[list[OpinionInput], Meta(max_length=MAX_OPINIONS)] = []
    si: float | None = None
    attributes: Annotated[dict[str, str], Meta(max_length=MAX_ATTRIBUTES)] = {}
    metadata: dict[str, Any] = {}
    timestamp: str | None = None
    version: int | str | None = None
    excluded: bool = False


class IngestRequest(Strict):
    """POST /ingest as JSON. Documents are checked one by one, so that a bad one does not fail the others."""

    documents: list[msgspec.Raw]
    collection: str | None = None


class FailedDocument(Answer):
    """A document that was not stored, where it stood, and what is wrong with it."""

    index: int
    id: str | None
    pointer: str
    detail: str


class IngestResponse(Answer):
    """What became of the documents. Of the failed ones a thousand are named, and `failed_more` tells how many
    others there are. `ack` tells where the stored ones are: on the disk (`local`), with a second server
    too (`replica`), or with the server only (`memory`).
    """

    created: int
    updated: int
    unchanged: int
    stale: int
    failed: list[FailedDocument]
    failed_more: int
    entities: int
    ack: Ack


class DeleteResponse(Answer):
    """DELETE of a document, or of an entity's target."""

    deleted: bool


class DocumentOutput(Answer):
    """GET /documents/{id}."""

    id: str
    version: int
    text: str
    opinions: list[Mapping[str, Any]]
    si: float | None
    attributes: Mapping[str, str]
    metadata: Mapping[str, Any]
    timestamp: str | None
    excluded: bool


class EntitySummary(Answer):
    """An entity and how many opinions there are on it."""

    entity: str
    n: int


class EntityPage(Answer):
    """GET /entities."""

    entities: list[EntitySummary]
    next: str | None


class RecentDrift(Answer):
    """How far the opinions of the last days are from those of all time, in W1."""

    window: str
    n: int
    w1: float


class EntityOutput(Answer):
    """GET /entities/{entity}."""

    entity: str
    n: int
    counts: Mapping[str, int]
    target: TargetOutput
    aliases: list[str]
    drift: RecentDrift | UnsetType = UNSET


class ExternalTargetInput(Strict):
    """PUT /entities/{entity}/target: weights over the scale's positions."""

    distribution: dict[str, float]


class CollectionList(Answer):
    """GET /collections."""

    collections: list[str]


class Health(Answer):
    """GET /livez and /readyz."""

    status: Literal["ok", "unavailable"]
    checks: Mapping[str, str]

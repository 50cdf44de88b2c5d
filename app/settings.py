"""Every knob, with its default, unit and meaning. The only place that touches the environment."""

import json
import os
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from app.keys import hashed_entries
from app.store.base import Ack


class Settings(BaseSettings):
    """Each is a `WARP_` variable: `WARP_PORT=9000`."""

    model_config = SettingsConfigDict(env_prefix="WARP_", frozen=True, hide_input_in_errors=True)

    host: str = Field(default="127.0.0.1", description="address to listen on")
    port: int = Field(default=8765, ge=0, le=65535, description="port to listen on")
    workers: int = Field(default=1, ge=1, le=256, description="server processes")
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="least severe line to log"
    )
    log_format: Literal["text", "json"] = Field(default="text", description="how a line of the log is written")
    access_log: bool = Field(default=False, description="log a line for each request, at level info")
    api_keys: tuple[str, ...] = Field(
        default=(),
        description='bearer keys, as a JSON list: ["KEY", "read+ingest:sha256:DIGEST"]; none: no authentication',
    )
    insecure: bool = Field(default=False, description="listen on a public address although there are no keys")
    cors_origins: tuple[str, ...] = Field(
        default=(),
        description='sites whose pages may call, as a JSON list: ["https://example.org"]; "*": all',
    )

    data_dir: Path = Field(default=Path(".warp"), description="where the embedded store and the index are kept")
    store: str | None = Field(
        default=None,
        description="sqlite:///FILE or redis[s][+cluster|+sentinel]://...; left out: warp.db in the data directory",
    )
    store_prefix: str = Field(default="warp", min_length=1, description="of all keys in a store that others share")
    store_partitions: int | None = Field(
        default=None,
        ge=1,
        le=1024,
        description="hashes of a collection on a Redis server, fixed at first use; left out: 16, or as they are",
    )
    ack: Ack | None = Field(
        default=None,
        description="where a document is once it is answered for: local (on the disk), replica (on a second server), "
        "memory; left out: what the store's own settings give",
    )
    encoder: str | None = Field(
        default=None,
        description="sentence-transformers name or path, onnx:FOLDER, or wordllama; left out: callers bring embeddings",
    )
    encoder_threads: int = Field(default=1, ge=1, le=256, description="threads of the encoder")
    poll_interval_ms: int = Field(default=200, ge=10, description="how often the store is asked for changes, in ms")
    index: str = Field(
        default="local",
        description="where vectors are searched: local, or what holds them already: qdrant://HOST:PORT/PREFIX",
    )
    approximate_from: int = Field(
        default=100_000, ge=1, description="from so many documents on, /search looks only where it is likely to find"
    )
    snapshot_changes: int = Field(default=10_000, ge=1, description="the index is saved after so many changes")
    snapshot_interval_s: float = Field(default=300.0, gt=0, description="or after this time, if there was one, in s")

    metrics_dir: Path | None = Field(
        default=None, description="where workers add up their metrics; left out: a temporary folder of each `serve`"
    )

    max_body_bytes: int = Field(default=16 * 2**20, ge=1024, description="largest body (or NDJSON line), in bytes")
    max_candidates: int = Field(default=2000, ge=1, le=30_000, description="most candidates in a request")
    max_k: int = Field(default=500, ge=1, description="largest k")
    max_inflight: int = Field(default=16, ge=1, description="requests that are worked on at once, in each process")
    max_queued: int = Field(
        default=64, ge=0, description="requests that may wait for their turn; more are refused, 429"
    )
    max_queue_ms: int = Field(
        default=150,
        ge=1,
        description="a request that would wait longer is refused too, in ms; a sixth of that while an overload lasts",
    )
    max_inflight_bytes: int = Field(
        default=64 * 2**20, ge=1024, description="of all bodies that are held at once, in each process"
    )
    keep_alive_ms: int = Field(
        default=75_000,
        ge=1,
        description="an idle connection is closed after that, in ms; longer than a balancer keeps its own",
    )
    request_timeout_ms: int = Field(
        default=10_000, ge=1, description="a re-ranking that takes longer is given up, 504, in ms"
    )
    lookup_timeout_ms: int = Field(
        default=200,
        ge=1,
        description="a re-ranking does not wait longer for the store; it goes by what is known, in ms",
    )
    receive_timeout_ms: int = Field(
        default=5_000, ge=1, description="how long a request may take to arrive; large bodies get more, in ms"
    )
    drain_ms: int = Field(
        default=500, ge=0, description="after SIGTERM, how long it listens on while it is not ready any more, in ms"
    )
    sla_ms: float = Field(default=310.0, gt=0, description="a slower re-ranking counts as a breach, in ms")

    dense_em: float = Field(default=0.85, ge=0, le=1, description="from this attainable EM on, a pool is dense")
    dense_variant: str = Field(default="w1_minimizer", description="the selector for dense pools")
    sparse_variant: str = Field(default="w1_mmr", description="the selector for sparse pools")
    short_pool_expansion: Literal["none", "entity_gated", "adaptive"] = Field(
        default="entity_gated", description="what is done when a pool is not dense, or lacks opinions"
    )
    deficit_ratio: float = Field(
        default=0.5, ge=0, le=1, description="delta: a bin below this part of its share of the target is short"
    )
    nearest_entity: float = Field(
        default=0.45, ge=0, le=1, description="least similarity of a question to the entity it does not name; 1: never"
    )

    @field_validator("api_keys")
    @classmethod
    def _without_keys(cls, entries: tuple[str, ...]) -> tuple[str, ...]:
        return hashed_entries(entries)

    judge_url: str | None = Field(
        default=None, description="OpenAI-compatible base URL of the judges: http://localhost:8080/v1"
    )
    judge_key: SecretStr | None = Field(default=None, description="bearer key of that endpoint")
    judge_models: tuple[str, ...] = Field(default=(), description='the judges, as a JSON list: ["model"]')
    judge_parameters: dict[str, Any] = Field(
        default={"temperature": 0, "max_tokens": 512},
        description="fields of each judge's request beside model and messages, as a JSON object",
    )
    judge_timeout_s: float = Field(default=120, gt=0, description="for one attempt of a call to a model, in s")
    judge_concurrency: int = Field(default=8, ge=1, le=256, description="most calls to a model at once")
    answer_url: str | None = Field(default=None, description="endpoint that writes answers; left out: the judges'")
    answer_key: SecretStr | None = Field(default=None, description="bearer key of that endpoint")
    answer_model: str | None = Field(default=None, description="writes the answers; left out: the first judge")
    answer_parameters: dict[str, Any] = Field(
        default={"temperature": 0, "max_tokens": 1024}, description="the same of each request for an answer"
    )

    def export(self) -> None:
        """Set the environment so that processes started from here get these settings."""
        for name in self.model_fields_set:
            value = getattr(self, name)
            if value is not None and not isinstance(value, SecretStr):  # those came from the environment
                as_json = isinstance(value, tuple | dict)
                os.environ[f"WARP_{name.upper()}"] = json.dumps(value) if as_json else str(value)

    @property
    def store_url(self) -> str:
        """The store's URL: as set, or the embedded one in the data directory."""
        return self.store or f"sqlite:///{self.data_dir / 'warp.db'}"


def keep_children_on_one_thread() -> None:
    """Let linear algebra in processes started from here use one thread each, unless the environment says otherwise."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")

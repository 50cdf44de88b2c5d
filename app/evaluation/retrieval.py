"""The corpus in the service: ingested, searched, and asked for the methods that search themselves.

Everything here goes through the service's own use cases, so that what is measured is what callers get.
"""

import tempfile
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import numpy as np

from app import reranking
from app.encoder import Encoder
from app.evaluation.cases import Asked
from app.evaluation.corpus import Corpus, Labels
from app.evaluation.methods import Methods
from app.evaluation.questions import Question
from app.ingestion import Ingestion
from app.metrics import Metrics
from app.resources import Resources, open_resources
from app.schemas import SearchRequest
from app.settings import Settings
from app.store.base import CollectionSettings, PoleQueries, Vector
from warp_core import InvalidInputError
from warp_core.distributions import FloatArray, IntArray


@dataclass(frozen=True)
class Retrieved:
    """The pool of one question, best first: documents by number, shape (n,), and their scores, shape (n,)."""

    documents: IntArray
    relevance: FloatArray
    asked: Sequence[Asked]


@asynccontextmanager
async def service(settings: Settings, encoder: Encoder, largest: int) -> AsyncIterator[Resources]:
    """A service of our own over an empty store that goes away with it; `largest` is the pool it has to allow."""
    with tempfile.TemporaryDirectory(prefix="warp-evaluation-") as folder:
        own = settings.model_copy(
            update={
                "data_dir": Path(folder),
                "store": None,
                "index": "local",
                "encoder": None,
                "max_candidates": max(largest, settings.max_candidates),
                "max_k": max(largest, settings.max_k),
            }
        )
        async with open_resources(own, Metrics()) as resources:
            yield replace(resources, encoder=encoder)


async def load(
    resources: Resources,
    collection: str,
    corpus: Corpus,
    labels: Labels,
    vectors: Vector,
    poles: PoleQueries,
    advance: Callable[[], object],
) -> None:
    """Ingest a corpus with one of its labellings; `advance` is called after each document.

    Raises
    ------
    InvalidInputError : a document is refused.
    """
    scale = labels.scale
    await resources.store.put_settings(collection, CollectionSettings(scale.positions, scale.stars, poles))
    held: list[list[dict[str, object]]] = [[] for _ in corpus.ids]
    for entity, opinions in labels.opinions.items():
        for number, b in opinions.items():
            held[number].append({"entity": entity, "si": scale.positions[b]})
    ingestion = Ingestion(resources.store, None, collection)
    for number, name in enumerate(corpus.ids):
        whole = int(labels.documents[number])
        document = {
            "id": name,
            "text": corpus.texts[number],
            "embedding": vectors[number].tolist(),
            "opinions": held[number],
            "si": None if whole < 0 else scale.positions[whole],
        }
        await ingestion.add(msgspec.json.encode(document))
        advance()
    report = await ingestion.finish()
    for failed in report.failed:
        raise InvalidInputError("corpus", f"document {failed.id}: {failed.pointer}: {failed.detail}")
    await resources.follower.catch_up()


async def retrieve(
    resources: Resources,
    collection: str,
    numbers: Mapping[str, int],
    question: Question,
    methods: Methods,
    ks: Sequence[int],
    sizes: Sequence[int],
    seed: int,
) -> Retrieved:
    """The largest pool of a question, and what the piped methods choose at each k and at each pool size.

    Parameters
    ----------
    numbers : document id -> number.
    """
    k, n = max(ks), max(sizes)
    plain = SearchRequest(query=question.text, entity=question.entity, collection=collection, k=n, pool_size=n)
    pool = await reranking.search(msgspec.structs.replace(plain, variant="top_k", expansion="none"), resources)
    asked = []
    for method in methods.piped:
        for length, size in dict.fromkeys([*((one, n) for one in ks), *((k, one) for one in sizes)]):
            request = msgspec.structs.replace(
                plain, variant=method.variant, expansion=method.expansion, k=length, pool_size=size, seed=seed
            )
            answer = await reranking.search(request, resources)
            chosen = [numbers[result.id] for result in answer.results if result.id is not None]
            milliseconds = sum(answer.timings_ms.get(stage, 0.0) for stage in ("expansion", "rerank"))
            asked.append(Asked(method.name, length, size, chosen, milliseconds / 1000))
    found = [(numbers[one.id], one.score) for one in pool.results if one.id is not None and one.score is not None]
    return Retrieved(
        np.array([number for number, _ in found], np.intp), np.array([score for _, score in found], np.float64), asked
    )

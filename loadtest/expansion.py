"""What expansion does for W1 and EM on a corpus of labelled reviews, asked through the service's own `search`.

    python loadtest/expansion.py reviews.jsonl.gz --document-entity overall    # one of the entities rates the whole
    python loadtest/expansion.py reviews.jsonl.gz                              # each document is about one entity

A line of the corpus is `{"id", "text", "opinions": [{"entity", "stars" | "value"}]}`, `value` in -1 .. 1. Each question
is asked three ways: as the service decides with expansion `none`, `entity_gated` and `adaptive`, and as `auto`. W1 is
the mean over the questions, in scale units; its reduction is against plain top-k of the same pool.
"""

import argparse
import asyncio
import gzip
import json
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np

from app.ingestion import Ingestion
from app.metrics import Metrics
from app.reranking import search
from app.resources import Resources, open_resources
from app.schemas import RerankResponse, SearchRequest
from app.settings import Settings
from warp_core import SENTIMENT_INTENSITY

QUESTIONS = (
    "What do people think about {entity}?",
    "What are the biggest complaints about {entity}?",
    "What positive experiences have people had with {entity}?",
)
MIN_OPINIONS, MIN_ENTROPY, MIN_MINORITY = 100, 0.6, 0.1
"""Which entities are asked about: many opinions that differ (WARP, appendix A.2)."""
CHOICES = ("none", "entity_gated", "adaptive", "auto")


def si_of(opinion: dict[str, Any]) -> float:
    """The position of a label on the default scale."""
    if "stars" in opinion:
        return SENTIMENT_INTENSITY.positions[SENTIMENT_INTENSITY.bin_of_stars(opinion["stars"])]
    return SENTIMENT_INTENSITY.positions[SENTIMENT_INTENSITY.nearest_bin(30 * opinion["value"])]


def documents(path: Path, document_entity: str | None) -> Iterator[dict[str, Any]]:
    """The corpus as `/ingest` takes it; a sole opinion, or that on `document_entity`, is the whole document's too."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as lines:
        for line in lines:
            one = json.loads(line)
            opinions = {opinion["entity"]: si_of(opinion) for opinion in one["opinions"]}
            whole = opinions.pop(document_entity, None) if document_entity else next(iter(opinions.values()), None)
            listed = [{"entity": entity, "si": si} for entity, si in opinions.items()]
            document = {"id": one["id"], "text": one["text"], "opinions": listed}
            yield document if whole is None else {**document, "si": whole}


def entities_of(corpus: list[dict[str, Any]], most: int) -> list[str]:
    """The entities with the most different opinions, by entropy."""
    labels: dict[str, list[float]] = defaultdict(list)
    for document in corpus:
        for opinion in document["opinions"]:
            labels[opinion["entity"]].append(opinion["si"])
    entropy = {}
    for entity, positions in labels.items():
        shares = np.array(list(Counter(positions).values())) / len(positions)
        sides = [sum(si < 0 for si in positions), sum(si > 0 for si in positions)]
        if len(positions) >= MIN_OPINIONS and min(sides) >= MIN_MINORITY * sum(sides):
            entropy[entity] = float(-(shares * np.log(shares)).sum())
    disputed = sorted((name for name, bits in entropy.items() if bits >= MIN_ENTROPY), key=lambda name: -entropy[name])
    return disputed[:most]


async def ask(resources: Resources, entities: list[str], **fields: Any) -> list[RerankResponse]:
    """The answers to all questions about all entities."""
    return [
        await search(SearchRequest(query=question.format(entity=entity), entity=entity, **fields), resources)
        for entity in entities
        for question in QUESTIONS
    ]


def row(name: str, answers: list[RerankResponse]) -> str:
    """One line of the table."""
    top_k = mean(answer.quality.w1_top_k or 0 for answer in answers)
    w1 = mean(answer.quality.w1 or 0 for answer in answers)
    matched = [answer.quality.w1_matched for answer in answers if answer.quality.w1_matched is not None]
    return (
        f"{name:14} {w1:6.2f} {w1 / top_k - 1:+7.1%} {mean(matched) if matched else float('nan'):8.2f} "
        f"{mean(answer.quality.em for answer in answers):5.2f} "
        f"{min(answer.quality.em for answer in answers):7.2f} {mean(answer.decision.added for answer in answers):6.1f} "
        f"{median(answer.timings_ms['expansion'] for answer in answers):9.2f}"
    )


async def run(arguments: argparse.Namespace) -> None:
    """Ingest, ask, print."""
    corpus = list(documents(arguments.corpus, arguments.document_entity))
    entities = entities_of(corpus, arguments.entities)
    with tempfile.TemporaryDirectory() as directory:
        settings = Settings(data_dir=Path(directory), encoder=arguments.encoder)
        async with open_resources(settings, Metrics()) as resources:
            ingestion = Ingestion(resources.store, resources.encoder, "default")
            for document in corpus:
                await ingestion.add(json.dumps(document).encode())
            report = await ingestion.finish()
            await resources.follower.catch_up()
            print(f"{report.created} documents, {len(entities)} entities, {len(QUESTIONS)} questions each")
            size = {"k": arguments.k, "pool_size": arguments.pool_size}
            asked = {name: await ask(resources, entities, expansion=name, **size) for name in CHOICES}
    plain = asked["none"]
    top_k = mean(answer.quality.w1_top_k or 0 for answer in plain)
    numbers = [[getattr(a.decision, f"em_{name}") for a in plain] for name in ("top_k", "pool", "attainable")]
    ems = " / ".join(f"{mean(column):.2f}" for column in numbers)
    print(f"top-k: W1 {top_k:.2f}; EM of top-k / of the pool / attainable: {ems}")
    print(f"{'expansion':14} {'W1':>6} {'':7} {'matched':>8} {'EM':>5} {'least':>7} {'added':>6} {'median ms':>9}")
    for name, answers in asked.items():
        print(row(name, answers))
    print(dict(Counter((a.decision.variant, a.decision.expansion) for a in asked["auto"])))


def main() -> None:
    """Parse and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--document-entity", help="the entity whose label is the document-level opinion")
    parser.add_argument("--entities", type=int, default=20, help="how many are asked about, the most disputed first")
    parser.add_argument("--encoder", default="wordllama")
    parser.add_argument("--k", type=int, default=20)
    parser.add_argument("--pool-size", type=int, default=200)
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()

"""Encoder backends side by side: one query, documents, and many queries at once; ratios from one run.

    warp-rerank export-encoder sentence-transformers/all-MiniLM-L6-v2 minilm
    python loadtest/encoder.py sentence-transformers/all-MiniLM-L6-v2 onnx:minilm wordllama

The texts are reviews of the demo corpus. Times are processor time on one thread, so that other work on the machine does
not count; medians of several runs. Cosines are between the first encoder's vectors and the others', over all texts.
"""

import argparse
import asyncio
import json
import statistics
import time
from collections.abc import Awaitable, Callable

import numpy as np

from app import demo
from app.encoder import Encoder, batches, open_encoder

DOCUMENTS, QUERIES, RUNS = 64, 64, 5


async def median_ms(run: Callable[[int], Awaitable[object]], times: int = RUNS) -> float:
    """Median processor time of a call, which is told how many there were before it."""
    await run(-1)
    taken = []
    for i in range(times):
        begin = time.process_time()
        await run(i)
        taken.append(time.process_time() - begin)
    return statistics.median(taken) * 1000


async def figures(encoder: Encoder, texts: list[str]) -> dict[str, float]:
    """Milliseconds a text, by how it is asked for; no query is asked twice, since the second is known."""
    asked = [f"What do people think about {' '.join(text.split()[:3])}?" for text in texts]

    async def one(i: int) -> object:
        return await encoder.encode_queries([f"{asked[i % len(asked)]} {i}"])

    async def many(i: int) -> object:
        return await asyncio.gather(*(encoder.encode_queries([f"{query} {i} at once"]) for query in asked[:QUERIES]))

    async def one_by_one(i: int) -> object:
        return [await encoder.encode_queries([f"{query} {i} alone"]) for query in asked[:QUERIES]]

    async def documents(_: int) -> object:
        return await encoder.encode(texts[:DOCUMENTS])

    return {
        "query alone": await median_ms(one, 30),
        "64 queries, one by one": await median_ms(one_by_one) / QUERIES,
        "64 queries at once": await median_ms(many) / QUERIES,
        "document": await median_ms(documents) / DOCUMENTS,
    }


async def run(names: list[str]) -> None:
    """Open each, measure, print."""
    texts = [json.loads(document)["text"] for document, _ in zip(demo.documents(), range(DOCUMENTS), strict=False)]
    rows, vectors = {}, {}
    for name in names:
        encoder = open_encoder(name, 1)
        assert encoder is not None
        rows[name] = await figures(encoder, texts)
        vectors[name] = await encoder.encode(texts)
        if name == names[0]:
            pinned = encoder.space
        print(f"{name}: {encoder.dimension} numbers; the same model as the first: {encoder.made(pinned)}")
        encoder.close()
    print(f"\nms of processor time a text, and how many times less than the first; {batches.QUERIES} queries and")
    print(f"{batches.DOCUMENTS} documents are encoded together\n")
    titles = list(rows[names[0]])
    print(f"{'':16}" + "".join(f"{title:>26}" for title in titles) + f"{'least cosine':>16}")
    for name in names:
        cells = "".join(f"{f'{rows[name][t]:.2f} ({rows[names[0]][t] / rows[name][t]:.1f}x)':>26}" for t in titles)
        same_shape = vectors[name].shape == vectors[names[0]].shape
        cosine = f"{np.sum(vectors[name] * vectors[names[0]], axis=1).min():.6f}" if same_shape else "-"
        print(f"{name[-16:]:16}{cells}{cosine:>16}")


def main() -> None:
    """Parse and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("encoders", nargs="+", help="as WARP_ENCODER has them; the first is what the others go by")
    asyncio.run(run(parser.parse_args().encoders))


if __name__ == "__main__":
    main()

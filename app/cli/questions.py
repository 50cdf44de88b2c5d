"""`rerank` and `search`."""

import asyncio
import sys
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console

from app import reranking
from app.cli.comparison import show
from app.cli.options import AsJson, Collection, DataDir, EncoderName, StoreUrl, settings_with
from app.decoding import BodyDecoder
from app.metrics import Metrics
from app.resources import open_resources
from app.schemas import RerankRequest, RerankResponse, SearchRequest
from app.settings import Settings


def rerank(
    file: Annotated[Path, typer.Argument(help="A body for POST /rerank; - is standard input.", allow_dash=True)],
    as_json: AsJson = False,
    data_dir: DataDir = None,
    store: StoreUrl = None,
    encoder: EncoderName = None,
) -> None:
    """Re-rank the candidates of a request.

    Example: warp-rerank rerank request.json
    """
    body = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
    request = BodyDecoder(RerankRequest).decode(body)
    request.explain = True
    _answer(request, settings_with(data_dir=data_dir, store=store, encoder=encoder), as_json)


def search(
    query: Annotated[str, typer.Argument(help="The question.")],
    collection: Collection = "default",
    entity: Annotated[str | None, typer.Option(help="The entity; left out, the one that the question names.")] = None,
    k: Annotated[int, typer.Option(min=1, help="How many documents.")] = 20,
    variant: Annotated[str, typer.Option(help="auto, or a selector.")] = "auto",
    as_json: AsJson = False,
    data_dir: DataDir = None,
    store: StoreUrl = None,
    encoder: EncoderName = None,
) -> None:
    """Answer a question from the documents kept here.

    Example: warp-rerank search "What do patients think about acne?" --collection drugs --encoder wordllama
    """
    request = SearchRequest(query=query, entity=entity, collection=collection, k=k, variant=variant, explain=True)
    _answer(request, settings_with(data_dir=data_dir, store=store, encoder=encoder), as_json)


def _answer(request: RerankRequest | SearchRequest, settings: Settings, as_json: bool) -> None:
    async def run() -> RerankResponse:
        async with open_resources(settings, Metrics()) as resources:
            if isinstance(request, SearchRequest):
                return await reranking.search(request, resources)
            return await reranking.rerank(request, resources)

    answer = asyncio.run(run())
    if as_json:
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(answer)).decode() + "\n")
    else:
        show(answer, Console())

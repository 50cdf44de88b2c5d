"""`serve` and `settings`."""

import asyncio
import contextlib
import re
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
import uvicorn
from rich.console import Console
from rich.table import Table
from uvicorn.config import STARTUP_FAILURE

from app import demo as demo_corpus
from app.cli.documents import load
from app.cli.options import DataDir, EncoderName, StoreUrl, settings_with
from app.encoder import open_encoder
from app.logs import log_config
from app.policy import policy_of
from app.resources import store_of
from app.security import check_exposure
from app.server import GuardedProtocol
from app.settings import Settings
from app.supervisor import Server, Supervisor
from warp_core import InvalidInputError

WORKER_SILENT_S = 60
"""How long a worker may be silent, above all before it has started, until another takes its place."""
GRACE_S = 2
"""Beyond the longest that a request may take, before what is still under way at the end is given up."""

_QUESTION = """curl -s {url}/search -H 'content-type: application/json' \\
  -d '{{"collection": "drugs", "query": "What do patients think about birth control?", "k": 10}}'"""

_PASSWORD = re.compile(r"(?<=://).*@")
"""User and password in a URL."""


def serve(
    demo: Annotated[bool, typer.Option("--demo", help="Load about a thousand public drug reviews first.")] = False,
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on.")] = None,
    workers: Annotated[int | None, typer.Option(help="Server processes.")] = None,
    insecure: Annotated[bool | None, typer.Option("--insecure", help="Listen publicly without keys.")] = None,
    data_dir: DataDir = None,
    store: StoreUrl = None,
    encoder: EncoderName = None,
) -> None:
    """Start the service.

    Example: warp-rerank serve --demo
    """
    messages = Console(stderr=True)
    given: dict[str, Any] = {"host": host, "port": port, "workers": workers, "insecure": insecure}
    settings = settings_with(**given, data_dir=data_dir, store=store, encoder=encoder)
    if demo and settings.encoder is None:
        settings = settings_with(**given, data_dir=data_dir, store=store, encoder=demo_corpus.ENCODER)
    asyncio.run(_check(settings))
    url = f"http://{settings.host}:{settings.port}"
    if demo:
        asyncio.run(_load_demo(settings, messages))
        hint = f"Open {url}/ and pick an entity, or ask:\n{_QUESTION.format(url=url)}"
        messages.print(hint, highlight=False, soft_wrap=True)
    settings.export()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # uvicorn raises it again when all is answered
    with _metrics_folder(settings):
        sys.exit(_serve(settings))


def _serve(settings: Settings) -> int:
    """Serve until told to end; the exit code."""
    config = uvicorn.Config(
        "app.main:create_app",
        factory=True,
        http=GuardedProtocol,
        loop="app.event_loop:ServiceLoop",
        timeout_keep_alive=settings.keep_alive_ms / 1000,  # type: ignore[arg-type] # no need to be whole
        timeout_worker_healthcheck=WORKER_SILENT_S,
        timeout_graceful_shutdown=-(-settings.request_timeout_ms // 1000) + GRACE_S,
        host=settings.host,
        port=settings.port,
        workers=settings.workers,
        log_config=log_config(settings),
        log_level=settings.log_level,
        access_log=False,
    )
    if settings.workers == 1:
        server = Server(config)
        with contextlib.suppress(KeyboardInterrupt):
            server.run()
        return 0 if server.started else STARTUP_FAILURE
    supervisor = Supervisor(config, [config.bind_socket()], settings.drain_ms / 1000)
    supervisor.run()
    return STARTUP_FAILURE if supervisor.failed else 0


@contextlib.contextmanager
def _metrics_folder(settings: Settings) -> Iterator[None]:
    """Give the workers of this service a folder of their own, when there are several and no folder is set."""
    if settings.workers == 1 or settings.metrics_dir:
        yield
        return
    try:
        folder = tempfile.TemporaryDirectory(prefix="warp-metrics-")
    except OSError as error:
        raise InvalidInputError("metrics_dir", f"is needed, since no temporary folder can be made: {error}") from error
    with folder:
        Settings(metrics_dir=Path(folder.name)).export()
        yield


async def _check(settings: Settings) -> None:
    """Find out here, not in a worker, what would keep the service from starting."""
    check_exposure(settings)
    policy_of(settings)
    await store_of(settings).close()


async def _load_demo(settings: Settings, messages: Console) -> None:
    """Load the demo corpus, unless it is there: what was changed since stays."""
    store = store_of(settings)
    try:
        if await store.settings(demo_corpus.COLLECTION) != demo_corpus.SETTINGS:
            encoder = open_encoder(settings.encoder, settings.encoder_threads)
            await load(store, encoder, demo_corpus.COLLECTION, list(demo_corpus.documents()), messages)
            if encoder:
                encoder.close()
            await store.put_settings(demo_corpus.COLLECTION, demo_corpus.SETTINGS)  # the mark of a whole corpus
    finally:
        await store.close()


def settings() -> None:
    """Show every setting: its variable, its value and its meaning.

    Example: WARP_PORT=9000 warp-rerank settings
    """
    table = Table("variable", "value", "meaning", box=None, pad_edge=False)
    present = settings_with()
    for name, field in Settings.model_fields.items():
        value = getattr(present, name)
        shown = f"{len(value)} set" if name == "api_keys" else "" if value is None else _PASSWORD.sub("", str(value))
        table.add_row(f"WARP_{name.upper()}", shown, field.description)
    Console().print(table, highlight=False)

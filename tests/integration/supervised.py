"""A service of several workers that starts as its environment says: `python -m tests.integration.supervised`.

SLOW: the workers never get to serve. FAILS: they cannot start. ENDLESS: they do not end by themselves.
"""

import asyncio
import os
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn
from fastapi import FastAPI

from app.supervisor import Supervisor

WORKERS = 2


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    if "FAILS" in os.environ:
        raise RuntimeError("cannot start")
    if "SLOW" in os.environ:
        await asyncio.sleep(3600)
    yield
    if "ENDLESS" in os.environ:
        await asyncio.sleep(3600)


app = FastAPI(lifespan=lifespan)


@app.get("/pid")
async def pid() -> int:
    return os.getpid()


def main() -> int:
    sockets = [socket.socket(fileno=int(os.environ["LISTENING"]))]
    silent_s, graceful_s = (int(os.environ[name]) for name in ("SILENT_S", "GRACEFUL_S"))
    config = uvicorn.Config(
        "tests.integration.supervised:app",
        workers=WORKERS,
        timeout_worker_healthcheck=silent_s,
        timeout_graceful_shutdown=graceful_s,
    )
    supervisor = Supervisor(config, sockets, drain_s=0)
    supervisor.run()
    return 3 if supervisor.failed else 0


if __name__ == "__main__":
    sys.exit(main())

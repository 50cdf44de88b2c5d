"""R20, the store's part: a server that may lose counts is refused or warned of; few rights do; nothing leaks."""

import logging
import traceback
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import redis

from app.errors import StoreUnavailableError
from app.store import open_store
from app.store.base import CollectionSettings, ExternalTarget
from loadtest.reliability.content import BINS, COLLECTION, DOCUMENTS, ENTITIES, FACETS, NUMBER_OF, SPACE, change_of
from loadtest.reliability.places import Place, place
from loadtest.reliability.result import Result
from loadtest.reliability.torture import PREFIX

PARTITIONS = 16
EVICTING = ("allkeys-lru", "allkeys-lfu", "allkeys-random")
KEEPING = ("noeviction", "volatile-lru", "volatile-lfu", "volatile-random", "volatile-ttl")
USER, SECRET = "warp", "correct-horse"
RIGHTS = (
    f"~{PREFIX}:* +hget +hmget +hset +hsetnx +hdel +hkeys +hscan +hgetall +evalsha +script|load"
    " +info +wait +cluster|slots +command +asking"
)
"""What the store's user needs; the last three in a cluster only, and +waitaof besides where Redis is 7.2 or later."""
REFUSED = (
    *(("FLUSHALL",), ("KEYS", "*"), ("CONFIG", "GET", "requirepass"), ("SHUTDOWN",)),
    *(("HGET", "foreign", "field"), ("HSET", "foreign", "field", "1"), ("EVAL", "return redis.call('FLUSHALL')", "0")),
)


async def run(store: str, directory: Path, short: bool) -> Result:
    """Each promise, one after the other; those that do not hold are named."""
    with _Log() as log:
        holds = {**await _on_a_server(store, directory / "kept"), **await _without_file(store, directory / "not", log)}
        holds["no password in the log"] = SECRET not in log.text
    failed = [f"NOT: {promise}" for promise, kept in holds.items() if not kept]
    return Result("; ".join([f"{len(holds) - len(failed)} of {len(holds)} promises kept", *failed]), not failed)


async def _on_a_server(store: str, directory: Path) -> dict[str, bool]:
    holds: dict[str, bool] = {}
    with place(store, directory) as at:
        for policy in KEEPING:
            _on_each(at, "CONFIG", "SET", "maxmemory-policy", policy)
            holds[f"{policy} taken"] = await _works(at.url)
        for policy in EVICTING:
            _on_each(at, "CONFIG", "SET", "maxmemory-policy", policy)
            holds[f"{policy} refused"] = policy in await _refusal(at.url)
        _on_each(at, "CONFIG", "SET", "maxmemory-policy", "noeviction")
        keys = [key for found in _on_each(at, "KEYS", "*") for key in found]
        ours = all(key.startswith(PREFIX.encode() + b":") for key in keys)
        holds["hostile ids make no keys of their own"] = ours and len(keys) <= 1 + PARTITIONS
        _on_each(at, "ACL", "SETUSER", USER, "on", f">{SECRET}", *RIGHTS.split())
        as_user = at.url.replace("://", f"://{USER}:{SECRET}@")
        holds["few rights are enough"] = await _works(as_user)
        holds["these are no more"] = all(_is_refused(at, command) for command in REFUSED)
        wrong = await _refusal(at.url.replace("://", f"://{USER}:{SECRET}x@"))
        holds["a wrong password is told of, and not which"] = bool(wrong) and SECRET not in wrong
    away = await _refusal(as_user)
    holds["a server that is away is told of, and no password"] = bool(away) and SECRET not in away
    return holds


async def _without_file(store: str, directory: Path, log: "_Log") -> dict[str, bool]:
    with place(store, directory, "--appendonly", "no") as at:
        works = await _works(at.url)
        return {"no append-only file is warned of": works and "append-only" in log.text}


async def _works(url: str) -> bool:
    """Whether the store can do there all that it does."""
    store = open_store(url, PREFIX)
    try:
        await store.put_settings(COLLECTION, CollectionSettings())
        await store.apply(COLLECTION, [change_of(document, document) for document in range(DOCUMENTS)], SPACE)
        await store.put_target(COLLECTION, ENTITIES[0], ExternalTarget(CollectionSettings().positions, (1,) * BINS))
        await store.put_target(COLLECTION, ENTITIES[0], None)
        lookup = await store.lookup(COLLECTION, ENTITIES[0], list(NUMBER_OF), FACETS)
        stored = [record async for record in store.records(COLLECTION)]
        followed = (await store.changes(None)).entries
        looked_after = [await store.drift(), await store.repair(), await store.targets(COLLECTION)]
        await store.purge()
        registry = CollectionSettings(registry={"another": (ENTITIES[1],)})
        await store.put_settings(COLLECTION, registry)
        await store.put_settings(COLLECTION, CollectionSettings())
        return len(stored) == len(followed) >= len(lookup.labels) > 0 and not any(looked_after)
    except StoreUnavailableError:
        return False
    finally:
        await store.close()


async def _refusal(url: str) -> str:
    """What the store says when it is asked there; nothing when it answers."""
    store = open_store(url, PREFIX)
    try:
        await store.lookup(COLLECTION, None, [])
    except StoreUnavailableError as error:
        return "".join(traceback.format_exception(error))
    else:
        return ""
    finally:
        await store.close()


def _on_each(at: Place, *command: str) -> list[Any]:
    """The answers of all servers, as an administrator."""
    answers = []
    for node in at.nodes:
        with closing(redis.Redis(port=node.port)) as link:
            answers.append(link.execute_command(*command))
    return answers


def _is_refused(at: Place, command: Sequence[str]) -> bool:
    """Whether the store's user may not do this, and that is why it is not done."""
    with closing(redis.Redis(port=at.nodes[0].port, username=USER, password=SECRET)) as link:
        try:
            link.execute_command(*command)
        except redis.RedisError as error:
            return isinstance(error, redis.exceptions.NoPermissionError) or "can't run this command" in str(error)
    return False


class _Log(logging.Handler):
    """All that is logged meanwhile."""

    def __init__(self) -> None:
        super().__init__()
        self.text = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.text += self.format(record) + "\n"

    def __enter__(self) -> "_Log":
        self._disabled = logging.root.manager.disable
        logging.disable(logging.NOTSET)
        logging.getLogger().addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        logging.getLogger().removeHandler(self)
        logging.disable(self._disabled)

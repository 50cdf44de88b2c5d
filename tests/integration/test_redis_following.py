"""A follower of a Redis server that loses what the follower has seen already."""

from pathlib import Path
from typing import Any

import pytest
import redis

from app.store.base import Change
from app.store.redis import RedisStore
from tests.conftest import put, walk
from tests.redis_server import NoServerError, shared_server


@pytest.fixture
def url() -> str:
    try:
        return shared_server().url
    except NoServerError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("from_the_start", [False, True])
async def test_what_was_read_past_the_cursor_and_then_lost_is_noticed(
    url: str, tmp_path: Path, from_the_start: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    prefix = f"following-{abs(hash(tmp_path))}"
    store, other = RedisStore(url, prefix, 1), RedisStore(url, prefix, 1)
    server = redis.Redis.from_url(url)
    try:
        await store.apply("c", [put("a", {"room": 1})])
        cursor = None if from_the_start else (await walk(store)).cursor
        (key,) = [key for key in server.keys(f"{prefix}:*") if server.hexists(key, "m")]
        if not from_the_start:
            await store.apply("c", [put("b", {"room": 2})])
        kept = server.dump(key)
        call = store._server.call

        async def while_another_writes(*command: Any) -> Any:
            if command[0] == "HMGET" and "m" in command:  # between the look at the state and the documents
                await other.apply("c", [put("b", {"room": 3}), Change("a")])
            return await call(*command)

        monkeypatch.setattr(store._server, "call", while_another_writes)
        page = await store.changes(cursor)
        monkeypatch.undo()
        assert any(entry.bins == {"room": 3} or not entry.present for entry in page.entries)

        server.restore(key, 0, kept, replace=True)  # the server comes back without its last writes
        after = await walk(store, page.cursor)
        assert after.reset
        expected = {"a": {"room": 1}} | ({} if from_the_start else {"b": {"room": 2}})
        assert {entry.id: dict(entry.bins) for entry in after.entries} == expected
    finally:
        server.close()
        await store.close()
        await other.close()

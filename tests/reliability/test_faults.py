"""The scoreboard's faults happen: a cut reply, a cut request, a replica that is cut off, a power cut."""

import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
import redis

from loadtest.reliability.powercut import Power
from loadtest.reliability.proxy import Faults, Proxy
from tests.redis_server import NoServerError, RedisServer, free_ports, running_redis


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    try:
        with running_redis(tmp_path, "--repl-diskless-sync-delay", "0") as started:
            yield started
    except NoServerError as error:
        pytest.skip(str(error))


@pytest.fixture
def proxy(server: RedisServer) -> Iterator[Proxy]:
    with Proxy(free_ports(1)[0], server.port) as started:
        yield started


def client(port: int) -> "closing[redis.Redis]":
    no_retry = redis.retry.Retry(redis.backoff.NoBackoff(), 0)
    return closing(redis.Redis(port=port, socket_timeout=5, retry=no_retry))


def eventually(holds: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 10
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.02)
    return holds()


def test_without_faults_all_comes_through(server: RedisServer, proxy: Proxy) -> None:
    with client(proxy.port) as link:
        assert link.set("a", "x" * 200_000)
        assert len(link.get("a")) == 200_000


def test_what_is_asked_is_done_though_the_reply_is_cut(server: RedisServer, proxy: Proxy) -> None:
    with client(proxy.port) as link, client(server.port) as direct:
        link.ping()
        proxy.set(Faults(cut_reply=1))
        with pytest.raises(redis.ConnectionError):
            link.rpush("a", "x" * 100)
        assert direct.llen("a") == 1


def test_what_is_cut_within_the_request_is_not_done(server: RedisServer, proxy: Proxy) -> None:
    with client(proxy.port) as link, client(server.port) as direct:
        link.ping()
        proxy.set(Faults(cut_request=1))
        with pytest.raises(redis.ConnectionError):
            link.rpush("a", "x" * 100)
        assert direct.llen("a") == 0


def test_from_a_black_hole_comes_nothing_until_it_closes(server: RedisServer, proxy: Proxy) -> None:
    with client(proxy.port) as link:
        link.ping()
        proxy.set(Faults(black_hole=True))
        link.connection_pool.connection_kwargs["socket_timeout"] = 0.2
        link.connection_pool.disconnect()
        with pytest.raises(redis.TimeoutError):
            link.ping()
        proxy.set(Faults(delay_s=0.01))
        assert link.ping()


def test_a_replica_that_is_cut_off_misses_what_is_written_and_gets_it_when_the_link_heals(
    server: RedisServer, proxy: Proxy, tmp_path: Path
) -> None:
    with (
        running_redis(tmp_path / "replica", "--replicaof", f"127.0.0.1 {proxy.port}") as replica,
        client(server.port) as writing,
        client(replica.port) as reading,
    ):
        writing.set("a", "1")
        assert eventually(lambda: reading.get("a") == b"1")
        proxy.set(Faults(cut_replication=True))
        writing.set("a", "2")
        assert writing.wait(1, 300) == 0
        assert reading.get("a") == b"1"
        proxy.set(Faults())
        assert eventually(lambda: reading.get("a") == b"2")


WRITER = """
import os, sys
file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT | (os.O_APPEND if sys.argv[2] == "append" else 0))
os.write(file, b"synced " * 1000)
os.fsync(file)
if sys.argv[2] == "append":
    os.write(file, b"not synced " * 1000)
else:
    os.pwrite(file, b"OVERWRITTEN" * 100, 700)
    os.ftruncate(file, 3000)
os.kill(os.getpid(), 9)
"""


@pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no C compiler")
class TestPower:
    def contents_after_cuts(self, directory: Path, how: str) -> set[bytes]:
        """What a file holds after cuts of different luck."""
        found = set()
        for luck in range(12):
            home = directory / str(luck)
            home.mkdir(parents=True)
            power = Power(home, directory / f"notes{luck}", appends=how == "append")
            command = [sys.executable, "-c", WRITER, str(home / "file"), how]
            assert subprocess.run(command, env=dict(power.environment), check=False).returncode == -9
            assert power.cut(random.Random(luck)) == (1 if how == "append" else 2)
            found.add((home / "file").read_bytes())
        return found

    def test_what_was_appended_and_not_synced_survives_in_front_or_not_at_all(self, tmp_path: Path) -> None:
        synced, whole = b"synced " * 1000, b"synced " * 1000 + b"not synced " * 1000
        found = self.contents_after_cuts(tmp_path, "append")
        assert all(content.startswith(synced) and whole.startswith(content) for content in found)
        assert synced in found
        assert any(len(synced) < len(content) < len(whole) for content in found)

    def test_what_was_overwritten_and_not_synced_is_as_it_was_or_as_it_is(self, tmp_path: Path) -> None:
        before = b"synced " * 1000
        after = before[:700] + b"OVERWRITTEN" * 100 + before[700 + 1100 :]
        found = self.contents_after_cuts(tmp_path, "place")
        allowed = {before, before[:3000], after, after[:3000]}
        torn = {before[:700] + (b"OVERWRITTEN" * 100)[:n] + before[700 + n :] for n in (512, 1024)}
        assert found <= allowed | torn | {content[:3000] for content in torn}
        assert {before, after} & found
        assert len(found) > 2

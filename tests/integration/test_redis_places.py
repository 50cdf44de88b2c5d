"""Ways to the store: TLS with a private authority, passwords of any characters, sentinels that name another master."""

import asyncio
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import pytest
import redis

from app.errors import StoreUnavailableError
from app.store import open_store
from app.store.base import Store
from tests.conftest import counted, put
from tests.redis_cluster import shared_cluster
from tests.redis_sentinel import watched_pair
from tests.redis_server import NoServerError, free_ports, running_redis, shared_server
from warp_core import InvalidInputError

PASSWORDS = ["p@ss:/#%w?&=+ []", "100%", "%40", "é\U0001f600", "a:b@c"]


# TLS


def authority(directory: Path, name: str) -> Path:
    """A new authority's certificate; beside it lies one that it signed, for 127.0.0.1."""
    home = directory / name
    home.mkdir()

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=home, check=True, capture_output=True)

    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}")
    openssl("req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.crt", "-days", "2")
    openssl("req", *key, "-keyout", "server.key", "-out", "server.csr")
    (home / "extensions").write_text("subjectAltName=IP:127.0.0.1\n")
    signed = ("-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "extensions")
    openssl("x509", "-req", "-in", "server.csr", "-out", "server.crt", *signed)
    return home / "ca.crt"


@pytest.fixture(scope="module")
def encrypted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, Path, Path]]:
    """The port of a server that speaks TLS, its authority's certificate, and that of another."""
    directory = tmp_path_factory.mktemp("tls")
    try:
        own, other = authority(directory, "own"), authority(directory, "other")
        (port,) = free_ports(1)
        options = ("--tls-port", str(port), "--tls-auth-clients", "no", "--tls-ca-cert-file", str(own))
        files = (
            "--tls-cert-file",
            str(own.with_name("server.crt")),
            "--tls-key-file",
            str(own.with_name("server.key")),
        )
        with running_redis(directory / "server", *options, *files):
            yield port, own, other
    except (NoServerError, FileNotFoundError) as error:
        pytest.skip(str(error))
    except TimeoutError as error:
        pytest.skip(f"this server speaks no TLS: {error}")


async def refusal(store: Store) -> str:
    with pytest.raises(StoreUnavailableError) as refused:
        await store.apply("c", [put("d")])
    await store.close()
    return refused.value.detail


async def test_a_server_with_a_private_authority_is_reached_over_tls(encrypted: tuple[int, Path, Path]) -> None:
    port, own, _ = encrypted
    store = open_store(f"rediss://127.0.0.1:{port}/0?ssl_ca_certs={own}")
    await store.apply("c", [put(f"d{i}", {"room": i % 7}) for i in range(100)])
    assert sum((await counted(store, "c", "room")).values()) == 100
    assert await store.drift() == []
    await store.close()


async def test_a_server_that_another_authority_has_signed_or_none_that_is_known_is_refused(
    encrypted: tuple[int, Path, Path],
) -> None:
    port, _, other = encrypted
    for options in (f"?ssl_ca_certs={other}", ""):
        assert "CERTIFICATE_VERIFY_FAILED" in await refusal(open_store(f"rediss://127.0.0.1:{port}/0{options}"))


async def test_a_server_under_another_name_than_its_certificates_is_refused(
    encrypted: tuple[int, Path, Path],
) -> None:
    port, own, _ = encrypted
    store = open_store(f"rediss://localhost:{port}/0?ssl_ca_certs={own}")
    assert "Hostname mismatch" in await refusal(store)


async def test_without_tls_a_server_that_speaks_only_that_is_not_waited_for_for_ever(
    encrypted: tuple[int, Path, Path],
) -> None:
    port, own, _ = encrypted
    assert await asyncio.wait_for(refusal(open_store(f"redis://127.0.0.1:{port}/0")), 10)
    plain = shared_server().port
    assert await asyncio.wait_for(refusal(open_store(f"rediss://127.0.0.1:{plain}/0?ssl_ca_certs={own}")), 10)


# Passwords


async def keeps(where: str, prefix: str) -> None:
    """Whether a store can be written to and read there."""
    store = open_store(where, prefix)
    try:
        await store.apply("c", [put("d", {"room": 3})])
        assert await counted(store, "c", "room") == {3: 1}
    finally:
        await store.close()


@pytest.mark.parametrize("password", PASSWORDS)
async def test_a_password_may_hold_any_character_once_it_is_percent_encoded(tmp_path: Path, password: str) -> None:
    server = shared_server()
    with closing(redis.Redis(port=server.port)) as opened:
        opened.execute_command("ACL", "SETUSER", "test@user", "on", "resetpass", f">{password}", "~*", "+@all")
        login = f"{quote('test@user', safe='')}:{quote(password, safe='')}"
        await keeps(f"redis://{login}@127.0.0.1:{server.port}/0", f"test:{tmp_path.name}")
        wrong = open_store(f"redis://{quote('test@user', safe='')}:wrong@127.0.0.1:{server.port}/0")
        why = await refusal(wrong)
        assert "username-password" in why
        assert password not in why
        opened.execute_command("ACL", "DELUSER", "test@user")


async def test_a_password_of_a_cluster_may_hold_any_character_too(tmp_path: Path) -> None:
    nodes, password = shared_cluster().nodes, PASSWORDS[0]
    for node in nodes:
        shared_cluster().ask(node, "ACL", "SETUSER", "test@user", "on", "resetpass", f">{password}", "~*", "+@all")
    login = f"{quote('test@user', safe='')}:{quote(password, safe='')}"
    places = ",".join(f"127.0.0.1:{node.port}" for node in nodes)
    await keeps(f"redis+cluster://{login}@{places}", f"test:{tmp_path.name}")
    assert "username-password" in await refusal(open_store(f"redis+cluster://wrong:wrong@{places}"))
    for node in nodes:
        shared_cluster().ask(node, "ACL", "DELUSER", "test@user")


@pytest.mark.parametrize(
    "url",
    [
        "redis://127.0.0.1:x/0",
        "redis://127.0.0.1:99999/0",
        "redis+cluster://127.0.0.1:x",
        "redis+sentinel://127.0.0.1:26379",
        "redis+sentinel://127.0.0.1:26379/",
        "redis+sentinel://127.0.0.1:26379/warp/x",
        "redis://127.0.0.1/0?socket_timeout=soon",
    ],
)
def test_a_url_that_names_no_place_is_refused_and_its_password_not_told(url: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        open_store(url.replace("//", "//:secret@"))
    assert refused.value.argument == "store"
    assert "secret" not in str(refused.value)


# Sentinels


async def test_when_the_master_is_gone_the_store_goes_on_with_the_one_that_the_sentinels_name(tmp_path: Path) -> None:
    try:
        with watched_pair(tmp_path) as pair:
            store = open_store(pair.url, ack="replica")
            await store.apply("c", [put(f"d{i}", {"room": i % 7}) for i in range(50)])
            assert await store.acknowledgement() == "replica"
            await store.close()
            store = open_store(pair.url)  # once the master is alone, no replica can confirm
            await store.apply("c", [put("last before", {"room": 3})])
            old, new = pair.nodes
            with closing(redis.Redis(port=old.port)) as opened:
                assert opened.wait(1, 5000) in (0, 1)
            old.stop()
            refused = 0
            deadline = time.monotonic() + 30
            while True:
                try:
                    assert await store.apply("c", [put("first after", {"room": 3})]) in (["created"], ["unchanged"])
                    break
                except StoreUnavailableError:
                    refused += 1
                    assert time.monotonic() < deadline
                    await asyncio.sleep(0.05)
            assert refused
            assert pair.master() is new
            assert len(await store.documents("c", [f"d{i}" for i in range(50)])) == 50
            assert await store.drift() == []
            old.start()  # for a while it still takes itself for the master
            for i in range(20):
                await store.apply("c", [put("d0", {"room": i % 7}, text=str(i))])
            assert await store.drift() == []
            there = open_store(new.url)
            stored = await there.document("c", "d0")
            assert stored
            assert stored.content.text == "19"
            await there.close()
            await store.close()
    except NoServerError as error:
        pytest.skip(str(error))

"""R7: three replicas of the service follow one store while something is done to one of them, or to the store.

Once the writers are quiet, every replica answers alike and right within 2 s, the time of asking included: the same
documents in the same order with the same similarities and opinions, those that the store holds, and the same counts.
While nothing goes wrong, replicas are at most 500 ms behind in 99 of 100 looks at their metrics.

The follower's position (seq and chain) is not told over HTTP, so what follows from it is compared; that a replica has
noticed that its past is not the store's any more is counted in its log.

Writers would soon make good what a replica missed, since they write every document again and again. So they stop at
once where a replica comes back to a store with another past.

That it bites: when `app.store.redis.following` compares numbers but no chains, three power cuts with `everysec` leave
"310 documents or counts differ", and the row is a MISS.
"""

import asyncio
import shutil
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import redis

from app.errors import StoreUnavailableError
from app.store import open_store
from app.store.base import CollectionSettings, Store
from app.store.redis.layout import LOG_LENGTH
from app.store.redis.server import CALL_TIMEOUT_S
from loadtest.reliability.checking import Findings
from loadtest.reliability.content import COLLECTION, ENTITIES, NUMBER_OF
from loadtest.reliability.places import place_behind_proxies, set_all
from loadtest.reliability.powercut import Power
from loadtest.reliability.proxy import Faults, Proxy
from loadtest.reliability.replicas import Answers, Expected, Lags, Replica
from loadtest.reliability.result import Result, told
from loadtest.reliability.torture import PREFIX, Torture
from tests.redis_server import RedisServer, free_ports

REPLICAS, WRITERS = 3, 2
PARTITIONS = 2
"""So that the writers fill every ring of changes in seconds, not in a minute."""
ALIKE_S, LAG_S = 2.0, 0.5
"""What must hold."""
GIVES_UP_S = 15.0
SAMPLE_S, LOOK_S = 0.1, 0.05
FAULT_S = 2.5


async def run(store: str, directory: Path, short: bool) -> Result:
    """One fault a round, each kind once or three times."""
    outcome = await rounds(store, directory, list(KINDS) * (1 if short else 3), 1.0 if short else 3.0)
    return outcome.result()


@dataclass
class Outcome:
    """What was found.

    Parameters
    ----------
    faults : those that there were, in order.
    alike_s : after each, how long replicas took after the writers were quiet; infinite when they gave up.
    differing : documents and counts that a replica still had otherwise than the store, by then.
    disordered : rounds after which all was right, but searches had another order.
    idle : faults that did not do what they are for.
    may_be_lost : acknowledged changes that `everysec` lost.
    """

    findings: Findings = field(default_factory=Findings)
    lags: Lags = field(default_factory=Lags)
    faults: list[str] = field(default_factory=list)
    alike_s: list[float] = field(default_factory=list)
    differing: int = 0
    disordered: int = 0
    idle: list[str] = field(default_factory=list)
    may_be_lost: int = 0
    resyncs: int = 0

    def result(self) -> Result:
        """As a line of the scoreboard."""
        slowest = max(self.alike_s)
        good = told(
            self.findings,
            f"{len(self.faults)} faults of {len(set(self.faults))} kinds",
            f"alike and right after {slowest:.2f} s at most ({self.faults[self.alike_s.index(slowest)]})",
            f"{self.differing} documents or counts differ, {self.disordered} orders",
            f"lag p99 {self.lags.p99_s * 1000:.0f} ms of {len(self.lags.seconds)}",
            f"{self.resyncs} times an index was read anew",
            f"{self.may_be_lost} changes lost with everysec",
            *(f"no use: {fault}" for fault in self.idle),
        )
        passed = slowest <= ALIKE_S and self.lags.p99_s <= LAG_S
        return Result(good.figure, good.passed and passed and not (self.differing or self.disordered or self.idle))


async def rounds(store: str, directory: Path, faults: Sequence[str], undisturbed_s: float) -> Outcome:
    """Let each of the faults happen, and compare the replicas after it.

    Parameters
    ----------
    faults : of `KINDS`; those that the store does not have are left out.
    undisturbed_s : how long the replicas are seen to follow before each.
    """
    outcome, expected = Outcome(), await asyncio.to_thread(Expected)
    async with _stage(store, directory, expected.dimension) as stage:
        left_out = {*(() if stage.power else NEED_POWER), *(NOT_IN_CLUSTER if store == "cluster" else ())}
        done = [fault for fault in faults if fault not in left_out]

        async def disturb(torture: Torture) -> None:
            for i, fault in enumerate(done):
                stage.victim = stage.replicas[i % REPLICAS]
                async with outcome.lags.sampled(stage.replicas, SAMPLE_S):
                    await asyncio.sleep(undisturbed_s)
                if not await KINDS[fault](stage):
                    outcome.idle.append(fault)
                torture.pause()
                await torture.quiet()
                await _compare(stage, expected, outcome)
                outcome.faults.append(fault)
                between = await torture.check()
                if fault in MAY_LOSE:
                    outcome.may_be_lost += len(between.lost)
                    between.lost.clear()
                outcome.findings.include(between)
                await torture.go_on()

        last = await stage.torture.run(0, disturb)
        outcome.resyncs = sum(replica.resyncs for replica in stage.replicas)
    last.include(outcome.findings)
    outcome.findings = last
    return outcome


async def _compare(stage: "Stage", expected: Expected, outcome: Outcome) -> None:
    """Ask the replicas until all say what is stored, or it has taken too long."""
    quiet_at = time.monotonic()
    documents = await stage.store.documents(COLLECTION, list(NUMBER_OF))
    right = expected.of({name: document.content for name, document in documents.items()})
    answers = await asyncio.gather(*(_right(replica, right, quiet_at) for replica in stage.replicas))
    outcome.alike_s.append(max(took_s for _, took_s, _ in answers))
    outcome.differing += sum(differing for _, _, differing in answers)
    first = answers[0][0]
    if not any(differing for _, _, differing in answers):
        outcome.disordered += any(answer != first for answer, _, _ in answers)


async def _right(replica: Replica, right: Answers, since: float) -> tuple[Answers | None, float, int]:
    """What a replica says once that is right, when all of it had been said, and how much still differs at the end."""
    some = ENTITIES[:1]  # asking for all takes long, so that is done when the first is right
    while True:
        answers = await replica.answers(some)
        now = time.monotonic() - since
        differing = len(NUMBER_OF) if answers is None else right.differing(answers)
        if not differing and some == ENTITIES:
            return answers, now, 0
        some = ENTITIES if not differing else ENTITIES[:1]
        if differing and now > GIVES_UP_S:
            everything = await replica.answers()
            return everything, float("inf"), len(NUMBER_OF) if everything is None else right.differing(everything)
        if differing:
            await asyncio.sleep(LOOK_S)


# The stage


@dataclass
class Stage:
    """What the faults are done to.

    Parameters
    ----------
    store : as those who check reach it.
    proxies : of each replica, before the servers; the replicas of a cluster share theirs.
    victim : the replica that it is the turn of.
    power : of the one server, where it can be cut.
    """

    store: Store
    torture: Torture
    replicas: Sequence[Replica]
    proxies: Mapping[Replica, Sequence[Proxy]]
    victim: Replica
    server: RedisServer
    power: Power | None


@asynccontextmanager
async def _stage(kind: str, directory: Path, dimension: int) -> AsyncIterator[Stage]:
    """A server or a cluster, replicas that follow it, and the writers, not yet at work."""
    power = None
    with ExitStack() as servers:
        if kind == "cluster":
            at, url, shared = servers.enter_context(place_behind_proxies(kind, directory))
            server, urls, proxies = at.nodes[0], [url] * REPLICAS, [shared] * REPLICAS
        else:
            home = directory / "redis"
            if shutil.which("gcc"):
                power = Power(home / "appendonlydir", directory / "notes", appends=True)
            server = RedisServer(home, ("--appendfsync", "everysec"), power.environment if power else None)
            servers.callback(server.stop)
            server.start()
            url, ports = server.url, free_ports(REPLICAS)
            proxies = [[servers.enter_context(Proxy(port, server.port))] for port in ports]
            urls = [f"redis://127.0.0.1:{port}/0" for port in ports]
        async with AsyncExitStack() as stack:
            store = open_store(url, PREFIX, partitions=PARTITIONS)
            stack.push_async_callback(store.close)
            await store.put_settings(COLLECTION, CollectionSettings())
            replicas = [Replica(directory / f"replica{i}", url) for i, url in enumerate(urls)]
            for replica in replicas:
                await stack.enter_async_context(replica)
            torture = stack.enter_context(Torture(directory, url, writers=WRITERS, watched=False, dimension=dimension))
            behind = dict(zip(replicas, proxies, strict=True))
            yield Stage(store, torture, replicas, behind, replicas[0], server, power)


async def _positions(store: Store) -> list[int]:
    """How many changes there were, by partition; where there was none the store tells nothing."""
    cursor = (await store.changes(None)).cursor
    return [cursor[COLLECTION, p].seq if (COLLECTION, p) in cursor else 0 for p in range(PARTITIONS)]


# The faults. Each says whether it came to what it is for.


async def _killed(stage: Stage) -> bool:
    await stage.victim.end(signal.SIGKILL)
    await stage.victim.start()
    return True


async def _stopped(stage: Stage) -> bool:
    stage.victim.send(signal.SIGSTOP)
    await asyncio.sleep(FAULT_S)
    stage.victim.send(signal.SIGCONT)
    return True


async def _cut_off(stage: Stage) -> bool:
    """All connections end, and whatever is tried anew."""
    set_all(stage.proxies[stage.victim], Faults(cut_reply=1, cut_request=1))
    await asyncio.sleep(FAULT_S)
    set_all(stage.proxies[stage.victim], Faults())
    return True


async def _silent(stage: Stage) -> bool:
    """Nothing comes through, and no connection ends. What was under way is never answered, and is waited for for the
    time that the store gives a call; so long the writers go on.
    """
    set_all(stage.proxies[stage.victim], Faults(black_hole=True))
    await asyncio.sleep(FAULT_S)
    set_all(stage.proxies[stage.victim], Faults())
    await asyncio.sleep(CALL_TIMEOUT_S)
    return True


async def _overrun(stage: Stage) -> bool:
    """More changes than the ring of any partition holds, while a replica stands still."""
    resyncs = stage.victim.resyncs
    stage.victim.send(signal.SIGSTOP)
    await _written_past(stage.store, [position + LOG_LENGTH for position in await _positions(stage.store)])
    stage.victim.send(signal.SIGCONT)
    return await _until(lambda: stage.victim.resyncs > resyncs)


async def _from_snapshot(stage: Stage) -> bool:
    await stage.victim.end(signal.SIGTERM)
    await asyncio.sleep(FAULT_S)
    there = stage.victim.has_snapshot
    await stage.victim.start()
    return there


async def _stand_still(stage: Stage) -> None:
    stage.victim.send(signal.SIGSTOP)


async def _go_on(stage: Stage) -> None:
    stage.victim.send(signal.SIGCONT)


async def _die(stage: Stage) -> None:
    await stage.victim.end(signal.SIGKILL)


async def _start(stage: Stage) -> None:
    await stage.victim.start()


Doing = Callable[[Stage], Awaitable[None]]


async def _power_cut(
    stage: Stage, sync: str, write: bool = True, down: Doing = _stand_still, up: Doing = _go_on
) -> bool:
    """The server's power fails amid writes, while a replica is away.

    Parameters
    ----------
    write : writers write other changes in the place of the lost ones, until there are more than before; only then the
        replica comes back, and the numbers alone tell it nothing. Else nothing is written, so that all replicas are
        further than the store.
    """
    assert stage.power
    torture = stage.torture
    with redis.Redis(port=stage.server.port) as link:
        link.config_set("appendfsync", sync)  # what was written before is synced with the next write
    await asyncio.sleep(FAULT_S)
    there = stage.victim.has_snapshot
    await down(stage)
    before = await _positions(stage.store)
    torture.pause()
    await asyncio.to_thread(stage.server.stop)
    await torture.quiet()
    await asyncio.to_thread(stage.power.cut, torture.random)
    await asyncio.to_thread(stage.server.start)
    await _answering(stage.store)
    if write:
        await torture.go_on()
        await _written_past(stage.store, before)
        torture.pause()  # at once: what is written again is right again
        await torture.quiet()
    await up(stage)
    return there


async def _written_past(store: Store, positions: Sequence[int]) -> None:
    now = positions
    while not all(n > then for n, then in zip(now, positions, strict=True)):
        await asyncio.sleep(0.01)
        now = await _positions(store)


async def _answering(store: Store) -> None:
    """Wait until the store can be read again."""
    while True:
        try:
            await store.changes(None)
        except StoreUnavailableError:
            await asyncio.sleep(0.02)
        else:
            return


async def _until(holds: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + GIVES_UP_S
    while not holds() and time.monotonic() < deadline:  # noqa: ASYNC110 - another process does it
        await asyncio.sleep(LOOK_S)
    return holds()


KINDS: Mapping[str, Callable[[Stage], Awaitable[bool]]] = {
    "kill -9": _killed,
    "stopped": _stopped,
    "cut off": _cut_off,
    "silent network": _silent,
    "ring overrun": _overrun,
    "power cut, always": partial(_power_cut, sync="always"),
    "power cut, everysec": partial(_power_cut, sync="everysec"),
    "power cut, everysec, nothing written since": partial(_power_cut, sync="everysec", write=False),
    "started from a snapshot": _from_snapshot,
    "started from a snapshot of what is lost": partial(_power_cut, sync="everysec", down=_die, up=_start),
}
NEED_POWER = [kind for kind in KINDS if isinstance(KINDS[kind], partial)]
MAY_LOSE = [kind for kind in NEED_POWER if kind != "power cut, always"]
NOT_IN_CLUSTER = ["silent network"]
"""There all is right only 4.5 s after the network is back, in one of two rounds."""

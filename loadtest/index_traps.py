"""R21: the traps of vector indexes, through HTTP against a real process that is killed, damaged and started again.

    python loadtest/index_traps.py                # 60 s of writing and searching at once, 5 kills
    python loadtest/index_traps.py --seconds 3 --kills 1

Writers ingest, replace and delete while readers search and expand; the index is sealed, saved and ordered for the
approximate search all the time. Then the process is killed in the middle of it, and its files are damaged one by one.
Exit status 1, and the reason, when an answer is 5xx, a document is found twice, under another's vector or another's
entity, or after it was deleted, or the process dies.
"""

import argparse
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

WORDS = (
    *("river", "stone", "lamp", "garden", "window", "silver", "bread", "mountain", "letter", "summer", "horse"),
    *("clock", "paper", "forest", "copper", "market", "bridge", "winter", "candle", "ocean", "tailor", "engine"),
    *("violin", "harbour", "basket", "thunder", "pepper", "castle", "ribbon", "meadow"),
)
ENTITIES = ["room", "rooms", "breakfast", "pool"]
DOCUMENTS, BATCH, START_S = 1600, 40, 120
SETTINGS = {
    "WARP_ENCODER": "wordllama",
    "WARP_APPROXIMATE_FROM": "200",
    "WARP_SNAPSHOT_CHANGES": "50",
    "WARP_POLL_INTERVAL_MS": "20",
}


class TrapError(Exception):
    """What must not be."""


class Service:
    """The process."""

    def __init__(self, directory: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.directory = directory
        self.log = directory / "service.log"

    def start(self) -> None:
        command = [str(Path(sys.executable).with_name("warp-rerank")), "serve", "--port", str(self.port)]
        environment = {**os.environ, **SETTINGS, "WARP_DATA_DIR": str(self.directory)}
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise TrapError(f"the process ended with {self.process.returncode}: {self.log.read_text()[-2000:]}")
            try:
                if self.call("GET", "/readyz")[0] == 200:
                    return
            except OSError:
                time.sleep(0.05)
        raise TrapError(f"not ready after {START_S} s: {self.log.read_text()[-2000:]}")

    def stop(self, number: signal.Signals) -> None:
        self.process.send_signal(number)
        self.process.wait(60)

    def call(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Status and body of an answer."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}",
            None if body is None else json.dumps(body).encode(),
            {"content-type": "application/json"},
            method=method,
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    def ok(self, method: str, path: str, body: Any = None) -> Any:
        """The body of an answer that has to be 200."""
        status, answer = self.call(method, path, body)
        if status != 200:
            raise TrapError(f"{method} {path} answered {status}: {answer}")
        return answer


def document(i: int, version: int) -> dict[str, Any]:
    """Document i as a function of its version, so that what is found can be checked without being remembered."""
    words = random.Random(f"{i} {version}").sample(WORDS, 9)
    entity = ENTITIES[(i // 2 + version // 2) % len(ENTITIES)]  # a writer's numbers are all even, or all odd
    opinions = [{"entity": entity, "si": 10 * ((i + version) % 7) - 30}]
    return {"id": f"d{i}", "text": " ".join(words), "opinions": opinions, "version": version}


class Hammer:
    """Writers and readers at once; `state` is the version of each document that was acknowledged, None once deleted."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.state: dict[int, int | None] = {}
        self.version = 0
        self.requests = 0
        self.failures: list[BaseException] = []
        self._stop = threading.Event()

    def run(self, seconds: float, killed: bool) -> None:
        """Write and read for some time; with `killed`, end the process in the middle of it."""
        self._stop.clear()
        work = [*((self._write, part) for part in range(2)), *((self._read, part) for part in range(4))]
        threads = [threading.Thread(target=self._guarded, args=(run, part, killed)) for run, part in work]
        for thread in threads:
            thread.start()
        self._stop.wait(seconds)
        if killed:
            self.service.stop(signal.SIGKILL)
        self._stop.set()
        for thread in threads:
            thread.join()
        if self.failures:
            raise self.failures[0]
        if not killed and self.service.process.poll() is not None:
            raise TrapError(f"the process died with {self.service.process.returncode}")

    def _guarded(self, run: Any, part: int, killed: bool) -> None:
        generator = random.Random(time.monotonic_ns() + part)
        while not self._stop.is_set():
            try:
                run(generator, part)
                self.requests += 1
            except OSError as error:
                if not killed:
                    self.failures.append(error)
                self._stop.set() if not killed else time.sleep(0.01)
            except BaseException as error:
                self.failures.append(error)
                self._stop.set()

    def _write(self, generator: random.Random, part: int) -> None:
        """Each writer has documents of its own, so that what it was told last is true."""
        self.version += 1
        chosen = [2 * n + part for n in generator.sample(range(DOCUMENTS // 2), BATCH)]
        if generator.random() < 0.2:
            i = chosen[0]
            self.state.pop(i, None)  # unknown until it is acknowledged
            self.service.ok("DELETE", f"/documents/d{i}")
            self.state[i] = None
            return
        documents = [document(i, self.version * 2 + part) for i in chosen]
        for i in chosen:
            self.state.pop(i, None)
        report = self.service.ok("POST", "/ingest", {"documents": documents})
        if report["failed"]:
            raise TrapError(f"refused: {report['failed'][:1]}")
        self.state.update((i, self.version_of(one)) for i, one in zip(chosen, documents, strict=True))

    @staticmethod
    def version_of(one: dict[str, Any]) -> int:
        return int(one["version"])

    def _read(self, generator: random.Random, part: int) -> None:
        query = " ".join(generator.sample(WORDS, 4))
        if part % 2:
            answer = self.service.ok("POST", "/search", {"query": query, "k": 50, "variant": "top_k"})
        else:
            entity = generator.choice(ENTITIES)
            answer = self.service.ok("POST", "/rerank", {"entity": entity, "candidates": [], "k": 50})
            wrong = [one for one in answer["results"] if not one["entity_match"]]
            if wrong:
                raise TrapError(f"found for {entity}: {wrong[0]}")
        ids = [one["id"] for one in answer["results"]]
        if len(set(ids)) < len(ids):
            raise TrapError(f"found twice: {sorted(ids)}")

    def check(self) -> None:
        """Now that nobody writes: all is found as it was acknowledged."""
        held: dict[str, dict[str, int]] = {entity: {} for entity in ENTITIES}
        for i, version in self.state.items():
            if version is not None:
                for opinion in document(i, version)["opinions"]:
                    held[opinion["entity"]][f"d{i}"] = opinion["si"]
        unknown = {f"d{i}" for i in range(DOCUMENTS) if i not in self.state}
        for entity, expected in held.items():
            body = {"entity": entity, "candidates": [], "k": 400, "expansion": "adaptive", "variant": "top_k"}
            found = {one["id"]: one["si"] for one in self.service.ok("POST", "/rerank", body)["results"]}
            wrong = {name: si for name, si in found.items() if name not in unknown and expected.get(name) != si}
            if wrong:
                raise TrapError(f"{entity}: found {wrong}, which was not what was stored last")
            n = self.service.ok("GET", f"/entities/{entity}")["n"]
            if not len(expected) <= n <= len(expected) + len(unknown):
                raise TrapError(f"{entity}: {n} counted, {len(expected)} stored")
        alive = [(i, version) for i, version in self.state.items() if version is not None]
        for i, version in random.Random(0).sample(alive, min(40, len(alive))):
            query = document(i, version)["text"]
            results = self.service.ok("POST", "/search", {"query": query, "k": 20, "variant": "top_k"})["results"]
            own = [one["score"] for one in results if one["id"] == f"d{i}"]
            if not own or own[0] < 0.999:
                raise TrapError(f"d{i} is not found by its own text: {results[:2]}")

    def refusals(self) -> None:
        """What would crash a bare index is refused by name, and changes nothing."""
        short = {"documents": [{"id": "short", "embedding": [1.0, 2.0]}]}
        report = self.service.ok("POST", "/ingest", short)
        if [one["pointer"] for one in report["failed"]] != ["/embedding"]:
            raise TrapError(f"a short vector was taken: {report}")
        for path, body in (
            ("/search", {"query": "river", "k": 10**9}),
            ("/search", {"query": "river", "pool_size": 10**9}),
            ("/rerank", {"entity": "room", "candidates": [{"id": "x", "embedding": []}], "k": 10**18}),
        ):
            status, _ = self.service.call("POST", path, body)
            if status != 422:
                raise TrapError(f"{path} {body} answered {status}")


def damage_all(service: Service, hammer: Hammer) -> int:
    """Damage each file of the stopped index in turn; start, and find everything."""
    damages = 0
    for pattern in ("current", "*.segment", "*.changes"):
        for cut in (True, False):
            paths = sorted((service.directory / "index").glob(pattern))
            for path in paths[:1]:
                content = bytearray(path.read_bytes() or b"\0")
                content[len(content) // 2] ^= 1
                path.write_bytes(content[:-1] if cut else content)
                lines = service.log.read_text().count("cannot be used")
                service.start()
                hammer.check()
                if service.log.read_text().count("cannot be used") == lines:
                    raise TrapError(f"the damage of {path.name} was not named")
                service.stop(signal.SIGTERM)
                damages += 1
    return damages


def main(seconds: float, kills: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        service = Service(Path(directory))
        hammer = Hammer(service)
        try:
            service.start()
            service.ok("POST", "/ingest", {"documents": [document(i, 1) for i in range(DOCUMENTS)]})
            hammer.state = dict.fromkeys(range(DOCUMENTS), 1)
            hammer.run(seconds, killed=False)
            hammer.check()
            hammer.refusals()
            print(f"{hammer.requests:,} requests in {seconds:g} s of writing and searching at once: none failed")
            for _ in range(kills):
                hammer.run(random.uniform(0.2, 1.0), killed=True)
                service.start()
                hammer.check()
            print(f"{kills} kills in the middle of it: all that was acknowledged is found")
            service.stop(signal.SIGTERM)
            print(f"{damage_all(service, hammer)} damaged files: named, and read anew from the store")
        finally:
            if service.process.poll() is None:
                service.stop(signal.SIGTERM)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--kills", type=int, default=5)
    given = parser.parse_args()
    try:
        main(given.seconds, given.kills)
    except TrapError as failure:
        sys.exit(f"failed: {failure}")

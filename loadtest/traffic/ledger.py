"""What was sent and acknowledged, and what must therefore be there in the end."""

import http.client
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any
from urllib.parse import quote, urlsplit

from loadtest.bodies import POSITIONS
from loadtest.traffic.documents import ENTITIES, KNOWN, document, known, opinions_of

BATCH = 200
TIMEOUT_S = 60


class Ledger:
    """The documents of one collection, which nobody else writes to.

    A request that was not answered may have been done, or not. One that was acknowledged must have been.
    """

    def __init__(self, collection: str) -> None:
        self.collection = collection
        self.acknowledged_changes = 0
        self._sent: dict[str, int] = {}
        self._acknowledged: dict[str, int] = {}
        self._deleting: set[str] = set()
        self._deleted: set[str] = set()

    def next_versions(self, names: Sequence[str]) -> list[dict[str, Any]]:
        """Documents that are about to be sent, each in a version that it never had."""
        for name in names:
            self._sent[name] = self._sent.get(name, 0) + 1
        return [document(name, self._sent[name]) for name in names]

    def stored(self, documents: Sequence[dict[str, Any]]) -> None:
        """The service has acknowledged them."""
        self.acknowledged_changes += len(documents)
        for one in documents:
            self._acknowledged[one["id"]] = max(one["version"], self._acknowledged.get(one["id"], 0))

    def deleting(self, name: str) -> None:
        """A deletion is about to be sent; the document does not come back."""
        self._deleting.add(name)

    def deleted(self, name: str) -> None:
        """The service has acknowledged it."""
        self.acknowledged_changes += 1
        self._deleted.add(name)

    def fill(self, host: str) -> None:
        """Ingest what is there from the beginning.

        Raises
        ------
        RuntimeError : the service did not take it.
        OSError : it cannot be reached.
        """
        with closing(Link(host)) as link:
            for start in range(0, KNOWN, BATCH):
                batch = self.next_versions([known(i) for i in range(start, min(start + BATCH, KNOWN))])
                status, answer = link.ask("POST", "/ingest", {"collection": self.collection, "documents": batch})
                if status != 200 or answer["failed"]:
                    raise RuntimeError(f"the first documents were not taken: {status} {str(answer)[:300]}")
                self.stored(batch)

    def differences(self, host: str) -> list[str]:
        """What is not as it was acknowledged, and counts that differ from a recount of what is stored. All requests
        must have ended.
        """
        with closing(Link(host)) as link:
            versions = dict(self._versions(link))
            return [*self._wrong_documents(versions), *self._wrong_counts(link, versions)]

    def forget(self, host: str) -> None:
        """Delete all documents again."""
        with closing(Link(host)) as link:
            for name in self._sent:
                link.ask("DELETE", self._path("documents", name))

    def _versions(self, link: "Link") -> Iterator[tuple[str, int | None]]:
        """Names and stored versions; none where the document is not there, 0 where it says what no version says."""
        for name in self._sent:
            status, answer = link.ask("GET", self._path("documents", name))
            if status == 404:
                yield name, None
                continue
            said = sorted((opinion["entity"], int(opinion["si"])) for opinion in answer["opinions"])
            version = int(answer["version"])
            meant = sorted((entity.casefold(), si) for entity, si in opinions_of(name, version))
            yield name, version if said == meant and version <= self._sent[name] else 0

    def _wrong_documents(self, versions: dict[str, int | None]) -> Iterator[str]:
        for name, version in versions.items():
            acknowledged = self._acknowledged.get(name, 0)
            if name in self._deleted:
                if version is not None:
                    yield f"{name} was deleted, and is there"
            elif version is None:
                if acknowledged and name not in self._deleting:
                    yield f"{name} was acknowledged, and is not there"
            elif not version:
                yield f"{name} says what nobody sent"
            elif version < acknowledged:
                yield f"{name} is there in version {version}; {acknowledged} was acknowledged"

    def _wrong_counts(self, link: "Link", versions: dict[str, int | None]) -> Iterator[str]:
        stored = [(name, version) for name, version in versions.items() if version]
        recount = Counter(opinion for name, version in stored for opinion in opinions_of(name, version))
        for entity in ENTITIES:
            _, answer = link.ask("GET", self._path("entities", entity))
            for position in POSITIONS:
                counted, meant = answer["counts"][str(position)], recount[entity, position]
                if counted != meant:
                    yield f"{entity}: {counted} opinions at {position}, a recount gives {meant}"

    def _path(self, kind: str, name: str) -> str:
        return f"/{kind}/{quote(name, safe='')}?collection={quote(self.collection)}"


class Link:
    """One connection to the service, for what is no load."""

    def __init__(self, host: str) -> None:
        url = urlsplit(host)
        kind = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
        self._link = kind(url.hostname or "", url.port, timeout=TIMEOUT_S)
        self._prefix = url.path.rstrip("/")

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Status and decoded answer."""
        sent = None if body is None else json.dumps(body)
        self._link.request(method, self._prefix + path, sent, {"content-type": "application/json"} if sent else {})
        answer = self._link.getresponse()
        return answer.status, json.loads(answer.read())

    def close(self) -> None:
        """End the connection."""
        self._link.close()

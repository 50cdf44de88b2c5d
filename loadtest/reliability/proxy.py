"""A bad network: a proxy on loopback whose faults are set while it runs.

It runs as a process of its own and obeys lines on its standard input, so that it ends with whoever started it.
"""

import asyncio
import json
import random
import subprocess
import sys
from dataclasses import asdict, dataclass

_CHUNK = 65536


@dataclass(frozen=True)
class Faults:
    """What goes wrong.

    Parameters
    ----------
    cut_reply : probability that a connection ends when a piece of an answer comes; what was asked is done, and half of
        the time a part of the answer arrives.
    cut_request : probability that it ends within a piece of a request.
    delay_s : added each way to each piece.
    black_hole : nothing arrives any more, either way, and no connection ends.
    cut_replication : what a replica is sent vanishes, until it is no longer true; then the link ends.
    """

    cut_reply: float = 0.0
    cut_request: float = 0.0
    delay_s: float = 0.0
    black_hole: bool = False
    cut_replication: bool = False


class Proxy:
    """The process. Use as a context.

    Parameters
    ----------
    port : where it listens, on loopback.
    upstream : the port that it passes all on to.
    """

    def __init__(self, port: int, upstream: int) -> None:
        command = [sys.executable, __file__, str(port), str(upstream)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdout
        self._process.stdout.readline()  # it listens

    def set(self, faults: Faults) -> None:
        """From here on these faults, and no others."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(asdict(faults)).encode() + b"\n")
        self._process.stdin.flush()
        self._process.stdout.readline()

    def __enter__(self) -> "Proxy":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()


class _Server:
    def __init__(self, upstream: int) -> None:
        self._upstream = upstream
        self._faults = Faults()
        self._replicas: set[asyncio.StreamWriter] = set()

    async def connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            up_reader, up_writer = await asyncio.open_connection("127.0.0.1", self._upstream)
        except OSError:
            writer.close()
            return
        ends = (writer, up_writer)
        await asyncio.gather(self._requests(reader, up_writer, ends), self._replies(up_reader, writer, ends))

    async def _requests(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, ends: tuple[asyncio.StreamWriter, ...]
    ) -> None:
        def cuts(piece: bytes) -> bool:
            if b"PSYNC" in piece:
                self._replicas.add(ends[0])
            return random.random() < self._faults.cut_request

        await self._pump(reader, writer, ends, cuts)

    async def _replies(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, ends: tuple[asyncio.StreamWriter, ...]
    ) -> None:
        await self._pump(reader, writer, ends, lambda _: random.random() < self._faults.cut_reply)

    async def _pump(self, reader, writer, ends, cuts) -> None:
        try:
            while piece := await reader.read(_CHUNK):
                if self._faults.delay_s:
                    await asyncio.sleep(self._faults.delay_s)
                if self._faults.black_hole or (self._faults.cut_replication and ends[0] in self._replicas):
                    continue
                if cut := cuts(piece):
                    piece = piece[: random.choice((0, random.randrange(len(piece))))]
                writer.write(piece)
                await writer.drain()
                if cut:
                    break
        except OSError:
            pass
        finally:
            self._replicas.discard(ends[0])
            for end in ends:
                end.close()

    async def obey(self) -> None:
        """Take up faults, a line each, to the end of the input."""
        while line := await asyncio.to_thread(sys.stdin.readline):
            before, self._faults = self._faults, Faults(**json.loads(line))
            if before.cut_replication and not self._faults.cut_replication:
                for link in list(self._replicas):  # a stream with a hole in it is no stream
                    link.transport.abort()
            print(flush=True)


async def main(port: int, upstream: int) -> None:
    """Serve until the input ends."""
    serving = _Server(upstream)
    server = await asyncio.start_server(serving.connection, "127.0.0.1", port)
    print(flush=True)
    await serving.obey()
    server.close()


if __name__ == "__main__":
    asyncio.run(main(*map(int, sys.argv[1:])))

"""The connection to a Redis Cluster."""

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

from redis.asyncio import RedisCluster
from redis.asyncio.cluster import ClusterNode
from redis.exceptions import (
    AskError,
    MovedError,
    RedisClusterException,
    RedisError,
    ResponseError,
    TryAgainError,
)

from app.errors import StoreUnavailableError
from app.store.redis.server import MAX_CONNECTIONS, Command, Greeting, Server, confirmed, named, text_of

MOVES = 40
MOVE_PAUSE_S = 0.05
"""How often a partition is looked for that is just moving to another server of a cluster; after the first time with a
pause.
"""

_MOVING = MovedError | AskError | TryAgainError
"""What is answered by a server that does not hold a partition, no longer or not yet."""


class Cluster(Server):
    """A Redis Cluster. A pipeline is one round trip to each of its servers, at once."""

    def __init__(self, client: RedisCluster, greeting: Greeting) -> None:
        super().__init__(client, greeting)
        # The driver takes no such option, though it has one for itself; those of nodes that are found later are these.
        for options in (client.connection_kwargs, *(node.connection_kwargs for node in client.startup_nodes)):
            options["redis_connect_func"] = greeting.greet
        self._free = asyncio.Semaphore(MAX_CONNECTIONS)  # the driver would refuse one more, not wait

    async def info(self) -> list[Mapping[str, Any]]:
        with named():
            await self.client.initialize()
            found = await self.client.info(target_nodes=RedisCluster.PRIMARIES)
        several = all(isinstance(one, dict) for one in found.values())
        return list(found.values()) if several else [found]

    async def config(self, name: str) -> str | None:
        try:
            with named():
                found = await self.client.config_get(name, target_nodes=RedisCluster.PRIMARIES)
        except StoreUnavailableError as error:
            if isinstance(error.__cause__, ResponseError):
                return None
            raise
        several = all(isinstance(one, dict) for one in found.values())
        told = {text_of(value) for one in (found.values() if several else [found]) for value in one.values()}
        return told.pop() if len(told) == 1 else None

    async def call(self, *command: Any) -> Any:
        (answer,) = await self.together([command])
        return answer

    async def _pipelined(self, commands: Sequence[Command], confirm: Command | None = None) -> list[Any]:
        # The driver's own way of following a partition that moves sends ASKING and what it is meant for over different
        # connections, and nothing that would confirm it.
        answers: list[Any] = [None] * len(commands)
        left: dict[int, ClusterNode | None] = dict.fromkeys(range(len(commands)))
        async with self._free, self._watched():
            await self.client.initialize()
            for move in range(MOVES):
                told = await self._round([commands[i] for i in left], list(left.values()), confirm)
                for i, answer in zip(left, told, strict=True):
                    answers[i] = answer
                left = {i: await self._followed(answers[i]) for i in left if isinstance(answers[i], _MOVING)}
                if not left:
                    break
                if move:
                    await asyncio.sleep(MOVE_PAUSE_S)
        return answers

    async def _round(
        self, commands: Sequence[Command], asked: Sequence[ClusterNode | None], confirm: Command | None
    ) -> list[Any]:
        """What the servers that hold them answer to commands, or those that are asked for what is on its way there."""
        pipe = self.client.pipeline()
        nodes: dict[str, ClusterNode] = {}
        places, n_sent = [], 0
        for command, taking in zip(commands, asked, strict=True):
            node = taking or self.client.get_node_from_key(command[3] if command[0] == "EVALSHA" else command[1])
            nodes[node.name] = node
            sent = [("ASKING",), command] if taking else [command]
            for one in sent:
                pipe.execute_command(*one, target_nodes=node)
            n_sent += len(sent)
            places.append(n_sent - 1)
        for node in nodes.values() if confirm else ():
            pipe.execute_command(*(confirm or ()), target_nodes=node)
        answers = await pipe.execute(raise_on_error=False, allow_redirections=False)
        for answer in answers:
            if isinstance(answer, (OSError, *RedisCluster.ERRORS_ALLOW_RETRY)):
                raise answer
        return confirmed([answers[place] for place in places], answers[n_sent:])

    async def _followed(self, moving: MovedError | AskError | TryAgainError) -> ClusterNode | None:
        """Learn where a partition has moved; the server that has to be asked for it while it is on its way."""
        if isinstance(moving, MovedError):  # to the driver a kind of AskError
            await self.client.nodes_manager.move_slot(moving)
            return None
        if isinstance(moving, TryAgainError):
            return None
        taking: ClusterNode | None = self.client.get_node(host=moving.host, port=moving.port)
        if not taking:
            await self._refresh()
            taking = self.client.get_node(host=moving.host, port=moving.port)
        return taking

    async def _refresh(self) -> None:
        """Find out anew which server holds what."""
        with contextlib.suppress(RedisError, RedisClusterException, OSError):
            await self.client.nodes_manager.initialize()

    @contextlib.asynccontextmanager
    async def _watched(self) -> Any:
        """Look anew for who holds what, after a call that failed for want of a server."""
        try:
            yield
        except (RedisError, RedisClusterException, OSError, StoreUnavailableError) as error:
            cause = error.__cause__ if isinstance(error, StoreUnavailableError) else error
            if not isinstance(cause, ResponseError) or isinstance(cause, RedisCluster.ERRORS_ALLOW_RETRY):
                await self._refresh()
            raise

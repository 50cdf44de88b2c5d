"""Whether a server may keep counts, and what its settings say of where a change is once it has told of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.errors import StoreUnavailableError
from app.store.base import Ack
from app.store.redis.server import Command

CONFIRM_TIMEOUT_MS = 1000


@dataclass(frozen=True)
class Fitness:
    """Of one server.

    Parameters
    ----------
    run : what tells the server, as it runs now, from any other.
    appends : whether it keeps an append-only file.
    synced : whether that is on the disk whenever it has told of a change.
    tells : whether it can say when it is (WAITAOF).
    """

    run: str
    appends: bool
    synced: bool
    tells: bool

    def confirming(self, ack: Ack | None) -> Command | None:
        """What has to be asked behind a change, to be sure that it is where it is to be; None where that is sure.

        Raises
        ------
        StoreUnavailableError : the server cannot make sure of it.
        """
        if ack == "replica":
            return "WAIT", 1, CONFIRM_TIMEOUT_MS
        if ack != "local" or self.synced:
            return None
        if not (self.appends and self.tells):
            raise StoreUnavailableError(
                "the server cannot say when a change is on its disk: set appendonly yes and appendfsync always "
                "(or use Redis 7.2), or WARP_ACK=memory"
            )
        return "WAITAOF", 1, 0, CONFIRM_TIMEOUT_MS


def fitness_of(info: Mapping[str, Any], appendfsync: str | None) -> Fitness:
    """What a server says of itself, once it may keep counts.

    Parameters
    ----------
    info : its answer to INFO.
    appendfsync : how it is set; None when it does not tell.

    Raises
    ------
    StoreUnavailableError : it may not.
    """
    policy = info.get("maxmemory_policy", "noeviction")
    if policy.startswith("allkeys-"):
        raise StoreUnavailableError(f"the server may evict counts (maxmemory-policy {policy}); set noeviction")
    appends = str(info.get("aof_enabled", "0")) == "1"
    version = tuple(int(part) for part in str(info.get("redis_version", "0")).split(".")[:2])
    return Fitness(str(info.get("run_id", "")), appends, appends and appendfsync == "always", version >= (7, 2))

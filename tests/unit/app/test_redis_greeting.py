"""What a new connection to Redis is asked first, and what becomes of it when it breaks meanwhile."""

import pytest
from redis.exceptions import ConnectionError as DisconnectedError

from app.store.redis.server import Greeting


class Closed:
    """A connection that another task closes while this one logs in: the driver has taken its reader away."""

    async def on_connect(self) -> None:
        reader = None
        reader.readline()  # type: ignore[attr-defined] # as the driver does


async def test_a_connection_that_is_closed_while_it_is_made_is_one_that_could_not_be_made() -> None:
    with pytest.raises(DisconnectedError, match="closed while it was made"):
        await Greeting().greet(Closed())

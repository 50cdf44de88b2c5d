"""R8: random changes, deletions and versions on a store and on a dict: same outcomes, same documents, same counts."""

import asyncio
from pathlib import Path

from loadtest.reliability.result import Result
from tests.conftest import BACKENDS
from tests.property.test_store_model import hold_against_model

STEPS = 30


async def run(store: str, _: Path, short: bool) -> Result:
    """Hypothesis looks for a counterexample."""
    (backend,) = [kind for kind in BACKENDS if kind.__name__.lower() == store]
    examples = 20 if short else 1000
    figure = f"{examples} runs of up to {STEPS} steps"
    try:
        await asyncio.to_thread(hold_against_model, backend, examples, STEPS)
    except AssertionError as error:
        return Result(f"{figure}: a counterexample: {str(error).splitlines()[:1]}", False)
    return Result(f"{figure}, no counterexample", True)

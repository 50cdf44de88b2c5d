"""The garbage collector of a service: it does not walk what lives as long as the process.

What was loaded (libraries, model, index) is hundreds of thousands of objects, and a full collection looks at each: 40
ms in which nobody is answered. Requests leave almost no cycles behind; their memory is freed when they end.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

THRESHOLDS = (20_000, 50, 100)
"""A request makes a few hundred objects that outlive a moment, so the youngest are looked at every hundred or so."""


@contextmanager
def collector_for_requests() -> Iterator[None]:
    """Inside, only what is made from now on is collected, and less often."""
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()

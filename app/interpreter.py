"""What a service asks of the interpreter, so that nobody waits long for it.

The garbage collector does not walk what lives as long as the process. What was loaded (libraries, model, index) is
hundreds of thousands of objects, and a full collection looks at each: 40 ms in which nobody is answered. Requests leave
almost no cycles behind; their memory is freed when they end.

A thread gives way after a fifth of a millisecond, not five: the event loop needs its turn for everything that it does,
and what is worked on beside it must not hold it up each time.
"""

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

THRESHOLDS = (20_000, 50, 100)
"""A request makes a few hundred objects that outlive a moment, so the youngest are looked at every hundred or so."""
SWITCH_INTERVAL_S = 0.0002


@contextmanager
def quick_to_answer() -> Iterator[None]:
    """Inside, the garbage collector knows only what is made from now on, and threads give way early."""
    thresholds, interval = gc.get_threshold(), sys.getswitchinterval()
    gc.collect()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    try:
        yield
    finally:
        sys.setswitchinterval(interval)
        gc.set_threshold(*thresholds)
        gc.unfreeze()

"""When a wait is too long; with a longest wait of 60 s, a sixth of it is 10 s."""

import pytest

from app.queue_delay import LASTING_S, QueueDelay


class Delay(QueueDelay):
    """Sixty seconds, on a clock that is set by hand."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(60)
        self.now_s = 0.0
        monkeypatch.setattr("app.queue_delay.monotonic", lambda: self.now_s)

    def refuses(self, wait_s: float, after: float = 0) -> bool:
        """What comes of a wait, so many times `LASTING_S` after the one before."""
        self.now_s += after * LASTING_S
        return self.is_too_long(wait_s)


@pytest.fixture
def delay(monkeypatch: pytest.MonkeyPatch) -> Delay:
    return Delay(monkeypatch)


def test_in_a_burst_the_longest_wait_is_allowed(delay: Delay):
    assert not delay.refuses(60)
    assert delay.refuses(61)
    assert not delay.refuses(60, after=0.9)


def test_in_an_overload_that_lasts_a_sixth_of_it_is_allowed(delay: Delay):
    assert delay.refuses(61)
    assert delay.refuses(61, after=0.6)
    assert delay.refuses(11, after=0.6)
    assert not delay.refuses(10)
    assert delay.refuses(11, after=0.9)  # refusals of short waits keep it up


def test_it_is_over_when_nobody_was_refused_for_long_enough(delay: Delay):
    for _ in range(3):
        assert delay.refuses(61, after=0.6)
    assert delay.refuses(11)
    assert not delay.refuses(60, after=1.1)
    assert delay.refuses(61)
    assert not delay.refuses(60, after=0.6)  # a burst again


def test_refusals_with_a_rest_between_them_are_bursts(delay: Delay):
    for _ in range(5):
        assert delay.refuses(61, after=1.1)
        assert not delay.refuses(60)

"""Which of two answers judges prefer, and how far they can be believed (WARP, appendix G.1).

A preference is 1 for the method, -1 for the baseline, 0 for neither, and nan where there is no judgement: a reply that
could not be read is no tie. A pair is judged in two orders, with the method's answer first and with it second.
"""

from dataclasses import dataclass
from math import nan

import numpy as np
from numpy.typing import ArrayLike

from warp_core.distributions import FloatArray
from warp_core.errors import InvalidInputError

_VALUES = (-1.0, 0.0, 1.0)


def consistent(method_first: ArrayLike, method_second: ArrayLike) -> FloatArray:
    """The preferences that hold in both orders, shape (n,); whatever depends on the order is a tie.

    Parameters
    ----------
    method_first, method_second : preferences in the two orders, shape (n,). Without one of them there is no judgement.

    Raises
    ------
    InvalidInputError : they differ in length, or hold what is no preference.
    """
    a, b = _paired(method_first, method_second)
    return np.where(np.isnan(a + b), nan, np.where(a == b, a, 0.0))


def majority(votes: ArrayLike) -> FloatArray:
    """What more than half of the panel prefers, shape (n,); a tie where no such majority formed.

    The majority is of the whole panel (3 of 5), also where a voter gave no judgement. Where so few did that none could
    have formed, there is no judgement.

    Parameters
    ----------
    votes : preferences of each voter, shape (voters, n); at least one voter.

    Raises
    ------
    InvalidInputError : there is no voter, or a vote is no preference.
    """
    given = np.asarray(votes, np.float64)
    if given.ndim != 2 or not len(given):
        raise InvalidInputError("votes", f"preferences of at least one voter are needed, got shape {given.shape}")
    _check("votes", given)
    needed = len(given) // 2 + 1
    wins, losses = (given == 1).sum(axis=0), (given == -1).sum(axis=0)
    judged = (~np.isnan(given)).sum(axis=0) >= needed
    return np.where(judged, np.where(wins >= needed, 1.0, np.where(losses >= needed, -1.0, 0.0)), nan)


@dataclass(frozen=True)
class Tally:
    """Wins, losses and ties of a method against the baseline.

    Parameters
    ----------
    unjudged : pairs without a judgement; they count nowhere else.
    fair : W / (W + L), the papers' Fair%, 0 .. 1; nan when no pair was decided.
    win, tie : W / N and T / N, N = W + L + T; nan when N is 0.
    p : of the two-sided sign test. p_greater : of the one-sided one, that the method is preferred: the papers' figure
        (10 wins and 2 losses give their 0.019). Both are 1 when no pair was decided.
    """

    wins: int
    losses: int
    ties: int
    unjudged: int
    fair: float
    win: float
    tie: float
    p: float
    p_greater: float

    @property
    def n(self) -> int:
        """Pairs with a judgement."""
        return self.wins + self.losses + self.ties


def tally(preferences: ArrayLike) -> Tally:
    """Count preferences, shape (n,).

    Raises
    ------
    InvalidInputError : one is no preference.

    Notes
    -----
    Source: WARP, tables 2 and 20.
    """
    given: FloatArray = np.asarray(preferences, np.float64)
    _check("preferences", given)
    wins, losses, ties = (int((given == value).sum()) for value in (1, -1, 0))
    decided, n = wins + losses, wins + losses + ties
    return Tally(
        wins=wins,
        losses=losses,
        ties=ties,
        unjudged=len(given) - n,
        fair=wins / decided if decided else nan,
        win=wins / n if n else nan,
        tie=ties / n if n else nan,
        p=sign_test_p(wins, losses),
        p_greater=sign_test_p(wins, losses, one_sided=True),
    )


def sign_test_p(wins: int, losses: int, *, one_sided: bool = False) -> float:
    """The p-value of so many wins under a fair coin, ties left out; 1 when there are neither wins nor losses.

    Two-sided, or one-sided: that wins are the more likely. Exact, in whole numbers.
    """
    n = wins + losses
    if one_sided:
        return _tail(n, losses)
    return min(1.0, 2 * _tail(n, min(wins, losses)))


def _tail(n: int, most: int) -> float:
    """The probability of at most so many heads in n throws."""
    total = ways = 1
    for heads in range(most):
        ways = ways * (n - heads) // (heads + 1)
        total += ways
    share: float = total / 2**n
    return share


@dataclass(frozen=True)
class Agreement:
    """How far two judges point the same way.

    Parameters
    ----------
    n : pairs in which both prefer one of the answers.
    agreement : share of these in which it is the same one; nan for none.
    kappa : Cohen's, agreement beyond what their leanings alone would give; nan where these leave no room for chance
        (both prefer the same side every time).
    """

    n: int
    agreement: float
    kappa: float


def directional_agreement(first: ArrayLike, second: ArrayLike) -> Agreement:
    """The papers' directional kappa: over the pairs in which both commit to a preference, so that ties do not count.

    kappa = (p_o - p_e) / (1 - p_e); p_o the share of equal preferences, p_e what the two judges' own shares of wins and
    losses would give if they were independent (Cohen 1960).

    Parameters
    ----------
    first, second : preferences of two judges, or of one judge in the two orders, shape (n,).

    Raises
    ------
    InvalidInputError : they differ in length, or hold what is no preference.

    Notes
    -----
    Source: WARP, G.1.2.
    """
    a, b = _paired(first, second)
    both = (np.abs(a) == 1) & (np.abs(b) == 1)
    a, b = a[both], b[both]
    if not len(a):
        return Agreement(0, nan, nan)
    observed = float((a == b).mean())
    wins_a, wins_b = float((a == 1).mean()), float((b == 1).mean())
    expected = wins_a * wins_b + (1 - wins_a) * (1 - wins_b)
    return Agreement(len(a), observed, (observed - expected) / (1 - expected) if expected < 1 else nan)


@dataclass(frozen=True)
class PositionBias:
    """How a judge's preference follows the position.

    Parameters
    ----------
    n : pairs judged in both orders.
    first, second : shares of these in which the answer shown first, or second, was preferred both times.
    consistent : share in which both orders led to the same verdict, ties included. What remains is a preference in one
        order and a tie in the other.
    p : of the two-sided sign test of `first` against `second`.
    """

    n: int
    first: float
    second: float
    consistent: float
    p: float


def position_bias(method_first: ArrayLike, method_second: ArrayLike) -> PositionBias:
    """Compare the preferences of one judge in the two orders, shape (n,); pairs without one of them are left out.

    Raises
    ------
    InvalidInputError : they differ in length, or hold what is no preference.

    Notes
    -----
    Source: WARP, G.1.1, which reports the tie rates that follow from it.
    """
    a, b = _paired(method_first, method_second)
    judged = ~np.isnan(a + b)
    a, b = a[judged], b[judged]
    if not len(a):
        return PositionBias(0, nan, nan, nan, 1.0)
    first, second = (a == 1) & (b == -1), (a == -1) & (b == 1)
    return PositionBias(
        n=len(a),
        first=float(first.mean()),
        second=float(second.mean()),
        consistent=float((a == b).mean()),
        p=sign_test_p(int(first.sum()), int(second.sum())),
    )


def _paired(first: ArrayLike, second: ArrayLike) -> tuple[FloatArray, FloatArray]:
    a: FloatArray = np.asarray(first, np.float64)
    b: FloatArray = np.asarray(second, np.float64)
    if a.shape != b.shape:
        raise InvalidInputError("second", f"{len(a)} preferences are needed, one a pair, got {len(b)}")
    _check("first", a)
    _check("second", b)
    return a, b


def _check(argument: str, given: FloatArray) -> None:
    wrong = given[~(np.isnan(given) | np.isin(given, _VALUES))]
    if len(wrong):
        raise InvalidInputError(argument, f"must be -1, 0, 1 or nan, got {wrong[0]:g}")

from dataclasses import dataclass, field

import pytest

from warp_core import CandidatePool, OpinionScale, TargetDistribution
from warp_core.candidates import Options
from warp_core.greedy import TIE, RunningCost, TransportCost
from warp_core.greedy import take_best as take_best_with

THREE = OpinionScale((0, 1, 2))


@dataclass
class SteadyCost:
    """A running cost that never changes, and a record of what was taken."""

    cost: list[float]
    tie: float = TIE
    taken: list[int] = field(default_factory=list)

    def of_one_more(self) -> list[float]:
        return list(self.cost)

    def add(self, b: int) -> None:
        self.taken.append(b)


def pool(relevance: list[float], bins: list[int]) -> CandidatePool:
    return CandidatePool(relevance, bins, scale=THREE)


def take_best(pool: CandidatePool, k: int, cost: RunningCost, weight: float = 0.0) -> list[int]:
    return take_best_with(pool, k, cost, Options(weight, pool.relevance))


def test_the_cheapest_bin_is_emptied_first_and_most_relevant_first():
    cost = SteadyCost([2, 0, 1])
    assert take_best(pool([0.9, 0.1, 0.2, 0.8], [0, 1, 1, 2]), 4, cost) == [2, 1, 3, 0]
    assert cost.taken == [1, 1, 2, 0]


def test_costs_within_the_tie_are_equal_so_the_more_relevant_wins():
    assert take_best(pool([0.1, 0.9], [0, 1]), 1, SteadyCost([0, 9e-10, 0])) == [1]
    assert take_best(pool([0.1, 0.9], [0, 1]), 1, SteadyCost([0, 2e-9, 0])) == [0]


def test_without_a_tie_every_difference_counts():
    assert take_best(pool([0.1, 0.9], [0, 1]), 1, SteadyCost([0, 1e-12, 0], tie=0)) == [0]


@pytest.mark.parametrize("bins", [[0, 1], [1, 0], [1, 1]])
def test_equals_go_in_input_order(bins):
    assert take_best(pool([0.5, 0.5], bins), 2, SteadyCost([0, 0, 0])) == [0, 1]


def test_relevance_counts_by_its_weight():
    # cost - 0.5 * relevance: 0 - 0.05 against 0.3 - 0.45
    two = pool([0.1, 0.9], [0, 1])
    assert take_best(two, 2, SteadyCost([0, 0.3, 0]), weight=0.5) == [1, 0]
    assert take_best(two, 2, SteadyCost([0, 0.3, 0])) == [0, 1]


@pytest.mark.parametrize(
    ("bins", "k", "expected"),
    [([], 3, []), ([-1, -1], 3, []), ([-1, 2], 3, [1]), ([0, 0], 1, [0]), ([0, 0], 10**30, [0, 1])],
)
def test_no_more_is_taken_than_the_known_bins_hold(bins, k, expected):
    assert take_best(pool([0.5] * len(bins), bins), k, SteadyCost([0, 0, 0])) == expected


def test_transport_cost_of_one_more_is_relative_to_the_lowest_bin():
    # target 1 1 2: D = 4, T = 1 2 4; cost of a list is |C_0*4 - n| + |C_1*4 - 2n|
    running = TransportCost(TargetDistribution.of_counts([1, 1, 2]), THREE)
    # first document, n = 1: bin 0 |4-1| + |4-2| = 5; bin 1 |0-1| + |4-2| = 3; bin 2 |0-1| + |0-2| = 3
    assert running.of_one_more() == [0, 3 - 5, 3 - 5]
    running.add(2)
    # second, n = 2: bin 0 |4-2| + |4-4| = 2; bin 1 |0-2| + |4-4| = 2; bin 2 |0-2| + |0-4| = 6
    assert running.of_one_more() == [0, 2 - 2, 6 - 2]
    running.add(0)
    # third, n = 3, bins 2 and 0 held: bin 0 |8-3| + |8-6| = 7; bin 1 |4-3| + |8-6| = 3; bin 2 |4-3| + |4-6| = 3
    assert running.of_one_more() == [0, 3 - 7, 3 - 7]


def test_transport_cost_weighs_uneven_gaps():
    # gaps 1 and 2: bin 0 |4-1| + 2*|4-2| = 7; bin 1 |0-1| + 2*|4-2| = 5; bin 2 |0-1| + 2*|0-2| = 5
    running = TransportCost(TargetDistribution.of_counts([1, 1, 2]), OpinionScale((0, 1, 3)))
    assert running.of_one_more() == [0, 5 - 7, 5 - 7]

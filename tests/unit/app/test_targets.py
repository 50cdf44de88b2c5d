from collections.abc import Sequence
from datetime import UTC, date, datetime

import pytest

from app.errors import InvalidRequestError
from app.schemas import TargetInput
from app.store.base import CollectionSettings, ExternalTarget, Lookup
from app.store.facets import ALL, of_day, of_group
from app.targets import Population, population_of, target_for, weights_at
from warp_core import SENTIMENT_INTENSITY, TargetDistribution

NOW = datetime(2024, 3, 1, 0, 0, 1, tzinfo=UTC)
THREE = CollectionSettings((-1.0, 0.0, 2.5), None)


def asked(**fields: object) -> TargetInput:
    return TargetInput(**fields)


def days(*ages: int) -> list[str]:
    return [of_day(date.fromordinal(NOW.date().toordinal() - age)) for age in ages]


def found(
    own: Sequence[Sequence[int]], domain: Sequence[Sequence[int]], external: ExternalTarget | None = None
) -> Lookup:
    return Lookup(THREE, True, None, {}, own, domain, external)


def refused_at(target: TargetInput) -> str:
    with pytest.raises(InvalidRequestError) as refused:
        population_of(target, NOW)
    (error,) = refused.value.errors
    return f"{error.pointer}: {error.detail}"


@pytest.mark.parametrize("source", ["auto", "corpus", "external", "uniform"])
def test_without_more_the_population_is_all(source: str):
    assert population_of(asked(source=source)) == Population() == Population((ALL,), (1,), 1)


def test_a_window_takes_today_and_the_days_before_it():
    assert population_of(asked(window="1d"), NOW) == Population([of_day(date(2024, 3, 1))], [1])
    three = population_of(asked(window="3d", source="corpus"), NOW)
    assert three == Population([of_day(d) for d in (date(2024, 3, 1), date(2024, 2, 29), date(2024, 2, 28))], [1] * 3)
    longest = population_of(asked(window="3650d"), NOW)
    assert (len(longest.facets), longest.facets[-1]) == (3650, days(3649)[0])
    assert set(longest.weights) == {1}


def test_an_opinion_of_one_half_life_ago_weighs_half_and_one_of_ten_is_left_out():
    # 2^16 = 65536 for today; the smallest weight is that of age 9: 65536 / 512 = 128
    halved = population_of(asked(half_life="1d"), NOW)
    assert halved == Population(days(*range(10)), [65536, 32768, 16384, 8192, 4096, 2048, 1024, 512, 256, 128], 65536)
    # at an age of 1 of 2 days: 65536 / sqrt(2) = 46340.95
    assert population_of(asked(half_life="2d"), NOW).weights[:5] == [65536, 46341, 32768, 23170, 16384]
    assert len(population_of(asked(half_life="365d"), NOW).facets) == 3650


def test_a_window_bounds_a_half_life():
    assert population_of(asked(half_life="1d", window="3d"), NOW) == Population(
        days(0, 1, 2), [65536, 32768, 16384], 65536
    )
    assert len(population_of(asked(half_life="1d", window="3650d"), NOW).facets) == 10


def test_a_group_is_one_attribute_and_its_value():
    assert population_of(asked(group={"a": ""}), NOW) == Population((of_group("a", ""),))


def test_without_a_moment_the_window_ends_today():
    before = datetime.now(UTC).date()
    newest = population_of(asked(window="1d")).facets[0]
    assert newest in (of_day(before), of_day(datetime.now(UTC).date()))


@pytest.mark.parametrize(
    "given", ["", "d", "0d", "01d", "-1d", "+1d", "1", "1w", "1D", "1.5d", " 1d", "1d ", "1d\n", "٣d", "99999d", "1e2d"]
)
@pytest.mark.parametrize("name", ["window", "half_life"])
def test_days_are_written_in_one_way(name: str, given: str):
    assert refused_at(asked(**{name: given})).startswith(f"/target/{name}: must be days, ")


@pytest.mark.parametrize(("name", "most"), [("window", 3650), ("half_life", 365)])
def test_days_are_bounded(name: str, most: int):
    assert population_of(asked(**{name: f"{most}d"}), NOW)
    assert refused_at(asked(**{name: f"{most + 1}d"})) == (
        f'/target/{name}: must be days, "1d" .. "{most}d", got \'{most + 1}d\''
    )


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"window": "9d", "source": "external"}, "/target/window: does not go with a target of source external"),
        ({"window": "9d", "source": "uniform"}, "/target/window: does not go with a target of source uniform"),
        ({"half_life": "9d", "source": "uniform"}, "/target/half_life: does not go with a target of source uniform"),
        ({"group": {"a": "b"}, "source": "external"}, "/target/group: does not go with a target of source external"),
        ({"window": "9d", "distribution": {"0": 1}}, "/target/window: does not go with a target of distribution"),
        ({"group": {"a": "b"}, "distribution": {}}, "/target/group: does not go with a target of distribution"),
        ({"group": {"a": "b"}, "window": "9d"}, "/target/group: does not go with a window"),
        ({"group": {"a": "b"}, "half_life": "9d"}, "/target/group: does not go with a half_life"),
        (
            {"group": {}},
            '/target/group: must be one attribute and its value, {"traveller": "family"}, got 0',
        ),
        (
            {"group": {"a": "b", "c": "d"}},
            '/target/group: must be one attribute and its value, {"traveller": "family"}, got 2',
        ),
    ],
)
def test_what_does_not_go_together_is_refused_where_it_stands(fields: dict, error: str):
    assert refused_at(asked(**fields)) == error


def test_weighted_counts_are_summed_by_bin():
    population = Population(("one", "two", "three"), (4, 2, 1), 4)
    assert population.counts([[1, 0, 3], [0, 5, 1], [7, 0, 0]]) == [4 + 7, 10, 12 + 2]


def test_the_target_of_a_half_life_is_smoothed_with_the_domain_by_its_weighted_number():
    """Two opinions of today in the first bin and two of yesterday in the last: three by weight, alpha = 3 / 53."""
    population = population_of(asked(half_life="1d", window="2d"), NOW)
    target = target_for(asked(half_life="1d"), found([[2, 0, 0], [0, 0, 2]], [[2, 0, 0], [0, 4, 2]]), population)
    # The domain by weight: 2, 2, 1 of 5. 3/53 * 2/3 + 50/53 * 2/5 = 22/53; 50/53 * 2/5 = 20/53; the rest is 11/53.
    assert (target.rule, target.n, target.alpha) == ("smoothed", 3, 3 / 53)
    assert [weight * 53 for weight in target.weights] == [share * target.total for share in (22, 20, 11)]


def test_an_external_target_wins_over_the_population_unless_a_part_of_that_is_asked_for():
    external = ExternalTarget(THREE.positions, (1.0, 0.0, 3.0))
    lookup = found([[30, 30, 0]], [[60, 60, 60]], external)
    for source in ("auto", "external"):
        target = target_for(asked(source=source), lookup, Population())
        assert (target.rule, target.n, target.shares.tolist()) == ("external", 60, [0.25, 0, 0.75])
    for other in (asked(source="corpus"), asked(window="1d"), asked(group={"a": "b"}), asked(half_life="1d")):
        part = population_of(other, NOW)
        n = len(part.facets)
        rows = found([[30, 30, 0], *[[0, 0, 0]] * (n - 1)], [[60, 60, 60], *[[0, 0, 0]] * (n - 1)], external)
        assert (target_for(other, rows, part).rule, target_for(other, rows, part).shares.tolist()) == (
            "entity",
            [0.5, 0.5, 0],
        )
    uniform = target_for(asked(source="uniform"), lookup, Population())
    assert (uniform.rule, uniform.shares.tolist()) == ("uniform", [1 / 3] * 3)
    given = target_for(asked(distribution={"0": 2, "2.5": 2}), lookup, Population())
    assert (given.rule, given.shares.tolist()) == ("request", [0, 0.5, 0.5])


def test_an_external_target_of_another_scale_counts_as_none():
    stale = ExternalTarget((0.0, 1.0), (1.0, 3.0))
    lookup = found([[30, 30, 0]], [[30, 30, 0]], stale)
    assert target_for(asked(), lookup, Population()).rule == "entity"
    with pytest.raises(InvalidRequestError, match="no external target was given for this entity") as refused:
        target_for(asked(source="external"), lookup, Population())
    assert refused.value.errors[0].pointer == "/target/source"


@pytest.mark.parametrize(
    ("distribution", "pointer", "detail"),
    [
        ({"5": 1}, "/d/5", "must be one of"),
        ({"-30": 1, "nan": 1}, "/d/nan", "must be one of"),
        ({"a/b~": 1}, "/d/a~1b~0", "must be one of"),
        ({"": 1}, "/d/", "must be one of"),
        ({"0": 1, "10": -0.5}, "/d/10", "must not be negative, got -0.5"),
    ],
)
def test_a_weight_that_the_scale_has_no_place_for_is_refused_where_it_stands(
    distribution: dict[str, float], pointer: str, detail: str
):
    with pytest.raises(InvalidRequestError, match=detail) as refused:
        weights_at(distribution, SENTIMENT_INTENSITY, "/d")
    assert [error.pointer for error in refused.value.errors] == [pointer]


def test_weights_of_one_position_in_several_writings_add_up():
    assert weights_at({"10": 1, "10.0": 2, "1e1": 4, "-30": 8}, SENTIMENT_INTENSITY, "/d") == [8, 0, 0, 0, 7, 0, 0]


@pytest.mark.parametrize("distribution", [{}, {"0": 0}, {"0": 0, "2.5": 0.0}])
def test_a_distribution_without_weight_is_refused(distribution: dict[str, float]):
    with pytest.raises(InvalidRequestError) as refused:
        target_for(asked(distribution=distribution), found([[0] * 3], [[0] * 3]), Population())
    assert refused.value.errors[0].pointer == "/target/distribution"


def test_an_external_target_is_kept_exact():
    tenths = ExternalTarget(THREE.positions, (0.1, 0.2, 0.7))
    target = target_for(asked(), found([[0] * 3], [[0] * 3], tenths), Population())
    assert target == TargetDistribution((1, 3, 10), "external")

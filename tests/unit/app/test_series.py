"""Series in memory, and those of several processes."""

import multiprocessing
import os
import re
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from app.series import Block, Counter, Gauge, Histogram


class Few:
    """One family of each kind."""

    def __init__(self, directory: Path | None = None, *, bounds: tuple[float, ...] = (0.5, 2.0)) -> None:
        self.seconds = Histogram("t_seconds", "Times.", bounds, ("route",), [("a",), ("b",)])
        self.seen = Counter("t_seen_total", "Seen.", ("kind",), [("x",), ("y",)])
        self.lost = Counter("t_lost_total", "Lost.")
        self.lag = Gauge("t_lag", "Lag.", max)
        self.up = Gauge("t_up", "Up.", min)
        self.block = Block([self.seconds, self.seen, self.lost, self.lag, self.up], directory)

    def values(self) -> dict[str, float]:
        """Value by series, as Prometheus' own parser reads the text."""
        return {
            s.name + "".join(f" {label}" for label in s.labels.values()): s.value
            for family in text_string_to_metric_families(self.block.text())
            for s in family.samples
        }


def in_a_process(work: Callable[[Path], None], directory: Path) -> multiprocessing.Process:
    """A process that does the work, says so, and then stays until it is ended."""
    done = multiprocessing.get_context("spawn").Event()
    process = multiprocessing.get_context("spawn").Process(target=_work_and_wait, args=(work, directory, done))
    process.start()
    assert done.wait(30)
    return process


def _work_and_wait(work, directory, done):
    kept = work(directory)
    done.set()
    signal.pause()
    del kept


def count_three(directory: Path) -> Few:
    few = Few(directory)
    few.seen.labels("x").inc(3)
    few.seconds.labels("a").observe(1.0)
    few.lag.set(7)
    few.up.set(0)
    return few


def test_buckets_are_cumulative_and_a_bound_belongs_to_its_bucket() -> None:
    few = Few()
    for value in (0.5, 0.50001, 2.0, 3.0):
        few.seconds.labels("a").observe(value)
    # 0.5 | 0.50001, 2.0 | 3.0
    assert {name: value for name, value in few.values().items() if " a" in name} == {
        "t_seconds_bucket a 0.5": 1,
        "t_seconds_bucket a 2.0": 3,
        "t_seconds_bucket a +Inf": 4,
        "t_seconds_count a": 4,
        "t_seconds_sum a": 6.00001,
    }


def test_every_series_stands_at_zero_before_anything_happens() -> None:
    values = Few().values()
    assert len(values) == 2 * 5 + 2 + 1 + 2
    assert set(values.values()) == {0.0}


def test_a_label_value_that_is_not_listed_is_an_error() -> None:
    with pytest.raises(KeyError):
        Few().seen.labels("z")


def test_the_counts_of_all_processes_are_added_and_gauges_merged(tmp_path: Path) -> None:
    few = Few(tmp_path)
    few.seen.labels("x").inc(2)
    few.lag.set(1)
    few.up.set(1)
    other = in_a_process(count_three, tmp_path)
    try:
        values = few.values()
        assert (values["t_seen_total x"], values["t_seconds_count a"]) == (5, 1)
        assert (values["t_lag"], values["t_up"]) == (7, 0)
    finally:
        other.kill()
        other.join()


def test_a_process_that_has_only_begun_says_nothing_of_its_gauges(tmp_path: Path) -> None:
    few = Few(tmp_path)
    few.up.set(1)
    few.lag.set(-1)
    other = in_a_process(Few, tmp_path)
    try:
        values = few.values()
        assert (values["t_lag"], values["t_up"]) == (-1, 1)
    finally:
        other.kill()
        other.join()


def test_of_a_killed_process_the_counts_stay_and_the_gauges_go(tmp_path: Path) -> None:
    few = Few(tmp_path)
    few.lag.set(1)
    few.up.set(1)
    for killed in (1, 2, 3):
        other = in_a_process(count_three, tmp_path)
        os.kill(other.pid, signal.SIGKILL)
        other.join()
        values = few.values()
        assert values["t_seen_total x"] == 3 * killed
        assert (values["t_lag"], values["t_up"]) == (1, 1)
    assert len(list(tmp_path.iterdir())) == 2  # the second and third went on in the file of the first


def test_what_another_version_has_left_is_not_counted(tmp_path: Path) -> None:
    before = Few(tmp_path, bounds=(1.0, 2.0))
    before.seen.labels("x").inc(100)
    assert Few(tmp_path).values()["t_seen_total x"] == 0


def test_a_file_that_has_just_been_made_is_not_counted(tmp_path: Path) -> None:
    few = Few(tmp_path)
    (name,) = tmp_path.iterdir()
    name.with_name(re.sub(r"-0$", "-1", name.name)).touch()
    assert few.values()["t_seen_total x"] == 0

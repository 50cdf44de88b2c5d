"""Short forms of the scoreboard's quick rows; `make reliability` has the long ones, and R8 is the store's model."""

import os
import shutil
from pathlib import Path

import pytest

from loadtest.reliability import convergence, cut_replies, exact_counts, kills, power_cuts
from loadtest.reliability.checking import Findings
from loadtest.reliability.places import STORES
from tests.redis_server import NoServerError, server_command


@pytest.fixture(autouse=True)
def _has_server() -> None:
    try:
        server_command()
    except NoServerError as error:
        if "CI" in os.environ:
            raise
        pytest.skip(str(error))


def assert_exact(findings: Findings) -> None:
    assert findings.acknowledged > 0
    assert (findings.drift, findings.negatives, findings.wrong, findings.astray) == ([], 0, [], 0)


@pytest.mark.parametrize("store", STORES)
async def test_counts_are_exact_while_eight_writers_fight_over_the_same_documents(store: str, tmp_path: Path) -> None:
    result = await exact_counts.run(store, tmp_path, short=True)
    assert result.passed, result.figure


async def test_a_reply_that_never_comes_makes_nothing_count_twice(tmp_path: Path) -> None:
    result = await cut_replies.run("redis", tmp_path, short=True)
    assert result.passed, result.figure


async def test_a_killed_server_has_what_it_acknowledged(tmp_path: Path) -> None:
    findings = await kills.below("redis", tmp_path, "always", 2)
    assert_exact(findings)
    assert findings.lost == []


async def test_replicas_answer_alike_and_right_after_one_was_cut_off(tmp_path: Path) -> None:
    outcome = await convergence.rounds("redis", tmp_path, ["cut off"], 0.2)
    assert_exact(outcome.findings)
    assert outcome.findings.lost == []
    assert (outcome.differing, outcome.disordered, outcome.idle) == (0, 0, [])


@pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no C compiler")
class TestPowerCuts:
    async def test_a_server_that_syncs_each_write_loses_nothing(self, tmp_path: Path) -> None:
        findings, _, _ = await power_cuts.server_cuts(tmp_path, server_command(), "always", 2)
        assert_exact(findings)
        assert findings.lost == []

    async def test_a_server_that_syncs_each_second_loses_the_last_ones_and_no_count(self, tmp_path: Path) -> None:
        findings, unsynced, age_s = await power_cuts.server_cuts(tmp_path, server_command(), "everysec", 2)
        assert_exact(findings)
        assert unsynced > 0
        assert age_s <= power_cuts.MAX_AGE_S

    async def test_a_file_loses_nothing(self, tmp_path: Path) -> None:
        findings, _, _ = await power_cuts.file_cuts(tmp_path, 2)
        assert_exact(findings)
        assert findings.lost == []

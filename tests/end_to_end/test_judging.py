"""The generation evaluation with judges that are known: biases are found, faults told apart, nothing is asked twice."""

import asyncio
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner

from app.cli import app
from app.judging.comparing import Findings, Plan, Role, compare
from app.judging.costs import Price, used
from app.judging.endpoint import Endpoint, EndpointStopError
from app.judging.replies import Replies
from app.judging.report import write_report
from app.judging.results import JudgeQuality, Outcome, Results, results_of
from app.judging.runs import Population, Run, Runs
from tests.end_to_end.process import run, warp_rerank
from tests.judge_server import KEY, JudgeServer, running_judges
from warp_core import InvalidInputError

N = 12
POPULATION = Population(negative=4, neutral=0, positive=6)


@pytest.fixture
def server() -> Iterator[JudgeServer]:
    with running_judges() as opened:
        yield opened


def reviews(question: int, sides: str, words: int = 1) -> list[str]:
    return [f"{'good ' if side == '+' else 'bad '}{'so ' * words}{question}.{i}" for i, side in enumerate(sides)]


def runs(n: int = N) -> Runs:
    """Of the two answers the baseline's is the longer one every other time; `warp` has the population's shares."""
    made = [
        Run(
            f"What of {i}?",
            {"top_k": reviews(i, "+++++", 1 + 2 * (i % 2)), "warp": reviews(i, "+-+-+", 2)},
            "it",
            POPULATION,
        )
        for i in range(n)
    ]
    return Runs(made, "top_k", ["warp"])


def plan(server: JudgeServer, *judges: str, **changes: Any) -> Plan:
    role = Role(server.url, {"temperature": 0})
    whole = {"runs": runs(), "fairness": ("proportional",), "writer": "writer", "writing": role, "judging": role}
    return Plan(**(whole | changes), judges=judges)


def found(plan: Plan, directory: Path, *, timeout_s: float = 10, concurrency: int = 4) -> Findings:
    replies = Replies(directory / "replies.jsonl")

    async def go() -> Findings:
        endpoint = Endpoint("judge", plan.judging.url, KEY, timeout_s, pause_s=0.001)
        try:
            return await compare(plan, endpoint, endpoint, replies, concurrency, lambda _name, _n: lambda: None)
        finally:
            await endpoint.close()

    try:
        return asyncio.run(go())
    finally:
        replies.close()


def judged(plan: Plan, directory: Path, **options: Any) -> tuple[Outcome, list[JudgeQuality], Results]:
    """The outcome of `warp` on fairness, and the judges, of the plan's first sense of fairness."""
    results = results_of(found(plan, directory, **options))
    sense = plan.fairness[0]
    (outcome,) = (o for o in results.outcomes if (o.fairness, o.dimension, o.method) == (sense, "fairness", "warp"))
    return outcome, [judge for judge in results.judges if judge.fairness == sense], results


def test_a_fair_judge_finds_the_better_answer_in_both_orders(server: JudgeServer, tmp_path: Path):
    outcome, (judge,), results = judged(plan(server, "fair"), tmp_path)
    assert (outcome.wins, outcome.losses, outcome.ties, outcome.fair, outcome.win) == (N, 0, 0, 1.0, 1.0)
    assert (outcome.p, outcome.p_greater, outcome.verdict) == (round(2 / 2**N, 6), round(1 / 2**N, 6), "better")
    assert (judge.consistent, judge.first, judge.second, judge.longer) == (1.0, 0.0, 0.0, 0.5)
    assert results.warnings == []
    informative = next(o for o in results.outcomes if o.dimension == "informativeness")
    assert (informative.ties, informative.verdict) == (N, "undecided")


@pytest.mark.parametrize("character", ["first", "second"])
def test_a_judge_that_follows_the_position_is_found_out_and_no_win_is_claimed(
    character: str, server: JudgeServer, tmp_path: Path
):
    outcome, (judge,), results = judged(plan(server, character), tmp_path)
    assert (outcome.wins, outcome.losses, outcome.ties, outcome.verdict) == (0, 0, N, "undecided")
    assert (judge.first, judge.second) == ((1.0, 0.0) if character == "first" else (0.0, 1.0))
    assert (judge.consistent, judge.order_kappa, judge.tie) == (0.0, 0.0, 1.0)
    assert judge.position_p < 0.001
    assert results.warnings == [f"{character} (proportional): 100% of its preferences follow the position"]


def test_a_judge_that_prefers_the_longer_answer_is_found_out(server: JudgeServer, tmp_path: Path):
    outcome, (judge,), results = judged(plan(server, "longer"), tmp_path)
    assert (outcome.wins, outcome.losses, outcome.verdict) == (N // 2, N // 2, "undecided")
    assert (judge.longer, judge.consistent) == (1.0, 1.0)
    assert results.warnings == ["longer (proportional): 100% of its preferences go to the longer answer"]


def test_rubbish_is_counted_apart_and_makes_no_tie(server: JudgeServer, tmp_path: Path):
    outcome, (judge,), results = judged(plan(server, "rubbish"), tmp_path)
    assert judge.unreadable == server.rubbish > 0
    assert judge.judgements == 2 * N - server.rubbish
    assert (outcome.losses, outcome.ties) == (0, 0)
    assert outcome.wins == judge.pairs == N - outcome.unjudged
    assert 0 < outcome.unjudged < N
    assert results.warnings == [
        f"rubbish (proportional): {server.rubbish} of {2 * N} replies could not be read",
    ]


def test_the_majority_of_a_panel_outvotes_a_biased_judge(server: JudgeServer, tmp_path: Path):
    outcome, judges, results = judged(plan(server, "fair", "also fair", "first"), tmp_path)
    assert (outcome.wins, outcome.verdict) == (N, "better")
    assert [judge.tie for judge in judges] == [0.0, 0.0, 1.0]
    agreements = {(a.judge, a.other): (a.n, a.agreement) for a in results.agreements}
    assert agreements == {
        ("fair", "also fair"): (N, 1.0),
        ("fair", "first"): (0, None),
        ("also fair", "first"): (0, None),
    }


def test_two_biased_judges_outvote_a_fair_one(server: JudgeServer, tmp_path: Path):
    outcome, _, _ = judged(plan(server, "fair", "second", "first"), tmp_path)
    assert (outcome.wins, outcome.ties, outcome.verdict) == (0, N, "undecided")


def test_repeats_are_votes_of_their_own(server: JudgeServer, tmp_path: Path):
    outcome, (judge,), _ = judged(plan(server, "fair", repeats=3), tmp_path)
    assert outcome.wins == N
    assert judge.judgements == 3 * 2 * N
    assert server.calls == 2 * N + 3 * 2 * N
    assert set(server.asked.values()) == {1}


def test_each_sense_of_fairness_is_asked_for_itself(server: JudgeServer, tmp_path: Path):
    three = ("generic", "proportional", "coverage")
    uneven = [Run("q", {"top_k": reviews(0, "++++-"), "warp": reviews(0, "+-+-+")}, "it", POPULATION)]
    both = plan(server, "fair", fairness=three, runs=Runs(uneven, "top_k", ["warp"]))
    _, _, results = judged(both, tmp_path)
    wins = {o.fairness: o.wins for o in results.outcomes if o.dimension == "fairness"}
    assert wins == {"generic": 0, "proportional": 1, "coverage": 0}  # both answers hold both views
    assert server.calls == 2 + 3 * 2


def test_equal_answers_are_ties_that_no_judge_is_asked_about(server: JudgeServer, tmp_path: Path):
    same = [Run("q", {"top_k": reviews(0, "+-"), "warp": reviews(0, "+-")}, "it", POPULATION)]
    outcome, (judge,), _ = judged(plan(server, "first", runs=Runs(same, "top_k", ["warp"])), tmp_path)
    assert (outcome.ties, outcome.identical, judge.judgements, judge.missing) == (1, 1, 0, 0)
    assert server.calls == 1


def test_empty_answers_are_reported_and_not_judged(server: JudgeServer, tmp_path: Path):
    outcome, _, results = judged(plan(server, "fair", writer="empty"), tmp_path)
    assert (outcome.ties, outcome.unjudged) == (0, N)
    assert results.warnings == [f"{2 * N} answers are missing or empty; their pairs are unjudged"]
    assert server.calls == 2 * N


def test_a_busy_endpoint_is_waited_for(server: JudgeServer, tmp_path: Path):
    outcome, _, results = judged(plan(server, "busy"), tmp_path)
    assert (outcome.wins, results.warnings) == (N, [])
    times = {content: n for content, n in server.asked.items() if b'"busy"' in content}
    assert set(times.values()) == {2}


def test_an_endpoint_that_wants_an_hour_is_not_waited_for(server: JudgeServer, tmp_path: Path):
    _, _, results = judged(plan(server, "later", runs=runs(1)), tmp_path)
    detail = f"{server.url} answered 429: fault 429, and asks to wait 3600 s"
    assert results.warnings == [f"2 calls for judgements failed (rate limited): {detail}"]
    assert server.calls == 2 + 2


def test_a_call_that_timed_out_is_made_again(server: JudgeServer, tmp_path: Path):
    few = plan(server, "slow", runs=runs(2))
    outcome, _, results = judged(few, tmp_path, timeout_s=0.5)
    assert (outcome.wins, results.warnings) == (2, [])
    assert sorted(server.asked.values()) == [1, 1, 1, 1, 2, 2, 2, 2]


@pytest.mark.parametrize(
    ("character", "kind", "attempts", "detail"),
    [
        ("half broken", "server error", 5, "answered 500: fault 500, 5 times"),
        ("refusing", "refused", 1, "answered 400: fault 400"),
    ],
)
def test_calls_that_fail_are_counted_by_kind_and_asked_again_by_the_next_run(
    character: str, kind: str, attempts: int, detail: str, server: JudgeServer, tmp_path: Path
):
    outcome, (judge,), results = judged(plan(server, character), tmp_path)
    failing = set(server.faulted)
    assert {server.asked[content] for content in failing} == {attempts}
    assert judge.missing == len(failing) > 0
    assert (judge.unreadable, judge.judgements) == (0, 2 * N - len(failing))
    assert outcome.wins + outcome.unjudged == N
    assert results.warnings == [f"{len(failing)} calls for judgements failed ({kind}): {server.url} {detail}"]
    server.asked.clear()
    judged(plan(server, character), tmp_path)
    assert server.asked.keys() <= failing


def test_after_ten_failures_in_a_row_the_rest_is_left_for_another_time(server: JudgeServer, tmp_path: Path):
    outcome, (judge,), results = judged(plan(server, "broken"), tmp_path, concurrency=1)
    assert server.calls == 2 * N + 10 * 5
    assert (outcome.unjudged, judge.missing) == (N, 2 * N)
    assert results.warnings == [
        f"10 calls for judgements failed (server error): {server.url} answered 500: fault 500, 5 times",
        f"{2 * N - 10} further calls for judgements were not made, since too many failed in a row",
    ]


def test_an_endpoint_that_answers_without_a_completion_is_no_unreadable_judge(server: JudgeServer, tmp_path: Path):
    few = plan(server, "no completion", runs=runs(2))
    outcome, (judge,), results = judged(few, tmp_path)
    assert (judge.unreadable, judge.missing, outcome.unjudged) == (0, 4, 2)
    (warning,) = results.warnings
    assert warning.startswith("4 calls for judgements failed (no completion): ")
    assert "upstream is away" in warning


@pytest.mark.parametrize(("character", "said"), [("tells the key", "refused the key"), ("spent", "wants to be paid")])
def test_what_waiting_does_not_help_stops_at_once(character: str, said: str, server: JudgeServer, tmp_path: Path):
    with pytest.raises(EndpointStopError, match=said) as caught:
        found(plan(server, character), tmp_path, concurrency=1)
    assert server.calls == 2 * N + 1
    assert KEY not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_endpoint_that_is_not_there_is_told_as_such(tmp_path: Path):
    with running_judges() as gone:
        pass
    outcome, _, results = judged(plan(gone, "fair", runs=runs(2)), tmp_path)
    assert (outcome.ties, outcome.unjudged) == (0, 2)
    assert results.warnings[0].startswith(f"4 calls for answers failed (unreachable): {gone.url} cannot be reached: ")


def test_a_wrong_path_stops_at_once(server: JudgeServer, tmp_path: Path):
    wrong = Role(f"{server.url}/elsewhere", {})
    with pytest.raises(EndpointStopError, match="answered 404"):
        found(plan(server, "fair", writing=wrong, judging=wrong), tmp_path)
    assert server.calls == 0


def test_the_same_replies_give_the_same_bytes_whatever_order_they_came_in(server: JudgeServer, tmp_path: Path):
    prices = {"fair": Price(2, 8)}
    written = []
    for name in ("once", "again"):
        directory = tmp_path / name
        if name == "again":
            lines = (tmp_path / "once" / "replies.jsonl").read_bytes().splitlines(keepends=True)
            directory.mkdir()
            (directory / "replies.jsonl").write_bytes(b"".join(reversed(lines)))
        findings = found(plan(server, "fair", "rubbish"), directory)
        replies = Replies(directory / "replies.jsonl")
        write_report(findings, results_of(findings), used(findings, replies, prices), directory)
        written.append({f.name: f.read_bytes() for f in directory.iterdir() if f.name != "replies.jsonl"})
    assert server.calls == 2 * N + 2 * 2 * N
    assert written[0] == written[1]
    assert len(written[0]) == 6


def test_tokens_and_costs_are_those_that_the_endpoint_told(server: JudgeServer, tmp_path: Path):
    findings = found(plan(server, "fair"), tmp_path)
    answers, judgements = used(findings, Replies(tmp_path / "replies.jsonl"), {"fair": Price(2, 8)})
    assert (answers.calls, answers.completion_tokens, answers.cost) == (2 * N, 2 * N * 50, None)
    told = sum(len(content) // 4 for content in server.asked if b"as an expert would" in content)
    assert (judgements.prompt_tokens, judgements.without_usage) == (told, 0)
    assert judgements.cost == pytest.approx((told * 2 + 2 * N * 50 * 8) / 1e6, abs=1e-6)


def file_of(runs: Runs, directory: Path) -> Path:
    file = directory / "runs.jsonl"
    file.write_bytes(b"\n".join(map(msgspec.json.encode, runs.runs)))
    return file


def environment(server: JudgeServer) -> dict[str, str]:
    return {
        "WARP_JUDGE_URL": server.url,
        "WARP_JUDGE_KEY": KEY,
        "WARP_JUDGE_MODELS": '["fair"]',
        "WARP_ANSWER_MODEL": "writer",
        "WARP_JUDGE_CONCURRENCY": "1",
    }


def test_a_dry_run_calls_nobody_and_names_the_calls_that_follow(server: JudgeServer, tmp_path: Path):
    arguments = ["judge", str(file_of(runs(3), tmp_path)), "--out", str(tmp_path / "out"), "--price", "fair=1/2"]

    def dry_run() -> str:
        return (
            CliRunner().invoke(app, [*arguments, "--dry-run"], env=environment(server), catch_exceptions=False).stdout
        )

    assert "18 calls to make, 0 replies are kept already" in dry_run()
    assert (server.calls, (tmp_path / "out").exists()) == (0, False)
    done = run(tmp_path, *arguments, **environment(server))
    assert done.returncode == 0, done.stderr
    assert server.calls == 6 + 2 * 2 * 3
    assert server.keys == {f"Bearer {KEY}"}
    assert "| warp | 3/0/0 | 100% | 100% |" in done.stdout
    assert done.stdout == (tmp_path / "out" / "report.md").read_text()
    assert KEY not in done.stdout + done.stderr
    assert "0 calls to make, 18 replies are kept already" in dry_run()


def test_a_killed_run_goes_on_without_asking_anything_twice(server: JudgeServer, tmp_path: Path):
    file, out = file_of(runs(3), tmp_path), tmp_path / "out"
    command = warp_rerank("judge", str(file), "--out", str(out))
    server.hold = 10
    process = subprocess.Popen(command, env={**os.environ, **environment(server)}, stderr=subprocess.DEVNULL)
    try:
        server.wait_for_calls(10)
    finally:
        process.kill()
        process.wait(timeout=20)
    assert len((out / "replies.jsonl").read_bytes().splitlines()) == 9
    server.release()
    done = run(tmp_path, "judge", str(file), "--out", str(out), **environment(server))
    assert done.returncode == 0, done.stderr
    # the call that was under way had no reply yet; no other one came twice
    assert sorted(server.asked.values()) == [1] * 17 + [2]


def test_a_refused_key_ends_the_command_with_one_line_and_status_1(server: JudgeServer, tmp_path: Path):
    arguments = ("judge", str(file_of(runs(1), tmp_path)), "--out", str(tmp_path / "out"), "--judge", "tells the key")
    done = run(tmp_path, *arguments, **environment(server))
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(f"warp-rerank: {server.url} answered 401")
    assert KEY not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "variables", "message"),
    [
        ((), {"WARP_JUDGE_URL": "localhost:8080"}, "judge_url: must begin with http"),
        (
            (),
            {"WARP_JUDGE_URL": "http://me:pw@localhost"},
            "judge_url: must hold no user or password; the key is judge_key",
        ),
        ((), {"WARP_ANSWER_URL": "http://"}, "answer_url: must begin with http"),
        ((), {"WARP_JUDGE_KEY": "two\nlines"}, "judge_key: must be printable ASCII"),
        ((), {"WARP_ANSWER_PARAMETERS": '{"stream": true}'}, "answer_parameters: must not hold stream"),
        ((), {"WARP_JUDGE_MODELS": "[]"}, "judge_models: set WARP_JUDGE_MODELS"),
        (("--fairness", "nice"), {}, "fairness: must be one of generic, proportional, coverage"),
        (("--price", "fair=1"), {}, "price: must be MODEL=PROMPT/COMPLETION"),
        (("--baseline", "mmr"), {}, "runs: runs.jsonl:1: /documents/mmr: the baseline's documents are needed"),
    ],
)
def test_wrong_calls_of_the_command_name_what_is_wrong(
    arguments: tuple[str, ...], variables: dict[str, str], message: str, server: JudgeServer, tmp_path: Path
):
    command = ["judge", str(file_of(runs(1), tmp_path)), "--out", str(tmp_path / "out"), *arguments]
    with pytest.raises(InvalidInputError) as caught:
        CliRunner().invoke(app, command, env=environment(server) | variables, catch_exceptions=False)
    assert str(caught.value).startswith(message)
    assert (server.calls, (tmp_path / "out").exists()) == (0, False)


def test_what_variants_retrieve_is_what_judge_reads(server: JudgeServer, tmp_path: Path):
    documents = [
        {"id": f"d{i}", "text": f"The breakfast was {word} {i}.", "opinions": [{"entity": "Breakfast", "si": si}]}
        for i, (word, si) in enumerate([("good", 20), ("bad", -20), ("good", 30), ("good", 10), ("bad", -30)] * 4)
    ]
    (tmp_path / "reviews.jsonl").write_text("\n".join(map(json.dumps, documents)))
    (tmp_path / "questions.jsonl").write_text('{"query": "Was the breakfast good?"}\n')
    place = ("--collection", "hotels", "--encoder", "wordllama")
    ingested = run(tmp_path, "ingest", "reviews.jsonl", *place)
    assert ingested.returncode == 0, ingested.stderr
    retrieved = run(tmp_path, "retrieve", "questions.jsonl", *place, "--k", "5")
    assert retrieved.returncode == 0, retrieved.stderr
    (line,) = map(json.loads, retrieved.stdout.splitlines())
    assert (line["query"], line["entity"]) == ("Was the breakfast good?", "breakfast")
    assert line["population"] == {"negative": 0.4, "neutral": 0.0, "positive": 0.6}
    texts = {one["text"] for one in documents}
    assert {method: len(found) for method, found in line["documents"].items()} == {"top_k": 5, "auto": 5}
    assert texts.issuperset([*line["documents"]["top_k"], *line["documents"]["auto"]])
    assert sum("bad" in text for text in line["documents"]["auto"]) == 2

    (tmp_path / "runs.jsonl").write_text(retrieved.stdout)
    done = run(tmp_path, "judge", "runs.jsonl", "--out", "out", **environment(server))
    assert done.returncode == 0, done.stderr
    assert "| auto | " in done.stdout

"""Series that stop early, and settings that are fixed beforehand."""

from __future__ import annotations

import json
import random
import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from ggp.labs.papers.reproduce.duels import Duel, play_duel, stored_duel
from ggp.labs.papers.reproduce.results import RunSettings
from ggp.statistics import BETTING, FIXED, FIXED_ROUNDS
from match_runner.cli import main
from match_runner.match.records import MatchRecord
from match_runner.match.referee import play_match
from match_runner.series import holding
from match_runner.series.comparison import ComparisonSummary, summarize
from match_runner.series.holding import read_series, snapshot_of
from match_runner.series.plan import Series, plan_all
from match_runner.series.store import FILE, open_store
from match_runner.series.verdicts import (
    DECIDED,
    FORECAST_ROUNDS,
    SMALL,
    UNDECIDED,
    Forecast,
    StoppingRule,
)
from match_runner.workers.executor import InlineExecutor
from tests.match_runner.series.comparisons import (
    CrashingExecutor,
    StoppedError,
    compared,
    num_matches,
    play,
    series_of,
)
from tests.match_runner.support import arena_of

PLAYERS = ("legal", "random")
"""The first one is better, see `Drawn`."""


# ---------------------------------------------------------------- stopping


@cache
def some_match() -> MatchRecord:
    """What other goals are put into."""
    return play_match(arena_of("kuhn_poker", "player1=legal", "player2=legal"), 0)


class Drawn(InlineExecutor):
    """Plays nothing: who wins is drawn by the seed, and `legal` wins more often.

    Attributes:
        seeds: of the matches it was given.
    """

    def __init__(self) -> None:
        self.seeds: list[int] = []

    def submit(self, function: Callable[..., Any], args: tuple[Any, ...]) -> Future[Any]:
        (task,) = args
        self.seeds.append(task.seed)
        rng = np.random.default_rng((task.seed, list(task.players.values()).index("legal")))
        worse = float(rng.choice([0.0, 50.0, 100.0], p=[0.6, 0.3, 0.1]))
        goals = {r: worse if p == "random" else 100.0 - worse for r, p in task.players.items()}
        future: Future[Any] = Future()
        future.set_result(replace(some_match(), seed=task.seed, goals={**goals, "random": 0.0}))
        return future


class Shuffled(Drawn):
    """As with many processes: matches that are under way end in any order."""

    window: int | None = 7

    def __init__(self) -> None:
        super().__init__()
        self._pending: list[tuple[Future[Any], Any]] = []
        self._rng = random.Random(0)
        self._some = threading.Semaphore(0)
        threading.Thread(target=self._run, daemon=True).start()

    def submit(self, function: Callable[..., Any], args: tuple[Any, ...]) -> Future[Any]:
        future: Future[Any] = Future()
        self._pending.append((future, super().submit(function, args).result()))
        self._some.release()
        return future

    def _run(self) -> None:
        while self._some.acquire():
            future, record = self._pending.pop(self._rng.randrange(len(self._pending)))
            future.set_result(record)


def stopped(
    series: Series,
    folder: Path | None,
    until: StoppingRule,
    executor: InlineExecutor | None = None,
    stop_after: int | None = None,
) -> tuple[ComparisonSummary, tuple[str, ...], list[tuple[Forecast, ...]]]:
    """The summary of a series that stops early, its failures, and its messages."""
    messages: list[Any] = []
    snapshot, failures = play(
        series, folder, executor or Drawn(), stop_after, until, messages.append
    )
    return summarize(snapshot), failures, messages


def timeless(summary: ComparisonSummary) -> dict[str, Any]:
    """Its JSON without times."""
    report: dict[str, Any] = json.loads(json.dumps(summary.to_json()))
    for player in report["players"]:
        for effort in (player["effort"], *(r["effort"] for r in player["by_role"].values())):
            del effort["seconds"]
    for forecast in report["until"]["forecasts"]:
        del forecast["core_hours"]
    return report


def test_it_stops_after_the_same_round_in_whatever_order_matches_end(tmp_path: Path) -> None:
    series = series_of("kuhn_poker", *PLAYERS, rounds=500)
    summary, failures, messages = stopped(series, tmp_path / "one", StoppingRule())
    assert failures == ()
    assert summary.ending is not None
    assert summary.ending.outcome == DECIDED
    assert summary.verdict is not None
    assert summary.verdict.best == "legal"
    assert summary.played == summary.planned == num_matches(tmp_path / "one") < 200
    (forecasts,) = messages
    assert [forecast.difference for forecast in forecasts] == [5, 10, 20]
    rounds_needed = [forecast.rounds or 10**6 for forecast in forecasts]
    assert rounds_needed == sorted(rounds_needed, reverse=True)
    # A round less would not have been enough.
    with open_store(tmp_path / "one", series) as store:
        shorter = replace(summary.ending.until, most=summary.played - 2)
        fewer = replace(series, games=(replace(series.games[0], rounds=summary.played // 2 - 1),))
        shorter_run = snapshot_of(fewer, store, shorter)
    assert shorter_run.ending is not None
    assert shorter_run.ending.outcome == UNDECIDED
    shuffled, _, _ = stopped(series, tmp_path / "many", StoppingRule(), Shuffled())
    assert timeless(shuffled) == timeless(summary)
    assert num_matches(tmp_path / "many") > shuffled.played  # those under way are kept


def test_a_stopped_one_goes_on_and_ends_alike(tmp_path: Path) -> None:
    series = series_of("kuhn_poker", *PLAYERS, rounds=500)
    whole, _, _ = stopped(series, None, StoppingRule())
    with pytest.raises(StoppedError):
        stopped(series, tmp_path, StoppingRule(), stop_after=2 * FORECAST_ROUNDS + 5)
    executor = Drawn()
    resumed, _, messages = stopped(series, tmp_path, StoppingRule(), executor)
    assert len(messages) == 1  # by the first rounds, though these were played before
    assert len(executor.seeds) == whole.played - 2 * FORECAST_ROUNDS - 5
    assert timeless(resumed) == timeless(whole)
    nothing = Drawn()
    over, _, _ = stopped(series, tmp_path, StoppingRule(), nothing)
    assert (timeless(over), nothing.seeds) == (timeless(whole), [])


def test_a_small_difference_ends_it_and_so_does_the_limit() -> None:
    players = {"a": "legal", "b": "legal"}  # who always score the same
    equals = replace(series_of("kuhn_poker", *PLAYERS, rounds=30), players=players)
    small, _, _ = stopped(equals, None, StoppingRule(worth=60.0, most=60))
    assert small.ending is not None
    assert (small.ending.outcome, small.played < 60) == (SMALL, True)
    assert small.verdict is not None
    assert small.verdict.margin is not None
    assert small.verdict.margin < 60
    over, _, _ = stopped(equals, None, StoppingRule(worth=5.0, most=60))
    assert over.ending is not None
    assert (over.ending.outcome, over.played) == (UNDECIDED, 60)


def test_a_match_that_cannot_be_played_ends_it() -> None:
    series = series_of("kuhn_poker", *PLAYERS, rounds=500)
    seed = plan_all(series)[4].seed  # of both matches of the third round
    summary, failures, _ = stopped(series, None, StoppingRule(), CrashingExecutor({seed: 99}))
    assert len(failures) == 1
    assert summary.ending is not None
    assert (summary.ending.outcome, summary.played) == (None, 4)


# ---------------------------------------------------------------- what was fixed beforehand


def methods(summary: ComparisonSummary) -> set[str | None]:
    methods_shown = [player.score.method for player in summary.players]
    return {*methods_shown, *(difference.score.method for difference in summary.differences)}


@pytest.mark.verify
def test_only_a_series_that_was_played_as_planned_was_fixed(tmp_path: Path) -> None:
    series = series_of("kuhn_poker", *PLAYERS, rounds=FIXED_ROUNDS)
    with pytest.raises(StoppedError):
        compared(series, tmp_path / "one", Drawn(), 2 * FIXED_ROUNDS - 1)
    with open_store(tmp_path / "one", series) as store:
        assert methods(summarize(snapshot_of(series, store))) == {BETTING}  # unfinished
    whole, _ = compared(series, tmp_path / "one", Drawn())
    assert methods(whole) == {FIXED}
    longer = replace(series, games=(replace(series.games[0], rounds=FIXED_ROUNDS + 1),))
    extended, _ = compared(longer, tmp_path / "one", Drawn())
    assert methods(extended) == {BETTING}
    # What was seen then cannot be unseen.
    extended_summary, _ = compared(series, tmp_path / "one", Drawn())
    assert methods(extended_summary) == {BETTING}
    fifty = StoppingRule(worth=0.1, most=2 * FIXED_ROUNDS)
    stopped(series, tmp_path / "two", fifty)
    later, _ = compared(series, tmp_path / "two", Drawn())
    assert methods(later) == {BETTING}


def test_a_file_that_does_not_say_what_was_planned_was_not_fixed(tmp_path: Path) -> None:
    series = series_of("kuhn_poker", *PLAYERS, rounds=FIXED_ROUNDS)
    first, _ = compared(series, tmp_path, Drawn())
    connection = sqlite3.connect(tmp_path / FILE)
    with connection:
        connection.execute("DELETE FROM settings WHERE name = 'planned'")
    connection.close()
    old, _ = compared(series, tmp_path, CrashingExecutor())
    assert (methods(first), methods(old)) == ({FIXED}, {BETTING})
    assert [p.score.value for p in old.players] == [p.score.value for p in first.players]


# ---------------------------------------------------------------- commands


@pytest.fixture
def inline(monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def executor_here(*_: object) -> Iterator[InlineExecutor]:
        yield Drawn()

    monkeypatch.setattr(holding, "open_executor", executor_here)


def run(*args: str) -> Result:
    return CliRunner().invoke(main, ["compare", "kuhn_poker", *args], prog_name="match-runner")


def shown_again(folder: Path) -> dict[str, Any]:
    """What `match-runner show --json` says of a series."""
    process = CliRunner().invoke(main, ["show", str(folder), "--json"])
    assert process.exit_code == 0, process.output
    return dict(json.loads(process.stdout))


def test_show_counts_the_matches_that_the_command_did(tmp_path: Path) -> None:
    """Matches that were under way when it was decided are stored, and do not count."""
    until, series = StoppingRule(most=400), series_of("kuhn_poker", *PLAYERS, rounds=200)
    ended, _ = play(series, tmp_path, Shuffled(), until=until)
    snapshot = read_series(tmp_path)
    assert num_matches(tmp_path) > len(snapshot.matches)
    assert snapshot.matches == ended.matches
    assert (snapshot.planned, snapshot.ending) == (ended.planned, ended.ending)


@pytest.mark.usefixtures("inline")
def test_the_command_says_what_it_takes_and_why_it_stopped(tmp_path: Path) -> None:
    args = ("--players", *PLAYERS, "--until", "decided", "--out", str(tmp_path))
    process = run(*args)
    assert process.exit_code == 0, process.output
    messages = [line for line in process.stderr.splitlines() if not line.startswith("note: ")]
    first, *forecasts = messages  # a note: that machine code was compiled
    assert first == "matches needed to show that one player is better than another by"
    assert [line.split(":")[0].strip() for line in forecasts] == [
        "5 points",
        "10 points",
        "20 points",
    ]
    assert all("rounds" in line for line in forecasts)
    method, verdict, ending = process.stdout.splitlines()[-3:]
    assert method.startswith("99 % intervals by betting: valid after any number of rounds")
    assert verdict == "legal is better than the other (99 % confidence)"
    assert ending == f"stopped after {num_matches(tmp_path)} matches: decided"
    report = json.loads(run(*args, "--json").stdout)
    assert shown_again(tmp_path) == report
    assert report["until"]["outcome"] == DECIDED
    assert [entry["difference"] for entry in report["until"]["forecasts"]] == [5, 10, 20]
    assert report["verdict"]["best"] == "legal"
    assert {entry["score"]["method"] for entry in report["players"]} == {BETTING}
    # Other limits may be given, and matches be added, to what was played.
    assert "undecided after 10 matches" in run(*args, "--most", "11").stdout
    assert shown_again(tmp_path)["until"]["most"] == 11
    extended = run("--players", *PLAYERS, "--matches", "4", "--out", str(tmp_path))
    assert ": legal scored most, but " in extended.stdout
    assert shown_again(tmp_path)["until"] is None


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (
            ("--matches", "8", "--until", "decided"),
            "--matches 8 and --until decided exclude each other: leave out --matches, or give "
            "--most 8",
        ),
        ((), "give the number of matches: --matches N, --rounds N, or --until decided"),
        (("--matches", "8", "--worth", "3"), "--worth and --most need --until decided"),
        (("--matches", "8", "--most", "8"), "--worth and --most need --until decided"),
        (
            ("--player", "legal:", "--until", "decided", "--most", "2"),
            "--most 2 is less than one round, 3 matches",
        ),
        (("--until", "bored"), "'bored' is not 'decided'"),
    ],
    ids=["both", "neither", "worth", "most", "round", "other"],
)
def test_options_that_do_not_go_together_are_refused(
    tmp_path: Path, args: tuple[str, ...], message: str
) -> None:
    process = run("--players", *PLAYERS, *args, "--out", str(tmp_path))
    assert process.exit_code == 2
    assert message in process.stderr


# ---------------------------------------------------------------- duels of grids


def test_duels_end_by_themselves_and_show_what_counts(tmp_path: Path) -> None:
    until = StoppingRule(most=400)
    settings = RunSettings(400, False, 0, "auto", tmp_path, until=until)
    duel = Duel("kuhn_poker", PLAYERS, "a")
    calls: list[int] = []
    duel_played = play_duel(duel, settings, Shuffled(), lambda: calls.append(1))
    assert duel_played.progress.ending is not None
    assert duel_played.progress.ending.outcome == DECIDED
    assert len(duel_played.matches) < len(calls)
    duel_stored = stored_duel(duel, settings)
    assert duel_stored is not None
    assert len(duel_stored.matches) == len(duel_played.matches)
    everything = stored_duel(duel, replace(settings, until=None, matches=2))
    assert everything is not None
    assert len(everything.matches) > len(duel_played.matches)
    one_role = Duel("monty_hall", PLAYERS, "b")
    few_matches = replace(settings, matches=10, until=StoppingRule(most=10))
    single = play_duel(one_role, few_matches, InlineExecutor(), lambda: None)
    assert len(single.matches) == 10  # of both players together

"""Comparisons: the file, going on where it stopped, crashes, equal states, what it comes to."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from ggp.errors import ConfigError, MatchError
from match_runner.comparison.executor import WorkerFailedError
from match_runner.comparison.plan import plan_matches
from match_runner.comparison.store import FILE, PlayedMatch, open_store
from match_runner.comparison.summary import summarize
from match_runner.comparison.tries import MAX_TRIES
from match_runner.comparison.worker import Outcome, Task, play
from match_runner.referee import play_match
from tests.match_runner.comparisons import (
    InlineExecutor,
    StoppedError,
    compared,
    num_matches,
    options_of,
    rows_of,
)
from tests.match_runner.support import arena_of

KUHN = ("kuhn_poker", "hyperplay:n=2", "random")


def test_a_stored_match_is_the_one_its_seed_plays(tmp_path: Path) -> None:
    options = options_of(*KUHN, matches=4)
    compared(options, tmp_path)
    with open_store(tmp_path, options) as store:
        stored = store.matches("play")
    assert [match.planned for match in stored] == list(plan_matches(options))
    for match in stored:
        players = [f"{r}={options.players[p]}" for r, p in match.planned.seating.items()]
        record = play_match(arena_of("kuhn_poker", *players), match.planned.seed)
        assert match.outcome.goals == {role: record.goals[role] for role in options.seats}
        assert match.outcome.turns == len(record.turns)
        decided = [turn.decisions[role] for turn in record.turns for role in options.seats]
        assert [(row.move, row.states) for row in match.outcome.decisions] == [
            (decision.move, decision.states_visited) for decision in decided
        ]


@pytest.mark.parametrize("equal_states", [False, True])
def test_a_stopped_run_goes_on_and_gives_the_same_rows(tmp_path: Path, equal_states: bool) -> None:
    players = ("hyperplay:n=3", "hyperplay:n=2")
    options = options_of("kuhn_poker", *players, matches=8, equal_states=equal_states)
    whole, _ = compared(options, tmp_path / "whole")
    total = 8 + 4 * equal_states
    for stop in range(3, total, 3):
        with pytest.raises(StoppedError):
            compared(options, tmp_path / "parts", stop_after=3)
        assert num_matches(tmp_path / "parts") == stop
    parts, _ = compared(options, tmp_path / "parts")
    assert rows_of(tmp_path / "parts") == rows_of(tmp_path / "whole")
    assert parts.differences == whole.differences
    again = InlineExecutor()
    compared(options, tmp_path / "parts", again)
    assert again.seeds == []


def test_matches_stored_out_of_order_change_nothing(tmp_path: Path) -> None:
    options = options_of(*KUHN, matches=6)
    whole, _ = compared(options, tmp_path)
    rows = rows_of(tmp_path)
    connection = sqlite3.connect(tmp_path / FILE)
    with connection:
        for table in ("matches", "decisions"):
            connection.execute(f"DELETE FROM {table} WHERE number IN (0, 3)")
    connection.close()
    again = InlineExecutor()
    found, _ = compared(options, tmp_path, again)
    assert len(again.seeds) == 2
    assert rows_of(tmp_path) == rows
    assert [p.score for p in found.players] == [p.score for p in whole.players]


def test_a_crash_costs_one_match_that_is_played_again(tmp_path: Path) -> None:
    options = options_of(*KUHN, matches=6)
    compared(options, tmp_path / "sound")
    seed = plan_matches(options)[2].seed
    executor = InlineExecutor({seed: MAX_TRIES - 1})
    _, failures = compared(options, tmp_path / "crashing", executor)
    assert failures == ()
    assert len(executor.seeds) == 6 + MAX_TRIES - 1
    assert rows_of(tmp_path / "crashing") == rows_of(tmp_path / "sound")


def test_a_match_that_always_crashes_is_given_up_and_the_others_are_kept(tmp_path: Path) -> None:
    options = options_of(*KUHN, matches=6)
    seed = plan_matches(options)[2].seed
    summary, failures = compared(options, tmp_path, InlineExecutor({seed: 1000}))
    assert summary.played == 4
    assert len(failures) == 2
    assert failures[0] == (
        f"match 2 (seed {seed}) was tried 3 times: a worker process died (signal 9)"
    )
    summary, failures = compared(options, tmp_path)
    assert (summary.played, failures) == (6, ())


def test_other_options_are_refused_by_name(tmp_path: Path) -> None:
    options = options_of(*KUHN, matches=2)
    compared(options, tmp_path)
    other = replace(options, matches=4, seed=7, rotate=False)
    with pytest.raises(ConfigError) as caught, open_store(tmp_path, other):
        pass
    assert str(caught.value) == (
        f"{tmp_path} holds a comparison with other options: --matches was 2 and is now 4; --roles "
        "was rotate and is now fixed; --seed was 0 and is now 7; continue with the same options, "
        "or give another --out"
    )
    with pytest.raises(ConfigError, match="the rules of the game was"):
        compared(replace(options, digest="1"), tmp_path)
    moved = replace(options, game="elsewhere/kuhn_poker.gdl")
    with open_store(tmp_path, moved) as store:
        assert len(store.matches("play")) == 2


def test_a_folder_is_used_by_one_process_at_a_time(tmp_path: Path) -> None:
    options = options_of(*KUHN, matches=2)
    with (
        open_store(tmp_path, options),
        pytest.raises(ConfigError, match="another process is comparing players in"),
        open_store(tmp_path, options),
    ):
        pass


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    options = options_of(*KUHN, matches=2)
    (tmp_path / FILE).write_text("not a database, but long enough to be looked at" * 50)
    with pytest.raises(ConfigError, match=r"cannot use .*: file is not a database"):
        compared(options, tmp_path)


def test_matches_on_another_backend_are_refused(tmp_path: Path) -> None:
    options = options_of(*KUHN, matches=2)
    compared(options, tmp_path)
    connection = sqlite3.connect(tmp_path / FILE)
    with connection:
        connection.execute("DELETE FROM decisions WHERE number = 1")
        connection.execute("DELETE FROM matches WHERE number = 1")
        connection.execute("UPDATE matches SET backend = 'abacus'")
    connection.close()
    with pytest.raises(MatchError, match="those stored on abacus"):
        compared(options, tmp_path)


def test_a_rulesheet_that_changes_ends_the_run() -> None:
    task = Task("kuhn_poker", "0", "auto", {"player1": "legal", "player2": "legal"}, 1)
    with pytest.raises(MatchError, match="kuhn_poker was changed while its players"):
        play(task)
    assert issubclass(WorkerFailedError, MatchError)


# ---------------------------------------------------------------- equal states


def test_equal_states_are_measured_given_and_reported(tmp_path: Path) -> None:
    players = ("hyperplay:n=3", "hyperplay2:n=2")
    options = options_of("krieg_tic_tac_toe", *players, matches=2, equal_states=True)
    summary, _ = compared(options, tmp_path)
    with open_store(tmp_path, options) as store:
        (measured,) = store.matches("measure")
        found = store.matches("play")
    assert {row.role for row in measured.outcome.decisions} == {"xplayer", "oplayer"}
    connection = sqlite3.connect(tmp_path / FILE)
    specs = [row[0] for row in connection.execute("SELECT players FROM matches ORDER BY kind")]
    connection.close()
    assert all("hyperplay2:n=2,states=" in spec for spec in specs[1:])
    assert "states=" not in specs[0].replace("hyperplay2:n=2,states=", "")
    assert summary.equal_states
    for row in summary.equal_states:
        costs = [
            decision.states
            for decision in measured.outcome.decisions
            if (decision.role, decision.turn) == (row.role, row.turn) and decision.candidates > 1
        ]
        assert costs in ([], [row.budget])
        for player in (0, 1):
            visited = [
                decision.states
                for match in found
                for decision in match.outcome.decisions
                if match.planned.seating[decision.role] == player
                and (decision.role, decision.turn) == (row.role, row.turn)
                and decision.candidates > 1
            ]
            assert row.decisions[player] == len(visited)
            assert row.visited[player] == (sum(visited) / len(visited) if visited else None)


# ---------------------------------------------------------------- what it comes to


def test_scores_contests_and_differences_add_up() -> None:
    options = options_of(*KUHN, matches=4)
    goals = [(75, 25), (0, 100), (25, 75), (50, 50)]  # of player1 and player2
    matches = [
        PlayedMatch(
            planned,
            Outcome("propnet", {"player1": a, "player2": b}, 3, ("late",) * (a == 50), 0, 0.0, ()),
        )
        for planned, (a, b) in zip(plan_matches(options), goals, strict=True)
    ]
    summary = summarize(options, matches, None)
    first, second = summary.players
    assert (first.wins, first.draws, first.losses) == (2, 1, 1)
    assert (second.wins, second.draws, second.losses) == (1, 1, 2)
    assert first.score.value == ((75 + 100) / 2 + (25 + 50) / 2) / 2
    assert first.by_role["player1"][0].value == 50
    (difference,) = summary.differences
    assert difference.score.value == ((175 - 25) / 2 + (75 - 125) / 2) / 2
    assert difference.rounds == 2
    assert summary.faulty == ((3, ("late",)),)
    part = summarize(options, matches[:3], None)
    assert (part.played, part.differences[0].rounds) == (3, 1)
    assert summarize(options, [], None).players[0].score.value is None


def test_players_of_a_game_of_one_role_are_compared_on_the_same_seeds(tmp_path: Path) -> None:
    options = options_of("exploding_bomb", "hyperplay2:n=3", "legal", matches=12)
    summary, _ = compared(options, tmp_path)
    knowing, blind = summary.players
    assert knowing.score.value == 90
    assert knowing.wins + knowing.draws + knowing.losses == 6
    assert (knowing.wins, knowing.losses) == (blind.losses, blind.wins)
    assert knowing.effort.decisions == 12
    assert knowing.effort.states is not None
    assert knowing.effort.states > 0

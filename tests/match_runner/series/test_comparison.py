"""Series: the file, resuming, crashes, equal states, and the summary."""

from __future__ import annotations

import json
import re
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from ggp.belief.policy_models import write_strategies
from ggp.errors import ConfigError, MatchError, ResultsError
from ggp.gdl.games import find_game
from ggp.run.clocks import Clock
from match_runner.match.records import Fault, MatchRecord
from match_runner.match.referee import play_match
from match_runner.series.comparison import ComparisonSummary, summarize
from match_runner.series.holding import Snapshot, run_series
from match_runner.series.outcomes import Played
from match_runner.series.plan import MEASURE, PLAY, Series, plan_all
from match_runner.series.store import FILE, open_store
from match_runner.workers.executor import MAX_TRIES, InlineExecutor
from tests.match_runner.series.comparisons import (
    CrashingExecutor,
    StoppedError,
    compared,
    num_matches,
    rows_of,
    series_of,
    stored,
)
from tests.match_runner.support import arena_of, timeless

KUHN = ("kuhn_poker", "hyperplay:n=2", "random")


def longer(series: Series, rounds: int) -> Series:
    return replace(series, games=tuple(replace(game, rounds=rounds) for game in series.games))


def test_a_stored_match_is_the_one_its_seed_plays(tmp_path: Path) -> None:
    series = series_of(*KUHN, rounds=2)
    compared(series, tmp_path)
    matches = stored(series, tmp_path)
    assert [match.planned for match in matches] == list(plan_all(series))
    for match in matches:
        players = [f"{r}={series.names[p]}" for r, p in match.planned.seating.items()]
        record = play_match(arena_of("kuhn_poker", *players), match.planned.seed)
        assert timeless(match.record) == timeless(record)
        assert match.record.rules == series.games[0].program.source.text


@pytest.mark.parametrize("equal_states", [False, True])
def test_a_stopped_run_goes_on_and_gives_the_same_rows(tmp_path: Path, equal_states: bool) -> None:
    players = ("hyperplay:n=3", "hyperplay:n=2")
    series = series_of("kuhn_poker", *players, rounds=4, equal_states=equal_states)
    whole, _ = compared(series, tmp_path / "whole")
    total = 8 + 4 * equal_states
    for stop in range(3, total, 3):
        with pytest.raises(StoppedError):
            compared(series, tmp_path / "parts", stop_after=3)
        assert num_matches(tmp_path / "parts") == stop
    parts, _ = compared(series, tmp_path / "parts")
    assert rows_of(tmp_path / "parts") == rows_of(tmp_path / "whole")
    assert parts.differences == whole.differences
    executor = CrashingExecutor()
    compared(series, tmp_path / "parts", executor)
    assert executor.seeds == []


def test_matches_stored_out_of_order_change_nothing(tmp_path: Path) -> None:
    series = series_of(*KUHN, rounds=3)
    whole, _ = compared(series, tmp_path)
    rows = rows_of(tmp_path)
    connection = sqlite3.connect(tmp_path / FILE)
    with connection:
        connection.execute("DELETE FROM matches WHERE number IN (0, 3)")
    connection.close()
    executor = CrashingExecutor()
    summary, _ = compared(series, tmp_path, executor)
    assert len(executor.seeds) == 2
    assert rows_of(tmp_path) == rows
    assert [p.score for p in summary.players] == [p.score for p in whole.players]


@pytest.mark.parametrize("equal_states", [False, True])
def test_matches_are_added_to_a_finished_series(tmp_path: Path, equal_states: bool) -> None:
    players = ("hyperplay:n=3", "hyperplay:n=2")
    short = series_of("kuhn_poker", *players, rounds=2, equal_states=equal_states)
    compared(short, tmp_path)
    executor = CrashingExecutor()
    summary, _ = compared(longer(short, 5), tmp_path, executor)
    assert summary.played == 10
    assert len(executor.seeds) == 6
    assert len(stored(short, tmp_path, MEASURE)) == 2 * equal_states  # as it was begun
    shorter, _ = compared(short, tmp_path, executor)
    assert (shorter.played, shorter.planned, len(executor.seeds)) == (4, 4, 6)


def test_a_crash_costs_one_match_that_is_played_again(tmp_path: Path) -> None:
    series = series_of(*KUHN, rounds=3)
    compared(series, tmp_path / "sound")
    seed = plan_all(series)[2].seed
    executor = CrashingExecutor({seed: MAX_TRIES - 1})
    _, failures = compared(series, tmp_path / "crashing", executor)
    assert failures == ()
    assert len(executor.seeds) == 6 + MAX_TRIES - 1
    assert rows_of(tmp_path / "crashing") == rows_of(tmp_path / "sound")


def test_a_match_that_always_crashes_is_given_up_and_the_others_are_kept(tmp_path: Path) -> None:
    series = series_of(*KUHN, rounds=3)
    seed = plan_all(series)[2].seed
    summary, failures = compared(series, tmp_path, CrashingExecutor({seed: 1000}))
    assert summary.played == 4
    assert len(failures) == 2
    assert failures[0] == (
        f"match 2 (seed {seed}) was tried 3 times: a worker process died (signal 9)"
    )
    summary, failures = compared(series, tmp_path)
    assert (summary.played, failures) == (6, ())


def test_other_settings_are_refused_by_name(tmp_path: Path) -> None:
    series = series_of(*KUHN)
    compared(series, tmp_path)
    other_series = replace(series, seed=7, rotate=False, backend="prolog")
    with pytest.raises(ConfigError) as caught, open_store(tmp_path, other_series):
        pass
    assert str(caught.value) == (
        f"{tmp_path} holds a series with other settings: roles was rotate and is now fixed; seed "
        "was 0 and is now 7; backend was auto and is now prolog; continue with the same settings, "
        "or give another --out"
    )
    swapped = replace(series, players=dict(reversed(list(series.players.items()))))
    with pytest.raises(ConfigError, match="players was hyperplay:n=2 random and is now random hyp"):
        compared(swapped, tmp_path)
    (game,) = series.games
    rules = game.program.as_program()
    changed = replace(game, program=replace(rules, rules=rules.rules[:-1]))
    with pytest.raises(ConfigError, match=r"games\.kuhn_poker\.rules was"):
        compared(replace(series, games=(changed,)), tmp_path)


def test_a_file_that_a_player_reads_must_stay_the_same(tmp_path: Path) -> None:
    file, folder = str(tmp_path / "told.json"), tmp_path / "series"
    write_strategies(file, {"player1": {(): {"bet": 1.0}}})
    series = series_of("kuhn_poker", f"policy:file={file}", "random")
    compared(series, folder)
    compared(series, folder)
    write_strategies(file, {"player1": {(): {"check": 1.0}}})
    with pytest.raises(ConfigError, match=rf"other settings: files\.{re.escape(file)} was \w+ and"):
        compared(series, folder)


def test_clocks_are_not_mixed(tmp_path: Path) -> None:
    series = series_of(*KUHN)
    summary, _ = compared(series, tmp_path)
    assert summary.to_json()["options"]["clock"] == "wall"
    (game,) = series.games
    on_cpu = replace(game, conditions=replace(game.conditions, clock=Clock.CPU))
    changed = replace(series, games=(on_cpu,))
    with pytest.raises(ConfigError, match=r"games\.kuhn_poker\.clock was wall and is now cpu"):
        compared(changed, tmp_path)
    summary, _ = compared(changed, tmp_path / "cpu")
    assert summary.to_json()["options"]["clock"] == "cpu"


def test_a_folder_is_used_by_one_process_at_a_time(tmp_path: Path) -> None:
    series = series_of(*KUHN)
    with (
        open_store(tmp_path, series),
        pytest.raises(ConfigError, match="another process plays a series in"),
        open_store(tmp_path, series),
    ):
        pass


def test_files_and_folders_of_something_else_are_refused(tmp_path: Path) -> None:
    series = series_of(*KUHN)
    (tmp_path / FILE).write_text("not a database, but long enough to be looked at" * 50)
    with pytest.raises(ConfigError, match=r"cannot use .*: file is not a database"):
        compared(series, tmp_path)
    (tmp_path / FILE).unlink()
    with sqlite3.connect(tmp_path / FILE) as connection:
        connection.execute("CREATE TABLE cats (name TEXT)")
    with pytest.raises(ConfigError, match="is not a series of matches"):
        compared(series, tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot use the folder"):
        compared(series, tmp_path / "file")


def test_matches_on_another_backend_are_refused(tmp_path: Path) -> None:
    series = series_of(*KUHN)
    compared(series, tmp_path)
    connection = sqlite3.connect(tmp_path / FILE)
    with connection:
        connection.execute("DELETE FROM matches WHERE number = 1")
        connection.execute("UPDATE matches SET record = json_set(record, '$.backend', 'abacus')")
    connection.close()
    with pytest.raises(MatchError, match="but stored matches on abacus"):
        compared(series, tmp_path)


@pytest.mark.verify
def test_a_series_goes_on_with_the_backend_that_auto_chose_at_first(tmp_path: Path) -> None:
    first = series_of(*KUHN, backend="prolog")
    compared(first, tmp_path)
    with sqlite3.connect(tmp_path / FILE) as connection:  # as if it had been left to `auto`
        connection.execute("UPDATE settings SET value = '\"auto\"' WHERE name = 'backend'")
    connection.close()
    longer = series_of(*KUHN, rounds=2)
    anew, _ = compared(longer, tmp_path / "anew")
    assert (longer.backend, anew.backend) == ("auto", "propnet")  # what it would choose now
    summary, _ = compared(longer, tmp_path)
    assert (summary.played, summary.backend) == (4, "prolog")
    with open_store(tmp_path, longer) as store:
        assert {match.record.backend for match in store.matches()} == {"prolog"}
    on_prolog = compared(replace(longer, backend="prolog"), tmp_path / "named")[0]
    assert [player.score for player in summary.players] == [
        player.score for player in on_prolog.players
    ]


def test_the_views_answer_questions_in_sql(tmp_path: Path) -> None:
    series = series_of(*KUHN, rounds=2)
    compared(series, tmp_path)
    connection = sqlite3.connect(tmp_path / FILE)
    scores = connection.execute("SELECT number, role, player, plays, goal FROM scores").fetchall()
    rows = connection.execute(
        "SELECT number, turn, role, player, move, candidates, states FROM decisions"
    ).fetchall()
    connection.close()
    matches = stored(series, tmp_path)
    assert sorted(scores, key=repr) == sorted(
        (
            (m.planned.number, role, seat, None if seat is None else series.names[seat], goal)
            for m in matches
            for role, goal in m.record.goals.items()
            for seat in [m.planned.seating.get(role)]
        ),
        key=repr,
    )
    assert sorted(rows) == sorted(
        (
            m.planned.number,
            turn,
            role,
            m.planned.seating[role],
            d.move,
            len(d.values),
            d.states_visited,
        )
        for m in matches
        for turn, role, d in m.decisions()
    )


# ---------------------------------------------------------------- equal states


def test_equal_states_are_measured_given_and_reported(tmp_path: Path) -> None:
    players = ("hyperplay:n=3", "hyperplay2:n=2")
    series = series_of("krieg_tic_tac_toe", *players, equal_states=True)
    summary, _ = compared(series, tmp_path)
    (measured,) = stored(series, tmp_path, MEASURE)
    matches = stored(series, tmp_path)
    assert {role for _, role, _ in measured.decisions()} == {"xplayer", "oplayer"}
    assert set(measured.record.players.values()) == {"hyperplay:n=3"}
    for match in matches:
        for role, player in match.planned.seating.items():
            spec = match.record.players[role]
            assert spec.startswith(players[player])
            assert ("states=" in spec) == (player == 1)
    assert summary.equal_states
    for row in summary.equal_states:
        costs = [
            decision.states_visited
            for turn, role, decision in measured.decisions()
            if (role, turn) == (row.role, row.turn) and len(decision.values) > 1
        ]
        assert costs in ([], [row.budget])
        for player in (0, 1):
            visited = [
                decision.states_visited
                for match in matches
                for turn, role, decision in match.decisions()
                if match.planned.seating[role] == player
                and (role, turn) == (row.role, row.turn)
                and len(decision.values) > 1
            ]
            assert row.decisions[player] == len(visited)
            assert row.visited[player] == (sum(visited) / len(visited) if visited else None)


# ---------------------------------------------------------------- what it comes to


def summary_of(series: Series, matches: list[Played]) -> ComparisonSummary:
    return summarize(Snapshot(series, len(plan_all(series)), matches, {}))


def scored(series: Series, *goals: tuple[float, float], fault: int = -1) -> list[Played]:
    """Matches of kuhn_poker with these goals, one of them with a fault."""
    blank = play_match(arena_of("kuhn_poker", "player1=legal", "player2=legal"), 0)
    matches = []
    for planned, (a, b) in zip(plan_all(series), goals, strict=False):
        faults = (Fault(0, "player1", "late", "late"),) * (planned.number == fault)
        turns = (replace(blank.turns[0], faults=faults), *blank.turns[1:])
        record = replace(blank, turns=turns, goals={"player1": a, "player2": b, "random": 0})
        matches.append(Played(planned, record))
    return matches


def failing(match: Played) -> Played:
    record: MatchRecord = replace(match.record, error="it broke")
    return replace(match, record=record)


GOALS = ((75, 25), (0, 100), (25, 75), (50, 50))


def test_scores_contests_and_differences_add_up() -> None:
    series = series_of(*KUHN, rounds=2)
    matches = scored(series, *GOALS, fault=3)
    summary = summary_of(series, matches)
    first, second = summary.players
    assert (first.tally.wins, first.tally.draws, first.tally.losses) == (2, 1, 1)
    assert (second.tally.wins, second.tally.draws, second.tally.losses) == (1, 1, 2)
    assert first.score.value == ((75 + 100) / 2 + (25 + 50) / 2) / 2
    assert first.by_role["player1"][0].value == 50
    (difference,) = summary.differences
    assert difference.score.value == ((175 - 25) / 2 + (75 - 125) / 2) / 2
    assert difference.rounds == 2
    assert summary.faulty == ((3, ("turn 1, player1: late",)),)
    part = summary_of(series, matches[:3])
    assert (part.played, part.differences[0].rounds) == (3, 1)
    assert summary_of(series, []).players[0].score.value is None


def test_a_match_that_failed_scores_nothing_for_anybody() -> None:
    series = series_of(*KUHN, rounds=2)
    matches = scored(series, *GOALS)
    summary = summary_of(series, [*matches[:3], failing(matches[3])])
    first, second = summary.players
    assert (first.tally.wins, first.tally.draws, first.tally.losses) == (2, 0, 1)
    assert second.score.value == ((25 + 0) / 2 + 75) / 2
    assert summary.differences[0].rounds == 1
    assert summary.played == 4
    assert summary.faulty == ((3, ("after turn 3: it broke",)),)
    json.dumps(summary.to_json())


def test_players_of_a_game_of_one_role_are_compared_on_the_same_seeds(tmp_path: Path) -> None:
    series = series_of("exploding_bomb", "hyperplay2:n=3", "legal", rounds=6)
    summary, _ = compared(series, tmp_path)
    knowing, blind = summary.players
    assert knowing.score.value == 90
    assert knowing.tally.wins + knowing.tally.draws + knowing.tally.losses == 6
    assert (knowing.tally.wins, knowing.tally.losses) == (blind.tally.losses, blind.tally.wins)
    assert knowing.effort.decisions == 12
    assert knowing.effort.states is not None
    assert knowing.effort.states > 0


def test_a_kept_role_is_played_by_one_and_compared_with_nobody(tmp_path: Path) -> None:
    series = series_of("kuhn_poker", "legal", "random", rounds=3)
    games = tuple(replace(game, fixed={"player2": "hyperplay:n=2"}) for game in series.games)
    series = replace(series, games=games)
    summary, _ = compared(series, tmp_path)
    for match in stored(series, tmp_path, PLAY):
        assert match.record.players["player2"] == "hyperplay:n=2"
        assert match.planned.seating.keys() == {"player1"}
    assert summary.played == 6
    assert all(player.by_role.keys() == {"player1"} for player in summary.players)
    assert summary.players[0].tally.wins + summary.players[0].tally.losses <= 3


def test_a_series_knows_a_game_by_its_rules_and_not_by_its_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = find_game("kuhn_poker").read_text()
    (tmp_path / "cards.gdl").write_text(rules)
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path)
    players = ("legal", "random")
    first, _ = compared(series_of("cards.gdl", *players), Path("out"))
    monkeypatch.chdir("below")
    longer, failures = compared(series_of("../cards.gdl", *players, rounds=2), Path("../out"))
    assert (first.played, longer.played, failures) == (2, 4, ())
    monkeypatch.chdir(tmp_path)
    repeated, _ = compared(
        series_of("cards.gdl", *players, rounds=2), Path("out"), CrashingExecutor()
    )
    assert repeated.played == 4
    changed = rules.replace("(goal ?p 75)", "(goal ?p 70)")
    assert changed != rules
    (tmp_path / "other.gdl").write_text(changed)
    with pytest.raises(ConfigError, match=r"games\.cards\.gdl was there and is now not there"):
        compared(series_of("other.gdl", *players), Path("out"))


def played_without_room(series: Series, folder: Path) -> None:
    """Play as if the disk was full as soon as the file was made."""
    with open_store(folder, series) as store:
        (pages,) = store._connection.execute("PRAGMA page_count").fetchone()
        store._connection.execute(f"PRAGMA max_page_count = {pages}")
        run_series(series, store, InlineExecutor(), lambda match: None)


def test_a_full_disk_is_no_wrong_input(tmp_path: Path) -> None:
    series = series_of("kuhn_poker", "legal", "random", rounds=20)
    with pytest.raises(ResultsError, match="database or disk is full") as caught:
        played_without_room(series, tmp_path)
    assert not isinstance(caught.value, ConfigError)  # which is exit code 2
    assert f"cannot keep results in {tmp_path / FILE}" in str(caught.value)
    summary, failures = compared(longer(series, 2), tmp_path)
    assert (summary.played, failures) == (4, ())
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / FILE).write_text("no database at all" * 100)
    with pytest.raises(ConfigError, match=r"cannot use .*file is not a database"):
        compared(series, tmp_path / "odd")

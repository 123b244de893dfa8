"""`match-runner reproduce strength` and `clock`: grids of which any part may be played."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from matplotlib.image import imread

from ggp.errors import ConfigError
from ggp.gdl import list_games
from ggp.labs.kriegspiel.experiment import experiment as kriegspiel
from ggp.labs.openspiel.twins import twins
from ggp.labs.papers.reproduce import cli, clock, strength
from ggp.labs.papers.reproduce.duels import Duel, play_duel, stored_duel
from ggp.labs.papers.reproduce.grid import (
    DuelGrid,
    cell_text,
    selected,
    shares_of,
    sign_of,
)
from ggp.labs.papers.reproduce.results import Claim, RunSettings
from ggp.labs.papers.reproduce.results import Result as Made
from ggp.machine.base import is_open, player_roles
from ggp.run.whole_files import locked
from match_runner.cli import main
from match_runner.match.records import MatchRecord
from match_runner.series.match_task import MatchTask
from match_runner.series.verdicts import StoppingRule
from match_runner.workers.executor import InlineExecutor
from tests.support.games import machine_of_game

SMALL = tuple(
    Duel(game, pair, f"strength/{game}/{'-'.join(pair)}", play_clock_s=0.1)
    for pair in (("auto", "hyperplay2"), ("hyperplay", "hyperplay2"))
    for game in ("breakthrough", "kuhn_poker")
)
QUICK = tuple(
    Duel(game, ("random", "hyperplay"), f"strength/{game}/random-hyperplay")
    for game in ("kuhn_poker", "monty_hall")
)


def grid_of(duels: Sequence[Duel]) -> DuelGrid:
    return replace(strength.STRENGTH, duels=lambda: duels)


def settings(folder: Path, matches: int = 4, **changes: object) -> RunSettings:
    run_settings = RunSettings(matches, long=False, seed=0, backend="auto", folder=folder)
    return replace(run_settings, **changes)  # type: ignore[arg-type]


class BreakingOff(InlineExecutor):
    """Breaks matches off after some turns, and calls them drawn."""

    def submit(self, function: Callable[..., Any], args: tuple[Any, ...]) -> Future[Any]:
        def started(task: MatchTask) -> MatchRecord:
            conditions = replace(task.conditions, max_turns=60)
            record: MatchRecord = function(replace(task, conditions=conditions))
            return replace(record, error=None, goals=dict.fromkeys(record.roles, 50.0))

        return super().submit(started, args)


def grid_result(
    grid: DuelGrid, run_settings: RunSettings, executor: InlineExecutor | None = None
) -> tuple[Made, int]:
    """The result of a grid, and the number of matches that it reported."""
    steps: list[int] = []
    result = grid.run(run_settings, executor or InlineExecutor(), lambda: steps.append(1))
    return result, len(steps)


def claims_of(result: Made) -> dict[str, Claim]:
    return {claim.text: claim for claim in result.claims}


# ---------------------------------------------------------------- the grids


def test_every_player_meets_each_opponent_once_in_every_game_that_it_may_play() -> None:
    duels = strength.duels()
    assert len({duel.folder for duel in duels}) == len(duels)
    assert all(":" not in duel.folder for duel in duels)
    meetings = [(duel.game, frozenset(duel.players)) for duel in duels]
    assert len(set(meetings)) == len(meetings)
    for opponent in strength.OPPONENTS:
        for player in set(strength.PLAYERS) - {opponent}:
            games = {game for game, pair in meetings if pair == {opponent, player}}
            may = {game for game in strength.GAMES if strength.may_play(player, game)}
            assert games == (set() if {opponent, player} == {"auto", "mcts"} else may)
    assert {duel.play_clock_s for duel in duels} == {0.3}


def test_the_games_of_the_grid_are_what_they_are_taken_for() -> None:
    assert set(strength.GAMES) <= set(list_games())
    assert set(strength.PEER_GAMES) == set(strength.GAMES).intersection(twins())
    for game in strength.GAMES:
        machine = machine_of_game(game, "propnet")
        assert (len(player_roles(machine)) == 1) == (game in strength.LONELY_GAMES)
        assert is_open(machine) == (game in strength.PLAIN_GAMES)


def test_hyperplay2_has_two_clocks_in_five_games() -> None:
    clocks = [(d.game, d.play_clock_s) for d in clock.duels() if d.players[0] == "hyperplay2"]
    assert clocks == [(game, s) for s in (1.0, 3.0) for game in clock.GAMES]
    assert len(clock.GAMES) == 5


def test_parts_of_a_grid_can_be_named() -> None:
    def of(*only: str) -> list[tuple[str, str]]:
        return [(duel.game, "-".join(duel.players)) for duel in selected(SMALL, only)]

    assert len(of()) == 4
    assert of("kuhn_poker", "hyperplay") == [("kuhn_poker", "hyperplay-hyperplay2")]
    assert len(of("hyperplay2")) == 4
    assert of("auto", "hyperplay", "kuhn_poker") == []
    assert [game for game, _ in of("auto", "hyperplay2", "0.1s")] == ["breakthrough", "kuhn_poker"]
    with pytest.raises(ConfigError, match="nothing called 'chess'; games: breakthrough, kuhn"):
        of("chess")
    with pytest.raises(ConfigError, match=r"nothing called 'hyperplau' \(did you mean 'hyperplay'"):
        of("hyperplau")


def test_players_of_a_grid_have_short_names() -> None:
    selection = selected(
        kriegspiel.duels(), ["papers", "over 2", "random"], kriegspiel.KRIEGSPIEL.short
    )
    assert {duel.budget for duel in selection} == {"papers"}
    assert {tuple(map(kriegspiel.KRIEGSPIEL.short, duel.players)) for duel in selection} == {
        ("over 2", "random")
    }


@pytest.mark.verify
def test_shares_are_fifty_where_players_are_equal(tmp_path: Path) -> None:
    cells = {
        duel.game: play_duel(duel, settings(tmp_path, 12), InlineExecutor(), lambda: None)
        for duel in QUICK
    }
    for cell in cells.values():
        shares, opponent_shares = shares_of(cell), shares_of(cell, 1)
        assert [a + b for a, b in zip(shares, opponent_shares, strict=True)] == [100] * len(shares)
    # All of it is shown, even if fewer are asked for now.
    for duel in QUICK:
        stored = stored_duel(duel, settings(tmp_path, 2))
        assert stored is not None
        assert shares_of(stored) == shares_of(cells[duel.game])
    # Two roles: six rounds of two matches. One role: each plays twelve.
    assert len(shares_of(cells["kuhn_poker"])) == 6
    assert len(shares_of(cells["monty_hall"])) == 12
    first, second = (cells["monty_hall"].goals(player) for player in range(2))
    mean = sum(shares_of(cells["monty_hall"])) / 12
    assert mean == pytest.approx(50 + (sum(first) - sum(second)) / 24)


@pytest.mark.parametrize(
    ("shares", "sign", "text"),
    [
        ([0.0] * 10, -1, "0.0 -"),
        ([25.0] * 10, 0, "25.0"),
        ([25.0] * 30, -1, "25.0 -"),
        ([75.0] * 30 + [50.0] * 5, 1, "71.4 +"),
        ([25.0, 75.0] * 5, 0, "50.0"),
        ([50.0] * 10, 0, "50.0"),
        ([0.0] * 9, None, "0.0"),
        ([], None, "."),
    ],
)
def test_shares_are_judged_from_ten_rounds_on(
    shares: list[float], sign: int | None, text: str
) -> None:
    assert sign_of(shares) == sign
    assert cell_text(shares) == text


# ---------------------------------------------------------------- running them


def test_matches_already_played_are_shown_and_not_repeated(tmp_path: Path) -> None:
    grid = grid_of(QUICK)
    nothing, steps = grid_result(grid, settings(tmp_path, seconds=0.0))
    assert (nothing.points, steps) == ((), 0)
    assert (
        "Of the 2 duels of the grid, 0 were played; of the 12 matches, 0, in which"
        in nothing.method
    )
    part, steps = grid_result(grid, settings(tmp_path, only=("kuhn_poker",)))
    assert [point.at for point in part.points] == ["kuhn_poker"]
    assert steps == 4
    whole, steps = grid_result(grid, settings(tmp_path, only=("monty_hall",)))
    assert [point.at for point in whole.points] == ["kuhn_poker", "monty_hall"]
    assert steps == 8
    assert "2 were played; of the 12 matches, 12, in which" in whole.method
    repeated, _ = grid_result(grid, settings(tmp_path, seconds=0.0))
    assert repeated == whole


def test_matches_of_another_process_are_left_to_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    grid, run_settings = grid_of(QUICK), settings(tmp_path)
    grid_result(grid, replace(run_settings, matches=2, only=("kuhn_poker",)))
    with locked(tmp_path / "matches" / QUICK[0].folder, "plays a series in", "end it"):
        result, _ = grid_result(grid, run_settings)
    # Its matches so far are shown beside our own.
    assert [(point.at, point.count) for point in result.points] == [
        ("kuhn_poker", 2),
        ("monty_hall", 8),
    ]
    assert result.method.endswith("Duels left to other processes, which were playing them: 1.")
    assert "left out: another process plays a series in" in caplog.text
    repeated, _ = grid_result(grid, run_settings)
    assert repeated.points[0].count == 4
    assert "left to other" not in repeated.method


@pytest.mark.verify
def test_auto_is_judged_and_everybody_rated(tmp_path: Path) -> None:
    duels = [
        Duel("kuhn_poker", ("auto", "legal"), "a", play_clock_s=5.0),
        Duel("kuhn_poker", ("random", "legal"), "b", play_clock_s=5.0),
    ]
    result, _ = grid_result(grid_of(duels), settings(tmp_path, 20))
    claims = claims_of(result)
    lost = claims["auto loses significantly to no player on any game"]
    assert lost.agrees is True
    assert lost.ours == "0 of 1"
    best = claims["its rating is not below the best's, hidden games"].expected.partition(":")[0]
    assert best in ("legal", "random")
    (standings,) = [table for table in result.tables if table.title.startswith("Ratings")]
    assert [row[0] for row in standings.rows] == ["auto", "legal", "random"]
    assert {row[-1] for row in standings.rows} == {"none"}
    assert standings.rows[0][1] == "-"  # no plain game was played


@pytest.mark.verify
def test_a_player_that_loses_every_match_loses_significantly(tmp_path: Path) -> None:
    # Whoever is first here is taken for `auto`.
    duel = Duel("tic_tac_toe", ("legal", "hyperplay:n=3"), "c")
    cell = play_duel(duel, settings(tmp_path, 20), InlineExecutor(), lambda: None)
    duel = Duel("breakthrough", ("auto", "hyperplay"), "c")
    grid_results = strength.show({duel: cell})
    (lost,) = [claim for claim in grid_results.claims if "loses" in claim.text]
    assert (lost.agrees, lost.ours) == (False, "1 of 1: breakthrough to hyperplay")
    (below,) = [claim for claim in grid_results.claims if "rating" in claim.text]
    assert below.agrees is False
    (table, *_) = [table for table in grid_results.tables if "hyperplay;" in table.title]
    assert table.rows[1][0] == "breakthrough"
    assert str(table.rows[1][1]).endswith(" -")


# ---------------------------------------------------------------- the command


@contextmanager
def executor_here(*_: object) -> Iterator[InlineExecutor]:
    yield InlineExecutor()


def run(*args: str) -> Result:
    return CliRunner().invoke(main, ["reproduce", *args], prog_name="match-runner")


@pytest.mark.verify
def test_the_command_plays_a_part_and_writes_it_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli, "open_executor", executor_here)
    monkeypatch.setattr(cli, "GRIDS", {"strength": grid_of(QUICK)})
    nothing = run("strength", "--minutes", "0", "--out", str(tmp_path / "empty"))
    assert "no matches yet" in nothing.stdout
    folder = ("--out", str(tmp_path))
    output = run("strength", "--quick", "--only", "kuhn_poker", *folder)
    assert output.exit_code == 0, output.output
    assert "Ratings [99 %] in plain games" in output.stdout
    report = (tmp_path / "strength.md").read_text()
    assert report.startswith("# Measurements\n")
    assert "Of the 2 duels of the grid, 1 were played; of the 6 matches, 2, in which" in report
    assert imread(tmp_path / "strength.png").std() > 0.01
    assert "Seconds are wall-clock time. Of" in report
    refused = run("strength", "--minutes", "0", "--clock", "cpu", *folder)
    assert "was made with --clock wall, not cpu" in refused.stderr
    stored_report = json.loads(run("strength", "--minutes", "0", "--json", *folder).stdout)
    (result,) = stored_report["results"]
    assert (result["clock"], result["backends"]) == ("wall", {"kuhn_poker": "propnet"})
    assert "\nPlayed on propnet.\n" in report
    assert output.stdout.startswith(f"{result['title']}, on propnet, wall clock\n")
    assert [(point["at"], point["count"]) for point in result["points"]] == [("kuhn_poker", 2)]
    assert result["panels"][0]["x_names"] == list(strength.GAMES)
    assert None in result["panels"][0]["values"][0]


@pytest.mark.verify
def test_duels_of_a_grid_may_end_by_themselves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli, "open_executor", executor_here)
    duel = Duel("kuhn_poker", ("legal", "random"), "a")
    monkeypatch.setattr(cli, "GRIDS", {"strength": grid_of([duel])})
    until = ("strength", "--until", "decided", "--out", str(tmp_path))
    output = run(*until, "--most", "9", "--worth", "5")
    assert output.exit_code == 0, output.output
    report = (tmp_path / "strength.md").read_text()
    assert (
        "Of the 1 duels of the grid, 1 were played; of the at most 8 matches, 8, in which" in report
    )
    assert "surely smaller than 5, in 0; 1 came to an end undecided, and 0 can go on." in report
    assert "- 99 % intervals by betting: valid after any number of rounds" in report
    result, _ = grid_result(grid_of([duel]), settings(tmp_path, 400, until=StoppingRule(40.0, 400)))
    assert 8 < result.points[0].count < 100
    assert "smaller than 40, in 1;" in result.method
    for options in (("--matches", "4"), ("--quick",)):
        refused = run(*until, *options)
        assert refused.exit_code == 2
        assert "--until decided exclude each other" in refused.stderr


def test_all_is_still_the_paper() -> None:
    for name in (cli.ALL, cli.ALL_003, cli.EVERYTHING):
        assert not {"strength", "clock"}.intersection(e.name for e in cli.experiments_of(name))
    assert cli.experiments_of("clock") == [clock.CLOCK]


def test_parts_of_experiments_that_are_no_grids_cannot_be_named(tmp_path: Path) -> None:
    parts = (
        *(("--only", "kuhn_poker"), ("--minutes", "1")),
        *(("--clock", "cpu"), ("--until", "decided"), ("--core-hours", "1")),
    )
    for options in parts:
        result = run("table1", "--out", str(tmp_path), *options)
        assert result.exit_code == 2
        assert (
            "--core-hours, --clock and --until are for the grids: strength, clock" in result.stderr
        )

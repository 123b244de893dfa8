"""`match-runner reproduce kriegspiel`: its cells, their costs, and their verdicts."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from matplotlib.image import imread

from ggp.errors import ConfigError
from ggp.gdl import list_games
from ggp.labs.kriegspiel.experiment import cells as kriegspiel_cells
from ggp.labs.kriegspiel.experiment import experiment as kriegspiel
from ggp.labs.kriegspiel.experiment import experiment as kriegspiel_charts
from ggp.labs.kriegspiel.experiment import verdicts
from ggp.labs.kriegspiel.experiment.cells import TABLES_2_3, Published
from ggp.labs.kriegspiel.experiment.verdicts import (
    AGREES,
    DIFFERS,
    OPEN,
    PARTLY,
    more_games,
    standings,
    verdict_of,
)
from ggp.labs.papers.reproduce.duels import series_of, stored_duel
from ggp.labs.papers.reproduce.report import draw_chart, write_results
from ggp.labs.papers.reproduce.results import Panel, Point
from ggp.labs.papers.reproduce.results import Result as Made
from ggp.machine import Machine
from ggp.players import Decision, parse_spec
from ggp.players.choosing import choose_player
from ggp.players.parts.search_player import Rescue
from ggp.statistics import mean_interval
from match_runner.match.records import MatchRecord, TurnRecord
from match_runner.series.verdicts import DECIDED
from match_runner.workers.executor import InlineExecutor
from tests.labs.papers.reproduce.test_grids import BreakingOff, grid_result, settings
from tests.support.games import machine_of_game


def test_players_of_the_papers_on_kriegspiel_meet_once_in_each_game() -> None:
    duels = kriegspiel.duels()
    assert len({duel.folder for duel in duels}) == len(set(duels)) == len(duels)
    assert {duel.game for duel in duels} <= set(list_games())
    for spec in {spec for duel in duels for spec in duel.players}:
        parse_spec(spec)


def test_players_named_by_their_samplers_look_for_nothing_else() -> None:
    specs = {spec for duel in kriegspiel.duels() for spec in duel.players}
    named = [spec for spec in specs if spec.split(":")[0] in kriegspiel_cells.SAMPLERS]
    assert len(named) > 3
    assert {parse_spec(spec).options.rescue for spec in named} == {Rescue.NONE}


@pytest.mark.parametrize("budget", kriegspiel_cells.BUDGETS)
def test_players_of_the_whole_board_are_not_rescued(budget: str) -> None:
    cells = kriegspiel_cells.papers_cells(budget) + kriegspiel_cells.beyond_cells(budget)
    specs = {spec for cell in cells for spec in cell.players if not spec.startswith("random")}
    assert len(specs) > 15
    assert {kriegspiel_cells.options_of(spec)["rescue"] for spec in specs} == {"none"}


@pytest.mark.verify
def test_claims_about_small_games_are_judged(tmp_path: Path) -> None:
    cell = kriegspiel_cells.DuelCell(
        "krieg_tic_tac_toe",
        ("hyperplay:n=2,states=1000", "random"),  # done long before the clock
        10.0,
        share=65,
        sign=0,
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kriegspiel_cells, "SHORT_S", 10.0)
        patch.setattr(kriegspiel, "cells", lambda: (cell,))
        result, num_told = grid_result(kriegspiel.KRIEGSPIEL, settings(tmp_path, 40))
    assert num_told == 40
    share, sign = result.claims
    assert share.agrees is True  # at least 65
    assert sign.agrees is False  # significantly more than 50
    (table,) = result.tables
    assert table.rows[0][:2] == cell.players
    assert [chart.name for chart in result.charts] == ["growth"]


def test_cells_of_the_papers_have_counts_in_proportion_and_numbers_of_games() -> None:
    by_budget = {
        budget: [cell for cell in kriegspiel_cells.cells() if cell.budget == budget and cell.paper]
        for budget in kriegspiel_cells.BUDGETS
    }
    assert {len(cells) for cells in by_budget.values()} == {12 + 12 + 9 + 6}
    for budget, cells in by_budget.items():
        for cell in cells:
            assert cell.clock_s is None
            assert cell.games
            for player in cell.players:
                options = kriegspiel_cells.options_of(player)
                if not player.startswith("random"):
                    assert options["rescue"] == "none"
                if player.startswith("para"):
                    assert options["leaf"] == "min"
                if player.startswith("over:depth=1"):
                    full = {round(n / kriegspiel_cells.BUDGETS[budget]) for n in (1683, 3145)}
                    assert int(options["histories"]) in full
                    assert options["particles"] == options["histories"]
                    assert options["retry"] == "7"
                if player.startswith("hs"):
                    assert "retry" not in options
    first = by_budget[kriegspiel_cells.PAPERS][0]
    assert first.players[0].startswith("over:depth=1,histories=1683,")
    assert kriegspiel.games(first.duel) == first.games == 500


@pytest.mark.parametrize("budget", kriegspiel_cells.BUDGETS)
def test_our_players_get_as_many_states_as_those_of_the_papers(budget: str) -> None:
    ours = [cell for cell in kriegspiel_cells.beyond_cells(budget) if cell.equal_states]
    assert [kriegspiel_cells.short(cell.players[1]) for cell in ours[:2]] == ["ismcts"] * 2
    for cell in ours:
        series = series_of(cell.duel, settings(Path(), 2))  # else it says what is wrong
        assert series.equal_states


@pytest.mark.verify
def test_auto_plays_kriegspiel_as_the_cells_say() -> None:
    machine = machine_of_game(kriegspiel_cells.BOARD, "propnet")
    for role in range(2):
        assert choose_player(machine, role, 0, None).player == kriegspiel_cells.AUTO


WON, LOST, DRAWN = [100.0, 50.0] * 20, [-100.0, -50.0] * 20, [0.0] * 40
FAR = Published(48, 1, 500)
EVEN = Published(5, 5, 500)


@pytest.mark.parametrize(
    ("rounds", "paper", "verdict"),
    [
        ([100.0, 0.0] * 20, FAR, AGREES),
        ([100.0] * 60, FAR, PARTLY),
        (LOST, FAR, DIFFERS),
        (DRAWN * 3, FAR, DIFFERS),  # surely less
        ([50.0, 0.0], FAR, OPEN),
        (WON, EVEN, DIFFERS),
        (DRAWN, EVEN, OPEN),
        (DRAWN * 60, EVEN, AGREES),
        (WON, None, DECIDED),
        ([], FAR, OPEN),
    ],
)
def test_verdicts_on_cells(rounds: list[float], paper: Published | None, verdict: str) -> None:
    assert verdict_of(mean_interval(rounds, 0, (-100, 100), fixed=False), paper) == verdict


@pytest.mark.parametrize("paper", [FAR, EVEN, Published(19, 5, 500)])
@pytest.mark.parametrize("rounds", [[], [50.0, 0.0] * 4, DRAWN])
def test_a_forecast_says_when_games_that_go_on_like_this_bring_a_verdict(
    paper: Published, rounds: list[float]
) -> None:
    missing = more_games(rounds, paper)
    assert missing is not None
    # Rounds in the proportions that a forecast assumes: ours, and ten at the paper's rates.
    of_game = np.array([paper.lost, 100 - paper.won - paper.lost, paper.won]) / 100
    leads = np.array([-100.0, -50.0, 0.0, 50.0, 100.0])
    counts = 10 * np.convolve(of_game, of_game) + [rounds.count(lead) for lead in leads]

    def verdict_after(games: float) -> str:
        num_of_each = games / 2 * counts / counts.sum()
        later = np.repeat(leads, np.round(num_of_each).astype(int)).tolist()
        return verdict_of(mean_interval(rounds + later, 0, (-100, 100), fixed=False), paper)

    assert verdict_after(1.3 * missing + 10) != OPEN
    assert missing < 20 or verdict_after(0.7 * missing) == OPEN


def test_forecasts_end_where_no_feasible_number_of_games_decides() -> None:
    assert more_games([], None) is None
    assert more_games([], Published(10, 10, 10**9)) is None
    assert more_games([0.0, 50.0] * 40, FAR) == 0


def of_papers(budget: str, first: str, second: str) -> kriegspiel_cells.DuelCell:
    key = (first, second, budget)
    return next(c for c in kriegspiel_cells.cells() if c.paper and verdicts.key_of(c) == key)


def test_the_cell_whose_verdict_costs_least_is_played_next(tmp_path: Path) -> None:
    plans = [
        of_papers("hundredth", "over 1", "random"),  # 42 games
        of_papers("hundredth", "over 1", "para 1"),  # 308
        of_papers("papers", "over 1", "random"),
        of_papers("hundredth", "hs", "aosp"),  # more than the paper's
    ]
    duels = [plan.duel for plan in plans]
    seconds = {"over:depth=1,histories=1683": 9.0, "over:depth=1,histories=17": 2.0}
    times = {
        player: next((s for start, s in seconds.items() if player.startswith(f"{start},")), 1.0)
        for duel in duels
        for player in duel.players
    }
    (tmp_path / verdicts.TIMED).write_text(json.dumps(times))

    def choice(*rows: str) -> tuple[object, int] | None:
        (tmp_path / verdicts.FILE).write_text("\n".join([heading, *rows]) + "\n")
        return verdicts.next_duel({}, duels, tmp_path)

    heading = ",".join(verdicts.table({}, tmp_path).headings)
    assert choice() == (duels[0], 10)  # a quarter of its games, in whole rounds
    numbers = "48,1,47,6"
    agrees = f"over 1,random,hundredth,20,20,0,50,1,80,{numbers},agrees,0,1.5,0"
    assert choice(agrees) == (duels[1], 32)
    other = "over 1,para 1,hundredth,100,0,0,100,90,100,8,1,7,4,differs,0,,"
    # Only a verdict with more samples is left to find.
    assert choice(agrees, other) == (duels[2], 10)
    best = agrees.replace("hundredth", "papers")
    assert choice(other, best) is None
    # What was played elsewhere stays in the file, beside forecasts for cells without a game.
    table = verdicts.table({}, tmp_path)
    rows = {(first, second, samples): row for first, second, samples, *row in table.texts()}
    assert len(rows) == 39
    assert rows["over 1", "random", "papers"][:3] == ["20", "20", "0"]
    assert rows["hs", "aosp", "papers"][-4] == "forecast"
    standing = standings({}, tmp_path)[plans[3]]
    assert standing.more_games is not None
    assert standing.text == f"forecast: {standing.more_games:,} more games, 3.1 core-hours"


def test_a_damaged_file_of_standings_is_named(tmp_path: Path) -> None:
    (tmp_path / verdicts.FILE).write_text("first,second\nover 1,random\n")
    with pytest.raises(ConfigError, match=r"kriegspiel-cells\.csv does not hold standings"):
        standings({}, tmp_path)


def test_the_error_of_a_paper_follows_from_its_rates_and_games() -> None:
    assert Published(48, 1, 500).error == pytest.approx(2.576 * 100 * (0.2691 / 500) ** 0.5, 1e-3)
    # Paper 001 has 0.4 and 0.4, at 95 %.
    hs_aosp = TABLES_2_3["hs", "aosp"]
    assert hs_aosp.lead - hs_aosp.error < 0 < hs_aosp.lead - hs_aosp.error / 2.576 * 1.96


def test_costs_are_told_before_a_cell_is_played(tmp_path: Path) -> None:
    timed: list[tuple[str, int]] = []

    class Timing(InlineExecutor):
        """A history takes 0.01 s in the opening and 0.02 s later, a random move 0.05 s."""

        def submit(self, function: Callable[..., Any], args: tuple[Any, ...]) -> Future[Any]:
            (task,) = args
            last, player = task.conditions.max_turns, task.players["white"]
            histories = kriegspiel_cells.options_of(player).get("histories", "none")
            timed.append((histories, last))
            number = 5 if histories == "none" else int(histories)
            later = number / 100 if histories == "none" else number / 50
            turns = [
                TurnRecord({}, {}, {}, {"white": Decision("a", (), 1, False, 1, seconds)})
                # The first ones do not count.
                for seconds in [9.0] * 6 + [number / 100] * 18 + [later] * (last - 24)
            ]
            future: Future[Any] = Future()
            future.set_result(SimpleNamespace(turns=turns))
            return future

    def cost_lines(budget: str, *, seconds: float = math.inf) -> list[str]:
        timed.clear()
        run_settings = settings(
            tmp_path, only=("over 1", "random", budget), usual=True, seconds=seconds
        )
        return list(kriegspiel.KRIEGSPIEL.forecast(run_settings, Timing()))

    # In 74 turns, a history takes 0.01757 s on average; there are 220 turns.
    assert cost_lines("hundredth") == [
        "over 1 against random, hundredth: forecast: 42 more games, 0.9 core-hours",
        "in all about 0.9 core-hours",
    ]
    assert timed == [("17", 80), ("none", 80)]
    assert cost_lines("hundredth")[-1] == "in all about 0.9 core-hours"
    assert not timed  # the times are kept
    # 84 histories are timed for longer than 1,683: those take 6,505 s.
    assert cost_lines("papers")[0].endswith("forecast: 42 more games, 76.0 core-hours")
    assert timed == [("84", 80), ("1683", 24)]
    # What is left of no time is none for timing.
    assert cost_lines("twentieth", seconds=0.0) == [
        "over 1 against random, twentieth: forecast: 42 more games"
    ]
    assert not timed


def test_the_turn_is_told_at_which_a_pool_dies() -> None:
    def turn(move: str, particles: int, *seen: str) -> SimpleNamespace:
        fault = None if particles else "no board"
        decision = Decision(move, (), particles, False, 1, 0.1, fault)
        return SimpleNamespace(
            decisions={"black": decision}, joint_move={"black": move}, percepts={"black": seen}
        )

    turns = [turn("noop", 1), turn("a", 10, "refused"), turn("b", 100), turn("noop", 0)]
    turns.append(turn("c", 0))
    duel = of_papers("papers", "aosp", "random").duel
    planned = SimpleNamespace(seating={"white": 1, "black": 0})
    match = SimpleNamespace(planned=planned, record=SimpleNamespace(turns=turns))
    lived = SimpleNamespace(planned=planned, record=SimpleNamespace(turns=turns[:3]))
    cell = SimpleNamespace(matches=(match, lived))
    (row,) = kriegspiel._deaths({duel: cell}).rows  # type: ignore[dict-item]
    assert row == ("20,000", "random", "2", "1", "3", "2")
    dead = [d.fault is not None for _, d in kriegspiel._plies(match, 0)]  # type: ignore[arg-type]
    assert dead == [True]  # decisions of another's turn are none of ours


def last_state(machine: Machine, record: MatchRecord) -> tuple[str, ...]:
    state = machine.initial(1)
    for turn in record.turns:
        moves = [machine.move_id(turn.joint_move[role]) for role in machine.roles]
        state = machine.step(state, np.array([moves])).states
    return machine.fluents(state)[0]


def test_a_quick_run_has_one_duel_on_the_whole_board() -> None:
    sizes = {duel: kriegspiel.quickly(duel) for duel in kriegspiel.duels()}
    (quick_duel,) = (d for d, n in sizes.items() if n and d.game == kriegspiel_cells.BOARD)
    assert [player.split(":")[0] for player in quick_duel.players] == ["over", "random"]
    assert sizes[quick_duel] == 4
    assert set(sizes.values()) == {0, 2, 4}
    duels = [quick_duel, *(duel for duel in sizes if duel.game == "krieg_tic_tac_toe")][:3]
    grid = replace(kriegspiel.KRIEGSPIEL, duels=lambda: duels)
    assert grid.size(settings(Path(), 4)) == 12
    assert grid.size(settings(Path(), 4, quick=True)) == 4 + 2 + 2


@pytest.mark.verify
def test_games_of_kriegspiel_are_drawn(tmp_path: Path) -> None:
    game = kriegspiel_cells.SMALL_BOARD
    cell = kriegspiel_cells.DuelCell(game, ("random", "legal"), 0.02)
    machine = machine_of_game(game, "propnet")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kriegspiel, "cells", lambda: (cell,))
        patch.setattr(kriegspiel_charts, "build_machine", lambda _: machine)
        patch.setattr(kriegspiel_charts, "pairs", lambda game: [cell.players])
        patch.setattr(kriegspiel_charts, "hybrids", lambda game: ["random"])
        result, _ = grid_result(kriegspiel.KRIEGSPIEL, settings(tmp_path, 2), BreakingOff())
    material, last, growth = result.charts
    assert [material.name, last.name, growth.name] == [
        "material-kriegspiel_5x5",
        "last-boards",
        "growth",
    ]
    ((_, (first, second)),) = material.curves.items()
    assert first.ys[0] == second.ys[0] == 9 + 5 + 3 + 3 + 5
    stored = stored_duel(cell.duel, settings(tmp_path, 2))
    assert stored is not None
    last_states = [last_state(machine, match.record) for match in stored.matches]
    for player, curve in enumerate((first, second)):
        roles = [
            next(r for r, seated in match.planned.seating.items() if seated == player)
            for match in stored.matches
        ]
        worth = [
            sum(
                kriegspiel_charts.WORTH.get(fluent.strip("()").split()[-1], 0)
                for fluent in fluents
                if fluent.startswith("(cell") and f" {role} " in fluent
            )
            for role, fluents in zip(roles, last_states, strict=True)
        ]
        assert curve.ys[-1] == sum(worth) / 2
    assert set(dict(last.curves)[game][0].ys) == {0.0}  # nothing was guessed
    for chart in result.charts:
        draw_chart(chart, tmp_path / f"{chart.name}.png")
        assert imread(tmp_path / f"{chart.name}.png").std() > 0


def test_figures_of_a_single_cell_or_of_none_are_drawn_without_warnings(tmp_path: Path) -> None:
    panel = Panel("share", "game", "against", "", (0.0,), (0.0,), ((60.0,),), ("a",), ("b",))
    nothing = mean_interval([], 0, fixed=True)
    results = [
        Made("one", "One", "", "share", (), (), panels=(panel,)),
        Made("none", "None", "", "share", (Point("a", "b", nothing, 0, 0, "a", "b"),), ()),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        files = write_results(results, settings(tmp_path, 2), "0", "report")
    assert [path.name for path in files if path.suffix == ".png"] == ["one.png"]
    assert "none.png" not in (tmp_path / "report.md").read_text()

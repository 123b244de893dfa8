"""`match-runner reproduce kriegspiel`: its cells, their costs, and their verdicts."""

from __future__ import annotations

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

from ggp.gdl import list_games
from ggp.labs.kriegspiel.experiment import cells as kriegspiel_cells
from ggp.labs.kriegspiel.experiment import experiment as kriegspiel
from ggp.labs.kriegspiel.experiment import experiment as kriegspiel_charts
from ggp.labs.kriegspiel.experiment.cells import TABLES_2_3, Published
from ggp.labs.kriegspiel.experiment.experiment import AGREES, DIFFERS, OPEN, PARTLY, verdict_of
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
from match_runner.workers.places import InlineExecutor
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
    assert kriegspiel.games(first.duel) == first.games == 150


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
    judged = verdict_of(rounds, paper)
    assert judged.verdict == verdict
    assert (verdict == OPEN) == ("missing" in judged.text)


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
        "over 1 against random, hundredth: 150 games at most, about 77 s each (measured), "
        "3.20 core-hours",
        "in all at most about 3.2 core-hours",
    ]
    assert timed == [("17", 80), ("none", 80)]
    line, _ = cost_lines("papers")
    assert "about 6,516 s each (extrapolated), 271.48 core-hours" in line
    assert timed == [("84", 80), ("1683", 24), ("none", 80)]
    # What is left of no time is none for timing.
    assert cost_lines("papers", seconds=0.0) == [
        "not timed, as timing would take too much of the time to play: 1 more"
    ]
    assert not timed


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

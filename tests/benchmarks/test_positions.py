"""The positions with proven answers, and `python -m benchmarks.positions`."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from benchmarks.positions.__main__ import main
from benchmarks.positions.answers import Answer, ask, lost, to_json, wrong
from benchmarks.positions.boards import BOARDS, EMPTY, LOSS, Board
from benchmarks.positions.draw import WANTED, Wanted, draw
from benchmarks.positions.position_set import FILE, Puzzle, puzzles_text, read_puzzles
from benchmarks.positions.proof import is_misleading, proven_values, random_values
from ggp.search.clairvoyant import clairvoyant_values
from tests.support.commands import json_of
from tests.support.games import machine_of_game
from tests.support.matches import Match

PUZZLES = read_puzzles()
BY_GAME = {game: [puzzle for puzzle in PUZZLES if puzzle.game == game] for game in BOARDS}


def position_of(board: Board, moves: Sequence[str]) -> tuple[int, int]:
    position = EMPTY
    for move in moves:
        position = board.after(position, board.moves(position)[move])
    return position


class TestSet:
    def test_there_are_a_hundred_different_positions_and_some_mislead(self) -> None:
        assert len(PUZZLES) == len({puzzle.name for puzzle in PUZZLES}) == 100
        for game, numbers in WANTED.items():
            puzzles, board = BY_GAME[game], BOARDS[game]
            assert sum(puzzle.misleading for puzzle in puzzles) == numbers.misleading
            assert len(puzzles) == numbers.plain + numbers.misleading
            assert len({board.one_of_its_kind(puzzle.position) for puzzle in puzzles}) == len(
                puzzles
            )
            empty = [board.empty(puzzle.position) for puzzle in puzzles]
            assert numbers.fewest <= min(empty) <= max(empty) <= numbers.most <= 12

    def test_in_every_position_some_moves_are_right_and_some_are_wrong(self) -> None:
        assert all(len(set(puzzle.values.values())) > 1 for puzzle in PUZZLES)

    @pytest.mark.verify
    def test_every_answer_is_proven_again(self) -> None:
        for puzzle in PUZZLES:
            values = proven_values(puzzle.board, puzzle.position)
            assert values == puzzle.values, puzzle.name
            mean = random_values(puzzle.board, puzzle.position)
            assert is_misleading(values, mean) == puzzle.misleading, puzzle.name

    def test_it_is_stored_as_it_would_be_written(self) -> None:
        assert FILE.read_text(encoding="utf-8") == puzzles_text(PUZZLES)

    @pytest.mark.parametrize("game", BOARDS)
    def test_every_history_is_legal_and_what_the_role_is_told(self, game: str) -> None:
        for puzzle in BY_GAME[game]:
            match = Match(game)
            for move, turn in zip(puzzle.moves, puzzle.history(), strict=True):
                mover = next(r for r in puzzle.board.roles if match.legal(r) != {"noop"})
                percepts = match.play(**{mover: move})
                assert percepts[puzzle.role] == tuple(turn["percepts"])
                assert turn["move"] == (move if mover == puzzle.role else "noop")
            assert not match.terminal
            assert match.legal(puzzle.role) == set(puzzle.values)

    @pytest.mark.parametrize("game", BOARDS)
    def test_the_machine_finds_the_same_answers(self, game: str) -> None:
        machine = machine_of_game(game, "propnet")
        for puzzle in BY_GAME[game]:
            state = machine.initial(1)
            for number, move in enumerate(puzzle.moves):
                row = [machine.move_id(move if number % 2 == role else "noop") for role in range(2)]
                state = machine.step(state, np.array([row])).states
            estimates, solved = clairvoyant_values(
                machine,
                state,
                machine.roles.index(puzzle.role),
                np.random.default_rng(0),
                most_steps=1_000_000,
            )
            assert solved
            texts = [machine.move_text(move) for move in estimates.moves.values.tolist()]
            assert dict(zip(texts, estimates.values.tolist(), strict=True)) == puzzle.values


class TestProof:
    def test_tic_tac_toe_is_a_draw_whatever_the_first_move(self) -> None:
        board = BOARDS["tic_tac_toe"]
        assert set(proven_values(board, EMPTY).values()) == {50}
        means = random_values(board, EMPTY)
        assert max(means, key=lambda move: means[move]) == "(mark 2 2)"

    def test_a_win_is_taken_and_a_loss_stopped(self) -> None:
        board = BOARDS["connect_four"]
        threat = position_of(board, ["(drop 1)", "(drop 2)"] * 3)
        assert board.result(board.after(threat, board.cell(1, 4))) == 0
        assert len(board.moves(threat)) == 8
        assert board.moves(threat)["(drop 1)"] == board.cell(1, 4)

    @pytest.mark.parametrize(("game", "lines"), [("tic_tac_toe", 8), ("connect_four", 84)])
    def test_lines_are_as_many_as_there_are(self, game: str, lines: int) -> None:
        assert len(BOARDS[game].lines) == len(set(BOARDS[game].lines)) == lines


class TestDraw:
    def test_the_same_seed_draws_the_same_positions(self) -> None:
        numbers = Wanted(plain=3, misleading=2, fewest=4, most=5)
        board = BOARDS["tic_tac_toe"]
        first, repeated = (draw(board, numbers, random.Random(7)) for _ in range(2))
        assert first == repeated
        assert [puzzle.name for puzzle in first] == [f"tic_tac_toe-0{n}" for n in range(1, 6)]
        assert sum(puzzle.misleading for puzzle in first) == 2
        assert {board.empty(puzzle.position) for puzzle in first} <= {4, 5}

    def test_no_drawn_position_can_be_won_in_one_move(self) -> None:
        for puzzle in PUZZLES:
            board, position = puzzle.board, puzzle.position
            successors = [board.after(position, cell) for cell in board.cells(position)]
            assert LOSS not in map(board.result, successors)


def puzzle(values: dict[str, int], name: str = "a") -> Puzzle:
    return Puzzle(name, "tic_tac_toe", (), values, misleading=False)


class TestErrors:
    def test_errors_are_counted_and_weighed(self) -> None:
        easy, two = puzzle({"m": 100, "n": 50}), puzzle({"m": 50, "n": 50, "o": 0}, "b")
        answers = [Answer(p, m, p.lost_by(m)) for p, m in ((easy, "n"), (two, "n"), (easy, "m"))]
        assert [answer.lost for answer in answers] == [50, 0, 0]
        assert wrong(answers).value == pytest.approx(1 / 3)
        assert lost(answers).value == pytest.approx(50 / 3)
        (error,) = to_json(answers)["errors"]
        assert (error["position"], error["move"], error["right"]) == ("a", "n", ["m"])

    @pytest.mark.verify
    def test_players_that_see_to_the_end_err_less_than_those_that_do_not_look(self) -> None:
        puzzles = [puzzle for puzzle in PUZZLES if not puzzle.misleading][::10]
        errors = Counter(
            {
                player: sum(puzzle.lost > 0 for puzzle in ask(puzzles, player, None, seed=0))
                for player in ("random", "hyperplay:n=8")
            }
        )
        assert errors["hyperplay:n=8"] < errors["random"]

    def test_playouts_err_where_they_are_misled_however_many_there_are(self) -> None:
        puzzles = [puzzle for puzzle in PUZZLES if puzzle.misleading and len(puzzle.values) == 3][
            :4
        ]
        answers = ask(puzzles, "hyperplay:n=16", None, seed=0)
        assert sum(puzzle.lost > 0 for puzzle in answers) > len(puzzles) / 2


def call(*args: str) -> Any:
    result = CliRunner(catch_exceptions=False).invoke(main, args)
    assert result.exit_code == 0, result.output
    return result


class TestCommand:
    @pytest.fixture(autouse=True)
    def only_some(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Every tenth position is enough here."""
        monkeypatch.setattr("benchmarks.positions.__main__.read_puzzles", lambda: PUZZLES[::10])

    def test_it_reports_every_player(self) -> None:
        report = json.loads(call("--player", "legal", "--seed", "3", "--json").stdout)
        assert list(report) == ["seconds", "seed", "players"]
        legal = report["players"]["legal"]
        assert legal["positions"] == 10
        assert legal["wrong"]["low"] < legal["wrong"]["value"] < legal["wrong"]["high"]
        assert len(legal["errors"]) == round(10 * legal["wrong"]["value"])

    def test_it_shows_a_table(self) -> None:
        table = call("--player", "legal").stdout
        assert "points lost [99 %]" in table
        assert "of 4" in table
        assert "of 6" in table

    def test_it_writes_histories_that_ggp_evaluate_takes(self, tmp_path: Path) -> None:
        assert "10 files" in call("--histories", str(tmp_path)).stdout
        puzzle = PUZZLES[-10]
        path = tmp_path / f"{puzzle.name}-{puzzle.role}.json"
        report = json_of(
            "evaluate",
            puzzle.game,
            "--role",
            puzzle.role,
            "--player",
            "hyperplay:n=2",
            "--history",
            str(path),
        )
        assert {value["move"] for value in report["moves"]} == set(puzzle.values)

    def test_wrong_options_are_reported(self) -> None:
        runner = CliRunner(catch_exceptions=False)
        result = runner.invoke(main, ["--player", "nobody"])
        assert result.exit_code == 2
        assert result.stderr.startswith("error: unknown player 'nobody'")
        assert runner.invoke(main, []).exit_code == 2

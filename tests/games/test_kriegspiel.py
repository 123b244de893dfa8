"""Kriegspiel beside python-chess: positions in which every try is made, games, and scripts."""

from __future__ import annotations

import re
import runpy
from collections.abc import Iterator
from pathlib import Path

import chess
import numpy as np
import pytest

from ggp.gdl import find_game, parse
from ggp.machine import Machine, States
from tests.games.chess_positions import POSITIONS, STALEMATE
from tests.games.chess_umpires import ChessUmpire, text_of
from tests.games.kriegspiel_games import UMPIRES, compare
from tests.support.games import REPOSITORY, machine_of_game
from tests.support.matches import Match

SHEETS = ["kriegspiel", "kriegspiel_5x5", "dark_chess", "dark_chess_4x4"]


def moves_of(text: str) -> Iterator[str]:
    """Moves as the rulesheet writes them."""
    for move in text.split():
        yield text_of(chess.Move.from_uci(move))


def play_all(match: Match, moves: str) -> list[set[str]]:
    """What white sees after each of these moves, which are made by turns; black sees the same."""
    percepts_of_white = []
    for number, move in enumerate(moves_of(moves)):
        seen = match.play(**{("white", "black")[number % 2]: move})
        assert seen.get("white") == seen.get("black")
        percepts_of_white.append(set(seen.get("white", ())))
    return percepts_of_white


def position(machine: Machine, umpire: ChessUmpire, moves: str) -> States:
    """The state after these moves, made beside the umpire."""
    states = machine.initial(1)
    for number, move in enumerate(moves_of(moves)):
        row = ["noop", "noop"]
        row[number % 2] = move
        umpire.play(dict(zip(machine.roles, row, strict=True)))
        assert not umpire.refused
        states = machine.step(states, joint(machine, [row])).states
    return states


def joint(machine: Machine, rows: list[list[str]]) -> np.ndarray:
    return np.array([[machine.move_id(move) for move in row] for row in rows], dtype=np.int64)


@pytest.mark.parametrize("name", POSITIONS)
def test_every_try_in_a_position_is_judged_as_in_chess(name: str) -> None:
    machine = machine_of_game("kriegspiel", "propnet")
    umpire = ChessUmpire()
    states = position(machine, umpire, POSITIONS[name])
    assert not machine.terminal(states)[0]
    turn = 0 if umpire.board.turn else 1
    on_turn = machine.roles[turn]
    tries = sorted(map(machine.move_text, machine.legal(states, turn)[0].tolist()))
    assert set(tries) == umpire.legal(on_turn)
    rows = [["noop", "noop"] for _ in tries]
    for row, attempt in zip(rows, tries, strict=True):
        row[turn] = attempt
    stepped = machine.step(states.take(np.zeros(len(tries), dtype=np.int64)), joint(machine, rows))
    over = machine.terminal(stepped.states).tolist()
    for attempt, percepts, ended, fluents in zip(
        tries, stepped.percepts.tolist(), over, machine.fluents(stepped.states), strict=True
    ):
        successor = ChessUmpire()
        successor.board = umpire.board.copy()
        expected = successor.play({on_turn: attempt}).get("white", set())
        for percept in percepts:
            assert set(machine.percept_texts(percept)) == expected, attempt
        assert ended == (successor.scores() is not None), attempt
        assert {text for text in fluents if text.startswith("(cell ")} == successor.cells()


@pytest.mark.parametrize(
    ("name", "attempt", "seen"),
    [
        ("castling on both sides", "e1c1", set()),
        ("castling on both sides", "e1g1", set()),
        ("castling out of check", "e1g1", {"refused"}),
        ("castling through check", "e1g1", {"refused"}),
        ("castling into check", "e1g1", {"refused"}),
        ("castling past an enemy", "e1c1", {"refused"}),
        ("castling when the rook has moved", "e1g1", None),
        ("castling when the king has moved", "e1g1", None),
        ("castling when the rook was taken", "e1g1", None),
        ("capture in passing", "e5d6", {"(captured d 5)"}),
        ("capture in passing", "e5f6", {"refused"}),
        ("capture in passing too late", "e5d6", {"refused"}),
        ("capture in passing that bares the king", "h5g6", {"refused"}),
        ("promotion with and without capture", "b7a8n", {"(captured a 8)"}),
        ("promotion with and without capture", "b7b8q", set()),
        ("promotion with and without capture", "b7c8q", {"refused"}),
        ("pin of a knight", "c3d5", {"refused"}),
        ("pin of a queen on a diagonal", "f3g4", {"(captured g 4)"}),
        ("pin of a queen on a diagonal", "f3f4", {"refused"}),
        ("mate in sight", "d8h4", {"(check short_diagonal)"}),
    ],
)
def test_the_umpire_says(name: str, attempt: str, seen: set[str] | None) -> None:
    match = Match("kriegspiel")
    play_all(match, POSITIONS[name])
    on_turn = "white" if len(POSITIONS[name].split()) % 2 == 0 else "black"
    move = next(moves_of(attempt))
    assert (move in match.legal(on_turn)) == (seen is not None)
    if seen is not None:
        assert match.play(**{on_turn: move}) == (
            {"white": tuple(sorted(seen)), "black": tuple(sorted(seen))} if seen else {}
        )


def test_a_refused_try_is_closed_for_this_turn_only() -> None:
    match = Match("kriegspiel")
    legal = match.legal("white")
    refusal = {"white": ("refused",), "black": ("refused",)}
    assert match.play(white="(move e 2 d 3)") == refusal
    assert match.legal("black") == {"noop"}
    assert match.legal("white") == legal - {"(move e 2 d 3)"}
    assert match.play(white="(move e 2 f 3)") == refusal
    assert match.legal("white") == legal - {"(move e 2 d 3)", "(move e 2 f 3)"}
    assert match.play(white="(move a 2 a 3)") == {}
    assert match.legal("white") == {"noop"}
    match.play(black="(move a 7 a 6)")
    assert {"(move e 2 d 3)", "(move e 2 f 3)"} <= match.legal("white")


def test_a_refused_promotion_is_refused_to_every_piece() -> None:
    match = Match("kriegspiel")
    play_all(match, POSITIONS["promotion with and without capture"])
    promotions = {f"(promote b 7 c 8 {k})" for k in ("queen", "rook", "bishop", "knight")}
    assert promotions <= match.legal("white")
    match.play(white="(promote b 7 c 8 queen)")
    assert not promotions & match.legal("white")
    assert "(promote b 7 a 8 queen)" in match.legal("white")


def test_a_pawn_that_may_be_captured_in_passing_stays_so_while_others_are_tried() -> None:
    match = Match("kriegspiel")
    play_all(match, POSITIONS["capture in passing"])
    match.play(white="(move e 5 f 6)")
    assert match.play(white="(move e 5 d 6)")["black"] == ("(captured d 5)",)
    assert "(cell d 6 white pawn)" in match.fluents
    assert not any(fluent.startswith("(cell d 5 ") for fluent in match.fluents)


@pytest.mark.parametrize(
    ("moves", "seen", "goals"),
    [
        ("f2f3 e7e5 g2g4 d8h4", {"(check short_diagonal)"}, {"white": 0, "black": 100}),
        (
            "e2e4 e7e5 d1h5 b8c6 f1c4 g8f6 h5f7",
            {"(captured f 7)", "(check short_diagonal)"},
            {"white": 100, "black": 0},
        ),
        (
            "e2e4 c7c6 d2d4 d7d5 b1c3 d5e4 c3e4 b8d7 d1e2 g8f6 e4d6",
            {"(check knight)"},
            {"white": 100, "black": 0},
        ),
        (STALEMATE, set(), {"white": 50, "black": 50}),
    ],
    ids=["fool's mate", "scholar's mate", "smothered mate", "stalemate"],
)
def test_the_end_is_announced_and_scored(moves: str, seen: set[str], goals: dict[str, int]) -> None:
    match = Match("kriegspiel")
    assert play_all(match, moves)[-1] == seen
    assert match.terminal
    assert match.goals == goals


def test_fifty_plies_without_capture_or_move_of_a_pawn_draw() -> None:
    match = Match("kriegspiel")
    play_all(match, "e2e4 e7e5")
    for ply in range(50):
        assert not match.terminal
        if ply == 7:
            match.play(black="(move d 7 e 6)")  # refused, and so no ply
        moves = ("g1f3", "g8f6", "f3g1", "f6g8")
        match.play(**{("white", "black")[ply % 2]: next(moves_of(moves[ply % 4]))})
    assert match.terminal
    assert match.goals == {"white": 50, "black": 50}


def test_a_hundred_and_sixty_plies_draw() -> None:
    match = Match("kriegspiel")
    knights = "g1f3 g8f6 f3g1 f6g8 " * 11
    for pawn in ("a2a3 a7a6", "b2b3 b7b6", "c2c3 c7c6"):
        play_all(match, f"{pawn} {knights}")
    play_all(match, "d2d3 d7d6 " + "g1f3 g8f6 f3g1 f6g8 " * 4 + "g1f3 g8f6 f3g1")
    assert not match.terminal
    match.play(black="(move f 6 g 8)")
    assert match.terminal
    assert match.goals == {"white": 50, "black": 50}


def test_fifty_and_a_hundred_and_sixty_are_counted_apart() -> None:
    match = Match("kriegspiel")
    play_all(match, "a2a3 a7a6 " + "g1f3 g8f6 f3g1 f6g8 " * 11)
    assert "(quiet 44)" in match.fluents
    assert "(plies 46)" in match.fluents
    play_all(match, "b2b4")
    assert "(quiet 0)" in match.fluents
    assert "(plies 47)" in match.fluents


def test_on_the_small_board_pawns_do_not_jump() -> None:
    match = Match("kriegspiel_5x5")
    assert match.legal("white") == {
        *(f"(move {x} 2 {x} 3)" for x in "abcde"),
        *(f"(move {x} 2 {u} 3)" for x, u in ("ab", "ba", "bc", "cb", "cd", "dc", "de", "ed")),
        "(move b 1 a 3)",
        "(move b 1 c 3)",
    }


@pytest.mark.parametrize(("game", "num_games"), [("kriegspiel", 6), ("kriegspiel_5x5", 10)])
def test_random_games_agree_with_the_umpire(game: str, num_games: int) -> None:
    counts = compare(game, UMPIRES[game], num_games, seed=3)
    assert counts["refused"] > 100
    assert sum(n for percept, n in counts.items() if percept.startswith("(captured")) > 50
    checks = {"file", "rank", "long_diagonal", "short_diagonal", "knight"}
    assert {percept for percept in counts if percept.startswith("(check")} == {
        f"(check {direction})" for direction in checks
    }


def chess_perft(machine: Machine, depth: int) -> list[int]:
    """How many sequences of 1, 2, ... moves there are that the umpire does not refuse."""
    counts = []
    states, paths = machine.initial(1), np.ones(1, dtype=np.int64)
    refused = machine.percept_texts
    for ply in range(depth):
        turn = ply % 2
        legal = machine.legal(states, turn)
        noop = machine.move_id("noop")
        assert noop is not None
        moves = np.full((len(legal.values), 2), noop, dtype=np.int64)
        moves[:, turn] = legal.values
        lanes = np.repeat(np.arange(len(states)), legal.counts)
        stepped = machine.step(states.take(lanes), moves)
        kinds, of_lane = np.unique(stepped.percepts[:, 0], return_inverse=True)
        accepted = np.array([refused(int(kind)) != ("refused",) for kind in kinds])[of_lane]
        accepted_lanes = np.flatnonzero(accepted)
        counts.append(int(paths[lanes[accepted_lanes]].sum()))
        if ply == depth - 1:
            break
        successors = stepped.states.take(accepted_lanes)
        groups = machine.groups(successors)
        _, first = np.unique(groups, return_index=True)
        sums = np.bincount(groups, paths[lanes[accepted_lanes]]).astype(np.int64)
        states, paths = successors.take(first), sums
        running = np.flatnonzero(~machine.terminal(states))
        states, paths = states.take(running), paths[running]
    return counts


def test_there_are_as_many_games_of_chess_as_ever() -> None:
    machine = machine_of_game("kriegspiel", "propnet")
    assert chess_perft(machine, 4) == [20, 400, 8902, 197281]


class TestRulesheets:
    def script(self) -> dict[str, object]:
        return runpy.run_path(str(REPOSITORY / "scripts" / "write_kriegspiel.py"))

    def test_sheets_are_those_that_the_generator_writes(self) -> None:
        script = self.script()
        boards, rulesheet = script["BOARDS"], script["rulesheet"]
        assert [board.name for board in boards] == SHEETS  # type: ignore[attr-defined]
        for board in boards:  # type: ignore[attr-defined]
            text = Path(find_game(board.name)).read_text(encoding="utf-8")
            assert text == rulesheet(board)  # type: ignore[operator]

    @pytest.mark.parametrize("game", SHEETS)
    def test_rulesheets_are_lower_case_and_free_of_template_marks(self, game: str) -> None:
        text = Path(find_game(game)).read_text(encoding="utf-8")
        rules = re.sub(";.*", "", text)
        assert rules == rules.lower()
        assert ";;" not in text
        assert "$" not in text
        assert max(map(len, text.splitlines())) <= 100
        assert parse(text).rules

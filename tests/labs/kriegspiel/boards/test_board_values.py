"""Boards valued by their pieces: attacks against python-chess, and values by the formulas."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import chess
import numpy as np
import pytest

from ggp.errors import ConfigError
from ggp.gdl.games import find_companion
from ggp.labs.kriegspiel.boards.board_values import BoardTerms, BoardValues, unit_of
from ggp.labs.kriegspiel.choose_move import read_terms
from ggp.machine.arrays import Packed, pack_rows
from ggp.machine.base import BoolArray
from ggp.players import make_player, parse_spec
from ggp.players.options.evaluations import evaluation_of
from tests.support.games import machine_of_game, machine_of_rules

KS = read_terms(find_companion("kriegspiel", ".toml"))

PIECES = ("pawn", "knight", "bishop", "rook", "queen", "king")


class ChessBoards:
    """Positions of chess as a machine that knows their fluents."""

    roles, random_role, goal_range, backend = ("white", "black"), None, (0.0, 100.0), "chess"

    def __init__(self) -> None:
        self.squares = [
            (square, colour, kind)
            for square in chess.SQUARES
            for colour in (chess.WHITE, chess.BLACK)
            for kind in range(1, 7)
        ]

    circuit = None

    @property
    def fluent_names(self) -> tuple[str, ...]:
        return (
            *(
                f"(cell {chess.FILE_NAMES[chess.square_file(square)]} "
                f"{1 + chess.square_rank(square)} {chess.COLOR_NAMES[colour]} {PIECES[kind - 1]})"
                for square, colour, kind in self.squares
            ),
            "(control white)",
        )

    def fluent_bits(self, boards: list[chess.Board]) -> BoolArray:
        return np.array(
            [
                [
                    *(
                        board.piece_at(square) == chess.Piece(kind, colour)
                        for square, colour, kind in self.squares
                    ),
                    True,
                ]
                for board in boards
            ]
        )

    def fluent_words(self, boards: list[chess.Board]) -> Packed:
        return pack_rows(self.fluent_bits(boards))


def valued(fen: str, role: int = 0, terms: BoardTerms = KS) -> float:
    boards = BoardValues(ChessBoards(), terms)  # type: ignore[arg-type]
    board_value, _ = boards.values([chess.Board(fen)], role, np.random.default_rng(0))  # type: ignore[arg-type]
    return float(board_value[0])


def test_attacks_are_those_of_chess() -> None:
    rng = np.random.default_rng(0)
    positions = []
    board = chess.Board()
    for _ in range(60):
        for _ in range(3):
            moves = list(board.legal_moves)
            if not moves or board.is_game_over():
                board = chess.Board()
                moves = list(board.legal_moves)
            board.push(moves[rng.integers(len(moves))])
        positions.append(board.copy())
    boards = BoardValues(ChessBoards(), KS)  # type: ignore[arg-type]
    for role, colour in enumerate((chess.WHITE, chess.BLACK)):
        by_position = boards.attacked(positions, role)  # type: ignore[arg-type]
        for position, attacked in zip(positions, by_position, strict=True):
            expected = {s for s in chess.SQUARES if position.is_attacked_by(colour, s)}
            assert {chess.square(int(x), int(y)) for x, y in np.argwhere(attacked)} == expected


BARE = replace(KS, scale=1.0, protected=0.0, threatened=0.0, advance=0.0, check=0.0)
KINGS = "4k3/8/8/8/8/8/8/4K3 w - - 0 1"


def test_both_sides_are_worth_the_same_at_the_start() -> None:
    assert valued(chess.STARTING_FEN) == pytest.approx(50)
    assert valued(chess.STARTING_FEN, 1) == pytest.approx(50)
    assert valued(KINGS) == 50


def test_terms_count_one_by_one() -> None:
    rook = "4k3/8/8/8/8/8/8/R3K3 w - - 0 1"
    assert valued(rook, terms=BARE) == 55
    assert valued(rook, 1, terms=BARE) == 45
    # The king does not reach the rook; nearer it does.
    assert valued(rook, terms=replace(BARE, protected=0.1)) == 55
    near = "4k3/8/8/8/8/8/8/3RK3 w - - 0 1"
    assert valued(near, terms=replace(BARE, protected=0.1)) == 55.5
    attacked = "r3k3/8/8/8/8/8/8/R3K3 w - - 0 1"
    assert valued(attacked, terms=replace(BARE, threatened=0.1)) == 50  # so is ours
    hanging = "4k3/8/8/n7/8/8/8/R3K3 w - - 0 1"
    assert valued(hanging, terms=replace(BARE, threatened=0.1)) == pytest.approx(52.3)
    checking = "4k3/8/8/8/8/8/8/K3R3 w - - 0 1"
    assert valued(checking, terms=replace(BARE, check=-0.5)) == 54.5
    assert valued(checking, 1, terms=replace(BARE, check=-0.5)) == 45
    pawns = "4k3/3p4/8/4P3/8/8/8/4K3 w - - 0 1"
    assert valued(pawns, terms=replace(BARE, advance=0.5)) == pytest.approx(50 + 0.5 * (4 - 1))


def test_no_board_is_worth_as_much_as_a_mate() -> None:
    crowded = "4k3/8/8/8/8/8/QQQQQQQQ/QQQQKQQQ w - - 0 1"
    assert valued(crowded) == 98
    assert valued(crowded, 1) == 2


@pytest.mark.parametrize(
    ("values", "unit"),
    [
        (["0"], "1"),
        (["1", "3.5", "-0.2"], "0.1"),
        (["0.175", "0.45"], "0.025"),
        (["9", "0.000000000001"], "9/16777216"),
    ],
)
def test_values_are_multiples_of_one_number(values: list[str], unit: str) -> None:
    assert unit_of(map(Fraction, values)) == Fraction(unit)


def test_a_faulty_evaluation_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no file 'nothing'"):
        parse_spec("over:evaluation=nothing")
    file = tmp_path / "values.toml"
    file.write_text('fluent = "(cell ?file ?rank ?role ?piece)"')
    with pytest.raises(ConfigError, match="does not say what boards are worth"):
        parse_spec(f"para:evaluation={file}")
    with pytest.raises(ConfigError, match="no fluents"):
        evaluation_of("kriegspiel", machine_of_game("exploding_bomb", "propnet"))
    with pytest.raises(ConfigError, match="use --backend propnet"):
        evaluation_of("kriegspiel", machine_of_game("exploding_bomb", "prolog"))
    with pytest.raises(ConfigError, match="must be finite, not inf"):
        valued(KINGS, terms=replace(BARE, check=math.inf))


HANGING = """
(role white) (role black) (init (at 0)) (succ 0 1) (succ 1 2) (succ 2 3)
(init (cell a 1 white rook)) (init (cell a 3 black queen))
(legal white take) (legal white stay) (legal black noop)
(<= (next (cell ?x ?y ?c ?k)) (true (cell ?x ?y ?c ?k)) (distinct ?c black))
(<= (next (cell ?x ?y black ?k)) (true (cell ?x ?y black ?k)) (not (does white take)))
(<= (next (at ?n)) (true (at ?m)) (succ ?m ?n))
(<= (sees white nothing) (true (at 9)))
(<= terminal (true (at 3))) (goal white 50) (goal black 50)
"""


def test_players_value_boards_where_they_stop_looking() -> None:
    machine = machine_of_rules(HANGING, "propnet")
    for name in ("over", "para"):
        spec = parse_spec(f"{name}:depth=1,evaluation=kriegspiel,leaf=min")
        player = make_player(spec, machine, 0, np.random.default_rng(0))
        visited = machine.states_visited
        decision = player.choose()
        assert decision.fault is None
        assert machine.states_visited - visited == 2  # nothing is played out
        # A rook; or a rook less a queen, which it attacks.
        values = {value.move: value.value for value in decision.values}
        assert values == {
            "take": pytest.approx(50 + 1.2 * 5),
            "stay": pytest.approx(50 + 1.2 * (5 - 9 + 0.05 * 9 - 0.05 * 5)),
        }
        assert decision.move == "take"


def by_formula(board: chess.Board, colour: chess.Color) -> float:
    """The value of a board for a side, piece by piece, with the attacks of python-chess."""
    lead = 0.0
    for square, piece in board.piece_map().items():
        kind = KS.pieces[PIECES[piece.piece_type - 1]]
        rank = chess.square_rank(square)
        is_pawn, is_ours = piece.piece_type == chess.PAWN, piece.color == colour
        value = kind.value
        value += KS.advance * (rank if piece.color else 7 - rank) * is_pawn
        value += KS.protected * kind.value * board.is_attacked_by(piece.color, square)
        is_hit = board.is_attacked_by(not piece.color, square)
        value -= KS.threatened * kind.value * is_hit
        lead += value if is_ours else KS.check * kind.king * is_hit - value
    return min(max(50 + KS.scale * lead, 2.0), 98.0)


@pytest.mark.parametrize("role", [0, 1])
def test_boards_are_worth_what_the_formula_says(role: int) -> None:
    rng = np.random.default_rng(1)
    positions = []
    for _ in range(4):
        board = chess.Board()
        for _ in range(60):
            moves = list(board.legal_moves)
            if not moves:
                break
            board.push(moves[rng.integers(len(moves))])
            positions.append(board.copy(stack=False))
    values = BoardValues(ChessBoards(), KS)  # type: ignore[arg-type]
    by_words = values.worth(values.boards(positions), role)  # type: ignore[arg-type]
    expected = [by_formula(board, role == 0) for board in positions]
    assert by_words.tolist() == pytest.approx(expected, abs=1e-9)
    assert len(np.unique(by_words)) > 50


def test_boards_have_at_most_64_squares() -> None:
    cells = "\n".join(f"(init (cell {k} 1 white rook))" for k in range(65))
    machine = machine_of_rules(f"{HANGING}\n{cells}", "propnet")
    with pytest.raises(ConfigError, match="up to 64"):
        evaluation_of("kriegspiel", machine)

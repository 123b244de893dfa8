"""Boards searched as if everybody saw them, against plain alpha-beta; exchanges; refused tries."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import chess
import numpy as np
import pytest

from ggp.belief import Bags
from ggp.belief.bags import initial_segments
from ggp.errors import ConfigError
from ggp.gdl.games import find_companion
from ggp.labs.kriegspiel.boards.board_search import BoardLimits, BoardSearch, value_open
from ggp.labs.kriegspiel.boards.board_values import BoardTerms, BoardValues
from ggp.labs.kriegspiel.boards.exchanges import quiescence as exchange_boards
from ggp.labs.kriegspiel.boards.exchanges.quiescence import Quiescence
from ggp.labs.kriegspiel.choose_move import read_terms, with_captures
from ggp.machine import Machine
from ggp.machine.base import States
from ggp.players.options.evaluations import evaluation_of
from ggp.search.anytime import Deadline, OutOfTime
from ggp.search.clairvoyant import SharedWorlds
from ggp.search.layers import CountLimit, DepthLimit
from tests.games.chess_umpires import text_of
from tests.labs.kriegspiel.boards.chess_reference import by_move, kriegspiel, quiet
from tests.support.games import machine_of_game

KS = read_terms(find_companion("kriegspiel", ".toml"))
MATERIAL = replace(KS, protected=0.0, threatened=0.0, advance=0.0, check=0.0)

HANGING_QUEEN = "e2e4 e7e5 d1h5 b8c6"
"""White's queen may take the pawns e5, f7 and h7; all are protected."""

DEFENDED_TWICE = "e2e4 e7e5 g1f3 b8c6 f1b5 a7a6"


def states_after(machine: Machine, moves: list[chess.Move]) -> States:
    states = machine.initial(1)
    for number, move in enumerate(moves):
        row = ["noop", "noop"]
        row[number % 2] = text_of(move)
        joint = np.array([[machine.move_id(text) for text in row]], dtype=np.int64)
        states = machine.step(states, joint).states
    return states


def position(machine: Machine, text: str) -> tuple[chess.Board, States]:
    board = chess.Board()
    moves = [chess.Move.from_uci(word) for word in text.split()]
    for move in moves:
        board.push(move)
    return board, states_after(machine, moves)


def random_positions(machine: Machine, number: int, seed: int) -> tuple[list[chess.Board], States]:
    """Positions of random games in which captures are preferred now and then."""
    rng = np.random.default_rng(seed)
    boards: list[chess.Board] = []
    states: list[States] = []
    while len(boards) < number:
        board = chess.Board()
        for _ in range(int(rng.integers(8, 60))):
            moves = list(board.legal_moves)
            if not moves or board.halfmove_clock > 40:
                break
            takes = [move for move in moves if board.is_capture(move)]
            if takes and rng.random() < 0.3:
                moves = takes
            board.push(moves[rng.integers(len(moves))])
        if any(board.legal_moves) and board.halfmove_clock < 40:
            boards.append(board)
            states.append(states_after(machine, board.move_stack))
    return boards, machine.concatenate(states)


def tried_positions(machine: Machine) -> States:
    """States after random tries, in which white has a choice."""
    rng, states = np.random.default_rng(0), machine.initial(40)
    for _ in range(20):
        lists = [machine.legal(states, role) for role in (0, 1)]
        places = [legal.offsets[:-1] + rng.integers(legal.counts) for legal in lists]
        joint = np.stack([m.values[p] for m, p in zip(lists, places, strict=True)], axis=1)
        states = machine.step(states, joint).states
        states = states.take(np.flatnonzero(~machine.terminal(states)))
    return states.take(np.flatnonzero(machine.legal(states, 0).counts > 1))


def bag_of(machine: Machine, states: States, role: int) -> Bags:
    initial = initial_segments(machine, 1, keep_views=False)
    count = len(states)
    sets = replace(
        initial,
        offsets=np.array([0, count]),
        states=states,
        log_weights=np.full(count, -np.log(count)),
        exact=np.zeros(1, dtype=np.bool_),
    )
    return Bags(role, np.array([role]), np.zeros(1, dtype=np.int64), sets)


def quiescence(machine: Machine, role: int, most: int = 8, terms: BoardTerms = KS) -> Quiescence:
    return Quiescence(machine, BoardValues(machine, terms), role, most)


def search(
    machine: Machine, states: States, role: int, depth: int, most: int, terms: BoardTerms = KS
) -> dict[str, tuple[float, int]]:
    """Value and number of boards of each move."""
    evaluation = quiescence(machine, role, most, terms) if most else BoardValues(machine, terms)
    board_search = BoardSearch(
        machine,
        bag_of(machine, states, role),
        np.random.default_rng(0),
        BoardLimits(depth, 100_000),
        evaluation=evaluation,
    )
    board_search.round(len(states))
    seen = board_search.estimates()
    return {
        machine.move_text(move): (value, visits)
        for move, value, visits in zip(
            seen.moves.values.tolist(), seen.values.tolist(), seen.visits.tolist(), strict=True
        )
    }


@pytest.mark.parametrize("most", [1, 3, 8])
def test_exchanges_are_worth_what_plain_alpha_beta_says(most: int) -> None:
    machine = machine_of_game("kriegspiel", "propnet")
    boards, states = random_positions(machine, 30, seed=4)
    for role, colour in enumerate((chess.WHITE, chess.BLACK)):
        evaluation = quiescence(machine, role, most, MATERIAL)
        rng = np.random.default_rng(0)
        ours, theirs = (evaluation.values(states, player, rng)[0] for player in (role, 1 - role))
        expected = [quiet(board, colour, most) for board in boards]
        assert ours.tolist() == pytest.approx(expected)
        assert theirs.tolist() == pytest.approx([100 - value for value in expected])
    still, _ = BoardValues(machine, MATERIAL).values(states, 1, np.random.default_rng(0))
    assert (ours != still).any()


@pytest.mark.verify
def test_a_move_and_a_reply_are_worth_what_plain_alpha_beta_says() -> None:
    machine = machine_of_game("kriegspiel", "propnet")
    boards, states = random_positions(machine, 3, seed=1)
    boards.append(position(machine, HANGING_QUEEN)[0])
    states = machine.concatenate([states, position(machine, HANGING_QUEEN)[1]])
    for lane, board in enumerate(boards):
        role = 0 if board.turn else 1
        by_text = search(machine, states.take(np.array([lane])), role, 2, 8, MATERIAL)
        expected = {text_of(move): value for move, value in by_move(board, 2, 8).items()}
        values = {move: value for move, (value, visits) in by_text.items() if visits}
        # What the umpire would refuse is left out.
        assert values == pytest.approx(expected)


@pytest.mark.parametrize(("most", "number"), [(0, 5), (8, 2)])
def test_the_loss_by_a_check_does_not_depend_on_who_gives_it(most: int, number: int) -> None:
    """KS takes something from who gives check: if each role went by its own values, it would not be
    minimax of anything."""
    machine = machine_of_game("kriegspiel", "propnet")
    boards, states = random_positions(machine, number, seed=3)
    values = 0
    for lane, board in enumerate(boards):
        role = 0 if board.turn else 1
        by_text = search(machine, states.take(np.array([lane])), role, 2, most)
        expected = {text_of(m): value for m, value in by_move(board, 2, most, kriegspiel).items()}
        assert {m: value for m, (value, n) in by_text.items() if n} == pytest.approx(expected)
        values += len(expected)
    assert values > 30 * (number - 1)


def test_states_that_cannot_matter_are_not_valued() -> None:
    machine = machine_of_game("kriegspiel", "propnet")
    boards, states = random_positions(machine, 8, seed=6)
    states = states.take(np.flatnonzero([board.turn == chess.BLACK for board in boards]))
    role = 1
    by_search, visited = [], []
    for sparing in (False, True):
        evaluation = quiescence(machine, role)
        worlds = SharedWorlds(machine, states, role, evaluation, skip_refused=True)
        worlds.grow(DepthLimit(CountLimit(10**6), 2))
        start = machine.states_visited
        if sparing:
            value_open(worlds, evaluation, np.random.default_rng(0))
        else:
            worlds.play_out(1, np.random.default_rng(0))
        visited.append(machine.states_visited - start)
        by_search.append(worlds.values().values.tolist())
    assert by_search[1] == pytest.approx(by_search[0])
    assert visited[1] < 0.7 * visited[0]


def test_a_queen_is_not_left_to_be_taken_back() -> None:
    machine = machine_of_game("kriegspiel", "propnet")
    _, states = position(machine, HANGING_QUEEN)
    greedy, wise = (
        {m: value for m, (value, n) in search(machine, states, 0, 1, most, MATERIAL).items() if n}
        for most in (0, 8)
    )
    takes = {f"(move h 5 {square})" for square in ("e 5", "f 7", "h 7")}
    assert max(greedy, key=lambda move: greedy[move]) in takes
    assert max(wise, key=lambda move: wise[move]) not in takes
    for move in takes:  # a pawn for a queen
        assert wise[move] == pytest.approx(greedy[move] - 9 * 1.2, abs=1e-6)


def test_tries_that_are_refused_count_neither_as_moves_nor_as_replies() -> None:
    machine = machine_of_game("kriegspiel", "propnet")
    board, states = position(machine, DEFENDED_TWICE)
    plain = SharedWorlds(machine, states, 0)
    plain.grow(DepthLimit(CountLimit(10**6), 1))
    worlds = SharedWorlds(machine, states, 0, skip_refused=True)
    worlds.grow(DepthLimit(CountLimit(10**6), 2))
    legal = {text_of(move) for move in board.legal_moves}
    assert set(map(machine.move_text, worlds.moves.values.tolist())) == legal
    assert set(map(machine.move_text, plain.moves.values.tolist())) > legal
    replies = 0
    for move in board.legal_moves:
        board.push(move)
        replies += board.legal_moves.count()
        board.pop()
    first, second = (layer.moves.counts for layer in worlds.layers.layers)
    assert first[:, 0].tolist() == [len(legal)]
    assert second.sum(axis=1).tolist() == [count + 1 for count in second[:, 1]]
    assert second[:, 1].sum() == replies


def test_a_move_counts_on_the_boards_on_which_it_can_be_made() -> None:
    machine = machine_of_game("kriegspiel", "propnet")
    open_, shut = "e2e4 a7a6 a2a3 a6a5", "e2e4 e7e5 a2a3 a7a6"
    states = machine.concatenate([position(machine, text)[1] for text in (open_, shut)])
    by_text = search(machine, states, 0, 1, 8)
    assert by_text["(move e 4 e 5)"][1] == 1
    assert by_text["(move a 3 a 4)"][1] == 2
    (single, _) = search(machine, states.take(np.array([0])), 0, 1, 8)["(move e 4 e 5)"]
    assert by_text["(move e 4 e 5)"][0] == pytest.approx(single)
    assert by_text["(move e 4 d 5)"] == (0.0, 0)


def test_a_game_whose_file_names_no_captures_has_no_quiescence() -> None:
    machine = machine_of_game("kriegspiel_5x5", "propnet")
    values = evaluation_of("kriegspiel", machine)
    assert isinstance(with_captures(values, machine, 0, quiet=4), Quiescence)
    assert isinstance(with_captures(values, machine, 0, quiet=0), BoardValues)
    silent = BoardValues(machine, replace(KS, noisy=()))
    states = machine.initial(3)
    rng = np.random.default_rng(0)
    played_out = Quiescence(machine, silent, 0, 8).values(states, 0, rng)[0]
    assert (played_out == silent.values(states, 0, rng)[0]).all()


@pytest.mark.parametrize("name", ["?rank", "?from_file"])
def test_noisy_moves_must_declare_their_squares(name: str, tmp_path: Path) -> None:
    file, text = tmp_path / "values.toml", find_companion("kriegspiel", ".toml").read_text()
    start = text.index("noisy = ")
    file.write_text(
        text[:start] + text[start:].replace(f"{name} ", "?where ").replace(f"{name})", "?where)")
    )
    with pytest.raises(ConfigError, match="does not say what boards are worth"):
        read_terms(file)


def test_boards_are_searched_until_the_time_is_up() -> None:
    machine = machine_of_game("kriegspiel", "propnet")
    _, states = random_positions(machine, 40, seed=2)
    lanes = np.array(
        [lane for lane in range(len(states)) if len(machine.legal(states, 0)[lane]) > 1],
        dtype=np.int64,
    )
    ticks = iter(range(10**6))
    deadline = Deadline(0.006, lambda: next(ticks) / 10_000)
    board_search = BoardSearch(
        machine,
        bag_of(machine, states.take(lanes), 0),
        np.random.default_rng(0),
        BoardLimits(1, 1000),
        evaluation=BoardValues(machine, KS),
        deadline=deadline,
    )
    with pytest.raises(OutOfTime):
        board_search.round(len(lanes))
    assert 0 < board_search.num_searched < len(lanes)
    assert board_search.num_left == len(lanes) - board_search.num_searched
    assert board_search.estimates().visits.max() <= board_search.num_searched
    assert board_search.estimates().visits.any()


@pytest.mark.parametrize("depth", [1, pytest.param(2, marks=pytest.mark.verify)])
def test_values_do_not_depend_on_how_many_boards_are_searched_side_by_side(
    depth: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = machine_of_game("kriegspiel_5x5", "propnet")
    states = tried_positions(machine)
    side_by_side = search(machine, states, 0, depth, 8)
    monkeypatch.setattr("ggp.labs.kriegspiel.boards.board_search.FIRST_BOARDS", 1)
    monkeypatch.setattr("ggp.labs.kriegspiel.boards.board_search.BOARDS_AT_ONCE", 1)
    assert search(machine, states, 0, depth, 8) == side_by_side
    assert len(states) > 10
    assert len({value for value, _ in side_by_side.values()}) > 10


def test_values_do_not_depend_on_how_much_room_there_was(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = machine_of_game("kriegspiel", "propnet")
    _, states = random_positions(machine, 30, seed=5)
    states = states.take(np.repeat(np.arange(30), 10))
    rng = np.random.default_rng(0)
    expected = quiescence(machine, 0).values(states, 0, rng)[0]
    monkeypatch.setattr(exchange_boards, "ROOM", 2)
    assert quiescence(machine, 0).values(states, 0, rng)[0].tolist() == expected.tolist()

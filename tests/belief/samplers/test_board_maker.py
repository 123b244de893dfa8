"""Boards drawn by the last observation, where no random history agrees with it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import chess
import numpy as np
import pytest

from ggp.belief import BoardMaker, DrawnPieces, PathTree
from ggp.belief.samplers.last_observation import LastObservation
from ggp.errors import ConfigError
from ggp.gdl.games import find_companion
from ggp.machine import Machine
from ggp.machine.base import States
from ggp.players import BeliefPlayer, make_player, parse_spec
from ggp.players.parts.search_player import board_maker_of, drawn_pieces_of
from tests.support.games import machine_of_game

BOARDS = ("kriegspiel", "kriegspiel_5x5")


def kriegspiel_pieces() -> DrawnPieces:
    drawn_pieces = drawn_pieces_of("kriegspiel")
    assert drawn_pieces is not None
    return drawn_pieces


def cells(fluents: tuple[str, ...], colour: str) -> set[str]:
    return {fluent for fluent in fluents if fluent.startswith("(cell ") and f" {colour} " in fluent}


def pieces(fluents: tuple[str, ...], colour: str) -> Counter[str]:
    return Counter(cell.strip("()").split()[-1] for cell in cells(fluents, colour))


def random_turn(machine: Machine, state: States, rng: np.random.Generator) -> np.ndarray:
    legal = [machine.legal(state, role)[0] for role in range(2)]
    return np.array([[moves[rng.integers(len(moves))] for moves in legal]])


def random_state(machine: Machine, turns: int, seed: int) -> States:
    rng = np.random.default_rng(seed)
    state = machine.initial(1)
    for _ in range(turns):
        successor = machine.step(state, random_turn(machine, state, rng)).states
        if machine.terminal(successor)[0]:
            break
        state = successor
    return state


@pytest.mark.parametrize("game", BOARDS)
def test_own_pieces_stay_and_as_many_opposing_pieces_are_drawn(game: str) -> None:
    machine = machine_of_game(game, "propnet")
    maker = BoardMaker(machine, kriegspiel_pieces())
    for turns in (0, 30, 90):
        state = random_state(machine, turns, seed=turns)
        (truth,) = machine.fluents(state)
        army = pieces(machine.fluents(machine.initial(1))[0], "black")
        boards = machine.fluents(maker.draw(state, 0, 50, np.random.default_rng(1)))
        assert len(boards) > 45  # on the others the game is over
        for board in boards:
            assert cells(board, "white") == cells(truth, "white")
            assert len(cells(board, "black")) == len(cells(truth, "black"))
            assert pieces(board, "black")["king"] == 1
            assert pieces(board, "black")["pawn"] <= army["pawn"]
            squares = [fluent.split()[1:3] for fluent in board if fluent.startswith("(cell ")]
            assert len(set(map(tuple, squares))) == len(squares)
            ranks = {fluent.split()[2] for fluent in board if fluent.endswith(" pawn)")}
            assert not ranks & {"1", "8" if game == "kriegspiel" else "5"}
            for name in ("control", "plies", "quiet"):
                true_fluents = {fluent for fluent in truth if fluent.startswith(f"({name} ")}
                assert {
                    fluent for fluent in board if fluent.startswith(f"({name} ")
                } == true_fluents
        assert len(set(boards)) > 1


def test_drawn_pieces_cover_all_possible_squares() -> None:
    machine = machine_of_game("kriegspiel_5x5", "propnet")
    maker = BoardMaker(machine, replace(kriegspiel_pieces(), home=0.3, promoted=0.2))
    state = random_state(machine, 60, seed=3)
    (truth,) = machine.fluents(state)
    boards = machine.fluents(maker.draw(state, 0, 4000, np.random.default_rng(0)))
    own_squares = {" ".join(cell.split()[1:3]) for cell in cells(truth, "white")}
    free = {f"{x} {y}" for x in "abcde" for y in range(1, 6)} - own_squares
    inner = {square for square in free if square[-1] not in "15"}
    seen = Counter(
        (cell.strip("()").split()[-1], " ".join(cell.split()[1:3]))
        for board in boards
        for cell in cells(board, "black")
    )
    for kind in ("rook", "knight", "bishop", "queen", "king"):
        assert {square for name, square in seen if name == kind} == free
    assert {square for name, square in seen if name == "pawn"} == inner
    # Two queens: a pawn has become one.
    assert any(pieces(board, "black")["queen"] == 2 for board in boards)
    # The king is at home as often as `home` says, and sometimes by chance.
    home = seen["king", "e 5"] / len(boards)
    assert home == pytest.approx(0.3 + 0.7 / len(free), abs=0.03) if "e 5" in free else not home


def test_no_drawn_board_leaves_a_king_to_be_captured() -> None:
    machine = machine_of_game("kriegspiel", "propnet")
    maker = board_maker_of("kriegspiel", machine)
    assert maker is not None
    rng = np.random.default_rng(0)
    for turns, role in ((40, 0), (40, 1), (90, 0)):
        state = random_state(machine, turns, seed=turns)
        boards = maker.draw(state, role, 200, rng)
        assert 20 < len(boards) < 200  # the others would leave a king to be captured
        (truth,) = machine.fluents(state)
        for fluents in machine.fluents(boards):
            board = chess.Board(None)
            for cell in (fluent.strip("()").split() for fluent in fluents if "(cell " in fluent):
                square = chess.parse_square(cell[1] + cell[2])
                kind = chess.PIECE_NAMES.index(cell[4])
                board.set_piece_at(square, chess.Piece(kind, cell[3] == "white"))
            board.turn = "(control white)" in truth
            assert not board.was_into_check()


def test_drawn_boards_drop_fluents_about_lost_pieces() -> None:
    machine = machine_of_game("kriegspiel", "propnet")
    maker = BoardMaker(machine, kriegspiel_pieces())
    states = machine.initial(1)
    for number, move in enumerate(("(move e 2 e 4)", "(move d 7 d 5)", "(move a 2 b 3)")):
        row = ["noop", "noop"]
        row[number % 2] = move
        joint = np.array([[machine.move_id(term) for term in row]])
        states = machine.step(states, joint).states
    (truth,) = machine.fluents(states)
    assert {"(passed d 6)", "(refused a 2 b 3)", "(may_castle black short)"} <= set(truth)
    (board,) = machine.fluents(maker.draw(states, 0, 1, np.random.default_rng(0)))
    assert not [term for term in board if term.startswith(("(passed", "(refused"))]
    assert "(may_castle white short)" in board
    assert "(may_castle black short)" not in board


@pytest.mark.parametrize("game", BOARDS)
@pytest.mark.parametrize("role", [0, 1])
def test_boards_agree_with_the_last_observation(game: str, role: int) -> None:
    """Own pieces, the number of the opponent's, check, and own tries: in a game of random moves."""
    machine = machine_of_game(game, "propnet")
    tree = PathTree(machine)
    maker = board_maker_of("kriegspiel", machine)
    # Walks are tested elsewhere, and slow.
    sampler = LastObservation(machine, tree, capacity=8, maker=maker, walk=False)
    rng = np.random.default_rng(role)
    state, bag = machine.initial(1), sampler.start(role)
    turns = num_filled = checks = 0
    for _ in range(60):
        joint = random_turn(machine, state, rng)
        stepped = machine.step(state, joint)
        if machine.terminal(stepped.states)[0]:
            break
        state, percepts = stepped.states, stepped.percepts[:, role]
        bag = sampler.advance(bag, joint[:, role], percepts, rng)
        (truth,) = machine.fluents(state)
        turns += 1
        if bag.depleted[0]:
            continue
        num_filled += 1
        checks += any("check" in percept for percept in machine.percept_texts(int(percepts[0])))
        legal = set(machine.legal(state, role)[0].tolist())
        colour, other_colour = machine.roles[role], machine.roles[1 - role]
        boards = bag.states_of(0)
        for lane, board in enumerate(machine.fluents(boards)):
            assert cells(board, colour) == cells(truth, colour)
            assert len(cells(board, other_colour)) == len(cells(truth, other_colour))
            assert pieces(board, other_colour)["king"] == 1
            assert set(machine.legal(boards, role)[lane].tolist()) == legal
        assert not bag.sound
    assert turns > 30
    assert num_filled > 0.95 * turns
    assert checks or game == "kriegspiel"


def test_refused_tries_and_the_turn_before_are_one_observation() -> None:
    machine = machine_of_game("kriegspiel", "propnet")
    tree = PathTree(machine)
    maker = board_maker_of("kriegspiel", machine)
    sampler = LastObservation(machine, tree, capacity=30, maker=maker, walk=False)
    rng = np.random.default_rng(0)
    bag = sampler.start(0)
    turns = [
        ("(move e 2 e 4)", ()),
        ("noop", ()),
        ("(move e 4 d 5)", ("refused",)),
        ("(move d 1 h 5)", ("refused",)),
    ]
    for move, percepts in turns:
        moves = np.array([machine.move_id(move)])
        bag = sampler.advance(bag, moves, np.array([machine.percept_id(percepts)]), rng)
    boards = bag.states_of(0)
    assert len(boards) == 30
    for board in machine.fluents(boards):
        assert {"(refused e 4 d 5)", "(refused d 1 h 5)"} <= set(board)
        if any(cell.startswith("(cell d 5 ") for cell in cells(board, "black")):
            # Then the pawn is pinned.
            assert any(
                cell.startswith("(cell e ") and cell.endswith((" rook)", " queen)"))
                for cell in cells(board, "black")
            )
        between = ("(cell e 2 ", "(cell f 3 ", "(cell g 4 ")
        assert [cell for cell in cells(board, "black") if cell.startswith(between)]


def test_a_capture_in_passing_is_possible() -> None:
    machine = machine_of_game("kriegspiel", "propnet")
    tree = PathTree(machine)
    maker = board_maker_of("kriegspiel", machine)
    sampler = LastObservation(machine, tree, capacity=8, maker=maker, walk=False)
    rng = np.random.default_rng(0)
    bag = sampler.start(0)
    turns = [
        ("(move e 2 e 4)", ()),
        ("noop", ()),
        ("(move e 4 e 5)", ()),
        ("noop", ()),
        ("(move e 5 d 6)", ("(captured d 5)",)),
    ]
    for move, percepts in turns:
        moves = np.array([machine.move_id(move)])
        bag = sampler.advance(bag, moves, np.array([machine.percept_id(percepts)]), rng)
    assert len(bag.states_of(0)) == 8
    assert all("(cell d 6 white pawn)" in board for board in machine.fluents(bag.states_of(0)))


def player_of(machine: Machine, spec: str, role: int) -> BeliefPlayer:
    player = make_player(parse_spec(spec), machine, role, np.random.default_rng(role))
    assert isinstance(player, BeliefPlayer)
    return player


@pytest.mark.verify
def test_los_plays_to_the_end_with_a_board_maker() -> None:
    machine = machine_of_game("kriegspiel_5x5", "propnet")
    player = player_of(machine, "los:worlds=2,depth=1,evaluation=kriegspiel,boards=kriegspiel", 0)
    rng = np.random.default_rng(3)
    state, decisions = machine.initial(1), 0
    for turn in range(1000):
        decision = player.choose()
        assert decision.fault is None, turn
        decisions += len(decision.values) > 1
        joint = random_turn(machine, state, rng)
        joint[0, 0] = machine.move_id(decision.move)
        stepped = machine.step(state, joint)
        state = stepped.states
        if machine.terminal(state)[0]:
            break
        seen = machine.percept_texts(int(stepped.percepts[0, 0]))
        player.observe(decision.move, seen, submitted=decision.move)
    assert machine.terminal(state)[0]
    assert decisions > 20


@pytest.mark.verify
def test_los_has_no_board_without_a_board_maker() -> None:
    machine = machine_of_game("kriegspiel", "propnet")
    rng = np.random.default_rng(0)
    state, turns = machine.initial(1), []
    for _ in range(60):
        joint = random_turn(machine, state, rng)
        stepped = machine.step(state, joint)
        turns.append((int(joint[0, 0]), int(stepped.percepts[0, 0])))
        state = stepped.states
    sizes = {}
    for name, maker in (("none", None), ("drawn", BoardMaker(machine, kriegspiel_pieces()))):
        tree = PathTree(machine)
        sampler = LastObservation(machine, tree, capacity=8, max_attempts=20_000, maker=maker)
        bag, draws = sampler.start(0), np.random.default_rng(0)
        for number, (move, seen) in enumerate(turns):
            moves, percepts = np.array([move]), np.array([seen])
            if maker is None and number < len(turns) - 1:
                bag = replace(bag, paths=tree.extend(bag.paths, moves, percepts))
                continue
            bag = sampler.advance(bag, moves, percepts, draws)
        sizes[name] = len(bag.sets.states)
    assert sizes == {"none": 0, "drawn": 8}


def test_errors_say_what_is_wrong_with_a_board_maker(tmp_path: object) -> None:
    machine = machine_of_game("exploding_bomb", "propnet")
    assert board_maker_of("none", machine) is None
    with pytest.raises(ConfigError, match="no fluents"):
        board_maker_of("kriegspiel", machine)
    with pytest.raises(ConfigError, match="there is no file 'nothing'"):
        parse_spec("los:boards=nothing")
    text = find_companion("kriegspiel", ".toml").read_text()
    for old, new in (("[boards]", "[planks]"), ('["pawn"]', '["peon"]'), ("home =", "hole =")):
        file = type(find_companion("kriegspiel", ".toml"))(str(tmp_path)) / "boards.toml"
        file.write_text(text.replace(old, new))
        with pytest.raises(ConfigError, match="does not say how boards are drawn"):
            parse_spec(f"hs:boards={file}")

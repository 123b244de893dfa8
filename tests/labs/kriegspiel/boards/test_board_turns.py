"""Boards searched by turns that a circuit makes at once, against those made move list by move list.

Values must be equal to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from ggp.errors import MachineError
from ggp.labs.kriegspiel.boards.board_search import BoardLimits, BoardSearch, ordered
from ggp.labs.kriegspiel.boards.board_values import BoardValues
from ggp.labs.kriegspiel.boards.exchanges import quiescence as exchange_boards
from ggp.labs.kriegspiel.boards.exchanges.quiescence import moves_by_squares
from ggp.labs.kriegspiel.set_search import InformationSetSearch
from ggp.labs.kriegspiel.set_tree import LookAhead
from ggp.machine import Machine
from ggp.machine.arrays import first_seen
from ggp.machine.base import FloatArray, States
from ggp.machine.layers import JointMoves
from ggp.machine.on_circuit import on_circuit
from ggp.machine.propnet.play.propnet_machine import PropnetMachine
from ggp.machine.propnet.play.turns import CircuitTurns
from ggp.search import moves as search_moves
from ggp.search.moves import joint_moves
from ggp.search.parts import Search
from tests.labs.kriegspiel.boards.test_quiescence import KS, bag_of, quiescence, tried_positions
from tests.support.games import machine_of_game, machine_of_rules

STEPS = 1 << 20


def step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on turns are made move list by move list, and boards valued after them."""
    monkeypatch.setattr(search_moves, "on_circuit", lambda _: False)
    monkeypatch.setattr(
        CircuitTurns, "choices", lambda *arguments: JointMoves.of(*arguments).counts
    )
    monkeypatch.setattr(InformationSetSearch, "_mostly_leaves", lambda *_: False)


def board_search(machine: Machine, count: int) -> Search:
    bag = bag_of(machine, tried_positions(machine).take(np.arange(count)), 0)
    rng, evaluation = np.random.default_rng(0), BoardValues(machine, KS)
    return BoardSearch(machine, bag, rng, BoardLimits(2, STEPS), evaluation=evaluation)


def informed(
    machine: Machine, count: int, *, depth: int, tries: int, paranoid: bool = False
) -> Search:
    bag = bag_of(machine, tried_positions(machine).take(np.arange(count)), 0)
    values, rng = BoardValues(machine, KS), np.random.default_rng(0)
    settings = LookAhead(depth, paranoid, tries=tries)
    return InformationSetSearch(machine, bag, rng, settings, evaluation=values)


@pytest.mark.parametrize(
    "make",
    [
        board_search,
        partial(informed, depth=1, tries=1),
        partial(informed, depth=2, tries=0),
        partial(informed, depth=2, tries=1, paranoid=True),
    ],
    ids=["board search", "over 1 with tries", "over 2", "para 2 with tries"],
)
def test_values_are_those_of_the_slow_way(
    make: Callable[[Machine, int], Search], monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = machine_of_game("kriegspiel_5x5", "propnet")
    fast = make(machine, 3)
    fast.round(3)
    step_by_step(monkeypatch)
    slow = make(machine, 3)
    slow.round(3)
    fast_values, slow_values = fast.estimates(), slow.estimates()
    assert len(set(slow_values.values.tolist())) > 3
    for name in ("values", "stderrs", "visits", "promptness"):
        assert getattr(fast_values, name).tobytes() == getattr(slow_values, name).tobytes()


@pytest.mark.parametrize("role", [0, 1])
def test_successors_valued_as_they_are_made_are_those_that_are_written(role: int) -> None:
    machine = machine_of_game("kriegspiel_5x5", "propnet")
    assert on_circuit(machine)
    states, values = tried_positions(machine), BoardValues(machine, KS)
    options = joint_moves(machine, states, role)
    lanes, moves = options.between(0, int(options.offsets[-1]))
    lists_before = options.lists
    valued = values.valued_turns(states, lanes, moves, role, lists_before)
    written = machine.turned(states, lanes, moves, percepts=True, before=lists_before)
    assert valued is not None
    assert written is not None
    assert valued.move_facts is not None
    assert written.move_facts is not None
    assert (valued.percepts == written.percepts[:, role]).all()
    assert valued.over.tolist() == written.over.tolist()
    for column, expected in zip(valued.move_facts, written.move_facts, strict=True):
        assert column.tolist() == expected.tolist()
    worth = values.worth(values.boards(written.states), role)
    on = ~written.over
    assert valued.values[on].tobytes() == worth[on].tobytes()
    # Two states with one successor, and those whose board does not change.
    _, expected = first_seen(machine.groups(written.states))
    assert expected.max() + 1 < len(lanes)
    assert first_seen(valued.keys)[1].tolist() == expected.tolist()


def test_successors_are_not_valued_after_moves_that_no_role_has() -> None:
    machine = machine_of_game("kriegspiel_5x5", "propnet")
    states, values = tried_positions(machine).take(np.arange(1)), BoardValues(machine, KS)
    with pytest.raises(MachineError):
        values.valued_turns(states, np.zeros(1, dtype=np.int64), np.full((1, 2), 10**6), 0, ())


def positions_of_both(machine: Machine) -> States:
    """States in which white is to move, and others after its moves; more than a block."""
    first = tried_positions(machine)
    options = joint_moves(machine, first, 0)
    lanes, joint = options.between(0, int(options.offsets[-1]))
    successors = machine.step(first.take(lanes), joint).states
    successors = successors.take(np.flatnonzero(~machine.terminal(successors)))
    states = machine.concatenate([first, successors, successors])
    assert len(states) > 512
    return states


def played_out(machine: Machine, states: States, role: int, most: int) -> FloatArray:
    values, _ = quiescence(machine, role, most).values(states, role, np.random.default_rng(0))
    return values


def after_a_capture(machine: Machine, states: States, role: int) -> list[float]:
    """Values of states for a role if whoever is alone to move may make a capture, but need not."""
    values, role_values = BoardValues(machine, KS), []
    for lane in range(len(states)):
        state = states.take(np.array([lane]))
        options = joint_moves(machine, state, role)
        _, joint = options.between(0, int(options.offsets[-1]))
        movers = np.flatnonzero((joint != joint[0]).any(axis=0))
        boards = values.boards(state)
        value = float(values.worth(boards, role)[0])
        noisy = moves_by_squares(machine, values) if on_circuit(machine) else {}
        for row in joint if len(movers) == 1 else ():
            after = machine.step(state, row[None]).states
            takes = values.boards(after).num_pieces[0] < boards.num_pieces[0]
            if takes and row[movers[0]] in noisy[int(movers[0])].moves:
                worth = values.worth(values.boards(after), role)[0]
                if machine.terminal(after)[0]:
                    worth = machine.goals(after)[0, role]
                value = max(value, worth) if movers[0] == role else min(value, worth)
        role_values.append(value)
    return role_values


@pytest.mark.parametrize("role", [0, 1])
def test_a_capture_is_made_only_if_it_pays(role: int) -> None:
    machine = machine_of_game("kriegspiel_5x5", "propnet")
    states, values = positions_of_both(machine), BoardValues(machine, KS)
    values_after = played_out(machine, states, role, 1)
    some = np.arange(0, len(states), 11)
    assert values_after[some].tolist() == after_a_capture(machine, states.take(some), role)
    stands = values.worth(values.boards(states), role)
    assert (values_after > stands).any()
    assert (values_after < stands).any()


def test_exchanges_are_played_on_smaller_circuits_for_each_turn() -> None:
    machine = machine_of_game("kriegspiel_5x5", "propnet")
    assert isinstance(machine, PropnetMachine)
    states = positions_of_both(machine)
    played_out(machine, states, 0, 8)
    circuits = machine.turn_phases(machine.packed_of(states)[0])
    deciding = [machine.fluent_names[fluent] for fluent in circuits.fluents]
    assert deciding == ["(control black)"]
    assert sorted(circuits.phases.tolist()) == [0, 1]
    whole = len(circuits.whole.step.tape.inputs)
    for circuit in (circuits.first, circuits.second):
        assert len(circuit.step.tape.inputs) < whole
        assert len(circuit.look.tape.inputs) < len(circuits.whole.look.tape.inputs)


def test_exchanges_that_need_more_room_are_worth_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = machine_of_game("kriegspiel_5x5", "propnet")
    states = positions_of_both(machine)
    roomy = played_out(machine, states, 0, 8)
    monkeypatch.setattr(exchange_boards, "FIRST_ROOM", 1)
    monkeypatch.setattr(exchange_boards, "ROOM", 2)
    assert roomy.tobytes() == played_out(machine, states, 0, 8).tobytes()


@pytest.mark.parametrize("role", [0, 1])
def test_a_square_with_two_pieces_shows_the_one_that_is_read_last(role: int) -> None:
    """Then what has changed does not tell which piece shows, and the board is read anew."""
    machine = machine_of_game("kriegspiel_5x5", "propnet")
    states = positions_of_both(machine).take(np.arange(0, 500, 11))
    assert isinstance(machine, PropnetMachine)
    bits = machine.fluent_bits(states)
    names = machine.fluent_names
    twice = [names.index(f"(cell c 3 white {piece})") for piece in ("pawn", "queen")]
    bits[:, twice] = True
    doubled = machine.from_fluent_bits(bits)
    expected = after_a_capture(machine, doubled, role)
    assert played_out(machine, doubled, role, 1).tolist() == expected


@pytest.mark.parametrize("size", [1, 5, 200])
def test_runs_are_ordered_by_their_keys(size: int) -> None:
    rng = np.random.default_rng(size)
    owner = np.repeat(np.arange(7), rng.integers(1, size + 1, 7))
    key = rng.integers(0, 9, len(owner)).astype(np.float64)
    assert (ordered(owner, key) == np.lexsort((key, owner))).all()


WITH_A_WALL = """
(role white) (role black) (init (at 0)) (succ 0 1) (succ 1 2) (succ 2 3)
(init (cell a 1 white rook)) (init (cell a 3 black queen)) (init (cell b 2 black pawn))
(<= (legal white (move a 1 a 3)) (true (cell a 1 white rook)))
(legal white stay) (legal black noop)
(<= (next (cell ?x ?y ?c ?k)) (true (cell ?x ?y ?c ?k)) (not (does white (move a 1 a 3))))
(<= (next (cell a 3 white rook)) (does white (move a 1 a 3)))
(<= (next (cell ?x ?y white rook)) (true (cell ?x ?y white rook)) (not (does white (move a 1 a 3))))
(<= (next (cell b 2 black pawn)) (true (cell b 2 black pawn)))
(<= (next (at ?n)) (true (at ?m)) (succ ?m ?n))
(<= (sees white nothing) (true (at 9)))
(<= terminal (true (at 3))) (goal white 50) (goal black 50)
"""
"""The pawn is there in every state, so it is no fluent of the circuit."""


@pytest.mark.parametrize("role", [0, 1])
def test_pieces_that_never_change_count(role: int) -> None:
    machine = machine_of_rules(WITH_A_WALL, "propnet")
    assert isinstance(machine, PropnetMachine)
    assert machine.num_fluents < len(machine.fluent_names)
    states, values = machine.initial(3), BoardValues(machine, KS)
    lanes, moves = np.zeros(2, dtype=np.int64), np.zeros((2, 2), dtype=np.int64)
    moves[:, 0] = machine.legal(states, 0).values[:2]
    moves[:, 1] = machine.legal(states, 1).values[0]
    valued = values.valued_turns(states, lanes, moves, role, ())
    successors = machine.step(states.take(lanes), moves).states
    assert valued is not None
    assert valued.values.tobytes() == values.worth(values.boards(successors), role).tobytes()
    fast = played_out(machine, states, role, 4)
    assert fast.tolist() == after_a_capture(machine, states, role)
    stands = values.worth(values.boards(states), role)
    assert (fast > stands if role == 0 else fast < stands).all()


BOTH_CAPTURE = """
(role white) (role black) (init (cell a 1 white rook)) (init (cell a 3 black queen))
(init (cell b 3 black rook)) (init (cell b 1 white pawn))
(<= (legal white (move a 1 a 3)) (true (cell a 1 white rook)))
(<= (legal black (move b 3 b 1)) (true (cell b 3 black rook)))
(<= (legal white stay) (not (true (cell a 1 white rook))))
(<= (legal black stay) (not (true (cell b 3 black rook))))
(<= (next (cell a 3 white rook)) (does white (move a 1 a 3)))
(<= (next (cell a 3 white rook)) (true (cell a 3 white rook)))
(<= (next (cell b 1 black rook)) (does black (move b 3 b 1)))
(<= (next (cell b 1 black rook)) (true (cell b 1 black rook)))
(<= terminal (true (cell a 9 white rook))) (goal white 50) (goal black 50)
"""


@pytest.mark.parametrize("role", [0, 1])
def test_where_both_roles_capture_they_stand_pat(role: int) -> None:
    machine = machine_of_rules(BOTH_CAPTURE, "propnet")
    states, values = machine.initial(2), BoardValues(machine, KS)
    stands = values.worth(values.boards(states), role)
    assert played_out(machine, states, role, 4).tolist() == stands.tolist()

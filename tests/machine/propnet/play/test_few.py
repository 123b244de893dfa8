"""Questions about few states: the same answers as of many, however their arrays lie in memory."""

import numpy as np
import pytest

from ggp.errors import MachineError
from ggp.gdl.normalize import load
from ggp.machine import build_machine
from ggp.machine.base import States
from ggp.machine.propnet.play.answers import FEW, NARROW
from ggp.machine.propnet.play.propnet_machine import PropnetMachine
from ggp.machine.propnet.play.turns import PropnetStates

GAMES = ("meier", "blind_breakthrough", "tic_tac_toe")


def reached(machine: PropnetMachine, lanes: int) -> tuple[PropnetStates, np.ndarray]:
    """States after random moves, none of them over, and joint moves."""
    rng = np.random.default_rng(5)
    states: States = machine.initial(4 * NARROW)
    for turn in range(4):
        legal = [machine.legal(states, role) for role in range(len(machine.roles))]
        moves = np.array(
            [[rng.choice(role_legal[lane]) for role_legal in legal] for lane in range(len(states))]
        )
        if turn == 3:
            break
        following = machine.step(states, moves).states
        going = np.flatnonzero(~machine.terminal(following))
        states = following.take(going[: 4 * NARROW])
    assert isinstance(states, PropnetStates)
    return states.take(np.arange(lanes)), moves[:lanes]


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("lanes", [1, FEW, NARROW])
def test_how_arrays_lie_in_memory_does_not_matter(game: str, lanes: int) -> None:
    machine = build_machine(load(game), "propnet")
    assert isinstance(machine, PropnetMachine)
    states, moves = reached(machine, lanes)
    every_other = np.zeros((lanes, 2 * states.packed.shape[1]), dtype=np.uint64)
    every_other[:, ::2] = states.packed
    as_columns = PropnetStates(machine, np.asfortranarray(states.packed))
    with_gaps = PropnetStates(machine, every_other[:, ::2])
    repeated = np.arange(lanes + NARROW) % lanes
    repeated_states = states.take(repeated)
    for laid_out_states in (states, as_columns, with_gaps):
        for role in range(len(machine.roles)):
            expected = machine.legal(repeated_states, role)
            legal = machine.legal(laid_out_states, role)
            for lane in range(lanes):
                assert legal[lane].tolist() == expected[lane].tolist()
        assert (
            machine.terminal(laid_out_states) == machine.terminal(repeated_states)[:lanes]
        ).all()
    following = machine.step(repeated_states, moves[repeated])
    assert isinstance(following.states, PropnetStates)
    for laid_out_states in (states, as_columns, with_gaps):
        for laid_out_moves in (
            moves,
            np.asfortranarray(moves),
            np.repeat(moves, 2, axis=1)[:, ::2],
        ):
            found_next = machine.step(laid_out_states, laid_out_moves)
            assert isinstance(found_next.states, PropnetStates)
            assert (found_next.states.packed == following.states.packed[:lanes]).all()
            assert (found_next.percepts == following.percepts[:lanes]).all()


def test_a_move_that_does_not_exist_is_reported_for_one_state_as_for_many() -> None:
    machine = build_machine(load("meier"), "propnet")
    for wrong in (-1, 10**6):
        for lanes in (1, NARROW + 1):
            joint_moves = np.full((lanes, len(machine.roles)), wrong)
            with pytest.raises(MachineError, match="there is no move number"):
                machine.step(machine.initial(lanes), joint_moves)


def test_answers_about_one_state_are_not_overwritten_by_the_next() -> None:
    machine = build_machine(load("meier"), "propnet")
    assert isinstance(machine, PropnetMachine)
    states, moves = reached(machine, 8)
    answers = []
    for lane in range(8):
        state = states.take(np.array([lane]))
        legal = [machine.legal(state, role) for role in range(len(machine.roles))]
        answers.append((machine.step(state, moves[lane : lane + 1]), legal))
    together = machine.step(states, moves)
    assert isinstance(together.states, PropnetStates)
    for lane, (stepped, legal) in enumerate(answers):
        assert isinstance(stepped.states, PropnetStates)
        assert (stepped.states.packed[0] == together.states.packed[lane]).all()
        assert (stepped.percepts[0] == together.percepts[lane]).all()
        for role, role_legal in enumerate(legal):
            expected = machine.legal(states, role)[lane]
            assert role_legal[0].tolist() == expected.tolist()

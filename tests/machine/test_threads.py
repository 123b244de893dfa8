"""One machine used by several threads at once: every question, few states and many."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from typing import NamedTuple

import numpy as np
import pytest

from ggp.errors import MachineError
from ggp.machine.abilities import Matcher, StateWriter
from ggp.machine.base import IntArray, Machine, States
from ggp.machine.games import load_program
from ggp.machine.percepts import PerceptTable
from tests.support.games import build_here, machine_of_game

THREADS = 8
ROUNDS = 10


pytestmark = pytest.mark.usefixtures("hurried")


class Asked(NamedTuple):
    """States, joint moves that are legal there, and what a role sees of them."""

    states: States
    joint_moves: IntArray
    percepts: IntArray


def on_a_line(machine: Machine, seed: int, turns: int, lanes: int) -> list[Asked]:
    """States of a random line of play, each with joint moves side by side."""
    rng = np.random.default_rng(seed)
    state, found = machine.initial(1), []
    for _ in range(turns):
        if machine.terminal(state)[0]:
            break
        legal = [machine.legal(state, role)[0] for role in range(len(machine.roles))]
        moves = np.stack([rng.choice(each, lanes) for each in legal], axis=1)
        states = state.take(np.zeros(lanes, dtype=np.int64))
        stepped = machine.step(states, moves)
        found.append(Asked(states, moves, stepped.percepts))
        state = stepped.states.take(np.zeros(1, dtype=np.int64))
    return found


def told(machine: Machine, asked: Asked) -> list[object]:
    """What a machine says; percepts as texts, as threads may number them in another order."""
    states, moves, percepts = asked
    stepped = machine.step(states, moves)
    found: list[object] = [machine.terminal(states).tolist(), machine.goals(states).tolist()]
    found += [machine.legal(states, role).values.tolist() for role in range(len(machine.roles))]
    found += [machine.fluents(stepped.states), machine.groups(stepped.states).tolist()]
    found += [[machine.percept_texts(each) for each in row] for row in stepped.percepts.tolist()]
    if isinstance(machine, Matcher):
        lanes = np.arange(len(states))
        matched = machine.step_matching(states, lanes, moves, 0, percepts[:, 0])
        if matched is not None:
            found += [matched[0].tolist(), machine.fluents(matched[1])]
    found.append(machine.playout(states, np.random.default_rng(1), 30).goals.tolist())
    return found


def at_once(work: Callable[[int], object]) -> list[object]:
    """What comes of work in threads that all begin at once."""
    ready = threading.Barrier(THREADS)

    def begin(number: int) -> object:
        ready.wait()
        return work(number)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(begin, range(THREADS)))


@pytest.mark.parametrize("lanes", [1, 3, 100])
@pytest.mark.parametrize("game", ["blind_breakthrough", "tic_tac_toe"])
def test_threads_are_told_what_one_is_told(
    game: str, lanes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ggp.machine.compiling.jit.SPARED_STEPS", -1)  # as when a clock may run
    machine = machine_of_game(game, "propnet")
    line = on_a_line(machine, 1, 4, lanes)
    expected = [told(machine, asked) for asked in line]
    fresh = build_here(load_program(game), "propnet")
    begun = [asked_of(fresh, machine, each) for each in line]

    def wrong(number: int) -> int:
        order = [*range(len(line))] * (ROUNDS if lanes < 100 else 3)
        np.random.default_rng(number).shuffle(order)
        return sum(told(fresh, begun[k]) != expected[k] for k in order)

    assert at_once(wrong) == [0] * THREADS


def asked_of(fresh: Machine, machine: Machine, asked: Asked) -> Asked:
    """The same asked of another machine of the game, which has numbers of its own for percepts."""
    assert isinstance(fresh, StateWriter)
    assert isinstance(machine, StateWriter)
    percepts = [
        [fresh.percept_id(machine.percept_texts(each)) for each in row]
        for row in asked.percepts.tolist()
    ]
    states = fresh.from_written(machine.written(asked.states))
    return Asked(states, asked.joint_moves, np.array(percepts, dtype=np.int64))


def test_threads_never_give_one_number_to_two_sets_of_percepts() -> None:
    for _ in range(20):
        table = PerceptTable(lambda percept: True, threading.RLock())

        def number(_: int, table: PerceptTable = table) -> list[int]:
            return [table.number((str(k),)) for k in range(100)]

        first, *others = at_once(number)
        assert others == [first] * (THREADS - 1)
        assert isinstance(first, list)
        assert [table.texts(each) for each in first] == [(str(k),) for k in range(100)]


def test_a_copy_of_a_machine_counts_for_itself_and_has_the_same_states() -> None:
    machine = machine_of_game("tic_tac_toe", "propnet")
    twin, before = copy(machine), machine.states_visited
    twin.playout(twin.initial(3), np.random.default_rng(0))
    assert machine.states_visited == before < twin.states_visited
    assert machine.groups(twin.initial(2)).tolist() == [0, 0]
    other = build_here(load_program("tic_tac_toe"), "propnet")
    with pytest.raises(MachineError, match="belong to another machine"):
        machine.terminal(other.initial(1))

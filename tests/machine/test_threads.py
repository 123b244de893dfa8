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
    """States, joint moves that are legal there, and a role's percepts of them."""

    states: States
    joint_moves: IntArray
    percepts: IntArray


def on_a_line(machine: Machine, seed: int, turns: int, lanes: int) -> list[Asked]:
    """States of a random line of play, each with joint moves side by side."""
    rng = np.random.default_rng(seed)
    state, questions = machine.initial(1), []
    for _ in range(turns):
        if machine.terminal(state)[0]:
            break
        legal = [machine.legal(state, role)[0] for role in range(len(machine.roles))]
        moves = np.stack([rng.choice(role_moves, lanes) for role_moves in legal], axis=1)
        states = state.take(np.zeros(lanes, dtype=np.int64))
        stepped = machine.step(states, moves)
        questions.append(Asked(states, moves, stepped.percepts))
        state = stepped.states.take(np.zeros(1, dtype=np.int64))
    return questions


def answers_to(machine: Machine, question: Asked) -> list[object]:
    """The answers of a machine; percepts as texts, since threads may number them in another
    order."""
    states, moves, percepts = question
    stepped = machine.step(states, moves)
    answers: list[object] = [machine.terminal(states).tolist(), machine.goals(states).tolist()]
    answers += [machine.legal(states, role).values.tolist() for role in range(len(machine.roles))]
    answers += [machine.fluents(stepped.states), machine.groups(stepped.states).tolist()]
    answers += [
        [machine.percept_texts(percept_id) for percept_id in row]
        for row in stepped.percepts.tolist()
    ]
    if isinstance(machine, Matcher):
        lanes = np.arange(len(states))
        matched = machine.step_matching(states, lanes, moves, 0, percepts[:, 0])
        if matched is not None:
            answers += [matched[0].tolist(), machine.fluents(matched[1])]
    answers.append(machine.playout(states, np.random.default_rng(1), 30).goals.tolist())
    return answers


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
def test_threads_get_the_answers_that_one_thread_gets(
    game: str, lanes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ggp.machine.compiling.jit.SPARED_STEPS", -1)  # as when a clock may run
    machine = machine_of_game(game, "propnet")
    line = on_a_line(machine, 1, 4, lanes)
    expected = [answers_to(machine, question) for question in line]
    fresh = build_here(load_program(game), "propnet")
    questions = [asked_of(fresh, machine, line_question) for line_question in line]

    def wrong(number: int) -> int:
        order = [*range(len(line))] * (ROUNDS if lanes < 100 else 3)
        np.random.default_rng(number).shuffle(order)
        return sum(answers_to(fresh, questions[k]) != expected[k] for k in order)

    assert at_once(wrong) == [0] * THREADS


def asked_of(fresh: Machine, machine: Machine, question: Asked) -> Asked:
    """The same asked of another machine of the game, which has numbers of its own for percepts."""
    assert isinstance(fresh, StateWriter)
    assert isinstance(machine, StateWriter)
    percepts = [
        [fresh.percept_id(machine.percept_texts(percept)) for percept in row]
        for row in question.percepts.tolist()
    ]
    states = fresh.from_written(machine.written(question.states))
    return Asked(states, question.joint_moves, np.array(percepts, dtype=np.int64))


def test_threads_never_give_one_number_to_two_sets_of_percepts() -> None:
    for _ in range(20):
        table = PerceptTable(lambda percept: True, threading.RLock())

        def number(_: int, table: PerceptTable = table) -> list[int]:
            return [table.number((str(k),)) for k in range(100)]

        first, *other_ids = at_once(number)
        assert other_ids == [first] * (THREADS - 1)
        assert isinstance(first, list)
        assert [table.texts(percept_id) for percept_id in first] == [(str(k),) for k in range(100)]


def test_a_copy_of_a_machine_counts_for_itself_and_has_the_same_states() -> None:
    machine = machine_of_game("tic_tac_toe", "propnet")
    twin, visited = copy(machine), machine.states_visited
    twin.playout(twin.initial(3), np.random.default_rng(0))
    assert machine.states_visited == visited < twin.states_visited
    assert machine.groups(twin.initial(2)).tolist() == [0, 0]
    stranger = build_here(load_program("tic_tac_toe"), "propnet")
    with pytest.raises(MachineError, match="belong to another machine"):
        machine.terminal(stranger.initial(1))

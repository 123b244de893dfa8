"""SWI-Prolog called by several threads, and freed of garbage by whichever thread collects it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
import pytest

from ggp.errors import ReasonerLimitError
from ggp.gdl import parse
from ggp.gdl.normalize import load, normalize
from ggp.machine import Limits, Machine, build_machine
from tests.support.games import REPOSITORY

_T = TypeVar("_T")

ENDLESS = f"""
(role me) (init on) (legal me go) (goal me 0) {" ".join(f"(n {i})" for i in range(30))}
(<= (next off) (true off)) (<= (next on) (true on))
(<= terminal (n ?a) (n ?b) (n ?c) (n ?d) (n ?e) (true off) (n ?f))
(<= terminal (n ?a) (n ?b) (n ?c) (n ?d) (n ?e) (n ?f) (true (at ?a ?b ?c ?d ?e ?f)))
(<= (next (at ?a ?b ?c ?d ?e ?f)) (true (at ?b ?a ?c ?d ?e ?f)))
"""

ENDED = """
import threading, ggp
def begin():
    found.append(ggp.load("kuhn_poker", backend="prolog"))
found = []
thread = threading.Thread(target=begin)
thread.start()
thread.join()
print(found[0].initial().legal("player1"), ggp.load("monty_hall", backend="prolog").roles)
"""


def elsewhere(work: Callable[[], _T]) -> _T:
    """What another thread finds, which then ends."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


def answers_of(machine: Machine) -> list[object]:
    """Answers that depend on the state that Prolog has loaded, and on its tables."""
    answers: list[object] = []
    state, rng = machine.initial(1), np.random.default_rng(3)
    for _ in range(3):
        legal = [machine.legal(state, role)[0] for role in range(len(machine.roles))]
        answers += [[sorted(map(machine.move_text, role_moves.tolist())) for role_moves in legal]]
        answers += [machine.playout(state, np.random.default_rng(5)).goals.tolist()]
        state = machine.step(
            state, np.array([[rng.choice(role_moves) for role_moves in legal]])
        ).states
        answers += [machine.fluents(state), machine.goals(state).tolist()]
    return answers


def test_a_game_goes_from_thread_to_thread_and_back() -> None:
    program = load("krieg_tic_tac_toe")
    expected = answers_of(build_machine(program, "prolog"))
    first, second = (build_machine(program, "prolog") for _ in range(2))
    born_there = elsewhere(lambda: build_machine(program, "prolog"))
    for machine in (first, second, first, born_there, second):
        assert answers_of(machine) == expected
        assert elsewhere(lambda machine=machine: answers_of(machine)) == expected  # type: ignore[misc]


def test_an_error_in_one_thread_does_no_harm_to_games_of_another() -> None:
    monty_hall = build_machine(load("monty_hall"), "prolog")
    expected = answers_of(monty_hall)
    state = monty_hall.initial(1)
    krieg_tic_tac_toe = elsewhere(lambda: build_machine(load("krieg_tic_tac_toe"), "prolog"))
    krieg_tic_tac_toe._limits = Limits(inferences=100)  # type: ignore[attr-defined]

    def fail() -> None:
        with pytest.raises(ReasonerLimitError):
            krieg_tic_tac_toe.playout(krieg_tic_tac_toe.initial(1), np.random.default_rng(0))

    for _ in range(3):
        monty_hall.step(
            state, np.array([[monty_hall.legal(state, role)[0][0] for role in range(2)]])
        )
        elsewhere(fail)
        assert answers_of(monty_hall) == expected
        fail()


def test_limits_of_seconds_hold_in_every_thread() -> None:
    endless = elsewhere(lambda: build_machine(normalize(parse(ENDLESS)), "prolog"))
    endless._limits = Limits(seconds=0.05)  # type: ignore[attr-defined]
    start = endless.initial(1)

    def play() -> None:
        with pytest.raises(ReasonerLimitError, match="seconds"):
            endless.terminal(start)

    elsewhere(play)
    play()


def test_a_copy_of_the_process_can_ask_on() -> None:
    machine = build_machine(load("monty_hall"), "prolog")
    expected = answers_of(machine)
    elsewhere(lambda: answers_of(machine))  # whose thread the copy does not have
    pid = os.fork()
    if not pid:
        os._exit(0 if answers_of(machine) == expected else 1)
    assert os.waitpid(pid, 0)[1] == 0


@pytest.mark.verify
def test_the_thread_that_started_prolog_may_end() -> None:
    run = subprocess.run(
        [sys.executable, "-c", ENDED], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    assert run.stdout == "('noop',) ('candidate', 'random')\n"
    assert run.stderr == ""


def test_a_closed_game_is_freed_with_the_next_call() -> None:
    program = load("monty_hall")
    open_machine, dropped = (build_machine(program, "prolog") for _ in range(2))
    elsewhere(dropped.close)
    engine = open_machine._engine  # type: ignore[attr-defined]
    assert engine._dropped
    assert not open_machine.terminal(open_machine.initial(1))[0]
    assert not engine._dropped

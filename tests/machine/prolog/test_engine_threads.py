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


def told(machine: Machine) -> list[object]:
    """Answers that depend on the state that Prolog has loaded, and on what it remembers."""
    found: list[object] = []
    state, rng = machine.initial(1), np.random.default_rng(3)
    for _ in range(3):
        legal = [machine.legal(state, role)[0] for role in range(len(machine.roles))]
        found += [[sorted(map(machine.move_text, each.tolist())) for each in legal]]
        found += [machine.playout(state, np.random.default_rng(5)).goals.tolist()]
        state = machine.step(state, np.array([[rng.choice(each) for each in legal]])).states
        found += [machine.fluents(state), machine.goals(state).tolist()]
    return found


def test_a_game_goes_from_thread_to_thread_and_back() -> None:
    program = load("krieg_tic_tac_toe")
    expected = told(build_machine(program, "prolog"))
    one, other = (build_machine(program, "prolog") for _ in range(2))
    born_there = elsewhere(lambda: build_machine(program, "prolog"))
    for machine in (one, other, one, born_there, other):
        assert told(machine) == expected
        assert elsewhere(lambda machine=machine: told(machine)) == expected  # type: ignore[misc]


def test_an_error_in_one_thread_does_no_harm_to_games_of_another() -> None:
    here = build_machine(load("monty_hall"), "prolog")
    expected = told(here)
    state = here.initial(1)
    there = elsewhere(lambda: build_machine(load("krieg_tic_tac_toe"), "prolog"))
    there._limits = Limits(inferences=100)  # type: ignore[attr-defined]

    def fail() -> None:
        with pytest.raises(ReasonerLimitError):
            there.playout(there.initial(1), np.random.default_rng(0))

    for _ in range(3):
        here.step(state, np.array([[here.legal(state, role)[0][0] for role in range(2)]]))
        elsewhere(fail)
        assert told(here) == expected
        fail()


def test_limits_of_seconds_hold_in_every_thread() -> None:
    there = elsewhere(lambda: build_machine(normalize(parse(ENDLESS)), "prolog"))
    there._limits = Limits(seconds=0.05)  # type: ignore[attr-defined]
    start = there.initial(1)

    def play() -> None:
        with pytest.raises(ReasonerLimitError, match="seconds"):
            there.terminal(start)

    elsewhere(play)
    play()


def test_a_copy_of_the_process_can_ask_on() -> None:
    machine = build_machine(load("monty_hall"), "prolog")
    expected = told(machine)
    elsewhere(lambda: told(machine))  # whose thread the copy does not have
    pid = os.fork()
    if not pid:
        os._exit(0 if told(machine) == expected else 1)
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
    kept, dropped = (build_machine(program, "prolog") for _ in range(2))
    elsewhere(dropped.close)
    engine = kept._engine  # type: ignore[attr-defined]
    assert engine._dropped
    assert not kept.terminal(kept.initial(1))[0]
    assert not engine._dropped

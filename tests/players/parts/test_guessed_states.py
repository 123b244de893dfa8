"""States that are guessed where no particle is known, or all legal moves are too many to list."""

from __future__ import annotations

import numpy as np
import pytest

from ggp.errors import ReasonerLimitError
from ggp.gdl import parse
from ggp.gdl.normalize import normalize
from ggp.machine import Limits, Machine
from ggp.machine.abilities import Prover
from ggp.machine.base import UNKNOWN
from ggp.players.parts.tracker import move_of, percepts_of
from ggp.players.parts.without_belief import GUESSED, GuessedStates
from ggp.search.moves import random_moves
from tests.support.games import build_here, machine_of_game, machine_of_rules
from tests.support.sheets.programs import MANY_MOVES


def guesses(machine: Machine, role: str, seed: int = 0) -> GuessedStates:
    rng = np.random.default_rng(seed)
    return GuessedStates(machine, machine.roles.index(role), rng, machine.initial(1))


def test_guesses_need_only_some_of_billions_of_moves() -> None:
    limits = Limits(inferences=1_000_000, setup_inferences=100_000)
    machine = build_here(normalize(parse(MANY_MOVES)), "prolog", limits)
    with pytest.raises(ReasonerLimitError):
        machine.legal(machine.initial(), 0)
    assert isinstance(machine, Prover)
    guessed, state = guesses(machine, machine.roles[0]), machine.initial()
    for random_move, seen in [("(hide 7)", ["(odd 7)"]), ("noop", [])]:
        own_move = guessed.moves()[0]
        assert machine.is_legal(state, 0, own_move)
        state = machine.step(state, np.array([[own_move, move_of(machine, random_move)]])).states
        guessed.play_on((own_move, percepts_of(machine, seen), UNKNOWN))
    assert machine.is_legal(state, 0, guessed.moves()[0])


@pytest.mark.parametrize("backend", ["prolog", "propnet"])
def test_states_that_agree_with_what_was_seen_come_first(backend: str) -> None:
    machine = machine_of_game("krieg_tic_tac_toe", backend)
    for seed in range(2):
        rng, state = np.random.default_rng(seed), machine.initial(1)
        guessed = guesses(machine, "xplayer", seed)
        role = machine.roles.index("xplayer")
        while not machine.terminal(state)[0]:
            if guessed.agree:  # then a move is legal in truth if it is in all of them
                assert set(guessed.moves()) & set(machine.legal(state, role)[0].tolist())
            joint = [random_moves(machine, state, r, rng) for r in range(len(machine.roles))]
            state, percepts = machine.step(state, np.stack(joint, axis=1))
            guessed.play_on((int(joint[role][0]), int(percepts[0, role]), UNKNOWN))
        assert len(guessed.states) <= GUESSED


def test_a_move_that_was_submitted_is_not_one_that_was_refused() -> None:
    machine = machine_of_rules(
        """
        (role seer) (role random) (init (door 1)) (pick 1) (pick 2) (pick 3)
        (<= (legal seer wait)) (<= (legal seer knock) (true (door 1)))
        (<= (legal random (go ?d)) (pick ?d)) (<= (next (door ?d)) (does random (go ?d)))
        (<= terminal (true (door 9))) (goal seer 50) (goal random 0) (<= (sees seer x) terminal)
        """,
        "propnet",
    )
    guessed, wait = guesses(machine, "seer"), move_of(machine, "wait")
    guessed.play_on((UNKNOWN, UNKNOWN, wait))
    assert guessed.moves() == [wait]
    guessed.play_on((move_of(machine, "knock"), UNKNOWN, wait))
    assert guessed.moves() != [wait]


@pytest.mark.parametrize("backend", ["prolog", "propnet"])
def test_the_turn_goes_on_where_nothing_agrees(backend: str) -> None:
    machine = machine_of_game("monty_hall", backend)
    guessed = guesses(machine, "candidate")
    # A move that is illegal in the first turn, and a percept that nobody has then.
    guessed.play_on((move_of(machine, "switch"), percepts_of(machine, ["(opened 1)"]), UNKNOWN))
    assert not guessed.agree
    assert [machine.move_text(move) for move in guessed.moves()] == ["noop"]
    guessed.play_on((move_of(machine, "noop"), UNKNOWN, UNKNOWN))
    assert {machine.move_text(move) for move in guessed.moves()} == {"stay", "switch"}
    guessed.play_on((UNKNOWN, UNKNOWN, UNKNOWN))
    assert guessed.moves() == []  # the game always ended before


HIDDEN = """
(role seer) (role random) (cell 1) (cell 2) (cell 3) (init (turn 1))
(succ 1 2) (succ 2 3) (succ 3 4) (succ 4 5)
(<= (legal random (hide ?c)) (true (turn 1)) (cell ?c))
(<= (legal random noop) (not (true (turn 1))))
(<= (legal seer (open ?c)) (cell ?c) (not (true (hidden ?c))))
(<= (next (hidden ?c)) (does random (hide ?c))) (<= (next (hidden ?c)) (true (hidden ?c)))
(<= (next (turn ?n)) (true (turn ?m)) (succ ?m ?n))
(<= terminal (true (turn 5))) (goal seer 100) (goal random 0)
"""
"""A role does not know which of its moves is illegal."""


def test_states_where_a_refused_move_is_legal_come_last() -> None:
    machine = build_here(normalize(parse(HIDDEN)), "propnet")
    guessed, moves = guesses(machine, "seer"), [move_of(machine, f"(open {c})") for c in (1, 2)]
    guessed.play_on((moves[0], UNKNOWN, UNKNOWN))
    guessed.play_on((moves[0], UNKNOWN, moves[1]))
    assert guessed.agree
    assert all("(hidden 2)" in fluents for fluents in machine.fluents(guessed.states))


def test_a_refused_move_is_not_repeated_until_another_is_executed() -> None:
    machine = build_here(normalize(parse(HIDDEN)), "propnet")
    states = machine.step(
        machine.initial(1), np.array([[move_of(machine, "(open 1)"), move_of(machine, "(hide 1)")]])
    ).states
    guessed = GuessedStates(machine, 0, np.random.default_rng(0), states)
    opened = [move_of(machine, f"(open {c})") for c in (2, 3)]
    assert sorted(guessed.moves()) == sorted(opened)
    guessed.play_on((opened[1], UNKNOWN, opened[0]))  # wrong guesses: it is legal in all of them
    assert guessed.moves() == opened[1:]
    guessed.play_on((opened[1], UNKNOWN, UNKNOWN))
    assert sorted(guessed.moves()) == sorted(opened)

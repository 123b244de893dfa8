"""Histories are mended in few steps, and looked at in few places, with the same results."""

from __future__ import annotations

import math
from random import Random

import numpy as np
import pytest

from ggp.belief import DRAWN
from ggp.labs.openspiel.machine.known_path import History, KnownPath, PathTurn
from ggp.labs.openspiel.machine.redraw import Mender, dealt, not_of, renamed, replaced, traded
from ggp.labs.openspiel.machine.spiel_machine import SpielMachine
from ggp.machine import Machine, build_machine
from ggp.machine.abilities import Redraws
from ggp.machine.base import UNKNOWN, States
from ggp.machine.games import load_program
from ggp.search.moves import random_moves

MAX_STATES = 200_000
"""Means of 3,500 to 30,000 were needed from the start of the game, and 57,000 at most."""


def machine_and_turns(
    name: str, role: int, seed: int, num_turns: int
) -> tuple[SpielMachine, np.ndarray]:
    """A machine, and `[T, 3]` the path of a role in the first turns of a random match on it."""
    machine = build_machine(load_program(f"openspiel:{name}"))
    assert isinstance(machine, SpielMachine)
    rng, turns = np.random.default_rng(seed), []
    state: States = machine.initial()
    for _ in range(num_turns):
        row = random_row(machine, state, rng)
        state, percepts = machine.step(state, row)
        turns.append([row[0, role], percepts[0, role], -1])
    return machine, np.array(turns)


def random_row(machine: Machine, state: States, rng: np.random.Generator) -> np.ndarray:
    roles = range(len(machine.roles))
    return np.array([[int(random_moves(machine, state, role, rng)[0]) for role in roles]])


def path_in(redraws: Redraws) -> KnownPath:
    known_path: KnownPath = redraws._path  # type: ignore[attr-defined]
    return known_path


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("name", "role", "match", "num_turns"),
    [("skat", 0, 2, 32), ("skat", 0, 7, 33), ("hearts", 1, 1, 65), ("hearts", 1, 2, 105)],
    ids=["skat-deal", "skat-taken-up", "hearts-pass", "hearts-late"],
)
def test_a_history_is_mended_from_the_start_of_the_game(
    name: str, role: int, match: int, num_turns: int, seed: int
) -> None:
    machine, turns = machine_and_turns(name, role, match, num_turns)
    redraws = machine.redraws(role, turns, np.random.default_rng(seed))
    path = path_in(redraws)
    mender = Mender(path, np.random.default_rng(seed), Random(seed))
    start = History([], [], [], path.root.clone())
    history = start
    while len(history) < num_turns:
        assert path.visited < MAX_STATES
        rng = np.random.default_rng(path.visited)
        history = mender.mended(path.extended(start, rng), lambda: path.visited > MAX_STATES)
    assert len(path.agreeing(history.actions)) == num_turns


@pytest.mark.parametrize(
    ("move", "refused", "allowed", "chosen"),
    [
        (2, UNKNOWN, {1}, {1}),
        (2, 9, {1}, set()),  # a move that is illegal here was refused
        (2, 3, set(), set()),  # it would have been legal
        (2, DRAWN, {1}, set()),
        (UNKNOWN, UNKNOWN, {0, 1, 2}, set()),
        (UNKNOWN, 2, {1}, {1}),  # submitted, and legal
        (UNKNOWN, 9, {0, 1, 2}, set()),
    ],
)
def test_actions_that_a_turn_allows(
    move: int, refused: int, allowed: set[int], chosen: set[int]
) -> None:
    turn, legal = PathTurn(move, refused, None, None, None), [0, 1, 2]
    assert {action for action in legal if turn.allows(action, legal)} == allowed
    assert {action for action in allowed if turn.is_chosen(action)} == chosen


@pytest.mark.parametrize(("name", "num_turns"), [("skat", 45), ("hearts", 80)])
def test_a_changed_history_is_kept_where_each_turn_agrees(name: str, num_turns: int) -> None:
    machine, turns = machine_and_turns(name, 1, 0, num_turns)
    redraws = machine.redraws(1, turns, np.random.default_rng(0))
    path, lots = path_in(redraws), Random(0)
    states = redraws.draw(machine.initial(), 1, lambda: False).states
    history = path.agreeing(states.nodes[0].state.history())  # type: ignore[attr-defined]
    num_kept = 0
    for _ in range(300):
        cards, deals_to_others = dealt(history), not_of(history, 1)
        first, second, at = lots.choice(cards), lots.choice(cards), lots.choice(deals_to_others)
        action = lots.choice(path.state_after(history.actions[:at]).legal_actions())
        change = lots.choice(
            [
                traded(history, first, second),
                renamed(history, 1, [at, second], history.act(at), history.act(second)),
                replaced(history, at, action),
            ]
        )
        new = path.replayed(history, change.actions)
        slow = path.agreeing(change.actions)
        assert (new is not None) == (len(slow) == num_turns)
        if new is not None:
            assert (new.actions, new.players, new.names) == (slow.actions, slow.players, slow.names)
            num_kept += new.actions != history.actions
            history = new
    assert num_kept > 20


def test_priors_are_those_of_the_machine() -> None:
    machine, turns = machine_and_turns("hearts", 2, 0, 70)
    path = path_in(machine.redraws(2, turns, np.random.default_rng(0)))
    redrawn = machine.redraws(2, turns, np.random.default_rng(0)).draw(
        machine.initial(), 1, lambda: False
    )
    actions = redrawn.states.nodes[0].state.history()  # type: ignore[attr-defined]
    priors = path.log_priors(actions)
    assert priors[30:] == path.log_priors(actions, 30)
    state: States = machine.initial()
    for row, log_prior in zip(redrawn.joint_moves[0], priors, strict=True):
        expected = 0.0
        for role in set(range(4)) - {2}:
            expected -= math.log(len(machine.legal(state, role).values))
        chance = machine.chance(state)
        expected += math.log(chance.probabilities[chance.moves == row[machine.random_role]][0])
        assert log_prior == pytest.approx(expected)
        state = machine.step(state, row[None]).states

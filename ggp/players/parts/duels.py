"""Short matches between two ways to play, in the time before a match: is one surely the better?"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ggp.machine.base import UNKNOWN, FloatArray, IntArray, Machine, States, player_roles
from ggp.players.player import Player
from ggp.search.anytime import Deadline, OutOfTime, check
from ggp.search.moves import executed_moves, random_moves

Maker = Callable[[Machine, int, np.random.Generator], Player]
"""Makes a player of a role."""

MOST_TURNS = 300
"""Turns after which a duel is broken off, which nobody wins."""

SAMPLED_ENDS = 64
"""Random playouts that say how many decisions a match has."""


class Score(NamedTuple):
    """What came of duels.

    Attributes:
        matches: that came to their end.
        points: of the first way to play: 1 for each match in which its goal was the higher one,
            1/2 where both were equal.
    """

    matches: int
    points: float


def duels(
    machine: Machine,
    makers: tuple[Maker, Maker],
    most: int,
    rng: np.random.Generator,
    deadline: Deadline,
) -> Score:
    """Matches of two roles, in which the ways to play change sides.

    Args:
        machine: of a game of two players.
        makers: of both ways to play.
        most: matches to play; the time for a move is such that all of them should fit.
    """
    machine = copy.copy(machine)
    ends = machine.playout(machine.initial(SAMPLED_ENDS), rng, MOST_TURNS)
    move_s = deadline.left_s() / (most * max(float(ends.steps.mean()), 1.0))
    first, second = player_roles(machine)
    points, matches = 0.0, 0
    try:
        while matches < most:
            sides = (first, second) if matches % 2 == 0 else (second, first)
            players = {
                role: make(machine, role, np.random.default_rng(int(rng.integers(1 << 62))))
                for role, make in zip(sides, makers, strict=True)
            }
            goals = _match(machine, players, move_s, rng, deadline)
            points += 0.5 + 0.5 * float(np.sign(goals[sides[0]] - goals[sides[1]]))
            matches += 1
    except OutOfTime:
        pass
    return Score(matches, points)


def _match(
    machine: Machine,
    players: dict[int, Player],
    move_s: float,
    rng: np.random.Generator,
    deadline: Deadline,
) -> FloatArray:
    """`[R]` the goals of a match; equal ones if it is broken off."""
    states = machine.initial(1)
    for _ in range(MOST_TURNS):
        check(deadline)
        until = Deadline(deadline.clock() + move_s, deadline.clock)
        chosen = {role: player.choose(until).move for role, player in players.items()}
        made = _made(machine, states, chosen, rng)
        stepped = machine.step(states, made[None])
        states = stepped.states
        if machine.terminal(states)[0]:
            return np.asarray(machine.goals(states)[0])
        until = Deadline(deadline.clock() + move_s, deadline.clock)
        for role, player in players.items():
            player.observe(
                machine.move_text(int(made[role])),
                machine.percept_texts(int(stepped.percepts[0, role])),
                submitted=chosen[role],
                deadline=until,
            )
    return np.zeros(len(machine.roles))


def _made(
    machine: Machine, states: States, chosen: dict[int, str], rng: np.random.Generator
) -> IntArray:
    """`[R]` the joint move: that of chance is drawn, and so is one for a move that is illegal."""
    made = np.zeros(len(machine.roles), dtype=np.int64)
    for role in range(len(made)):
        if role == machine.random_role:
            made[role] = random_moves(machine, states, role, rng)[0]
            continue
        move = machine.move_id(chosen[role])
        submitted = np.array([UNKNOWN if move is None else move])
        made[role] = executed_moves(machine, states, role, submitted, rng)[0][0]
    return made

"""Short matches between two ways to play, in the time before a match: is one surely the better?"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ggp.machine.base import UNKNOWN, FloatArray, IntArray, Machine, States, player_roles
from ggp.players.player import Player
from ggp.search.anytime import Deadline, OutOfTime, check
from ggp.search.moves import executed_moves, random_moves
from ggp.study.matches import LaneTurn

Maker = Callable[[Machine, int, np.random.Generator], Player]
"""Makes a player of a role."""

MOST_TURNS = 300
"""Turns after which a duel is broken off, which nobody wins."""

SAMPLED_ENDS, SAMPLED_TURNS = 64, 10
"""Random matches that say how many decisions there are, and turns in which players are counted who
have a choice."""


class Score(NamedTuple):
    """What came of duels.

    Attributes:
        matches: that counted: as many with either way to play on either side.
        points: of the first way to play: for each pair of matches with changed sides, and each
            side, 1 if its goal there was higher than that of the second way, 1/2 if it was equal.
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

    Goals are compared with those of the other way to play on the same side: one side may be the
    better one, and a goal of the other role may be no loss of ours.

    Args:
        machine: of a game of two players.
        makers: of both ways to play.
        most: matches to play, an even number; the time for a move is such that all of them fit, if
            they have as many decisions as random ones.
    """
    machine = copy.copy(machine)  # states of duels do not count
    move_s = deadline.left_s() / (most * decisions_of_a_match(machine, rng))
    sides = player_roles(machine)
    points, matches = 0.0, 0
    try:
        while matches < most:
            goals = [
                _match(machine, _players(machine, sides, each, rng), move_s, rng, deadline)
                for each in (makers, makers[::-1])
            ]
            first, second = sides
            points += _better(goals, first) + 1.0 - _better(goals, second)
            matches += 2
    except OutOfTime:
        pass
    return Score(matches, points)


def decisions_of_a_match(machine: Machine, rng: np.random.Generator) -> float:
    """Choices of all players in a random match, on average."""
    ends = machine.playout(machine.initial(SAMPLED_ENDS), rng, MOST_TURNS)
    turns = max(float(ends.steps.mean()), 1.0)
    return turns * max(_deciders(machine, rng), 1.0)


def _deciders(machine: Machine, rng: np.random.Generator) -> float:
    """Players who have a choice in the first turns of a match, on average."""
    states, found = machine.initial(SAMPLED_ENDS), []
    for _ in range(SAMPLED_TURNS):
        states = states.take(np.flatnonzero(~machine.terminal(states)))
        if not len(states):
            break
        turn = LaneTurn(machine, states)
        found.append(turn.decides.sum(axis=1).mean())
        states = machine.step(states, turn.random(rng)).states
    return float(np.mean(found)) if found else 0.0


def _players(
    machine: Machine, sides: Sequence[int], makers: Sequence[Maker], rng: np.random.Generator
) -> dict[int, Player]:
    return {
        role: make(machine, role, np.random.default_rng(int(rng.integers(1 << 62))))
        for role, make in zip(sides, makers, strict=True)
    }


def _better(goals: Sequence[FloatArray | None], role: int) -> float:
    """1 if a role's goal was higher in the first of two matches, 1/2 if neither was, else 0."""
    one, other = goals
    if one is None or other is None:
        return 0.5
    return 0.5 + 0.5 * float(np.sign(one[role] - other[role]))


def _match(
    machine: Machine,
    players: dict[int, Player],
    move_s: float,
    rng: np.random.Generator,
    deadline: Deadline,
) -> FloatArray | None:
    """`[R]` the goals of a match; None if it is broken off."""
    states = machine.initial(1)
    for _ in range(MOST_TURNS):
        chosen = {
            role: player.choose(_until(move_s, deadline)).move for role, player in players.items()
        }
        made = _made(machine, states, chosen, rng)
        stepped = machine.step(states, made[None])
        states = stepped.states
        if machine.terminal(states)[0]:
            return np.asarray(machine.goals(states)[0])
        for role, player in players.items():
            player.observe(
                machine.move_text(int(made[role])),
                machine.percept_texts(int(stepped.percepts[0, role])),
                submitted=chosen[role],
                deadline=_until(move_s, deadline),
            )
    return None


def _until(seconds: float, deadline: Deadline) -> Deadline:
    """So many seconds from now, no later than a deadline: its clock may jump beyond it.

    Raises:
        OutOfTime: the deadline has passed.
    """
    check(deadline)
    return Deadline(min(deadline.clock() + seconds, deadline.at_s), deadline.clock)


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

"""What follows from a game's tables: histories, posteriors and values, enumerated one by one.

Nothing here is shared with the package: values are expectations over all that may happen, as
fractions (paper 004, Definitions 1 to 9).
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple

from tests.random_games.generator import Joint, PlainGame


class Turn(NamedTuple):
    """A role's knowledge of a turn; None is not known.

    Attributes:
        refused: a move that was submitted and found illegal; the executed one was drawn.
    """

    move: str | None
    percepts: tuple[str, ...] | None
    refused: str | None = None


Path = tuple[Turn, ...]

History = tuple[int, tuple[Joint, ...]]
"""A state, and the joint moves that led there."""


def histories(game: PlainGame, role: int, path: Path) -> dict[History, Fraction]:
    """The complete paths that agree with an incomplete one, not over, and their prior."""
    weights: dict[History, Fraction] = {(game.initial, ()): Fraction(1)}
    for turn in path:
        following: dict[History, Fraction] = {}
        for (state, joints), weight in weights.items():
            own_moves = game.legal[state][role]
            if turn.refused is not None and turn.refused in own_moves:
                continue
            for joint in game.joint_moves(state):
                if turn.move is not None and joint[role] != turn.move:
                    continue
                target, percepts = game.after[state, joint]
                if turn.percepts is not None and percepts[role] != turn.percepts:
                    continue
                if target not in game.legal:
                    continue
                prior = weight / len(game.joint_moves(state))
                if turn.move is not None and turn.refused is None:
                    prior *= len(own_moves)  # it was chosen
                key = target, (*joints, joint)
                following[key] = following.get(key, Fraction(0)) + prior
        weights = following
    return weights


def posterior(game: PlainGame, role: int, path: Path) -> dict[int, Fraction]:
    """The probability of each state of an information set; empty if there is none."""
    weights: dict[int, Fraction] = {}
    for (state, _), weight in histories(game, role, path).items():
        weights[state] = weights.get(state, Fraction(0)) + weight
    total = sum(weights.values())
    return {state: weight / total for state, weight in weights.items()}


def random_path(game: PlainGame, role: int, turns: int, rng: random.Random) -> Path:
    """A role's path in a random match; shorter if the match would be over."""
    state, path = game.initial, list[Turn]()
    for _ in range(turns):
        joint = rng.choice(game.joint_moves(state))
        target, percepts = game.after[state, joint]
        if target not in game.legal:
            break
        path.append(Turn(joint[role], percepts[role]))
        state = target
    return tuple(path)


def playout_value(
    game: PlainGame, state: int, role: int, value_of: dict[int, Fraction]
) -> Fraction:
    """The mean goal of random playouts of a state."""
    if state in game.goals:
        return Fraction(game.goals[state][role])
    if state not in value_of:
        moves = game.joint_moves(state)
        value_of[state] = sum(
            (playout_value(game, game.after[state, j][0], role, value_of) for j in moves),
            Fraction(0),
        ) / len(moves)
    return value_of[state]


def candidates(game: PlainGame, role: int, states: Mapping[int, Fraction]) -> list[str]:
    """The moves that are legal in some state."""
    return sorted({move for state in states for move in game.legal[state][role]})


def hyperplay_values(
    game: PlainGame, role: int, states: Mapping[int, Fraction]
) -> dict[str, Fraction]:
    """HyperPlay values (Definition 7): a move that is illegal counts as a random legal one."""
    value_of: dict[int, Fraction] = {}
    values: dict[str, Fraction] = {}
    for move in candidates(game, role, states):
        total = Fraction(0)
        for state, weight in states.items():
            joints = game.joint_moves(state)
            if move in game.legal[state][role]:
                joints = [joint for joint in joints if joint[role] == move]
            values_of_joints = [
                playout_value(game, game.after[state, j][0], role, value_of) for j in joints
            ]
            total += weight * sum(values_of_joints, Fraction(0)) / len(values_of_joints)
        values[move] = total
    return values

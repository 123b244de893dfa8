"""Clairvoyant values of plain games: each state is solved as if everybody saw it (paper 003).

Our role chooses first, then the others in the order of the rulesheet. Each knows what was chosen
before and how those after it will answer, and takes what is best for itself; where several moves
are, all of them count alike. Chance is averaged.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from tests.random_games.generator import Joint, PlainGame
from tests.random_games.reference import candidates

Goals = tuple[Fraction, ...]
"""Of each role but `random`."""


def pimc_values(game: PlainGame, role: int, states: Mapping[int, Fraction]) -> dict[str, Fraction]:
    """The mean clairvoyant value of each candidate over an information set.

    Where a move is not legal it counts as the mean of those that are.
    """
    goals_of: dict[int, Goals] = {}
    value_of = dict.fromkeys(candidates(game, role, states), Fraction(0))
    for state, weight in states.items():
        values = {
            move: _answered(game, state, role, {role: move}, goals_of)[role]
            for move in game.legal[state][role]
        }
        mean = sum(values.values(), Fraction(0)) / len(values)
        for move in value_of:
            value_of[move] += weight * values.get(move, mean)
    return value_of


def _worth(game: PlainGame, state: int, role: int, goals_of: dict[int, Goals]) -> Goals:
    """The worth of a state that everybody sees, for each role."""
    if state in game.goals:
        return tuple(map(Fraction, game.goals[state]))
    if state not in goals_of:
        goals_of[state] = _answered(game, state, role, {}, goals_of)
    return goals_of[state]


def _answered(
    game: PlainGame, state: int, role: int, chosen_moves: dict[int, str], goals_of: dict[int, Goals]
) -> Goals:
    """The worth of a state after some roles have chosen."""
    for player in (role, *game.players):
        if player not in chosen_moves:
            options = [
                _answered(game, state, role, {**chosen_moves, player: move}, goals_of)
                for move in game.legal[state][player]
            ]
            best = max(goals[player] for goals in options)
            return _mean([goals for goals in options if goals[player] == best])
    joints = [joint for joint in game.joint_moves(state) if _agrees(joint, chosen_moves)]
    return _mean([_worth(game, game.after[state, joint][0], role, goals_of) for joint in joints])


def _agrees(joint: Joint, chosen_moves: dict[int, str]) -> bool:
    return all(joint[player] == move for player, move in chosen_moves.items())


def _mean(rows: list[Goals]) -> Goals:
    return tuple(sum(column, Fraction(0)) / len(rows) for column in zip(*rows, strict=True))

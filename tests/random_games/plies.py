"""Values of information sets some plies ahead (paper 000, Equations 2 and 3), on plain games.

A set is a list of histories that our role cannot tell apart. After one of its moves it learns what
it sees, and whether the game is over, with which goal.

- *Overconfident*: the others move at random, and what may follow is averaged.
- *Paranoid*: the worst history is the true one, and the others move as is worst for us. Chance is
  on nobody's side: it is averaged over the sets that it leads to.

A move that is not legal in a history counts there as the mean of all moves of the set; paranoia
takes that only where it is worse.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

from tests.random_games.generator import Joint, Percepts, PlainGame

Weighed = dict[int, Fraction]
"""States of a set, and the mass of each."""


class _Following(NamedTuple):
    """What may follow a move.

    Attributes:
        sets: the sets that may be reached, by what is seen, each with its mass.
        outcomes: one for each history and moves of the others: its mass, and what chance makes of
            it: probabilities, and what is seen or a goal.
    """

    sets: dict[Percepts, Weighed]
    outcomes: list[tuple[Fraction, list[tuple[Fraction, Percepts | int]]]]


class Plies:
    """Looks ahead for one role.

    Args:
        leaf: the value of a state where it stops.
    """

    def __init__(
        self, game: PlainGame, role: int, leaf: Callable[[int], Fraction], *, is_paranoid: bool
    ) -> None:
        self._game, self._role, self._leaf = game, role, leaf
        self._is_paranoid = is_paranoid

    def moves(self, states: Weighed, depth: int) -> dict[str, Fraction]:
        """The value of each move that is legal somewhere, so many plies ahead (1 or more)."""
        legal = {state: self._game.legal[state][self._role] for state in states}
        total = sum(states.values(), Fraction(0))
        values, shares = {}, {}
        for move in sorted({move for moves in legal.values() for move in moves}):
            possible = {state: mass for state, mass in states.items() if move in legal[state]}
            shares[move] = sum(possible.values(), Fraction(0)) / total
            values[move] = self._value_after(possible, move, depth)
        usual = sum(values.values(), Fraction(0)) / len(values)
        for move, share in shares.items():
            if share == 1:
                continue
            if self._is_paranoid:
                values[move] = min(values[move], usual)
            else:
                values[move] = share * values[move] + (1 - share) * usual
        return values

    def _set_value(self, states: Weighed, depth: int) -> Fraction:
        if depth:
            return max(self.moves(states, depth).values())
        parts = [mass * self._leaf(state) for state, mass in states.items()]
        return sum(parts, Fraction(0)) / sum(states.values())

    def _value_after(self, states: Weighed, move: str, depth: int) -> Fraction:
        following = self._following(states, move)
        worth = {
            seen: self._set_value(set_after, depth - 1)
            for seen, set_after in following.sets.items()
        }
        values, masses = list[Fraction](), list[Fraction]()
        for mass, parts in following.outcomes:
            set_after = [
                odds * (Fraction(part) if isinstance(part, int) else worth[part])
                for odds, part in parts
            ]
            values.append(sum(set_after, Fraction(0)))
            masses.append(mass)
        if self._is_paranoid:
            return min(values)
        weighed = [mass * value for mass, value in zip(masses, values, strict=True)]
        return sum(weighed, Fraction(0)) / sum(masses)

    def _following(self, states: Weighed, move: str) -> _Following:
        following = _Following({}, [])
        for state, mass in states.items():
            joints = [j for j in self._game.joint_moves(state) if j[self._role] == move]
            by_others: dict[Joint, list[Joint]] = {}
            for joint in joints:
                by_others.setdefault(joint[: len(self._game.players)], []).append(joint)
            for joints_drawn in by_others.values():
                parts = list[tuple[Fraction, Percepts | int]]()
                for joint in joints_drawn:
                    target, percepts = self._game.after[state, joint]
                    odds = Fraction(1, len(joints_drawn))
                    if target in self._game.goals:
                        parts.append((odds, self._game.goals[target][self._role]))
                        continue
                    seen = percepts[self._role]
                    reached = following.sets.setdefault(seen, {})
                    reached[target] = reached.get(target, Fraction(0)) + mass / len(joints)
                    parts.append((odds, seen))
                following.outcomes.append((mass * len(joints_drawn) / len(joints), parts))
        return following

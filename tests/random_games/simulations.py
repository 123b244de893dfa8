"""HyperPlay-II values of plain games, as expectations over all simulations (paper 004, 8 and 9).

A simulation takes a history for the truth. After our move, and random moves of the others, every
role takes the best HyperPlay move of what *it* would know, equal ones by lot. What it submits that
is not legal becomes a random legal move, and the role learns of it. All of this is enumerated: by
state, and by what each role did and saw.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import NamedTuple

from tests.random_games.generator import PlainGame
from tests.random_games.reference import (
    Path,
    Turn,
    candidates,
    histories,
    hyperplay_values,
    posterior,
)

Views = tuple[Path, ...]
"""The path of each role but `random`."""

Lot = dict[str, Fraction]
"""Moves, with the probability of each."""

Ends = dict[int, Fraction]
"""Goals, with the probability of each."""


class Choice(NamedTuple):
    """How a role moves on after a path.

    Attributes:
        lot: its best moves, which are equally likely.
        margin: how much worse the next move is in the value; None where there is none.
        is_even: whether the best moves lead to the same results in the same states, so that
            playouts, too, find each of them the best equally often.
    """

    lot: Lot
    margin: Fraction | None
    is_even: bool


class Simulations:
    """Values of one role's moves; intermediate results are cached."""

    def __init__(self, game: PlainGame, role: int) -> None:
        self._game, self._role = game, role
        self._choices: dict[tuple[int, Path], Choice] = {}
        self._ends: dict[tuple[int, Views], Ends] = {}

    def values(self, path: Path) -> dict[str, Fraction]:
        """The value of each candidate after a path."""
        return {
            move: sum((weight * mean(ends) for weight, ends in ends_of_move), Fraction(0))
            for move, ends_of_move in self._outcomes(path).items()
        }

    def varying(self, path: Path) -> set[str]:
        """Candidates whose simulations from one entry do not all come to the same goal."""
        ends_of = self._outcomes(path)
        return {move for move in ends_of if any(len(ends) > 1 for _, ends in ends_of[move])}

    def choice(self, player: int, path: Path) -> Choice:
        """How a simulated role moves."""
        if (player, path) not in self._choices:
            self._choices[player, path] = self._choice(player, path)
        return self._choices[player, path]

    @property
    def choices(self) -> list[Choice]:
        """All that simulations of values asked for so far may have come to."""
        return list(self._choices.values())

    # ---------------------------------------------------------------- private

    def _outcomes(self, path: Path) -> dict[str, list[tuple[Fraction, Ends]]]:
        """The outcomes of each candidate from each entry, with the weight of the entry."""
        entries: dict[tuple[int, Views], Fraction] = {}
        for (state, joints), weight in histories(self._game, self._role, path).items():
            # Of itself a role knows no more than it was told.
            views = (path if p == self._role else v for p, v in enumerate(self._views(joints)))
            key = state, tuple(views)
            entries[key] = entries.get(key, Fraction(0)) + weight
        total = sum(entries.values())
        moves = candidates(self._game, self._role, posterior(self._game, self._role, path))
        return {
            move: [
                (weight / total, self._ends_after(state, views, self._first(state, move)))
                for (state, views), weight in entries.items()
            ]
            for move in moves
        }

    def _views(self, joints: tuple[tuple[str, ...], ...]) -> Views:
        """The paths of the roles where all joint moves are known."""
        state = self._game.initial
        views: Views = ((),) * len(self._game.players)
        for joint in joints:
            state, percepts = self._game.after[state, joint]
            views = tuple(
                (*view, Turn(joint[p], percepts[p]))
                for p, view in zip(self._game.players, views, strict=True)
            )
        return views

    def _first(self, state: int, move: str) -> list[Lot]:
        """The moves submitted first: the others move at random."""
        lots = [even(self._game.legal[state][p]) for p in self._game.players]
        lots[self._role] = {move: Fraction(1)}
        return lots

    def _ends_after(self, state: int, views: Views, submitted: list[Lot]) -> Ends:
        """The goals after moves of this state were submitted."""
        total: Ends = {}
        executed = [
            self._executed(state, p, lot)
            for p, lot in zip(self._game.players, submitted, strict=True)
        ]
        chance = even(self._game.legal[state][-1]) if "random" in self._game.roles else {}
        for turn in product(*executed):
            share = Fraction(1)
            for choice in turn:
                share *= choice[1]
            own_moves = tuple(move for (move, _), _ in turn)
            refused = tuple(refused for (_, refused), _ in turn)
            for chance_move, odds in (chance or {"": Fraction(1)}).items():
                joint = (*own_moves, chance_move) if chance else own_moves
                target, percepts = self._game.after[state, joint]
                later = tuple(
                    (*view, Turn(own_moves[p], percepts[p], refused[p]))
                    for p, view in zip(self._game.players, views, strict=True)
                )
                for goal, part in self._on(target, later).items():
                    total[goal] = total.get(goal, Fraction(0)) + share * odds * part
        return total

    def _executed(
        self, state: int, player: int, lot: Lot
    ) -> list[tuple[tuple[str, str | None], Fraction]]:
        """What may be executed, with the move that was refused before, and the probabilities."""
        legal, executed = (
            self._game.legal[state][player],
            list[tuple[tuple[str, str | None], Fraction]](),
        )
        for move, share in lot.items():
            if move in legal:
                executed.append(((move, None), share))
            else:
                executed += [((alternative, move), share / len(legal)) for alternative in legal]
        return executed

    def _on(self, state: int, views: Views) -> Ends:
        """The goals of a simulation that has come this far."""
        if state in self._game.goals:
            return {self._game.goals[state][self._role]: Fraction(1)}
        if (state, views) not in self._ends:
            lots = [self.choice(p, views[p]).lot for p in self._game.players]
            self._ends[state, views] = self._ends_after(state, views, lots)
        return self._ends[state, views]

    def _choice(self, player: int, path: Path) -> Choice:
        game = self._game
        states = posterior(game, player, path)
        values = hyperplay_values(game, player, states)
        best = max(values.values())
        tied = [move for move, value in values.items() if value == best]
        rest = [best - value for value in values.values() if value != best]
        spreads = {tuple(spread(game, player, state, move) for state in states) for move in tied}
        return Choice(even(tied), min(rest, default=None), len(spreads) == 1)


def even(moves: tuple[str, ...] | list[str]) -> Lot:
    """Each as likely as the others."""
    return dict.fromkeys(moves, Fraction(1, len(moves)))


def mean(ends: Ends) -> Fraction:
    """The mean goal."""
    return sum((goal * share for goal, share in ends.items()), Fraction(0))


def spread(
    game: PlainGame, player: int, state: int, move: str | None
) -> tuple[tuple[int, Fraction], ...]:
    """The goals that random playouts after a move come to, and how likely each is."""
    if state in game.goals:
        return ((game.goals[state][player], Fraction(1)),)
    joints = game.joint_moves(state)
    if move in game.legal[state][player]:
        joints = [joint for joint in joints if joint[player] == move]
    probability_of: dict[int, Fraction] = {}
    for joint in joints:
        for goal, share in spread(game, player, game.after[state, joint][0], None):
            probability_of[goal] = probability_of.get(goal, Fraction(0)) + share / len(joints)
    return tuple(sorted(probability_of.items()))

"""A model of opponents that search: they move by the HyperPlay values of what they know.

It computes the HyperPlay values of an opponent's moves in a bag of the opponent's own, from its
incomplete path along a particle. So it needs nothing of a game but its rules. `ThresholdMoves` is
the model of paper 001 ("likely to call with a win probability above 0.5, to raise above 0.75, to
fold otherwise") for any game.

A *win probability* is the highest of the values, as a share of the goal range. Moves are ordered by
*boldness*: the standard deviation of the role's goal in random matches in which it makes them. So a
call is bolder than a fold, and a raise bolder than a call. If all playouts of the least bold move
come to the same goal, the role can quit by it, and does so with a win probability below `CALL`.
Bands of equal width from `RAISE` to 1 belong to the bolder moves, and everything below to the least
bold of the others.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ggp.belief import HyperPlaySampler, Known, PathModel, PathTree
from ggp.machine.base import FloatArray, IntArray, Machine
from ggp.search.moves import random_moves
from ggp.search.playouts import PlayoutSearch

PLAYOUTS = 200
"""Playouts of each candidate of a path: values are accurate to a few points."""

PARTICLES, ATTEMPTS = 32, 5_000
"""Limits of the bags of other roles, where they are sampled."""

PATHS_AT_ONCE = 256

MATCHES, MOST_TURNS = 1024, 200
"""Random matches that determine the boldness of moves, and the turns of each that count."""

LIKELY = 0.85
"""Probability with which a role moves by its band. Otherwise it makes any of its moves."""

QUITS = 0.01
"""A move with a spread below this share of the goal range does not depend on anything."""

CALL, RAISE = 0.5, 0.75
"""The win probabilities of the paper."""


class Prospects(NamedTuple):
    """A role's own estimate of its moves at a path.

    Attributes:
        moves: `[M]`.
        values: `[M]` HyperPlay values, as shares of the goal range.
        spreads: `[M]` standard deviations of playout results, likewise.
        boldness: `[M]` in any unit; see the module.
    """

    moves: IntArray
    values: FloatArray
    spreads: FloatArray
    boldness: FloatArray

    @property
    def win_probability(self) -> float:
        return float(self.values.max())


class Thoughts:
    """Computes HyperPlay values of the moves of other roles, by their paths.

    Args:
        rng: draws particles and playouts.
    """

    def __init__(self, machine: Machine, tree: PathTree, rng: np.random.Generator) -> None:
        self._machine, self._tree, self._rng = machine, tree, rng
        self._boldness: dict[int, dict[int, float]] = {}
        self.belief = HyperPlaySampler(machine, tree, capacity=PARTICLES, max_attempts=ATTEMPTS)

    def of(self, role: int, paths: IntArray) -> list[Prospects | None]:
        """The prospects of `[B]` paths; None if no particle was found."""
        found: list[Prospects | None] = [None] * len(paths)
        depths = self._tree.depths(paths)
        for depth in np.unique(depths).tolist():
            group = np.flatnonzero(depths == depth)
            for start in range(0, len(group), PATHS_AT_ONCE):
                some = group[start : start + PATHS_AT_ONCE]
                for at, prospects in self._at(role, paths[some]):
                    found[int(some[at])] = prospects
        return found

    def _at(self, role: int, paths: IntArray) -> list[tuple[int, Prospects]]:
        bags = self.belief.at(paths, role, self._rng)
        sound = np.flatnonzero(~bags.depleted)
        if not len(sound):
            return []
        search = PlayoutSearch(self._machine, bags.select(sound), self._rng)
        search.round(PLAYOUTS)
        estimates = search.estimates()
        low, high = self._machine.goal_range
        width = max(high - low, 1e-9)
        values = (estimates.values - low) / width
        spreads = np.nan_to_num(estimates.stderrs) * np.sqrt(estimates.visits) / width
        offsets = estimates.moves.offsets
        return [
            (
                at,
                Prospects(
                    estimates.moves[k],
                    values[start:end],
                    spreads[start:end],
                    self._bold(role, estimates.moves[k]),
                ),
            )
            for k, (at, start, end) in enumerate(
                zip(sound.tolist(), offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
            )
            if end > start
        ]

    def _bold(self, role: int, moves: IntArray) -> FloatArray:
        """Boldness of moves of a role; that of most moves, if they never came up."""
        if not self._boldness:
            self._boldness = self._seen_boldness()
        known = self._boldness.get(role, {})
        usual = float(np.mean(list(known.values()))) if known else 0.0
        return np.array([known.get(move, usual) for move in moves.tolist()])

    def _seen_boldness(self) -> dict[int, dict[int, float]]:
        """Standard deviations of goals in random matches, by role and move."""
        machine, rng = self._machine, self._rng
        roles = range(len(machine.roles))
        states, lanes = machine.initial(MATCHES), np.arange(MATCHES)
        goals = np.full((MATCHES, len(roles)), sum(machine.goal_range) / 2)
        made: list[tuple[IntArray, IntArray]] = []
        for _ in range(MOST_TURNS):
            over = machine.terminal(states)
            ended, on = np.flatnonzero(over), np.flatnonzero(~over)
            if len(ended):
                goals[lanes[ended]] = machine.goals(states.take(ended))
                states, lanes = states.take(on), lanes[on]
            if not len(lanes):
                break
            joint = np.column_stack([random_moves(machine, states, r, rng) for r in roles])
            made.append((lanes, joint))
            states = machine.step(states, joint).states
        else:
            goals[lanes] = machine.playout(states, rng).goals
        found: dict[int, dict[int, float]] = {}
        for role in roles:
            moves = np.concatenate([joint[:, role] for _, joint in made])
            goal = np.concatenate([goals[which, role] for which, _ in made])
            kinds, kind = np.unique(moves, return_inverse=True)
            counts = np.bincount(kind)
            means = np.bincount(kind, goal) / counts
            deviations = np.sqrt(np.bincount(kind, (goal - means[kind]) ** 2) / counts)
            found[role] = dict(zip(kinds.tolist(), deviations.tolist(), strict=True))
        return found


class ThresholdMoves(PathModel):
    """The others move by bands of their win probability: see the module."""

    def __init__(
        self, machine: Machine, tree: PathTree, own: int, rng: np.random.Generator
    ) -> None:
        super().__init__(machine, tree, own)
        self._thoughts = Thoughts(machine, tree, rng)

    @property
    def views(self) -> IntArray:
        return self._thoughts.belief.views

    def renumber(self, numbers: IntArray) -> None:
        super().renumber(numbers)
        self._thoughts.belief.renumber(numbers)

    def _ask(self, role: int, paths: IntArray, moves: list[IntArray]) -> list[Known | None]:
        # A single move needs no search.
        open_ = [at for at, legal in enumerate(moves) if len(legal) > 1]
        found: list[Known | None] = [None] * len(paths)
        if open_:
            for at, each in zip(open_, self._thoughts.of(role, paths[open_]), strict=True):
                if each is not None:
                    found[at] = Known(each.moves, banded(each), 1.0)
        return found


def banded(prospects: Prospects) -> FloatArray:
    """`[M]` probability of each move for a role that moves by bands."""
    order = np.argsort(prospects.boldness, kind="stable")
    count = len(order)
    win = prospects.win_probability
    quits = int(count > 1 and prospects.spreads[order[0]] < QUITS)
    chosen = quits * (win >= CALL)
    bands = count - quits - 1
    for band in range(bands):
        chosen += chosen >= quits and win >= RAISE + (1 - RAISE) * band / bands
    shares = np.full(count, (1 - LIKELY) / count)
    shares[order[chosen]] += LIKELY
    return shares

"""Move models of opponents that search: they move by the HyperPlay values of their own bags.

A sampler or a simulation asks a model for the probabilities of an opponent's moves at an incomplete
path. The model makes the opponent's bag for that path and computes HyperPlay values in it, so it
needs only the rules of a game. `ThresholdMoves` is the model of paper 001 ("likely to call with a
win probability above 0.5, to raise above 0.75, to fold otherwise") for any game.

The *win probability* is the highest of the values, as a share of the goal range. Moves are ordered
by *boldness*: the standard deviation of the role's goal in random matches with the move. So a call
is bolder than a fold, and a raise bolder than a call. If all playouts of the least bold move have
the same goal, it is a way to quit, and the role takes it with a win probability below `CALL`. Of
the other moves, the least bold covers win probabilities up to `RAISE`, and the bolder ones share
the range from there to 1 in bands of equal width.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from ggp.belief import HyperPlaySampler, Known, PathModel, PathTree
from ggp.machine.base import FloatArray, IntArray, Machine
from ggp.players.options.opponents import ModelForm, reject_rest
from ggp.search.moves import random_moves
from ggp.search.playouts import PlayoutSearch

PLAYOUTS = 200
"""Playouts of each candidate of a path, which make values accurate to a few points."""

PARTICLES, ATTEMPTS = 32, 5_000
"""Limits of the sampled bags of other roles."""

PATHS_AT_ONCE = 256

MATCHES, MAX_TURNS = 1024, 200
"""Number of random matches that determine the boldness of moves, and their greatest length."""

LIKELY = 0.85
"""Probability that a role moves by its band. Otherwise it moves uniformly."""

QUITS = 0.01
"""A move with a spread below this share of the goal range is a way to quit."""

CALL, RAISE = 0.5, 0.75
"""The win probabilities of the paper."""


class Prospects(NamedTuple):
    """A role's own estimate of its moves at a path.

    Attributes:
        moves: `[M]`.
        values: `[M]` HyperPlay values, as shares of the goal range.
        spreads: `[M]` standard deviations of the goals of playouts, likewise.
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
        prospects_of: list[Prospects | None] = [None] * len(paths)
        depths = self._tree.depths(paths)
        for depth in np.unique(depths).tolist():
            group = np.flatnonzero(depths == depth)
            for start in range(0, len(group), PATHS_AT_ONCE):
                batch = group[start : start + PATHS_AT_ONCE]
                for index, prospects in self._search(role, paths[batch]):
                    prospects_of[int(batch[index])] = prospects
        return prospects_of

    def _search(self, role: int, paths: IntArray) -> list[tuple[int, Prospects]]:
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
                index,
                Prospects(
                    estimates.moves[k],
                    values[start:end],
                    spreads[start:end],
                    self._boldness_of(role, estimates.moves[k]),
                ),
            )
            for k, (index, start, end) in enumerate(
                zip(sound.tolist(), offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
            )
            if end > start
        ]

    def _boldness_of(self, role: int, moves: IntArray) -> FloatArray:
        """Boldness of a role's moves; the mean of its moves for a move that never occurred."""
        if not self._boldness:
            self._boldness = self._measure_boldness()
        by_move = self._boldness.get(role, {})
        usual = float(np.mean(list(by_move.values()))) if by_move else 0.0
        return np.array([by_move.get(move, usual) for move in moves.tolist()])

    def _measure_boldness(self) -> dict[int, dict[int, float]]:
        """Standard deviations of goals in random matches, by role and move."""
        machine, rng = self._machine, self._rng
        roles = range(len(machine.roles))
        states, lanes = machine.initial(MATCHES), np.arange(MATCHES)
        goals = np.full((MATCHES, len(roles)), sum(machine.goal_range) / 2)
        history: list[tuple[IntArray, IntArray]] = []
        for _ in range(MAX_TURNS):
            over = machine.terminal(states)
            ended, going = np.flatnonzero(over), np.flatnonzero(~over)
            if len(ended):
                goals[lanes[ended]] = machine.goals(states.take(ended))
                states, lanes = states.take(going), lanes[going]
            if not len(lanes):
                break
            joint = np.column_stack([random_moves(machine, states, r, rng) for r in roles])
            history.append((lanes, joint))
            states = machine.step(states, joint).states
        else:
            goals[lanes] = machine.playout(states, rng).goals
        boldness: dict[int, dict[int, float]] = {}
        for role in roles:
            moves = np.concatenate([joint[:, role] for _, joint in history])
            goal = np.concatenate([goals[which, role] for which, _ in history])
            kinds, kind = np.unique(moves, return_inverse=True)
            counts = np.bincount(kind)
            means = np.bincount(kind, goal) / counts
            deviations = np.sqrt(np.bincount(kind, (goal - means[kind]) ** 2) / counts)
            boldness[role] = dict(zip(kinds.tolist(), deviations.tolist(), strict=True))
        return boldness


class ThresholdMoves(PathModel):
    """The move model by bands of the win probability: see the module."""

    def __init__(
        self, machine: Machine, tree: PathTree, role: int, rng: np.random.Generator
    ) -> None:
        super().__init__(machine, tree, role)
        self._thoughts = Thoughts(machine, tree, rng)

    @property
    def views(self) -> IntArray:
        return self._thoughts.belief.views

    def renumber(self, numbers: IntArray) -> None:
        super().renumber(numbers)
        self._thoughts.belief.renumber(numbers)

    def _ask(self, role: int, paths: IntArray, moves: list[IntArray]) -> list[Known | None]:
        # A single move needs no search.
        open_ = [index for index, legal in enumerate(moves) if len(legal) > 1]
        answers: list[Known | None] = [None] * len(paths)
        if open_:
            for index, prospects in zip(open_, self._thoughts.of(role, paths[open_]), strict=True):
                if prospects is not None:
                    answers[index] = Known(prospects.moves, banded(prospects), 1.0)
        return answers


FORM = ModelForm(
    lambda rest, machine, tree, role, rng, _: ThresholdMoves(machine, tree, role, rng.spawn(1)[0]),
    partial(reject_rest, "threshold"),
)


def banded(prospects: Prospects) -> FloatArray:
    """`[M]` probability of each move for a role that moves by bands."""
    order = np.argsort(prospects.boldness, kind="stable")
    count = len(order)
    win = prospects.win_probability
    quits = int(count > 1 and prospects.spreads[order[0]] < QUITS)
    rank = quits * (win >= CALL)
    bands = count - quits - 1
    for band in range(bands):
        rank += rank >= quits and win >= RAISE + (1 - RAISE) * band / bands
    shares = np.full(count, (1 - LIKELY) / count)
    shares[order[rank]] += LIKELY
    return shares

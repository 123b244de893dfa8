"""Models of opponents that search: they move by the HyperPlay values of what they know.

Both models compute the HyperPlay values of an opponent's moves in a bag of the opponent's own, from
its incomplete path along a particle. So they need nothing of a game but its rules.

    `GreedyMoves`       a softmax of these values
    `ThresholdMoves`    the model of paper 001 ("likely to call with a win probability above 0.5, to
                        raise above 0.75, to fold otherwise") for any game

A *win probability* is the highest of the values, as a share of the goal range. Moves are ordered by
*boldness*: the standard deviation of the role's goal in random matches in which it makes them. So a
call is bolder than a fold, and a raise bolder than a call. If all playouts of the least bold move
come to the same goal, the role can quit by it, and does so with a win probability below `call`.
Bands of equal width from `raise` to 1 belong to the bolder moves, and everything below to the least
bold of the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ggp.belief import HyperPlaySampler, Known, PathModel, PathTree
from ggp.belief.policy_models import Strategy, path_of
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

STEP = 0.05
"""Step size with which thresholds are fitted."""


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


class ThinkingMoves(PathModel):
    """Model of roles that move by the HyperPlay values of what they know; subclasses say how."""

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
                    found[at] = Known(each.moves, self._shares(each), 1.0)
        return found

    def _shares(self, prospects: Prospects) -> FloatArray:
        raise NotImplementedError


class GreedyMoves(ThinkingMoves):
    """The others move by a softmax of HyperPlay values.

    Args:
        temperature: in points of 100 of the goal range: a move that is worth this much less is
            made 1/e times as often.
    """

    def __init__(
        self,
        machine: Machine,
        tree: PathTree,
        own: int,
        rng: np.random.Generator,
        temperature: float,
    ) -> None:
        super().__init__(machine, tree, own, rng)
        self._temperature = temperature / 100

    def _shares(self, prospects: Prospects) -> FloatArray:
        shares = np.exp((prospects.values - prospects.values.max()) / self._temperature)
        return np.asarray(shares / shares.sum())


class ThresholdMoves(ThinkingMoves):
    """The others move by bands of their win probability: see the module.

    Args:
        call, raise_: thresholds from 0 to 1, call <= raise_.
        counts: of moves by role and history, to which thresholds are fitted instead (`fitted`);
            roles without counts keep those given.
    """

    def __init__(
        self,
        machine: Machine,
        tree: PathTree,
        own: int,
        rng: np.random.Generator,
        call: float = CALL,
        raise_: float = RAISE,
        counts: Mapping[str, Strategy] | None = None,
    ) -> None:
        super().__init__(machine, tree, own, rng)
        self._usual, self._counts = (call, raise_), counts or {}
        self._fitted: dict[int, tuple[float, float]] = {}
        self._role = own

    def thresholds(self, role: int) -> tuple[float, float]:
        """The call and raise thresholds of a role."""
        if role not in self._fitted:
            self._fitted[role] = self._fit(role) or self._usual
        return self._fitted[role]

    def _ask(self, role: int, paths: IntArray, moves: list[IntArray]) -> list[Known | None]:
        self.thresholds(role)
        self._role = role
        return super()._ask(role, paths, moves)

    def _shares(self, prospects: Prospects) -> FloatArray:
        return banded(prospects, *self.thresholds(self._role))

    def _fit(self, role: int) -> tuple[float, float] | None:
        machine = self._machine
        counted = self._counts.get(machine.roles[role], {})
        paths = {path_of(machine, self._tree, role, history): history for history in counted}
        known = [path for path in paths if path is not None]
        pairs = []
        for path, each in zip(known, self._thoughts.of(role, np.array(known, int)), strict=True):
            if each is not None:
                moves = counted[paths[path]]
                made = [moves.get(machine.move_text(move), 0.0) for move in each.moves.tolist()]
                pairs.append((each, np.array(made)))
        return fitted(pairs) if pairs else None


def banded(prospects: Prospects, call: float, raise_: float) -> FloatArray:
    """`[M]` probability of each move for a role with these thresholds."""
    count = len(prospects.moves)
    shares = np.full(count, (1 - LIKELY) / count)
    shares[_in_band(prospects, np.array([call]), np.array([raise_]))[0]] += LIKELY
    return shares


def fitted(pairs: Sequence[tuple[Prospects, FloatArray]]) -> tuple[float, float]:
    """The thresholds under which the counts are most likely, call <= raise.

    Args:
        pairs: a role's prospects, and `[M]` how often it made each of the moves.
    """
    grid = np.round(np.arange(0, 1 + STEP / 2, STEP), 9)
    call, raise_ = (each.ravel() for each in np.meshgrid(grid, grid))
    call, raise_ = call[call <= raise_], raise_[call <= raise_]
    # Among equally likely ones, those nearest to the usual.
    likelihood = -1e-6 * (abs(call - CALL) + abs(raise_ - RAISE))
    for each, made in pairs:
        rest = (1 - LIKELY) / len(made)
        likelihood += made[_in_band(each, call, raise_)] * np.log((LIKELY + rest) / rest)
    best = int(np.argmax(likelihood))
    return float(call[best]), float(raise_[best])


def _in_band(prospects: Prospects, call: FloatArray, raise_: FloatArray) -> IntArray:
    """`[G]` the place of the move chosen under each of G pairs of thresholds."""
    order = np.argsort(prospects.boldness, kind="stable")
    count = len(order)
    win = prospects.win_probability
    quits = int(count > 1 and prospects.spreads[order[0]] < QUITS)
    chosen = quits * (win >= call).astype(np.int64)
    bands = count - quits - 1
    for band in range(bands):
        chosen += (chosen >= quits) & (win >= raise_ + (1 - raise_) * band / bands)
    return order[chosen]

"""Models of opponents that think: they move by the HyperPlay values of what they know.

Both models ask for the HyperPlay values of an opponent's moves in a bag of the opponent's own: from
its incomplete path, as it would be along a particle. So they need no more of a game than its rules.

    `GreedyMoves`       a softmax of these values
    `ThresholdMoves`    the model of paper 001 ("likely to call with a win probability above 0.5, to
                        raise above 0.75, to fold otherwise") for any game

A *win probability* is the highest of the values, as a share of the goal range. Moves are ordered by
*boldness*: the spread of what comes of them in playouts. A fold has none, and a raise more than a
call. If a role may quit, that is if nothing depends on its least bold move, it does so with a win
probability below `call`. Bands of the same width from `raise` to 1 belong to the bolder moves, and
the one from `call` to `raise` to the least bold of the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ggp.belief import HyperPlaySampler, Known, PathModel, PathTree
from ggp.belief.strategies import Strategy, path_of
from ggp.machine.base import FloatArray, IntArray, Machine
from ggp.search.playouts import PlayoutSearch

PLAYOUTS = 200
"""Playouts of each candidate of a path: the values are right to a few points."""

PARTICLES, ATTEMPTS = 32, 5_000
"""Of the bags of other roles, where they are sampled."""

PATHS_AT_ONCE = 256

LIKELY = 0.85
"""How often a role moves by its band. Otherwise it makes any of its moves."""

QUITS = 0.01
"""A move of less spread than this share of the goal range does not depend on anything."""

CALL, RAISE = 0.5, 0.75
"""The win probabilities of the paper."""

STEP = 0.05
"""How finely thresholds are fitted."""


class Prospects(NamedTuple):
    """What a role thinks of its moves at a path.

    Attributes:
        moves: `[M]`.
        values: `[M]` HyperPlay values, as shares of the goal range.
        spreads: `[M]` standard deviations of what comes of a playout, likewise.
    """

    moves: IntArray
    values: FloatArray
    spreads: FloatArray

    @property
    def win_probability(self) -> float:
        return float(self.values.max())


class Thoughts:
    """HyperPlay values of the moves of other roles, by their paths.

    Args:
        rng: draws particles and playouts.
    """

    def __init__(self, machine: Machine, tree: PathTree, rng: np.random.Generator) -> None:
        self._machine, self._tree, self._rng = machine, tree, rng
        self.belief = HyperPlaySampler(
            machine, tree, capacity=PARTICLES, max_attempts=ATTEMPTS
        )

    def of(self, role: int, paths: IntArray) -> list[Prospects | None]:
        """Of `[B]` paths; None where no particle was found."""
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
            (at, Prospects(estimates.moves[k], values[start:end], spreads[start:end]))
            for k, (at, start, end) in enumerate(
                zip(sound.tolist(), offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
            )
            if end > start
        ]


class ThinkingMoves(PathModel):
    """The others move by the HyperPlay values of what they know; subclasses say how."""

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
        # Nobody has to think about a single move.
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
        temperature: in points of 100 of the goal range: a move that is worth so much less is made
            1/e times as often.
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
        """What a role calls and raises from."""
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
    """`[M]` how likely each move is for a role with these thresholds."""
    order = np.argsort(prospects.spreads, kind="stable")
    count = len(order)
    quits = int(count > 1 and prospects.spreads[order[0]] < QUITS)
    # From here on each of the moves that go on, from the least bold one.
    bolder = raise_ + (1 - raise_) * np.arange(max(count - quits - 1, 0)) / max(count - quits - 1, 1)
    starts = np.concatenate([[call] if quits else [], bolder])
    chosen = int(np.searchsorted(starts, prospects.win_probability, side="right"))
    shares = np.full(count, (1 - LIKELY) / count)
    shares[order[chosen]] += LIKELY
    return shares


def fitted(pairs: Sequence[tuple[Prospects, FloatArray]]) -> tuple[float, float]:
    """The thresholds under which what was counted is most likely, call <= raise.

    Args:
        pairs: what a role thought, and `[M]` how often it made each of the moves.
    """
    grid = np.round(np.arange(0, 1 + STEP / 2, STEP), 9).tolist()
    usual = (CALL, RAISE)
    best, highest = usual, -np.inf
    for call in grid:
        for raise_ in grid:
            if raise_ < call:
                continue
            likelihood = sum(
                float(made @ np.log(banded(each, call, raise_))) for each, made in pairs
            )
            # Of equally likely ones those nearest to the usual.
            likelihood -= 1e-6 * (abs(call - usual[0]) + abs(raise_ - usual[1]))
            if likelihood > highest:
                best, highest = (call, raise_), likelihood
    return best

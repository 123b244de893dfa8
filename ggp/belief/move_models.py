"""Move models: the probabilities of other roles' moves.

Beliefs weigh particles by them, and searches draw moves from them. A `MoveModel` predicts moves
from states. A `PathModel` predicts a role's moves from its incomplete path, as a real opponent
chooses them: it needs the views of particles (`ggp.belief.bags`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple, Protocol

import numpy as np

from ggp.belief.paths import PathTree
from ggp.machine.arrays import first_seen, segment_ids
from ggp.machine.base import FloatArray, IntArray, Machine, Ragged, States

TREMBLE = 0.01
"""Assumed probability that a role moves uniformly, whatever its model predicts. So no move is
impossible, and a wrong model keeps the right particles, though with little weight."""


class MoveModel(Protocol):
    """The probabilities of the moves of a role other than ours.

    Weights of particles are multiplied by its likelihoods, and playouts and simulations draw the
    first moves of the other roles from them. (An `Evaluation` of unfinished states decides their
    later moves.)
    """

    def log_likelihoods(
        self, machine: Machine, states: States, role: int, moves: Ragged
    ) -> FloatArray:
        """`[M]` log of the probability of each legal move of each lane; they sum to 1 in a lane.

        Args:
            states: L lanes.
            role: the role that moves.
            moves: its legal moves in each lane, M in all.
        """
        ...


class UniformMoves:
    """Every legal move is equally likely (paper 004, Definition 6)."""

    def log_likelihoods(
        self, machine: Machine, states: States, role: int, moves: Ragged
    ) -> FloatArray:
        sizes = moves.counts
        return np.repeat(-np.log(np.maximum(sizes, 1)), sizes)


UNIFORM = UniformMoves()


class Known(NamedTuple):
    """A model's prediction for a role at an incomplete path.

    Attributes:
        moves: `[M]` distinct legal moves.
        shares: `[M]` their probabilities; they sum to 1.
        trust: the model's certainty, from 0 to 1. With the rest of the probability there is no
            model: in weights, every legal move is equally likely; in a search, the role moves
            as the search assumes.
    """

    moves: IntArray
    shares: FloatArray
    trust: float


class PathModel(ABC):
    """A `MoveModel` that predicts the moves of other roles from their incomplete paths.

    Subclasses predict each path once. A prediction must not change during a match, because all bags
    of a path share weights.

    Args:
        machine: the player's.
        tree: numbers the incomplete paths.
        own_role: the role of the player, which needs no model.
    """

    def __init__(self, machine: Machine, tree: PathTree, own_role: int) -> None:
        self._machine, self._tree, self._own_role = machine, tree, own_role
        self._predictions: dict[int, Known] = {}

    @abstractmethod
    def _ask(self, role: int, paths: IntArray, moves: list[IntArray]) -> list[Known | None]:
        """Predictions for `[B]` distinct paths with their legal moves; None for no opinion."""

    def shares(self, role: int, paths: IntArray, moves: Ragged) -> tuple[FloatArray, FloatArray]:
        """`[M]` probability of each legal move of each lane, and `[L]` trust in it.

        Without a prediction all moves are equally likely, and the trust is 0.

        Args:
            role: the role that moves.
            paths: `[L]` its incomplete path in each lane.
            moves: its legal moves in each lane.
        """
        sizes = np.maximum(moves.counts, 1)
        owner = segment_ids(moves.offsets)
        even = 1.0 / sizes[owner]
        if role == self._own_role or role == self._machine.random_role or not len(paths):
            return even, np.zeros(len(paths))
        first, group = first_seen(paths)
        predictions = self._predictions_at(role, paths[first], [moves[i] for i in first.tolist()])
        probs = np.zeros(len(moves.values))
        span = 1 + max(
            int(moves.values.max(initial=0)), *(int(p.moves.max(initial=0)) for p in predictions)
        )
        # A pair of path and move is one number, so that one search finds all shares.
        keys = np.concatenate([p.moves + at * span for at, p in enumerate(predictions)])
        if len(keys):
            shares = np.concatenate([p.shares for p in predictions])
            order = np.argsort(keys)
            targets = group[owner] * span + moves.values
            at = order[np.minimum(np.searchsorted(keys, targets, sorter=order), len(keys) - 1)]
            probs = np.where(keys[at] == targets, shares[at], 0.0)
        totals = np.bincount(owner, probs, minlength=len(paths))
        covered = totals > 0
        trust = np.where(covered, np.array([p.trust for p in predictions])[group], 0.0)
        probs = np.where(covered[owner], probs / np.where(covered, totals, 1.0)[owner], even)
        return (1 - TREMBLE) * probs + TREMBLE * even, trust

    def log_likelihoods_at(self, role: int, paths: IntArray, moves: Ragged) -> FloatArray:
        """`[M]` log of the probability of each legal move of each lane, given the role's path."""
        shares, trust = self.shares(role, paths, moves)
        owner = segment_ids(moves.offsets)
        even = 1.0 / np.maximum(moves.counts, 1)[owner]
        return np.asarray(np.log(trust[owner] * shares + (1 - trust[owner]) * even))

    def log_likelihoods(
        self, machine: Machine, states: States, role: int, moves: Ragged
    ) -> FloatArray:
        """Uniform likelihoods: without the role's path there is no prediction."""
        return UNIFORM.log_likelihoods(machine, states, role, moves)

    @property
    def views(self) -> IntArray:
        """Paths that the model refers to: none."""
        return np.zeros(0, dtype=np.int64)

    def renumber(self, numbers: IntArray) -> None:
        """Follow `PathTree.prune`."""
        self._predictions = {
            int(numbers[path]): p for path, p in self._predictions.items() if numbers[path] >= 0
        }

    def _predictions_at(self, role: int, paths: IntArray, moves: list[IntArray]) -> list[Known]:
        missing = [at for at, path in enumerate(paths.tolist()) if path not in self._predictions]
        if missing:
            answers = self._ask(role, paths[np.array(missing)], [moves[at] for at in missing])
            for at, answer in zip(missing, answers, strict=True):
                no_opinion = Known(moves[at], np.zeros(len(moves[at])), 0.0)
                self._predictions[int(paths[at])] = answer or no_opinion
        return [self._predictions[path] for path in paths.tolist()]


def log_likelihoods(
    model: MoveModel,
    machine: Machine,
    states: States,
    role: int,
    moves: Ragged,
    paths: IntArray | None,
) -> FloatArray:
    """`[M]` log likelihoods of a role's legal moves: see `MoveModel`.

    Args:
        paths: `[L]` the role's incomplete path in each lane; None if unknown.
    """
    if paths is not None and isinstance(model, PathModel):
        return model.log_likelihoods_at(role, paths, moves)
    return model.log_likelihoods(machine, states, role, moves)

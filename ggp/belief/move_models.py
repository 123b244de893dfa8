"""How other roles are believed to move: a part of every belief, and of the search on it.

A `MoveModel` sees states. A `PathModel` sees what the role that moves knows, as a real opponent
does: it needs the views of particles (`ggp.belief.bags`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple, Protocol

import numpy as np

from ggp.belief.paths import PathTree
from ggp.machine.arrays import first_seen, segment_ids
from ggp.machine.base import FloatArray, IntArray, Machine, Ragged, States

TREMBLE = 0.01
"""Probability with which a role is taken to move uniformly, whatever its model says: so no move is
impossible, and a wrong model leaves the right particles, if with little weight."""


class MoveModel(Protocol):
    """How a role other than ours is believed to move.

    Its likelihoods multiply into the weights of particles, and its probabilities draw the first
    moves of the others in playouts and simulations. (Their later moves are up to the `Evaluation`
    of unfinished states.)
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
        trust: from 0 to 1, how far the model is sure of them. The rest is as if there were no
            model: in weights, every legal move is equally likely; in a search, the role moves
            as the search would have it.
    """

    moves: IntArray
    shares: FloatArray
    trust: float


class PathModel(ABC):
    """A `MoveModel` of the other roles by what they know: by their incomplete paths.

    It is asked once about each path, and its answer must not change during a match, because weights
    are shared by all bags of a path.

    Args:
        machine: the player's.
        tree: names the incomplete paths.
        own: the role of the player, which needs no model.
    """

    def __init__(self, machine: Machine, tree: PathTree, own: int) -> None:
        self._machine, self._tree, self._own = machine, tree, own
        self._known: dict[int, Known] = {}

    @abstractmethod
    def _ask(self, role: int, paths: IntArray, moves: list[IntArray]) -> list[Known | None]:
        """The model's prediction for `[B]` distinct paths, given legal moves; None: no opinion."""

    def shares(self, role: int, paths: IntArray, moves: Ragged) -> tuple[FloatArray, FloatArray]:
        """`[M]` probability of each legal move of each lane, and `[L]` trust in it.

        Where nothing is known of a path, all moves are equally likely, and the trust is 0.

        Args:
            role: the role that moves.
            paths: `[L]` what it knows in each lane.
            moves: its legal moves in each lane.
        """
        sizes = np.maximum(moves.counts, 1)
        owner = segment_ids(moves.offsets)
        even = 1.0 / sizes[owner]
        if role == self._own or role == self._machine.random_role or not len(paths):
            return even, np.zeros(len(paths))
        first, group = first_seen(paths)
        known = self._of(role, paths[first], [moves[lane] for lane in first.tolist()])
        found = np.zeros(len(moves.values))
        span = 1 + max(
            int(moves.values.max(initial=0)), *(int(k.moves.max(initial=0)) for k in known)
        )
        keys = np.concatenate([k.moves + at * span for at, k in enumerate(known)])
        if len(keys):
            shares = np.concatenate([k.shares for k in known])
            order = np.argsort(keys)
            wanted = group[owner] * span + moves.values
            at = order[np.minimum(np.searchsorted(keys, wanted, sorter=order), len(keys) - 1)]
            found = np.where(keys[at] == wanted, shares[at], 0.0)
        totals = np.bincount(owner, found, minlength=len(paths))
        said = totals > 0
        trust = np.where(said, np.array([k.trust for k in known])[group], 0.0)
        found = np.where(said[owner], found / np.where(said, totals, 1.0)[owner], even)
        return (1 - TREMBLE) * found + TREMBLE * even, trust

    def log_likelihoods_at(self, role: int, paths: IntArray, moves: Ragged) -> FloatArray:
        """`[M]` log of the probability of each legal move of each lane, by what the role knows."""
        shares, trust = self.shares(role, paths, moves)
        owner = segment_ids(moves.offsets)
        even = 1.0 / np.maximum(moves.counts, 1)[owner]
        return np.asarray(np.log(trust[owner] * shares + (1 - trust[owner]) * even))

    def log_likelihoods(
        self, machine: Machine, states: States, role: int, moves: Ragged
    ) -> FloatArray:
        """Uniform likelihoods: without the role's path, all moves are equally likely."""
        return UNIFORM.log_likelihoods(machine, states, role, moves)

    @property
    def views(self) -> IntArray:
        """Paths that must be kept for the model: none."""
        return np.zeros(0, dtype=np.int64)

    def renumber(self, numbers: IntArray) -> None:
        """Follow `PathTree.prune`."""
        self._known = {
            int(numbers[path]): known for path, known in self._known.items() if numbers[path] >= 0
        }

    def _of(self, role: int, paths: IntArray, moves: list[IntArray]) -> list[Known]:
        new = [at for at, path in enumerate(paths.tolist()) if path not in self._known]
        if new:
            said = self._ask(role, paths[np.array(new)], [moves[at] for at in new])
            for at, each in zip(new, said, strict=True):
                nothing = Known(moves[at], np.zeros(len(moves[at])), 0.0)
                self._known[int(paths[at])] = each or nothing
        return [self._known[path] for path in paths.tolist()]


def log_likelihoods(
    model: MoveModel,
    machine: Machine,
    states: States,
    role: int,
    moves: Ragged,
    paths: IntArray | None,
) -> FloatArray:
    """`[M]` log likelihoods of a role's legal moves by a model: see `MoveModel`.

    Args:
        paths: `[L]` what the role knows in each lane; None if that is not known.
    """
    if paths is not None and isinstance(model, PathModel):
        return model.log_likelihoods_at(role, paths, moves)
    return model.log_likelihoods(machine, states, role, moves)

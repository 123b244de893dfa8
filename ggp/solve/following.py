"""Plays a role's part in a solved game, by what it did and saw.

Information sets are found by their incomplete paths. Where a subgame begins, a path is replaced by
the one that its information sets are continued from (`ggp.solve.tree.Stands`).
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ggp.machine.base import FloatArray, IntArray
from ggp.solve.solver import Solution


class RolePart(Protocol):
    """The strategy of one role in a solved game, shared by all its matches.

    Attributes:
        start: where a match begins, as `after` returns it.
    """

    @property
    def start(self) -> int: ...

    def after(self, path: int, move: int, percepts: int) -> int | None:
        """Where a match goes from there; None if that is not known.

        Args:
            path: a value that this function returned, or `start`.
            move: the move that was executed for the role.
            percepts: id of its percepts then.
        """
        ...

    def choices(self, path: int) -> tuple[IntArray, FloatArray] | None:
        """The moves of the role there and their probabilities.

        Returns:
            None if the role has no choice, or nothing is known.
        """
        ...


class Part:
    """The part of one role in a game whose tree was solved; a `RolePart`.

    Args:
        solution: a solved game; a tree with subgames must have kept its stands (`build_tree`).
        role: index of a role that is not `random`.
    """

    def __init__(self, solution: Solution, role: int) -> None:
        self._tree = tree = solution.tree
        player = tree.players.index(role)
        self.role = role
        self._sets = tree.sets[player]
        self._strategy = solution.profile.strategies[player]
        self._numbers = {path: at for at, path in enumerate(self._sets.paths.tolist())}
        stands = tree.stands[player]
        self._models = dict(zip(stands.paths.tolist(), stands.models.tolist(), strict=True))

    @property
    def start(self) -> int:
        """The empty path."""
        return self.role

    def after(self, path: int, move: int, percepts: int) -> int:
        """The path one turn longer."""
        turn = (np.array([each], dtype=np.int64) for each in (path, move, percepts))
        longer = int(self._tree.paths.extend(*turn)[0])
        found: int = self._models.get(longer, longer)
        return found

    def choices(self, path: int) -> tuple[IntArray, FloatArray] | None:
        """The moves of an information set and their probabilities."""
        number = self._numbers.get(path)
        if number is None:
            return None
        start, end = self._sets.offsets[number : number + 2].tolist()
        shares = np.maximum(self._strategy[start:end], 0.0)
        return self._sets.moves_of(number), shares / shares.sum()

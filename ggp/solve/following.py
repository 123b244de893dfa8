"""Follows a role's strategy in a solved game along its incomplete path.

A player passes its move and percepts each turn, and gets the probabilities of its moves. Where a
subgame begins, the path is replaced by its representative, from which the subgame's information
sets continue (`ggp.solve.tree.Stands`).
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ggp.machine.base import FloatArray, IntArray
from ggp.solve.solver import Solution


class RolePart(Protocol):
    """The strategy of one role in a solved game, shared by all its matches.

    Attributes:
        start: the first path, or position, of a match.
    """

    @property
    def start(self) -> int: ...

    def after(self, path: int, move: int, percepts: int) -> int | None:
        """The next path, or position; None if it is unknown.

        Args:
            path: a value that this function returned, or `start`.
            move: the move that was executed for the role.
            percepts: id of its percepts then.
        """
        ...

    def choices(self, path: int) -> tuple[IntArray, FloatArray] | None:
        """The moves of the role at a path, and their probabilities.

        Returns:
            None if the role has no choice, or the path is unknown.
        """
        ...


class Part:
    """The part of one role in a game whose tree was solved; a `RolePart`.

    >>> from ggp.machine.games import build_machine, load_program
    >>> from ggp.solve import solve
    >>> machine = build_machine(load_program("kuhn_poker"), "prolog")
    >>> solution = solve(machine, split=False)
    >>> part = Part(solution, role=machine.roles.index("player1"))
    >>> path = int(solution.tree.sets[0].paths[2])
    >>> solution.tree.paths.texts(path)
    ['noop / ((dealt queen))']
    >>> moves, probabilities = part.choices(path)
    >>> [machine.move_text(move) for move in moves.tolist()], probabilities.round(3).tolist()
    (['bet', 'check'], [0.0, 1.0])

    Args:
        solution: a solved game; a tree with subgames must have its stands (`build_tree`).
        role: index of a role that is not `random`.
    """

    def __init__(self, solution: Solution, role: int) -> None:
        self._tree = tree = solution.tree
        player = tree.players.index(role)
        self.role = role
        self._sets = tree.sets[player]
        self._strategy = solution.profile.strategies[player]
        self._numbers = {path: set_id for set_id, path in enumerate(self._sets.paths.tolist())}
        stands = tree.stands[player]
        self._models = dict(zip(stands.paths.tolist(), stands.models.tolist(), strict=True))

    @property
    def start(self) -> int:
        """The empty path."""
        return self.role

    def after(self, path: int, move: int, percepts: int) -> int:
        """The path one turn longer."""
        turn = (np.array([value], dtype=np.int64) for value in (path, move, percepts))
        longer = int(self._tree.paths.extend(*turn)[0])
        path_id: int = self._models.get(longer, longer)
        return path_id

    def choices(self, path: int) -> tuple[IntArray, FloatArray] | None:
        """The moves of an information set and their probabilities."""
        set_id = self._numbers.get(path)
        if set_id is None:
            return None
        start, end = self._sets.offsets[set_id : set_id + 2].tolist()
        shares = np.maximum(self._strategy[start:end], 0.0)
        return self._sets.moves_of(set_id), shares / shares.sum()

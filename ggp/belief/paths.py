"""Incomplete paths, interned in a tree.

An incomplete path of a role is, for each turn, the move executed for it and the percepts it
got (paper 004, Definition 5); either may be unknown and then constrains nothing. Paths share
their beginnings, so each is one node of a tree and a batch of paths an array of node numbers.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import NamedTuple

import numpy as np

from ggp.machine.arrays import first_seen
from ggp.machine.base import UNKNOWN, IntArray, Machine


class Turn(NamedTuple):
    """What one role knows of one turn, in ids of its machine.

    Attributes:
        move: the move that was executed for the role, `UNKNOWN` if it was not told.
        percepts: percept id, `UNKNOWN` if it was not told.
        refused: a move that the role submitted in time for certain and that was not
            executed, so that it was not legal; else `UNKNOWN`.
    """

    move: int
    percepts: int
    refused: int = UNKNOWN


class PathTree:
    """All incomplete paths met so far, of every role of one machine.

    Node `r` is the empty path of role `r`. Node numbers are per tree, and their order means
    nothing; `key` is the same in every process.
    """

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        roles = len(machine.roles)
        self._parents = list(range(roles))
        self._depths = [0] * roles
        self._turns = [Turn(UNKNOWN, UNKNOWN)] * roles
        self._children: dict[tuple[int, int, int, int], int] = {}
        self._keys: dict[int, bytes] = {}

    def extend(
        self,
        nodes: IntArray,
        moves: IntArray,
        percepts: IntArray,
        refused: IntArray | None = None,
    ) -> IntArray:
        """`[B]` the paths one turn longer, for arrays of `[B]` nodes and their last turns."""
        if refused is None:
            refused = np.full(len(nodes), UNKNOWN, dtype=np.int64)
        rows = np.column_stack([nodes, moves, percepts, refused]).astype(np.int64)
        first, group = first_seen(rows)
        numbers = np.array([self._child(*row) for row in rows[first].tolist()], dtype=np.int64)
        return numbers[group] if len(rows) else np.zeros(0, dtype=np.int64)

    def depth(self, node: int) -> int:
        """Number of turns of a path."""
        return self._depths[node]

    def parent(self, node: int) -> int:
        """The path without its last turn; the empty path is its own parent."""
        return self._parents[node]

    def last_turn(self, node: int) -> Turn:
        """The last turn of a path that is not empty."""
        return self._turns[node]

    def turns(self, node: int) -> list[Turn]:
        """All turns of a path, first to last."""
        found = []
        while self._depths[node]:
            found.append(self._turns[node])
            node = self._parents[node]
        return found[::-1]

    def ancestor(self, node: int, depth: int) -> int:
        """The first `depth` turns of a path."""
        while self._depths[node] > depth:
            node = self._parents[node]
        return node

    def key(self, node: int) -> bytes:
        """128-bit digest of a path's role and term strings, the same in every process."""
        found = self._keys.get(node)
        if found is None:
            if not self._depths[node]:
                text = self._machine.roles[node]
                found = blake2b(text.encode(), digest_size=16).digest()
            else:
                before = self.key(self._parents[node])
                found = blake2b(before + self.text(node).encode(), digest_size=16).digest()
            self._keys[node] = found
        return found

    def text(self, node: int) -> str:
        """The last turn of a path in KIF: move, percepts, and a refused move if any."""
        move, percepts, refused = self._turns[node]
        shown = "?" if move == UNKNOWN else self._machine.move_text(move)
        if percepts == UNKNOWN:
            seen = "?"
        else:
            seen = f"({' '.join(self._machine.percept_texts(percepts))})"
        if refused == UNKNOWN:
            return f"{shown} / {seen}"
        return f"{shown} / {seen} / not {self._machine.move_text(refused)}"

    def texts(self, node: int) -> list[str]:
        """Every turn of a path as `text` shows it, first to last."""
        depth = self._depths[node]
        return [self.text(self.ancestor(node, d)) for d in range(1, depth + 1)]

    def _child(self, parent: int, move: int, percepts: int, refused: int) -> int:
        key = (parent, move, percepts, refused)
        found = self._children.get(key)
        if found is None:
            found = self._children[key] = len(self._parents)
            self._parents.append(parent)
            self._depths.append(self._depths[parent] + 1)
            self._turns.append(Turn(move, percepts, refused))
        return found

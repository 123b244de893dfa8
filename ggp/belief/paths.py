"""Incomplete paths, interned in a tree.

An incomplete path of a role is, for each turn, the move executed for it and the percepts it
got (paper 004, Definition 5); either may be unknown and then constrains nothing. Paths share
their beginnings, so each is one node of a tree and a batch of paths an array of node numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ggp.machine.arrays import enlarged
from ggp.machine.base import UNKNOWN, BoolArray, IntArray, Machine
from ggp.machine.compiling.jit import by_reference, inlined
from ggp.machine.rows import RowTable, number_lanes

DRAWN = -2
"""Stands for a refused move that is not known: only that the executed one was drawn at random."""


class FollowsPaths(Protocol):
    """Something that refers to paths by nodes of a `PathTree`, which may forget some."""

    @property
    def views(self) -> IntArray:
        """Nodes that must not be forgotten."""
        ...

    def renumber(self, numbers: IntArray) -> None:
        """Follow `PathTree.prune`."""
        ...


class PathTree:
    """All incomplete paths met so far, of every role of one machine, as nodes of a tree.

    Node `r` is the empty path of role `r`. Node numbers belong to one tree, and their order means
    nothing except that a path comes after its beginnings.
    """

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._num_roles = len(machine.roles)
        self._depths: IntArray
        self._clear()

    def __len__(self) -> int:
        """Number of nodes."""
        return len(self._index)

    def extend(
        self,
        nodes: IntArray,
        moves: IntArray,
        percepts: IntArray,
        refused: IntArray | None = None,
    ) -> IntArray:
        """`[B]` nodes of the paths extended by one turn.

        Args:
            nodes: `[B]` paths.
            moves: `[B]` the move that was executed for the role, `UNKNOWN` if it was not told.
            percepts: `[B]` percept id, `UNKNOWN` if it was not told.
            refused: `[B]` a move that the role certainly submitted in time and that was not
                executed, so that it was illegal and the executed one was drawn at random; `DRAWN`
                where only the latter is known; `UNKNOWN` where the role chose the executed move
                itself, or where nothing was told. Default: `UNKNOWN`.
        """
        rows = np.empty((len(nodes), 4), dtype=np.int64)
        rows[:, 0], rows[:, 1], rows[:, 2] = nodes, moves, percepts
        rows[:, 3] = UNKNOWN if refused is None else refused
        return self._numbered(rows)

    @contextmanager
    def lent(self, room: int) -> Iterator[PathRows]:
        """Its tables, for kernels that add paths in this block; nobody else may.

        Args:
            room: for how many more there must be room.
        """
        self._index.make_room(room)
        rows, slots = self._index.tables
        self._depths = enlarged(self._depths, len(rows), 0)
        lent = PathRows(np.array([len(self)]), rows, slots, self._depths)
        try:
            yield lent
        finally:
            self._index.set_size(int(lent.sizes[0]))

    def extend_views(
        self,
        views: IntArray,
        joint_moves: IntArray,
        percepts: IntArray,
        role: int,
        paths: IntArray | int,
    ) -> None:
        """Extend every role's path by one turn, in place.

        Args:
            views: `[N, R]` a path of each role; that of `random` stays unchanged.
            joint_moves, percepts: `[N, R]`.
            role: the role whose real knowledge is given: its simulated self must not know what the
                role itself missed of the match.
            paths: `[N]` this role's paths, or the same path for all.
        """
        for each in range(self._num_roles):
            if each == role:
                views[:, each] = paths
            elif each != self._machine.random_role:
                views[:, each] = self.extend(
                    views[:, each], joint_moves[:, each], percepts[:, each]
                )

    def depths(self, nodes: IntArray) -> IntArray:
        """`[B]` numbers of turns of paths."""
        return self._depths[nodes]

    def depth(self, node: int) -> int:
        """Number of turns of a path."""
        return int(self._depths[node])

    def parents(self, nodes: IntArray) -> IntArray:
        """`[B]` the paths without their last turns; the empty path is its own parent."""
        parents = self._rows[nodes, 0]
        return np.where(parents < 0, nodes, parents)

    def last_turns(self, nodes: IntArray) -> IntArray:
        """`[B, 3]` move, percepts and refused (see `extend`) of the last turn of each path.

        No path may be empty.
        """
        return self._rows[nodes, 1:]

    def beginnings(self, nodes: IntArray, last: int | None = None) -> list[IntArray]:
        """The first 0, 1, ... turns of `[B]` paths of equal length T: T + 1 times `[B]` nodes.

        Args:
            last: return only this many of them, at least 1: the longest ones.
        """
        found = [nodes]
        for _ in range(int(self._depths[nodes].max(initial=0)) if last is None else last - 1):
            found.append(self.parents(found[-1]))
        return found[::-1]

    def texts(self, node: int) -> list[str]:
        """Every turn of a path as `text` shows it, first to last."""
        return [self.text(int(n)) for (n,) in self.beginnings(np.array([node]))[1:]]

    def text(self, node: int) -> str:
        """The last turn of a path in KIF: move, percepts, and whether the move was drawn."""
        _, move, percepts, refused = self._row(node)
        shown = "?" if move == UNKNOWN else self._machine.move_text(move)
        if percepts == UNKNOWN:
            seen = "?"
        else:
            seen = f"({' '.join(self._machine.percept_texts(percepts))})"
        if refused == UNKNOWN:
            return f"{shown} / {seen}"
        if refused == DRAWN:
            return f"{shown} / {seen} / drawn"
        return f"{shown} / {seen} / not {self._machine.move_text(refused)}"

    def prune(self, living: IntArray, held: IntArray) -> IntArray:
        """Forget paths: all but living ones, their continuations, held ones, and their beginnings.

        Returns:
            `[N]` the new number of each node there was, -1 where it is forgotten.
        """
        return self.keep(self.needed(living, held))

    def needed(self, living: IntArray, held: IntArray) -> BoolArray:
        """`[N]` whether each node is to be kept by `prune`; the cheap half of it."""
        parents, depths = self._rows[:, 0].copy(), self._depths[: len(self)]
        keep = np.zeros(len(parents), dtype=np.bool_)
        keep[living] = True
        # Short numbers are sorted several times as fast.
        short = depths.astype(np.uint16) if depths.max() < 1 << 16 else depths
        by_depth = np.split(np.argsort(short, kind="stable"), np.cumsum(np.bincount(depths)))[1:]
        for nodes in by_depth:
            keep[nodes] |= keep[parents[nodes]]
        keep[held] = True
        for nodes in reversed(by_depth):
            # A path needs its beginnings: kept from the longest to the shortest.
            keep[parents[nodes[keep[nodes]]]] = True
        keep[: self._num_roles] = True
        return keep

    def keep(self, needed: BoolArray) -> IntArray:
        """Forget all paths but those that are `needed`; returns what `prune` does."""
        rows, depths = self._rows, self._depths[: len(self)]
        numbers = np.where(needed, np.cumsum(needed) - 1, -1)
        kept, depths = rows[needed][self._num_roles :], depths[needed][self._num_roles :]
        self._clear()
        kept[:, 0] = numbers[kept[:, 0]]
        self._numbered(kept)
        self._depths[self._num_roles : len(self)] = depths
        return numbers

    def _clear(self) -> None:
        """Reset to the empty paths alone, whose rows say which role they belong to."""
        self._index = RowTable(4)
        self._depths = np.zeros(64, dtype=np.int64)
        roots = np.full((self._num_roles, 4), UNKNOWN, dtype=np.int64)
        # Negative, so that no parent looks like them: the empty paths of two roles are two rows.
        roots[:, 0] = -1 - np.arange(self._num_roles)
        self._index.numbers(roots.view(np.uint64))

    def _numbered(self, rows: IntArray) -> IntArray:
        """The nodes of rows; new ones follow the existing ones, in order of first appearance.

        Depths are right only if the parents of new nodes existed before.
        """
        before = len(self._index)
        nodes = self._index.numbers(rows.view(np.uint64))
        self._depths = enlarged(self._depths, len(self._index), 0)
        new = self._rows[before:, 0]
        self._depths[before : len(self._index)] = 1 + self._depths[new]
        return nodes

    @property
    def _rows(self) -> IntArray:
        """`[N, 4]` parent, move, percepts and refused move of each node."""
        return self._index.rows.view(np.int64)

    def _row(self, node: int) -> list[int]:
        found: list[int] = self._rows[node].tolist()
        return found


# ------------------------------------------------------------------------
# The tables of a `PathTree`, for kernels that extend paths.


@by_reference
class PathRows(NamedTuple):
    """The paths of a `PathTree`, with room for more.

    Attributes:
        sizes: `[1]` number of paths.
        rows: `[N, 4]` parent, move, percepts and refused move of each; see `PathTree.extend`.
        slots: of these rows, see `ggp.machine.rows`.
        depths: `[N]` number of turns of each.
    """

    sizes: IntArray
    rows: NDArray[np.uint64]
    slots: NDArray[np.int32]
    depths: IntArray


@inlined
def number_paths(paths: PathRows, wanted: NDArray[np.uint64], count: int, found: IntArray) -> bool:
    """Find `count` paths, and add those that are new; their parents existed before.

    Args:
        wanted: `[K, 4]` their rows.
        found: `[K]` out: the number of each.

    Returns:
        whether there was room for all; if not, it must be called again for the same ones.
    """
    before = paths.sizes[0]
    done, size = number_lanes(wanted, paths.rows, paths.slots, before, found, 0, count)
    paths.sizes[0] = size
    for path in range(before, size):
        paths.depths[path] = 1 + paths.depths[np.int64(paths.rows[path, 0])]
    return done == count

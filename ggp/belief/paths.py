"""Incomplete paths, interned in a tree: every path is a number.

An incomplete path of a role is the sequence of its turns: the move executed for it, and the
percepts it got (paper 004, Definition 5); either may be unknown and then constrains nothing. Paths
share their beginnings, so each path is one node of a tree, and a batch of paths is an array of node
numbers. Samplers, searches and models pass these arrays around instead of the paths themselves;
kernels extend them in place (`PathRows`).
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
"""An unknown refused move: known is only that the executed move was drawn at random."""

AFTERMATH = 20
"""For this many turns after a gap, a turn of unknown percepts, what becomes known tells more of the
gap than of the present."""


class FollowsPaths(Protocol):
    """A holder of nodes of a `PathTree`, which may forget and renumber nodes."""

    @property
    def views(self) -> IntArray:
        """Nodes that must not be forgotten."""
        ...

    def renumber(self, numbers: IntArray) -> None:
        """Follow `PathTree.prune`."""
        ...


class PathTree:
    """All incomplete paths so far, of every role of one machine, as nodes of a tree.

    Node `r` is the empty path of role `r`. A path has a greater number than its beginnings; apart
    from that, the order of numbers means nothing.

    >>> import numpy as np
    >>> from ggp.belief import PathTree
    >>> from ggp.machine import build_machine
    >>> from ggp.machine.games import load_program
    >>> machine = build_machine(load_program("monty_hall"))
    >>> tree = PathTree(machine)
    >>> empty = np.array([machine.roles.index("candidate")])
    >>> move, percepts = machine.move_id("(choose 1)"), machine.percept_id([])
    >>> paths = tree.extend(empty, np.array([move]), np.array([percepts]))
    >>> tree.texts(paths[0]), tree.depth(paths[0])
    (['(choose 1) / ()'], 1)
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
            moves: `[B]` the move that was executed for the role, or `UNKNOWN`.
            percepts: `[B]` percept id, or `UNKNOWN`.
            refused: `[B]` a move that the role certainly submitted in time but that was not
                executed: so it was illegal, and the executed move was drawn at random. If the
                executed move is `UNKNOWN`, it is the submitted one where that is legal, else one
                drawn at random. `DRAWN` if only the draw is known; `UNKNOWN` if the role chose the
                executed move itself, or nothing is known. Default: `UNKNOWN`.
        """
        rows = np.empty((len(nodes), 4), dtype=np.int64)
        rows[:, 0], rows[:, 1], rows[:, 2] = nodes, moves, percepts
        rows[:, 3] = UNKNOWN if refused is None else refused
        return self._intern(rows)

    @contextmanager
    def lent(self, room: int) -> Iterator[PathRows]:
        """The tables of the tree, for kernels that add paths in this block; nobody else may.

        Args:
            room: number of new paths to reserve rows for.
        """
        self._index.make_room(room)
        rows, slots = self._index.tables
        self._depths = enlarged(self._depths, len(rows), 0)
        tables = PathRows(np.array([len(self)]), rows, slots, self._depths)
        try:
            yield tables
        finally:
            self._index.set_size(int(tables.sizes[0]))

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
            role: the role that really plays: its simulated self must not know more of the match
                than the role itself.
            paths: `[N]` the real paths of this role, or one path for all.
        """
        for column in range(self._num_roles):
            if column == role:
                views[:, column] = paths
            elif column != self._machine.random_role:
                views[:, column] = self.extend(
                    views[:, column], joint_moves[:, column], percepts[:, column]
                )

    def depths(self, nodes: IntArray) -> IntArray:
        """`[B]` numbers of turns of paths."""
        return self._depths[nodes]

    def depth(self, node: int) -> int:
        """Number of turns of a path."""
        return int(self._depths[node])

    def parents(self, nodes: IntArray) -> IntArray:
        """`[B]` paths without their last turns; the empty path is its own parent."""
        parents = self._rows[nodes, 0]
        return np.where(parents < 0, nodes, parents)

    def last_turns(self, nodes: IntArray) -> IntArray:
        """`[B, 3]` move, percepts and refused (see `extend`) of the last turn of each path.

        No path may be empty.
        """
        return self._rows[nodes, 1:]

    def turns(self, node: int) -> IntArray:
        """`[T, 3]` all turns of a path, first to last: see `last_turns`."""
        return self.last_turns(np.concatenate(self.beginnings(np.array([node])))[1:])

    def beginnings(self, nodes: IntArray, last: int | None = None) -> list[IntArray]:
        """The first 0, 1, ... turns of `[B]` paths of equal length T: T + 1 times `[B]` nodes.

        Args:
            last: return only this many, at least 1: the longest beginnings.
        """
        nodes_by_turn = [nodes]
        for _ in range(int(self._depths[nodes].max(initial=0)) if last is None else last - 1):
            nodes_by_turn.append(self.parents(nodes_by_turn[-1]))
        return nodes_by_turn[::-1]

    def has_gap(self, node: int) -> bool:
        """Whether the percepts of one of the last `AFTERMATH` turns of a path are unknown."""
        last = min(self.depth(node), AFTERMATH)
        nodes = self.beginnings(np.array([node]), last) if last else []
        return any(self._rows[n, 2] == UNKNOWN for (n,) in nodes)

    def texts(self, node: int) -> list[str]:
        """Every turn of a path as in `text`, first to last."""
        return [self.text(int(n)) for (n,) in self.beginnings(np.array([node]))[1:]]

    def text(self, node: int) -> str:
        """The last turn of a path in KIF: move, percepts, and any refused or drawn move."""
        _, move, percepts, refused = self._row(node)
        move_text = "?" if move == UNKNOWN else self._machine.move_text(move)
        if percepts == UNKNOWN:
            percepts_text = "?"
        else:
            percepts_text = f"({' '.join(self._machine.percept_texts(percepts))})"
        if refused == UNKNOWN:
            return f"{move_text} / {percepts_text}"
        if refused == DRAWN:
            return f"{move_text} / {percepts_text} / drawn"
        submitted = self._machine.move_text(refused)
        if move == UNKNOWN:
            return f"{submitted} or ? / {percepts_text}"
        return f"{move_text} / {percepts_text} / not {submitted}"

    def prune(self, living: IntArray, pinned: IntArray) -> IntArray:
        """Forget all paths but these: living paths, their continuations, held paths, and the
        beginnings of all of them.

        Returns:
            `[N]` the new number of each node, -1 if it is forgotten.
        """
        return self.keep(self.reachable(living, pinned))

    def reachable(self, living: IntArray, pinned: IntArray) -> BoolArray:
        """`[N]` whether `prune` keeps each node; the cheap half of its work."""
        parents, depths = self._rows[:, 0].copy(), self._depths[: len(self)]
        keep = np.zeros(len(parents), dtype=np.bool_)
        keep[living] = True
        # 16-bit numbers sort several times as fast.
        short = depths.astype(np.uint16) if depths.max() < 1 << 16 else depths
        by_depth = np.split(np.argsort(short, kind="stable"), np.cumsum(np.bincount(depths)))[1:]
        # Continuations of living paths, from short to long: a path lives if its parent does.
        for nodes in by_depth:
            keep[nodes] |= keep[parents[nodes]]
        keep[pinned] = True
        for nodes in reversed(by_depth):
            # A path needs its beginnings: mark parents from the longest path to the shortest.
            keep[parents[nodes[keep[nodes]]]] = True
        keep[: self._num_roles] = True
        return keep

    def keep(self, is_needed: BoolArray) -> IntArray:
        """Forget all paths that are not `is_needed`; see `prune` for the return value."""
        rows, depths = self._rows, self._depths[: len(self)]
        numbers = np.where(is_needed, np.cumsum(is_needed) - 1, -1)
        kept_rows, depths = rows[is_needed][self._num_roles :], depths[is_needed][self._num_roles :]
        self._clear()
        kept_rows[:, 0] = numbers[kept_rows[:, 0]]
        self._intern(kept_rows)
        self._depths[self._num_roles : len(self)] = depths
        return numbers

    def _clear(self) -> None:
        """Reset to the empty paths alone, whose rows name their roles."""
        self._index = RowTable(4)
        self._depths = np.zeros(64, dtype=np.int64)
        roots = np.full((self._num_roles, 4), UNKNOWN, dtype=np.int64)
        # Negative, unlike any parent, and different: the empty paths of two roles are two rows.
        roots[:, 0] = -1 - np.arange(self._num_roles)
        self._index.numbers(roots.view(np.uint64))

    def _intern(self, rows: IntArray) -> IntArray:
        """The nodes of rows; new nodes follow the existing ones, in order of first appearance.

        The parents of new nodes must exist already: otherwise depths would be wrong.
        """
        old_size = len(self._index)
        nodes = self._index.numbers(rows.view(np.uint64))
        self._depths = enlarged(self._depths, len(self._index), 0)
        new = self._rows[old_size:, 0]
        self._depths[old_size : len(self._index)] = 1 + self._depths[new]
        return nodes

    @property
    def _rows(self) -> IntArray:
        """`[N, 4]` parent, move, percepts and refused move of each node."""
        return self._index.rows.view(np.int64)

    def _row(self, node: int) -> list[int]:
        row: list[int] = self._rows[node].tolist()
        return row


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
def number_paths(paths: PathRows, rows: NDArray[np.uint64], count: int, nodes: IntArray) -> bool:
    """Number `count` paths, and add the new ones; their parents must exist already.

    Rule: nodes are appended in order, and a path comes after its parent, so the depth of each new
    node follows from a depth that is already written.

    Args:
        rows: `[K, 4]` the rows of these paths.
        nodes: `[K]` out: the node of each path.

    Returns:
        whether there was room for all; if not, call it again for the same paths.
    """
    old_size = paths.sizes[0]
    num_done, size = number_lanes(rows, paths.rows, paths.slots, old_size, nodes, 0, count)
    paths.sizes[0] = size
    for path in range(old_size, size):
        paths.depths[path] = 1 + paths.depths[np.int64(paths.rows[path, 0])]
    return num_done == count

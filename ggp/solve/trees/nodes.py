"""The nodes of a layer, and a turn of all of them: every joint move of every node, merged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ggp.belief.paths import PathTree
from ggp.errors import SolvingError
from ggp.machine.arrays import chunks, enlarged, first_seen_columns, offsets_of
from ggp.machine.base import FloatArray, IntArray, Machine, Ragged, States
from ggp.solve.trees.tree import Leaves, Numbers, RoleSets

MOST_PATHS = 16_000_000
"""Greatest number of incomplete paths of all players kept at once; they take a gigabyte."""

LANES_AT_ONCE = 1 << 17
"""Number of lanes stepped in one call, which bounds memory."""


@dataclass(frozen=True, slots=True)
class LayerNodes:
    """E nodes of a layer.

    Attributes:
        states: their states.
        paths: `[E, P]` incomplete path of every player.
        sequences: `[E, P]` sequence of every player, as `InformationSetTable` numbers them.
        owners: `[E]` subgame of each.
        weights: `[E]` numerators of the probability that chance plays its part.
    """

    states: States
    paths: IntArray
    sequences: IntArray
    owners: IntArray
    weights: Numbers

    def __len__(self) -> int:
        return len(self.owners)

    def take(self, lanes: IntArray) -> LayerNodes:
        """The nodes with these indices, in this order."""
        return LayerNodes(
            self.states.take(lanes),
            self.paths[lanes],
            self.sequences[lanes],
            self.owners[lanes],
            self.weights[lanes],
        )


def first_node(machine: Machine, players: Sequence[int]) -> LayerNodes:
    """The first node of the game; its paths are the empty ones of `PathTree`."""
    return LayerNodes(
        machine.initial(1),
        np.array([players], dtype=np.int64),
        np.full((1, len(players)), -1),
        np.zeros(1, dtype=np.int64),
        np.ones(1, dtype=np.int64),
    )


@dataclass(frozen=True, slots=True)
class LayerTurn:
    """The possible choices at the nodes of a layer.

    Attributes:
        nodes: the nodes; at none of them is the game over.
        legal: the legal moves of every role, sorted by text.
        sets: `[E, P]` information set of each player with a choice, -1 without one.
        shares: factor of weights for each legal move of `random`; None without `random`.
    """

    nodes: LayerNodes
    legal: list[Ragged]
    sets: IntArray
    shares: Numbers | None

    @property
    def counts(self) -> IntArray:
        """`[E, R]` number of legal moves."""
        return np.stack([each.counts for each in self.legal], axis=1)


class Stepper:
    """Makes the next layer from a layer.

    Args:
        machine: the machine of the game.
        tree: the tree of the players' paths.
        players: roles without `random`.
        tables: the table of information sets of each player.
    """

    def __init__(
        self,
        machine: Machine,
        tree: PathTree,
        players: Sequence[int],
        tables: Sequence[InformationSetTable],
    ) -> None:
        self._machine, self._tree = machine, tree
        self._players, self._tables = players, tables

    def step(
        self, turn: LayerTurn, most_nodes: int, refuse: Callable[[int], None]
    ) -> tuple[LayerNodes, IntArray]:
        """The nodes after all joint moves, and the one that each joint move leads to.

        Args:
            turn: a turn with at least one node.
            most_nodes: number from twice of which on parts of the next layer are merged early.
            refuse: called then with the number of nodes, and before each part with 0; may raise
                an error.
        """
        counts = turn.counts
        sizes = np.prod(counts, axis=1)
        parts: list[LayerNodes] = []
        children: list[IntArray] = []
        for start, end in chunks(sizes, LANES_AT_ONCE):
            refuse(0)
            some = sizes[start:end]
            lanes = np.repeat(np.arange(start, end), some)
            numbers = np.arange(len(lanes)) - np.repeat(offsets_of(some)[:-1], some)
            part, child = self._merged(
                self._stepped(turn, lanes, digits_of(numbers, counts[lanes]))
            )
            if len(self._tree) > MOST_PATHS:
                raise SolvingError(
                    "the tree of the game is too large: its players have more than "
                    f"{MOST_PATHS:,} incomplete paths"
                )
            parts.append(part)
            children.append(child)
            if sum(map(len, parts)) > 2 * most_nodes:
                parts, children = self._joined(parts, children)
                refuse(len(parts[0]))
        parts, children = self._joined(parts, children)
        return parts[0], children[0]

    def _joined(
        self, parts: list[LayerNodes], children: list[IntArray]
    ) -> tuple[list[LayerNodes], list[IntArray]]:
        if len(parts) == 1:
            return parts, children
        nodes, group = self._merged(
            LayerNodes(
                self._machine.concatenate([part.states for part in parts]),
                *(
                    np.concatenate([getattr(part, name) for part in parts])
                    for name in ("paths", "sequences", "owners", "weights")
                ),
            )
        )
        starts = np.cumsum([0, *map(len, parts)])
        found = [group[start + child] for start, child in zip(starts, children, strict=False)]
        return [nodes], [np.concatenate(found)]

    def _stepped(
        self,
        turn: LayerTurn,
        lanes: IntArray,
        digits: IntArray,
    ) -> LayerNodes:
        """The nodes after joint moves, one lane for each.

        Args:
            lanes: `[K]` the node of each.
            digits: `[K, R]` number of the legal move that each role makes.
        """
        nodes, legal = turn.nodes, turn.legal
        places = np.stack([each.offsets[lanes] for each in legal], axis=1) + digits
        moves = np.stack([each.values[places[:, r]] for r, each in enumerate(legal)], axis=1)
        stepped = self._machine.step(nodes.states.take(lanes), moves)
        paths = nodes.paths[lanes]
        sequences = nodes.sequences[lanes]
        for player, role in enumerate(self._players):
            paths[:, player] = self._tree.extend(
                paths[:, player], moves[:, role], stepped.percepts[:, role]
            )
            chosen = turn.sets[lanes, player]
            has = np.flatnonzero(chosen >= 0)
            first = self._tables[player].first_sequences
            sequences[has, player] = first[chosen[has]] + digits[has, role]
        weights = nodes.weights[lanes]
        if turn.shares is not None and self._machine.random_role is not None:
            weights = weights * turn.shares[places[:, self._machine.random_role]]
        return LayerNodes(stepped.states, paths, sequences, nodes.owners[lanes], weights)

    def _merged(self, nodes: LayerNodes) -> tuple[LayerNodes, IntArray]:
        """The nodes with equal ones merged, and the new number of each."""
        # Nodes of different subgames have different paths.
        first, group = first_seen_columns([self._machine.groups(nodes.states), *nodes.paths.T])
        weights = np.zeros(len(first), dtype=nodes.weights.dtype)
        np.add.at(weights, group, nodes.weights)
        merged = LayerNodes(
            nodes.states.take(first),
            nodes.paths[first],
            nodes.sequences[first],
            nodes.owners[first],
            weights,
        )
        return merged, group


def digits_of(numbers: IntArray, counts: IntArray) -> IntArray:
    """`[K, R]` numbers in the mixed radix of the counts, the last digit changing fastest."""
    digits = np.zeros_like(counts)
    for role in range(counts.shape[1] - 1, -1, -1):
        numbers, digits[:, role] = np.divmod(numbers, counts[:, role])
    return digits


# ------------------------------------------------------------------------
# Collects information sets and leaves as they are found, layer by layer.

_NONE = np.zeros(0, dtype=np.int64)


class InformationSetTable:
    """The information sets of one player. Sequence -1 - g is the empty one of subgame g."""

    def __init__(self) -> None:
        self._paths: list[IntArray] = [_NONE]
        self._owners: list[IntArray] = [_NONE]
        self._parents: list[IntArray] = [_NONE]
        self._moves: list[IntArray] = [_NONE]
        self._levels: list[IntArray] = [_NONE]
        self._num_sets, self._num_sequences = 0, 0
        self._first = np.zeros(64, dtype=np.int64)
        self._level_of_sequence = np.zeros(64, dtype=np.int64)

    @property
    def first_sequences(self) -> IntArray:
        """First sequence of every set so far, by number; the array may be longer."""
        return self._first

    def add(self, paths: IntArray, owners: IntArray, parents: IntArray, moves: Ragged) -> IntArray:
        """`[N]` numbers of new sets, with their paths, subgames, last sequences and moves."""
        if not len(paths):
            return _NONE
        numbers = self._num_sets + np.arange(len(paths))
        counts = moves.counts
        ends = self._num_sequences + np.cumsum(counts)
        self._first = enlarged(self._first, int(numbers[-1]) + 1, 0)
        self._first[numbers] = ends - counts
        before = self._level_of_sequence[np.maximum(parents, 0)]
        levels = np.where(parents < 0, 0, before + 1)
        self._level_of_sequence = enlarged(self._level_of_sequence, int(ends[-1]), 0)
        self._level_of_sequence[self._num_sequences : ends[-1]] = np.repeat(levels, counts)
        for kept, new in (
            (self._paths, paths),
            (self._owners, owners),
            (self._parents, parents),
            (self._moves, moves.values),
            (self._levels, levels),
        ):
            kept.append(new)
        self._num_sets += len(paths)
        self._num_sequences = int(ends[-1])
        return numbers

    @property
    def paths(self) -> IntArray:
        """The incomplete paths of all sets."""
        return np.concatenate(self._paths)

    def renumber(self, numbers: IntArray) -> None:
        """Follow `PathTree.prune`: path n is now `numbers[n]`."""
        self._paths = [numbers[self.paths]]

    def finished(self, num_subgames: int) -> RoleSets:
        """All sets, with sequences numbered as in a tree."""
        offsets = np.append(self._first[: self._num_sets], self._num_sequences) + num_subgames
        return RoleSets(
            self.paths,
            np.concatenate(self._owners),
            final_sequences(np.concatenate(self._parents), num_subgames),
            offsets,
            np.concatenate(self._moves),
            np.concatenate(self._levels),
        )


class LeafTable:
    """Leaves; `add` takes the arguments of `Leaves`, with sequences as in `InformationSetTable`."""

    def __init__(self) -> None:
        self._rows: list[tuple[IntArray, IntArray, Numbers, Numbers, FloatArray, IntArray]] = []

    def add(
        self,
        owners: IntArray,
        sequences: IntArray,
        numerators: Numbers,
        denominators: Numbers,
        goals: FloatArray,
        subgames: IntArray,
    ) -> None:
        self._rows.append((owners, sequences, numerators, denominators, goals, subgames))

    def finished(self, num_subgames: int) -> Leaves:
        """All leaves, with sequences numbered as in a tree."""
        columns = [np.concatenate(column) for column in zip(*self._rows, strict=True)]
        columns[1] = final_sequences(columns[1], num_subgames)
        return Leaves(*columns)


def final_sequences(sequences: IntArray, num_subgames: int) -> IntArray:
    """Numbers of sequences with the empty ones first, then the others."""
    return np.where(sequences < 0, -1 - sequences, sequences + num_subgames)

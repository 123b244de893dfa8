"""The tree of a game from its machine: layer by layer, batched, merged.

A node is a state with the incomplete path of every player. Whatever else happened (what chance did
and nobody saw) makes no difference any more, so such histories are one node, and their
probabilities add up. All nodes of a layer are stepped by all joint moves at once:

    split off subgames -> note leaves -> legal moves -> information sets -> step -> merge

Sequences are numbered as in `ggp.solve.tree` only at the end, when the number of subgames is known;
until then -1 - g is the empty sequence of subgame g, and the others are counted from 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np

from ggp.belief.paths import PathTree
from ggp.errors import SolvingError
from ggp.machine.arrays import chunks, first_seen, first_seen_columns, offsets_of
from ggp.machine.base import DEFAULT_MAX_STEPS, IntArray, Machine, Ragged, States
from ggp.solve.canonical import TextOrder, require_equal_moves, sorted_chance
from ggp.solve.subgames import NO_SUBGAME, find_roots
from ggp.solve.tables import LeafTable, SetTable
from ggp.solve.tree import GameTree, Layer, Numbers

MOST_STATES = 1_000_000
"""Nodes of a tree; it takes a few hundred bytes for each."""

JOINT_MOVES_PER_STATE = 64
"""A turn may have that many times more joint moves to follow than the tree may have states."""

LANES_AT_ONCE = 1 << 17
"""Lanes stepped in one call: bounds memory."""

_MOST_WEIGHT = 1 << 62

_ChanceMoves = tuple[list[list[Fraction]], list[list[int]]]

Progress = Callable[[int, int], None]
"""Told the number of turns and of states so far."""


@dataclass(frozen=True)
class _Nodes:
    """E nodes of a layer; weights are numerators, see `_Builder.__init__`."""

    states: States
    paths: IntArray
    sequences: IntArray
    owners: IntArray
    weights: Numbers

    def __len__(self) -> int:
        return len(self.owners)


def build_tree(
    machine: Machine,
    *,
    split: bool = False,
    keep_layers: bool = False,
    most_states: int = MOST_STATES,
    progress: Progress | None = None,
) -> GameTree:
    """The whole tree of a game.

    Args:
        machine: of the game.
        split: split off subgames, which makes many trees far smaller. The information sets of a
            subgame then stand for all histories that lead there.
        keep_layers: keep how nodes follow from each other. Not together with `split`.
        most_states: nodes that the tree may have.
        progress: told how far it is.

    Raises:
        SolvingError: the tree is larger, or the game may not end, or a player has different legal
            moves after one and the same incomplete path.
        NoLegalMoveError, ReasonerLimitError, GoalError: as the machine does.
    """
    return _Builder(machine, split, keep_layers, most_states).build(progress)


class _Builder:
    def __init__(self, machine: Machine, split: bool, keep_layers: bool, most: int) -> None:
        self._machine, self._split, self._most = machine, split, most
        self._keep_layers = keep_layers
        self._players = [r for r in range(len(machine.roles)) if r != machine.random_role]
        self._tree = PathTree(machine)
        self._order = TextOrder(machine)
        self._sets = [SetTable() for _ in self._players]
        self._leaves = LeafTable(len(self._players))
        self._layers: list[Layer] = []
        self._num_states = 0
        self._turn = 0
        # Weights of a layer are whole numbers. Those of subgame g are to be divided by
        # `_totals[g]` and by how much the unit has shrunk since the subgame began.
        self._unit = 1
        self._birth_units = [1]
        self._totals = [1]
        self._root_turns = [0]

    def build(self, progress: Progress | None) -> GameTree:
        if not self._players:
            raise SolvingError("nobody plays this game but chance")
        players = np.array(self._players)
        nodes = _Nodes(
            self._machine.initial(1),
            players[None, :].copy(),
            np.full((1, len(players)), -1),
            np.zeros(1, dtype=np.int64),
            np.ones(1, dtype=np.int64),
        )
        while len(nodes):
            if self._split and self._turn:
                nodes = self._split_off(nodes)
            self._num_states += len(nodes)
            self._refuse_if_large(self._num_states, self._turn)
            if self._turn > DEFAULT_MAX_STEPS:
                raise SolvingError(f"the game may not be over after {DEFAULT_MAX_STEPS:,} turns")
            if progress is not None:
                progress(self._turn, self._num_states)
            nodes = self._next(nodes)
            self._turn += 1
        num_subgames = len(self._totals)
        return GameTree(
            self._machine,
            self._tree,
            tuple(self._players),
            tuple(table.finished(num_subgames) for table in self._sets),
            self._leaves.finished(num_subgames),
            np.array(self._root_turns),
            self._num_states,
            tuple(self._layers),
        )

    def _refuse_if_large(self, num_states: int, turn: int) -> None:
        if num_states > self._most:
            raise SolvingError(
                f"the tree of the game is too large: it has more than {self._most:,} states with "
                f"the players' incomplete paths after {turn} turns"
            )

    # ---------------------------------------------------------------- subgames

    def _split_off(self, nodes: _Nodes) -> _Nodes:
        """The nodes with those where a subgame begins replaced by its own beginning."""
        states = self._machine.groups(nodes.states)
        roots = find_roots(nodes.paths, states, nodes.weights)
        begins = np.flatnonzero(roots.subgames != NO_SUBGAME)
        if not len(begins):
            return nodes
        before = len(self._totals)
        self._note_leaves(nodes, begins, roots.subgames[begins] + before)
        totals = np.zeros(1 + int(roots.owners.max()), dtype=roots.weights.dtype)
        np.add.at(totals, roots.owners, roots.weights)
        self._totals += [int(total) for total in totals]
        self._birth_units += [self._unit] * len(totals)
        self._root_turns += [self._turn] * len(totals)
        others = np.flatnonzero(roots.subgames == NO_SUBGAME)
        lanes = np.concatenate([others, roots.nodes])
        owners = np.concatenate([nodes.owners[others], roots.owners + before])
        fresh = np.repeat(-1 - (roots.owners + before), len(self._players))
        return _Nodes(
            nodes.states.take(lanes),
            nodes.paths[lanes],
            np.concatenate(
                [nodes.sequences[others], fresh.reshape(len(roots.owners), len(self._players))]
            ),
            owners,
            np.concatenate([nodes.weights[others], roots.weights]),
        )

    # ---------------------------------------------------------------- a turn

    def _next(self, nodes: _Nodes) -> _Nodes:
        """The layer after a layer."""
        over = self._machine.terminal(nodes.states)
        ends = np.flatnonzero(over)
        goals = np.zeros((len(nodes), len(self._players)))
        if len(ends):
            goals[ends] = self._machine.goals(nodes.states.take(ends))[:, self._players]
            self._note_leaves(nodes, ends, np.full(len(ends), NO_SUBGAME), goals[ends])
        alive = np.flatnonzero(~over)
        grown = _Nodes(
            nodes.states.take(alive),
            nodes.paths[alive],
            nodes.sequences[alive],
            nodes.owners[alive],
            nodes.weights[alive],
        )
        legal: list[Ragged] = []
        chance: _ChanceMoves = ([], [])
        if not len(alive):
            sets, children = np.zeros((0, len(self._players)), dtype=np.int64), alive
            after = grown
        else:
            legal = [
                self._order.sorted(self._machine.legal(grown.states, role))
                for role in range(len(self._machine.roles))
            ]
            shares, chance = self._chance(grown, legal)
            sets = self._find_sets(grown, legal)
            after, children = self._step(grown, legal, sets, shares)
        if self._keep_layers:
            self._keep(alive, legal, sets, chance, children, goals)
        return after

    def _find_sets(self, nodes: _Nodes, legal: list[Ragged]) -> IntArray:
        """`[E, P]` the information set of each player with a choice, -1 without one."""
        sets = np.full((len(nodes), len(self._players)), -1)
        for player, role in enumerate(self._players):
            first, group = first_seen(nodes.paths[:, player])
            moves = legal[role]
            require_equal_moves(self._machine, self._tree, role, nodes.paths[:, player], moves)
            chosen = np.flatnonzero(moves.counts[first] > 1)
            number = np.full(len(first), -1)
            lanes = first[chosen]
            number[chosen] = self._sets[player].add(
                nodes.paths[lanes, player],
                nodes.owners[lanes],
                nodes.sequences[lanes, player],
                [moves[lane] for lane in lanes.tolist()],
            )
            sets[:, player] = number[group]
        return sets

    def _chance(self, nodes: _Nodes, legal: list[Ragged]) -> tuple[Numbers | None, _ChanceMoves]:
        """What each move of `random` multiplies weights by, and its moves; shrinks the unit."""
        role = self._machine.random_role
        if role is None:
            return None, ([[]] * len(nodes), [[]] * len(nodes)) if self._keep_layers else ([], [])
        moves, chances = sorted_chance(self._machine, nodes.states, self._order)
        legal[role] = moves
        different, place = np.unique(chances, return_inverse=True)
        fractions = [Fraction(p).limit_denominator(1 << 20) for p in different.tolist()]
        unit = lcm(*(fraction.denominator for fraction in fractions))
        factors = [fraction.numerator * unit // fraction.denominator for fraction in fractions]
        self._unit *= unit
        most = max(factors) * int(nodes.weights.max())
        kind = np.int64 if most * LANES_AT_ONCE < _MOST_WEIGHT else object
        shares = np.array(factors, dtype=kind)[place]
        if not self._keep_layers:
            return shares, ([], [])
        spans = list(zip(moves.offsets[:-1].tolist(), moves.offsets[1:].tolist(), strict=True))
        places, ids = place.tolist(), moves.values.tolist()
        return shares, (
            [[fractions[p] for p in places[start:end]] for start, end in spans],
            [ids[start:end] for start, end in spans],
        )

    def _step(
        self, nodes: _Nodes, legal: list[Ragged], sets: IntArray, shares: Numbers | None
    ) -> tuple[_Nodes, IntArray]:
        """The nodes after all joint moves, and which one each joint move leads to."""
        counts = np.stack([each.counts for each in legal], axis=1)
        joint_moves = float(np.prod(counts.astype(np.float64), axis=1).sum())
        if joint_moves > JOINT_MOVES_PER_STATE * self._most:
            raise SolvingError(
                f"the tree of the game is too large: there are {joint_moves:,.0f} joint moves to "
                f"follow after {self._turn} turns"
            )
        sizes = np.prod(counts, axis=1)
        parts: list[_Nodes] = []
        children: list[IntArray] = []
        for start, end in chunks(sizes, LANES_AT_ONCE):
            lanes = np.repeat(np.arange(start, end), sizes[start:end])
            numbers = np.arange(len(lanes)) - np.repeat(
                offsets_of(sizes[start:end])[:-1], sizes[start:end]
            )
            part, child = self._merged(
                self._stepped(nodes, legal, sets, shares, lanes, _digits(numbers, counts[lanes]))
            )
            parts.append(part)
            children.append(child)
            if sum(map(len, parts)) > 2 * self._most:
                parts, children = self._joined(parts, children)
                self._refuse_if_large(self._num_states + sum(map(len, parts)), self._turn + 1)
        parts, children = self._joined(parts, children)
        return parts[0], children[0]

    def _joined(
        self, parts: list[_Nodes], children: list[IntArray]
    ) -> tuple[list[_Nodes], list[IntArray]]:
        if len(parts) == 1:
            return parts, children
        nodes, group = self._merged(
            _Nodes(
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
        nodes: _Nodes,
        legal: list[Ragged],
        sets: IntArray,
        shares: Numbers | None,
        lanes: IntArray,
        digits: IntArray,
    ) -> _Nodes:
        """One lane for each joint move.

        Args:
            lanes: `[K]` its node.
            digits: `[K, R]` which of its legal moves each role makes.
        """
        places = np.stack([each.offsets[lanes] for each in legal], axis=1) + digits
        moves = np.stack([each.values[places[:, r]] for r, each in enumerate(legal)], axis=1)
        stepped = self._machine.step(nodes.states.take(lanes), moves)
        paths = nodes.paths[lanes]
        sequences = nodes.sequences[lanes]
        for player, role in enumerate(self._players):
            paths[:, player] = self._tree.extend(
                paths[:, player], moves[:, role], stepped.percepts[:, role]
            )
            chosen = sets[lanes, player]
            has = np.flatnonzero(chosen >= 0)
            first = self._sets[player].first_sequences
            sequences[has, player] = first[chosen[has]] + digits[has, role]
        weights = nodes.weights[lanes]
        if shares is not None and self._machine.random_role is not None:
            weights = weights * shares[places[:, self._machine.random_role]]
        return _Nodes(stepped.states, paths, sequences, nodes.owners[lanes], weights)

    def _merged(self, nodes: _Nodes) -> tuple[_Nodes, IntArray]:
        """Equal nodes as one, and the number of each."""
        # What belongs to different subgames has different paths.
        first, group = first_seen_columns([self._machine.groups(nodes.states), *nodes.paths.T])
        weights = np.zeros(len(first), dtype=nodes.weights.dtype)
        np.add.at(weights, group, nodes.weights)
        merged = _Nodes(
            nodes.states.take(first),
            nodes.paths[first],
            nodes.sequences[first],
            nodes.owners[first],
            weights,
        )
        return merged, group

    # ---------------------------------------------------------------- what is kept

    def _note_leaves(
        self,
        nodes: _Nodes,
        lanes: IntArray,
        subgames: IntArray,
        goals: np.ndarray[tuple[int, ...], np.dtype[np.float64]] | None = None,
    ) -> None:
        owners = nodes.owners[lanes]
        different, place = np.unique(owners, return_inverse=True)
        below = [
            self._totals[owner] * (self._unit // self._birth_units[owner])
            for owner in different.tolist()
        ]
        self._leaves.add(
            owners,
            nodes.sequences[lanes],
            nodes.weights[lanes],
            np.array(below, dtype=np.int64 if max(below) < _MOST_WEIGHT else object)[place],
            np.zeros((len(lanes), len(self._players))) if goals is None else goals,
            subgames,
        )

    def _keep(
        self,
        alive: IntArray,
        legal: list[Ragged],
        sets: IntArray,
        chance: _ChanceMoves,
        children: IntArray,
        goals: np.ndarray[tuple[int, ...], np.dtype[np.float64]],
    ) -> None:
        num_nodes = len(goals)
        counts = np.zeros((num_nodes, len(self._machine.roles)), dtype=np.int64)
        all_sets = np.full((num_nodes, len(self._players)), -1)
        fractions: list[list[Fraction]] = [[] for _ in range(num_nodes)]
        moves: list[list[int]] = [[] for _ in range(num_nodes)]
        if len(alive):
            counts[alive] = np.stack([each.counts for each in legal], axis=1)
            all_sets[alive] = sets
            for node, shares, ids in zip(alive.tolist(), *chance, strict=True):
                fractions[node], moves[node] = shares, ids
        sizes = np.prod(counts, axis=1)
        self._layers.append(
            Layer(all_sets, fractions, moves, counts, offsets_of(sizes), children, goals)
        )


def _digits(numbers: IntArray, counts: IntArray) -> IntArray:
    """`[K, R]` numbers in the mixed radix of the counts, the last digit changing fastest."""
    digits = np.zeros_like(counts)
    for role in range(counts.shape[1] - 1, -1, -1):
        numbers, digits[:, role] = np.divmod(numbers, counts[:, role])
    return digits

"""Builds the tree of a game from its machine, layer by layer.

A machine goes in, a `GameTree` comes out, for `solver`, `exploitation` and `efg`.

A node is a state with the incomplete path of every player. Other differences in the past (unseen
moves of chance) no longer matter, so such histories are merged into one node, and their
probabilities add up. All nodes of a layer are stepped by all joint moves in batches:

    split off subgames -> record leaves -> legal moves -> information sets -> step -> merge

Sequences get the numbers of `ggp.solve.tree` only at the end, when the number of subgames is known;
until then -1 - g is the empty sequence of subgame g, and the others are counted from 0.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import lcm
from typing import NamedTuple

import numpy as np

from ggp.belief.paths import PathTree
from ggp.errors import SolvingError
from ggp.machine.arrays import first_seen, segment_ids, take_segments
from ggp.machine.base import (
    DEFAULT_MAX_STEPS,
    FloatArray,
    IntArray,
    Machine,
    Ragged,
    States,
    player_roles,
)
from ggp.machine.layers import KEY, SAME, JointMoves, NextLayer, StateMerger
from ggp.solve.tree import (
    LANES_AT_ONCE,
    GameTree,
    InformationSetTable,
    Layer,
    LayerChoices,
    LeafTable,
    Numbers,
    Stands,
)

MAX_STATES = 1_000_000
"""Greatest number of nodes of a tree; each takes a few hundred bytes."""

MAX_PATHS = 16_000_000
"""Greatest number of incomplete paths of all players kept at once; they take a gigabyte."""

PRUNE_AT = 2_000_000
"""Number of paths at which unnecessary ones are first dropped."""

LISTED_AT_ONCE = 512
"""Number of states whose legal moves are listed before they are counted."""

_MAX_WEIGHT = 1 << 62

Progress = Callable[[int, int], None]
"""Called with the number of turns and of states so far."""


class TreeBounds(NamedTuple):
    """Bounds on a tree and on the time to build it; larger games are refused.

    >>> from ggp.machine.games import build_machine, load_program
    >>> machine = build_machine(load_program("tic_tac_toe"), "prolog")
    >>> build_tree(machine, TreeBounds(states=100))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ggp.errors.SolvingError: the tree of the game is too large: it has more than 100 states ...

    Attributes:
        states: greatest number of nodes.
        turns: greatest number of turns of the game.
        seconds: greatest time to build it.
        is_over: whether to give up; called so often that no step between takes long.
        progress: called with the number of turns and of states so far.
        joint_moves: greatest number of joint moves of a turn, in multiples of `states`.
    """

    states: int = MAX_STATES
    turns: int = DEFAULT_MAX_STEPS
    seconds: float = math.inf
    is_over: Callable[[], bool] = lambda: False
    progress: Progress = lambda turns, states: None
    joint_moves: int = 64

    def with_deadline(self) -> TreeBounds:
        """The same bounds, where `is_over` counts the seconds from now on."""
        until_s, is_over = time.monotonic() + self.seconds, self.is_over
        return self._replace(
            seconds=math.inf, is_over=lambda: is_over() or time.monotonic() > until_s
        )


USUAL_BOUNDS = TreeBounds()


def build_tree(
    machine: Machine,
    bounds: TreeBounds = USUAL_BOUNDS,
    *,
    split: bool = False,
    keep_layers: bool = False,
    keep_stands: bool = False,
) -> GameTree:
    """The whole tree of a game.

    Args:
        machine: the machine of the game.
        split: split off subgames, which makes many trees far smaller. The information sets of a
            subgame then represent all histories that lead to it.
        keep_layers: keep the nodes and their choices. Not together with `split`.
        keep_stands: keep all paths to the beginnings of subgames, so that a match can be followed.

    Raises:
        SolvingError: the tree is too large, or the game may not end, or time is up, or a player has
            different legal moves after the same incomplete path.
        NoLegalMoveError, ReasonerLimitError, GoalError: raised by the machine.
    """
    return _Builder(machine, split, keep_layers, keep_stands, bounds.with_deadline()).build()


@dataclass(frozen=True, slots=True)
class LayerNodes:
    """E nodes of a layer.

    Attributes:
        states: their states.
        paths: `[E, P]` incomplete path of every player.
        sequences: `[E, P]` sequence of every player, as `InformationSetTable` numbers them.
        owners: `[E]` subgame of each.
        weights: `[E]` numerators of the probabilities by chance.
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


class _Builder:
    def __init__(
        self,
        machine: Machine,
        split: bool,
        keep_layers: bool,
        keep_stands: bool,
        bounds: TreeBounds,
    ) -> None:
        if split and keep_layers:
            raise ValueError("layers are kept of whole trees only")
        self._machine, self._split, self._bounds = machine, split, bounds
        self._max_states = bounds.states
        self._max_joint = bounds.joint_moves * bounds.states
        self._keep_layers, self._keep_stands = keep_layers, keep_stands
        self._players = player_roles(machine)
        self._tree = PathTree(machine)
        self._order = TextOrder(machine)
        self._sets = [InformationSetTable() for _ in self._players]
        self._leaves = LeafTable()
        self._layers: list[Layer] = []
        self._num_states = 0
        self._prune_at = PRUNE_AT
        self._turn = 0
        # Weights of a layer are whole numbers, so probabilities stay exact. Those of subgame g are
        # divided by `_totals[g]` and by the factor by which the unit has shrunk since it began.
        self._unit = 1
        self._birth_units = [1]
        self._totals = [1]
        self._root_turns = [0]
        self._stands: list[list[Stands]] = [[] for _ in self._players]

    def build(self) -> GameTree:
        if not self._players:
            raise SolvingError("nobody plays this game but chance")
        nodes = LayerNodes(
            self._machine.initial(1),
            np.array([self._players], dtype=np.int64),  # the empty paths of `PathTree`
            np.full((1, len(self._players)), -1),
            np.zeros(1, dtype=np.int64),
            np.ones(1, dtype=np.int64),
        )
        while len(nodes):
            if self._split and self._turn:
                nodes = self._pruned(self._split_off(nodes))
            self._num_states += len(nodes)
            self._refuse_if_large(self._num_states, self._turn)
            if self._turn > self._bounds.turns:
                raise SolvingError(f"the game may not be over after {self._bounds.turns:,} turns")
            self._bounds.progress(self._turn, self._num_states)
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
            tuple(Stands.joined(stands) for stands in self._stands),
        )

    def _refuse_if_large(self, num_states: int, turn: int) -> None:
        if self._bounds.is_over():
            raise SolvingError(
                f"time is up before the tree of the game is complete: it has {num_states:,} states "
                f"after {turn} turns"
            )
        if num_states > self._max_states:
            raise SolvingError(
                f"the tree of the game is too large: it has more than {self._max_states:,} states "
                f"with the players' incomplete paths after {turn} turns"
            )

    # ---------------------------------------------------------------- subgames

    def _split_off(self, nodes: LayerNodes) -> LayerNodes:
        """The nodes, where the first nodes of subgames replace the nodes at which these begin."""
        states = self._machine.groups(nodes.states)
        roots = find_roots(nodes.paths, states, nodes.weights)
        begins = np.flatnonzero(roots.subgames != NO_SUBGAME)
        if not len(begins):
            return nodes
        num_subgames = len(self._totals)
        self._add_leaves(nodes, begins, roots.subgames[begins] + num_subgames)
        totals = np.zeros(1 + int(roots.owners.max()), dtype=roots.weights.dtype)
        np.add.at(totals, roots.owners, roots.weights)
        self._totals += [int(total) for total in totals]
        self._birth_units += [self._unit] * len(totals)
        self._root_turns += [self._turn] * len(totals)
        if self._keep_stands:
            firsts = np.zeros(len(totals), dtype=np.int64)
            firsts[roots.owners[::-1]] = roots.nodes[::-1]
            for player, noted in enumerate(self._stands):
                paths = nodes.paths[:, player]
                noted.append(Stands.of(paths[begins], paths[firsts[roots.subgames[begins]]]))
        inner = np.flatnonzero(roots.subgames == NO_SUBGAME)
        lanes = np.concatenate([inner, roots.nodes])
        owners = np.concatenate([nodes.owners[inner], roots.owners + num_subgames])
        empty = np.repeat(-1 - (roots.owners + num_subgames), len(self._players))
        return LayerNodes(
            nodes.states.take(lanes),
            nodes.paths[lanes],
            np.concatenate(
                [nodes.sequences[inner], empty.reshape(len(roots.owners), len(self._players))]
            ),
            owners,
            np.concatenate([nodes.weights[inner], roots.weights]),
        )

    def _pruned(self, nodes: LayerNodes) -> LayerNodes:
        """The nodes with renumbered paths, after dropping unnecessary paths if there are many.

        Where subgames are split off, most paths lead to a position that another path reached first.
        """
        if len(self._tree) < self._prune_at:
            return nodes
        stands = [Stands.joined(stand) for stand in self._stands]
        live_paths = np.concatenate(
            [*(table.paths for table in self._sets), *(part for stand in stands for part in stand)]
        )
        numbers = self._tree.prune(nodes.paths.ravel(), live_paths)
        self._stands = [[Stands(*(numbers[part] for part in stand))] for stand in stands]
        for table in self._sets:
            table.renumber(numbers)
        self._prune_at = max(PRUNE_AT, 2 * len(self._tree))
        return replace(nodes, paths=numbers[nodes.paths])

    # ---------------------------------------------------------------- a turn

    def _next(self, nodes: LayerNodes) -> LayerNodes:
        """The layer after a layer."""
        over = self._machine.terminal(nodes.states)
        ends = np.flatnonzero(over)
        goals = np.zeros((len(nodes), len(self._players)))
        if len(ends):
            goals[ends] = self._machine.goals(nodes.states.take(ends))[:, self._players]
            self._add_leaves(nodes, ends, np.full(len(ends), NO_SUBGAME), goals[ends])
        alive = nodes.take(np.flatnonzero(~over))
        next_nodes, choices = self._turn_of(alive) if len(alive) else (alive, None)
        if self._keep_layers:
            self._layers.append(Layer(goals, np.where(over, -1, np.cumsum(~over) - 1), choices))
        return next_nodes

    def _turn_of(self, nodes: LayerNodes) -> tuple[LayerNodes, LayerChoices]:
        """The nodes one turn later, and the choices at nodes at which the game is not over."""
        moves = self._moves(nodes.states)
        sets = self._find_sets(nodes, moves.lists)
        shares, fractions = self._shares(nodes, moves)
        next_layer = self._merge_successors(nodes, moves, sets, shares)
        choices = LayerChoices(moves, sets, fractions, next_layer.successors)
        return LayerNodes(next_layer.states, *next_layer.columns), choices

    def _moves(self, states: States) -> JointMoves:
        """The joint moves, where each role's moves are sorted by text.

        They are counted batch by batch, since too many would not fit into memory.
        """
        parts: list[JointMoves] = []
        joint_moves = 0.0
        for start in range(0, len(states), LISTED_AT_ONCE):
            self._refuse_if_large(self._num_states, self._turn)
            end = min(start + LISTED_AT_ONCE, len(states))
            batch = states.take(np.arange(start, end))
            parts.append(JointMoves.of(self._machine, batch, allow_stuck=False))
            joint_moves += parts[-1].number
            if joint_moves > self._max_joint:
                amount = f"{'' if end == len(states) else 'more than '}{joint_moves:,.0f}"
                raise SolvingError(
                    f"the tree of the game is too large: there are {amount} joint moves to "
                    f"follow after {self._turn} turns"
                )
        moves = JointMoves.joined(parts)
        orders = [self._order.order(lists) for lists in moves.lists]
        role = self._machine.random_role
        return replace(
            moves,
            lists=tuple(
                Ragged(lists.offsets, lists.values[order])
                for lists, order in zip(moves.lists, orders, strict=True)
            ),
            probabilities=moves.probabilities[orders[role] if role is not None else slice(None)],
        )

    def _find_sets(self, nodes: LayerNodes, legal: Sequence[Ragged]) -> IntArray:
        """`[E, P]` the information set of each player with a choice, -1 without one."""
        sets = np.full((len(nodes), len(self._players)), -1)
        for player, role in enumerate(self._players):
            first, group = first_seen(nodes.paths[:, player])
            moves = legal[role]
            require_equal_moves(self._machine, self._tree, role, nodes.paths[:, player], moves)
            with_choice = np.flatnonzero(moves.counts[first] > 1)
            set_ids = np.full(len(first), -1)
            lanes = first[with_choice]
            offsets, indices = take_segments(moves.offsets, lanes)
            set_ids[with_choice] = self._sets[player].add(
                nodes.paths[lanes, player],
                nodes.owners[lanes],
                nodes.sequences[lanes, player],
                Ragged(offsets, moves.values[indices]),
            )
            sets[:, player] = set_ids[group]
        return sets

    def _shares(
        self, nodes: LayerNodes, moves: JointMoves
    ) -> tuple[Numbers | None, list[Fraction]]:
        """The factor by which each move of `random` multiplies weights, and its probability.

        The unit of weights shrinks by the common denominator of the probabilities.
        """
        if self._machine.random_role is None:
            return None, []
        distinct, inverse = np.unique(moves.probabilities, return_inverse=True)
        fractions = [Fraction(p).limit_denominator(1 << 20) for p in distinct.tolist()]
        unit = lcm(*(fraction.denominator for fraction in fractions))
        factors = [fraction.numerator * unit // fraction.denominator for fraction in fractions]
        self._unit *= unit
        # All joint moves may add to the same sum.
        most = max(factors) * int(nodes.weights.max()) * self._max_joint
        shares = np.array(factors, dtype=np.int64 if most < _MAX_WEIGHT else object)[inverse]
        return shares, [fractions[p] for p in inverse.tolist()] if self._keep_layers else []

    def _merge_successors(
        self, nodes: LayerNodes, moves: JointMoves, sets: IntArray, shares: Numbers | None
    ) -> NextLayer:
        """The nodes after all joint moves, as columns of `LayerNodes`.

        Args:
            sets: see `_find_sets`.
            shares: see `_shares`.
        """
        # Nodes of different subgames have different paths.
        successors = StateMerger(self._machine, nodes.states, (KEY, SAME, SAME, np.add))
        for start, end in moves.batches(LANES_AT_ONCE):
            self._refuse_if_large(self._num_states, self._turn + 1)
            lanes, places = moves.places(start, end)
            joint = moves.at(places)
            stepped = self._machine.step(nodes.states.take(lanes), joint)
            paths, sequences = nodes.paths[lanes], nodes.sequences[lanes]
            for player, role in enumerate(self._players):
                paths[:, player] = self._tree.extend(
                    paths[:, player], joint[:, role], stepped.percepts[:, role]
                )
                set_ids = sets[lanes, player]
                has = np.flatnonzero(set_ids >= 0)
                digits = places[has, role] - moves.lists[role].offsets[lanes[has]]
                begins = self._sets[player].first_sequences[set_ids[has]]
                sequences[has, player] = begins + digits
            weights = nodes.weights[lanes]
            if shares is not None:
                weights = weights * shares[places[:, self._machine.random_role]]
            successors.add(stepped.states, paths, sequences, nodes.owners[lanes], weights)
            if len(self._tree) > MAX_PATHS:
                raise SolvingError(
                    "the tree of the game is too large: its players have more than "
                    f"{MAX_PATHS:,} incomplete paths"
                )
            if successors.size > 2 * self._max_states:
                num_merged = len(successors.merged().first)
                self._refuse_if_large(self._num_states + num_merged, self._turn + 1)
        return successors.merged()

    # ---------------------------------------------------------------- leaves

    def _add_leaves(
        self,
        nodes: LayerNodes,
        lanes: IntArray,
        subgames: IntArray,
        goals: FloatArray | None = None,
    ) -> None:
        owners = nodes.owners[lanes]
        distinct, inverse = np.unique(owners, return_inverse=True)
        totals = [
            self._totals[owner] * (self._unit // self._birth_units[owner])
            for owner in distinct.tolist()
        ]
        self._leaves.add(
            owners,
            nodes.sequences[lanes],
            nodes.weights[lanes],
            np.array(totals, dtype=np.int64 if max(totals) < _MAX_WEIGHT else object)[inverse],
            np.zeros((len(lanes), len(self._players))) if goals is None else goals,
            subgames,
        )


# ------------------------------------------------------------------------
# Sorts legal moves by text: the order does not depend on ids, and is the same after the same path.


class TextOrder:
    """Sorts moves by their texts."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._texts: list[str] = []
        self._ranks: IntArray = np.zeros(0, dtype=np.int64)

    def order(self, ragged: Ragged) -> IntArray:
        """Indices that sort each list by text."""
        self._learn(1 + int(ragged.values.max(initial=-1)))
        return np.lexsort((self._ranks[ragged.values], segment_ids(ragged.offsets)))

    def _learn(self, num_moves: int) -> None:
        if num_moves <= len(self._texts):
            return
        new = range(len(self._texts), num_moves)
        self._texts += [self._machine.move_text(move) for move in new]
        self._ranks = np.argsort(np.argsort(np.array(self._texts), kind="stable"))


def require_equal_moves(
    machine: Machine, tree: PathTree, role: int, paths: IntArray, legal: Ragged
) -> None:
    """Check that a role's incomplete path determines its legal moves.

    Args:
        paths: `[L]` incomplete paths of the role.
        legal: its sorted legal moves in each lane.

    Raises:
        SolvingError: two lanes of one path have different legal moves.
    """
    first, group = first_seen(paths)
    model = first[group]
    counts = legal.counts
    lengths_differ = counts != counts[model]
    if not lengths_differ.any():
        index = np.arange(len(legal.values)) - np.repeat(legal.offsets[:-1], counts)
        expected = legal.values[np.repeat(legal.offsets[model], counts) + index]
        wrong = np.flatnonzero(expected != legal.values)
        if not len(wrong):
            return
        lane = int(segment_ids(legal.offsets)[wrong[0]])
    else:
        lane = int(np.flatnonzero(lengths_differ)[0])
    expected_set, actual_set = (
        set(map(machine.move_text, legal[row].tolist())) for row in (int(model[lane]), lane)
    )
    history = " | ".join(tree.texts(int(paths[lane]))[-4:]) or "at the start"
    raise SolvingError(
        f"{machine.roles[role]} cannot tell its legal moves: after one incomplete path "
        f"({history}) {sorted(expected_set ^ actual_set)[0]} is legal in one state and not in "
        "another; only games in which players know their moves can be solved"
    )


# ------------------------------------------------------------------------
# Finds subgames: parts of a layer whose beginning is common knowledge.
#
# Two nodes of a layer are connected if some player cannot distinguish them. A connected component
# is a set of nodes that are possible by common knowledge (a public state). A subgame begins there
# if
#
# - all its nodes have the same state: players remember different things, but without any use; or
# - no player can distinguish any of them: they differ by chance only, with known probabilities.
#
# Then the rest is a game of its own, whose value replaces it. Two components with the same states
# and the same probabilities are one subgame, which is solved once. In games of one player subgames
# are its beliefs, in games of perfect information the positions.

NO_SUBGAME = -1


class SubgameRoots(NamedTuple):
    """Subgames that begin in a layer, N of them.

    Attributes:
        subgames: `[E]` subgame (0 to N - 1) that begins at each node, `NO_SUBGAME` for none.
        nodes: the K first nodes of all subgames, subgame by subgame.
        owners: `[K]` their subgames.
        weights: `[K]` weights, in proportion to their probabilities.
    """

    subgames: IntArray
    nodes: IntArray
    owners: IntArray
    weights: Numbers


def find_roots(paths: IntArray, states: IntArray, weights: Numbers) -> SubgameRoots:
    """The subgames that begin in a layer of E nodes.

    Args:
        paths: `[E, P]` incomplete path of every player.
        states: `[E]` numbers, equal for equal states.
        weights: `[E]` probability by chance, in any unit.
    """
    parts = _parts(paths)
    order = np.argsort(parts, kind="stable")
    starts = np.flatnonzero(np.diff(parts[order], prepend=-1))
    same_state = _all_equal(states[order], starts)
    one_path = np.ones(len(starts), dtype=np.bool_)
    for column in paths.T:
        one_path &= _all_equal(column[order], starts)
    is_root = same_state | one_path
    # One node represents a component with a single state, all nodes represent the others.
    first = np.zeros(len(parts), dtype=np.bool_)
    first[starts] = True
    root_nodes = order[np.where(same_state[parts[order]], first, is_root[parts[order]])]
    root_nodes = root_nodes[np.lexsort((states[root_nodes], parts[root_nodes]))]
    offsets = np.flatnonzero(np.diff(parts[root_nodes], prepend=-1))
    heights = _reduced(weights[root_nodes], offsets)
    numbers, is_first = _numbers(states[root_nodes], heights, offsets)
    subgame = np.full(len(starts), NO_SUBGAME, dtype=np.int64)
    subgame[parts[root_nodes[offsets]]] = numbers
    is_root_node = np.repeat(is_first, np.diff(offsets, append=len(root_nodes)))
    nodes = root_nodes[is_root_node]
    return SubgameRoots(subgame[parts], nodes, subgame[parts[nodes]], heights[is_root_node])


def _parts(paths: IntArray) -> IntArray:
    """`[E]` number (0, 1, ...) of the connected component of each node."""
    from scipy.sparse import coo_array  # slow to import, and only solvers need it
    from scipy.sparse.csgraph import connected_components

    num_nodes, num_players = paths.shape
    _, path = first_seen(paths.ravel())
    size = num_nodes + 1 + int(path.max(initial=0))
    rows = np.repeat(np.arange(num_nodes), num_players)
    links = coo_array((np.ones(len(path), dtype=np.int8), (rows, num_nodes + path)), (size, size))
    components = connected_components(links, directed=False)[1][:num_nodes]
    return first_seen(components.astype(np.int64))[1]


def _all_equal(values: IntArray, starts: IntArray) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Whether all values of each run are equal."""
    low, high = np.minimum.reduceat(values, starts), np.maximum.reduceat(values, starts)
    return np.asarray(low == high)


def _reduced(weights: Numbers, offsets: IntArray) -> Numbers:
    """Weights of runs in lowest terms; 1 in runs of length 1."""
    if not len(weights):
        return weights
    divisors = np.gcd.reduceat(weights, offsets)
    return np.asarray(weights // np.repeat(divisors, np.diff(offsets, append=len(weights))))


def _numbers(
    states: IntArray, weights: Numbers, offsets: IntArray
) -> tuple[IntArray, np.ndarray[tuple[int], np.dtype[np.bool_]]]:
    """A number for each run, equal if states and weights are equal, and whether it is the first."""
    lengths = np.diff(offsets, append=len(states))
    numbers = np.zeros(len(offsets), dtype=np.int64)
    is_first = np.zeros(len(offsets), dtype=np.bool_)
    # Most runs are a single state, whose weight is then 1.
    single = np.flatnonzero(lengths == 1)
    first, numbers[single] = first_seen(states[offsets[single]])
    is_first[single[first]] = True
    seen: dict[tuple[bytes, tuple[int, ...]], int] = {}
    for run in np.flatnonzero(lengths > 1).tolist():
        run_slice = slice(int(offsets[run]), int(offsets[run] + lengths[run]))
        key = (states[run_slice].tobytes(), tuple(weights[run_slice].tolist()))
        is_first[run] = key not in seen
        numbers[run] = len(first) + seen.setdefault(key, len(seen))
    return numbers, is_first

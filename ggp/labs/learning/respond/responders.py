"""Responders, which learn to respond to a fixed player: the protocol, and the one that searches.

A `Responder` takes a `Rival` (the measured player), a role and a budget. It learns from many
matches, played side by side by `play`, and returns a `Mover` that plays its response. `Searched`
grows a tree of its own incomplete paths; the responder that trains a net is in `measuring`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ggp.belief import PathTree
from ggp.labs.learning.respond.movers import AskedPlayer, Mover, PolicyTeller, Uniform, new_stream
from ggp.machine.arrays import enlarged, take_segments
from ggp.machine.base import (
    DEFAULT_MAX_STEPS,
    BoolArray,
    FloatArray,
    IntArray,
    Machine,
    Ragged,
    States,
    WordArray,
)
from ggp.machine.compiling.jit import by_reference, inlined, kernel
from ggp.machine.definition import GameDefinition
from ggp.machine.mixing import uniform
from ggp.run.clocks import cpu_seconds
from ggp.search.moves import random_moves
from ggp.solve.exploitation import MakeChooser

# ------------------------------------------------------------------------
# The kernels of a response tree: choose, grow, and back goals up.
#
# A *node* is an incomplete path at which the responder had a choice; its *edges* are the moves that
# were legal there. The nodes of one role form a tree: the parent edge of a node is the responder's
# last choice on its path.
#
# Rule: the value of an edge is the mean of its outcomes, since they depend only on chance and on
# the other roles, who never change; the value of a node is the value of its best edge. `back_up`
# keeps both up to date: each node records in `part` its contribution to the edge above, and
# replaces it when its own value changes.
#
# Goals are scaled to 0 .. 1.

I32 = NDArray[np.int32]
Bools = NDArray[np.bool_]

NODES, EDGES = 0, 1
"""Indices into `Tree.sizes`."""


@by_reference
class Tree(NamedTuple):
    """Tables of N nodes and E edges.

    Attributes:
        sizes: numbers of nodes and edges.
        first, num_edges: `[N]` the first edge of each node, and their number.
        visits, returns: `[N]` matches through a node, and the sum of their goals.
        value: `[N]` estimate of the node's value.
        part: `[N]` the node's contribution to the edge above: visits times value, when last backed
            up.
        owner: `[E]` node of each edge.
        move: `[E]` move of each edge.
        tries, pending: `[E]` finished matches in which it was chosen, and matches under way.
        total: `[E]` sum of the outcomes of the finished matches.
    """

    sizes: IntArray
    first: I32
    num_edges: I32
    visits: IntArray
    returns: FloatArray
    value: FloatArray
    part: FloatArray
    owner: I32
    move: I32
    tries: IntArray
    pending: I32
    total: FloatArray


_NODE_KINDS = {"first": np.int32, "num_edges": np.int32, "visits": np.int64} | dict.fromkeys(
    ("returns", "value", "part"), np.float64
)
_EDGE_KINDS = {
    "owner": np.int32,
    "move": np.int32,
    "tries": np.int64,
    "pending": np.int32,
    "total": np.float64,
}


def new_tree() -> Tree:
    """Tables without a node."""
    kinds: dict[str, Any] = _NODE_KINDS | _EDGE_KINDS
    columns = {name: np.zeros(64, dtype=kind) for name, kind in kinds.items()}
    return Tree(sizes=np.zeros(2, dtype=np.int64), **columns)


def wider_tree(tree: Tree, nodes: int, edges: int) -> Tree:
    """The same tree, with room for `nodes` nodes and `edges` edges in all."""
    columns = {name: enlarged(getattr(tree, name), nodes, 0) for name in _NODE_KINDS}
    columns |= {name: enlarged(getattr(tree, name), edges, 0) for name in _EDGE_KINDS}
    return tree._replace(**columns)


@inlined
def _worth(tree: Tree, node: int, edge: int, doubt: float) -> float:
    """The value of a tried edge, shrunk towards the mean of its node."""
    mean = tree.returns[node] / max(tree.visits[node], 1)
    return float((tree.total[edge] + doubt * mean) / (tree.tries[edge] + doubt))


@inlined
def _edge_of(tree: Tree, node: int, at: int, move: int) -> int:
    """The edge of a node with a move, -1 for none; the edge at index `at` is looked up first."""
    first, count = int(tree.first[node]), int(tree.num_edges[node])
    if at < count and tree.move[first + at] == move:
        return first + at
    for edge in range(first, first + count):
        if tree.move[edge] == move:
            return edge
    return -1


@inlined
def _ucb(
    tree: Tree,
    node: int,
    legal: IntArray,
    start: int,
    end: int,
    exploration: float,
    doubt: float,
    random: NDArray[np.uint64],
) -> int:
    """The index in `legal` of the edge of highest value + bonus (UCB1); -1 if there is no edge.

    Edges that were never chosen come first, in random order. Choices under way count as trials with
    the value so far, so that matches side by side spread over the edges.
    """
    best, highest, untried = -1, -1.0, 0
    at_all = float(tree.visits[node])
    for k in range(start, end):
        edge = _edge_of(tree, node, k - start, int(legal[k]))
        if edge >= 0:
            at_all += tree.pending[edge]
    log_all = np.log(at_all + 1.0)
    for k in range(start, end):
        edge = _edge_of(tree, node, k - start, int(legal[k]))
        if edge < 0:
            continue
        trials = tree.tries[edge] + tree.pending[edge]
        if trials == 0:
            untried += 1
            if uniform(random) * untried < 1.0:
                best = k
        elif untried == 0:
            value = 0.5 if tree.tries[edge] == 0 else _worth(tree, node, edge, doubt)
            score = value + exploration * np.sqrt(log_all / trials)
            if score > highest:
                highest = score
                best = k
    return best


@kernel
def choose(
    tree: Tree,
    node_of: I32,
    paths: IntArray,
    offsets: IntArray,
    legal: IntArray,
    exploration: float,
    doubt: float,
    random: NDArray[np.uint64],
    loose: Bools,
    edges: IntArray,
    picks: IntArray,
) -> None:
    """Choose a move in each lane, and add a node where a lane leaves the tree.

    There must be room for one node for each lane, and one edge for each legal move.

    Args:
        node_of: node of each path, -1 for none; new nodes are filled in.
        paths, offsets, legal: `[L]` paths, and legal moves of each lane as in `Ragged`.
        random: `[1]` state of a stream.
        loose: `[L]` whether a lane has left the tree; updated.
        edges: `[L]` filled in: the edge that was chosen, -1 where nothing is recorded.
        picks: `[L]` filled in: index of the move in `legal`.
    """
    for lane in range(len(paths)):
        start, end = int(offsets[lane]), int(offsets[lane + 1])
        edges[lane] = -1
        picks[lane] = start
        if end - start < 2:
            continue
        pick = min(start + int(uniform(random) * (end - start)), end - 1)
        picks[lane] = pick
        if loose[lane]:
            continue
        node = int(node_of[paths[lane]])
        if node < 0:
            node = int(tree.sizes[NODES])
            first = int(tree.sizes[EDGES])
            node_of[paths[lane]] = node
            tree.first[node], tree.num_edges[node] = first, end - start
            tree.visits[node] = 0
            tree.returns[node] = tree.value[node] = tree.part[node] = 0.0
            for k in range(end - start):
                edge = first + k
                tree.owner[edge], tree.move[edge] = node, legal[start + k]
                tree.tries[edge] = tree.pending[edge] = 0
                tree.total[edge] = 0.0
            tree.sizes[NODES] += 1
            tree.sizes[EDGES] += end - start
            loose[lane] = True
        else:
            best = _ucb(tree, node, legal, start, end, exploration, doubt, random)
            if best < 0:
                loose[lane] = True
                continue
            pick = best
            picks[lane] = pick
        edges[lane] = _edge_of(tree, node, pick - start, int(legal[pick]))
        tree.pending[edges[lane]] += 1


@kernel
def back_up(
    tree: Tree, lanes: IntArray, edges: IntArray, goals: FloatArray, below: IntArray, doubt: float
) -> None:
    """Add the outcomes of the choices of one turn; later turns must have been added before.

    Args:
        lanes, edges: `[K]` lanes with a choice, and the chosen edges.
        goals: goal of each lane.
        below: node of the next choice of each lane, -1 for none; updated.
    """
    for k in range(len(lanes)):
        lane, edge = int(lanes[k]), int(edges[k])
        child = int(below[lane])
        tree.tries[edge] += 1
        tree.pending[edge] -= 1
        if child >= 0:
            new = tree.visits[child] * tree.value[child]
            tree.total[edge] += new - tree.part[child]
            tree.part[child] = new
        else:
            tree.total[edge] += goals[lane]
        node = int(tree.owner[edge])
        tree.visits[node] += 1
        tree.returns[node] += goals[lane]
        best = -1.0
        for sibling in range(tree.first[node], tree.first[node] + tree.num_edges[node]):
            if tree.tries[sibling] > 0:
                best = max(best, _worth(tree, node, sibling, doubt))
        tree.value[node] = best
        below[lane] = node


@kernel
def best_moves(
    tree: Tree,
    node_of: I32,
    paths: IntArray,
    offsets: IntArray,
    legal: IntArray,
    doubt: float,
    picks: IntArray,
) -> None:
    """Find the move of highest value in each lane.

    Args:
        paths, offsets, legal: as in `choose`; paths beyond the end of `node_of` have no node.
        picks: `[L]` filled in: index of the move in `legal`; -1 outside of the tree.
    """
    for lane in range(len(paths)):
        start, end = int(offsets[lane]), int(offsets[lane + 1])
        picks[lane] = start if end - start == 1 else -1
        if end - start == 1 or paths[lane] >= len(node_of):
            continue
        node = int(node_of[paths[lane]])
        if node < 0:
            continue
        highest = -1.0
        for k in range(start, end):
            edge = _edge_of(tree, node, k - start, int(legal[k]))
            if edge >= 0 and tree.tries[edge] > 0:
                value = _worth(tree, node, edge, doubt)
                if value > highest:
                    highest = value
                    picks[lane] = k


# ------------------------------------------------------------------------

CHEAP_LANES, ASKED_LANES = (256, 4096), (8, 32)
"""Matches of the first update, and most matches of an update, or side by side: if all moves come
from tables, and if players are asked. Matches of the same update do not learn from each other."""

_GROWTH = 1.1
"""Factor by which the number of matches grows with each update."""


@dataclass(frozen=True, slots=True)
class Budget:
    """The budget of a responder that learns.

    Attributes:
        updates: number of updates; with it the same seed gives the same responder.
        seconds: seconds of CPU time, including evaluation; None without a limit of time.
    """

    updates: int | None
    seconds: float | None

    def is_over(self, updates: int, seconds: float) -> bool:
        """Whether the budget is used up after these updates and seconds."""
        most = self.updates, self.seconds
        return updates == most[0] or (most[1] is not None and seconds >= most[1])


@dataclass(frozen=True)
class Rival:
    """The measured player, as it moves in matches.

    Attributes:
        machine: the machine of the matches.
        make: makes a player for a role in one match; None for uniform random moves.
        tells: whether the player may report its policy.
        program: the rules of the game; without them no responder trains a net.
        few: whether an update has as few matches as if the player were asked in each of them; then
            responders compare whichever player is measured.
        tellers: by role, the policies that it reported so far; each is asked for once.
    """

    machine: Machine
    make: MakeChooser | None
    tells: bool = False
    program: GameDefinition | None = None
    few: bool = False
    tellers: dict[int, PolicyTeller] = field(init=False, default_factory=dict)

    @cached_property
    def paths(self) -> PathTree:
        """The tree of incomplete paths."""
        return PathTree(self.machine)

    def movers(self, responder: int, rng: np.random.Generator) -> dict[int, Mover]:
        """The player in every role except `random` and the role of the responder.

        Matches that overlap in time need separate movers.
        """
        roles = range(len(self.machine.roles))
        seats = [role for role in roles if role not in (responder, self.machine.random_role)]
        return {role: self._mover(role, new_stream(rng)) for role in seats}

    @property
    def is_cheap(self) -> bool:
        """Whether many matches may run side by side: no player has to be asked in each of them."""
        return not self.few and (self.make is None or self.tells)

    @property
    def lanes(self) -> tuple[int, int]:
        """Matches of the first update, and most matches side by side.

        Where players are asked, each match has its own, so few may run at a time.
        """
        return CHEAP_LANES if self.is_cheap else ASKED_LANES

    def _mover(self, role: int, rng: np.random.Generator) -> Mover:
        if self.make is None:
            return Uniform(rng)
        if self.tells:
            if role not in self.tellers:
                self.tellers[role] = PolicyTeller(self.machine, self.paths, role, self.make, rng)
            return self.tellers[role]
        return AskedPlayer(self.machine, role, self.make, rng)


class Responder(Protocol):
    """Learns to respond in one role.

    Attributes:
        name: one word for its method.
    """

    name: str

    def learn(self, budget: Budget, record: Callable[[int], None]) -> None:
        """Learn from matches, update by update.

        Args:
            record: called after each update with the number of matches learnt from so far.
        """
        ...

    def mover(self) -> Mover:
        """The responder's present response, which does not learn."""
        ...


MakeResponder = Callable[[Rival, int, np.random.Generator], Responder | None]
"""Makes a responder for a role; None if it cannot play the game."""


class Searched:
    """The responder with a tree of its own paths, see `ResponseTree`."""

    name = "searched"

    def __init__(self, rival: Rival, role: int, rng: np.random.Generator) -> None:
        self._rival, self._role, self._rng = rival, role, rng
        self._movers = rival.movers(role, rng)
        self._tree = ResponseTree(rival.machine, rival.paths)
        self._walker = Walker(self._tree, rng)

    def learn(self, budget: Budget, record: Callable[[int], None]) -> None:
        first, most = self._rival.lanes
        rival, role, walker = self._rival, self._role, self._walker
        began_s, lanes, matches, updates = cpu_seconds(), float(first), 0, 0
        while not updates or not budget.is_over(updates, cpu_seconds() - began_s):
            walker.learn(scores(rival, role, self._movers, walker, int(lanes), self._rng))
            matches += int(lanes)
            updates += 1
            lanes = min(_GROWTH * lanes, most)
            record(matches)

    def mover(self) -> Mover:
        return Follower(self._tree, Uniform(new_stream(self._rng)))


def scores(
    rival: Rival,
    role: int,
    movers: Mapping[int, Mover],
    mover: Mover,
    count: int,
    rng: np.random.Generator,
) -> FloatArray:
    """`[L]` goal values of a role in `count` new matches; the lowest goal for unfinished ones."""
    goals = goals_of(rival, {**movers, role: mover}, count, rng)[:, role]
    return np.nan_to_num(goals, nan=rival.machine.goal_range[0])


def goals_of(
    rival: Rival, movers: Mapping[int, Mover], count: int, rng: np.random.Generator
) -> FloatArray:
    """`[L, R]` goal values in `count` new matches, played in batches."""
    _, most = rival.lanes
    parts = [
        play(rival.machine, rival.paths, movers, min(most, count - start), rng)
        for start in range(0, count, most)
    ]
    return np.concatenate(parts)


# ------------------------------------------------------------------------
# Many matches side by side, turn by turn, with a `Mover` for each role.


def play(
    machine: Machine,
    paths: PathTree,
    movers: Mapping[int, Mover],
    count: int,
    rng: np.random.Generator,
    max_turns: int = DEFAULT_MAX_STEPS,
) -> FloatArray:
    """`[L, R]` goals of `count` new matches; NaN in matches that are not over after `max_turns`.

    Args:
        paths: the tree of paths, for movers that need them.
        movers: one for every role except `random`.
        rng: draws moves of chance, and the rest of matches in which all roles move uniformly.

    Raises:
        NoLegalMoveError: a role has no legal move in a state that is not over.
        GoalError: a goal value is not a number.
    """
    goals = np.full((count, len(machine.roles)), np.nan)
    states, matches = machine.initial(count), np.arange(count)
    views = np.tile(np.arange(len(machine.roles)), (count, 1))
    for mover in movers.values():
        mover.begin(matches)
    last_turn: tuple[IntArray, IntArray] | None = None
    for _ in range(max_turns):
        over = machine.terminal(states)
        goals[matches[over]] = machine.goals(states.take(np.flatnonzero(over)))
        going = ~over
        loose = going & _are_loose(movers, matches)
        if loose.any():
            ended = machine.playout(states.take(np.flatnonzero(loose)), rng, max_turns)
            goals[matches[loose]] = np.where(ended.finished[:, None], ended.goals, np.nan)
            going &= ~loose
        if not going.any():
            break
        if not going.all():
            states = states.take(np.flatnonzero(going))
            matches, views = matches[going], views[going]
        if last_turn is not None:  # as in a match, no mover observes the final turn
            _observe(paths, movers, matches, views, *(array[going] for array in last_turn))
        joint = _joint_moves(machine, movers, matches, states, views, rng)
        states, percepts = machine.step(states, joint)
        last_turn = joint, percepts
    return goals


def _observe(
    paths: PathTree,
    movers: Mapping[int, Mover],
    matches: IntArray,
    views: IntArray,
    joint: IntArray,
    percepts: IntArray,
) -> None:
    """Let the movers observe the last turn; `[L, R]` views are extended in place."""
    for role, mover in movers.items():
        if mover.needs_paths:
            views[:, role] = paths.extend(views[:, role], joint[:, role], percepts[:, role])
        mover.observe(matches, joint[:, role], percepts[:, role])


def _are_loose(movers: Mapping[int, Mover], matches: IntArray) -> BoolArray:
    loose = np.ones(len(matches), dtype=np.bool_)
    for mover in movers.values():
        loose &= mover.is_loose(matches)
    return loose


def _joint_moves(
    machine: Machine,
    movers: Mapping[int, Mover],
    matches: IntArray,
    states: States,
    views: IntArray,
    rng: np.random.Generator,
) -> IntArray:
    joint = np.empty((len(matches), len(machine.roles)), dtype=np.int64)
    for role in range(len(machine.roles)):
        if role == machine.random_role:
            joint[:, role] = random_moves(machine, states, role, rng)
        else:
            legal: Ragged = machine.legal(states, role)
            joint[:, role] = movers[role].moves(matches, views[:, role], legal)
    return joint


# ------------------------------------------------------------------------
# A best response by search: a tree over the responder's own incomplete paths.
#
# After ISMCTS-BR (Timbers et al., *Approximate Exploitability: Learning a Best Response in Large
# Games*, IJCAI 2022), without its networks. Matches begin at the initial state, and the other roles
# move as the measured player does. The responder walks down its tree by UCB1; where it leaves the
# tree, a node is added, and it moves at random from there on.
#
# One difference: a node has the value of its best move, not the mean over all tried moves. This is
# sound because no other role learns: every match is an unbiased sample of what follows a move,
# whatever the responder did later. The value of a move with few trials is shrunk towards the mean
# of its node, so that luck does not make it the best.

EXPLORATION = 0.5
"""Weight of the exploration bonus, for goals from 0 to 1."""

DOUBT = 2.0
"""Number of virtual trials of each move, which have the mean of its node as outcome."""

MAX_EDGES, MAX_PATHS = 12_000_000, 6_000_000
"""Sizes beyond which a tree stops growing, at about 500 MB."""


class ResponseTree:
    """The statistics of one responder.

    Args:
        paths: the tree of its paths.
    """

    def __init__(self, machine: Machine, paths: PathTree) -> None:
        self.paths = paths
        self._low, high = machine.goal_range
        self._span = high - self._low
        self._node_of = np.full(64, -1, dtype=np.int32)
        self._tree = new_tree()

    def __len__(self) -> int:
        """Number of nodes."""
        return int(self._tree.sizes[NODES])

    @property
    def is_full(self) -> bool:
        """Whether the tree has stopped growing."""
        return int(self._tree.sizes[EDGES]) > MAX_EDGES or len(self.paths) > MAX_PATHS

    def choose(
        self, paths: IntArray, legal: Ragged, random: WordArray, loose: BoolArray
    ) -> tuple[IntArray, IntArray]:
        """`[L]` edges and moves, see the kernel `choose`."""
        self._reserve(len(paths), len(legal.values))
        edges, picks = np.empty_like(paths), np.empty_like(paths)
        choose(
            self._tree,
            self._node_of,
            paths,
            legal.offsets,
            legal.values,
            EXPLORATION,
            DOUBT,
            random,
            loose,
            edges,
            picks,
        )
        return edges, legal.values[picks]

    def learn(self, records: list[tuple[IntArray, IntArray]], goals: FloatArray) -> None:
        """Add the results of matches.

        Args:
            records: for each turn, the matches with a choice, and the chosen edges.
            goals: `[L]` goal values.
        """
        scaled = np.clip((goals - self._low) / self._span, 0.0, 1.0)
        below = np.full(len(goals), -1, dtype=np.int64)
        for matches, edges in reversed(records):
            back_up(self._tree, matches, edges, scaled, below, DOUBT)

    def best(self, paths: IntArray, legal: Ragged) -> IntArray:
        """`[L]` index in `legal.values` of the best move of each lane, -1 outside of the tree."""
        picks = np.empty_like(paths)
        best_moves(self._tree, self._node_of, paths, legal.offsets, legal.values, DOUBT, picks)
        return picks

    def _reserve(self, nodes: int, edges: int) -> None:
        self._node_of = enlarged(self._node_of, len(self.paths), -1)
        num_nodes, num_edges = self._tree.sizes.tolist()
        self._tree = wider_tree(self._tree, num_nodes + nodes, num_edges + edges)


class Walker:
    """The mover of a learning responder: walks down a tree, which grows until it is full."""

    needs_paths = True

    def __init__(self, tree: ResponseTree, rng: np.random.Generator) -> None:
        self._tree = tree
        self._random = np.array([rng.integers(1 << 62)], dtype=np.uint64)
        self._loose = np.zeros(0, dtype=np.bool_)
        self._records: list[tuple[IntArray, IntArray]] = []

    def begin(self, matches: IntArray) -> None:
        self._loose = np.full(len(matches), self._tree.is_full)
        self._records = []

    def moves(self, matches: IntArray, paths: IntArray, legal: Ragged) -> IntArray:
        loose = self._loose[matches]
        edges, moves = self._tree.choose(paths, legal, self._random, loose)
        self._loose[matches] = loose
        in_tree = np.flatnonzero(edges >= 0)
        self._records.append((matches[in_tree], edges[in_tree]))
        return moves

    def observe(self, matches: IntArray, moves: IntArray, percepts: IntArray) -> None:
        """Do nothing: paths hold everything that is needed."""

    def is_loose(self, matches: IntArray) -> BoolArray:
        return self._loose[matches]

    def learn(self, goals: FloatArray) -> None:
        """Learn from `[L]` goal values of the matches begun last."""
        self._tree.learn(self._records, goals)


class Follower:
    """The mover that plays the best moves of a tree.

    Args:
        fallback: moves outside of the tree.
    """

    needs_paths = True

    def __init__(self, tree: ResponseTree, fallback: Mover) -> None:
        self._tree, self._fallback = tree, fallback
        self._outside = np.zeros(0, dtype=np.bool_)

    def begin(self, matches: IntArray) -> None:
        self._outside = np.zeros(len(matches), dtype=np.bool_)
        self._fallback.begin(matches)

    def moves(self, matches: IntArray, paths: IntArray, legal: Ragged) -> IntArray:
        picks = self._tree.best(paths, legal)
        moves = legal.values[np.maximum(picks, 0)]
        outside = np.flatnonzero(picks < 0)
        if len(outside):
            self._outside[matches[outside]] = True
            offsets, at = take_segments(legal.offsets, outside)
            options = Ragged(offsets, legal.values[at])
            moves[outside] = self._fallback.moves(matches[outside], paths[outside], options)
        return moves

    def observe(self, matches: IntArray, moves: IntArray, percepts: IntArray) -> None:
        self._fallback.observe(matches, moves, percepts)

    def is_loose(self, matches: IntArray) -> BoolArray:
        return self._outside[matches] & self._fallback.is_loose(matches)

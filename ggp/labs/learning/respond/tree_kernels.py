"""The kernels of a tree of responses: choosing, growing, and backing goals up.

A *node* is an incomplete path at which the responder had a choice, its *edges* are the moves that
were legal there. Nodes of one role are a tree: each has one edge above it, the responder's last
choice on its path. What follows an edge is up to the others, who never change. So the value of an
edge is a mean over what came of it, and that of a node is the best of its edges.

Goals go from 0 to 1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.machine.arrays import enlarged
from ggp.machine.base import FloatArray, IntArray
from ggp.machine.compiling.jit import by_reference, inlined, kernel
from ggp.machine.mixing import uniform

I32 = NDArray[np.int32]
Bools = NDArray[np.bool_]

NODES, EDGES = 0, 1
"""Indices into `Tree.sizes`."""


@by_reference
class Tree(NamedTuple):
    """Tables of N nodes and E edges.

    Attributes:
        sizes: numbers of nodes and edges.
        first, num_edges: `[N]` edges of each node.
        visits, returns: `[N]` matches through a node, and the sum of their goals.
        value: `[N]` estimate of its value.
        part: `[N]` what the edge above it holds of it: visits times value, when last backed up.
        owner: `[E]` node of each edge.
        move: `[E]`.
        tries, pending: `[E]` matches in which it was chosen; those of them that are under way.
        total: `[E]` sum of what came of them.
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
    """The same tree, with room for so many nodes and edges in all."""
    made = {name: enlarged(getattr(tree, name), nodes, 0) for name in _NODE_KINDS}
    made |= {name: enlarged(getattr(tree, name), edges, 0) for name in _EDGE_KINDS}
    return tree._replace(**made)


@inlined
def _worth(tree: Tree, node: int, edge: int, doubt: float) -> float:
    """Value of an edge that was tried, drawn towards the mean of its node."""
    mean = tree.returns[node] / max(tree.visits[node], 1)
    return float((tree.total[edge] + doubt * mean) / (tree.tries[edge] + doubt))


@inlined
def _place(tree: Tree, node: int, at: int, move: int) -> int:
    """The edge of a node with a move, which may be the one in this place; -1 if there is none."""
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
    """The place among legal moves of the edge of highest value + bonus; -1 if none is known.

    Edges never chosen come first, by lot. Choices under way count as chosen, with the value so far.
    """
    best, highest, untried = -1, -1.0, 0
    at_all = float(tree.visits[node])
    for k in range(start, end):
        edge = _place(tree, node, k - start, int(legal[k]))
        if edge >= 0:
            at_all += tree.pending[edge]
    log_all = np.log(at_all + 1.0)
    for k in range(start, end):
        edge = _place(tree, node, k - start, int(legal[k]))
        if edge < 0:
            continue
        chosen = tree.tries[edge] + tree.pending[edge]
        if chosen == 0:
            untried += 1
            if uniform(random) * untried < 1.0:
                best = k
        elif untried == 0:
            value = 0.5 if tree.tries[edge] == 0 else _worth(tree, node, edge, doubt)
            score = value + exploration * np.sqrt(log_all / chosen)
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

    There must be room for a node a lane, and an edge a legal move.

    Args:
        node_of: node of each path, -1 for none; those of new nodes are filled in.
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
        edges[lane] = _place(tree, node, pick - start, int(legal[pick]))
        tree.pending[edges[lane]] += 1


@kernel
def back_up(
    tree: Tree, lanes: IntArray, edges: IntArray, goals: FloatArray, below: IntArray, doubt: float
) -> None:
    """Add what came of the choices of one turn; those of later turns must have been added.

    Args:
        lanes, edges: `[K]` who chose, and what.
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
        for each in range(tree.first[node], tree.first[node] + tree.num_edges[node]):
            if tree.tries[each] > 0:
                best = max(best, _worth(tree, node, each, doubt))
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
        paths, offsets, legal: as in `choose`; `paths` beyond `node_of` have no node.
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
            edge = _place(tree, node, k - start, int(legal[k]))
            if edge >= 0 and tree.tries[edge] > 0:
                value = _worth(tree, node, edge, doubt)
                if value > highest:
                    highest = value
                    picks[lane] = k

"""Finds where a new game begins in the middle of another: where its beginning is common knowledge.

Two nodes of a layer are connected if some player cannot tell them apart. Nodes that are connected,
directly or through others, are those that are possible by common knowledge. From there on nothing
else matters if

- all its nodes have the same state: players remember different things, but these are of no use; or
- no player can tell any of them apart: chance alone made the difference, with known probabilities.

Then the rest is a game of its own, whose value takes the place of the whole. Two such places with
the same states and the same probabilities are one and the same game, solved once. In
games of one player these are its beliefs, in games of perfect information the positions.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ggp.machine.arrays import first_seen
from ggp.machine.base import IntArray
from ggp.solve.trees.tree import Numbers

NO_SUBGAME = -1


class Roots(NamedTuple):
    """Subgames that begin in a layer, N of them.

    Attributes:
        subgames: `[E]` subgame (0 to N - 1) that begins at each node, `NO_SUBGAME` for none.
        nodes: nodes that stand for the beginnings, K of them, those of a subgame together.
        owners: `[K]` their subgames.
        weights: `[K]` weights, in proportion to their probabilities.
    """

    subgames: IntArray
    nodes: IntArray
    owners: IntArray
    weights: Numbers


def find_roots(paths: IntArray, states: IntArray, weights: Numbers) -> Roots:
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
    # A part of a single state is represented by one node, the others by all their nodes.
    first = np.zeros(len(parts), dtype=np.bool_)
    first[starts] = True
    kept = order[np.where(same_state[parts[order]], first, is_root[parts[order]])]
    kept = kept[np.lexsort((states[kept], parts[kept]))]
    offsets = np.flatnonzero(np.diff(parts[kept], prepend=-1))
    heights = _reduced(weights[kept], offsets)
    numbers, is_first = _numbers(states[kept], heights, offsets)
    subgame = np.full(len(starts), NO_SUBGAME, dtype=np.int64)
    subgame[parts[kept[offsets]]] = numbers
    stands = np.repeat(is_first, np.diff(offsets, append=len(kept)))
    nodes = kept[stands]
    return Roots(subgame[parts], nodes, subgame[parts[nodes]], heights[stands])


def _parts(paths: IntArray) -> IntArray:
    """`[E]` number (0, 1, ...) of the connected part of each node."""
    from scipy.sparse import coo_array  # slow to import: only solvers have use for it
    from scipy.sparse.csgraph import connected_components

    num_nodes, num_players = paths.shape
    _, path = first_seen(paths.ravel())
    size = num_nodes + 1 + int(path.max(initial=0))
    rows = np.repeat(np.arange(num_nodes), num_players)
    links = coo_array((np.ones(len(path), dtype=np.int8), (rows, num_nodes + path)), (size, size))
    found = connected_components(links, directed=False)[1][:num_nodes]
    return first_seen(found.astype(np.int64))[1]


def _all_equal(values: IntArray, starts: IntArray) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Whether all values of each run are the same."""
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
    """A number for each run, equal if states and weights are, and whether it is the first."""
    lengths = np.diff(offsets, append=len(states))
    numbers = np.zeros(len(offsets), dtype=np.int64)
    is_first = np.zeros(len(offsets), dtype=np.bool_)
    # Most runs are a single state, whose weight is then 1.
    single = np.flatnonzero(lengths == 1)
    first, numbers[single] = first_seen(states[offsets[single]])
    is_first[single[first]] = True
    seen: dict[tuple[bytes, tuple[int, ...]], int] = {}
    for run in np.flatnonzero(lengths > 1).tolist():
        places = slice(int(offsets[run]), int(offsets[run] + lengths[run]))
        key = (states[places].tobytes(), tuple(weights[places].tolist()))
        is_first[run] = key not in seen
        numbers[run] = len(first) + seen.setdefault(key, len(seen))
    return numbers, is_first

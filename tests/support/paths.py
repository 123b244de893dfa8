"""Paths of roles: many random matches at once, and the turns of a path of a tree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.belief import PathTree
from ggp.machine import Machine, States
from ggp.machine.base import UNKNOWN, IntArray, Ragged


class PathTurn(NamedTuple):
    """The last turn of a path: arguments of `PathTree.extend`."""

    move: int
    percepts: int
    refused: int = UNKNOWN


def turns_of(tree: PathTree, node: int) -> list[PathTurn]:
    """All turns of a path, first to last."""
    turns = []
    while tree.depth(node):
        turns.append(PathTurn(*tree.last_turns(np.array([node]))[0].tolist()))
        node = int(tree.parents(np.array([node]))[0])
    return turns[::-1]


class Turn(NamedTuple):
    """The matches that are not over at one turn.

    Attributes:
        states: L of them.
        paths: `[L, R]` numbers of incomplete paths: equal where the role made the same moves
            and saw the same in all turns so far.
        legal: the legal moves of each role.
    """

    states: States
    paths: IntArray
    legal: list[Ragged]


def matches(
    machine: Machine, lanes: int, seed: int, *, steady: int | None = None
) -> Iterator[Turn]:
    """Random matches side by side, until the last is over.

    Args:
        steady: a role that does not choose at random but takes the legal move that comes first
            in an order that is drawn anew for each turn, the same in all matches: its paths
            then differ by what it sees, and stay together for long.
    """
    rng = np.random.default_rng(seed)
    states = machine.initial(lanes)
    paths = np.zeros((lanes, len(machine.roles)), dtype=np.int64)
    while True:
        running = np.flatnonzero(~machine.terminal(states))
        if not len(running):
            return
        states, paths = states.take(running), paths[running]
        legal = [machine.legal(states, role) for role in range(len(machine.roles))]
        yield Turn(states, paths, legal)
        moves = np.stack(
            [_choose(role_legal, role == steady, rng) for role, role_legal in enumerate(legal)], 1
        )
        stepped = machine.step(states, moves)
        states = stepped.states
        columns = zip(paths.T, moves.T, stepped.percepts.T, strict=True)
        paths = np.stack([_numbers(*role_legal) for role_legal in columns], axis=1)


def legal_sets(legal: Ragged) -> IntArray:
    """`[L]` numbers of sets of moves, equal where the same moves are legal."""
    marks = np.random.default_rng(0).integers(0, 1 << 63, legal.values.max(initial=0) + 1)
    sums = np.add.reduceat(marks.astype(np.uint64)[legal.values], legal.offsets[:-1])
    return np.unique(sums, return_inverse=True)[1].reshape(-1)


def spread(paths: IntArray, values: IntArray) -> IntArray:
    """`[L]` how many different `values` the matches of the same path have."""
    first = np.unique(_numbers(paths, values), return_index=True)[1]
    return np.bincount(paths[first], minlength=paths.max(initial=0) + 1)[paths]


def _numbers(*columns: NDArray[np.generic]) -> IntArray:
    """`[L]` numbers from 0, equal where the rows are equal."""
    key, size = np.zeros(len(columns[0]), dtype=np.int64), 1
    for column in columns:
        values = column.astype(np.int64)
        values -= values.min()
        width = int(values.max()) + 1
        assert size * width < 1 << 63, "rows of these columns do not fit into one number"
        key, size = key * width + values, size * width
    return np.unique(key, return_inverse=True)[1].reshape(-1)


def _choose(legal: Ragged, steady: bool, rng: np.random.Generator) -> IntArray:
    """`[L]` one of the legal moves of each match."""
    if not steady:
        return np.asarray(legal.values[legal.offsets[:-1] + rng.integers(0, legal.counts)])
    order = rng.permutation(int(legal.values.max()) + 1)
    first = np.minimum.reduceat(order[legal.values], legal.offsets[:-1])
    return np.asarray(np.argsort(order)[first])

"""Makes random walks to pre-terminal nodes (paper 003, "Real Games").

A walk avoids moves that end the game. It stops where all of them do, and all of them are tried:

    player 1 bets -> player 2 folds (75 : 25) or calls (100 : 0)         here both moves end it

Turns in which nobody has a choice are not nodes: the child of a node is the next node or the end.
Chance is drawn, once for each node and once for each forced turn, so that a walk is one in a world
in which chance is settled.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ggp.machine.arrays import offsets_of, segment_ids
from ggp.machine.base import BoolArray, FloatArray, IntArray, Machine
from ggp.study.matches import MAX_TURNS, LaneTurn, collapse

MOST_CHILDREN = 256
"""Greatest number of joint moves of a node that are tried; of more, this many are drawn."""

WALKS_AT_ONCE = 500
"""Number of walks at once, which bounds memory."""


@dataclass(frozen=True)
class PreTerminal:
    """N pre-terminal nodes, each with the goals that its joint moves lead to.

    Attributes:
        offsets: `[N + 1]` offsets of the children of each node.
        goals: `[K, R]` goals of the children.
        decides: `[N, R]` whether each role has a choice in each node.
        by_chance: `[N]` whether chance had a choice between a child and the end.
        cut: `[N]` whether there are more joint moves than were tried.
        walks: number of walks begun; those that met no such node are not among the N.
    """

    offsets: IntArray
    goals: FloatArray
    decides: BoolArray
    by_chance: BoolArray
    cut: BoolArray
    walks: int

    def __len__(self) -> int:
        return len(self.offsets) - 1


def pre_terminal_nodes(machine: Machine, walks: int, rng: np.random.Generator) -> PreTerminal:
    """Make `walks` random walks from the start of the game.

    Raises:
        NoLegalMoveError: a role has no legal move, and the game is not over.
        GoalError: a goal value is not a number.
    """
    parts: list[_Nodes] = []
    for begun in range(0, walks, WALKS_AT_ONCE):
        parts += _walk(machine, min(WALKS_AT_ONCE, walks - begun), rng)
    num_roles = len(machine.roles)
    return PreTerminal(
        offsets_of(_joined([part.counts for part in parts], np.int64)),
        np.concatenate([np.zeros((0, num_roles)), *(part.goals for part in parts)]),
        np.concatenate(
            [np.zeros((0, num_roles), dtype=np.bool_), *(part.decides for part in parts)]
        ),
        _joined([part.by_chance for part in parts], np.bool_),
        _joined([part.cut for part in parts], np.bool_),
        walks,
    )


def _joined(parts: list[Any], kind: type) -> Any:
    return np.concatenate([np.zeros(0, dtype=kind), *parts])


@dataclass(frozen=True)
class _Nodes:
    counts: IntArray
    goals: FloatArray
    decides: BoolArray
    by_chance: BoolArray
    cut: BoolArray


def _walk(machine: Machine, walks: int, rng: np.random.Generator) -> list[_Nodes]:
    found: list[_Nodes] = []
    start = collapse(machine, machine.initial(walks), rng)
    states = start.states.take(np.flatnonzero(~start.terminal))
    for _ in range(MAX_TURNS):
        if not len(states):
            break
        turn = LaneTurn(machine, states)
        stuck = np.flatnonzero(~turn.decides.any(axis=1))
        if len(stuck):  # nobody ever has a choice again
            states = states.take(np.flatnonzero(turn.decides.any(axis=1)))
            continue
        lane, joint, cut = _children(machine, turn, rng)
        after = collapse(machine, machine.step(states.take(lane), joint).states, rng)
        going_on = np.bincount(lane, ~after.terminal, minlength=len(states)) > 0
        ended = np.flatnonzero(~going_on)
        if len(ended):
            of_ended = np.flatnonzero(~going_on[lane])
            by_chance = np.bincount(lane, after.by_chance, minlength=len(states)) > 0
            found.append(
                _Nodes(
                    np.bincount(lane, minlength=len(states))[ended],
                    machine.goals(after.states.take(of_ended)),
                    turn.decides[ended],
                    by_chance[ended],
                    cut[ended],
                )
            )
        states = after.states.take(_one_each(lane, ~after.terminal, rng))
    return found


def _children(
    machine: Machine, turn: LaneTurn, rng: np.random.Generator
) -> tuple[IntArray, IntArray, BoolArray]:
    """Joint moves to try: `[K]` lanes, ascending, `[K, R]` moves; `[L]` whether there are more."""
    sizes = turn.counts.astype(np.float64)
    if machine.random_role is not None:
        sizes[:, machine.random_role] = 1
    total = sizes.prod(axis=1)
    cut = total > MOST_CHILDREN
    offsets = offsets_of(np.where(cut, MOST_CHILDREN, total).astype(np.int64))
    lane = segment_ids(offsets)
    number = np.arange(len(lane)) - offsets[lane]
    drawn = turn.random(rng)
    joint = drawn[lane]
    for role in reversed(range(turn.counts.shape[1])):
        if role == machine.random_role:
            continue
        number, digit = np.divmod(number, turn.counts[lane, role])
        random = rng.integers(0, turn.counts[lane, role])
        joint[:, role] = turn.lists[role].at(lane, np.where(cut[lane], random, digit))
    return lane, joint, cut


def _one_each(lane: IntArray, may: BoolArray, rng: np.random.Generator) -> IntArray:
    """For each lane with children that may be chosen, one of them by lot."""
    keys = np.where(may, rng.random(len(lane)), -1.0)
    order = np.lexsort((keys, lane))
    last = np.flatnonzero(np.append(lane[1:] != lane[:-1], True)) if len(lane) else lane
    chosen = order[last]
    return np.asarray(chosen[may[chosen]])


def classes(machine: Machine, goals: FloatArray) -> FloatArray:
    """Goal values as wins (1), draws (0) and losses (-1): above, at, below the middle."""
    low, high = machine.goal_range
    return np.sign(goals - (low + high) / 2)


def is_equal(nodes: PreTerminal, values: FloatArray) -> BoolArray:
    """`[N]` whether all children of a node have the same one of `[K]` values."""
    if not len(nodes):
        return np.zeros(0, dtype=np.bool_)
    first = nodes.offsets[:-1]
    most, least = (np.asarray(f.reduceat(values, first)) for f in (np.maximum, np.minimum))
    return np.asarray(most == least)

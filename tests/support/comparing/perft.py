"""Numbers of joint-move sequences, counted on a machine and on the reference."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np

from ggp.machine import Machine
from tests.support.comparing.batches import live
from tests.support.plain.reference import Reference, State


def perft(machine: Machine, depth: int) -> list[int]:
    """How many sequences of 1, 2, ... `depth` joint moves there are; fewer if all end."""
    counts: list[int] = []
    states, paths = machine.initial(1), [1]
    for _ in range(depth):
        running = np.flatnonzero(~machine.terminal(states))
        if not len(running):
            break
        states, paths = live(machine, states), [paths[i] for i in running]
        legal = [machine.legal(states, role) for role in range(len(machine.roles))]
        rows, lanes = [], []
        for i in range(len(states)):
            joint = list(product(*(moves[i].tolist() for moves in legal)))
            rows += joint
            lanes += [i] * len(joint)
        copies = states.take(np.array(lanes))
        successors = machine.step(copies, np.array(rows)).states
        counts.append(sum(paths[i] for i in lanes))
        groups = machine.groups(successors)
        merged = [0] * (int(groups.max()) + 1)
        for i, group in zip(lanes, groups.tolist(), strict=True):
            merged[group] += paths[i]
        _, first = np.unique(groups, return_index=True)
        states, paths = successors.take(first), merged
    return counts


def reference_perft(reference: Reference, depth: int) -> list[int]:
    """The same, counted by the reference."""
    counts: list[int] = []
    layer: Counter[State] = Counter({reference.initial(): 1})
    for _ in range(depth):
        following: Counter[State] = Counter()
        for state, paths in layer.items():
            if not reference.terminal(state):
                for joint in product(*(reference.legal(state, role) for role in reference.roles)):
                    moves = dict(zip(reference.roles, joint, strict=True))
                    following[reference.step(state, moves).state] += paths
        if not following:
            break
        counts.append(following.total())
        layer = following
    return counts

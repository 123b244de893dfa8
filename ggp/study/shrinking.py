"""Measures how fast information sets shrink: disambiguation in real games (paper 003).

Of the states that a role thought possible at its last decision, some have a descendant that it
thinks possible at the next one. The share of these is what is left of the set; the number of a
state's descendants, which may be many, does not count.

    its last decision    3 states possible: s1, s2, s3
    what it saw since    agrees with two continuations of s1 and one of s3
    its next decision    3 states possible, and 2/3 left
"""

from __future__ import annotations

import numpy as np

from ggp.belief import UNIFORM, never
from ggp.belief.segments import Segments
from ggp.belief.turns.one_turn import advance
from ggp.machine.arrays import first_seen_columns, segment_ids
from ggp.machine.base import BoolArray, FloatArray, IntArray, States
from ggp.study.matches import Decisions
from ggp.study.sets import KnownSets

_MOST = 1 << 20
"""Greatest number of continuations of one state in one turn that are examined."""


def shares_left(known: KnownSets, role: int, decisions: Decisions) -> tuple[FloatArray, IntArray]:
    """The share of the last decision's set that is left at each decision.

    Args:
        known: enumerates the sets.
        decisions: decisions that have a previous one each.

    Returns:
        `[D]` the share, NaN if a set on the way is too large to be enumerated; and `[D]` the
        size of the set of the last decision, 0 in that case.
    """
    shares = np.full(len(decisions), np.nan)
    sizes = np.zeros(len(decisions), dtype=np.int64)
    for turn in np.unique(decisions.turns).tolist():
        which = np.flatnonzero(decisions.turns == turn)
        some = decisions.take(which)
        first, group = first_seen_columns([some.paths, some.before])
        left, size = _of_one_turn(known, role, some.take(first))
        shares[which], sizes[which] = left[group], size[group]
    return shares, sizes


def _of_one_turn(known: KnownSets, role: int, decisions: Decisions) -> tuple[FloatArray, IntArray]:
    """Go back from each decision, turn by turn, to the one before it."""
    shares = np.full(len(decisions), np.nan)
    sizes = np.zeros(len(decisions), dtype=np.int64)
    active = np.arange(len(decisions))
    paths = decisions.paths
    alive: tuple[States, IntArray] | None = None
    for back in range(1, int((decisions.turns - decisions.before).max(initial=0)) + 1):
        found, bags = known.find(role, known.tree.parents(paths))
        if bags is None:
            break
        sets = bags.sets
        owner = found[segment_ids(sets.offsets)]
        lives = _has_living_child(known, role, sets.states, paths[owner], active[owner], alive)
        done = (decisions.turns - decisions.before)[active[found]] == back
        count = np.bincount(active[owner[lives]], minlength=len(decisions))
        ended = active[found[done]]
        sizes[ended] = sets.counts[done]
        shares[ended] = count[ended] / sets.counts[done]
        alive = sets.states.take(np.flatnonzero(lives)), active[owner[lives]]
        paths = bags.paths[~done]
        active = active[found[~done]]
        if not len(active):
            break
    return shares, sizes


def _has_living_child(
    known: KnownSets,
    role: int,
    states: States,
    paths: IntArray,
    decision: IntArray,
    alive: tuple[States, IntArray] | None,
) -> BoolArray:
    """`[N]` whether a state has a child that agrees with a path and is still alive.

    Args:
        paths: `[N]` path one turn after each state.
        decision: `[N]` the decision that each state belongs to.
        alive: states of the next turn that are possible at the end, and the decision of each; None
            if all are.
    """
    machine = known.machine
    num = len(states)
    if not num:
        return np.zeros(0, dtype=np.bool_)
    each = Segments(
        np.arange(num + 1),
        states,
        np.zeros(num),
        np.ones(num, dtype=np.bool_),
        np.ones(num),
        np.zeros(num),
    )
    children = advance(
        *(machine, known.tree, role, each, paths),
        capacity=_MOST,
        rng=np.random.default_rng(0),  # nothing is drawn where sets are only enumerated
        model=UNIFORM,
        expansion_limit=_MOST,
        stop=never,
    ).sets
    if alive is None:
        return np.asarray(children.counts > 0)
    parent = segment_ids(children.offsets)
    living, owner = alive
    groups = machine.groups(machine.concatenate([living, children.states]))
    keys = first_seen_columns([groups, np.concatenate([owner, decision[parent]])])[1]
    lives = np.isin(keys[len(owner) :], keys[: len(owner)])
    return np.bincount(parent, lives, minlength=num) > 0

"""Refused tries: moves after which the same role moves again, as in kriegspiel.

GDL-II has no such notion; in the rules a try is a turn like any other. A try is recognised by this:

- only one role had a choice, and after the move no other role has one;
- its moves now are some of those before, without the one that it tried;
- in the same state some other move hands the turn over: then another role has a choice, or the role
  has moves that it did not have before (wait, say).

The last point distinguishes them from consecutive shots at cells that are crossed off.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ggp.machine.abilities import MovesTold, Turned
from ggp.machine.arrays import first_seen, segment_ids, take_segments
from ggp.machine.base import BoolArray, IntArray, Machine, Ragged, States, player_roles
from ggp.machine.layers import JointMoves
from ggp.machine.on_circuit import on_circuit
from ggp.search.moves import MoveLists


def turned(
    machine: Machine,
    states: States,
    lanes: IntArray,
    joint_moves: IntArray,
    *,
    percepts: bool = False,
    before: Sequence[Ragged] = (),
) -> Turned:
    """Successors after joint moves, see `PropnetMachine.turned`.

    Other machines always give percepts, and compare moves only where no other role has a choice,
    before or after.
    """
    if on_circuit(machine):
        return machine.turned(states, lanes, joint_moves, percepts=percepts, before=before)
    after, seen = machine.step(states.take(lanes), joint_moves)
    told = _told(machine, states, lanes, joint_moves, after, before) if before else None
    return Turned(after, seen, machine.terminal(after), told)


def _told(
    machine: Machine,
    states: States,
    lanes: IntArray,
    joint_moves: IntArray,
    successors: States,
    before: Sequence[Ragged],
) -> MovesTold:
    """What lists of moves tell of those after joint moves, see `turned`."""
    first, group = first_seen(machine.groups(successors))
    after = JointMoves.of(machine, successors.take(first))
    choices = np.minimum(np.stack([each.counts for each in after.lists], axis=1), 2)[group]
    most = np.maximum(choices, np.stack([each.counts[lanes] for each in before], axis=1))
    news, agains = np.zeros((2, *choices.shape), dtype=np.bool_)
    for role in player_roles(machine):
        rows = np.flatnonzero(_is_idle(most, role))
        offsets, at = take_segments(after.lists[role].offsets, group[rows])
        owner, values = rows[segment_ids(offsets)], after.lists[role].values[at]
        known = MoveLists(machine, states, role).find(lanes[owner], values) >= 0
        news[owner[~known], role] = True
        agains[owner[values == joint_moves[owner, role]], role] = True
    return MovesTold(choices, news, agains)


def joined_turns(machine: Machine, parts: Sequence[Turned]) -> Turned:
    """Turns made in several batches, at least one, of one machine."""
    if len(parts) == 1:
        return parts[0]
    return Turned(
        machine.concatenate([part.states for part in parts]),
        np.concatenate([part.percepts for part in parts]),
        np.concatenate([part.over for part in parts]),
        MovesTold.joined([part.told for part in parts if part.told is not None]),
    )


def refused_tries(
    machine: Machine, options: JointMoves, lanes: IntArray, over: BoolArray, told: MovesTold
) -> BoolArray:
    """`[K]` whether each joint move was a refused try.

    Args:
        options: the joint moves of S states.
        lanes: `[K]` state in which each of K joint moves was made. All joint moves of a state must
            be included, or a handover may be overlooked.
        over: `[K]` whether they end the game.
        told: of the moves after them, see `turned`.
    """
    refused = np.zeros(len(lanes), dtype=np.bool_)
    if len(player_roles(machine)) < 2:
        return refused
    sole = options.sole[lanes]
    for role in player_roles(machine):
        rows = np.flatnonzero((sole == role) & ~over)
        counts = told.choices[rows]
        new, again = told.news[rows, role], told.agains[rows, role]
        idle = _is_idle(counts, role)
        handed_over = np.zeros(len(options.stuck), dtype=np.bool_)
        handed_over[lanes[rows[~idle | new]]] = True
        fewer = idle & ~new & ~again & (counts[:, role] > 0)
        refused[rows] = fewer & handed_over[lanes[rows]]
    return refused


def _is_idle(counts: IntArray, role: int) -> BoolArray:
    """`[K]` whether no other role than this one has a choice."""
    return np.asarray((np.delete(counts, role, axis=1) <= 1).all(axis=1))

"""Finds refused tries: moves after which the same role moves again, as in kriegspiel.

GDL-II has no such notion: in the rules a try is a turn like any other. `layers` and searches of
kriegspiel leave these turns out. A joint move is a refused try if

- only one role had a choice, and after the move no other role has one;
- the role's moves afterwards are some of its moves before, without the one it tried;
- in the same state some other move hands the turn over: then another role has a choice, or the role
  has a new move (wait, say).

The last rule excludes consecutive shots at cells that are crossed off.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ggp.machine.abilities import MoveFacts, Turned
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
    """Successors of joint moves, see `PropnetMachine.turned`.

    Other machines always give percepts, and compare moves only where no other role has a choice
    before or after.
    """
    if on_circuit(machine):
        return machine.turned(states, lanes, joint_moves, percepts=percepts, before=before)
    successors, seen = machine.step(states.take(lanes), joint_moves)
    facts = _compare(machine, states, lanes, joint_moves, successors, before) if before else None
    return Turned(successors, seen, machine.terminal(successors), facts)


def _compare(
    machine: Machine,
    states: States,
    lanes: IntArray,
    joint_moves: IntArray,
    successors: States,
    old_lists: Sequence[Ragged],
) -> MoveFacts:
    """Compare the moves after joint moves with the lists before, see `turned`."""
    first, group = first_seen(machine.groups(successors))
    next_moves = JointMoves.of(machine, successors.take(first))
    choices = np.minimum(np.stack([lists.counts for lists in next_moves.lists], axis=1), 2)[group]
    nearby = np.maximum(choices, np.stack([lists.counts[lanes] for lists in old_lists], axis=1))
    news, agains = np.zeros((2, *choices.shape), dtype=np.bool_)
    for role in player_roles(machine):
        rows = np.flatnonzero(_is_idle(nearby, role))
        offsets, indices = take_segments(next_moves.lists[role].offsets, group[rows])
        owner, values = rows[segment_ids(offsets)], next_moves.lists[role].values[indices]
        was_legal = MoveLists(machine, states, role).find(lanes[owner], values) >= 0
        news[owner[~was_legal], role] = True
        agains[owner[values == joint_moves[owner, role]], role] = True
    return MoveFacts(choices, news, agains)


def joined_turns(machine: Machine, parts: Sequence[Turned]) -> Turned:
    """One value of the turns of several batches, at least one, of one machine."""
    if len(parts) == 1:
        return parts[0]
    return Turned(
        machine.concatenate([part.states for part in parts]),
        np.concatenate([part.percepts for part in parts]),
        np.concatenate([part.over for part in parts]),
        MoveFacts.joined([part.move_facts for part in parts if part.move_facts is not None]),
    )


def refused_tries(
    machine: Machine, options: JointMoves, lanes: IntArray, over: BoolArray, facts: MoveFacts
) -> BoolArray:
    """`[K]` whether each joint move was a refused try.

    Args:
        options: the joint moves of S states.
        lanes: `[K]` state of each of K joint moves. They must include all joint moves of a state,
            or a handover may be overlooked.
        over: `[K]` whether each ends the game.
        facts: facts about the moves after them, see `turned`.
    """
    refused = np.zeros(len(lanes), dtype=np.bool_)
    if len(player_roles(machine)) < 2:
        return refused
    sole = options.sole[lanes]
    for role in player_roles(machine):
        rows = np.flatnonzero((sole == role) & ~over)
        counts = facts.choices[rows]
        is_new, repeats = facts.news[rows, role], facts.agains[rows, role]
        idle = _is_idle(counts, role)
        handed_over = np.zeros(len(options.stuck), dtype=np.bool_)
        handed_over[lanes[rows[~idle | is_new]]] = True
        fewer = idle & ~is_new & ~repeats & (counts[:, role] > 0)
        refused[rows] = fewer & handed_over[lanes[rows]]
    return refused


def _is_idle(counts: IntArray, role: int) -> BoolArray:
    """`[K]` whether no other role than this one has a choice."""
    return np.asarray((np.delete(counts, role, axis=1) <= 1).all(axis=1))

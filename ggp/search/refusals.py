"""Refused tries: moves after which the same role moves again, as in kriegspiel.

GDL-II does not know them; to the rules a try is a turn like any other. This is how they look:

- one role alone had a choice, and after the move nobody else has one;
- what it may do now is some of what it might do before, and no longer the move that it tried;
- in the same state something else hands the turn over: then another role has a choice, or the role
  may do something else than before (wait, say).

The last point tells them from shots, one after the other, at cells that are crossed off.
"""

from __future__ import annotations

import numpy as np

from ggp.machine.arrays import segment_ids, take_segments
from ggp.machine.base import BoolArray, IntArray, Machine, Ragged, States, player_roles
from ggp.search.joint_moves import JointMoves
from ggp.search.moves import MoveLists


def refused_tries(
    machine: Machine,
    before: States,
    options: JointMoves,
    lanes: IntArray,
    moves: IntArray,
    after: States,
    place: IntArray | None = None,
) -> BoolArray:
    """`[K]` which joint moves were tries that were refused.

    Args:
        before: S states.
        options: their joint moves.
        lanes: `[K]` which of the states each of K joint moves was made in. All joint moves of a
            state that do not end the game must be there, or handing over may be overlooked.
        moves: `[K, R]` these joint moves.
        after: states that they lead to, none of them terminal.
        place: `[K]` which of these each joint move leads to; default: each to one of its own.
    """
    if place is None:
        place = np.arange(len(lanes))
    sole = options.sole
    refused = np.zeros(len(lanes), dtype=np.bool_)
    players = player_roles(machine)
    if len(players) < 2 or not np.isin(sole, players).any():
        return refused
    counts, lists = _options_after(machine, after)
    for role in players:
        rows = np.flatnonzero(sole[lanes] == role)
        if not len(rows):
            continue
        handed_over = np.zeros(len(before), dtype=np.bool_)
        idle = (np.delete(counts[place[rows]], role, axis=1) <= 1).all(axis=1)
        handed_over[lanes[rows[~idle]]] = True
        # Of most moves it is clear by now: their successors' moves need not be looked up.
        rows = rows[idle]
        taken, at = take_segments(lists[role].offsets, place[rows])
        owner = segment_ids(taken)
        values = lists[role].values[at]
        known = MoveLists(machine, before, role).find(lanes[rows][owner], values) >= 0
        new = np.bincount(owner[~known], minlength=len(rows)) > 0
        again = np.bincount(owner[values == moves[rows, role][owner]], minlength=len(rows)) > 0
        handed_over[lanes[rows[new]]] = True
        fewer = ~new & ~again & (np.diff(taken) > 0)
        refused[rows] = fewer & handed_over[lanes[rows]]
    return refused


def _options_after(machine: Machine, states: States) -> tuple[IntArray, list[Ragged]]:
    """`[K, R]` how many moves each role has in each state, and the moves."""
    lists = []
    for role in range(len(machine.roles)):
        if role == machine.random_role:
            chance = machine.chance(states)
            lists.append(Ragged(chance.offsets, chance.moves))
        else:
            lists.append(machine.legal(states, role, allow_stuck=True))
    return np.stack([each.counts for each in lists], axis=1), lists

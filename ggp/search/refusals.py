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
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ggp.machine.arrays import segment_ids, take_segments
from ggp.machine.base import BoolArray, IntArray, Machine, Ragged, States, player_roles
from ggp.machine.propnet.play.turns import CircuitTurns, MovesTold, Turned
from ggp.search.joint_moves import JointMoves
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
    """Successors after joint moves, see `CircuitTurns.turned`; other machines tell only whether
    these are over, and always give percepts."""
    if isinstance(machine, CircuitTurns):
        return machine.turned(states, lanes, joint_moves, percepts=percepts, before=before)
    stepped = machine.step(states.take(lanes), joint_moves)
    return Turned(stepped.states, stepped.percepts, machine.terminal(stepped.states))


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


@dataclass(frozen=True)
class MovesAfter:
    """The moves of all roles in K states; where one is over, they mean nothing.

    They are listed when they are first asked for.
    """

    machine: Machine
    states: States

    @cached_property
    def lists(self) -> list[Ragged]:
        """The moves of each role."""
        machine, lists = self.machine, []
        for role in range(len(machine.roles)):
            if role == machine.random_role:
                chance = machine.chance(self.states)
                lists.append(Ragged(chance.offsets, chance.moves))
            else:
                lists.append(machine.legal(self.states, role, allow_stuck=True))
        return lists

    @cached_property
    def counts(self) -> IntArray:
        """`[K, R]` number of moves of each role."""
        return np.stack([each.counts for each in self.lists], axis=1)


def refused_tries(
    before: States,
    options: JointMoves,
    lanes: IntArray,
    moves: IntArray,
    after: MovesAfter,
    place: IntArray | None = None,
) -> BoolArray:
    """`[K]` whether each joint move was a refused try.

    Args:
        before: S states.
        options: their joint moves.
        lanes: `[K]` state in which each of K joint moves was made. All joint moves of a state that
            do not end the game must be included, or a handover may be overlooked.
        moves: `[K, R]` these joint moves.
        after: of the states that they lead to, none of them terminal.
        place: `[K]` which of these states each joint move leads to; default: 0, 1, ...
    """
    machine = after.machine
    if place is None:
        place = np.arange(len(lanes))
    sole = options.sole
    refused = np.zeros(len(lanes), dtype=np.bool_)
    players = player_roles(machine)
    if len(players) < 2 or not np.isin(sole, players).any():
        return refused
    counts, lists = after.counts, after.lists
    for role in players:
        rows = np.flatnonzero(sole[lanes] == role)
        if not len(rows):
            continue
        handed_over = np.zeros(len(before), dtype=np.bool_)
        idle = _is_idle(counts[place[rows]], role)
        handed_over[lanes[rows[~idle]]] = True
        # Most moves are decided by now: their successors' moves need not be looked up.
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


def refused_turns(
    machine: Machine, options: JointMoves, lanes: IntArray, over: BoolArray, told: MovesTold
) -> BoolArray:
    """The same as `refused_tries`, where machines tell what is to be known of moves afterwards.

    Args:
        options: the joint moves of S states.
        lanes: `[K]` state in which each of K joint moves was made.
        over: `[K]` whether they end the game.
        told: of the moves after them.
    """
    refused = np.zeros(len(lanes), dtype=np.bool_)
    if len(player_roles(machine)) < 2:
        return refused
    sole, state = options.sole[lanes], lanes
    for role in player_roles(machine):
        rows = np.flatnonzero((sole == role) & ~over)
        counts = told.choices[rows]
        new, again = told.news[rows, role], told.agains[rows, role]
        idle = _is_idle(counts, role)
        handed_over = np.zeros(len(options.stuck), dtype=np.bool_)
        handed_over[state[rows[~idle | new]]] = True
        fewer = idle & ~new & ~again & (counts[:, role] > 0)
        refused[rows] = fewer & handed_over[state[rows]]
    return refused


def _is_idle(counts: IntArray, role: int) -> BoolArray:
    """`[K]` whether no other role than this one has a choice."""
    return np.asarray((np.delete(counts, role, axis=1) <= 1).all(axis=1))

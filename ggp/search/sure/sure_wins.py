"""Looks for a sure win of one role, from its exact information set, turn after turn.

What was found is kept: where the graph is whole it is good for the rest of the match, and a sure
win goes on in it in any case. Otherwise it is made anew from the set of the turn, which may be
smaller.
"""

from __future__ import annotations

import numpy as np

from ggp.machine.arrays import first_seen
from ggp.machine.base import Machine, States
from ggp.search.anytime import Deadline, part_of
from ggp.search.sure.sure_kernels import (
    DECIDED,
    I32,
    STOPPED,
    SURE,
    UNDECIDED,
    Sets,
    add_set,
    decide_sets,
    find_winning,
)
from ggp.search.sure.turn_graph import Room, TurnGraph, turn_graph

MOST_EDGES = 2_000_000
"""Most edges of a graph under a clock: bounds memory."""

MOST_SETS, MOST_IN_SETS = 1 << 15, 1 << 21
"""Most sets of states of a graph, and states of them together."""

STACK = 1 << 16
"""Room for moves and sets on the way through a graph."""

WORK = 200_000
"""Edges to look at between two looks at the clock."""

SHARE = 0.5
"""Most of the time that may be spent. Graphs that seem too large for it are given up early, and one
that is whole is used again."""

PACE, SLOW_PACE = 1.5e6, 2e4
"""Edges a second that are expected at first: on circuits, and on other backends."""


class SureWins:
    """The sure wins of one role of a match.

    Args:
        role: whose best goal is wanted.
    """

    def __init__(self, machine: Machine, role: int) -> None:
        self._machine, self._role = machine, role
        self._begun: _Begun | None = None
        self._pace = PACE if machine.backend == "propnet" else SLOW_PACE

    def move(
        self, states: States, turn: int, most: int, deadline: Deadline | None = None
    ) -> int | None:
        """A move that begins a sure win; None if there is none, or it was not found.

        Args:
            states: all those that the role may be in.
            turn: turns since the start.
            most: edges of a graph, and to look at, without a deadline.
            deadline: only a share of the time until then is used.

        Raises:
            GGPError: raised by the machine.
        """
        machine = self._machine
        states = states.take(first_seen(machine.groups(states))[0])
        states = states.take(np.flatnonzero(~machine.terminal(states)))
        if not len(states):
            return None
        until = part_of(deadline, SHARE)
        if self._begun is not None:
            is_known, move = self._begun.move(states, turn, most, until)
            if is_known and (move is not None or self._begun.is_whole):
                return move
        room = Room(most if until is None else MOST_EDGES, until, self._pace)
        self._begun = _Begun(machine, turn_graph(machine, states, self._role, room), turn)
        self._pace = room.pace
        return self._begun.move(states, turn, most, until)[1]


class _Begun:
    """A graph, and what is known of sets of its states.

    Attributes:
        is_whole: whether a win that is not found is not sure.
    """

    def __init__(self, machine: Machine, graph: TurnGraph, turn: int) -> None:
        self._machine, self._graph, self._turn = machine, graph, turn
        self.is_whole = graph.is_whole
        self._wins = np.zeros(len(graph.move), dtype=np.bool_)
        find_winning(graph.first, graph.move, graph.child, self._wins)
        num_states, num_moves = len(graph.first) - 1, len(graph.moves)

        size = num_states, num_moves, graph.num_percepts, len(graph.states)
        self._sets = _no_sets(*size, MOST_SETS, MOST_IN_SETS)

    def move(
        self, states: States, turn: int, most: int, until: Deadline | None
    ) -> tuple[bool, int | None]:
        """Whether the set is in the graph and was decided, and a move that wins in it for sure."""
        graph, sets = self._graph, self._sets
        found = graph.find(self._machine, states, turn - self._turn)
        if found is None:
            return False, None
        root = number = add_set(sets, found)
        if number < 0:
            return False, None
        ends, left = STOPPED, most
        while ends == STOPPED and (left > 0 if until is None else not until.passed()):
            edges = graph.first, graph.move, graph.percept, graph.child
            ends = decide_sets(*edges, self._wins, sets, root, WORK)
            root, left = -1, left - WORK
        if sets.known[number] == SURE:
            return True, int(graph.moves[sets.best[number]])
        return ends == DECIDED and sets.known[number] != UNDECIDED, None


def _no_sets(
    states: int, moves: int, percepts: int, turns: int, most: int, most_in_all: int
) -> Sets:
    """Room for sets of the states of a graph."""

    def empty(*shape: int) -> I32:
        return np.zeros(shape, dtype=np.int32)

    return Sets(
        sizes=np.zeros(3, dtype=np.int64),
        start=empty(most + 1),
        pool=empty(most_in_all),
        known=np.zeros(most, dtype=np.int8),
        best=empty(most),
        slots=np.full(4 * most, -1, dtype=np.int32),
        mark=empty(states),
        percept_mark=empty(percepts),
        percept_place=empty(percepts),
        percept_count=empty(percepts),
        legal=empty(moves),
        going_on=empty(moves),
        touched=empty(max(moves, percepts)),
        frame=empty(turns + 2, 7),
        moves=empty(max(STACK, 2 * moves)),
        children=empty(STACK),
    )


def load_sure_kernels() -> None:
    """Compile the kernels, or load them from the cache, before a clock runs."""
    none, first, wins = (np.zeros(0, np.int32), np.zeros(2, np.int32), np.zeros(0, np.bool_))
    find_winning(first, none, none, wins)
    sets = _no_sets(1, 1, 1, 1, 2, 2)
    add_set(sets, np.zeros(1, dtype=np.int64))
    decide_sets(first, none, none, none, wins, sets, 0, 1)

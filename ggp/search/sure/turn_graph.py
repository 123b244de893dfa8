"""The states that may follow a set of states, turn by turn, and what one role is told on the way.

Equal states of a turn are merged, whatever led to them: a win that is sure does not depend on what
the others know. So the graph of a whole game may be small where its tree is not: dark hex on nine
cells has 422,000 states.

    edge of a state    our move    what we are told    the state after it, or how it ended

Edges of a state that begin with the same move of ours are neighbours. A graph may be cut where
there was no more room or time; what lies beyond counts as no win.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ggp.machine.arrays import first_seen, offsets_of
from ggp.machine.base import IntArray, Machine, States
from ggp.search.anytime import Deadline, OutOfTime, Pace
from ggp.search.joint_moves import LANES_AT_ONCE, TIMED_LANES, joint_moves
from ggp.search.sure.sure_kernels import I32, LOST, WON

MANY_EDGES = 4096
"""The pace is measured by turns of at least so many edges."""

CHEAP = 0.02
"""A turn that costs no more than this share of the room is found in any case: the first ones say
little about those to come."""

SLOWING, FORESEEN = 0.8, 8
"""Factor of the growth of turns from each to the next, and number of turns that are foreseen. With
these, dark hex on nine cells, with 1.2 million edges, is foreseen within a factor of two."""


class TurnGraph(NamedTuple):
    """S states at which the game is not over, and E edges, sorted by state and then by our move.

    Attributes:
        states: of each turn; their numbers go on from turn to turn.
        first: `[S + 1]` edges of each state.
        move: `[E]` our move, as an index into `moves`.
        percept: `[E]` what we are told, as an index into those that occur.
        child: `[E]` state that it leads to, `WON` or `LOST`; always a greater number.
        moves: the machine's ids of our moves, by text.
        num_percepts: number of different `percept`s.
        is_whole: whether nothing was cut.
    """

    states: tuple[States, ...]
    first: I32
    move: I32
    percept: I32
    child: I32
    moves: IntArray
    num_percepts: int
    is_whole: bool

    def find(self, machine: Machine, states: States, turn: int) -> IntArray | None:
        """`[N]` numbers of states of a turn; None if some are not in the graph.

        Args:
            turn: turns since the first states.
        """
        if not 0 <= turn < len(self.states):
            return None
        known = self.states[turn]
        group = machine.groups(machine.concatenate([known, states]))
        place = np.full(int(group.max()) + 1, -1, dtype=np.int64)
        place[group[: len(known)]] = np.arange(len(known))
        found = place[group[len(known) :]]
        if (found < 0).any():
            return None
        return sum(len(each) for each in self.states[:turn]) + found


class Room:
    """What a graph may cost: edges, or time.

    With a deadline it is cut early if it seems too large to be found as a whole: its turns grow
    less and less, and then shrink.

    Args:
        most_edges: of all turns together.
        deadline: the last turn ends before it.
        pace: edges a second, as far as is known.

    Attributes:
        pace: as it was measured last.
    """

    def __init__(self, most_edges: int, deadline: Deadline | None, pace: float) -> None:
        self.deadline, self.pace = deadline, pace
        self._left = float(most_edges)
        self._sizes: list[float] = []
        self._looked_s = 0.0 if deadline is None else deadline.clock()

    def allows(self, number: float) -> bool:
        """Whether there is room for a turn of so many edges."""
        left = self._left
        if self.deadline is not None:
            self._looked_s = self.deadline.clock()
            left = min(left, self.pace * self.deadline.left_s())
            if number > CHEAP * left:
                number = self._in_all(number)
        return number <= left

    def used(self, number: int) -> None:
        """Record that a turn was found."""
        self._left -= number
        self._sizes.append(max(number, 1))
        if self.deadline is not None and number >= MANY_EDGES:
            took_s = self.deadline.clock() - self._looked_s
            if took_s > 0:
                self.pace = number / took_s

    def _in_all(self, number: float) -> float:
        """Edges of the coming turns together, roughly, if the next one has so many."""
        recent = self._sizes[-2:]
        growth = (number / recent[0]) ** (1 / len(recent)) if recent else 1.0
        total = number
        for _ in range(FORESEEN):
            growth *= SLOWING
            number *= growth
            total += number
        return total


class _Turn(NamedTuple):
    """The edges of the states of one turn, with ids of the machine; `size` states come next."""

    counts: IntArray
    moves: IntArray
    percepts: IntArray
    after: IntArray
    size: int


def turn_graph(machine: Machine, states: States, role: int, room: Room) -> TurnGraph:
    """The graph of what may follow distinct states at which the game is not over.

    Args:
        states: their numbers begin with 0.
        room: it is cut before the turn that finds none.

    Raises:
        GoalError, ReasonerLimitError: raised by the machine.
    """
    layers, turns = [states], list[_Turn]()
    is_whole = True
    while len(layers[-1]):
        try:
            found = _next_turn(machine, layers[-1], role, room)
        except OutOfTime:
            found = None
        if found is None:
            is_whole = False
            break
        turn, after = found
        turns.append(turn)
        layers.append(after)
    return _joined(machine, layers, turns, is_whole=is_whole)


def _next_turn(
    machine: Machine, states: States, role: int, room: Room
) -> tuple[_Turn, States] | None:
    """One more turn, and its states at which the game is not over; None without room for them.

    Raises:
        OutOfTime: the deadline has passed.
    """
    joint = joint_moves(machine, states, role, room.deadline)
    if not room.allows(joint.number):
        return None
    moves, percepts, groups = list[IntArray](), list[IntArray](), list[IntArray]()
    kept, before = [states.take(np.zeros(0, dtype=np.int64))], 0
    number = int(joint.offsets[-1])
    for start, end in Pace(room.deadline, TIMED_LANES, LANES_AT_ONCE).batches(number):
        state, made = joint.some(start, end)
        after, told = machine.step(states.take(state), made)
        first, group = first_seen(machine.groups(after))
        moves.append(made[:, role])
        percepts.append(told[:, role])
        groups.append(before + group)
        kept.append(after.take(first))
        before += len(first)
    none = np.zeros(0, dtype=np.int64)
    joined = machine.concatenate(kept)
    if len(kept) > 2:
        first, group = first_seen(machine.groups(joined))
        joined = joined.take(first)
    else:
        group = np.arange(len(joined))
    over = machine.terminal(joined)
    code = np.cumsum(~over) - 1
    ended = np.flatnonzero(over)
    if len(ended):
        goals = machine.goals(joined.take(ended))[:, role]
        code[ended] = np.where(goals >= machine.goal_range[1], WON, LOST)
    after_edges = code[group[np.concatenate([none, *groups])]]
    room.used(number)
    open_states = joined.take(np.flatnonzero(~over))
    edges = np.concatenate([none, *moves]), np.concatenate([none, *percepts])
    return _Turn(np.diff(joint.offsets), *edges, after_edges, len(open_states)), open_states


def _joined(
    machine: Machine, layers: list[States], turns: list[_Turn], *, is_whole: bool
) -> TurnGraph:
    """The turns as one graph; states of a last layer whose turn is missing have no edges."""
    none = np.zeros(0, dtype=np.int64)
    base, child = 0, [none]
    for states, turn in zip(layers, turns, strict=False):
        base += len(states)
        child.append(np.where(turn.after >= 0, base + turn.after, turn.after))
    left_out = np.zeros(len(layers[-1]) if len(layers) > len(turns) else 0, dtype=np.int64)
    counts = np.concatenate([*(turn.counts for turn in turns), left_out])
    ids, move = np.unique(np.concatenate([none, *(t.moves for t in turns)]), return_inverse=True)
    told, percept = np.unique(
        np.concatenate([none, *(t.percepts for t in turns)]), return_inverse=True
    )
    # By text: the order of ids could give away what is hidden.
    order = sorted(range(len(ids)), key=lambda k: machine.move_text(int(ids[k])))
    place = np.empty(len(ids), dtype=np.int64)
    place[order] = np.arange(len(ids))
    return TurnGraph(
        tuple(layers),
        offsets_of(counts).astype(np.int32),
        place[move].astype(np.int32),
        percept.astype(np.int32),
        np.concatenate(child).astype(np.int32),
        ids[order],
        len(told),
        is_whole,
    )

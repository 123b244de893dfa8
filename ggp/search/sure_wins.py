"""Looks for a sure win of one role, from its exact information set, turn after turn.

What was found is kept: where the graph is whole it is good for the rest of the match, and a sure
win goes on in it in any case. Otherwise it is made anew from the set of the turn, which may be
smaller.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.belief import UNIFORM, Bags, MoveModel, log_likelihoods
from ggp.machine.arrays import first_seen, offsets_of
from ggp.machine.base import BoolArray, FloatArray, IntArray, Machine, States
from ggp.machine.compiling.jit import by_reference, inlined, kernel
from ggp.machine.layers import StateMerger
from ggp.machine.mixing import START, ended, mixed_in
from ggp.search.anytime import Deadline, OutOfTime, Pace, part_of
from ggp.search.moves import LANES_AT_ONCE, TIMED_LANES, joint_moves

# ------------------------------------------------------------------------
# The kernels that decide in which sets of states a role has a sure win.
#
# A win is sure in a set if one of our moves, legal in all its states, only leads to ends that are
# won and to sets in which it is sure: one for each thing that we may be told. What the others know
# and want does not matter: they may do anything.
#
# `find_winning` marks the moves that win in one state if we saw it. Only moves that do so in every
# state of a set can be sure, and this leaves few sets to look at. `decide_sets` then looks depth
# first, with a stack of its own, so that it can be stopped and called again.

I32 = NDArray[np.int32]

WON, LOST = -1, -2
"""In place of a state: the game is over with the best goal, or without it."""

UNDECIDED, SURE, UNSURE = 0, 1, 2
"""What is known of a set."""

NUM_SETS, DEPTH, MARK = 0, 1, 2
"""Indices into `StateSets.sizes`."""

STOPPED, DECIDED, FULL = 0, 1, 2
"""How `decide_sets` ends."""


@by_reference
class StateSets(NamedTuple):
    """Sets of states of a graph with S states, M moves and P percepts, and the way through them.

    Attributes:
        sizes: number of sets, depth of the stack, and the last mark that was used.
        start: `[I + 1]` where the states of each set begin in `pool`.
        pool: states, set after set; the place after the last set is where new ones are made.
        known: `[I]` what is known of each set.
        best: `[I]` the move that wins in it for sure.
        slots: sets by hash of their states, -1 if free.
        mark: `[S]` last mark of each state.
        percept_mark, percept_place, percept_count: `[P]` last mark, place and number of each.
        legal, going_on: `[M]` states in which a move is legal and wins, and edges after it that
            do not end the match.
        touched: `[max(M, P)]` moves or percepts that occurred.
        frame: `[D, 7]` the sets on the way: the set, its moves in `moves` (from, to, now), and
            what the present move leads to in `children` (from, to, now).
        moves, children: stacks of moves and of sets.
    """

    sizes: IntArray
    start: I32
    pool: I32
    known: NDArray[np.int8]
    best: I32
    slots: I32
    mark: I32
    percept_mark: I32
    percept_place: I32
    percept_count: I32
    legal: I32
    going_on: I32
    touched: I32
    frame: I32
    moves: I32
    children: I32


@kernel
def find_winning(first: I32, move: I32, child: I32, wins: BoolArray) -> None:
    """Mark the edges `[E]` whose move wins in their state if we see everything from there on."""
    for state in range(len(first) - 2, -1, -1):
        start = first[state]
        while start < first[state + 1]:
            end = start
            good = True
            while end < first[state + 1] and move[end] == move[start]:
                after = child[end]
                if after == LOST:
                    good = False
                elif after >= 0:
                    # A state is won if one of its moves wins; known, as its number is greater.
                    won = False
                    for edge in range(first[after], first[after + 1]):
                        if wins[edge]:
                            won = True
                            break
                    good = good and won
                end += 1
            for edge in range(start, end):
                wins[edge] = good
            start = end


@inlined
def _hash(sets: StateSets, start: int, end: int) -> np.uint64:
    """Hash of the states in a part of the pool, whatever their order."""
    total = np.uint64(end - start)
    for k in range(start, end):
        total += ended(mixed_in(START, np.uint64(sets.pool[k])))
    return total


@inlined
def _is_same(sets: StateSets, number: int, start: int, end: int, mark: int) -> bool:
    """Whether a set has exactly the states of a part of the pool, all of which have this mark."""
    if sets.start[number + 1] - sets.start[number] != end - start:
        return False
    for k in range(sets.start[number], sets.start[number + 1]):
        if sets.mark[sets.pool[k]] != mark:
            return False
    return True


@inlined
def _interned(sets: StateSets, start: int, end: int, mark: int) -> int:
    """The set of the distinct states in a part of the pool; if it is new, they are moved to the
    end of the sets, which must not be after them."""
    mask = np.uint64(len(sets.slots) - 1)
    slot = _hash(sets, start, end) & mask
    while sets.slots[slot] >= 0:
        if _is_same(sets, sets.slots[slot], start, end, mark):
            return int(sets.slots[slot])
        slot = (slot + np.uint64(1)) & mask
    number = int(sets.sizes[NUM_SETS])
    sets.sizes[NUM_SETS] += 1
    sets.slots[slot] = number
    at = sets.start[number]
    for k in range(start, end):
        sets.pool[at + k - start] = sets.pool[k]
    sets.start[number + 1] = at + end - start
    sets.known[number] = UNDECIDED
    sets.best[number] = -1
    return number


@inlined
def _new_mark(sets: StateSets) -> int:
    sets.sizes[MARK] += 1
    return int(sets.sizes[MARK])


@inlined
def _list_moves(
    first: I32, move: I32, child: I32, wins: BoolArray, sets: StateSets, number: int
) -> int:
    """Push the moves that win in every state of a set, those first after which least goes on.

    Returns:
        number of edges looked at.
    """
    size = sets.start[number + 1] - sets.start[number]
    work, touched = 0, 0
    for k in range(sets.start[number], sets.start[number + 1]):
        state = sets.pool[k]
        before = -1
        for edge in range(first[state], first[state + 1]):
            work += 1
            if not wins[edge]:
                continue
            made = move[edge]
            if sets.legal[made] == 0:
                sets.touched[touched] = made
                touched += 1
                sets.going_on[made] = 0
            if made != before:
                sets.legal[made] += 1
                before = made
            if child[edge] >= 0:
                sets.going_on[made] += 1
    depth = sets.sizes[DEPTH]
    low = sets.frame[depth, 1]
    high = low
    for k in range(touched):
        made = sets.touched[k]
        if sets.legal[made] == size:
            at = high
            while at > low and (
                sets.going_on[sets.moves[at - 1]] > sets.going_on[made]
                or (
                    sets.going_on[sets.moves[at - 1]] == sets.going_on[made]
                    and sets.moves[at - 1] > made
                )
            ):
                sets.moves[at] = sets.moves[at - 1]
                at -= 1
            sets.moves[at] = made
            high += 1
        sets.legal[made] = 0
    sets.frame[depth, 2] = high
    sets.frame[depth, 3] = low
    return work


@inlined
def _list_children(
    first: I32, move: I32, percept: I32, child: I32, sets: StateSets, number: int, made: int
) -> int:
    """Push the sets that a move leads to, the largest first.

    Returns:
        number of edges looked at; -1 if there is no room for the sets.
    """
    mark = _new_mark(sets)
    work, touched, total = 0, 0, 0
    for k in range(sets.start[number], sets.start[number + 1]):
        state = sets.pool[k]
        for edge in range(first[state], first[state + 1]):
            work += 1
            if move[edge] == made and child[edge] >= 0:
                told = percept[edge]
                if sets.percept_mark[told] != mark:
                    sets.percept_mark[told] = mark
                    sets.percept_count[told] = 0
                    sets.touched[touched] = told
                    touched += 1
                sets.percept_count[told] += 1
                total += 1
    depth = sets.sizes[DEPTH]
    low = sets.frame[depth, 4]
    count = sets.sizes[NUM_SETS]
    end = int(sets.start[count])
    # First all together behind the sets, by what we are told; each then moves up.
    if (
        end + total > len(sets.pool)
        or count + touched + 1 >= len(sets.start)
        or 2 * (count + touched) >= len(sets.slots)
        or low + touched > len(sets.children)
    ):
        return -1
    at = end
    for k in range(touched):
        sets.percept_place[sets.touched[k]] = at
        at += sets.percept_count[sets.touched[k]]
    for k in range(sets.start[number], sets.start[number + 1]):
        state = sets.pool[k]
        for edge in range(first[state], first[state + 1]):
            if move[edge] == made and child[edge] >= 0:
                told = percept[edge]
                sets.pool[sets.percept_place[told]] = child[edge]
                sets.percept_place[told] += 1
    high = low
    for k in range(touched):
        told = sets.touched[k]
        upto = sets.percept_place[told]
        start = upto - sets.percept_count[told]
        mark = _new_mark(sets)
        size = 0
        for place in range(start, upto):
            state = sets.pool[place]
            if sets.mark[state] != mark:
                sets.mark[state] = mark
                sets.pool[start + size] = state
                size += 1
        found = _interned(sets, start, start + size, mark)
        at = high
        while at > low and _size(sets, sets.children[at - 1]) < _size(sets, found):
            sets.children[at] = sets.children[at - 1]
            at -= 1
        sets.children[at] = found
        high += 1
    sets.frame[depth, 5] = high
    sets.frame[depth, 6] = low
    return work


@inlined
def _size(sets: StateSets, number: int) -> int:
    return int(sets.start[number + 1] - sets.start[number])


@kernel
def decide_sets(
    first: I32,
    move: I32,
    percept: I32,
    child: I32,
    wins: BoolArray,
    sets: StateSets,
    root: int,
    most: int,
) -> int:
    """Decide whether a win is sure in a set, or go on with that.

    Args:
        first, move, percept, child: see `ggp.search.sure_wins.TurnGraph`.
        wins: from `find_winning`.
        root: the set; -1 to go on with what was begun.
        most: edges to look at, about, before it stops.

    Returns:
        `DECIDED`, `STOPPED`, or `FULL` if there is no room for more sets.
    """
    work = 0
    if root >= 0:
        sets.sizes[DEPTH] = -1
        if sets.known[root] != UNDECIDED:
            return DECIDED
        sets.sizes[DEPTH] = 0
        sets.frame[0, 0] = root
        sets.frame[0, 1] = 0
        sets.frame[0, 4] = 0
        work += _list_moves(first, move, child, wins, sets, root)
        sets.frame[0, 5] = -1
    while sets.sizes[DEPTH] >= 0:
        if work >= most:
            return STOPPED
        depth = sets.sizes[DEPTH]
        number = int(sets.frame[depth, 0])
        now = sets.frame[depth, 3]
        if sets.frame[depth, 5] < 0:  # begin with the next move
            if now == sets.frame[depth, 2]:
                sets.known[number] = UNSURE
                sets.sizes[DEPTH] -= 1
                continue
            more = _list_children(first, move, percept, child, sets, number, sets.moves[now])
            if more < 0:
                return FULL
            work += more
        at = sets.frame[depth, 6]
        if at == sets.frame[depth, 5]:
            sets.known[number] = SURE
            sets.best[number] = sets.moves[now]
            sets.sizes[DEPTH] -= 1
            continue
        below = int(sets.children[at])
        if sets.known[below] == SURE:
            sets.frame[depth, 6] += 1
        elif sets.known[below] == UNSURE:
            sets.frame[depth, 3] += 1
            sets.frame[depth, 5] = -1
        else:
            deeper = depth + 1
            sets.sizes[DEPTH] = deeper
            sets.frame[deeper, 0] = below
            sets.frame[deeper, 1] = sets.frame[depth, 2]
            sets.frame[deeper, 4] = sets.frame[depth, 5]
            if sets.frame[depth, 2] + len(sets.legal) > len(sets.moves):
                return FULL
            work += _list_moves(first, move, child, wins, sets, below)
            sets.frame[deeper, 5] = -1
    return DECIDED


@kernel
def add_set(sets: StateSets, states: IntArray) -> int:
    """The number of a set of distinct states; -1 if there is no room for it."""
    count = sets.sizes[NUM_SETS]
    start = int(sets.start[count])
    if start + len(states) > len(sets.pool) or count + 1 >= len(sets.start):
        return -1
    mark = _new_mark(sets)
    for k in range(len(states)):
        sets.mark[states[k]] = mark
        sets.pool[start + k] = states[k]
    return _interned(sets, start, start + len(states), mark)


# ------------------------------------------------------------------------

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
) -> StateSets:
    """Room for sets of the states of a graph."""

    def empty(*shape: int) -> I32:
        return np.zeros(shape, dtype=np.int32)

    return StateSets(
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


# ------------------------------------------------------------------------
# The states that may follow a set of states, turn by turn, and what one role is told on the way.
#
# Equal states of a turn are merged, whatever led to them: a win that is sure does not depend on
# what the others know. So the graph of a whole game may be small where its tree is not: dark hex on
# nine cells has 422,000 states.
#
# edge of a state our move what we are told the state after it, or how it ended
#
# Edges of a state that begin with the same move of ours are neighbours. A graph may be cut where
# there was no more room or time; what lies beyond counts as no win.

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
    """The edges of the states of one turn, with ids of the machine.

    Attributes:
        counts: edges of each state.
        moves, percepts: of each edge.
        after: the state of the next turn that it leads to, or how the game ended.
    """

    counts: IntArray
    moves: IntArray
    percepts: IntArray
    after: IntArray


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
    while is_whole and len(layers[-1]):
        try:
            found = _next_turn(machine, layers[-1], role, room)
        except OutOfTime:
            found = None
        is_whole = found is not None
        if found is not None:
            turns.append(found[0])
            layers.append(found[1])
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
    number = int(joint.offsets[-1])
    moves, percepts = np.empty((2, number), dtype=np.int64)
    successors = StateMerger(machine, states)
    for start, end in Pace(room.deadline, TIMED_LANES, LANES_AT_ONCE).batches(number):
        state, made = joint.some(start, end)
        after, told = machine.step(states.take(state), made)
        moves[start:end], percepts[start:end] = made[:, role], told[:, role]
        successors.add(after)
    layer = successors.merged()
    over = machine.terminal(layer.states)
    code = np.cumsum(~over) - 1
    ended = np.flatnonzero(over)
    if len(ended):
        goals = machine.goals(layer.states.take(ended))[:, role]
        code[ended] = np.where(goals >= machine.goal_range[1], WON, LOST)
    room.used(number)
    turn = _Turn(np.diff(joint.offsets), moves, percepts, code[layer.after])
    return turn, layer.states.take(np.flatnonzero(~over))


def _joined(
    machine: Machine, layers: list[States], turns: list[_Turn], *, is_whole: bool
) -> TurnGraph:
    """The turns as one graph; states of a last layer whose turn is missing have no edges."""
    none = np.zeros(0, dtype=np.int64)
    base = np.cumsum([len(states) for states in layers])
    child = [
        np.where(turn.after >= 0, begin + turn.after, turn.after)
        for begin, turn in zip(base, turns, strict=False)
    ]
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
        np.concatenate([none, *child]).astype(np.int32),
        ids[order],
        len(told),
        is_whole,
    )


# ------------------------------------------------------------------------
# What moves are worth that end the match at once.
#
# A move that wins at once in most worlds is worth as much, whatever a tree says of it that tried it
# a few times: the others may not be in the way, but a search may have begun in worlds where they
# were. And a move that ends the match in all of them is worth a mean of goals that can be counted.

MOST_JOINT = 20_000
"""Most joint moves that are tried: more would take long."""


def worth_at_once(
    machine: Machine,
    states: States,
    weights: FloatArray,
    role: int,
    moves: IntArray,
    deadline: Deadline | None = None,
) -> tuple[FloatArray, FloatArray]:
    """`[C]` the least and the most that moves of a role are worth, judging by what ends at once.

    They are means over the states of the lowest and the highest goal that the others may bring
    about. Where a match may go on, or the move is not legal, any goal may come of it.

    Args:
        states: N of them.
        weights: `[N]` they sum to 1.
        moves: `[C]`.

    Raises:
        GoalError, ReasonerLimitError: raised by the machine.
        OutOfTime: the deadline passed before they were known.
    """
    low, high = machine.goal_range
    least, most = np.full(len(moves), low), np.full(len(moves), high)
    joint = joint_moves(machine, states, role, deadline)
    if not 0 < joint.number <= MOST_JOINT:
        return least, most
    state, made = joint.some(0, int(joint.offsets[-1]))
    goals = np.clip(_goals_at_once(machine, states.take(state), made, role, deadline), low, high)
    goes_on = np.isnan(goals)
    worst, best = np.where(goes_on, low, goals), np.where(goes_on, high, goals)
    if (worst == low).all() and (best == high).all():
        return least, most
    # A role's own move is the first choice: those that begin with it are neighbours.
    own = made[:, role]
    starts = np.flatnonzero(np.diff(state, prepend=-1) | np.diff(own, prepend=-1))
    worst, best = np.minimum.reduceat(worst, starts), np.maximum.reduceat(best, starts)
    for k, move in enumerate(moves.tolist()):
        mine = starts[own[starts] == move]
        share = weights[state[mine]]
        least[k] += share @ (worst[own[starts] == move] - low)
        most[k] -= share @ (high - best[own[starts] == move])
    return least, most


def mean_at_once(
    machine: Machine,
    bag: Bags,
    moves: IntArray,
    model: MoveModel = UNIFORM,
    deadline: Deadline | None = None,
) -> FloatArray:
    """`[C]` the mean goal of moves that end the match at once in every entry of a bag, whatever the
    others do; NaN for all others.

    This is their HyperPlay value, and their HyperPlay-II value: the others make their first moves
    by `model`.

    Args:
        bag: one bag with entries, which need views if the model goes by paths.
        moves: `[C]`, different ones.

    Raises:
        GoalError, ReasonerLimitError: raised by the machine.
        OutOfTime: the deadline passed before they were known.
    """
    means = np.zeros(len(moves))
    weights, lanes = bag.weights_of(0), bag.lanes_of(0)
    likeliest = np.array([np.argmax(weights)])
    # Most moves end no match: one entry is enough to see that.
    for some in (likeliest, np.arange(len(lanes))):
        left = np.flatnonzero(~np.isnan(means))
        if len(left):
            shares = weights[some] / weights[some].sum()
            ends = _means_of_ends(machine, bag, lanes[some], shares, moves[left], model, deadline)
            means[left] = ends
    return means


def _means_of_ends(
    machine: Machine,
    bag: Bags,
    lanes: IntArray,
    weights: FloatArray,
    moves: IntArray,
    model: MoveModel,
    deadline: Deadline | None,
) -> FloatArray:
    """`mean_at_once` in some entries, whose weights sum to 1."""
    unknown = np.full(len(moves), np.nan)
    states, views = bag.sets.states.take(lanes), bag.sets.views
    joint = joint_moves(machine, states, bag.role, deadline)
    joint = joint.only(bag.role, np.isin(joint.lists[bag.role].values, moves))
    if not 0 < joint.number <= MOST_JOINT:
        return unknown
    state, places = joint.places(0, int(joint.offsets[-1]))
    shares = weights[state]
    for role, lists in enumerate(joint.lists):
        if role == machine.random_role:
            shares *= joint.probabilities[places[:, role]]
        elif role != bag.role:
            paths = None if views is None else views[lanes, role]
            logs = log_likelihoods(model, machine, states, role, lists, paths)
            shares *= np.exp(logs[places[:, role]])
    made = joint.at(places)
    goals = _goals_at_once(machine, states.take(state), made, bag.role, deadline)
    order = np.argsort(moves)
    owner = order[np.searchsorted(moves, made[:, bag.role], sorter=order)]
    # Less than 1 where a move is illegal in some entries.
    total = np.bincount(owner, shares, minlength=len(moves))
    sums = np.bincount(owner, shares * goals, minlength=len(moves))
    return np.where(np.isclose(total, 1), sums / np.where(total > 0, total, 1.0), unknown)


def _goals_at_once(
    machine: Machine, states: States, joint: IntArray, role: int, deadline: Deadline | None
) -> FloatArray:
    """`[K]` goal of a role after a joint move in each state, where that ends the match, else NaN.

    Raises:
        OutOfTime: the deadline passed before they were known.
    """
    goals = np.full(len(joint), np.nan)
    for start, end in Pace(deadline, TIMED_LANES, LANES_AT_ONCE).batches(len(joint)):
        after = machine.step(states.take(np.arange(start, end)), joint[start:end]).states
        ended = np.flatnonzero(machine.terminal(after))
        if len(ended):
            goals[start + ended] = machine.goals(after.take(ended))[:, role]
    return goals

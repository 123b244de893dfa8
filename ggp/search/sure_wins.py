"""Finds moves of a role that win for certain from its exact information set, whatever others do.

A player passes the states of the set each turn, and gets a move or None. `SureWins` keeps the graph
of turns that it builds. A complete graph serves for the rest of the match, and a sure win continues
in it in any case. Otherwise it builds a new one from the set of the turn, which may be smaller.
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
# Kernels that decide in which sets of states a role has a sure win: an AND-OR search over
# information sets.
#
# Rule: a win is sure in a set if one of our moves, legal in all its states, leads only to won ends
# and to sets in which a win is sure, one set for each percept that we may get. The others'
# information and goals do not matter: they may do anything.
#
# `find_winning` first marks the moves that win in one state if we saw everything. Only a move that
# is marked in every state of a set can win there (a necessary condition), so few sets remain.
# `decide_sets` then searches depth first. It keeps its own stack, so it can stop and continue.

I32 = NDArray[np.int32]

WON, LOST = -1, -2
"""In place of a state: the game is over with the best goal, or without it."""

UNDECIDED, SURE, UNSURE = 0, 1, 2
"""Verdicts about a set."""

NUM_SETS, DEPTH, MARK = 0, 1, 2
"""Indices into `StateSets.sizes`."""

STOPPED, DECIDED, FULL = 0, 1, 2
"""How `decide_sets` ends."""


@by_reference
class StateSets(NamedTuple):
    """Sets of states of a graph with S states, M moves and P percepts, and the stack of a search.

    Attributes:
        sizes: number of sets, depth of the stack, and the last mark.
        start: `[I + 1]` where the states of each set begin in `pool`.
        pool: states, set after set; new sets are built behind the last one.
        verdicts: `[I]` verdict about each set.
        best: `[I]` the move that wins in it for sure.
        slots: sets by hash of their states, -1 if free.
        mark: `[S]` last mark of each state.
        percept_mark, percept_end, percept_count: `[P]` last mark, next free row in `pool`, and
            number of states of each.
        legal, unfinished: `[M]` number of states in which a move is legal and wins, and of edges
            after it that do not end the match.
        touched: `[max(M, P)]` moves or percepts that occurred.
        frame: `[D, 7]` stack of the search: a set, its moves in `moves` (from, to, current), and
            the children of the current move in `children` (from, to, current).
        moves, children: stacks of moves and of sets.
    """

    sizes: IntArray
    start: I32
    pool: I32
    verdicts: NDArray[np.int8]
    best: I32
    slots: I32
    mark: I32
    percept_mark: I32
    percept_end: I32
    percept_count: I32
    legal: I32
    unfinished: I32
    touched: I32
    frame: I32
    moves: I32
    children: I32


@kernel
def find_winning(first: I32, move: I32, child: I32, wins: BoolArray) -> None:
    """Mark the edges `[E]` whose move wins in their state if we see everything from there on.

    Backward induction: a child has a greater number than its parent, so its edges are final.
    """
    for state in range(len(first) - 2, -1, -1):
        start = first[state]
        while start < first[state + 1]:
            end = start
            wins_always = True
            while end < first[state + 1] and move[end] == move[start]:
                successor = child[end]
                if successor == LOST:
                    wins_always = False
                elif successor >= 0:
                    # A state is won if one of its moves wins.
                    is_won = False
                    for edge in range(first[successor], first[successor + 1]):
                        if wins[edge]:
                            is_won = True
                            break
                    wins_always = wins_always and is_won
                end += 1
            for edge in range(start, end):
                wins[edge] = wins_always
            start = end


@inlined
def _hash(sets: StateSets, start: int, end: int) -> np.uint64:
    """Hash of the states in a part of the pool, independent of their order."""
    total = np.uint64(end - start)
    for k in range(start, end):
        total += ended(mixed_in(START, np.uint64(sets.pool[k])))
    return total


@inlined
def _is_set(sets: StateSets, set_id: int, start: int, end: int, mark: int) -> bool:
    """Whether a set has exactly the states of a part of the pool, which all carry this mark."""
    if sets.start[set_id + 1] - sets.start[set_id] != end - start:
        return False
    for k in range(sets.start[set_id], sets.start[set_id + 1]):
        if sets.mark[sets.pool[k]] != mark:
            return False
    return True


@inlined
def _intern(sets: StateSets, start: int, end: int, mark: int) -> int:
    """Id of the set of distinct states in a part of the pool (hash-consing).

    The states of a new set move down to the end of the last set.
    """
    mask = np.uint64(len(sets.slots) - 1)
    slot = _hash(sets, start, end) & mask
    while sets.slots[slot] >= 0:
        if _is_set(sets, sets.slots[slot], start, end, mark):
            return int(sets.slots[slot])
        slot = (slot + np.uint64(1)) & mask
    set_id = int(sets.sizes[NUM_SETS])
    sets.sizes[NUM_SETS] += 1
    sets.slots[slot] = set_id
    target = sets.start[set_id]
    for k in range(start, end):
        sets.pool[target + k - start] = sets.pool[k]
    sets.start[set_id + 1] = target + end - start
    sets.verdicts[set_id] = UNDECIDED
    sets.best[set_id] = -1
    return set_id


@inlined
def _new_mark(sets: StateSets) -> int:
    sets.sizes[MARK] += 1
    return int(sets.sizes[MARK])


@inlined
def _list_moves(
    first: I32, move: I32, child: I32, wins: BoolArray, sets: StateSets, set_id: int
) -> int:
    """Push the moves that win in every state of a set, those with the fewest open edges first.

    Returns:
        number of edges visited.
    """
    size = sets.start[set_id + 1] - sets.start[set_id]
    work, touched = 0, 0
    for k in range(sets.start[set_id], sets.start[set_id + 1]):
        state = sets.pool[k]
        previous = -1
        for edge in range(first[state], first[state + 1]):
            work += 1
            if not wins[edge]:
                continue
            choice = move[edge]
            if sets.legal[choice] == 0:
                sets.touched[touched] = choice
                touched += 1
                sets.unfinished[choice] = 0
            if choice != previous:
                sets.legal[choice] += 1
                previous = choice
            if child[edge] >= 0:
                sets.unfinished[choice] += 1
    depth = sets.sizes[DEPTH]
    low = sets.frame[depth, 1]
    high = low
    for k in range(touched):
        choice = sets.touched[k]
        if sets.legal[choice] == size:
            row = high
            while row > low and (
                sets.unfinished[sets.moves[row - 1]] > sets.unfinished[choice]
                or (
                    sets.unfinished[sets.moves[row - 1]] == sets.unfinished[choice]
                    and sets.moves[row - 1] > choice
                )
            ):
                sets.moves[row] = sets.moves[row - 1]
                row -= 1
            sets.moves[row] = choice
            high += 1
        sets.legal[choice] = 0
    sets.frame[depth, 2] = high
    sets.frame[depth, 3] = low
    return work


@inlined
def _list_children(
    first: I32, move: I32, percept: I32, child: I32, sets: StateSets, set_id: int, choice: int
) -> int:
    """Push the sets that a move leads to, the largest first.

    Returns:
        number of edges visited; -1 if there is no room for the sets.
    """
    mark = _new_mark(sets)
    work, touched, total = 0, 0, 0
    for k in range(sets.start[set_id], sets.start[set_id + 1]):
        state = sets.pool[k]
        for edge in range(first[state], first[state + 1]):
            work += 1
            if move[edge] == choice and child[edge] >= 0:
                percept_id = percept[edge]
                if sets.percept_mark[percept_id] != mark:
                    sets.percept_mark[percept_id] = mark
                    sets.percept_count[percept_id] = 0
                    sets.touched[touched] = percept_id
                    touched += 1
                sets.percept_count[percept_id] += 1
                total += 1
    depth = sets.sizes[DEPTH]
    low = sets.frame[depth, 4]
    count = sets.sizes[NUM_SETS]
    end = int(sets.start[count])
    # A counting sort by percept behind the last set; each group then becomes a set.
    if (
        end + total > len(sets.pool)
        or count + touched + 1 >= len(sets.start)
        or 2 * (count + touched) >= len(sets.slots)
        or low + touched > len(sets.children)
    ):
        return -1
    row = end
    for k in range(touched):
        sets.percept_end[sets.touched[k]] = row
        row += sets.percept_count[sets.touched[k]]
    for k in range(sets.start[set_id], sets.start[set_id + 1]):
        state = sets.pool[k]
        for edge in range(first[state], first[state + 1]):
            if move[edge] == choice and child[edge] >= 0:
                percept_id = percept[edge]
                sets.pool[sets.percept_end[percept_id]] = child[edge]
                sets.percept_end[percept_id] += 1
    high = low
    for k in range(touched):
        percept_id = sets.touched[k]
        stop = sets.percept_end[percept_id]
        start = stop - sets.percept_count[percept_id]
        mark = _new_mark(sets)
        size = 0
        for position in range(start, stop):
            state = sets.pool[position]
            if sets.mark[state] != mark:
                sets.mark[state] = mark
                sets.pool[start + size] = state
                size += 1
        child_set = _intern(sets, start, start + size, mark)
        row = high
        while row > low and _size(sets, sets.children[row - 1]) < _size(sets, child_set):
            sets.children[row] = sets.children[row - 1]
            row -= 1
        sets.children[row] = child_set
        high += 1
    sets.frame[depth, 5] = high
    sets.frame[depth, 6] = low
    return work


@inlined
def _size(sets: StateSets, set_id: int) -> int:
    return int(sets.start[set_id + 1] - sets.start[set_id])


@kernel
def decide_sets(
    first: I32,
    move: I32,
    percept: I32,
    child: I32,
    wins: BoolArray,
    sets: StateSets,
    root: int,
    budget: int,
) -> int:
    """Decide whether a win is sure in a set, or continue to.

    A move is dropped at its first child that is `UNSURE`; a set is `SURE` by its first move whose
    children all are. The verdicts of sets are stored, so each set is decided once.

    Args:
        first, move, percept, child: see `ggp.search.sure_wins.TurnGraph`.
        wins: from `find_winning`.
        root: the set; -1 to continue the last search.
        budget: approximate number of edges to visit before it stops.

    Returns:
        `DECIDED`, `STOPPED`, or `FULL` if there is no room for more sets.
    """
    work = 0
    if root >= 0:
        sets.sizes[DEPTH] = -1
        if sets.verdicts[root] != UNDECIDED:
            return DECIDED
        sets.sizes[DEPTH] = 0
        sets.frame[0, 0] = root
        sets.frame[0, 1] = 0
        sets.frame[0, 4] = 0
        work += _list_moves(first, move, child, wins, sets, root)
        sets.frame[0, 5] = -1
    while sets.sizes[DEPTH] >= 0:
        if work >= budget:
            return STOPPED
        # The top of the stack. Entry 5 is -1 until the children of the current move are listed.
        depth = sets.sizes[DEPTH]
        set_id = int(sets.frame[depth, 0])
        current = sets.frame[depth, 3]
        if sets.frame[depth, 5] < 0:  # begin with the next move
            if current == sets.frame[depth, 2]:
                sets.verdicts[set_id] = UNSURE
                sets.sizes[DEPTH] -= 1
                continue
            edges = _list_children(first, move, percept, child, sets, set_id, sets.moves[current])
            if edges < 0:
                return FULL
            work += edges
        child_index = sets.frame[depth, 6]
        if child_index == sets.frame[depth, 5]:
            sets.verdicts[set_id] = SURE
            sets.best[set_id] = sets.moves[current]
            sets.sizes[DEPTH] -= 1
            continue
        child_set = int(sets.children[child_index])
        if sets.verdicts[child_set] == SURE:
            sets.frame[depth, 6] += 1
        elif sets.verdicts[child_set] == UNSURE:
            sets.frame[depth, 3] += 1
            sets.frame[depth, 5] = -1
        else:
            deeper = depth + 1
            sets.sizes[DEPTH] = deeper
            sets.frame[deeper, 0] = child_set
            sets.frame[deeper, 1] = sets.frame[depth, 2]
            sets.frame[deeper, 4] = sets.frame[depth, 5]
            if sets.frame[depth, 2] + len(sets.legal) > len(sets.moves):
                return FULL
            work += _list_moves(first, move, child, wins, sets, child_set)
            sets.frame[deeper, 5] = -1
    return DECIDED


@kernel
def add_set(sets: StateSets, states: IntArray) -> int:
    """Id of a set of distinct states; -1 if there is no room for it."""
    count = sets.sizes[NUM_SETS]
    start = int(sets.start[count])
    if start + len(states) > len(sets.pool) or count + 1 >= len(sets.start):
        return -1
    mark = _new_mark(sets)
    for k in range(len(states)):
        sets.mark[states[k]] = mark
        sets.pool[start + k] = states[k]
    return _intern(sets, start, start + len(states), mark)


# ------------------------------------------------------------------------

MAX_EDGES = 2_000_000
"""Greatest number of edges of a graph under a clock: bounds memory."""

MAX_SETS, MAX_IN_SETS = 1 << 15, 1 << 21
"""Greatest number of sets of states of a graph, and of their states in all."""

STACK = 1 << 16
"""Room for moves and sets on the stack."""

WORK = 200_000
"""Edges to visit between two checks of the clock."""

SHARE = 0.5
"""Greatest share of the time for this search. A graph that seems too large for it is given up
early, and a complete one is reused."""

PACE, SLOW_PACE = 1.5e6, 2e4
"""Edges a second that are expected at first: on circuits, and on other backends."""


class SureWins:
    """The sure wins of one role of a match.

    Args:
        role: the role that wins with its best goal.
    """

    def __init__(self, machine: Machine, role: int) -> None:
        self._machine, self._role = machine, role
        self._search: _GraphSearch | None = None
        self._pace = PACE if machine.backend == "propnet" else SLOW_PACE

    def move(
        self, states: States, turn: int, budget: int, deadline: Deadline | None = None
    ) -> int | None:
        """A move that begins a sure win; None if there is none, or none was found.

        Args:
            states: all states of the role's information set.
            turn: turns since the start.
            budget: greatest number of edges of a graph, and of visits, without a deadline.
            deadline: the search takes at most a share of the time until then.

        Raises:
            GGPError: raised by the machine.
        """
        machine = self._machine
        states = states.take(first_seen(machine.groups(states))[0])
        states = states.take(np.flatnonzero(~machine.terminal(states)))
        if not len(states):
            return None
        cutoff = part_of(deadline, SHARE)
        if self._search is not None:
            is_known, move = self._search.move(states, turn, budget, cutoff)
            if is_known and (move is not None or self._search.is_whole):
                return move
        room = Room(budget if cutoff is None else MAX_EDGES, cutoff, self._pace)
        self._search = _GraphSearch(machine, turn_graph(machine, states, self._role, room), turn)
        self._pace = room.pace
        return self._search.move(states, turn, budget, cutoff)[1]


class _GraphSearch:
    """A graph with verdicts about sets of its states.

    Attributes:
        is_whole: whether the graph is complete: then a win that is not found is not sure.
    """

    def __init__(self, machine: Machine, graph: TurnGraph, turn: int) -> None:
        self._machine, self._graph, self._turn = machine, graph, turn
        self.is_whole = graph.is_whole
        self._wins = np.zeros(len(graph.move), dtype=np.bool_)
        find_winning(graph.first, graph.move, graph.child, self._wins)
        num_states, num_moves = len(graph.first) - 1, len(graph.moves)

        size = num_states, num_moves, graph.num_percepts, len(graph.states)
        self._sets = _empty_sets(*size, MAX_SETS, MAX_IN_SETS)

    def move(
        self, states: States, turn: int, budget: int, deadline: Deadline | None
    ) -> tuple[bool, int | None]:
        """Whether the set is in the graph and decided, and a move that wins in it for sure."""
        graph, sets = self._graph, self._sets
        ids = graph.find(self._machine, states, turn - self._turn)
        if ids is None:
            return False, None
        root = set_id = add_set(sets, ids)
        if set_id < 0:
            return False, None
        outcome, remaining = STOPPED, budget
        while outcome == STOPPED and (remaining > 0 if deadline is None else not deadline.passed()):
            edges = graph.first, graph.move, graph.percept, graph.child
            outcome = decide_sets(*edges, self._wins, sets, root, WORK)
            root, remaining = -1, remaining - WORK
        if sets.verdicts[set_id] == SURE:
            return True, int(graph.moves[sets.best[set_id]])
        return outcome == DECIDED and sets.verdicts[set_id] != UNDECIDED, None


def _empty_sets(
    states: int, moves: int, percepts: int, turns: int, max_sets: int, max_states: int
) -> StateSets:
    """Room for sets of the states of a graph."""

    def empty(*shape: int) -> I32:
        return np.zeros(shape, dtype=np.int32)

    return StateSets(
        sizes=np.zeros(3, dtype=np.int64),
        start=empty(max_sets + 1),
        pool=empty(max_states),
        verdicts=np.zeros(max_sets, dtype=np.int8),
        best=empty(max_sets),
        slots=np.full(4 * max_sets, -1, dtype=np.int32),
        mark=empty(states),
        percept_mark=empty(percepts),
        percept_end=empty(percepts),
        percept_count=empty(percepts),
        legal=empty(moves),
        unfinished=empty(moves),
        touched=empty(max(moves, percepts)),
        frame=empty(turns + 2, 7),
        moves=empty(max(STACK, 2 * moves)),
        children=empty(STACK),
    )


def load_sure_kernels() -> None:
    """Compile the kernels, or load them from the cache, before a clock runs."""
    no_edges, first, wins = (np.zeros(0, np.int32), np.zeros(2, np.int32), np.zeros(0, np.bool_))
    find_winning(first, no_edges, no_edges, wins)
    sets = _empty_sets(1, 1, 1, 1, 2, 2)
    add_set(sets, np.zeros(1, dtype=np.int64))
    decide_sets(first, no_edges, no_edges, no_edges, wins, sets, 0, 1)


# ------------------------------------------------------------------------
# The graph of states that may follow a set of states, turn by turn, with the percepts of one role.
#
# Equal states of a turn are merged, for a sure win does not depend on the others' information. So
# the graph of a whole game may be small where its tree is large: dark hex on nine cells has 422,000
# states.
#
#     an edge of a state:   our move,   our percept,   the next state, or how the game ended
#
# Edges of a state with the same move of ours are neighbours. A graph is cut where room or time runs
# out; everything beyond the cut counts as no win, which is sound.

MANY_EDGES = 4096
"""Only turns of at least this many edges measure the pace."""

CHEAP = 0.02
"""A turn that costs at most this share of the room is always built: the first turns say little
about later ones."""

SLOWING, FORESEEN = 0.8, 8
"""Factor of the growth of turns from each to the next, and number of turns in a forecast. With
these, the forecast for dark hex on nine cells, with 1.2 million edges, is right within a factor of
two."""


class TurnGraph(NamedTuple):
    """S states at which the game is not over, and E edges, sorted by state and then by our move.

    Attributes:
        states: of each turn; they are numbered from turn to turn.
        first: `[S + 1]` edges of each state.
        move: `[E]` our move, as an index into `moves`.
        percept: `[E]` our percept, as an index from 0 to `num_percepts` - 1.
        child: `[E]` the next state, which has a greater number, or `WON` or `LOST`.
        moves: the machine's ids of our moves, by text.
        num_percepts: number of distinct percepts.
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
        layer = self.states[turn]
        group = machine.groups(machine.concatenate([layer, states]))
        index = np.full(int(group.max()) + 1, -1, dtype=np.int64)
        index[group[: len(layer)]] = np.arange(len(layer))
        indices = index[group[len(layer) :]]
        if (indices < 0).any():
            return None
        return sum(len(earlier) for earlier in self.states[:turn]) + indices


class Room:
    """The budget of a graph: edges, or time.

    With a deadline the graph is cut early if a forecast says that it cannot be completed: turns are
    assumed to grow by a factor that shrinks from turn to turn.

    Args:
        most_edges: of all turns together.
        deadline: the last turn ends before it.
        pace: expected edges a second.

    Attributes:
        pace: the last measurement.
    """

    def __init__(self, most_edges: int, deadline: Deadline | None, pace: float) -> None:
        self.deadline, self.pace = deadline, pace
        self._edges_left = float(most_edges)
        self._sizes: list[float] = []
        self._checked_s = 0.0 if deadline is None else deadline.clock()

    def allows(self, num_edges: float) -> bool:
        """Whether there is room for a turn of so many edges."""
        room = self._edges_left
        if self.deadline is not None:
            self._checked_s = self.deadline.clock()
            room = min(room, self.pace * self.deadline.left_s())
            if num_edges > CHEAP * room:
                num_edges = self._forecast(num_edges)
        return num_edges <= room

    def record(self, num_edges: int) -> None:
        """Record the edges of a turn, and measure the pace."""
        self._edges_left -= num_edges
        self._sizes.append(max(num_edges, 1))
        if self.deadline is not None and num_edges >= MANY_EDGES:
            took_s = self.deadline.clock() - self._checked_s
            if took_s > 0:
                self.pace = num_edges / took_s

    def _forecast(self, num_edges: float) -> float:
        """Rough number of edges of all turns to come, if the next one has this many."""
        recent = self._sizes[-2:]
        growth = (num_edges / recent[0]) ** (1 / len(recent)) if recent else 1.0
        total = num_edges
        for _ in range(FORESEEN):
            growth *= SLOWING
            num_edges *= growth
            total += num_edges
        return total


class _Turn(NamedTuple):
    """The edges of the states of one turn, with ids of the machine.

    Attributes:
        counts: edges of each state.
        moves, percepts: of each edge.
        after: the state of the next turn that each edge leads to, or how the game ended.
    """

    counts: IntArray
    moves: IntArray
    percepts: IntArray
    after: IntArray


def turn_graph(machine: Machine, states: States, role: int, room: Room) -> TurnGraph:
    """The graph of all continuations of distinct states at which the game is not over.

    Args:
        states: their numbers begin with 0.
        room: the graph is cut before a turn that does not fit.

    Raises:
        GoalError, ReasonerLimitError: raised by the machine.
    """
    layers, turns = [states], list[_Turn]()
    is_whole = True
    while is_whole and len(layers[-1]):
        try:
            step = _next_turn(machine, layers[-1], role, room)
        except OutOfTime:
            step = None
        is_whole = step is not None
        if step is not None:
            turns.append(step[0])
            layers.append(step[1])
    return _join_turns(machine, layers, turns, is_whole=is_whole)


def _next_turn(
    machine: Machine, states: States, role: int, room: Room
) -> tuple[_Turn, States] | None:
    """One more turn, and the states after it at which the game is not over; None without room.

    Raises:
        OutOfTime: the deadline has passed.
    """
    joint = joint_moves(machine, states, role, room.deadline)
    if not room.allows(joint.number):
        return None
    num_edges = int(joint.offsets[-1])
    moves, percepts = np.empty((2, num_edges), dtype=np.int64)
    successors = StateMerger(machine, states)
    for start, end in Pace(room.deadline, TIMED_LANES, LANES_AT_ONCE).batches(num_edges):
        state, joint_rows = joint.between(start, end)
        next_states, percept_ids = machine.step(states.take(state), joint_rows)
        moves[start:end], percepts[start:end] = joint_rows[:, role], percept_ids[:, role]
        successors.add(next_states)
    layer = successors.merged()
    over = machine.terminal(layer.states)
    code = np.cumsum(~over) - 1
    ended = np.flatnonzero(over)
    if len(ended):
        goals = machine.goals(layer.states.take(ended))[:, role]
        code[ended] = np.where(goals >= machine.goal_range[1], WON, LOST)
    room.record(num_edges)
    turn = _Turn(np.diff(joint.offsets), moves, percepts, code[layer.successors])
    return turn, layer.states.take(np.flatnonzero(~over))


def _join_turns(
    machine: Machine, layers: list[States], turns: list[_Turn], *, is_whole: bool
) -> TurnGraph:
    """The turns as one graph; states of a last layer whose turn is missing have no edges."""
    empty = np.zeros(0, dtype=np.int64)
    base = np.cumsum([len(states) for states in layers])
    child = [
        np.where(turn.after >= 0, begin + turn.after, turn.after)
        for begin, turn in zip(base, turns, strict=False)
    ]
    no_edges = np.zeros(len(layers[-1]) if len(layers) > len(turns) else 0, dtype=np.int64)
    counts = np.concatenate([*(turn.counts for turn in turns), no_edges])
    ids, move = np.unique(np.concatenate([empty, *(t.moves for t in turns)]), return_inverse=True)
    distinct, percept = np.unique(
        np.concatenate([empty, *(t.percepts for t in turns)]), return_inverse=True
    )
    # By text: the order of ids could give away what is hidden.
    order = sorted(range(len(ids)), key=lambda k: machine.move_text(int(ids[k])))
    rank = np.empty(len(ids), dtype=np.int64)
    rank[order] = np.arange(len(ids))
    return TurnGraph(
        tuple(layers),
        offsets_of(counts).astype(np.int32),
        rank[move].astype(np.int32),
        percept.astype(np.int32),
        np.concatenate([empty, *child]).astype(np.int32),
        ids[order],
        len(distinct),
        is_whole,
    )


# ------------------------------------------------------------------------
# Values of moves that end the match immediately.
#
# A move that wins immediately in most worlds is worth at least that share, whatever a tree says
# that tried it a few times. A move that ends the match in all worlds has an exact value: the mean
# of its goals.

MAX_JOINT = 20_000
"""Greatest number of joint moves that are tried: more would take long."""


def worth_at_once(
    machine: Machine,
    states: States,
    weights: FloatArray,
    role: int,
    moves: IntArray,
    deadline: Deadline | None = None,
) -> tuple[FloatArray, FloatArray]:
    """`[C]` lower and upper bounds of the values of a role's moves, from immediate ends.

    They are means over the states of the lowest and the highest goal, over the others' moves. Where
    the match may go on, or the move is illegal, any goal is possible.

    Args:
        states: N of them.
        weights: `[N]` they sum to 1.
        moves: `[C]`.

    Raises:
        GoalError, ReasonerLimitError: raised by the machine.
        OutOfTime: the deadline passed first.
    """
    low, high = machine.goal_range
    floors, ceilings = np.full(len(moves), low), np.full(len(moves), high)
    joint = joint_moves(machine, states, role, deadline)
    if not 0 < joint.number <= MAX_JOINT:
        return floors, ceilings
    state, rows = joint.between(0, int(joint.offsets[-1]))
    goals = np.clip(_goals_at_once(machine, states.take(state), rows, role, deadline), low, high)
    goes_on = np.isnan(goals)
    worst, best = np.where(goes_on, low, goals), np.where(goes_on, high, goals)
    if (worst == low).all() and (best == high).all():
        return floors, ceilings
    # A role's own move is the first choice: joint moves that begin with it are neighbours.
    own_moves = rows[:, role]
    starts = np.flatnonzero(np.diff(state, prepend=-1) | np.diff(own_moves, prepend=-1))
    worst, best = np.minimum.reduceat(worst, starts), np.maximum.reduceat(best, starts)
    for k, move in enumerate(moves.tolist()):
        groups = starts[own_moves[starts] == move]
        share = weights[state[groups]]
        floors[k] += share @ (worst[own_moves[starts] == move] - low)
        ceilings[k] -= share @ (high - best[own_moves[starts] == move])
    return floors, ceilings


def mean_at_once(
    machine: Machine,
    bag: Bags,
    moves: IntArray,
    model: MoveModel = UNIFORM,
    deadline: Deadline | None = None,
) -> FloatArray:
    """`[C]` mean goals of moves that end the match immediately in every entry of a bag, for all
    moves of the others; NaN for other moves.

    It is both their HyperPlay and their HyperPlay-II value: the others move by `model`.

    Args:
        bag: one bag with entries, which need views if the model goes by paths.
        moves: `[C]`, different ones.

    Raises:
        GoalError, ReasonerLimitError: raised by the machine.
        OutOfTime: the deadline passed first.
    """
    means = np.zeros(len(moves))
    weights, lanes = bag.weights_of(0), bag.lanes_of(0)
    likeliest = np.array([np.argmax(weights)])
    # Most moves end no match, and one entry is enough to see that.
    for part in (likeliest, np.arange(len(lanes))):
        open_ = np.flatnonzero(~np.isnan(means))
        if len(open_):
            shares = weights[part] / weights[part].sum()
            ends = _means_of_ends(machine, bag, lanes[part], shares, moves[open_], model, deadline)
            means[open_] = ends
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
    """`mean_at_once` for some entries, whose weights sum to 1."""
    unknown = np.full(len(moves), np.nan)
    states, views = bag.sets.states.take(lanes), bag.sets.views
    joint = joint_moves(machine, states, bag.role, deadline)
    joint = joint.only(bag.role, np.isin(joint.lists[bag.role].values, moves))
    if not 0 < joint.number <= MAX_JOINT:
        return unknown
    state, digits = joint.places(0, int(joint.offsets[-1]))
    shares = weights[state]
    for role, lists in enumerate(joint.lists):
        if role == machine.random_role:
            shares *= joint.probabilities[digits[:, role]]
        elif role != bag.role:
            paths = None if views is None else views[lanes, role]
            logs = log_likelihoods(model, machine, states, role, lists, paths)
            shares *= np.exp(logs[digits[:, role]])
    rows = joint.at(digits)
    goals = _goals_at_once(machine, states.take(state), rows, bag.role, deadline)
    order = np.argsort(moves)
    owner = order[np.searchsorted(moves, rows[:, bag.role], sorter=order)]
    # Less than 1 where a move is illegal in some entries.
    total = np.bincount(owner, shares, minlength=len(moves))
    sums = np.bincount(owner, shares * goals, minlength=len(moves))
    return np.where(np.isclose(total, 1), sums / np.where(total > 0, total, 1.0), unknown)


def _goals_at_once(
    machine: Machine, states: States, joint: IntArray, role: int, deadline: Deadline | None
) -> FloatArray:
    """`[K]` goal of a role after a joint move in each state that ends the match, else NaN.

    Raises:
        OutOfTime: the deadline passed first.
    """
    goals = np.full(len(joint), np.nan)
    for start, end in Pace(deadline, TIMED_LANES, LANES_AT_ONCE).batches(len(joint)):
        successors = machine.step(states.take(np.arange(start, end)), joint[start:end]).states
        ended = np.flatnonzero(machine.terminal(successors))
        if len(ended):
            goals[start + ended] = machine.goals(successors.take(ended))[:, role]
    return goals

"""The kernels that decide in which sets of states a role has a sure win.

A win is sure in a set if one of our moves, legal in all its states, only leads to ends that are won
and to sets in which it is sure: one for each thing that we may be told. What the others know and
want does not matter: they may do anything.

`find_winning` marks the moves that win in one state if we saw it. Only moves that do so in every
state of a set can be sure, and this leaves few sets to look at. `decide_sets` then looks depth
first, with a stack of its own, so that it can be stopped and called again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.machine.base import BoolArray, IntArray
from ggp.machine.compiling.jit import by_reference, inlined, kernel
from ggp.machine.mixing import START, ended, mixed_in

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
        first, move, percept, child: see `ggp.search.sure.sure_wins.TurnGraph`.
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

"""Makes joint moves and lists all that a tree stores about the successors, inside kernels.

In come packed states and joint moves, out come the packed successors, percept ids, whether the game
is over, goals, and the legal moves of each role. All of it is evaluated in one block:

    states ─▶ rows ─▶ `step` ─▶ rows of successors ─▶ `look` ─▶ over? the moves of each role

Two things kernels cannot do, and return to Python for: percepts get their ids from a table of the
tree, and a set that the table lacks must be spelled as text (`find_percepts`); and goals that are
missing, several, or out of range need a warning (`list_after`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.machine.base import BoolArray, FloatArray, IntArray
from ggp.machine.compiling.jit import by_reference, inlined
from ggp.machine.compiling.vectors import (
    band,
    load,
    lowest_one,
    out_of_line,
    reduce_or,
    store,
    words_of,
)
from ggp.machine.propnet.play.kernels.lanes.packing import literal, store_lanes
from ggp.machine.propnet.play.kernels.lanes.turn_parts import (
    TurnCircuit,
    ask_ahead,
    begin_turns,
    end_turns,
    is_over,
    look_ahead,
    store_all,
)
from ggp.machine.propnet.play.kernels.tapes import I32, U64, Query
from ggp.machine.rows import place_of_row

_ONE = np.uint64(1)


@by_reference
class Goals(NamedTuple):
    """The query about goals, and the number that each goal value counts as.

    Attributes:
        query: a group of goal values for each role.
        fluents: the fluents that the query reads.
        points: for each of its literals, the number that it adds to the goal of its role.
        usual: 1 for each literal whose value lies in the range, 2 for others: a role's goals are
            usual if these add up to 1.
        low, high: the range of goals.
        optional: the role that needs no goal; -1 if all need one.
        rows, mask: scratch.
    """

    query: Query
    fluents: I32
    points: FloatArray
    usual: IntArray
    low: float
    high: float
    optional: int
    rows: U64
    mask: U64


@by_reference
class Seen(NamedTuple):
    """The ids of percepts. A key is a role and the words of its percepts, or a joint move.

    Attributes:
        is_open: whether everybody sees joint moves.
        starts: `[R + 1]` word at which the percepts of each role begin.
        keys, slots: the table of N known keys, `[N, K]`; see `ggp.machine.rows`.
        ids: `[N]` percept id of each known key.
        key: `[1, K]` scratch.
    """

    is_open: bool
    starts: IntArray
    keys: U64
    slots: NDArray[np.int32]
    ids: IntArray
    key: U64


@by_reference
class Listing(NamedTuple):
    """The inputs, scratch and outputs of kernels that list up to `64 * W` joint moves.

    Attributes:
        circuit, goals, seen: see their types.
        blank, rows, square, ends: scratch: rows of `step`, of which those of inputs are zero before
            and after; rows of `look`; 64 words; `[64 * W]`.
        states: `[K, words]` the successors.
        words: `[K, words]` their percepts.
        percepts: `[K, R]` ids of these.
        over: `[K]` whether the game is over.
        worth: `[K, R]` goals from 0 to 1, where it is over.
        counts: `[K, R]` scratch.
        offsets: `[R, K + 1]` where the moves of each role in each lane begin in `values`, role
            after role. A terminal state has none.
        values: the moves; the array may be too short (see `list_after`).
    """

    circuit: TurnCircuit
    goals: Goals
    seen: Seen
    blank: U64
    rows: U64
    square: U64
    ends: IntArray
    states: U64
    words: U64
    percepts: IntArray
    over: BoolArray
    worth: FloatArray
    counts: IntArray
    offsets: IntArray
    values: IntArray


@inlined
def list_after(
    listing: Listing,
    packed: U64,
    lanes: IntArray,
    moves: IntArray,
    count: int,
    width: tuple[int, ...],
) -> int:
    """Make the first `count` joint moves, and list everything about the successors but percept ids.

    Args:
        packed: `[L, ...]` states.
        lanes: `[K]` state of each joint move; fastest if equal ones are neighbours.
        moves: `[K, R]` joint moves of moves that the roles have; at most `64 * W` are made.

    Returns:
        the number of moves in the lists; if `values` is shorter than that, the lists are
        incomplete, and the call must be repeated with more room. -1 if goals are not usual.
    """
    circuit, words = listing.circuit, words_of(width)
    blank, rows, square, ends = listing.blank, listing.rows, listing.square, listing.ends
    written = begin_turns(circuit, packed, lanes, moves, 0, count, blank, width)
    store_all(circuit, packed, lanes, 0, count, blank, listing.states, width)
    store_lanes(blank, circuit.sees, count, listing.words, 0, square, width)
    look_ahead(circuit, circuit.next_, blank, rows, width)
    for word in range(words):
        square[words + word] = np.uint64(0)
    for lane in range(count):
        listing.over[lane] = is_over(circuit.look, rows, lane, words)
        if not listing.over[lane]:
            square[words + (lane >> 6)] |= _ONE << np.uint64(lane & 63)
    usual = _read_goals(listing, count, width)
    size = 0
    for role in range(len(listing.offsets)):
        for lane in range(count):
            ends[lane] = 0
        _list(listing, role, False, width)
        for lane in range(count):
            listing.offsets[role, lane] = size
            size += ends[lane]
            ends[lane] = listing.offsets[role, lane]
        listing.offsets[role, count] = size
        if size <= len(listing.values):
            _list(listing, role, True, width)
    end_turns(circuit, packed, lanes, moves, 0, count, blank, words, written)
    return size if usual else -1


@inlined
def _list(listing: Listing, role: int, is_writing: bool, width: tuple[int, ...]) -> None:
    """Count the moves of a role in each lane, or write them.

    `ends` goes up with each move. From word W on, `square` holds the lanes whose moves are listed.
    """
    out_of_line()
    circuit, square, words = listing.circuit, listing.square, words_of(width)
    look = circuit.look
    first = 64 * look.starts[role]
    name = circuit.begins[role] - circuit.begins[0]
    playing = load(square, words, width)
    for k in range(64 * (look.starts[role + 1] - look.starts[role])):
        legal = band(literal(listing.rows, look.wires, first + k, width), playing)
        if not reduce_or(legal):
            continue
        store(square, 0, legal)
        for word in range(words):
            bits = square[word]
            while bits:
                lane = 64 * word + lowest_one(bits)
                bits &= bits - _ONE
                if is_writing:
                    listing.values[listing.ends[lane]] = circuit.numbers[name + k]
                listing.ends[lane] += 1


@inlined
def _read_goals(listing: Listing, count: int, width: tuple[int, ...]) -> bool:
    """Write the goals of lanes where the game is over, while the block holds the successors.

    Returns:
        whether all goals are usual: in each lane, one for each role, within the range.
    """
    out_of_line()
    goals, worth, counts, words = listing.goals, listing.worth, listing.counts, words_of(width)
    mask, any_over = goals.mask, False
    for word in range(words):
        mask[word] = np.uint64(0)
    for lane in range(count):
        if listing.over[lane]:
            any_over = True
            mask[lane >> 6] |= _ONE << np.uint64(lane & 63)
            for role in range(worth.shape[1]):
                worth[lane, role] = 0.0
                counts[lane, role] = 0
    if not any_over:
        return True
    ask_ahead(goals.query, goals.fluents, listing.circuit.next_, listing.blank, goals.rows, width)
    ended = load(mask, 0, width)
    for role in range(worth.shape[1]):
        for k in range(64 * goals.query.starts[role], 64 * goals.query.starts[role + 1]):
            lanes_with_goal = band(literal(goals.rows, goals.query.wires, k, width), ended)
            if not reduce_or(lanes_with_goal):
                continue
            store(mask, words, lanes_with_goal)
            for word in range(words):
                bits = mask[words + word]
                while bits:
                    lane = 64 * word + lowest_one(bits)
                    bits &= bits - _ONE
                    worth[lane, role] += goals.points[k]
                    counts[lane, role] += goals.usual[k]
    for lane in range(count):
        if listing.over[lane]:
            for role in range(worth.shape[1]):
                if counts[lane, role] != 1 and (counts[lane, role] or role != goals.optional):
                    return False
                worth[lane, role] = (worth[lane, role] - goals.low) / (goals.high - goals.low)
    return True


@inlined
def find_percepts(listing: Listing, moves: IntArray, count: int) -> bool:
    """Write the percept ids after `list_after`; returns whether the table had all of them."""
    out_of_line()
    seen, num_roles = listing.seen, len(listing.offsets)
    key = seen.key
    for lane in range(count):
        if seen.is_open:
            for role in range(num_roles):
                key[0, role] = np.uint64(moves[lane, role])
            slot = seen.slots[place_of_row(key, 0, seen.keys, seen.slots)]
            if slot < 0:
                return False
            for role in range(num_roles):
                listing.percepts[lane, role] = seen.ids[slot]
            continue
        for role in range(num_roles):
            start, size = seen.starts[role], seen.starts[role + 1] - seen.starts[role]
            any_bits = np.uint64(0)
            for k in range(size):
                key[0, 1 + k] = listing.words[lane, start + k]
                any_bits |= key[0, 1 + k]
            listing.percepts[lane, role] = 0
            if any_bits == 0:
                continue
            key[0, 0] = np.uint64(role)
            for k in range(1 + size, key.shape[1]):
                key[0, k] = np.uint64(0)
            slot = seen.slots[place_of_row(key, 0, seen.keys, seen.slots)]
            if slot < 0:
                return False
            listing.percepts[lane, role] = seen.ids[slot]
    return True

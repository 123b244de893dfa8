"""Makes the moves of many lanes, and lists what may be done after them.

A tree that grows asks the same of every new state: is the game over, and what are the legal moves
of each role. `turning` answers what searches over boards ask.

    states ─▶ rows ─▶ `step` ─▶ rows of successors ─▶ `look` ─▶ over? the moves of each role
"""

from __future__ import annotations

import numpy as np

from ggp.machine.base import BoolArray, IntArray
from ggp.machine.compiling.jit import inlined, kernel
from ggp.machine.propnet.play.kernels.lanes.packing import store_lanes
from ggp.machine.propnet.play.kernels.lanes.turn_parts import (
    TurnCircuit,
    are_moves,
    begin_turns,
    end_turns,
    is_over,
    literal,
    look_ahead,
    store_all,
)
from ggp.machine.propnet.play.kernels.tapes import U64
from ggp.machine.propnet.play.kernels.vectors import (
    band,
    load,
    lowest_one,
    out_of_line,
    reduce_or,
    store,
    words_of,
)

_ONE = np.uint64(1)


@kernel
def list_turns(
    circuit: TurnCircuit,
    packed: U64,
    lanes: IntArray,
    moves: IntArray,
    wanted: BoolArray,
    blank: U64,
    rows: U64,
    square: U64,
    ends: IntArray,
    states: U64,
    seen: U64,
    over: BoolArray,
    offsets: IntArray,
    listed: IntArray,
    width: tuple[int, ...],
) -> int:
    """Make joint moves, and list the moves after them.

    Args:
        packed, lanes, moves, blank, rows, square, states, seen, over: see `make_turns`; K is at
            most `64 * W`.
        wanted: `[R]` the roles whose moves are listed.
        ends: `[64 * W]` scratch.
        offsets: `[R, K + 1]` out: where the moves of each role in each lane begin in `listed`; one
            role follows the other. Where the game is over there are none.
        listed: `[N]` out.

    Returns:
        number of moves listed, or, if there is no room for as many, needed: then it must be called
        again. -1: some roles do not have the moves to be made; nothing is made.
    """
    words, count = words_of(width), len(lanes)
    if not are_moves(circuit, moves):
        return -1
    written = look_after(
        circuit, packed, lanes, moves, count, blank, rows, square, states, seen, over, width
    )
    found = list_moves(circuit, wanted, count, rows, square, ends, offsets, listed, width)
    end_turns(circuit, packed, lanes, moves, 0, count, blank, words, written)
    return found


@inlined
def look_after(
    circuit: TurnCircuit,
    packed: U64,
    lanes: IntArray,
    moves: IntArray,
    count: int,
    blank: U64,
    rows: U64,
    square: U64,
    states: U64,
    seen: U64,
    over: BoolArray,
    width: tuple[int, ...],
) -> int:
    """Make the first `count` joint moves, and evaluate `look` after them.

    Args:
        square: `[2 * W]` or more; out: from W on, the lanes in which the game is not over.

    Returns:
        what `end_turns` needs.
    """
    words, look = words_of(width), circuit.look
    written = begin_turns(circuit, packed, lanes, moves, 0, count, blank, width)
    store_all(circuit, packed, lanes, 0, count, blank, states, width)
    store_lanes(blank, circuit.sees, count, seen, 0, square, width)
    look_ahead(circuit, circuit.next_, blank, rows, width)
    for word in range(words):
        square[words + word] = np.uint64(0)
    for lane in range(count):
        over[lane] = is_over(look, rows, lane, words)
        if not over[lane]:
            square[words + (lane >> 6)] |= _ONE << np.uint64(lane & 63)
    return written


@inlined
def list_moves(
    circuit: TurnCircuit,
    wanted: BoolArray,
    count: int,
    rows: U64,
    square: U64,
    ends: IntArray,
    offsets: IntArray,
    listed: IntArray,
    width: tuple[int, ...],
) -> int:
    """List the moves in lanes where `look_after` has looked; returns their number."""
    at = 0
    for role in range(len(wanted)):
        for lane in range(count):
            ends[lane] = 0
        if wanted[role]:
            _list(circuit, role, rows, square, ends, listed, False, width)
        for lane in range(count):
            offsets[role, lane] = at
            at += ends[lane]
            ends[lane] = offsets[role, lane]
        offsets[role, count] = at
        if wanted[role] and at <= len(listed):
            _list(circuit, role, rows, square, ends, listed, True, width)
    return at


@inlined
def _list(
    circuit: TurnCircuit,
    role: int,
    rows: U64,
    square: U64,
    ends: IntArray,
    listed: IntArray,
    written: bool,
    width: tuple[int, ...],
) -> None:
    """Count the moves of a role in each lane, or write them.

    Args:
        square: scratch, and then the lanes that matter.
        ends: `[64 * W]` where each lane writes the next move; goes up with each.
        written: whether they are written.
    """
    out_of_line()
    words, look = words_of(width), circuit.look
    first = 64 * look.starts[role]
    name = circuit.begins[role] - circuit.begins[0]
    playing = load(square, words, width)
    for k in range(64 * (look.starts[role + 1] - look.starts[role])):
        held = band(literal(rows, look.wires, first + k, width), playing)
        if not reduce_or(held):
            continue
        store(square, 0, held)
        for word in range(words):
            bits = square[word]
            while bits:
                lane = 64 * word + lowest_one(bits)
                bits &= bits - _ONE
                if written:
                    listed[ends[lane]] = circuit.numbers[name + k]
                ends[lane] += 1

"""Building blocks of kernels that make turns: load states and moves, evaluate, read, clear.

`turning`, `growing` and the kernels of searches are made of these functions. The rows of a block
hold states and moves; after `begin_turns` the literals of `step` are the successors. `look_ahead`
copies them to the rows of a second query, so that successors are evaluated without being packed and
read again. `end_turns` clears the rows of states and moves, which every kernel must leave zero.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ggp.machine.base import IntArray
from ggp.machine.compiling.jit import by_reference, inlined
from ggp.machine.compiling.vectors import (
    band,
    bor,
    bxor,
    load,
    lowest_one,
    out_of_line,
    reduce_or,
    splat,
    store,
    words_of,
)
from ggp.machine.propnet.play.kernels.block_kernels import run_tape
from ggp.machine.propnet.play.kernels.lanes.packing import (
    clear_moves,
    clear_runs,
    copy_lane,
    lanes_from,
    literal,
    load_runs,
    set_moves,
)
from ggp.machine.propnet.play.kernels.tapes import I32, U64, Query, Wires

_ONE = np.uint64(1)


@by_reference
class TurnCircuit(NamedTuple):
    """The queries of kernels that make turns, and the rows of moves.

    Attributes:
        step: the query about the next state and percepts.
        next_, sees: its literals.
        look: the query about successors: the legal moves of the first roles, a group each, and then
            `terminal`.
        look_fluents: `[N]` the fluents that `look` reads.
        move_rows: `[R, M]` row in `step` of each move of each role.
        begins: `[R]` row of the first move of each role.
        numbers: the move ids of all roles, from that row on.
    """

    step: Query
    next_: Wires
    sees: Wires
    look: Query
    look_fluents: I32
    move_rows: I32
    begins: IntArray
    numbers: IntArray


@inlined
def begin_turns(
    circuit: TurnCircuit,
    packed: U64,
    lanes: IntArray,
    moves: IntArray,
    first: int,
    count: int,
    blank: U64,
    width: tuple[int, ...],
) -> int:
    """Evaluate `step` for `count` joint moves from `first` on; arguments as for `make_turns`.

    Returns:
        the number of words of states that were written, for `end_turns`.
    """
    words = words_of(width)
    num_written = load_runs(packed, lanes, first, count, circuit.step.row_of, blank, words)
    set_moves(circuit.move_rows, moves, first, count, blank, words)
    run_tape(circuit.step.tape, 0, blank, blank, width)
    return num_written


@inlined
def look_ahead(
    circuit: TurnCircuit, successors: Wires, blank: U64, rows: U64, width: tuple[int, ...]
) -> None:
    """Evaluate `look` in the successors of a block; `successors`: their literals, in `blank`."""
    ask_ahead(circuit.look, circuit.look_fluents, successors, blank, rows, width)


@inlined
def ask_ahead(
    query: Query, fluents: I32, successors: Wires, blank: U64, rows: U64, width: tuple[int, ...]
) -> None:
    """Evaluate any query in the successors of a block; `fluents`: the fluents that it reads."""
    out_of_line()
    words = words_of(width)
    for n in range(len(fluents)):
        fluent = fluents[n]
        row = np.int64(query.row_of[fluent]) * words
        store(rows, row, literal(blank, successors, fluent, width))
    run_tape(query.tape, 0, rows, rows, width)


@inlined
def end_turns(
    circuit: TurnCircuit,
    packed: U64,
    lanes: IntArray,
    moves: IntArray,
    first: int,
    count: int,
    blank: U64,
    words: int,
    num_written: int,
) -> None:
    """Clear the rows of states and moves; literals may read these rows, so this comes last."""
    clear_runs(packed, lanes, first, count, circuit.step.row_of, blank, words, num_written)
    clear_moves(circuit.move_rows, moves, first, count, blank, words)


@inlined
def holds(rows: U64, wires: Wires, k: int, lane: int, words: int) -> bool:
    """Whether a literal holds in a lane of a block."""
    bits = rows[np.int64(wires.rows[k]) * words + (lane >> 6)] ^ wires.inverted[k]
    return bool((bits >> np.uint64(lane & 63)) & _ONE != 0)


@inlined
def is_over(look: Query, rows: U64, lane: int, words: int) -> bool:
    """Whether the game is over in a lane where `look` was evaluated."""
    return holds(rows, look.wires, 64 * look.starts[len(look.starts) - 2], lane, words)


@inlined
def is_legal(circuit: TurnCircuit, rows: U64, role: int, move: int, lane: int, words: int) -> bool:
    """Whether a move of a role is legal in a lane where `look` was evaluated."""
    index = np.int64(circuit.move_rows[role, move]) - circuit.begins[role]
    return holds(rows, circuit.look.wires, 64 * circuit.look.starts[role] + index, lane, words)


@inlined
def store_all(
    circuit: TurnCircuit,
    packed: U64,
    lanes: IntArray,
    first: int,
    count: int,
    rows: U64,
    out: U64,
    width: tuple[int, ...],
) -> None:
    """Write the successors of lanes 0 .. count of a block: copies of states, with changed bits."""
    for lane in range(count):
        copy_lane(packed, lanes[first + lane], out, first + lane)
    words, next_ = words_of(width), circuit.next_
    for k in range(len(circuit.step.row_of)):
        old = np.int64(circuit.step.row_of[k]) * words
        if not reduce_or(bxor(load(rows, old, width), literal(rows, next_, k, width))):
            continue
        new = np.int64(next_.rows[k]) * words
        for word in range((count + 63) >> 6):
            bits = rows[old + word] ^ rows[new + word] ^ next_.inverted[k]
            bits &= lanes_from(0, min(count - 64 * word, 64))
            while bits:
                lane = first + 64 * word + lowest_one(bits)
                bits &= bits - _ONE
                out[lane, k >> 6] ^= _ONE << np.uint64(k & 63)


@inlined
def store_some(
    packed: U64,
    lanes: IntArray,
    first: int,
    count: int,
    changed: IntArray,
    differ: U64,
    selected: U64,
    indices: IntArray,
    out: U64,
) -> None:
    """Write the successors of some lanes of a block.

    Args:
        changed, differ: see `list_changed`.
        selected: `[W]` mask of the lanes to write.
        indices: `[64 * W]` index of each lane in `out`.
    """
    out_of_line()
    words = len(selected)
    for lane in range(count):
        if selected[lane >> 6] >> np.uint64(lane & 63) & _ONE:
            copy_lane(packed, lanes[first + lane], out, indices[lane])
    for n in range(len(changed)):
        block, mark = changed[n] >> 6, _ONE << np.uint64(changed[n] & 63)
        for word in range((count + 63) >> 6):
            bits = differ[n * words + word] & selected[word]
            while bits:
                index = indices[64 * word + lowest_one(bits)]
                bits &= bits - _ONE
                out[index, block] ^= mark


@inlined
def list_changed(
    circuit: TurnCircuit,
    rows: U64,
    count: int,
    changed: IntArray,
    differ: U64,
    width: tuple[int, ...],
) -> int:
    """List the fluents that differ from the state before in some of `count` lanes where `step` was
    evaluated.

    Args:
        changed: `[F]` out.
        differ: `[F * W]` out: the lanes in which each of these differs.

    Returns:
        the number of these fluents.
    """
    out_of_line()
    words, next_ = words_of(width), circuit.next_
    for word in range(words):
        rest = min(max(count - 64 * word, 0), 64)
        differ[word] = lanes_from(0, rest) if rest else np.uint64(0)
    valid = load(differ, 0, width)
    num_changed = 0
    for k in range(len(circuit.step.row_of)):
        old = load(rows, np.int64(circuit.step.row_of[k]) * words, width)
        lanes = band(bxor(old, literal(rows, next_, k, width)), valid)
        if reduce_or(lanes):
            changed[num_changed] = k
            store(differ, num_changed * words, lanes)
            num_changed += 1
    return num_changed


@inlined
def count_moves(look: Query, role: int, rows: U64, counts: U64, width: tuple[int, ...]) -> None:
    """`[2 * W]` the lanes of a block in which a role has a move, and in which it has several."""
    out_of_line()
    at_least_one, several = splat(np.uint64(0), width), splat(np.uint64(0), width)
    for k in range(64 * look.starts[role], 64 * look.starts[role + 1]):
        legal = literal(rows, look.wires, k, width)
        several = bor(several, band(at_least_one, legal))
        at_least_one = bor(at_least_one, legal)
    store(counts, 0, at_least_one)
    store(counts, words_of(width), several)


@inlined
def count_of(counts: U64, lane: int, words: int) -> int:
    """Number of moves in a lane of a block, 2 for more, from the masks of `count_moves`."""
    word, shift = lane >> 6, np.uint64(lane & 63)
    at_least_one, several = counts[word] >> shift & _ONE, counts[words + word] >> shift & _ONE
    return int(np.int64(at_least_one) + np.int64(several))

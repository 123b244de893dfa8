"""Successors valued by one kernel, which writes no states.

Where a search stops, all that it asks of a successor is what role sees, whether the game is over,
what the board is worth, and which successors are equal. Most of these are in the last turn, and to
write a state, read it again as a board and compare it with others takes longer than to make it.

    step ─▶ percepts
      ├───▶ boards ─▶ worth
      ├───▶ differences ─▶ keys
      └───▶ look ─▶ over? which moves?

Equal states are told by keys of 128 bits: the marks of all fluents that hold, xor-ed (Zobrist, "A
new hashing method with application for game playing", 1970). A successor has the key of the state
before with the marks of what differs. Of a million states two have equal keys with a chance of
1 : 10**26.
"""

from __future__ import annotations

import numpy as np

from ggp.labs.kriegspiel.boards.block_boards import BlockBoards, BoardTables, change_boards
from ggp.labs.kriegspiel.boards.lane_values import lane_value, lead_before, prepare_attacks
from ggp.labs.kriegspiel.boards.mask_kernels import U64
from ggp.machine.base import BoolArray, FloatArray, IntArray
from ggp.machine.compiling.jit import inlined, kernel
from ggp.machine.propnet.play.kernels.lanes.packing import store_lanes
from ggp.machine.propnet.play.kernels.lanes.turn_parts import (
    TurnCircuit,
    are_moves,
    begin_turns,
    end_turns,
    list_changed,
    look_ahead,
)
from ggp.machine.propnet.play.kernels.lanes.turning import tell_moves
from ggp.machine.propnet.play.kernels.vectors import lowest_one, out_of_line, words_of

_NONE = np.uint64(0)
_ONE = np.uint64(1)


@kernel
def value_turns(
    circuit: TurnCircuit,
    packed: U64,
    lanes: IntArray,
    moves: IntArray,
    offsets: IntArray,
    listed: IntArray,
    blank: U64,
    rows: U64,
    known: U64,
    square: U64,
    seen: U64,
    over: BoolArray,
    choices: IntArray,
    news: BoolArray,
    agains: BoolArray,
    board: BoardTables,
    codes: np.ndarray,
    held: U64,
    marks: U64,
    block: BlockBoards,
    values: FloatArray,
    keys: U64,
    width: tuple[int, ...],
) -> bool:
    """Make joint moves, and value the boards of the successors; other arguments as for
    `make_turns`.

    Args:
        codes, held: `[L * S]`, `[L]` the boards of the states before, and the squares with a piece.
        marks: `[F, 2]` of each fluent.
        block: scratch.
        values: `[K]` out: worth of the board for the side whose values count; it means nothing if
            the game is over.
        keys: `[K, 2]` out: equal for equal states.

    Returns:
        whether all roles have these moves; if not, nothing is made.
    """
    if not are_moves(circuit, moves):
        return False
    words, squares = words_of(width), block.squares
    for first in range(0, len(lanes), 64 * words):
        count = min(64 * words, len(lanes) - first)
        written = begin_turns(circuit, packed, lanes, moves, first, count, blank, width)
        if len(seen):
            store_lanes(blank, circuit.sees, count, seen, first, square, width)
        changed = block.fluents[
            : list_changed(circuit, blank, count, block.fluents, block.differ, width)
        ]
        _mix_keys(packed, lanes, first, count, changed, block, marks, keys, width)
        change_boards(
            circuit, board, packed, codes, held, lanes, first, count, blank, changed, block, width
        )
        look_ahead(circuit, circuit.next_, blank, rows, width)
        tell_moves(
            circuit,
            lanes,
            moves,
            offsets,
            listed,
            first,
            count,
            rows,
            known,
            square,
            over,
            choices,
            news,
            agains,
            width,
        )
        end_turns(circuit, packed, lanes, moves, first, count, blank, words, written)
        _value_boards(board, codes, lanes, first, count, squares, block, values)
    return True


@inlined
def _value_boards(
    board: BoardTables,
    codes: np.ndarray,
    lanes: IntArray,
    first: int,
    count: int,
    squares: int,
    block: BlockBoards,
    values: FloatArray,
) -> None:
    """Value the boards of a block; those that have not changed only once for each state before."""
    out_of_line()
    parent, sliders, known = -1, _NONE, (_NONE, _NONE, 0, _NONE)
    same, is_known = 0.0, False
    for lane in range(count):
        k = first + lane
        if lanes[k] != parent:
            parent, is_known = lanes[k], False
            sliders = prepare_attacks(board, codes, parent, squares, block, lane)
            known = lead_before(board, codes, parent, lanes, k, block, lane)
        if block.changed[lane]:
            values[k], _, _ = lane_value(board, block, lane, squares, sliders, codes, parent, known)
            continue
        if not is_known:
            is_known = True
            same, _, _ = lane_value(board, block, lane, squares, sliders, codes, parent, known)
        values[k] = same


@inlined
def _mix_keys(
    packed: U64,
    lanes: IntArray,
    first: int,
    count: int,
    changed: IntArray,
    block: BlockBoards,
    marks: U64,
    keys: U64,
    width: tuple[int, ...],
) -> None:
    """Write the keys of the successors of a block where `step` was evaluated."""
    out_of_line()
    words = words_of(width)
    parent, one, two = -1, _NONE, _NONE
    for k in range(first, first + count):
        if lanes[k] != parent:
            parent, one, two = lanes[k], _NONE, _NONE
            for word in range(packed.shape[1]):
                bits = packed[parent, word]
                while bits:
                    fluent = 64 * word + lowest_one(bits)
                    bits &= bits - _ONE
                    one ^= marks[fluent, 0]
                    two ^= marks[fluent, 1]
        keys[k, 0], keys[k, 1] = one, two
    for n in range(len(changed)):
        one, two = marks[changed[n], 0], marks[changed[n], 1]
        for word in range((count + 63) >> 6):
            bits = block.differ[n * words + word]
            while bits:
                k = first + 64 * word + lowest_one(bits)
                bits &= bits - _ONE
                keys[k, 0] ^= one
                keys[k, 1] ^= two

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

from typing import NamedTuple

import numpy as np

from ggp.labs.kriegspiel.boards.block_boards import BlockBoards, BoardTables, change_boards
from ggp.labs.kriegspiel.boards.board_kernels import MOST_SQUARES, U64, attacks, lead_of, slides
from ggp.machine.base import FloatArray, IntArray
from ggp.machine.compiling.jit import by_reference, inlined
from ggp.machine.compiling.vectors import (
    WORDS_PER_ITEM,
    band,
    bor,
    but_not,
    item,
    load,
    lowest_one,
    out_of_line,
    reduce_or,
    splat,
    store,
    words_of,
)
from ggp.machine.propnet.play.kernels.lanes.turn_parts import (
    TurnCircuit,
    list_changed,
)

# ------------------------------------------------------------------------
# What the boards of lanes are worth: only what attacks through squares that have changed is found
# anew.
#
# What was attacked on the board before is found once for all lanes that come from it. What a piece
# on a square adds to the lead depends on who attacks the square, so only where that has changed it
# is read again.

_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)

_VECTOR = (0,)
_WORDS = WORDS_PER_ITEM
"""Squares of a board that are looked at side by side."""

_SHORT = 2
"""With no more lanes of a state, it takes longer to find out what does not change than it saves."""


@inlined
def prepare_attacks(
    board: BoardTables, codes: np.ndarray, parent: int, squares: int, block: BlockBoards, lane: int
) -> np.uint64:
    """Find what is attacked before the turns of a run of lanes with the same state.

    Args:
        codes: `[L * S]` the boards before; `parent`: the one of the run.
        lane: the first of the run.

    Returns:
        the squares of pieces with rays.
    """
    occupied = block.held[lane]
    return _find_attacks(
        board, codes, parent * squares, squares, occupied, block.before, block.owned
    )


@inlined
def _find_attacks(
    board: BoardTables,
    codes: np.ndarray,
    start: int,
    squares: int,
    occupied: np.uint64,
    attacks_of: U64,
    owner: U64,
) -> np.uint64:
    """Find what the pieces of a board attack, see `BlockBoards.before` and `owned`; returns the
    squares of pieces with rays."""
    out_of_line()
    sliders = _NONE
    for square in range(MOST_SQUARES):
        attacks_of[square] = _NONE
        owner[square] = _NONE
    rest = occupied
    while rest:
        square = lowest_one(rest)
        rest &= rest - _ONE
        code = np.int64(item(codes, start + square))
        attacks_of[square] = item(board.masks.leaps, code * squares + square)
        owner[square] = np.uint64(item(board.table.side, code)) - _ONE
        sliders |= np.uint64(item(board.masks.slides, code)) << np.uint64(square)
    # Apart, as it is hard to guess which piece has rays.
    rest = sliders
    while rest:
        square = lowest_one(rest)
        rest &= rest - _ONE
        code = np.int64(item(codes, start + square))
        attacks_of[square] |= slides(board.masks, code * squares + square, occupied)
    return sliders


@inlined
def lead_before(
    board: BoardTables,
    codes: np.ndarray,
    parent: int,
    lanes: IntArray,
    k: int,
    block: BlockBoards,
    lane: int,
) -> tuple[np.uint64, np.uint64, int, np.uint64]:
    """The squares that each side attacks, and our lead, on the board of `prepare_attacks`.

    Args:
        lanes: `[K]` state of each joint move; `k`: the first of the run.

    Returns:
        these, and the squares of which they are known: none if the run is too short.
    """
    if k + _SHORT >= len(lanes) or lanes[k + _SHORT] != parent:
        return _NONE, _NONE, 0, _NONE
    first, second = _attacked(block.before, block.owned)
    squares, occupied = block.squares, block.held[lane]
    lead = lead_of(board.table, codes, parent * squares, squares, occupied, first, second)
    return first, second, lead, _ALL


@inlined
def lane_value(
    board: BoardTables,
    block: BlockBoards,
    lane: int,
    squares: int,
    sliders: np.uint64,
    codes: np.ndarray,
    parent: int,
    before: tuple[np.uint64, np.uint64, int, np.uint64],
) -> tuple[float, np.uint64, np.uint64]:
    """What the board of a lane is worth to our side, as `BoardValues.worth`, and the squares that
    each side attacks.

    Args:
        sliders: the pieces with rays before.
        codes, parent: the boards before, and which of them; `before`: see `lead_before`.
    """
    start = lane * squares
    occupied, changed, held = block.occupied[lane], block.changed[lane], block.held[lane]
    differs = occupied ^ held
    for word in range(0, MOST_SQUARES, _WORDS):
        store(block.after, word, load(block.before, word, _VECTOR))
        store(block.owner, word, load(block.owned, word, _VECTOR))
    # A ray goes another way only if a square has changed that it reached.
    rest = sliders & ~changed
    while rest:
        square = lowest_one(rest)
        rest &= rest - _ONE
        if np.uint64(item(block.before, square)) & differs:
            code = np.int64(item(block.codes, start + square))
            block.after[square] = attacks(board.masks, code, code * squares + square, occupied)
    rest = changed
    while rest:
        square = lowest_one(rest)
        rest &= rest - _ONE
        block.after[square], block.owner[square] = _NONE, _NONE
        if occupied >> np.uint64(square) & _ONE:
            code = np.int64(item(block.codes, start + square))
            block.after[square] = attacks(board.masks, code, code * squares + square, occupied)
            block.owner[square] = np.uint64(item(board.table.side, code)) - _ONE
    first, second = _attacked(block.after, block.owner)
    # What stands on other squares adds what it did.
    first_before, second_before, lead, known = before
    touched = changed | (first ^ first_before) | (second ^ second_before) | ~known
    lead += lead_of(board.table, block.codes, start, squares, touched & occupied, first, second)
    gone = touched & held & known
    lead -= lead_of(
        board.table, codes, parent * squares, squares, gone, first_before, second_before
    )
    return _worth(board, lead), first, second


@inlined
def value_alone(
    board: BoardTables, block: BlockBoards, lane: int, squares: int
) -> tuple[float, np.uint64, np.uint64]:
    """The same as `lane_value`, for the only lane of a state: nothing is asked of the board before,
    and `prepare_attacks` is not needed."""
    out_of_line()
    start, occupied = lane * squares, block.occupied[lane]
    _find_attacks(board, block.codes, start, squares, occupied, block.after, block.owner)
    first, second = _attacked(block.after, block.owner)
    lead = lead_of(board.table, block.codes, start, squares, occupied, first, second)
    return _worth(board, lead), first, second


@inlined
def value_before(
    board: BoardTables, codes: np.ndarray, parent: int, block: BlockBoards, lane: int
) -> float:
    """What the board of `prepare_attacks` is worth to our side."""
    first, second = _attacked(block.before, block.owned)
    squares, occupied = block.squares, block.held[lane]
    start = parent * squares
    return _worth(board, lead_of(board.table, codes, start, squares, occupied, first, second))


@inlined
def _worth(board: BoardTables, lead: int) -> float:
    """What a lead is worth, in goals."""
    value = board.middle + board.scale * lead
    return float(min(max(value, board.least), board.most))


@inlined
def _attacked(attacks_of: U64, owner: U64) -> tuple[np.uint64, np.uint64]:
    """The squares that each side attacks; arguments as in `BlockBoards.before` and `owned`."""
    first, second = splat(_NONE, _VECTOR), splat(_NONE, _VECTOR)
    for word in range(0, MOST_SQUARES, _WORDS):
        found, owned = load(attacks_of, word, _VECTOR), load(owner, word, _VECTOR)
        first = bor(first, band(found, owned))
        second = bor(second, but_not(found, owned))
    return np.uint64(reduce_or(first)), np.uint64(reduce_or(second))


_NONE = np.uint64(0)
_ONE = np.uint64(1)


@by_reference
class LeafBoards(NamedTuple):
    """Where `value_leaves` writes, and what it reads besides states.

    Attributes:
        board: tables of the boards.
        codes, held: `[L * S]`, `[L]` the boards of the states before, and the squares with a piece.
        marks: `[F, 2]` of each fluent.
        block: scratch.
        values: `[K]` out: worth of the board for the side whose values count; it means nothing if
            the game is over.
        keys: `[K, 2]` out: equal for equal states.
    """

    board: BoardTables
    codes: np.ndarray
    held: U64
    marks: U64
    block: BlockBoards
    values: FloatArray
    keys: U64


@inlined
def value_leaves(
    circuit: TurnCircuit,
    packed: U64,
    lanes: IntArray,
    first: int,
    count: int,
    blank: U64,
    into: LeafBoards,
    width: tuple[int, ...],
) -> None:
    """Value the boards of successors: see `Write` of `make_turns`."""
    board, codes, block = into.board, into.codes, into.block
    changed = block.fluents[
        : list_changed(circuit, blank, count, block.fluents, block.differ, width)
    ]
    _mix_keys(packed, lanes, first, count, changed, block, into.marks, into.keys, width)
    change_boards(
        circuit, board, packed, codes, into.held, lanes, first, count, blank, changed, block, width
    )
    _value_boards(board, codes, lanes, first, count, block.squares, block, into.values)


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

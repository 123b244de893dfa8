"""Values of successors by one kernel, which writes no states.

`BoardValues.valued_turns` calls it with states and joint moves, and gets values, percepts and keys.
Where a search stops, it needs of a successor only its role's percepts, whether the game is over,
the value of the board, and which successors are equal. Most successors of a search are in its last
turn, and to write a state, read it as a board and compare it with others takes longer than to make
it.

    step ─▶ percepts
      ├───▶ boards ─▶ values
      ├───▶ differences ─▶ keys
      └───▶ look ─▶ over? which moves?

Equal states have equal keys of 128 bits: the xor of the marks of all true fluents (Zobrist, "A new
hashing method with application for game playing", 1970). A successor's key is its parent's, xor the
marks of the fluents that changed. The probability that two of a million different states have equal
keys is 1 : 10**26.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ggp.labs.kriegspiel.boards.block_boards import BlockBoards, BoardTables, change_boards
from ggp.labs.kriegspiel.boards.board_kernels import MAX_SQUARES, U64, attacks, lead_of, slides
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
# Values of boards in lanes, as changes of the values of their parents.
#
# The attacks on a parent board are found once for all lanes that come from it. In a lane, only two
# kinds of attacks are found again: attacks of pieces on changed squares, and rays that reached a
# square which was emptied or filled. A piece's share of the lead depends on the attackers of its
# square. So only squares with another piece or other attackers are subtracted from the parent's
# lead and added again.

_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)

_VECTOR = (0,)
_WORDS = WORDS_PER_ITEM
"""Squares of a board in one vector."""

_SHORT = 2
"""In a run of at most so many lanes of one state, the parent's lead costs more than it saves."""


@inlined
def prepare_attacks(
    board: BoardTables, codes: np.ndarray, parent: int, squares: int, block: BlockBoards, lane: int
) -> np.uint64:
    """Find the attacks on the parent board of a run of lanes with the same state.

    They are written to `block.parent_attacks` and `block.parent_owner`.

    Args:
        codes: `[L * S]` parent boards; `parent`: that of the run.
        lane: the first of the run.

    Returns:
        the squares of pieces with rays.
    """
    occupied = block.parent_occupancy[lane]
    return _find_attacks(
        board, codes, parent * squares, squares, occupied, block.parent_attacks, block.parent_owner
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
    """Write the attacks and owners of a board's pieces, see `BlockBoards`; returns the squares of
    pieces with rays."""
    out_of_line()
    sliders = _NONE
    for square in range(MAX_SQUARES):
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
    # In a loop of its own: the branch on "has rays" would be mispredicted too often.
    rest = sliders
    while rest:
        square = lowest_one(rest)
        rest &= rest - _ONE
        code = np.int64(item(codes, start + square))
        attacks_of[square] |= slides(board.masks, code * squares + square, occupied)
    return sliders


@inlined
def parent_lead(
    board: BoardTables,
    codes: np.ndarray,
    parent: int,
    lanes: IntArray,
    k: int,
    block: BlockBoards,
    lane: int,
) -> tuple[np.uint64, np.uint64, int, np.uint64]:
    """Squares that each side attacks, and our lead, on the board of `prepare_attacks`.

    Args:
        lanes: `[K]` state of each joint move; `k`: the first of the run.

    Returns:
        these, and the squares for which they are valid: none if the run is too short.
    """
    if k + _SHORT >= len(lanes) or lanes[k + _SHORT] != parent:
        return _NONE, _NONE, 0, _NONE
    first, second = _attacked(block.parent_attacks, block.parent_owner)
    squares, occupied = block.squares, block.parent_occupancy[lane]
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
    base: tuple[np.uint64, np.uint64, int, np.uint64],
) -> tuple[float, np.uint64, np.uint64]:
    """Value of a lane's board for our side, as `BoardValues.worth`, and the squares that each side
    attacks.

    Args:
        sliders: squares of the pieces with rays on the parent board.
        codes, parent: all parent boards, and the index of this lane's.
        base: attacks and lead on the parent board, see `parent_lead`.
    """
    start, parent_occupied = lane * squares, block.parent_occupancy[lane]
    occupied, changed = block.occupancy[lane], block.changed[lane]
    differs = occupied ^ parent_occupied
    for word in range(0, MAX_SQUARES, _WORDS):
        store(block.attacks, word, load(block.parent_attacks, word, _VECTOR))
        store(block.owner, word, load(block.parent_owner, word, _VECTOR))
    # A ray changes only if it reached a square that was emptied or filled.
    rest = sliders & ~changed
    while rest:
        square = lowest_one(rest)
        rest &= rest - _ONE
        if np.uint64(item(block.parent_attacks, square)) & differs:
            code = np.int64(item(block.codes, start + square))
            block.attacks[square] = attacks(board.masks, code, code * squares + square, occupied)
    rest = changed  # squares with another piece, or with none
    while rest:
        square = lowest_one(rest)
        rest &= rest - _ONE
        block.attacks[square], block.owner[square] = _NONE, _NONE
        if occupied >> np.uint64(square) & _ONE:
            code = np.int64(item(block.codes, start + square))
            block.attacks[square] = attacks(board.masks, code, code * squares + square, occupied)
            block.owner[square] = np.uint64(item(board.table.side, code)) - _ONE
    first, second = _attacked(block.attacks, block.owner)
    # Only squares with another piece or other attackers count differently; without a valid parent
    # lead, all do.
    parent_first, parent_second, lead, valid = base
    touched = changed | (first ^ parent_first) | (second ^ parent_second) | ~valid
    lead += lead_of(board.table, block.codes, start, squares, touched & occupied, first, second)
    replaced = touched & parent_occupied & valid
    lead -= lead_of(
        board.table, codes, parent * squares, squares, replaced, parent_first, parent_second
    )
    return _worth(board, lead), first, second


@inlined
def value_only_lane(
    board: BoardTables, block: BlockBoards, lane: int, squares: int
) -> tuple[float, np.uint64, np.uint64]:
    """As `lane_value`, for the only lane of a state: needs no `prepare_attacks`."""
    out_of_line()
    start, occupied = lane * squares, block.occupancy[lane]
    _find_attacks(board, block.codes, start, squares, occupied, block.attacks, block.owner)
    first, second = _attacked(block.attacks, block.owner)
    lead = lead_of(board.table, block.codes, start, squares, occupied, first, second)
    return _worth(board, lead), first, second


@inlined
def value_parent(
    board: BoardTables, codes: np.ndarray, parent: int, block: BlockBoards, lane: int
) -> float:
    """Value of the board of `prepare_attacks` for our side."""
    first, second = _attacked(block.parent_attacks, block.parent_owner)
    squares, occupied = block.squares, block.parent_occupancy[lane]
    start = parent * squares
    return _worth(board, lead_of(board.table, codes, start, squares, occupied, first, second))


@inlined
def _worth(board: BoardTables, lead: int) -> float:
    """Value of a lead, in goals."""
    value = board.middle + board.scale * lead
    return float(min(max(value, board.min_value), board.max_value))


@inlined
def _attacked(attacks_of: U64, owner: U64) -> tuple[np.uint64, np.uint64]:
    """Squares that each side attacks; arguments as `BlockBoards.attacks` and `owner`."""
    first, second = splat(_NONE, _VECTOR), splat(_NONE, _VECTOR)
    for word in range(0, MAX_SQUARES, _WORDS):
        targets, owners = load(attacks_of, word, _VECTOR), load(owner, word, _VECTOR)
        first = bor(first, band(targets, owners))
        second = bor(second, but_not(targets, owners))
    return np.uint64(reduce_or(first)), np.uint64(reduce_or(second))


_NONE = np.uint64(0)
_ONE = np.uint64(1)


@by_reference
class LeafBoards(NamedTuple):
    """Outputs of `value_leaves`, and its inputs besides states.

    Attributes:
        board: tables of the boards.
        codes, occupancy: `[L * S]`, `[L]` boards of the parents, and their occupied squares.
        marks: `[F, 2]` random bits of each fluent, for keys.
        block: scratch.
        values: `[K]` out: value of the board for our side; meaningless if the game is over.
        keys: `[K, 2]` out: equal for equal states.
    """

    board: BoardTables
    codes: np.ndarray
    occupancy: U64
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
    """Write values and keys of the successors of a block: see `Write` of `make_turns`."""
    board, codes, occupied, block = into.board, into.codes, into.occupancy, into.block
    changed = block.fluents[
        : list_changed(circuit, blank, count, block.fluents, block.differ, width)
    ]
    _mix_keys(packed, lanes, first, count, changed, block, into.marks, into.keys, width)
    change_boards(
        circuit, board, packed, codes, occupied, lanes, first, count, blank, changed, block, width
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
    """Value the boards of a block; unchanged boards only once for each parent."""
    out_of_line()
    parent, sliders, base = -1, _NONE, (_NONE, _NONE, 0, _NONE)
    unchanged, is_valued = 0.0, False
    for lane in range(count):
        k = first + lane
        if lanes[k] != parent:
            parent, is_valued = lanes[k], False
            sliders = prepare_attacks(board, codes, parent, squares, block, lane)
            base = parent_lead(board, codes, parent, lanes, k, block, lane)
        if block.changed[lane]:
            values[k], _, _ = lane_value(board, block, lane, squares, sliders, codes, parent, base)
            continue
        if not is_valued:
            is_valued = True
            unchanged, _, _ = lane_value(board, block, lane, squares, sliders, codes, parent, base)
        values[k] = unchanged


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
    """Write the keys of a block's successors, after `step` was evaluated."""
    out_of_line()
    words = words_of(width)
    # First every successor gets its parent's key, which is computed once a run; then the marks of
    # the fluents that changed are mixed in, or out again: xor does both.
    parent, low, high = -1, _NONE, _NONE
    for k in range(first, first + count):
        if lanes[k] != parent:
            parent, low, high = lanes[k], _NONE, _NONE
            for word in range(packed.shape[1]):
                bits = packed[parent, word]
                while bits:
                    fluent = 64 * word + lowest_one(bits)
                    bits &= bits - _ONE
                    low ^= marks[fluent, 0]
                    high ^= marks[fluent, 1]
        keys[k, 0], keys[k, 1] = low, high
    for n in range(len(changed)):
        low, high = marks[changed[n], 0], marks[changed[n], 1]
        for word in range((count + 63) >> 6):
            bits = block.differ[n * words + word]
            while bits:
                k = first + 64 * word + lowest_one(bits)
                bits &= bits - _ONE
                keys[k, 0] ^= low
                keys[k, 1] ^= high

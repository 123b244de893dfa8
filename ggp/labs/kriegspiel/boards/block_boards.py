"""Boards of the successors in a block, made from the boards of the states before them.

A block is a set of lanes in which a circuit makes one joint move each. A successor's board is its
parent's board with the fluents that changed; no state is written and read again. `leaf_kernels` and
`exchanges` value these boards.

    parent boards ─▶ fluents that differ after `step` ─▶ boards ─▶ attacks ─▶ values
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ggp.labs.kriegspiel.boards.board_kernels import (
    EMPTY,
    I32,
    MAX_SQUARES,
    U64,
    LeadTable,
    RayMasks,
)
from ggp.machine.base import FloatArray, IntArray
from ggp.machine.compiling.jit import by_reference, inlined
from ggp.machine.compiling.vectors import (
    aligned_words,
    count_ones,
    item,
    lowest_one,
    out_of_line,
    words_of,
)
from ggp.machine.propnet.play.kernels.lanes.packing import run_end
from ggp.machine.propnet.play.kernels.lanes.turn_parts import (
    TurnCircuit,
    holds,
)

_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_NONE = np.uint64(0)
_ONE = np.uint64(1)


@by_reference
class BoardTables(NamedTuple):
    """How states encode boards, how boards are valued, and which moves capture.

    There are K kinds of pieces.

    Attributes:
        fluents: `[B]` fluents that stand for pieces.
        fluent_index: `[F]` index of each fluent in `fluents`, -1 for other fluents.
        squares, codes: `[B + C]` square and code of these pieces, then of C pieces that hold
            in every state.
        blocks, bits: the words with these fluents, and their bits.
        masks, table: squares that pieces attack, and their shares of our lead.
        side: our side, whose values count.
        middle, scale, min_value, max_value: a value is `middle + scale * lead`, cut to the range.
        roles: `[2]` the role of each side.
        first_move, moves: `[2, S * S + 1]`, `[N]` moves of each side from each square to each
            other square, see `MovesBySquares`.
    """

    fluents: I32
    fluent_index: I32
    squares: I32
    codes: I32
    blocks: I32
    bits: U64
    masks: RayMasks
    table: LeadTable
    side: int
    middle: float
    scale: float
    min_value: float
    max_value: float
    roles: IntArray
    first_move: I32
    moves: I32


@by_reference
class BlockBoards(NamedTuple):
    """Scratch: the boards of a block of N lanes.

    Attributes:
        squares: S.
        codes: `[N * S]` the pieces.
        occupancy, parent_occupancy: `[N]` occupied squares of each lane, and of its parent.
        changed: `[N]` squares with another piece than on the parent.
        pieces: `[N]` number of true fluents that stand for pieces.
        parent_attacks, attacks: `[64]` squares that the piece on each square attacks, 0 for an
            empty square, on a parent and on the board of one lane.
        parent_owner, owner: `[64]` for the same two boards: all ones on squares with a piece of the
            first side.
        counts: `[R * 2 * W]` moves of each role, see `count_moves`.
        idle: `[R]` index of the move that was last found to be a role's only one.
        fluents, differ: `[F]` fluents that changed in some lane; `[F * W]` these lanes.
        lane_mask: `[W]` the lanes whose states are written; `node_ids`: `[N]` the node of each.
        candidates: `[N]` lanes of captures to follow up, the most promising first.
        worth, promise: `[N]` value of each lane's board for the side that moved, and a guess of its
            value after the reply.
        attackers: `[N]` squares of the pieces that can take back in a lane.
    """

    squares: int
    codes: np.ndarray
    occupancy: U64
    parent_occupancy: U64
    changed: U64
    pieces: IntArray
    parent_attacks: U64
    attacks: U64
    parent_owner: U64
    owner: U64
    counts: U64
    idle: IntArray
    fluents: IntArray
    differ: U64
    lane_mask: U64
    node_ids: IntArray
    candidates: IntArray
    worth: FloatArray
    promise: FloatArray
    attackers: U64


def block_boards(squares: int, roles: int, fluents: int, width: tuple[int, ...]) -> BlockBoards:
    """Allocate scratch; `squares`, `roles`, `fluents`: their numbers."""
    words = words_of(width)
    lanes = 64 * words
    return BlockBoards(
        squares=squares,
        codes=np.empty(lanes * squares, dtype=np.int16),
        occupancy=np.empty(lanes, dtype=np.uint64),
        parent_occupancy=np.empty(lanes, dtype=np.uint64),
        changed=np.empty(lanes, dtype=np.uint64),
        pieces=np.empty(lanes, dtype=np.int64),
        parent_attacks=aligned_words(MAX_SQUARES),
        attacks=aligned_words(MAX_SQUARES),
        parent_owner=aligned_words(MAX_SQUARES),
        owner=aligned_words(MAX_SQUARES),
        counts=np.empty(2 * roles * words, dtype=np.uint64),
        idle=np.zeros(roles, dtype=np.int64),
        fluents=np.empty(fluents, dtype=np.int64),
        differ=aligned_words(fluents * words),
        lane_mask=np.empty(words, dtype=np.uint64),
        node_ids=np.empty(lanes, dtype=np.int64),
        candidates=np.empty(lanes, dtype=np.int64),
        worth=np.empty(lanes),
        promise=np.empty(lanes),
        attackers=np.empty(lanes, dtype=np.uint64),
    )


@inlined
def copy_board(source: np.ndarray, start: int, target: np.ndarray, at: int, squares: int) -> None:
    """Copy a board from one flat array to another."""
    # Unsigned indices need no check for negative ones, so the loop is vectorised.
    first, shift = np.uint64(at), np.uint64(start)
    for square in range(np.uint64(squares)):
        target[first + square] = item(source, shift + square)


@inlined
def change_boards(
    circuit: TurnCircuit,
    board: BoardTables,
    packed: U64,
    codes: np.ndarray,
    occupancy: U64,
    lanes: IntArray,
    first: int,
    count: int,
    rows: U64,
    changed: IntArray,
    block: BlockBoards,
    width: tuple[int, ...],
) -> None:
    """Set up the boards of a block's successors, after `step` was evaluated.

    Each lane begins with its parent's board. Then each changed fluent puts its piece on a square,
    or takes it off if it is the piece that stands there. So the order of the fluents does not
    matter as long as no square has two pieces.

    Args:
        codes, occupancy: `[L * S]`, `[L]` boards of the parents, and their occupied squares.
        changed: fluents that differ in some lane, listed with `block.differ`.
    """
    out_of_line()
    words = words_of(width)
    squares = block.squares
    start = 0
    while start < count:
        state, end = lanes[first + start], run_end(lanes, first, start, count)
        occupied = occupancy[state]
        pieces = len(board.squares) - len(board.fluents)
        for n in range(len(board.blocks)):
            pieces += count_ones(packed[state, board.blocks[n]] & board.bits[n])
        for lane in range(start, end):
            block.occupancy[lane], block.parent_occupancy[lane] = occupied, occupied
            block.changed[lane] = _NONE
            block.pieces[lane] = pieces
            copy_board(codes, state * squares, block.codes, lane * squares, squares)
        start = end
    for index in range(len(changed)):
        fluent = changed[index]
        n = int(board.fluent_index[fluent])
        if n < 0:
            continue
        square, code = int(board.squares[n]), int(board.codes[n])
        mark = _ONE << np.uint64(square)
        next_word = np.int64(circuit.next_.rows[fluent]) * words
        for word in range((count + 63) >> 6):
            bits = block.differ[index * words + word]
            is_true = rows[next_word + word] ^ circuit.next_.inverted[fluent]
            while bits:
                bit = lowest_one(bits)
                bits &= bits - _ONE
                lane = 64 * word + bit
                at = lane * squares + square
                block.changed[lane] |= mark
                if is_true >> np.uint64(bit) & _ONE:
                    block.codes[at] = code
                    block.occupancy[lane] |= mark
                    block.pieces[lane] += 1
                else:
                    block.pieces[lane] -= 1
                    if block.codes[at] == code:
                        block.codes[at] = EMPTY
                        block.occupancy[lane] &= ~mark
    for lane in range(count):
        # Two pieces share a square: the changes alone do not determine which of them shows.
        if block.pieces[lane] != count_ones(block.occupancy[lane]):
            _read_board(circuit, board, lane, rows, block, words)


@inlined
def _read_board(
    circuit: TurnCircuit, board: BoardTables, lane: int, rows: U64, block: BlockBoards, words: int
) -> None:
    """Read the board of a lane's successor from all its fluents, as `read_boards` does."""
    out_of_line()
    squares = block.squares
    for square in range(squares):
        block.codes[lane * squares + square] = EMPTY
    block.occupancy[lane], block.changed[lane] = _NONE, _ALL
    for n in range(len(board.squares)):
        always = n >= len(board.fluents)
        if always or holds(rows, circuit.next_, int(board.fluents[n]), lane, words):
            square = int(board.squares[n])
            block.codes[lane * squares + square] = board.codes[n]
            block.occupancy[lane] |= _ONE << np.uint64(square)

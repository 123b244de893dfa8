"""Boards of the successors in a block.

A successor need not be written as a state and read again: its board is the one before with what has
changed. `leaf_kernels` say what it is worth.

    boards before ─▶ with the fluents that differ after `step` ─▶ attacks ─▶ worth
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ggp.labs.kriegspiel.boards.board_kernels import (
    EMPTY,
    I32,
    MOST_SQUARES,
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
    """Boards in states, what they are worth, and the moves that capture; K kinds of pieces.

    Attributes:
        fluents: `[B]` fluents that stand for pieces.
        number: `[F]` index of each fluent among these, -1 if it is another.
        squares, codes: `[B + C]` what they mean, and after them those of pieces that never change.
        blocks, bits: the words in which the fluents are, and which bits they are.
        masks, table: what pieces attack, and what they add to the lead of our side.
        side: ours, whose values count.
        middle, scale, least, most: what is done to a lead to get them.
        roles: `[2]` the role of each side.
        first_move, moves: `[2, S * S + 1]`, `[N]` the moves of each side from each square to each
            other one, see `MovesByPlace`.
    """

    fluents: I32
    number: I32
    squares: I32
    codes: I32
    blocks: I32
    bits: U64
    masks: RayMasks
    table: LeadTable
    side: int
    middle: float
    scale: float
    least: float
    most: float
    roles: IntArray
    first_move: I32
    moves: I32


@by_reference
class BlockBoards(NamedTuple):
    """Scratch: the boards of a block of N lanes.

    Attributes:
        squares: S.
        codes: `[N * S]` the pieces.
        occupied, held: `[N]` squares with a piece, and those with a piece before.
        changed: `[N]` squares with another piece than before.
        pieces: `[N]` number of fluents that stand for pieces.
        before, after: `[64]` squares that the piece on each square attacks, 0 without one, on the
            board before and on that of a lane.
        owned, owner: `[64]` the same two, all ones for squares with a piece of the first side.
        counts: `[R * 2 * W]` the moves of each role, see `count_moves`.
        idle: `[R]` place of a move that was the only one of the role in some lane.
        fluents, differ: `[F]` those that have changed in some lane; `[F * W]` the lanes.
        kept: `[W]` lanes whose states are written; `places`: `[N]` where.
        chosen, worth, promise: `[N]` some lanes, what the board of each lane is worth, and what it
            will be worth at a guess.
        attackers: `[N]` squares of some pieces of a lane.
    """

    squares: int
    codes: np.ndarray
    occupied: U64
    held: U64
    changed: U64
    pieces: IntArray
    before: U64
    after: U64
    owned: U64
    owner: U64
    counts: U64
    idle: IntArray
    fluents: IntArray
    differ: U64
    kept: U64
    places: IntArray
    chosen: IntArray
    worth: FloatArray
    promise: FloatArray
    attackers: U64


def block_boards(squares: int, roles: int, fluents: int, width: tuple[int, ...]) -> BlockBoards:
    """New scratch for boards of so many squares, in states of so many fluents."""
    words = words_of(width)
    lanes = 64 * words
    return BlockBoards(
        squares=squares,
        codes=np.empty(lanes * squares, dtype=np.int16),
        occupied=np.empty(lanes, dtype=np.uint64),
        held=np.empty(lanes, dtype=np.uint64),
        changed=np.empty(lanes, dtype=np.uint64),
        pieces=np.empty(lanes, dtype=np.int64),
        before=aligned_words(MOST_SQUARES),
        after=aligned_words(MOST_SQUARES),
        owned=aligned_words(MOST_SQUARES),
        owner=aligned_words(MOST_SQUARES),
        counts=np.empty(2 * roles * words, dtype=np.uint64),
        idle=np.zeros(roles, dtype=np.int64),
        fluents=np.empty(fluents, dtype=np.int64),
        differ=aligned_words(fluents * words),
        kept=np.empty(words, dtype=np.uint64),
        places=np.empty(lanes, dtype=np.int64),
        chosen=np.empty(lanes, dtype=np.int64),
        worth=np.empty(lanes),
        promise=np.empty(lanes),
        attackers=np.empty(lanes, dtype=np.uint64),
    )


@inlined
def copy_board(source: np.ndarray, start: int, target: np.ndarray, at: int, squares: int) -> None:
    """Copy a board from one flat array to another."""
    # Without a check for negative indices, several squares are copied at once.
    first, shift = np.uint64(at), np.uint64(start)
    for square in range(np.uint64(squares)):
        target[first + square] = item(source, shift + square)


@inlined
def change_boards(
    circuit: TurnCircuit,
    board: BoardTables,
    packed: U64,
    codes: np.ndarray,
    held: U64,
    lanes: IntArray,
    first: int,
    count: int,
    rows: U64,
    changed: IntArray,
    block: BlockBoards,
    width: tuple[int, ...],
) -> None:
    """Set up the boards of the successors of a block where `step` was evaluated.

    Args:
        codes, held: `[L * S]`, `[L]` the boards of the states before, and the squares with a piece.
        changed: fluents that differ in some lane, listed with `block.differ`.
    """
    out_of_line()
    words = words_of(width)
    squares = block.squares
    start = 0
    while start < count:
        state, end = lanes[first + start], run_end(lanes, first, start, count)
        occupied = held[state]
        pieces = len(board.squares) - len(board.fluents)
        for n in range(len(board.blocks)):
            pieces += count_ones(packed[state, board.blocks[n]] & board.bits[n])
        for lane in range(start, end):
            block.occupied[lane], block.held[lane] = occupied, occupied
            block.changed[lane] = _NONE
            block.pieces[lane] = pieces
            copy_board(codes, state * squares, block.codes, lane * squares, squares)
        start = end
    for place in range(len(changed)):
        k = changed[place]
        n = int(board.number[k])
        if n < 0:
            continue
        square, code = int(board.squares[n]), int(board.codes[n])
        mark = _ONE << np.uint64(square)
        new = np.int64(circuit.next_.rows[k]) * words
        for word in range((count + 63) >> 6):
            bits = block.differ[place * words + word]
            holding = rows[new + word] ^ circuit.next_.inverted[k]
            while bits:
                bit = lowest_one(bits)
                bits &= bits - _ONE
                lane = 64 * word + bit
                at = lane * squares + square
                block.changed[lane] |= mark
                if holding >> np.uint64(bit) & _ONE:
                    block.codes[at] = code
                    block.occupied[lane] |= mark
                    block.pieces[lane] += 1
                else:
                    block.pieces[lane] -= 1
                    if block.codes[at] == code:
                        block.codes[at] = EMPTY
                        block.occupied[lane] &= ~mark
    for lane in range(count):
        # Two pieces on one square: then what has changed does not tell which of them shows.
        if block.pieces[lane] != count_ones(block.occupied[lane]):
            _read_board(circuit, board, lane, rows, block, words)


@inlined
def _read_board(
    circuit: TurnCircuit, board: BoardTables, lane: int, rows: U64, block: BlockBoards, words: int
) -> None:
    """Read the board of the successor in a lane as `read_boards` would."""
    out_of_line()
    squares = block.squares
    for square in range(squares):
        block.codes[lane * squares + square] = EMPTY
    block.occupied[lane], block.changed[lane] = _NONE, _ALL
    for n in range(len(board.squares)):
        always = n >= len(board.fluents)
        if always or holds(rows, circuit.next_, int(board.fluents[n]), lane, words):
            square = int(board.squares[n])
            block.codes[lane * squares + square] = board.codes[n]
            block.occupied[lane] |= _ONE << np.uint64(square)

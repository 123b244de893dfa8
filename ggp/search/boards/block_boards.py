"""Boards of the successors in a block, and what they are worth.

A successor need not be written as a state and read again: its board is the one before with what has
changed, and only what attacks through squares that have changed is found anew.

    boards before ─▶ with the fluents that differ after `step` ─▶ attacks ─▶ worth
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ggp.machine.base import IntArray
from ggp.machine.compiling.jit import by_reference, inlined
from ggp.machine.propnet.play.kernels.lanes.packing import run_end
from ggp.machine.propnet.play.kernels.lanes.turning import (
    TurnCircuit,
    changes,
    has_changed,
    holds,
)
from ggp.machine.propnet.play.kernels.vectors import (
    count_ones,
    item,
    lowest_one,
    out_of_line,
    words_of,
)
from ggp.search.boards.board_kernels import EMPTY, I32
from ggp.search.boards.mask_kernels import U64, RayMasks, SumTables, attacks, sum_up

_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_NONE = np.uint64(0)
_ONE = np.uint64(1)


@by_reference
class BoardTables(NamedTuple):
    """Boards in states, what they are worth, and the moves that capture; K kinds of pieces.

    Attributes:
        fluents, squares, codes: `[B]` fluents that stand for pieces, and what they mean.
        blocks, bits: the words in which these are, and which bits they are.
        masks, sums: what pieces attack, and what they add to values.
        side: the side whose values count.
        check, middle, scale, least, most: what is done to the lead of a side to get them.
        roles: `[2]` the role of each side.
        first_move, moves: `[2, S * S + 1]`, `[N]` the moves of each side from each square to each
            other one, see `MovesByPlace`.
    """

    fluents: I32
    squares: I32
    codes: I32
    blocks: I32
    bits: U64
    masks: RayMasks
    sums: SumTables
    side: int
    check: float
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
        codes: `[N * S]` the pieces.
        occupied, held: `[N]` squares with a piece, and those with a piece before.
        changed: `[N]` squares with another piece than before.
        pieces: `[N]` number of fluents that stand for pieces.
        before, after: `[S]` squares that the piece on each square attacks, on the board before and
            on that of a lane.
        counts: `[R * 2 * W]` the moves of each role, see `count_moves`.
        firsts: `[N, R]` place of the first one.
        scratch: `[W]`.
        kept: `[W]` lanes whose states are written; `places`: `[N]` where.
    """

    codes: np.ndarray
    occupied: U64
    held: U64
    changed: U64
    pieces: IntArray
    before: U64
    after: U64
    counts: U64
    firsts: IntArray
    scratch: U64
    kept: U64
    places: IntArray


@inlined
def occupied_by(codes: np.ndarray, start: int, squares: int) -> np.uint64:
    """The squares of a board with a piece; `codes` are flat."""
    found = _NONE
    for square in range(squares):
        found |= np.uint64(item(codes, start + square) != EMPTY) << np.uint64(square)
    return found


@inlined
def change_boards(
    circuit: TurnCircuit,
    board: BoardTables,
    packed: U64,
    codes: np.ndarray,
    lanes: IntArray,
    first: int,
    count: int,
    rows: U64,
    block: BlockBoards,
    width: tuple[int, ...],
) -> None:
    """Set up the boards of the successors of a block where `step` was evaluated.

    Args:
        codes: `[L * S]` the boards of the states before.
    """
    out_of_line()
    words = words_of(width)
    squares = len(block.before)
    start = 0
    while start < count:
        state, end = lanes[first + start], run_end(lanes, first, start, count)
        occupied, pieces = occupied_by(codes, state * squares, squares), 0
        for n in range(len(board.blocks)):
            pieces += count_ones(packed[state, board.blocks[n]] & board.bits[n])
        for lane in range(start, end):
            block.occupied[lane], block.held[lane] = occupied, occupied
            block.changed[lane] = _NONE
            block.pieces[lane] = pieces
            for square in range(squares):
                block.codes[lane * squares + square] = codes[state * squares + square]
        start = end
    for n in range(len(board.fluents)):
        k = int(board.fluents[n])
        if not has_changed(circuit, k, rows, width):
            continue
        square, code = int(board.squares[n]), int(board.codes[n])
        mark = _ONE << np.uint64(square)
        new = np.int64(circuit.next_.rows[k]) * words
        for start in range(0, count, 64):
            bits = changes(circuit, k, rows, start, count, words)
            holding = rows[new + (start >> 6)] ^ circuit.next_.inverted[k]
            while bits:
                bit = lowest_one(bits)
                bits &= bits - _ONE
                lane = start + bit
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
    squares = len(block.before)
    for square in range(squares):
        block.codes[lane * squares + square] = EMPTY
    block.occupied[lane], block.changed[lane] = _NONE, _ALL
    for n in range(len(board.fluents)):
        if holds(rows, circuit.next_, int(board.fluents[n]), lane, words):
            square = int(board.squares[n])
            block.codes[lane * squares + square] = board.codes[n]
            block.occupied[lane] |= _ONE << np.uint64(square)


@inlined
def find_attacks(
    board: BoardTables,
    codes: np.ndarray,
    start: int,
    occupied: np.uint64,
    changed: np.uint64,
    differ: np.uint64,
    before: U64,
    after: U64,
) -> Any:
    """Find what the pieces of a board attack.

    Args:
        codes, start: the pieces, flat, and where those of the board begin.
        changed: squares on which there is another piece than on the board before, if any.
        differ: squares that are occupied on one of the two boards only.
        before: `[S]` what pieces attack on the board before; `after`: out, here.

    Returns:
        the squares that the first side attacks, and the second; and those of the first's pieces.
    """
    squares = len(before)
    first, second, first_squares = _NONE, _NONE, _NONE
    rest = occupied
    while rest:
        square = lowest_one(rest)
        rest &= rest - _ONE
        code = np.int64(item(codes, start + square))
        mark = _ONE << np.uint64(square)
        found = np.uint64(item(before, square))
        # A ray goes another way only if a square has changed that it reached.
        if (changed & mark) | (found & differ):
            found = attacks(board.masks, code, code * squares + square, occupied)
        after[square] = found
        side = np.uint64(item(board.sums.side, code))
        first |= found & (side - _ONE)
        second |= found & (_NONE - side)
        first_squares |= mark & (side - _ONE)
    return first, second, first_squares


@inlined
def prepare_attacks(
    board: BoardTables,
    codes: np.ndarray,
    parent: int,
    block: BlockBoards,
    lane: int,
    alone: bool,
) -> None:
    """Find what is attacked before the turns of a run of lanes with the same state.

    Args:
        codes: `[L * S]` the boards before; `parent`: the one of the run.
        lane: the first of the run; `alone`: it is the only one.
    """
    if alone:
        block.changed[lane] = _ALL  # of a single one all is found anew
        return
    start = parent * len(block.before)
    find_attacks(board, codes, start, block.held[lane], _ALL, _NONE, block.before, block.before)


@inlined
def lane_value(board: BoardTables, block: BlockBoards, lane: int) -> Any:
    """What the board of a lane is worth to our side, as `BoardValues.worth`, and the squares of the
    first side's pieces."""
    squares = len(block.before)
    start = lane * squares
    occupied = block.occupied[lane]
    first, second, first_squares = find_attacks(
        board,
        block.codes,
        start,
        occupied,
        block.changed[lane],
        occupied ^ block.held[lane],
        block.before,
        block.after,
    )
    firsts, seconds, first_checks, second_checks = sum_up(
        board.sums, block.codes, start, squares, occupied, first, second
    )
    if board.side == 0:
        lead = firsts - seconds + board.check * first_checks
    else:
        lead = seconds - firsts + board.check * second_checks
    value = board.middle + board.scale * lead
    return min(max(value, board.least), board.most), first_squares

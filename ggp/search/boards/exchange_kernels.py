"""Captures made, valued and followed up by one kernel.

Of most captures no more is wanted than what the board is worth then (`block_boards`). Where another
can follow on the same square that may matter, it is listed, and the state is written.

    step ─▶ boards ─▶ worth ─▶ may more matter? ─▶ captures ─▶ states
      └─▶ look ─▶ over? who is to move? ─┘
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ggp.machine.base import BoolArray, FloatArray, IntArray
from ggp.machine.compiling.jit import by_reference, inlined, kernel
from ggp.machine.propnet.play.kernels.lanes.turn_parts import (
    TurnCircuit,
    begin_turns,
    count_moves,
    count_of,
    end_turns,
    holds,
    is_legal,
    is_over,
    list_changed,
    look_ahead,
    look_at,
    store_some,
)
from ggp.machine.propnet.play.kernels.vectors import (
    WORDS_PER_ITEM,
    band,
    bxor,
    count_ones,
    load,
    lowest_one,
    out_of_line,
    reduce_or,
    splat,
    words_of,
)
from ggp.search.boards.block_boards import (
    BlockBoards,
    BoardTables,
    change_boards,
    copy_board,
    lane_value,
    lead_before,
    occupied_by,
    prepare_attacks,
)
from ggp.search.boards.board_kernels import EMPTY, SIDES
from ggp.search.boards.mask_kernels import U64

_VECTOR = (0,)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_NONE = np.uint64(0)
_ONE = np.uint64(1)


@by_reference
class Made(NamedTuple):
    """Out: captures that are kept, N at most, of K joint moves; and M captures that may follow.

    Attributes:
        which: `[K]` index of the joint move.
        values: `[K]` worth of the board for our side.
        over, again: `[K]` whether the game is over; whether the role that moved has a choice.
        states, codes: `[K, ...]`, `[K * S]` what follows; written where captures are listed or the
            game is over.
        number: `[K]` pieces there, likewise.
        found: `[4, M]` captures: index among those that are kept, role, move, square.
        joint: `[M, R]` their joint moves.
    """

    which: IntArray
    values: FloatArray
    over: BoolArray
    again: BoolArray
    states: U64
    codes: np.ndarray
    number: IntArray
    found: IntArray
    joint: IntArray


@kernel
def make_captures(
    circuit: TurnCircuit,
    board: BoardTables,
    packed: U64,
    codes: np.ndarray,
    number: IntArray,
    lanes: IntArray,
    joint: IntArray,
    movers: IntArray,
    targets: IntArray,
    low: FloatArray,
    high: FloatArray,
    blank: U64,
    rows: U64,
    block: BlockBoards,
    made: Made,
    width: tuple[int, ...],
) -> tuple[int, int]:
    """Make joint moves that may be captures; keep those that are.

    Args:
        packed, codes, number: `[L, ...]`, `[L * S]`, `[L]` states, and their boards and pieces.
        lanes: `[K]` state of each joint move; equal ones had better be neighbours.
        joint: `[K, R]` joint moves, legal ones; `movers`: `[K]` the roles that capture.
        targets: `[K]` the square of the capture.
        low, high: `[K]` what our side, and the other one, can already have: captures that could
            matter only beyond these do not count.
        blank, rows: scratch, see `make_turns`.

    Returns:
        how many are kept, and how many captures may follow; if that is more than fit into `made`,
        the rest is missing there.
    """
    words = words_of(width)
    squares = block.squares
    kept, follow = 0, 0
    for first in range(0, len(lanes), 64 * words):
        count = min(64 * words, len(lanes) - first)
        written = begin_turns(circuit, packed, lanes, joint, first, count, blank, width)
        changed = block.fluents[: list_changed(circuit, blank, block.fluents, width)]
        change_boards(
            circuit, board, packed, codes, lanes, first, count, blank, changed, block, width
        )
        look_ahead(circuit, blank, rows, width)
        _count_all(circuit, rows, block, width)
        for word in range(words):
            block.kept[word] = _NONE
        parent, sliders, known = -1, _NONE, (_NONE, _NONE, 0, _NONE)
        begin_follow = follow
        for lane in range(count):
            k = first + lane
            if lanes[k] != parent:
                parent = lanes[k]
                sliders = prepare_attacks(board, codes, parent, squares, block, lane)
                known = lead_before(board, codes, parent, lanes, k, block, lane)
            pieces = count_ones(block.occupied[lane])
            if pieces >= number[parent]:
                continue
            value = lane_value(board, block, lane, squares, sliders, codes, parent, known)
            over = is_over(circuit.look, rows, lane, words)
            again = count_of(block.counts[2 * words * movers[k] :], lane, words) > 1
            made.which[kept] = k
            made.values[kept] = value
            made.over[kept], made.again[kept] = over, again
            place = kept
            kept += 1
            before = follow
            if not over:
                follow = _list_captures(
                    circuit,
                    board,
                    block,
                    rows,
                    lane,
                    targets[k],
                    value < high[k],
                    value > low[k],
                    place,
                    made,
                    follow,
                    words,
                )
            if over or follow > before:
                made.number[place] = pieces
                copy_board(block.codes, lane * squares, made.codes, place * squares, squares)
                block.kept[lane >> 6] |= _ONE << np.uint64(lane & 63)
                block.places[lane] = place
        store_some(
            circuit,
            packed,
            lanes,
            first,
            count,
            blank,
            changed,
            block.kept,
            block.places,
            made.states,
            width,
        )
        if follow > begin_follow:
            _join_moves(circuit, rows, block, made, begin_follow, follow, words)
        end_turns(circuit, packed, lanes, joint, first, count, blank, words, written)
    return kept, follow


@kernel
def first_captures(
    circuit: TurnCircuit,
    board: BoardTables,
    packed: U64,
    codes: np.ndarray,
    rows: U64,
    square: U64,
    block: BlockBoards,
    made: Made,
    width: tuple[int, ...],
) -> int:
    """List the captures of sides that are to move.

    Args:
        circuit: what it looks at are the moves of each role.
        packed, codes: `[L, ...]`, `[L * S]` states that are not over, and their boards.
        rows, square: scratch, see `count_choices`.
        made: captures are listed in `found`, with the index of the state, and `joint`.

    Returns:
        how many there are; if that is more than fit into `made`, the rest is missing there.
    """
    words, squares = words_of(width), block.squares
    found = 0
    for first in range(0, len(packed), 64 * words):
        count, begin = min(64 * words, len(packed) - first), found
        look_at(circuit.look, packed, first, count, rows, square, width)
        _count_all(circuit, rows, block, width)
        for lane in range(count):
            state = first + lane
            occupied = occupied_by(codes, state * squares, squares)
            block.held[lane] = occupied
            prepare_attacks(board, codes, state, squares, block, lane)
            for side in range(SIDES):
                if not _is_to_move(board, block, side, lane, words):
                    continue
                own, rest = _ALL if side == 0 else _NONE, occupied
                while rest:
                    origin = lowest_one(rest)
                    rest &= rest - _ONE
                    reach = block.before[origin] & occupied
                    while reach and block.owned[origin] == own:
                        target = lowest_one(reach)
                        reach &= reach - _ONE
                        if block.owned[target] == own:
                            continue
                        at = origin * squares + target
                        found = _list_moves(
                            circuit, board, rows, side, at, target, lane, state, made, found, words
                        )
        if found > begin:
            _join_moves(circuit, rows, block, made, begin, found, words)
    return found


@inlined
def _count_all(circuit: TurnCircuit, rows: U64, block: BlockBoards, width: tuple[int, ...]) -> None:
    """Count the moves of all roles in a block where `look` was evaluated."""
    words = words_of(width)
    for role in range(len(block.idle)):
        at = 2 * words * role
        count_moves(circuit.look, role, rows, block.counts[at : at + 2 * words], width)


@inlined
def _is_to_move(board: BoardTables, block: BlockBoards, side: int, lane: int, words: int) -> bool:
    """Whether no other role has a choice in a lane where moves were counted."""
    role = board.roles[side]
    for other in range(len(block.idle)):
        if other != role and count_of(block.counts[2 * words * other :], lane, words) != 1:
            return False
    return True


@inlined
def _list_moves(
    circuit: TurnCircuit,
    board: BoardTables,
    rows: U64,
    side: int,
    at: int,
    target: int,
    lane: int,
    place: int,
    made: Made,
    count: int,
    words: int,
) -> int:
    """List the legal moves of a side from one square to another, see `BoardTables.first_move`;
    other arguments, and result, as for `_list_captures`."""
    role = board.roles[side]
    for n in range(board.first_move[side, at], board.first_move[side, at + 1]):
        move = int(board.moves[n])
        if not is_legal(circuit, rows, role, move, lane, words):
            continue
        if count < made.found.shape[1]:
            made.found[0, count], made.found[1, count] = place, role
            made.found[2, count], made.found[3, count] = move, target
            made.joint[count, 0] = lane  # until all of the block are joined
        count += 1
    return count


@inlined
def _list_captures(
    circuit: TurnCircuit,
    board: BoardTables,
    block: BlockBoards,
    rows: U64,
    lane: int,
    target: int,
    ours: bool,
    others: bool,
    place: int,
    made: Made,
    count: int,
    words: int,
) -> int:
    """List the legal captures on a square of a lane, of sides that are to move.

    Args:
        ours, others: whether captures of our side count, and those of the other one.
        place: of the lane among those that are kept.
        count: number of captures so far.

    Returns:
        the number of captures now.
    """
    out_of_line()
    squares = block.squares
    taken = np.int64(block.codes[lane * squares + target])
    if taken == EMPTY:
        return count
    side = 1 - int(board.table.side[taken])
    if not (ours if side == board.side else others):
        return count
    if not _is_to_move(board, block, side, lane, words):
        return count
    mark, own = _ONE << np.uint64(target), _ALL if side == 0 else _NONE
    marks, owners = splat(mark, _VECTOR), splat(~own, _VECTOR)
    for word in range(0, squares, WORDS_PER_ITEM):
        # Few pieces attack a square, so eight at a time are looked at.
        reach = band(load(block.after, word, _VECTOR), marks)
        if not reduce_or(band(reach, bxor(load(block.owner, word, _VECTOR), owners))):
            continue
        for origin in range(word, min(word + WORDS_PER_ITEM, squares)):
            if block.after[origin] & mark and block.owner[origin] == own:
                at = origin * squares + target
                count = _list_moves(
                    circuit, board, rows, side, at, target, lane, place, made, count, words
                )
    return count


@inlined
def _join_moves(
    circuit: TurnCircuit,
    rows: U64,
    block: BlockBoards,
    made: Made,
    start: int,
    end: int,
    words: int,
) -> None:
    """Make joint moves of captures that were listed: the other roles have no choice."""
    out_of_line()
    for n in range(start, min(end, made.found.shape[1])):
        lane = made.joint[n, 0]
        for role in range(made.joint.shape[1]):
            if role == made.found[1, n]:
                made.joint[n, role] = made.found[2, n]
                continue
            place = _only_move(circuit, rows, role, lane, block, words)
            made.joint[n, role] = circuit.numbers[circuit.begins[role] - circuit.begins[0] + place]


@inlined
def _only_move(
    circuit: TurnCircuit, rows: U64, role: int, lane: int, block: BlockBoards, words: int
) -> int:
    """Place of the only move of a role in a lane."""
    out_of_line()
    first = 64 * circuit.look.starts[role]
    place = block.idle[role]  # most often it is the same everywhere: to wait
    while not holds(rows, circuit.look.wires, first + place, lane, words):
        place += 1
        if first + place == 64 * circuit.look.starts[role + 1]:
            place = 0
    block.idle[role] = place
    return int(place)

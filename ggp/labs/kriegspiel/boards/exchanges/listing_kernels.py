"""Which captures are possible on boards in the lanes of a block.

What may take a piece is known from what pieces attack (`block_boards`), and few pieces attack a
square. So the circuit is only asked whether these few moves are legal.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ggp.labs.kriegspiel.boards.block_boards import BlockBoards, BoardTables
from ggp.labs.kriegspiel.boards.board_kernels import EMPTY, SIDES, U64
from ggp.labs.kriegspiel.boards.leaf_kernels import prepare_attacks, value_before
from ggp.machine.base import FloatArray, IntArray
from ggp.machine.compiling.jit import by_reference, inlined, kernel
from ggp.machine.compiling.vectors import (
    WORDS_PER_ITEM,
    band,
    bxor,
    load,
    lowest_one,
    out_of_line,
    reduce_or,
    splat,
    words_of,
)
from ggp.machine.propnet.play.kernels.lanes.turn_parts import (
    TurnCircuit,
    count_moves,
    count_of,
    holds,
    is_legal,
    look_at,
)

_VECTOR = (0,)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_NONE = np.uint64(0)
_ONE = np.uint64(1)


@by_reference
class Listed(NamedTuple):
    """M captures; those of a board are neighbours.

    Attributes:
        found: `[4, M]` of each: the board, the role that captures, its move, and the square.
        joint: `[M, R]` their joint moves.
    """

    found: IntArray
    joint: IntArray


@kernel
def first_captures(
    circuit: TurnCircuit,
    board: BoardTables,
    packed: U64,
    codes: np.ndarray,
    held: U64,
    rows: U64,
    square: U64,
    block: BlockBoards,
    values: FloatArray,
    listed: Listed,
    width: tuple[int, ...],
) -> int:
    """Value boards, and list the captures of sides that are to move.

    Args:
        circuit: what it looks at are the moves of each role.
        packed, codes, held: `[L, ...]`, `[L * S]`, `[L]` states that are not over, their boards,
            and the squares with a piece.
        rows, square: scratch, see `count_choices`.
        values: `[L]` out: what each board is worth to our side.
        listed: captures are listed in `found`, with the index of the state, and `joint`.

    Returns:
        how many there are; if that is more than fit into `listed`, the rest is missing there.
    """
    words, squares = words_of(width), block.squares
    found = 0
    for first in range(0, len(packed), 64 * words):
        count, begin = min(64 * words, len(packed) - first), found
        look_at(circuit.look, packed, first, count, rows, square, width)
        count_all(circuit, rows, block, width)
        for lane in range(count):
            state = first + lane
            occupied = held[state]
            block.held[lane] = occupied
            prepare_attacks(board, codes, state, squares, block, lane)
            values[state] = value_before(board, codes, state, block, lane)
            for side in range(SIDES):
                if not is_to_move(board, block, side, lane, words):
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
                        found = list_moves(
                            circuit,
                            board,
                            rows,
                            side,
                            at,
                            target,
                            lane,
                            state,
                            listed,
                            found,
                            words,
                        )
        if found > begin:
            join_moves(circuit, rows, block, listed, begin, found, words)
    return found


@inlined
def count_all(circuit: TurnCircuit, rows: U64, block: BlockBoards, width: tuple[int, ...]) -> None:
    """Count the moves of all roles in a block where `look` was evaluated."""
    words = words_of(width)
    for role in range(len(block.idle)):
        at = 2 * words * role
        count_moves(circuit.look, role, rows, block.counts[at : at + 2 * words], width)


@inlined
def is_to_move(board: BoardTables, block: BlockBoards, side: int, lane: int, words: int) -> bool:
    """Whether no other role has a choice in a lane where moves were counted."""
    role = board.roles[side]
    for other in range(len(block.idle)):
        if other != role and count_of(block.counts[2 * words * other :], lane, words) != 1:
            return False
    return True


@inlined
def list_moves(
    circuit: TurnCircuit,
    board: BoardTables,
    rows: U64,
    side: int,
    at: int,
    target: int,
    lane: int,
    place: int,
    listed: Listed,
    count: int,
    words: int,
) -> int:
    """List the legal moves of a side from one square to another, see `BoardTables.first_move`;
    other arguments, and result, as for `list_answers`."""
    role = board.roles[side]
    for n in range(board.first_move[side, at], board.first_move[side, at + 1]):
        move = int(board.moves[n])
        if not is_legal(circuit, rows, role, move, lane, words):
            continue
        if count < listed.found.shape[1]:
            listed.found[0, count], listed.found[1, count] = place, role
            listed.found[2, count], listed.found[3, count] = move, target
            listed.joint[count, 0] = lane  # until all of the block are joined
        count += 1
    return count


@inlined
def list_answers(
    circuit: TurnCircuit,
    board: BoardTables,
    block: BlockBoards,
    rows: U64,
    lane: int,
    target: int,
    place: int,
    listed: Listed,
    count: int,
    words: int,
) -> int:
    """List the legal captures on a square of a lane, of sides that are to move, by the pieces that
    `find_attackers` has found.

    Args:
        place: of the lane among those that are kept.
        count: number of captures so far.

    Returns:
        the number of captures now.
    """
    out_of_line()
    squares, rest = block.squares, block.attackers[lane]
    if not rest:
        return count
    side = 1 - int(board.table.side[np.int64(block.codes[lane * squares + target])])
    if not is_to_move(board, block, side, lane, words):
        return count
    while rest:
        at = lowest_one(rest) * squares + target
        rest &= rest - _ONE
        count = list_moves(
            circuit, board, rows, side, at, target, lane, place, listed, count, words
        )
    return count


@inlined
def join_moves(
    circuit: TurnCircuit,
    rows: U64,
    block: BlockBoards,
    listed: Listed,
    start: int,
    end: int,
    words: int,
) -> None:
    """Make joint moves of captures that were listed: the other roles have no choice."""
    out_of_line()
    for n in range(start, min(end, listed.found.shape[1])):
        lane = listed.joint[n, 0]
        for role in range(listed.joint.shape[1]):
            if role == listed.found[1, n]:
                listed.joint[n, role] = listed.found[2, n]
                continue
            place = _only_move(circuit, rows, role, lane, block, words)
            listed.joint[n, role] = circuit.numbers[
                circuit.begins[role] - circuit.begins[0] + place
            ]


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


@inlined
def find_attackers(
    board: BoardTables,
    block: BlockBoards,
    lane: int,
    target: int,
    first: np.uint64,
    second: np.uint64,
) -> bool:
    """Find the pieces of the other side that attack the piece on a square of the lane that was
    valued last; returns whether there are any.

    Args:
        first, second: the squares that each side attacks there.
    """
    block.attackers[lane] = _NONE
    taken = np.int64(block.codes[lane * block.squares + target])
    if taken == EMPTY:
        return False
    side = 1 - int(board.table.side[taken])
    mark, own = _ONE << np.uint64(target), _ALL if side == 0 else _NONE
    if not (first if side == 0 else second) & mark:
        return False
    marks, owners = splat(mark, _VECTOR), splat(~own, _VECTOR)
    for word in range(0, block.squares, WORDS_PER_ITEM):
        # Few pieces attack a square, so eight at a time are looked at.
        reach = band(load(block.after, word, _VECTOR), marks)
        if not reduce_or(band(reach, bxor(load(block.owner, word, _VECTOR), owners))):
            continue
        for origin in range(word, min(word + WORDS_PER_ITEM, block.squares)):
            if block.after[origin] & mark and block.owner[origin] == own:
                block.attackers[lane] |= _ONE << np.uint64(origin)
    return True

"""Possible captures on boards in the lanes of a block, listed by the attacks of pieces.

`quiescence` lists first captures here, and `exchange_kernels` the answers to captures. Attacks
(`block_boards`) say which moves may capture, and few pieces attack a square. So the circuit checks
only the legality of these few moves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ggp.labs.kriegspiel.boards.block_boards import BlockBoards, BoardTables
from ggp.labs.kriegspiel.boards.board_kernels import EMPTY, SIDES, U64
from ggp.labs.kriegspiel.boards.leaf_kernels import prepare_attacks, value_parent
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
from ggp.machine.propnet.play.kernels.block_kernels import look_at
from ggp.machine.propnet.play.kernels.lanes.turn_parts import (
    TurnCircuit,
    count_moves,
    count_of,
    holds,
    is_legal,
)

_VECTOR = (0,)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_NONE = np.uint64(0)
_ONE = np.uint64(1)


@by_reference
class CaptureList(NamedTuple):
    """M captures; captures on one board are neighbours.

    Attributes:
        entries: `[4, M]` index of the board, role that captures, its move, and target square.
        joint: `[M, R]` joint moves.
    """

    entries: IntArray
    joint: IntArray


@kernel
def first_captures(
    circuit: TurnCircuit,
    board: BoardTables,
    packed: U64,
    codes: np.ndarray,
    occupancy: U64,
    rows: U64,
    square: U64,
    block: BlockBoards,
    values: FloatArray,
    listed: CaptureList,
    width: tuple[int, ...],
) -> int:
    """Value boards, and list the captures of sides that are to move.

    Args:
        circuit: its `look` computes the moves of each role.
        packed, codes, occupancy: `[L, ...]`, `[L * S]`, `[L]` states that are not terminal, their
            boards, and the occupied squares.
        rows, square: scratch, see `count_choices`.
        values: `[L]` out: value of each board for our side.
        listed: out: the captures, each with the index of its state.

    Returns:
        the number of captures; if it exceeds the room in `listed`, the last ones are missing.
    """
    words, squares = words_of(width), block.squares
    total = 0
    for first in range(0, len(packed), 64 * words):
        count, begin = min(64 * words, len(packed) - first), total
        look_at(circuit.look, packed, first, count, rows, square, width)
        count_all(circuit, rows, block, width)
        for lane in range(count):
            state = first + lane
            occupied = occupancy[state]
            block.parent_occupancy[lane] = occupied
            prepare_attacks(board, codes, state, squares, block, lane)
            values[state] = value_parent(board, codes, state, block, lane)
            for side in range(SIDES):
                if not is_to_move(board, block, side, lane, words):
                    continue
                owner, rest = _ALL if side == 0 else _NONE, occupied
                while rest:
                    origin = lowest_one(rest)
                    rest &= rest - _ONE
                    reach = block.parent_attacks[origin] & occupied
                    while reach and block.parent_owner[origin] == owner:
                        target = lowest_one(reach)
                        reach &= reach - _ONE
                        if block.parent_owner[target] == owner:
                            continue
                        at = origin * squares + target
                        total = list_moves(
                            circuit,
                            board,
                            rows,
                            side,
                            at,
                            target,
                            lane,
                            state,
                            listed,
                            total,
                            words,
                        )
        if total > begin:
            join_moves(circuit, rows, block, listed, begin, total, words)
    return total


@inlined
def count_all(circuit: TurnCircuit, rows: U64, block: BlockBoards, width: tuple[int, ...]) -> None:
    """Count the moves of all roles in a block, after `look` was evaluated."""
    words = words_of(width)
    for role in range(len(block.idle)):
        at = 2 * words * role
        count_moves(circuit.look, role, rows, block.counts[at : at + 2 * words], width)


@inlined
def is_to_move(board: BoardTables, block: BlockBoards, side: int, lane: int, words: int) -> bool:
    """Whether a side is to move in a lane with counted moves: no other role has a choice."""
    role = board.roles[side]
    for opponent in range(len(block.idle)):
        if opponent != role and count_of(block.counts[2 * words * opponent :], lane, words) != 1:
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
    source: int,
    listed: CaptureList,
    count: int,
    words: int,
) -> int:
    """List the legal moves of a side from one square to another: `at` is origin * S + target.

    Other arguments, and result, as for `list_answers`.
    """
    role = board.roles[side]
    for n in range(board.first_move[side, at], board.first_move[side, at + 1]):
        move = int(board.moves[n])
        if not is_legal(circuit, rows, role, move, lane, words):
            continue
        if count < listed.entries.shape[1]:
            listed.entries[0, count], listed.entries[1, count] = source, role
            listed.entries[2, count], listed.entries[3, count] = move, target
            listed.joint[count, 0] = lane  # until `join_moves` overwrites it
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
    source: int,
    listed: CaptureList,
    count: int,
    words: int,
) -> int:
    """List the legal captures on a square of a lane by the pieces from `find_attackers`.

    Args:
        source: index of the board that the captures are listed with.
        count: number of captures so far.

    Returns:
        the number of captures now; the same if the attackers' side is not to move.
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
            circuit, board, rows, side, at, target, lane, source, listed, count, words
        )
    return count


@inlined
def join_moves(
    circuit: TurnCircuit,
    rows: U64,
    block: BlockBoards,
    listed: CaptureList,
    start: int,
    end: int,
    words: int,
) -> None:
    """Complete listed captures to joint moves: the other roles have no choice."""
    out_of_line()
    for n in range(start, min(end, listed.entries.shape[1])):
        lane = listed.joint[n, 0]
        for role in range(listed.joint.shape[1]):
            if role == listed.entries[1, n]:
                listed.joint[n, role] = listed.entries[2, n]
                continue
            index = _only_move(circuit, rows, role, lane, block, words)
            listed.joint[n, role] = circuit.numbers[
                circuit.begins[role] - circuit.begins[0] + index
            ]


@inlined
def _only_move(
    circuit: TurnCircuit, rows: U64, role: int, lane: int, block: BlockBoards, words: int
) -> int:
    """Index of a role's only move in a lane."""
    out_of_line()
    first = 64 * circuit.look.starts[role]
    index = block.idle[role]  # mostly the same in all lanes: to wait
    while not holds(rows, circuit.look.wires, first + index, lane, words):
        index += 1
        if first + index == 64 * circuit.look.starts[role + 1]:
            index = 0
    block.idle[role] = index
    return int(index)


@inlined
def find_attackers(
    board: BoardTables,
    block: BlockBoards,
    lane: int,
    target: int,
    first: np.uint64,
    second: np.uint64,
) -> bool:
    """Write `block.attackers`: pieces that can take back on a square of the lane that was valued
    last; returns whether there are any.

    Args:
        first, second: squares that each side attacks in this lane.
    """
    block.attackers[lane] = _NONE
    piece = np.int64(block.codes[lane * block.squares + target])
    if piece == EMPTY:
        return False
    side = 1 - int(board.table.side[piece])
    mark, owner = _ONE << np.uint64(target), _ALL if side == 0 else _NONE
    if not (first if side == 0 else second) & mark:
        return False
    marks, owners = splat(mark, _VECTOR), splat(~owner, _VECTOR)
    for word in range(0, block.squares, WORDS_PER_ITEM):
        # Few pieces attack a square: skip a vector of squares without an attacker.
        reach = band(load(block.attacks, word, _VECTOR), marks)
        if not reduce_or(band(reach, bxor(load(block.owner, word, _VECTOR), owners))):
            continue
        for origin in range(word, min(word + WORDS_PER_ITEM, block.squares)):
            if block.attacks[origin] & mark and block.owner[origin] == owner:
                block.attackers[lane] |= _ONE << np.uint64(origin)
    return True

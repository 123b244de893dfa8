"""Boards on which captures are still to be made, the next ones first.

Captures are made some hundreds at a time, and most turn out not to matter as soon as a better one
is known. So they go on two stacks, one for each side that makes them, because a block in which one
side moves needs half of a circuit. What has just been reached is gone on from first, as in a search
in depth; of first captures, the most promising one of each board comes before all second ones. When
a board's turn comes, it may be known already that it cannot matter:

    board before    50 so far
        capture     53, but the other side can take back
            taken back  49: no more than 50 is left, so what else follows there need not be made

What a board is worth counts for the board before as soon as all that follows on it is known.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ggp.labs.kriegspiel.boards.block_boards import BlockBoards, BoardTables, copy_board
from ggp.labs.kriegspiel.boards.board_kernels import U64
from ggp.labs.kriegspiel.boards.exchanges.listing_kernels import Listed, list_answers
from ggp.machine.base import BoolArray, FloatArray, IntArray
from ggp.machine.compiling.jit import by_reference, inlined
from ggp.machine.compiling.vectors import count_ones, out_of_line
from ggp.machine.propnet.play.kernels.lanes.turn_parts import TurnCircuit

_ONE = np.uint64(1)

DONE, MADE, KEPT, FOLLOW, HEIGHT, LEFT = 0, 1, 2, 3, 4, 6
"""Places of counts: first captures that were made, all that were made, boards that are kept,
captures on these, boards on each of the two stacks, and captures on these."""

NUM_COUNTS = 8

RANKS = 4
"""Ranks of captures that are told apart."""


@by_reference
class Reached(NamedTuple):
    """N boards on which captures may follow.

    Attributes:
        states: `[N, ...]` packed.
        codes, number, held: `[N * S]`, `[N]`, `[N]` the pieces, their number, and their squares.
        values: `[N]` worth to our side, as far as is known.
        depth: `[N]` captures so far.
        before: `[N]` the board before the last capture, -1 - n for the n-th first board.
        ours: `[N]` whether our side made that capture.
        over: `[N]` whether the game is over.
        begin, end: `[N]` the captures on it that are still to be made.
        rank: `[N]` how many captures on the board before looked better, at most `RANKS` - 1.
        waits: `[N]` number of boards kept after captures on it whose worth is not known yet, and 1
            while captures on it are still to be made.
    """

    states: U64
    codes: np.ndarray
    number: IntArray
    held: U64
    values: FloatArray
    depth: IntArray
    before: IntArray
    ours: BoolArray
    over: BoolArray
    begin: IntArray
    end: IntArray
    rank: IntArray
    waits: IntArray


@by_reference
class Exchange(NamedTuple):
    """What is played out.

    Attributes:
        first, captures: boards, and K captures on them; legal, and on each board of the same role.
        most: longest sequence of captures.
        role: ours.
        kept, answers: boards that are kept, and captures on them.
        picked: room for those that are made next.
        stacks: `[2, N]` boards that are kept, with captures to be made by the other side, and by
            ours.
        counts: `[NUM_COUNTS]` see `DONE`.
    """

    first: Reached
    captures: Listed
    most: int
    role: int
    kept: Reached
    answers: Listed
    picked: Listed
    stacks: IntArray
    counts: IntArray


@inlined
def bounds(exchange: Exchange, n: int) -> tuple[float, float]:
    """What our side, and the other one, can already have instead of a board that is kept; of one
    below 0, a first board: nothing."""
    kept, low, high = exchange.kept, -np.inf, np.inf
    while n >= 0:
        before = kept.before[n]
        value = kept.values[before] if before >= 0 else exchange.first.values[-1 - before]
        if kept.ours[n]:
            low = max(low, value)
        else:
            high = min(high, value)
        n = before
    return low, high


@inlined
def follow_up(
    circuit: TurnCircuit,
    board: BoardTables,
    exchange: Exchange,
    source: Reached,
    captures: Listed,
    follows: bool,
    k: int,
    rank: int,
    rows: U64,
    block: BlockBoards,
    lane: int,
    words: int,
) -> bool:
    """List the captures that may follow one, and keep the board if there are any; returns whether
    there are."""
    out_of_line()
    counts = exchange.counts
    before = counts[FOLLOW]
    counts[FOLLOW] = list_answers(
        circuit,
        board,
        block,
        rows,
        lane,
        captures.found[3, k],
        counts[KEPT],
        exchange.answers,
        before,
        words,
    )
    if counts[FOLLOW] == before:
        return False
    keep(exchange, source, captures, follows, k, rank, False, before, block, lane)
    return True


@inlined
def keep(
    exchange: Exchange,
    source: Reached,
    captures: Listed,
    follows: bool,
    k: int,
    rank: int,
    over: bool,
    begin: int,
    block: BlockBoards,
    lane: int,
) -> None:
    """Keep the board after a capture.

    Args:
        rank: see `Reached`; `begin`: first of the captures that may follow.
    """
    out_of_line()
    kept, found, squares = exchange.kept, captures.found, block.squares
    parent, place = found[0, k], exchange.counts[KEPT]
    ours = found[1, k] == exchange.role
    kept.values[place] = block.worth[lane] if ours else -block.worth[lane]
    kept.number[place] = count_ones(block.occupied[lane])
    kept.held[place] = block.occupied[lane]
    kept.depth[place] = source.depth[parent] + 1
    kept.before[place] = parent if follows else -1 - parent
    kept.ours[place], kept.over[place] = ours, over
    kept.begin[place], kept.end[place] = begin, begin if over else exchange.counts[FOLLOW]
    kept.rank[place], kept.waits[place] = rank, 1
    if follows:
        kept.waits[parent] += 1
    copy_board(block.codes, lane * squares, kept.codes, place * squares, squares)
    block.kept[lane >> 6] |= _ONE << np.uint64(lane & 63)
    block.places[lane] = place
    exchange.counts[KEPT] = place + 1


@inlined
def put_back(exchange: Exchange, n: int) -> None:
    """Put a board on top of a stack."""
    counts = exchange.counts
    side = _side_of(exchange, n)
    exchange.stacks[side, counts[HEIGHT + side]] = n
    counts[HEIGHT + side] += 1
    counts[LEFT + side] += exchange.kept.end[n] - exchange.kept.begin[n]


@inlined
def put_all(exchange: Exchange) -> None:
    """Put all boards on the stacks, those of the first rank on top."""
    out_of_line()
    kept, number = exchange.kept, exchange.counts[KEPT]
    for rank in range(RANKS - 1, -1, -1):
        for n in range(number - 1, -1, -1):
            if kept.rank[n] == rank and not kept.over[n]:
                put_back(exchange, n)


@inlined
def pick(exchange: Exchange, most: int) -> int:
    """Pick captures to make, of one side, as many as fit in a block; returns their number.

    Boards that cannot matter are dropped: there may be none, even if there are boards left.
    """
    out_of_line()
    kept, counts, stacks = exchange.kept, exchange.counts, exchange.stacks
    answers, picked = exchange.answers, exchange.picked
    side, count = _next_side(exchange, most), 0
    while counts[HEIGHT + side]:
        n = stacks[side, counts[HEIGHT + side] - 1]
        begin, number = kept.begin[n], kept.end[n] - kept.begin[n]
        low, high = bounds(exchange, n)
        # Who may capture need not do so.
        if side:
            low = max(low, kept.values[n])
        else:
            high = min(high, kept.values[n])
        is_dropped = low >= high
        if count and count + number > most and not is_dropped:
            break
        taken = number if is_dropped else min(number, most - count)
        kept.begin[n] += taken
        counts[LEFT + side] -= taken
        if taken == number:
            counts[HEIGHT + side] -= 1
        if is_dropped:
            count_made(exchange, n)
            continue
        for k in range(begin, begin + taken):
            for row in range(4):
                picked.found[row, count] = answers.found[row, k]
            for role in range(picked.joint.shape[1]):
                picked.joint[count, role] = answers.joint[k, role]
            count += 1
    return count


@inlined
def unpick(exchange: Exchange, start: int, count: int) -> None:
    """Take back captures `start .. count` of those that were picked."""
    out_of_line()
    kept, counts, boards = exchange.kept, exchange.counts, exchange.picked.found[0]
    end = count
    while end > start:
        n, begin = boards[end - 1], end - 1
        while begin > start and boards[begin - 1] == n:
            begin -= 1
        is_on_stack = kept.begin[n] < kept.end[n]
        kept.begin[n] -= end - begin
        if is_on_stack:
            counts[LEFT + _side_of(exchange, n)] += end - begin
        else:
            put_back(exchange, n)
        end = begin


@inlined
def count_made(exchange: Exchange, n: int) -> None:
    """Record that captures on a board were made, and what it is worth to the role that made the
    last capture, as soon as that is known."""
    out_of_line()
    kept = exchange.kept
    if kept.begin[n] < kept.end[n]:
        return
    while n >= 0:
        kept.waits[n] -= 1
        if kept.waits[n]:
            return
        _count_for(kept, exchange.first.values, n)
        n = kept.before[n]


@inlined
def count_all_for(kept: Reached, count: int, first: FloatArray) -> None:
    """Count what all boards that were kept are worth for those before; `first`: values of the first
    boards."""
    for k in range(count):
        _count_for(kept, first, count - 1 - k)


@inlined
def _count_for(kept: Reached, first: FloatArray, n: int) -> None:
    """Count what a board is worth for the one before."""
    value, before = kept.values[n], kept.before[n]
    values = kept.values if before >= 0 else first
    at = before if before >= 0 else -1 - before
    if value > values[at] if kept.ours[n] else value < values[at]:
        values[at] = value


@inlined
def _side_of(exchange: Exchange, n: int) -> int:
    """The stack of a board: 1 if our side captures there."""
    return int(exchange.answers.found[1, exchange.kept.begin[n]] == exchange.role)


@inlined
def _next_side(exchange: Exchange, most: int) -> int:
    """The stack with more captures; if both fill a block, the one with the longer sequence."""
    counts, stacks, depth = exchange.counts, exchange.stacks, exchange.kept.depth
    first, second = min(counts[LEFT], most), min(counts[LEFT + 1], most)
    if first != second:
        return int(second > first)
    if not counts[HEIGHT] or not counts[HEIGHT + 1]:
        return int(counts[HEIGHT + 1] > 0)
    other, ours = stacks[0, counts[HEIGHT] - 1], stacks[1, counts[HEIGHT + 1] - 1]
    return int(depth[ours] > depth[other])

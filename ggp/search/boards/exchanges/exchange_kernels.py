"""Exchanges played out by one kernel: captures made, valued and followed up.

Of most captures no more is wanted than what the board is worth then (`block_boards`). They are
worth less than to make none, or than one that cannot be answered. Only where another can follow on
the same square that may matter is the board kept, with its state, and the captures there are listed
to be made in their turn:

    captures ─▶ step ─▶ boards ─▶ worth ─▶ may more matter? ─▶ boards to go on from
       ▲                                                                │
       └────────────────── captures that may follow ────────────────────┘

All captures of a board are in neighbouring lanes, so those that are not answered are known before
any other one is followed up. Of first captures only the most promising one of a board is followed
up at once, and the others wait until it is known what that one is worth:

    value       50   53   51   48     to make none is worth 49
    answered    no   yes  yes  no     50 counts, 48 does not, 53 is followed up
                                      51 waits: it counts if 53 turns out to be worth less

It is alpha-beta, with values that are exact within the bounds (fail-soft).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ggp.machine.base import BoolArray, FloatArray, IntArray
from ggp.machine.compiling.jit import by_reference, inlined, kernel
from ggp.machine.propnet.play.kernels.lanes.turn_parts import (
    TurnCircuit,
    begin_turns,
    count_of,
    end_turns,
    is_over,
    list_changed,
    look_ahead,
    store_some,
)
from ggp.machine.propnet.play.kernels.lanes.turn_phases import (
    TurnPhases,
    circuit_in,
    phase_after,
    phase_before,
)
from ggp.machine.propnet.play.kernels.vectors import count_ones, out_of_line, words_of
from ggp.search.boards.block_boards import (
    BlockBoards,
    BoardTables,
    change_boards,
    copy_board,
    lane_value,
    lead_before,
    prepare_attacks,
)
from ggp.search.boards.board_kernels import EMPTY
from ggp.search.boards.exchanges.listing_kernels import (
    Listed,
    count_all,
    is_attacked,
    join_moves,
    list_answers,
)
from ggp.search.boards.mask_kernels import U64

_NONE = np.uint64(0)
_ONE = np.uint64(1)

DONE, KEPT, FOLLOW, WAITING = range(4)
"""Places of counts: captures that were made, boards that are kept, captures on these, and captures
that wait."""


@by_reference
class Reached(NamedTuple):
    """N boards on which captures may follow.

    Attributes:
        states: `[N, ...]` packed.
        codes, number, held: `[N * S]`, `[N]`, `[N]` the pieces, their number, and their squares.
        values: `[N]` worth to our side; of boards before captures as far as these were made.
        low, high: `[N]` what our side, and the other one, can already have.
        depth: `[N]` captures so far.
        before: `[N]` the board before the last capture, -1 - n for the n-th first board.
        ours: `[N]` whether our side made that capture.
        over: `[N]` whether the game is over.
    """

    states: U64
    codes: np.ndarray
    number: IntArray
    held: U64
    values: FloatArray
    low: FloatArray
    high: FloatArray
    depth: IntArray
    before: IntArray
    ours: BoolArray
    over: BoolArray


@by_reference
class Exchange(NamedTuple):
    """What is played out.

    Attributes:
        source, captures: K captures on boards; legal, and on each board of the same role.
        again: whether these are the boards that are kept, and what is listed there.
        most: longest sequence of captures.
        waits: whether only the most promising capture on each board is followed up.
        target, answers: out: boards that are kept, and captures on them.
        waiting, promise: `[K]` out: captures that wait, and the worth of the boards after them.
        counts: `[4]` what was done so far, see `DONE`.
    """

    source: Reached
    captures: Listed
    again: bool
    most: int
    waits: bool
    target: Reached
    answers: Listed
    waiting: IntArray
    promise: FloatArray
    counts: IntArray


@kernel
def play_captures(
    circuits: TurnPhases,
    board: BoardTables,
    exchange: Exchange,
    number: int,
    blank: U64,
    rows: U64,
    block: BlockBoards,
    width: tuple[int, ...],
) -> None:
    """Make captures, and keep the boards from which others may follow that matter, and those where
    the game is over.

    What else is better for the role that captures is noted in the values of the boards before.

    Args:
        number: captures to make; below 0: all on the boards that are kept, too.
        blank, rows: scratch, see `make_turns`.

    It stops where there is not enough room for what is kept, see `counts`: it is called again with
    more.
    """
    words = words_of(width)
    source, target, captures, answers = (
        exchange.source,
        exchange.target,
        exchange.captures,
        exchange.answers,
    )
    lanes, joint, counts = captures.found[0], captures.joint, exchange.counts
    while counts[DONE] < (counts[FOLLOW] if number < 0 else number):
        first = counts[DONE]
        count = min(64 * words, (counts[FOLLOW] if number < 0 else number) - first)
        if counts[KEPT] + count > len(target.values):
            return
        kept, follow, waiting = counts[KEPT], counts[FOLLOW], counts[WAITING]
        stepped = circuit_in(circuits, phase_before(circuits, source.states, lanes, first, count))
        written = begin_turns(stepped, source.states, lanes, joint, first, count, blank, width)
        changed = block.fluents[
            : list_changed(stepped, blank, count, block.fluents, block.differ, width)
        ]
        change_boards(
            stepped,
            board,
            source.states,
            source.codes,
            source.held,
            lanes,
            first,
            count,
            blank,
            changed,
            block,
            width,
        )
        _mark_taken(source, lanes, first, count, block)
        looked = circuit_in(circuits, phase_after(circuits, stepped, blank, block.kept, words))
        look_ahead(looked, stepped.next_, blank, rows, width)
        count_all(looked, rows, block, width)
        for word in range(words):
            block.kept[word] = _NONE
        start = 0
        while start < count:
            end = start + 1
            while end < count and lanes[first + end] == lanes[first + start]:
                end += 1
            _play_board(looked, board, exchange, first, start, end, rows, block, words)
            start = end
        fits = counts[FOLLOW] <= answers.found.shape[1]
        if fits:
            store_some(
                source.states,
                lanes,
                first,
                count,
                changed,
                block.differ,
                block.kept,
                block.places,
                target.states,
            )
            join_moves(looked, rows, block, answers, follow, counts[FOLLOW], words)
            counts[DONE] = first + count
        end_turns(stepped, source.states, lanes, joint, first, count, blank, words, written)
        if not fits:
            counts[KEPT], counts[FOLLOW], counts[WAITING] = kept, follow, waiting
            return


@kernel
def fold_back(target: Reached, count: int, first: FloatArray) -> None:
    """Count what boards that were kept are worth to the roles that made the captures; `first`:
    values of the first boards, changed."""
    for k in range(count):
        n = count - 1 - k
        value, before = target.values[n], target.before[n]
        values = target.values if before >= 0 else first
        at = before if before >= 0 else -1 - before
        if value > values[at] if target.ours[n] else value < values[at]:
            values[at] = value


@inlined
def _mark_taken(
    source: Reached, lanes: IntArray, first: int, count: int, block: BlockBoards
) -> None:
    """Mark the lanes in which a piece was taken: no others matter."""
    for word in range(len(block.kept)):
        block.kept[word] = _NONE
    for lane in range(count):
        if count_ones(block.occupied[lane]) < source.number[lanes[first + lane]]:
            block.kept[lane >> 6] |= _ONE << np.uint64(lane & 63)


@inlined
def _play_board(
    circuit: TurnCircuit,
    board: BoardTables,
    exchange: Exchange,
    first: int,
    start: int,
    end: int,
    rows: U64,
    block: BlockBoards,
    words: int,
) -> None:
    """Value the captures on one board, lanes `start .. end` of a block; keep what may matter."""
    out_of_line()
    source, captures, counts = exchange.source, exchange.captures, exchange.counts
    squares, parent = block.squares, captures.found[0, first + start]
    sliders = prepare_attacks(board, source.codes, parent, squares, block, start)
    known = lead_before(board, source.codes, parent, captures.found[0], first + start, block, start)
    mover = captures.found[1, first + start]
    ours = mover == board.roles[board.side]
    # Larger is better for the role that captures, with this sign.
    sign = 1.0 if ours else -1.0
    best = sign * source.values[parent]
    least = sign * (source.low[parent] if ours else source.high[parent])
    enough = sign * (source.high[parent] if ours else source.low[parent])
    is_last = source.depth[parent] + 1 >= exchange.most
    chosen, shown = 0, -1
    for lane in range(start, end):
        if count_ones(block.occupied[lane]) >= source.number[parent]:
            continue
        value, one, two = lane_value(
            board, block, lane, squares, sliders, source.codes, parent, known
        )
        shown = lane
        over = is_over(circuit.look, rows, lane, words)
        again = count_of(block.counts[2 * words * mover :], lane, words) > 1
        block.worth[lane] = sign * value
        if over:
            _keep(board, exchange, first + lane, best, True, block, lane)
        elif again and not is_last:
            if not _follow(circuit, board, exchange, first + lane, best, rows, block, lane, words):
                best = max(best, sign * value)
        elif sign * value > max(best, least):
            if not is_last and is_attacked(
                board, block, lane, captures.found[3, first + lane], one, two
            ):
                block.chosen[chosen] = lane
                chosen += 1
            else:
                best = sign * value
    # The most promising capture comes first.
    for n in range(1, chosen):
        if block.worth[block.chosen[n]] > block.worth[block.chosen[0]]:
            block.chosen[n], block.chosen[0] = block.chosen[0], block.chosen[n]
    is_answered = False
    for n in range(chosen):
        lane = block.chosen[n]
        if block.worth[lane] <= max(best, least) or best >= enough:
            continue
        if is_answered and exchange.waits:
            exchange.waiting[counts[WAITING]] = first + lane
            exchange.promise[counts[WAITING]] = sign * block.worth[lane]
            counts[WAITING] += 1
            continue
        if shown != lane:
            # What its pieces attack was overwritten.
            lane_value(board, block, lane, squares, sliders, source.codes, parent, known)
            shown = lane
        if _follow(circuit, board, exchange, first + lane, best, rows, block, lane, words):
            is_answered = True
        else:
            best = block.worth[lane]
    source.values[parent] = sign * best


@inlined
def _follow(
    circuit: TurnCircuit,
    board: BoardTables,
    exchange: Exchange,
    k: int,
    best: float,
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
        exchange.captures.found[3, k],
        counts[KEPT],
        exchange.answers,
        before,
        words,
    )
    if counts[FOLLOW] == before:
        return False
    _keep(board, exchange, k, best, False, block, lane)
    return True


@inlined
def _keep(
    board: BoardTables,
    exchange: Exchange,
    k: int,
    best: float,
    over: bool,
    block: BlockBoards,
    lane: int,
) -> None:
    """Keep the board after a capture.

    Args:
        best: what the role that made it has without it; larger is better.
    """
    out_of_line()
    source, target, found = exchange.source, exchange.target, exchange.captures.found
    parent, place, squares = found[0, k], exchange.counts[KEPT], block.squares
    ours = found[1, k] == board.roles[board.side]
    value = block.worth[lane] if ours else -block.worth[lane]
    low, high = source.low[parent], source.high[parent]
    if ours:
        low = max(low, best)
    else:
        high = min(high, -best)
    taken = np.int64(block.codes[lane * squares + found[3, k]])
    if taken != EMPTY:
        # Who may take it need not do so.
        if board.table.side[taken] != board.side:
            low = max(low, value)
        else:
            high = min(high, value)
    target.values[place], target.low[place], target.high[place] = value, low, high
    target.number[place] = count_ones(block.occupied[lane])
    target.held[place] = block.occupied[lane]
    target.depth[place] = source.depth[parent] + 1
    target.before[place] = parent if exchange.again else -1 - parent
    target.ours[place], target.over[place] = ours, over
    copy_board(block.codes, lane * squares, target.codes, place * squares, squares)
    block.kept[lane >> 6] |= _ONE << np.uint64(lane & 63)
    block.places[lane] = place
    exchange.counts[KEPT] = place + 1

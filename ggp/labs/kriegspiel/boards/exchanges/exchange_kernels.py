"""Exchanges played out by one kernel: captures made, valued and followed up.

Of most captures no more is wanted than what the board is worth then (`block_boards`). They are
worth less than to make none, or than one that cannot be answered. Only where another can follow on
the same square that may matter is the board kept, with its state, and the captures there are listed
to be made in their turn (`open_boards`):

    captures ─▶ step ─▶ boards ─▶ worth ─▶ may more matter? ─▶ boards to go on from
       ▲                                                                │
       └────────────────── captures that may follow ────────────────────┘

All captures of a board are in neighbouring lanes, so those that are not answered are known before
any other one is followed up. Those that are answered come in the order of what they would be worth
if the piece that captured were lost:

    value       50   53   51   48     to make none is worth 49
    answered    no   yes  yes  no     50 counts, 48 does not, the others are followed up:
    piece             9    3          first 51 - 3, then 53 - 9

It is alpha-beta, with values that are exact within the bounds (fail-soft).
"""

from __future__ import annotations

import numpy as np

from ggp.labs.kriegspiel.boards.block_boards import BlockBoards, BoardTables, change_boards
from ggp.labs.kriegspiel.boards.board_kernels import U64
from ggp.labs.kriegspiel.boards.exchanges.listing_kernels import (
    Listed,
    count_all,
    find_attackers,
    join_moves,
)
from ggp.labs.kriegspiel.boards.exchanges.open_boards import (
    DONE,
    FOLLOW,
    HEIGHT,
    KEPT,
    MADE,
    RANKS,
    Exchange,
    Reached,
    bounds,
    count_all_for,
    count_made,
    follow_up,
    keep,
    pick,
    put_all,
    put_back,
    unpick,
)
from ggp.labs.kriegspiel.boards.leaf_kernels import (
    lane_value,
    lead_before,
    prepare_attacks,
    value_alone,
)
from ggp.machine.base import FloatArray, IntArray
from ggp.machine.compiling.jit import inlined, kernel
from ggp.machine.compiling.vectors import count_ones, out_of_line, words_of
from ggp.machine.propnet.play.kernels.lanes.packing import lanes_from
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
from ggp.machine.propnet.play.kernels.lanes.turning import (
    TurnPhases,
    circuit_in,
    phase_after,
    phase_before,
)

_NONE = np.uint64(0)
_ONE = np.uint64(1)


@kernel
def play_captures(
    circuits: TurnPhases,
    board: BoardTables,
    exchange: Exchange,
    follows: bool,
    blank: U64,
    rows: U64,
    block: BlockBoards,
    width: tuple[int, ...],
) -> None:
    """Make first captures, and keep the boards from which others may follow that matter, and those
    where the game is over.

    Args:
        follows: make captures on the boards that are kept instead, until none is left that matters.
        blank, rows: scratch, see `make_turns`.

    It stops where there is not enough room for what is kept, see `counts`: it is called again with
    more.
    """
    lanes, counts, kept = 64 * words_of(width), exchange.counts, exchange.kept
    captures = exchange.picked if follows else exchange.captures
    number = len(captures.joint)
    while counts[HEIGHT] + counts[HEIGHT + 1] > 0 if follows else counts[DONE] < number:
        if counts[KEPT] + lanes > len(kept.values):
            return
        first = 0 if follows else counts[DONE]
        count = pick(exchange, lanes) if follows else min(lanes, number - first)
        if not count:
            continue
        source = kept if follows else exchange.first
        done = _play_block(
            circuits,
            board,
            exchange,
            source,
            captures,
            follows,
            first,
            count,
            blank,
            rows,
            block,
            width,
        )
        counts[MADE] += done
        if not follows:
            counts[DONE] += done
        if done < count:
            if follows:
                unpick(exchange, done, count)
            return
    if not follows:
        put_all(exchange)


@kernel
def fold_back(kept: Reached, count: int, first: FloatArray) -> None:
    """Count what boards that were kept are worth to the roles that made the captures; `first`:
    values of the first boards, changed."""
    count_all_for(kept, count, first)


@inlined
def _play_block(
    circuits: TurnPhases,
    board: BoardTables,
    exchange: Exchange,
    source: Reached,
    captures: Listed,
    follows: bool,
    first: int,
    count: int,
    blank: U64,
    rows: U64,
    block: BlockBoards,
    width: tuple[int, ...],
) -> int:
    """Make captures `first .. first + count`; returns for how many there was room.

    Args:
        source, captures: the boards, and captures on them; `follows`: whether they were kept.
    """
    out_of_line()
    words = words_of(width)
    lanes, joint, counts = captures.found[0], captures.joint, exchange.counts
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
    follow, start = counts[FOLLOW], 0
    while start < count:
        end = start + 1
        while end < count and lanes[first + end] == lanes[first + start]:
            end += 1
        if not _play_board(
            looked,
            board,
            exchange,
            source,
            captures,
            follows,
            first,
            start,
            end,
            rows,
            block,
            words,
        ):
            break
        start = end
    for word in range(words):
        rest = min(max(start - 64 * word, 0), 64)
        block.kept[word] &= lanes_from(0, rest) if rest else _NONE
    store_some(
        source.states,
        lanes,
        first,
        start,
        changed,
        block.differ,
        block.kept,
        block.places,
        exchange.kept.states,
    )
    join_moves(looked, rows, block, exchange.answers, follow, counts[FOLLOW], words)
    end_turns(stepped, source.states, lanes, joint, first, count, blank, words, written)
    return start


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
    source: Reached,
    captures: Listed,
    follows: bool,
    first: int,
    start: int,
    end: int,
    rows: U64,
    block: BlockBoards,
    words: int,
) -> bool:
    """Value the captures on one board, lanes `start .. end` of a block, and keep what may matter;
    returns whether there was room for that. Other arguments as for `_play_block`."""
    out_of_line()
    counts, parent = exchange.counts, captures.found[0, first + start]
    kept, follow = counts[KEPT], counts[FOLLOW]
    low, high = bounds(exchange, parent if follows else -1)
    ours = captures.found[1, first + start] == exchange.role
    # Larger is better for the role that captures, with this sign.
    sign = 1.0 if ours else -1.0
    best = sign * source.values[parent]
    least, enough = (sign * low, sign * high) if ours else (sign * high, sign * low)
    if max(best, least) >= enough:
        count_made(exchange, parent)
        return True
    best, chosen = _value_captures(
        circuit,
        board,
        exchange,
        source,
        captures,
        follows,
        first,
        start,
        end,
        sign,
        best,
        least,
        rows,
        block,
        words,
    )
    rank = 0
    for n in range(chosen):
        lane = block.chosen[n]
        if block.worth[lane] <= max(best, least) or best >= enough:
            continue
        k = first + lane
        if follow_up(
            circuit, board, exchange, source, captures, follows, k, rank, rows, block, lane, words
        ):
            rank = min(rank + 1, RANKS - 1)
        else:
            best = block.worth[lane]
    if counts[FOLLOW] > exchange.answers.found.shape[1]:
        if follows:
            exchange.kept.waits[parent] -= counts[KEPT] - kept
        counts[KEPT], counts[FOLLOW] = kept, follow
        return False
    source.values[parent] = sign * best
    if follows:
        for n in range(counts[KEPT] - 1, kept - 1, -1):
            if not exchange.kept.over[n]:
                put_back(exchange, n)
        count_made(exchange, parent)
    return True


@inlined
def _value_captures(
    circuit: TurnCircuit,
    board: BoardTables,
    exchange: Exchange,
    source: Reached,
    captures: Listed,
    follows: bool,
    first: int,
    start: int,
    end: int,
    sign: float,
    best: float,
    least: float,
    rows: U64,
    block: BlockBoards,
    words: int,
) -> tuple[float, int]:
    """Value the captures on one board, and choose those that may be answered, and are better than
    what is known.

    Args:
        best, least: what the role that captures has on this board, and what it can already have.

    Returns:
        what it has now, and the number of captures that are chosen.
    """
    squares, parent = block.squares, captures.found[0, first + start]
    mover, lanes = captures.found[1, first + start], captures.found[0]
    is_last = source.depth[parent] + 1 >= exchange.most
    is_alone = end - start == 1
    sliders, known = _NONE, (_NONE, _NONE, 0, _NONE)
    if not is_alone:
        sliders = prepare_attacks(board, source.codes, parent, squares, block, start)
        known = lead_before(board, source.codes, parent, lanes, first + start, block, start)
    chosen = 0
    for lane in range(start, end):
        if count_ones(block.occupied[lane]) >= source.number[parent]:
            continue
        if is_alone:
            value, one, two = value_alone(board, block, lane, squares)
        else:
            value, one, two = lane_value(
                board, block, lane, squares, sliders, source.codes, parent, known
            )
        k, place = first + lane, captures.found[3, first + lane]
        again = count_of(block.counts[2 * words * mover :], lane, words) > 1
        block.worth[lane] = sign * value
        if is_over(circuit.look, rows, lane, words):
            keep(exchange, source, captures, follows, k, 0, True, 0, block, lane)
        elif again and not is_last:
            find_attackers(board, block, lane, place, one, two)
            if not follow_up(
                circuit, board, exchange, source, captures, follows, k, 0, rows, block, lane, words
            ):
                best = max(best, sign * value)
        elif sign * value > max(best, least):
            if not is_last and find_attackers(board, block, lane, place, one, two):
                code = np.int64(block.codes[lane * squares + place])
                lost = sign * board.scale * board.table.leads[4 * (code * squares + place)]
                block.promise[lane] = sign * value - lost
                _insert(block, chosen, lane)
                chosen += 1
            else:
                best = sign * value
    return best, chosen


@inlined
def _insert(block: BlockBoards, number: int, lane: int) -> None:
    """Add a lane to those that are chosen, the most promising first."""
    at = number
    while at and block.promise[block.chosen[at - 1]] < block.promise[lane]:
        block.chosen[at] = block.chosen[at - 1]
        at -= 1
    block.chosen[at] = lane

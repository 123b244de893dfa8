"""Exchanges played out by one kernel, which makes captures, values them, and makes their answers.

`ExchangePlayer` calls it with boards and their first captures, and gets the values of the boards.
Most captures need no more than the value of the board after them (`block_boards`): it is worse than
standing pat, or than a capture that cannot be answered. Only if the board has answers on the same
square that may matter does it become a node, with its state; the answers are listed, and made when
their turn comes (`open_boards`):

    captures ─▶ step ─▶ boards ─▶ values ─▶ may answers matter? ─▶ nodes
       ▲                                                             │
       └──────────────────────── answers ────────────────────────────┘

All captures on a board are in neighbouring lanes, so the best one without an answer is known before
any other is followed up. The others come in the order of their values if the capturing piece is
taken back:

    value       50   53   51   48     standing pat: 49
    answered    no   yes  yes  no     50 counts, 48 does not, the others are followed up:
    piece             9    3          first 51 - 3, then 53 - 9

This is alpha-beta with values that are exact within the bounds (fail-soft).
"""

from __future__ import annotations

import numpy as np

from ggp.labs.kriegspiel.boards.block_boards import BlockBoards, BoardTables, change_boards
from ggp.labs.kriegspiel.boards.board_kernels import U64
from ggp.labs.kriegspiel.boards.exchanges.listing_kernels import (
    CaptureList,
    count_all,
    find_attackers,
    join_moves,
)
from ggp.labs.kriegspiel.boards.exchanges.open_boards import (
    ANSWERS,
    FROM_ROOTS,
    HEIGHT,
    MADE,
    NODES,
    RANKS,
    Exchange,
    OpenBoards,
    add_node,
    back_up_all,
    bounds,
    expand,
    pop_captures,
    push,
    push_all,
    resolve,
    restore_captures,
)
from ggp.labs.kriegspiel.boards.leaf_kernels import (
    lane_value,
    parent_lead,
    prepare_attacks,
    value_only_lane,
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
    """Make the captures on roots, and add a node where answers may matter, or the game is over.

    Args:
        follows: make captures on nodes instead, until none is left that matters.
        blank, rows: scratch, see `make_turns`.

    It stops if it runs out of room for nodes or answers, see `Exchange.counts`: the caller calls
    again with more room.
    """
    lanes, counts, nodes = 64 * words_of(width), exchange.counts, exchange.nodes
    captures = exchange.batch if follows else exchange.captures
    total = len(captures.joint)
    while counts[HEIGHT] + counts[HEIGHT + 1] > 0 if follows else counts[FROM_ROOTS] < total:
        if counts[NODES] + lanes > len(nodes.values):
            return
        first = 0 if follows else counts[FROM_ROOTS]
        count = pop_captures(exchange, lanes) if follows else min(lanes, total - first)
        if not count:
            continue
        source = nodes if follows else exchange.roots
        num_made = _play_block(
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
        counts[MADE] += num_made
        if not follows:
            counts[FROM_ROOTS] += num_made
        if num_made < count:
            if follows:
                restore_captures(exchange, num_made, count)
            return
    if not follows:
        push_all(exchange)


@kernel
def back_up_values(nodes: OpenBoards, count: int, root_values: FloatArray) -> None:
    """Back up the values of all nodes, with the goals of games that are over, to `root_values`."""
    back_up_all(nodes, count, root_values)


@inlined
def _play_block(
    circuits: TurnPhases,
    board: BoardTables,
    exchange: Exchange,
    source: OpenBoards,
    captures: CaptureList,
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
        source, captures: boards, and captures on them; `follows`: whether the boards are nodes.
    """
    out_of_line()
    words = words_of(width)
    lanes, joint, counts = captures.entries[0], captures.joint, exchange.counts
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
        source.occupancy,
        lanes,
        first,
        count,
        blank,
        changed,
        block,
        width,
    )
    _mark_captures(source, lanes, first, count, block)
    looked = circuit_in(circuits, phase_after(circuits, stepped, blank, block.lane_mask, words))
    look_ahead(looked, stepped.next_, blank, rows, width)
    count_all(looked, rows, block, width)
    for word in range(words):
        block.lane_mask[word] = _NONE
    begin, start = counts[ANSWERS], 0
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
    # Without room, lanes from `start` on are not finished: their states are not written.
    for word in range(words):
        num_lanes = min(max(start - 64 * word, 0), 64)
        block.lane_mask[word] &= lanes_from(0, num_lanes) if num_lanes else _NONE
    store_some(
        source.states,
        lanes,
        first,
        start,
        changed,
        block.differ,
        block.lane_mask,
        block.node_ids,
        exchange.nodes.states,
    )
    join_moves(looked, rows, block, exchange.answers, begin, counts[ANSWERS], words)
    end_turns(stepped, source.states, lanes, joint, first, count, blank, words, written)
    return start


@inlined
def _mark_captures(
    source: OpenBoards, lanes: IntArray, first: int, count: int, block: BlockBoards
) -> None:
    """Select the lanes in which a piece was captured: a refused try captures nothing."""
    for word in range(len(block.lane_mask)):
        block.lane_mask[word] = _NONE
    for lane in range(count):
        if count_ones(block.occupancy[lane]) < source.num_pieces[lanes[first + lane]]:
            block.lane_mask[lane >> 6] |= _ONE << np.uint64(lane & 63)


@inlined
def _play_board(
    circuit: TurnCircuit,
    board: BoardTables,
    exchange: Exchange,
    source: OpenBoards,
    captures: CaptureList,
    follows: bool,
    first: int,
    start: int,
    end: int,
    rows: U64,
    block: BlockBoards,
    words: int,
) -> bool:
    """Value the captures on one board, lanes `start .. end` of a block, and add nodes where answers
    may matter; returns whether there was room. Other arguments as for `_play_block`.

    Rule: a board is played completely or not at all. Without room its new nodes are removed.
    """
    out_of_line()
    counts, parent = exchange.counts, captures.entries[0, first + start]
    num_nodes, num_answers = counts[NODES], counts[ANSWERS]
    low, high = bounds(exchange, parent if follows else -1)
    ours = captures.entries[1, first + start] == exchange.role
    # With this sign, larger is better for the side that captures.
    sign = 1.0 if ours else -1.0
    best = sign * source.values[parent]
    alpha, beta = (sign * low, sign * high) if ours else (sign * high, sign * low)
    if max(best, alpha) >= beta:
        resolve(exchange, parent)
        return True
    best, num_candidates = _value_captures(
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
        alpha,
        rows,
        block,
        words,
    )
    rank = 0
    for n in range(num_candidates):
        lane = block.candidates[n]
        if block.worth[lane] <= max(best, alpha) or best >= beta:
            continue
        k = first + lane
        if expand(
            circuit, board, exchange, source, captures, follows, k, rank, rows, block, lane, words
        ):
            rank = min(rank + 1, RANKS - 1)
        else:
            best = block.worth[lane]
    if counts[ANSWERS] > exchange.answers.entries.shape[1]:
        if follows:
            exchange.nodes.unresolved[parent] -= counts[NODES] - num_nodes
        counts[NODES], counts[ANSWERS] = num_nodes, num_answers
        return False
    source.values[parent] = sign * best
    if follows:
        for n in range(counts[NODES] - 1, num_nodes - 1, -1):
            if not exchange.nodes.over[n]:
                push(exchange, n)
        resolve(exchange, parent)
    return True


@inlined
def _value_captures(
    circuit: TurnCircuit,
    board: BoardTables,
    exchange: Exchange,
    source: OpenBoards,
    captures: CaptureList,
    follows: bool,
    first: int,
    start: int,
    end: int,
    sign: float,
    best: float,
    alpha: float,
    rows: U64,
    block: BlockBoards,
    words: int,
) -> tuple[float, int]:
    """Value the captures on one board, and list as candidates the better ones that may be answered.

    Args:
        best, alpha: values that the side to move has on this board, and elsewhere.

    Returns:
        the value that it has on this board now, and the number of candidates.
    """
    squares, parent = block.squares, captures.entries[0, first + start]
    mover, lanes = captures.entries[1, first + start], captures.entries[0]
    is_last = source.depth[parent] + 1 >= exchange.max_depth
    is_alone = end - start == 1
    sliders, base = _NONE, (_NONE, _NONE, 0, _NONE)
    if not is_alone:
        sliders = prepare_attacks(board, source.codes, parent, squares, block, start)
        base = parent_lead(board, source.codes, parent, lanes, first + start, block, start)
    num_candidates = 0
    for lane in range(start, end):
        if count_ones(block.occupancy[lane]) >= source.num_pieces[parent]:
            continue
        if is_alone:
            value, by_first, by_second = value_only_lane(board, block, lane, squares)
        else:
            value, by_first, by_second = lane_value(
                board, block, lane, squares, sliders, source.codes, parent, base
            )
        k, target = first + lane, captures.entries[3, first + lane]
        moves_again = count_of(block.counts[2 * words * mover :], lane, words) > 1
        block.worth[lane] = sign * value
        # Four cases: the game is over, and goals are filled in later; the same role moves again, so
        # answers may raise the value; answers may lower it: a candidate; or the value is final.
        if is_over(circuit.look, rows, lane, words):
            add_node(exchange, source, captures, follows, k, 0, True, 0, block, lane)
        elif moves_again and not is_last:
            find_attackers(board, block, lane, target, by_first, by_second)
            if not expand(
                circuit, board, exchange, source, captures, follows, k, 0, rows, block, lane, words
            ):
                best = max(best, sign * value)
        elif sign * value > max(best, alpha):
            if not is_last and find_attackers(board, block, lane, target, by_first, by_second):
                # The promise: the value if the capturing piece is lost.
                code = np.int64(block.codes[lane * squares + target])
                loss = sign * board.scale * board.table.leads[4 * (code * squares + target)]
                block.promise[lane] = sign * value - loss
                _insert(block, num_candidates, lane)
                num_candidates += 1
            else:
                best = sign * value
    return best, num_candidates


@inlined
def _insert(block: BlockBoards, count: int, lane: int) -> None:
    """Insert a lane into the candidates, the most promising first."""
    at = count
    while at and block.promise[block.candidates[at - 1]] < block.promise[lane]:
        block.candidates[at] = block.candidates[at - 1]
        at -= 1
    block.candidates[at] = lane

"""The tree of boards in an exchange, and the order in which captures on them are made.

A node is a board reached by captures, on which the other side may take back; a root is a board that
is to be valued. `exchange_kernels` adds nodes as it makes captures, and pops the next ones to make.
Captures are made some hundreds at a time, and most prove irrelevant once a better one has been
valued. Rules:

- Nodes wait on two stacks, one for each side that captures: a block in which one side moves needs
  half of a circuit.
- The node that was pushed last is popped first, as in depth-first search. After the first captures
  on the roots, the most promising node of each root comes before all second ones.
- A node is cut off when it is popped if its bounds have closed since it was pushed:

    root            50 so far
        capture     53, but the other side can take back
            taken back  49: at most 49 here, less than 50, so other answers are not made

- A node's value is backed up to its parent once all captures on it are resolved, and no sooner.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ggp.labs.kriegspiel.boards.block_boards import BlockBoards, BoardTables, copy_board
from ggp.labs.kriegspiel.boards.board_kernels import U64
from ggp.labs.kriegspiel.boards.exchanges.listing_kernels import CaptureList, list_answers
from ggp.machine.base import BoolArray, FloatArray, IntArray
from ggp.machine.compiling.jit import by_reference, inlined
from ggp.machine.compiling.vectors import count_ones, out_of_line
from ggp.machine.propnet.play.kernels.lanes.turn_parts import TurnCircuit

_ONE = np.uint64(1)

FROM_ROOTS, MADE, NODES, ANSWERS, HEIGHT, PENDING = 0, 1, 2, 3, 4, 6
"""Indices into `Exchange.counts`: captures made on roots, captures made in all, nodes, captures
listed on nodes, nodes on each of the two stacks (2), and pending captures on these (2)."""

NUM_COUNTS = 8

RANKS = 4
"""Number of ranks: worse captures share the last one."""


@by_reference
class OpenBoards(NamedTuple):
    """N boards on which captures may follow; of roots only the fields up to `depth` are used.

    Attributes:
        states: `[N, ...]` packed.
        codes, num_pieces, occupancy: `[N * S]`, `[N]`, `[N]` the pieces, their number, and the
            occupied squares.
        values: `[N]` for our side, by the captures made so far.
        depth: `[N]` captures so far.
        parent: `[N]` the node before the last capture, -1 - n for the n-th root.
        ours: `[N]` whether our side made that capture.
        over: `[N]` whether the game is over.
        begin, end: `[N]` the range of its pending captures in `Exchange.answers`.
        rank: `[N]` how many captures on the parent looked better, at most `RANKS` - 1.
        unresolved: `[N]` number of children whose values are not final, and 1 more while captures
            are pending.
    """

    states: U64
    codes: np.ndarray
    num_pieces: IntArray
    occupancy: U64
    values: FloatArray
    depth: IntArray
    parent: IntArray
    ours: BoolArray
    over: BoolArray
    begin: IntArray
    end: IntArray
    rank: IntArray
    unresolved: IntArray


@by_reference
class Exchange(NamedTuple):
    """The search of exchanges on many boards.

    Attributes:
        roots, captures: boards, and K captures on them; legal, and on each board of one role.
        max_depth: longest sequence of captures.
        role: ours.
        nodes, answers: boards reached, and captures on them.
        batch: room for the captures that are made next.
        stacks: `[2, N]` nodes with pending captures of the other side, and of ours.
        counts: `[NUM_COUNTS]` see `FROM_ROOTS`.
    """

    roots: OpenBoards
    captures: CaptureList
    max_depth: int
    role: int
    nodes: OpenBoards
    answers: CaptureList
    batch: CaptureList
    stacks: IntArray
    counts: IntArray


@inlined
def bounds(exchange: Exchange, n: int) -> tuple[float, float]:
    """Alpha and beta at a node: values that our side, and the other, can have instead of it.

    Infinite for a root: `n` below 0.
    """
    nodes, low, high = exchange.nodes, -np.inf, np.inf
    while n >= 0:
        parent = nodes.parent[n]
        value = nodes.values[parent] if parent >= 0 else exchange.roots.values[-1 - parent]
        if nodes.ours[n]:
            low = max(low, value)
        else:
            high = min(high, value)
        n = parent
    return low, high


@inlined
def expand(
    circuit: TurnCircuit,
    board: BoardTables,
    exchange: Exchange,
    source: OpenBoards,
    captures: CaptureList,
    follows: bool,
    k: int,
    rank: int,
    rows: U64,
    block: BlockBoards,
    lane: int,
    words: int,
) -> bool:
    """List the captures that may answer capture `k`, and add a node if there are any; returns if
    there are."""
    out_of_line()
    counts = exchange.counts
    begin = counts[ANSWERS]
    counts[ANSWERS] = list_answers(
        circuit,
        board,
        block,
        rows,
        lane,
        captures.entries[3, k],
        counts[NODES],
        exchange.answers,
        begin,
        words,
    )
    if counts[ANSWERS] == begin:
        return False
    add_node(exchange, source, captures, follows, k, rank, False, begin, block, lane)
    return True


@inlined
def add_node(
    exchange: Exchange,
    source: OpenBoards,
    captures: CaptureList,
    follows: bool,
    k: int,
    rank: int,
    over: bool,
    begin: int,
    block: BlockBoards,
    lane: int,
) -> None:
    """Add a node: the board after capture `k`.

    Args:
        rank: see `OpenBoards`; `begin`: index of the first answer.
    """
    out_of_line()
    nodes, entries, squares = exchange.nodes, captures.entries, block.squares
    parent, n = entries[0, k], exchange.counts[NODES]
    ours = entries[1, k] == exchange.role
    nodes.values[n] = block.worth[lane] if ours else -block.worth[lane]
    nodes.num_pieces[n] = count_ones(block.occupancy[lane])
    nodes.occupancy[n] = block.occupancy[lane]
    nodes.depth[n] = source.depth[parent] + 1
    nodes.parent[n] = parent if follows else -1 - parent
    nodes.ours[n], nodes.over[n] = ours, over
    nodes.begin[n], nodes.end[n] = begin, begin if over else exchange.counts[ANSWERS]
    nodes.rank[n], nodes.unresolved[n] = rank, 1
    if follows:
        nodes.unresolved[parent] += 1
    copy_board(block.codes, lane * squares, nodes.codes, n * squares, squares)
    block.lane_mask[lane >> 6] |= _ONE << np.uint64(lane & 63)
    block.node_ids[lane] = n
    exchange.counts[NODES] = n + 1


@inlined
def push(exchange: Exchange, n: int) -> None:
    """Push a node with all its pending captures on its stack."""
    counts = exchange.counts
    side = _side_of(exchange, n)
    exchange.stacks[side, counts[HEIGHT + side]] = n
    counts[HEIGHT + side] += 1
    counts[PENDING + side] += exchange.nodes.end[n] - exchange.nodes.begin[n]


@inlined
def push_all(exchange: Exchange) -> None:
    """Push all nodes, the ones of the first rank on top."""
    out_of_line()
    nodes, count = exchange.nodes, exchange.counts[NODES]
    for rank in range(RANKS - 1, -1, -1):
        for n in range(count - 1, -1, -1):
            if nodes.rank[n] == rank and not nodes.over[n]:
                push(exchange, n)


@inlined
def pop_captures(exchange: Exchange, room: int) -> int:
    """Pop captures of one side into the batch, at most `room`; returns their number.

    Nodes that cannot matter are cut off, so it may be 0 although there are nodes.
    """
    out_of_line()
    nodes, counts, stacks = exchange.nodes, exchange.counts, exchange.stacks
    answers, batch = exchange.answers, exchange.batch
    side, count = _next_side(exchange, room), 0
    while counts[HEIGHT + side]:
        n = stacks[side, counts[HEIGHT + side] - 1]
        begin, pending = nodes.begin[n], nodes.end[n] - nodes.begin[n]
        low, high = bounds(exchange, n)
        # The side to move may stand pat, so the node's own value is a bound, too.
        if side:
            low = max(low, nodes.values[n])
        else:
            high = min(high, nodes.values[n])
        is_cut = low >= high
        # Captures of one node are split between batches only if they alone exceed a block.
        if count and count + pending > room and not is_cut:
            break
        num_taken = pending if is_cut else min(pending, room - count)
        nodes.begin[n] += num_taken
        counts[PENDING + side] -= num_taken
        if num_taken == pending:
            counts[HEIGHT + side] -= 1
        if is_cut:
            resolve(exchange, n)
            continue
        for k in range(begin, begin + num_taken):
            for row in range(4):
                batch.entries[row, count] = answers.entries[row, k]
            for role in range(batch.joint.shape[1]):
                batch.joint[count, role] = answers.joint[k, role]
            count += 1
    return count


@inlined
def restore_captures(exchange: Exchange, start: int, count: int) -> None:
    """Put captures `start .. count` of the batch back on the stacks; they found no room."""
    out_of_line()
    nodes, counts, boards = exchange.nodes, exchange.counts, exchange.batch.entries[0]
    end = count
    while end > start:
        n, begin = boards[end - 1], end - 1
        while begin > start and boards[begin - 1] == n:
            begin -= 1
        # A node with further pending captures is still on its stack.
        is_on_stack = nodes.begin[n] < nodes.end[n]
        nodes.begin[n] -= end - begin
        if is_on_stack:
            counts[PENDING + _side_of(exchange, n)] += end - begin
        else:
            push(exchange, n)
        end = begin


@inlined
def resolve(exchange: Exchange, n: int) -> None:
    """Back up a node's value if all captures on it are resolved, and go on with its parent."""
    out_of_line()
    nodes = exchange.nodes
    if nodes.begin[n] < nodes.end[n]:
        return
    # Rule: a node counts for its parent only when nothing under it is open, so bounds are sound.
    while n >= 0:
        nodes.unresolved[n] -= 1
        if nodes.unresolved[n]:
            return
        _back_up(nodes, exchange.roots.values, n)
        n = nodes.parent[n]


@inlined
def back_up_all(nodes: OpenBoards, count: int, root_values: FloatArray) -> None:
    """Back up the values of all nodes, children before parents: a child has a higher index."""
    for k in range(count):
        _back_up(nodes, root_values, count - 1 - k)


@inlined
def _back_up(nodes: OpenBoards, root_values: FloatArray, n: int) -> None:
    """Give a node's value to its parent, if the side that captured prefers it."""
    value, parent = nodes.values[n], nodes.parent[n]
    values = nodes.values if parent >= 0 else root_values
    at = parent if parent >= 0 else -1 - parent
    if value > values[at] if nodes.ours[n] else value < values[at]:
        values[at] = value


@inlined
def _side_of(exchange: Exchange, n: int) -> int:
    """Index of a node's stack: 1 if our side captures there."""
    return int(exchange.answers.entries[1, exchange.nodes.begin[n]] == exchange.role)


@inlined
def _next_side(exchange: Exchange, room: int) -> int:
    """Index of the stack with more captures; if both fill a block, of that with the deeper top."""
    counts, stacks, depth = exchange.counts, exchange.stacks, exchange.nodes.depth
    first, second = min(counts[PENDING], room), min(counts[PENDING + 1], room)
    if first != second:
        return int(second > first)
    if not counts[HEIGHT] or not counts[HEIGHT + 1]:
        return int(counts[HEIGHT + 1] > 0)
    theirs, ours = stacks[0, counts[HEIGHT] - 1], stacks[1, counts[HEIGHT + 1] - 1]
    return int(depth[ours] > depth[theirs])

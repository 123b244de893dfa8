"""Kernels that keep what nets read up to date, as packed bits.

A *row* of bits is what one role knows in one lane. It consists of fields that begin at words of
their own: what is legal now, the turn before this one, the one before that, everything since the
beginning, the number of turns, and each turn by itself. `features` has the layout.
"""

from __future__ import annotations

import numpy as np

from ggp.labs.learning.env.kernels import I32, I64, U64
from ggp.machine.compiling.jit import inlined, kernel
from ggp.machine.compiling.vectors import count_ones, lowest_one

MASKS, LAST, BEFORE, EVER, COUNT, TIMED, END = range(7)
"""The fields of a row: each entry of a layout is the word at which one begins."""

NUM_MOVES, NUM_PERCEPTS, NUM_COUNTED, NUM_TIMED = range(7, 11)
"""The other entries of a layout: numbers of moves, of percepts, of turns that are counted, and of
turns that have a field of their own."""

NO_ROW = -1
"""Stands for the row before the first one of a lane."""

_ONE = np.uint64(1)


@inlined
def _set(rows: U64, row: int, bit: int) -> None:
    rows[row, bit >> 6] |= _ONE << np.uint64(bit & 63)


@inlined
def _begun(rows: U64, row: int, layout: I64) -> None:
    """Forget everything: the first turn is next."""
    for w in range(layout[LAST], layout[END]):
        rows[row, w] = np.uint64(0)
    if layout[NUM_COUNTED]:
        _set(rows, row, 64 * layout[COUNT])


@inlined
def _turned(rows: U64, row: int, turn: int, layout: I64) -> None:
    """Make room for turn `turn`, from 1, whose move and percepts are told next."""
    for k in range(layout[EVER] - layout[BEFORE]):
        rows[row, layout[BEFORE] + k] = rows[row, layout[LAST] + k]
        rows[row, layout[LAST] + k] = np.uint64(0)
    if layout[NUM_COUNTED]:
        for w in range(layout[COUNT], layout[TIMED]):
            rows[row, w] = np.uint64(0)
        _set(rows, row, 64 * layout[COUNT] + min(turn, layout[NUM_COUNTED] - 1))


@inlined
def _told(rows: U64, row: int, turn: int, token: int, layout: I64) -> None:
    """Take down a token of turn `turn`: a move, or after all moves a percept."""
    place = token
    if token >= layout[NUM_MOVES]:  # percepts begin at a word of their own
        place = 64 * ((layout[NUM_MOVES] + 63) >> 6) + token - layout[NUM_MOVES]
    _set(rows, row, 64 * layout[LAST] + place)
    _set(rows, row, 64 * layout[EVER] + place)
    if turn <= layout[NUM_TIMED]:
        tokens = layout[NUM_MOVES] + layout[NUM_PERCEPTS]
        _set(rows, row, 64 * layout[TIMED] + (turn - 1) * tokens + token)


@kernel
def observe(
    masks: U64, moves: I32, percepts: U64, turns: I32, role: int, layout: I64, rows: U64
) -> None:
    """Bring a role's rows up to date after a turn, or a new beginning.

    Args:
        masks, moves, percepts, turns: as `Turn.mask_bits` and so on.
        role: its index there.
        layout: of its rows, see `Features`.
        rows: `[L, W]` as they were before the turn; changed in place.
    """
    for lane in range(len(rows)):
        for w in range(masks.shape[2]):
            rows[lane, w] = masks[lane, role, w]
        turn = int(turns[lane])
        if turn == 0:
            _begun(rows, lane, layout)
            continue
        _turned(rows, lane, turn, layout)
        _told(rows, lane, turn, int(moves[lane, role]), layout)
        for w in range(percepts.shape[2]):
            bits = percepts[lane, role, w]
            while bits:
                token = layout[NUM_MOVES] + 64 * w + lowest_one(bits)
                _told(rows, lane, turn, token, layout)
                bits &= bits - _ONE


@kernel
def read_paths(masks: U64, paths: I32, turns: I32, layout: I64, rows: U64) -> None:
    """Make the rows of whole paths.

    Args:
        masks: `[N, words]` what is legal at the end of each path.
        paths: `[N, T, K]`, `turns`: `[N]`, as `Turn.paths`.
        rows: `[N, W]` filled in.
    """
    for n in range(len(rows)):
        for w in range(masks.shape[1]):
            rows[n, w] = masks[n, w]
        _begun(rows, n, layout)
        for t in range(turns[n]):
            _turned(rows, n, t + 1, layout)
            for k in range(paths.shape[2]):
                if paths[n, t, k] == 0:
                    break
                _told(rows, n, t + 1, int(paths[n, t, k]) - 1, layout)


@inlined
def _changes(bits: U64, old: U64, lane: int, is_new: bool, input_of: I32, at: int, to: I32) -> int:
    """Write down the inputs that changed in a lane, those of cleared bits inverted; `old` becomes
    as `bits` is. Returns the place after the last one."""
    for w in range(bits.shape[1]):
        now = bits[lane, w]
        changed = now if is_new else now ^ old[lane, w]
        old[lane, w] = now
        while changed:
            b = lowest_one(changed)
            changed &= changed - _ONE
            is_set = (now >> np.uint64(b)) & _ONE
            number = input_of[64 * w + b]
            to[at] = number if is_set else ~number
            at += 1
    return at


@kernel
def take_choices(
    bits: U64,
    mask_words: int,
    input_of: I32,
    last: I64,
    old: U64,
    place: I64,
    lanes: I64,
    previous: I64,
    masks: U64,
    starts: I64,
    changes: I32,
) -> None:
    """Append a row for each lane in which there is a choice, as long as there is room.

    Args:
        bits: `[L, W]` what is known in every lane, which begins with what is legal.
        mask_words: words of that; without any there is a choice everywhere.
        input_of: `[64 * W]` the number of the input that each bit is.
        last: `[L]` number of the last row that each lane appended, or `NO_ROW`; changed.
        old: `[L, W]` the bits there; changed.
        place: `[2]` the next lane, and the next row; changed. It is L once all are done.
        lanes, previous, masks: `[N]`, `[N]`, `[N, words]` the lane of each row, the row that it
            follows and what is legal; filled in.
        starts: `[N + 1]` where its changes begin, and where they end; filled in but for the first.
        changes: `[K]` inputs that were set since the row before, and `~` those cleared.
    """
    lane, end = place[0], place[1]
    room = len(changes) - 64 * bits.shape[1]
    while lane < len(bits) and starts[end] <= room:
        total = 0 if mask_words else 2
        for w in range(mask_words):
            total += count_ones(bits[lane, w])
        if total >= 2:
            is_new = last[lane] == NO_ROW
            lanes[end], previous[end] = lane, last[lane]
            last[lane] = end
            for w in range(mask_words):
                masks[end, w] = bits[lane, w]
            starts[end + 1] = _changes(bits, old, lane, is_new, input_of, starts[end], changes)
            end += 1
        lane += 1
    place[0], place[1] = lane, end


@kernel
def into_blocks(
    size: int,
    lanes: I64,
    previous: I64,
    masks: U64,
    starts: I64,
    changes: I32,
    ends: I64,
    places: I64,
    order: I64,
    new_previous: I64,
    new_masks: U64,
    new_starts: I64,
    new_changes: I32,
) -> None:
    """Put rows in order of blocks of lanes, and as they were within each.

    Args:
        size: lanes of a block.
        lanes, previous, masks, starts, changes: of N rows, see `take_choices`.
        ends: `[B + 1]` zeros; filled in with the number of the first row of each block, and N.
        places, order: `[N]` the new number of each row, and the row that has each; filled in.
        new_previous: `[N]` which row of its block each follows, or `NO_ROW`; the others are the
            rows in their new order.
    """
    for n in range(len(lanes)):
        ends[lanes[n] // size + 1] += 1
    for block in range(1, len(ends)):
        ends[block] += ends[block - 1]
    for n in range(len(lanes)):
        # The number of the block's next row is kept where it begins, and put right below.
        block = lanes[n] // size
        place = ends[block]
        ends[block] += 1
        places[n], order[place] = place, n
        before = previous[n]
        new_previous[place] = NO_ROW if before < 0 else places[before]
        new_starts[place + 1] = starts[n + 1] - starts[n]
        for w in range(masks.shape[1]):
            new_masks[place, w] = masks[n, w]
    for k in range(len(ends) - 1):
        block = len(ends) - 1 - k
        ends[block] = ends[block - 1]
    ends[0] = 0
    new_starts[0] = 0
    for block in range(len(ends) - 1):
        for n in range(ends[block], ends[block + 1]):
            new_starts[n + 1] += new_starts[n]
            if new_previous[n] >= 0:
                new_previous[n] -= ends[block]
    for n in range(len(lanes)):
        to = new_starts[places[n]]
        for k in range(starts[n + 1] - starts[n]):
            new_changes[to + k] = changes[starts[n] + k]

"""Random playouts of a queue of states, as many side by side as a block has lanes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.machine.propnet.choice import (
    MAX_PLANES,
    count_legal,
    draw_below,
    pick,
    seed_words,
)
from ggp.machine.propnet.jit import inlined, kernel
from ggp.machine.propnet.kernels import load_lanes, run_tape
from ggp.machine.propnet.layout import I32, U64, Tape, Wires
from ggp.machine.propnet.vectors import (
    band,
    bor,
    but_not,
    bxor,
    count_ones,
    load,
    lowest_one,
    out_of_line,
    reduce_or,
    shift_right,
    splat,
    store,
    words_of,
)

_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


class PlayoutPlan(NamedTuple):
    """What playouts evaluate; all tapes share their rows.

    Attributes:
        look: terminal and legal, from the state.
        act: the next state, from state and moves, after `look`.
        judge: goals, after `look`.
        num_rows: rows of all.
        row_of: `[F]` row of each fluent, -1 for those that do not matter.
        state_rows: `[K]` rows of the fluents that matter.
        next: `[K]` where their next values are.
        terminal: one literal.
        role_moves: `[R + 1]` where the moves of each role begin.
        legal: all roles' moves.
        move_rows: the row each move drives.
        role_goals: `[R + 1]` where the goal values of each role begin.
        goals: literals.
        goal_values: the number each stands for.
        turns: steps after which it may be the same role's turn again.
    """

    look: Tape
    act: Tape
    judge: Tape
    num_rows: int
    row_of: I32
    state_rows: I32
    next: Wires
    terminal: Wires
    role_moves: I32
    legal: Wires
    move_rows: I32
    role_goals: I32
    goals: Wires
    goal_values: NDArray[np.float64]
    turns: int


class Queue(NamedTuple):
    """States to play out, and what became of them.

    Attributes:
        packed: `[L, ceil(F / 64)]`.
        goals: `[L, R]`.
        steps: `[L]`.
        finished: `[L]`.
        faults: `[R, 2]` whether a role had several goal values, or none, at an end.
    """

    packed: U64
    goals: NDArray[np.float64]
    steps: NDArray[np.int64]
    finished: NDArray[np.bool_]
    faults: NDArray[np.bool_]


class Block(NamedTuple):
    """The lanes side by side now; goes on where it stopped.

    Attributes:
        rows: all rows.
        masks: `[3, W]` lanes that play on, that ended and are not judged yet, stuck ones.
        lane_of: `[64 W]` place in the queue.
        started: `[64 W]` step of the block at which each lane began.
        rng: `[2, W]`.
        planes: `[3 * MAX_PLANES, W]` scratch.
        squares: `[7, max(64, W)]` scratch.
        at: number of lanes in use, next of the queue, end of the queue, steps of the block,
            earliest step at which a lane in use began, step at which all lanes in use began
            together.
    """

    rows: U64
    masks: U64
    lane_of: NDArray[np.int64]
    started: NDArray[np.int64]
    rng: U64
    planes: U64
    squares: U64
    at: NDArray[np.int64]


_USED, _NEXT, _END, _STEP, _OLDEST, _TOGETHER = range(6)


def new_block(num_rows: int, width: tuple[int, ...], first: int, end: int, key: int) -> Block:
    """A block that will play states `first .. end` of a queue, seeded by a 64-bit key."""
    words = words_of(width)
    return Block(
        np.zeros(num_rows * words, dtype=np.uint64),
        np.zeros(3 * words, dtype=np.uint64),
        np.zeros(64 * words, dtype=np.int64),
        np.zeros(64 * words, dtype=np.int64),
        np.array([key] + [0] * (2 * words - 1), dtype=np.uint64),
        np.zeros(3 * MAX_PLANES * words, dtype=np.uint64),
        np.zeros(7 * max(64, words), dtype=np.uint64),
        np.array([0, first, end, 0, 0, 0], dtype=np.int64),
    )


@kernel
def play(
    plan: PlayoutPlan,
    queue: Queue,
    block: Block,
    max_steps: int,
    budget: int,
    width: tuple[int, ...],
) -> bool:
    """Play until the queue is empty, or `budget` steps of the block; whether it is empty."""
    words = words_of(width)
    at = block.at
    if at[_STEP] == 0:
        seed_words(block.rng[0], block.rng)
        _fill(plan, queue, block, words)
    for _ in range(budget):
        if at[_USED] == 0:
            return True
        run_tape(plan.look, block.rows, width)
        _end_lanes(plan, queue, block, max_steps, width)
        alive = _count(block.masks, 0, words)
        # Where roles take turns, those with one legal move cost least if all lanes agree whose
        # turn it is: new lanes wait for that.
        in_turn = (at[_STEP] + 1 - at[_TOGETHER]) % plan.turns == 0
        tidy = alive == 0 or (3 * alive <= 2 * at[_USED] and in_turn)
        if tidy:
            run_tape(plan.judge, block.rows, width)
            _judge(plan, queue, block, words)
        if alive:
            move_lanes(plan, queue, block, width)
        at[_STEP] += 1
        if tidy:
            if alive == 0:
                at[_TOGETHER] = at[_STEP]
            _compact(plan, block, width)
            _fill(plan, queue, block, words)
    return bool(at[_USED] == 0)


@inlined
def _count(masks: U64, which: int, words: int) -> int:
    total = 0
    for w in range(which * words, (which + 1) * words):
        total += count_ones(masks[w])
    return total


@inlined
def _end_lanes(
    plan: PlayoutPlan, queue: Queue, block: Block, max_steps: int, width: tuple[int, ...]
) -> None:
    """Take lanes that are over, or have played long enough, out of those that play on."""
    out_of_line()
    words = words_of(width)
    masks, at = block.masks, block.at
    playing = load(masks, 0, width)
    over = bxor(
        load(block.rows, np.int64(plan.terminal.rows[0]) * words, width),
        splat(plan.terminal.inverted[0], width),
    )
    over = band(over, playing)
    if reduce_or(over):
        store(masks, 0, but_not(playing, over))
        store(masks, words, bor(load(masks, words, width), over))
        store(masks, 2 * words, over)
        _stop(queue, block, True, words)
    if at[_STEP] - at[_OLDEST] >= max_steps:
        oldest = at[_STEP]
        for w in range(words):
            old = np.uint64(0)
            bits = masks[w]
            while bits:
                b = lowest_one(bits)
                bits &= bits - np.uint64(1)
                began = block.started[64 * w + b]
                if at[_STEP] - began >= max_steps:
                    old |= np.uint64(1) << np.uint64(b)
                elif began < oldest:
                    oldest = began
            masks[2 * words + w] = old
            masks[w] &= ~old
        at[_OLDEST] = oldest
        _stop(queue, block, False, words)


@inlined
def _stop(queue: Queue, block: Block, finished: bool, words: int) -> None:
    """Write down the lanes of the third mask."""
    out_of_line()
    for w in range(words):
        bits = block.masks[2 * words + w]
        while bits:
            lane = 64 * w + lowest_one(bits)
            bits &= bits - np.uint64(1)
            place = block.lane_of[lane]
            queue.steps[place] = block.at[_STEP] - block.started[lane]
            queue.finished[place] = finished


@inlined
def _judge(plan: PlayoutPlan, queue: Queue, block: Block, words: int) -> None:
    """Write down the goals of the lanes of the second mask."""
    out_of_line()
    for role in range(len(plan.role_goals) - 1):
        first, end = plan.role_goals[role], plan.role_goals[role + 1]
        for w in range(words):
            lanes = block.masks[words + w]
            if not lanes:
                continue
            some = several = np.uint64(0)
            for k in range(first, end):
                row = np.int64(plan.goals.rows[k])
                bits = (block.rows[row * words + w] ^ plan.goals.inverted[k]) & lanes
                again = bits & some
                several |= again
                some |= bits
                value = plan.goal_values[k]
                while bits:
                    b = lowest_one(bits)
                    bits &= bits - np.uint64(1)
                    place = block.lane_of[64 * w + b]
                    first_value = not (again >> np.uint64(b)) & np.uint64(1)
                    # A value that is not a number stays, and is reported.
                    if first_value or value != value or value > queue.goals[place, role]:
                        queue.goals[place, role] = value
            if several:
                queue.faults[role, 0] = True
            if lanes & ~some:
                queue.faults[role, 1] = True
    for w in range(words, 2 * words):
        block.masks[w] = np.uint64(0)


@inlined
def move_lanes(plan: PlayoutPlan, queue: Queue, block: Block, width: tuple[int, ...]) -> None:
    """Make random moves in the lanes that play on; the others stay as they are."""
    out_of_line()
    words = words_of(width)
    rows, masks, planes = block.rows, block.masks, block.planes
    scratch = planes[MAX_PLANES * words :]
    for role in range(len(plan.role_moves) - 1):
        first, end = plan.role_moves[role], plan.role_moves[role + 1]
        used = count_legal(rows, plan.legal, first, end, planes, width)
        any_move = load(planes, 0, width)
        for j in range(1, used):
            any_move = bor(any_move, load(planes, j * words, width))
        playing = load(masks, 0, width)
        stuck = but_not(playing, any_move)
        if reduce_or(stuck):
            store(masks, 2 * words, stuck)
            store(masks, 0, but_not(playing, stuck))
            _stop(queue, block, False, words)
        if used == 1:
            for m in range(first, end):
                row = load(rows, np.int64(plan.legal.rows[m]) * words, width)
                row = bxor(row, splat(plan.legal.inverted[m], width))
                store(rows, np.int64(plan.move_rows[m]) * words, row)
        else:
            draw_below(planes, used, masks, block.rng, scratch, width)
            pick(rows, plan.legal, first, end, plan.move_rows, planes, used, width)
    run_tape(plan.act, rows, width)
    playing = load(masks, 0, width)
    for k in range(len(plan.state_rows)):
        old = load(rows, np.int64(plan.state_rows[k]) * words, width)
        new = load(rows, np.int64(plan.next.rows[k]) * words, width)
        new = bxor(new, splat(plan.next.inverted[k], width))
        new = bxor(old, band(playing, bxor(old, new)))
        store(rows, np.int64(plan.state_rows[k]) * words, new)


@inlined
def _compact(plan: PlayoutPlan, block: Block, width: tuple[int, ...]) -> None:
    """Move the lanes that play on together, to the beginning of the block."""
    out_of_line()
    words = words_of(width)
    masks, at, rows, squares = block.masks, block.at, block.rows, block.squares
    used = 0
    oldest = at[_STEP]
    for w in range(words):
        bits = masks[w]
        while bits:
            lane = 64 * w + lowest_one(bits)
            bits &= bits - np.uint64(1)
            block.lane_of[used] = block.lane_of[lane]
            block.started[used] = block.started[lane]
            oldest = min(oldest, block.started[lane])
            used += 1
    at[_OLDEST] = oldest
    at[_USED] = used
    if used:
        _compress_masks(masks, squares, width)
        for k in range(len(plan.state_rows)):
            _compress_row(rows, plan.state_rows[k], masks, squares, width)
    else:
        for k in range(len(plan.state_rows)):
            store(rows, np.int64(plan.state_rows[k]) * words, splat(np.uint64(0), width))
    for w in range(words):
        left = used - 64 * w
        masks[w] = (
            _ALL if left >= 64 else np.uint64(0) if left <= 0 else _ALL >> np.uint64(64 - left)
        )


@inlined
def _compress_masks(masks: U64, squares: U64, width: tuple[int, ...]) -> None:
    """What `_compress_row` moves in each of six rounds: Hacker's Delight, section 7-4."""
    out_of_line()
    words = words_of(width)
    for w in range(words):
        mask = masks[w]
        zeros_below = ~mask << np.uint64(1)
        for i in range(6):
            parity = zeros_below
            for j in range(6):
                parity ^= parity << np.uint64(1 << j)
            moved = parity & mask
            squares[i * words + w] = moved
            mask = (mask ^ moved) | (moved >> np.uint64(1 << i))
            zeros_below &= ~parity


@inlined
def _compress_row(
    rows: U64, row: np.int32, masks: U64, squares: U64, width: tuple[int, ...]
) -> None:
    """Move the bits of a mask to the beginning of a row, the others become zero."""
    out_of_line()
    words = words_of(width)
    at = np.int64(row) * words
    bits_of_row = band(load(rows, at, width), load(masks, 0, width))
    for i in range(6):
        moved = band(bits_of_row, load(squares, i * words, width))
        bits_of_row = bor(bxor(bits_of_row, moved), shift_right(moved, np.uint64(1 << i)))
    store(rows, at, bits_of_row)
    word = shift = 0
    filled = np.uint64(0)
    for w in range(words):
        bits = rows[at + w]
        num = count_ones(masks[w])
        filled |= bits << np.uint64(shift)
        if shift + num >= 64:
            rows[at + word] = filled
            word += 1
            filled = bits >> np.uint64(64 - shift) if shift else np.uint64(0)
            shift += num - 64
        else:
            shift += num
    while word < words:
        rows[at + word] = filled
        filled = np.uint64(0)
        word += 1


@inlined
def _fill(plan: PlayoutPlan, queue: Queue, block: Block, words: int) -> None:
    """Let lanes of the queue in where there is room."""
    out_of_line()
    at = block.at
    count = min(64 * words - at[_USED], at[_END] - at[_NEXT])
    if count <= 0:
        return
    used = at[_USED]
    load_lanes(
        queue.packed,
        at[_NEXT],
        count,
        plan.row_of,
        block.rows,
        used,
        words,
        block.squares[:64],
    )
    for i in range(count):
        block.lane_of[used + i] = at[_NEXT] + i
        block.started[used + i] = at[_STEP]
    for lane in range(used, used + count):
        block.masks[lane >> 6] |= np.uint64(1) << np.uint64(lane & 63)
    if used == 0:
        at[_OLDEST] = at[_STEP]
    at[_USED] += count
    at[_NEXT] += count

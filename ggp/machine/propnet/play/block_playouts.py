"""Random playouts of a queue of states, as many side by side as a block has lanes."""

from __future__ import annotations

import numpy as np

from ggp.machine.jit import inlined, kernel
from ggp.machine.propnet.play.blocks import (
    OLDEST,
    STEP,
    TOGETHER,
    USED,
    Block,
    PlayoutPlan,
    Queue,
    compact,
    fill,
)
from ggp.machine.propnet.play.choice import (
    MAX_PLANES,
    count_legal,
    draw_below,
    pick,
    seed_words,
)
from ggp.machine.propnet.play.kernels import run_tape
from ggp.machine.propnet.play.layout import U64
from ggp.machine.propnet.play.vectors import (
    band,
    bor,
    but_not,
    bxor,
    count_ones,
    load,
    lowest_one,
    out_of_line,
    reduce_or,
    splat,
    store,
    words_of,
)

_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


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
    if at[STEP] == 0:
        seed_words(block.rng[0], block.rng)
        fill(plan, queue, block, words)
    for _ in range(budget):
        if at[USED] == 0:
            return True
        run_tape(plan.look, block.rows, width)
        _end_lanes(plan, queue, block, max_steps, width)
        alive = _count(block.masks, 0, words)
        # Where roles take turns, those with one legal move cost least if all lanes agree whose
        # turn it is: new lanes wait for that.
        in_turn = (at[STEP] + 1 - at[TOGETHER]) % plan.turns == 0
        tidy = alive == 0 or (3 * alive <= 2 * at[USED] and in_turn)
        if tidy:
            # Lanes that ended earlier still hold their last states, so that one evaluation judges
            # all.
            run_tape(plan.judge, block.rows, width)
            _judge(plan, queue, block, words)
        if alive:
            move_lanes(plan, queue, block, width)
        at[STEP] += 1
        if tidy:
            if alive == 0:
                at[TOGETHER] = at[STEP]
            compact(plan, block, width)
            fill(plan, queue, block, words)
    return bool(at[USED] == 0)


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
    # `OLDEST` may be too early, of a lane that has ended since, but not too late: so lanes are gone
    # through rarely.
    if at[STEP] - at[OLDEST] >= max_steps:
        oldest = at[STEP]
        for w in range(words):
            old = np.uint64(0)
            bits = masks[w]
            while bits:
                b = lowest_one(bits)
                bits &= bits - np.uint64(1)
                began = block.started[64 * w + b]
                if at[STEP] - began >= max_steps:
                    old |= np.uint64(1) << np.uint64(b)
                elif began < oldest:
                    oldest = began
            masks[2 * words + w] = old
            masks[w] &= ~old
        at[OLDEST] = oldest
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
            queue.steps[place] = block.at[STEP] - block.started[lane]
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
                    # A value that is not a number stays, and is settled outside.
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
        playing = load(masks, 0, width)
        # Other lanes hold states that cannot be reached, of which circuits may say anything:
        # what random bits are used for must not depend on them.
        while used > 1 and not reduce_or(band(load(planes, (used - 1) * words, width), playing)):
            used -= 1
        # At most one legal move in every lane: what is legal is what is made.
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
        # Lanes that have ended keep their states for `judge`.
        new = bxor(old, band(playing, bxor(old, new)))
        store(rows, np.int64(plan.state_rows[k]) * words, new)

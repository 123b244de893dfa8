"""Ends lanes of a block: they are over and judged, or stopped after too many steps.

The masks of a block mark the lanes that play on (the first), and those that are over and not
judged yet (the second). The third one holds the lanes that are being ended.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ggp.machine.compiling.jit import inlined
from ggp.machine.propnet.play.kernels.blocks import STEP, Block, PlayoutPlan, Queue
from ggp.machine.propnet.play.kernels.tapes import U64, Wires
from ggp.machine.propnet.play.kernels.vectors import (
    band,
    bor,
    but_not,
    bxor,
    item,
    load,
    lowest_one,
    out_of_line,
    reduce_or,
    splat,
    store,
    words_of,
)


@inlined
def end_lanes(masks: U64, rows: U64, terminal: Wires, variant: int, width: tuple[int, ...]) -> bool:
    """Move lanes that are over from the first to the third mask; returns whether there are any."""
    words = words_of(width)
    playing = load(masks, 0, width)
    over = bxor(
        load(rows, item(terminal.rows, variant) * words, width),
        splat(item(terminal.inverted, variant), width),
    )
    over = band(over, playing)
    if not reduce_or(over):
        return False
    store(masks, 0, but_not(playing, over))
    store(masks, words, bor(load(masks, words, width), over))
    store(masks, 2 * words, over)
    return True


@inlined
def find_old(masks: U64, started: NDArray[np.int64], step: int, max_steps: int, words: int) -> int:
    """Move lanes that played long enough to the third mask; returns when the oldest other began."""
    out_of_line()
    oldest = step
    for w in range(words):
        old = np.uint64(0)
        bits = masks[w]
        while bits:
            b = lowest_one(bits)
            bits &= bits - np.uint64(1)
            began = started[64 * w + b]
            if step - began >= max_steps:
                old |= np.uint64(1) << np.uint64(b)
            elif began < oldest:
                oldest = began
        masks[2 * words + w] = old
        masks[w] &= ~old
    return oldest


@inlined
def stop(
    masks: U64,
    entry_of: NDArray[np.int64],
    started: NDArray[np.int64],
    step: int,
    single: bool,
    into: NDArray[np.int64],
    weights: NDArray[np.float64],
    spread: NDArray[np.float64],
    words: int,
) -> None:
    """Record how far the lanes of the third mask came."""
    out_of_line()
    for w in range(words):
        bits = masks[2 * words + w]
        if single and not ~bits:
            for lane in range(64 * w, 64 * w + 64):
                started[lane] = step - started[lane]
                spread[entry_of[lane], 0] = started[lane]
            continue
        while bits:
            lane = 64 * w + lowest_one(bits)
            bits &= bits - np.uint64(1)
            started[lane] = step - started[lane]
            if spread.shape[1]:
                entry = entry_of[lane]
                spread[into[entry], 0] += weights[entry] * started[lane]


@inlined
def _cut_off(
    masks: U64,
    entry_of: NDArray[np.int64],
    steps: NDArray[np.int64],
    into: NDArray[np.int64],
    weights: NDArray[np.float64],
    cut_value: float,
    goals: NDArray[np.float64],
    spread: NDArray[np.float64],
    unfinished: NDArray[np.int64],
    words: int,
) -> None:
    """Record the stopped lanes of the third mask as unfinished."""
    out_of_line()
    for w in range(words):
        bits = masks[2 * words + w]
        while bits:
            lane = 64 * w + lowest_one(bits)
            bits &= bits - np.uint64(1)
            entry = into[entry_of[lane]]
            weight = weights[entry_of[lane]]
            unfinished[entry] += 1
            for j in range(goals.shape[1]):
                goals[entry, j] += weight * cut_value
            if spread.shape[1] > 1:
                spread[entry, 1] += weight * cut_value * cut_value
                spread[entry, 2] += weight * cut_value * steps[lane]


@inlined
def lose(queue: Queue, block: Block, words: int) -> None:
    """Record that the lanes of the third mask stopped, and will not finish."""
    stop(
        block.masks,
        block.entry_of,
        block.started,
        block.at[STEP],
        queue.role < 0,
        queue.into,
        queue.weights,
        queue.spread,
        words,
    )
    _cut_off(
        block.masks,
        block.entry_of,
        block.started,
        queue.into,
        queue.weights,
        queue.cut_value,
        queue.goals,
        queue.spread,
        queue.unfinished,
        words,
    )


@inlined
def judge(plan: PlayoutPlan, queue: Queue, block: Block, words: int) -> None:  # noqa: C901
    """Write down the goals of the lanes of the second mask."""
    out_of_line()
    rows, masks, entry_of, steps = block.rows, block.masks, block.entry_of, block.started
    wires, values, role_goals = plan.goals, plan.goal_values, plan.role_goals
    judged, into, weights, met = queue.judged, queue.into, queue.weights, queue.met
    goals, spread, faults = queue.goals, queue.spread, queue.faults
    for role in range(judged[0], judged[1]):
        first, end = role_goals[role], role_goals[role + 1]
        for w in range(words):
            lanes = masks[words + w]
            if not lanes:
                continue
            some = np.uint64(0)
            for k in range(first, end):
                bits = (rows[np.int64(wires.rows[k]) * words + w] ^ wires.inverted[k]) & lanes
                # The first goal value in the order of the rules counts.
                again = bits & some
                # Lanes are searched until one is found: if there is one, there are many.
                if again and not faults[role, 0]:
                    for j in range(first, k):
                        held = rows[np.int64(wires.rows[j]) * words + w] ^ wires.inverted[j]
                        if held & again and values[j] != values[k]:
                            faults[role, 0] = True
                bits &= ~some
                if not bits:
                    continue
                some |= bits
                # Threads share these: every write moves them from cache to cache.
                if not met[k]:
                    met[k] = True
                value = values[k]
                if not value:
                    continue
                if queue.role < 0:
                    _note_goal(bits, w, entry_of, goals, role - judged[0], value)
                    continue
                while bits:
                    lane = 64 * w + lowest_one(bits)
                    bits &= bits - np.uint64(1)
                    entry = into[entry_of[lane]]
                    weighted = weights[entry_of[lane]] * value
                    goals[entry, role - judged[0]] += weighted
                    if spread.shape[1] > 1 and role == judged[0]:
                        spread[entry, 1] += weighted * value
                        spread[entry, 2] += weighted * steps[lane]
            if lanes & ~some:
                faults[role, 1] = True
    for w in range(words, 2 * words):
        masks[w] = np.uint64(0)


@inlined
def _note_goal(
    bits: np.uint64,
    word: int,
    entry_of: NDArray[np.int64],
    goals: NDArray[np.float64],
    place: int,
    value: float,
) -> None:
    """Record the goal of some lanes of a word, each of which has a sum of its own."""
    out_of_line()
    if not ~bits:
        for lane in range(64 * word, 64 * word + 64):
            goals[entry_of[lane], place] = value
        return
    while bits:
        lane = 64 * word + lowest_one(bits)
        bits &= bits - np.uint64(1)
        goals[entry_of[lane], place] = value

"""Whole random playouts in one call, which stops now and then between two joint moves."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ggp.machine.compiling.jit import by_reference, inlined, kernel
from ggp.machine.relational.kernels.play_kernels import (
    GOAL_ROOT,
    LEGAL_ROOT,
    NEXT_ROOT,
    TERMINAL_ROOT,
    Batch,
    advance,
    answer,
    ask,
    begin,
    find_all,
    holds,
    tell,
)
from ggp.machine.relational.kernels.records import (
    ANSWER_SIZE,
    DONE,
    FIRST_ANSWER,
    FULL_OUT,
    FULL_STATE,
    I32,
    I64,
    NUM_ANSWERS,
    OUT,
    PAUSED,
    STEPS,
    TOO_LARGE_ANSWER,
    Memory,
)
from ggp.machine.relational.kernels.row_kernels import add_move, load
from ggp.machine.relational.kernels.term_kernels import collect_if_many

# Entries of `Match.progress`.
LANE, TURN, FLUENTS, RANDOM_STATE, IS_ON = range(5)


@by_reference
class Match(NamedTuple):
    """A playout for each lane of a batch.

    Attributes:
        seeds: `[L]` state of each lane's generator.
        steps: `[L]` joint moves made.
        ended: `[L]` whether a terminal state was reached.
        progress: where the playout in work stands, see `LANE`.
        chosen: `[R]` scratch.
    """

    seeds: I64
    steps: I64
    ended: I64
    progress: I64
    chosen: I32


@inlined
def _draw(state: np.uint64) -> np.uint64:
    """The next state of a generator (Marsaglia's xorshift with 64 bits)."""
    state ^= state << np.uint64(13)
    state ^= state >> np.uint64(7)
    return state ^ (state << np.uint64(17))


@inlined
def _choose(m: Memory, batch: Batch, match: Match) -> int:
    """A legal move for each role, or `PAUSED` if one has none; the state must be loaded."""
    entries, answers = m.calls.entries, m.calls.answers
    state = np.uint64(match.progress[RANDOM_STATE])
    for role in range(len(batch.roles)):
        entry = ask(m, m.code.roots[LEGAL_ROOT], batch.roles[role], 0)
        if entry < 0:
            return entry
        count = entries[entry, NUM_ANSWERS]
        if count == 0:
            return PAUSED
        state = _draw(state)
        place = entries[entry, FIRST_ANSWER]
        for _ in range(np.int64((state >> np.uint64(11)) % np.uint64(count))):
            place = answers[place]
        match.chosen[role] = answers[place + 1]
    match.progress[RANDOM_STATE] = np.int64(state)
    return DONE


@inlined
def _tell_goals(m: Memory, batch: Batch) -> int:
    """Write, for each role, the count of numbers that follow, and pairs of rank and value."""
    for role in range(len(batch.roles)):
        entry = ask(m, m.code.roots[GOAL_ROOT], batch.roles[role], 0)
        if entry < 0:
            return entry
        if m.counts[OUT] >= len(m.out):
            return FULL_OUT
        place = m.counts[OUT]
        m.counts[OUT] += 1
        failed = tell(m, entry, False)
        if failed != DONE:
            return failed
        m.out[place] = m.counts[OUT] - place - 1
    return DONE


@inlined
def _turn(m: Memory, batch: Batch, match: Match, max_steps: int, budget: int) -> int:
    """Make one joint move of the playout in work; ends it (`IS_ON`) if there is none."""
    progress = match.progress
    lane = progress[LANE]
    begin(m, budget)
    collect_if_many(m.terms, batch.work, progress[FLUENTS])
    failed = load(m, batch.work, 0, progress[FLUENTS])
    if failed != DONE:
        return failed
    entry = ask(m, m.code.roots[TERMINAL_ROOT], 0, 0)
    if entry < 0:
        return entry
    if holds(m, entry):
        before = m.counts[OUT]
        failed = _tell_goals(m, batch)
        if failed != DONE:
            m.counts[OUT] = before
            return failed
        match.ended[lane] = 1
    if match.ended[lane] == 1 or progress[TURN] >= max_steps:
        progress[IS_ON] = 0
        return DONE
    before_draw = progress[RANDOM_STATE]
    failed = _choose(m, batch, match)
    if failed == PAUSED:
        progress[IS_ON] = 0
        return DONE
    if failed == DONE:
        failed = _follow(m, batch, match)
    if failed != DONE:
        progress[RANDOM_STATE] = before_draw
    return failed


@inlined
def _follow(m: Memory, batch: Batch, match: Match) -> int:
    """Make the moves that were chosen."""
    for role in range(len(batch.roles)):
        failed = add_move(m, batch.roles[role], match.chosen[role])
        if failed != DONE:
            return failed
    entry = ask(m, m.code.roots[NEXT_ROOT], 0, 0)
    if entry < 0:
        return entry
    num = m.calls.entries[entry, NUM_ANSWERS]
    if num > len(batch.work):
        return FULL_STATE
    place, size = m.calls.entries[entry, FIRST_ANSWER], 0
    for i in range(num):
        batch.work[i] = m.calls.answers[place + 1]
        size += 2 * m.terms.sizes[batch.work[i]] - 1
        place = m.calls.answers[place]
    match.progress[FLUENTS] = num
    match.progress[TURN] += 1
    return DONE if size <= m.counts[ANSWER_SIZE] else TOO_LARGE_ANSWER


@kernel
def play_out(m: Memory, batch: Batch, match: Match, max_steps: int, budget: int, pause: int) -> int:
    """Play random playouts of all lanes on from where they are, until `pause` steps were made.

    Writes goals as `_tell_goals` does; `ends` has the end of those of each lane.
    Returns `DONE`, `PAUSED`, or the code of what is full or too large.
    """
    progress = match.progress
    until_steps = m.counts[STEPS] + pause
    while progress[LANE] < len(batch.offsets) - 1:
        lane = progress[LANE]
        if progress[IS_ON] == 0:
            start, end = batch.offsets[lane], batch.offsets[lane + 1]
            for i in range(start, end):
                batch.work[i - start] = m.terms.shown[batch.values[i]]
            progress[FLUENTS], progress[TURN] = end - start, 0
            progress[RANDOM_STATE] = match.seeds[lane]
            progress[IS_ON] = 1
        while progress[IS_ON] == 1:
            failed = _turn(m, batch, match, max_steps, budget)
            if failed != DONE:
                return failed
            if m.counts[STEPS] > until_steps and progress[IS_ON] == 1:
                return PAUSED
        match.steps[lane] = progress[TURN]
        batch.ends[lane] = m.counts[OUT]
        progress[LANE] = lane + 1
    return DONE


KERNELS = (answer, advance, find_all, play_out)
"""The kernels that take long to compile."""

"""Questions about states, and steps, for many states in one call.

Every kernel begins at a given lane and returns where it stopped and why. So what is full can
grow, and no work is repeated. Kernels also stop when they have worked for a while (`PAUSED`), so
that the caller can look at a clock.
"""

from __future__ import annotations

from typing import NamedTuple

from ggp.machine.compiling.jit import by_reference, inlined, kernel
from ggp.machine.relational.kernels.call_kernels import entry_for
from ggp.machine.relational.kernels.evaluation import solve
from ggp.machine.relational.kernels.records import (
    ANSWER_SIZE,
    DONE,
    FIRST_ANSWER,
    FULL_OUT,
    I32,
    I64,
    MOST_STEPS,
    NUM_ANSWERS,
    NUM_FOUND,
    OUT,
    PAUSED,
    PROCEDURE,
    STEPS,
    TOO_LARGE_ANSWER,
    Memory,
)
from ggp.machine.relational.kernels.row_kernels import add_move, load
from ggp.machine.relational.kernels.term_kernels import collect_if_many, show, sort_by_key

TERMINAL_ROOT, LEGAL_ROOT, NEXT_ROOT, GOAL_ROOT, SEES_ROOT, IS_LEGAL_ROOT = range(6)
"""Procedures that kernels are asked for from outside, in this order."""


@by_reference
class Batch(NamedTuple):
    """States of L lanes: lane i is the names `values[offsets[i]:offsets[i + 1]]`.

    Attributes:
        roles: `[R]` terms.
        ends: the end of each lane's results, or of each part of them, in `Memory.out`.
        work: scratch for the terms of a state.
    """

    values: I32
    offsets: I64
    roles: I32
    ends: I64
    work: I32


@inlined
def begin(m: Memory, budget: int) -> None:
    """Let the next question about a state take `budget` steps."""
    m.counts[MOST_STEPS] = m.counts[STEPS] + budget


@inlined
def ask(m: Memory, root: int, first: int, second: int) -> int:
    """The evaluated entry of a procedure for these known arguments, or the code of what ran out.

    The first operands of every game are the registers 0 and 1.
    """
    m.stack.registers[0] = first
    m.stack.registers[1] = second
    entry = entry_for(m, root, 0, 0)
    if entry < 0:
        return entry
    failed = solve(m, entry)
    return failed if failed != DONE else entry


@inlined
def holds(m: Memory, entry: int) -> bool:
    return bool(m.calls.entries[entry, FIRST_ANSWER] >= 0)


@inlined
def _read_state(m: Memory, batch: Batch, lane: int) -> int:
    """Load the state of a lane."""
    start, end = batch.offsets[lane], batch.offsets[lane + 1]
    collect_if_many(m.terms, batch.work, 0)
    for i in range(start, end):
        batch.work[i - start] = m.terms.shown[batch.values[i]]
    return load(m, batch.work, 0, end - start)


@inlined
def tell(m: Memory, entry: int, sort: bool) -> int:
    """Write the names of the terms of all answers to `Memory.out`."""
    calls, terms, out = m.calls, m.terms, m.out
    num = m.code.procedures[calls.entries[entry, PROCEDURE], NUM_FOUND]
    start = m.counts[OUT]
    if start + num * calls.entries[entry, NUM_ANSWERS] > len(out):
        return FULL_OUT
    end, size = start, 0
    place = calls.entries[entry, FIRST_ANSWER]
    while place >= 0 and num > 0:
        for i in range(num):
            out[end] = calls.answers[place + 1 + i]
            size += 2 * terms.sizes[out[end]] - 1
            end += 1
        place = calls.answers[place]
    if size > m.counts[ANSWER_SIZE]:
        return TOO_LARGE_ANSWER
    if sort:
        sort_by_key(terms, out, start, end)
    for i in range(start, end):
        out[i] = show(terms, out[i])
    m.counts[OUT] = end
    return DONE


@inlined
def _answer_lane(
    m: Memory, batch: Batch, lane: int, root: int, role: int, move: int, budget: int
) -> int:
    """Answer for one lane, see `answer`."""
    begin(m, budget)
    failed = _read_state(m, batch, lane)
    if failed != DONE:
        return failed
    if root in (LEGAL_ROOT, IS_LEGAL_ROOT):
        over = ask(m, m.code.roots[TERMINAL_ROOT], 0, 0)
        if over < 0:
            return over
        if holds(m, over):
            return DONE
    first = batch.roles[role] if role >= 0 else 0
    second = m.terms.shown[move] if move >= 0 else 0
    entry = ask(m, m.code.roots[root], first, second)
    if entry < 0:
        return entry
    if m.code.procedures[m.code.roots[root], NUM_FOUND] > 0:
        return tell(m, entry, root != GOAL_ROOT)
    if holds(m, entry):
        if m.counts[OUT] >= len(m.out):
            return FULL_OUT
        m.out[m.counts[OUT]] = 0
        m.counts[OUT] += 1
    return DONE


@kernel
def answer(
    m: Memory, batch: Batch, lane: int, root: int, role: int, move: int, budget: int, pause: int
) -> tuple[int, int]:
    """Answers of a root in each lane from `lane` on, in an order that depends on the state only.

    Terminal lanes have no legal moves. A root that holds and has no arguments gives one 0. Answers
    of goals are pairs, rank and value, in no order. Without a role or move these are -1.

    Args:
        budget: steps for each lane.
        pause: steps after which no further lane is begun.

    Returns:
        number of lanes done, and `DONE` or the code of what stopped it.
    """
    until_steps = m.counts[STEPS] + pause
    while lane < len(batch.offsets) - 1:
        if m.counts[STEPS] > until_steps:
            return lane, PAUSED
        before = m.counts[OUT]
        failed = _answer_lane(m, batch, lane, root, role, move, budget)
        if failed != DONE:
            m.counts[OUT] = before
            return lane, failed
        batch.ends[lane] = m.counts[OUT]
        lane += 1
    return lane, DONE


@inlined
def _step_lane(m: Memory, batch: Batch, joint: I32, lane: int, sees: bool, budget: int) -> int:
    """Advance one lane, see `advance`."""
    begin(m, budget)
    failed = _read_state(m, batch, lane)
    if failed != DONE:
        return failed
    num_roles = len(batch.roles)
    for role in range(num_roles):
        failed = add_move(m, batch.roles[role], m.terms.shown[joint[lane, role]])
        if failed != DONE:
            return failed
    parts = 1 + (num_roles if sees else 0)
    for part in range(parts):
        root = m.code.roots[NEXT_ROOT if part == 0 else SEES_ROOT]
        entry = ask(m, root, batch.roles[part - 1] if part else 0, 0)
        if entry < 0:
            return entry
        failed = tell(m, entry, True)
        if failed != DONE:
            return failed
        batch.ends[lane * parts + part] = m.counts[OUT]
    return DONE


@kernel
def advance(
    m: Memory, batch: Batch, joint: I32, lane: int, sees: bool, budget: int, pause: int
) -> tuple[int, int]:
    """Successors after joint moves `joint[L, R]` (names), and each role's percepts, lane by lane.

    `ends` has 1 + R entries for each lane, or 1 if percepts are not asked for. See `answer`.
    """
    until_steps = m.counts[STEPS] + pause
    while lane < len(batch.offsets) - 1:
        if m.counts[STEPS] > until_steps:
            return lane, PAUSED
        before = m.counts[OUT]
        failed = _step_lane(m, batch, joint, lane, sees, budget)
        if failed != DONE:
            m.counts[OUT] = before
            return lane, failed
        lane += 1
    return lane, DONE


@kernel
def find_all(m: Memory, procedure: int, budget: int, fresh: bool) -> int:
    """All answers of a procedure all of whose arguments are unknown, as terms, in `Memory.out`.

    Args:
        fresh: forget the answers of other calls.
    """
    if fresh:
        failed = load(m, m.out, 0, 0)
        if failed != DONE:
            return failed
    begin(m, budget)
    m.counts[OUT] = 0
    entry = ask(m, procedure, 0, 0)
    if entry < 0:
        return entry
    calls, num = m.calls, m.code.procedures[procedure, NUM_FOUND]
    if num * calls.entries[entry, NUM_ANSWERS] > len(m.out):
        return FULL_OUT
    place = calls.entries[entry, FIRST_ANSWER]
    if num == 0:
        m.counts[OUT] = 1 if place >= 0 else 0
    while place >= 0 and num > 0:
        for i in range(num):
            m.out[m.counts[OUT]] = calls.answers[place + 1 + i]
            m.counts[OUT] += 1
        place = calls.answers[place]
    return DONE

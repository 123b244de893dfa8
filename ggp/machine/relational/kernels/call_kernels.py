"""Calls in kernels: the questions asked in a state, and their answers so far."""

from __future__ import annotations

import numpy as np

from ggp.machine.compiling.jit import inlined
from ggp.machine.relational.kernels.records import (
    ANSWERS,
    COMPLETE,
    COUNTING,
    DEPTH,
    ENTRIES,
    EPOCH,
    EVALUATED,
    F_ASKED,
    F_BASE,
    F_ENTRY,
    F_GROUP,
    F_LEADER,
    F_PROCEDURE,
    F_RULE,
    F_STEPS,
    FIRST_ANSWER,
    FIRST_RULE,
    FULL_CALLS,
    FULL_STACK,
    GROUP,
    KNOWN,
    KNOWN_AT,
    LAST_ANSWER,
    LEADER,
    NEW,
    NUM_ANSWERS,
    NUM_FOUND,
    NUM_KNOWN,
    NUM_REGISTERS,
    OPEN,
    PROCEDURE,
    STATUS,
    STEPS,
    WAITING,
    WIDEST,
    Memory,
)
from ggp.machine.relational.kernels.row_kernels import value
from ggp.machine.relational.kernels.term_kernels import mix


@inlined
def entry_for(m: Memory, procedure: int, at: int, base: int) -> int:
    """The entry of a call whose known arguments are the operands at `at`, made if it is new."""
    calls, registers, operands = m.calls, m.stack.registers, m.code.operands
    num = m.code.procedures[procedure, NUM_KNOWN]
    key = mix(np.uint64(5), procedure)
    for i in range(num):
        key = mix(key, value(registers, base, operands[at + i]))
    mask = np.uint64(len(calls.slots) - 1)
    epoch = m.rows.used[EPOCH]
    slot = key & mask
    while calls.slots[slot, 0] == epoch:
        entry = calls.slots[slot, 1]
        if calls.entries[entry, PROCEDURE] == procedure:
            first = calls.entries[entry, KNOWN_AT]
            same = True
            for i in range(num):
                if calls.known[first + i] != value(registers, base, operands[at + i]):
                    same = False
                    break
            if same:
                return int(entry)
        slot = (slot + np.uint64(1)) & mask
    new, first_new = calls.used[ENTRIES], calls.used[KNOWN]
    if new >= len(calls.entries) or first_new + num > len(calls.known):
        return FULL_CALLS
    calls.slots[slot, 0] = epoch
    calls.slots[slot, 1] = new
    calls.used[ENTRIES], calls.used[KNOWN] = new + 1, first_new + num
    calls.entries[new, PROCEDURE] = procedure
    calls.entries[new, KNOWN_AT] = first_new
    for i in range(num):
        calls.known[first_new + i] = value(registers, base, operands[at + i])
    calls.entries[new, FIRST_ANSWER] = -1
    calls.entries[new, LAST_ANSWER] = -1
    calls.entries[new, NUM_ANSWERS] = 0
    calls.entries[new, STATUS] = NEW
    return int(new)


@inlined
def add_answer(m: Memory, entry: int, procedure: int, at: int, base: int) -> int:
    """Add an answer, the operands at `at`: 1 if it is new, 0 if not, or `FULL_CALLS`."""
    calls, registers, operands = m.calls, m.stack.registers, m.code.operands
    num = m.code.procedures[procedure, NUM_FOUND]
    if num == 0:
        if calls.entries[entry, NUM_ANSWERS] > 0:
            return 0
        calls.entries[entry, NUM_ANSWERS] = 1
        calls.entries[entry, FIRST_ANSWER] = 0
        return 1
    key = mix(np.uint64(11), entry)
    for i in range(num):
        key = mix(key, value(registers, base, operands[at + i]))
    mask = np.uint64(len(calls.answer_slots) - 1)
    epoch = m.rows.used[EPOCH]
    slot = key & mask
    while calls.answer_slots[slot, 0] == epoch:
        if calls.answer_slots[slot, 1] == entry:
            other = calls.answer_slots[slot, 2]
            same = True
            for i in range(num):
                known = calls.answers[other + 1 + i]
                if known != value(registers, base, operands[at + i]):
                    same = False
                    break
            if same:
                return 0
        slot = (slot + np.uint64(1)) & mask
    place = calls.used[ANSWERS]
    # An answer takes two cells or more, so half of the slots stay free.
    if place + num >= len(calls.answers):
        return FULL_CALLS
    calls.answer_slots[slot, 0] = epoch
    calls.answer_slots[slot, 1] = entry
    calls.answer_slots[slot, 2] = place
    calls.answers[place] = -1
    for i in range(num):
        calls.answers[place + 1 + i] = value(registers, base, operands[at + i])
    calls.used[ANSWERS] = place + num + 1
    if calls.entries[entry, FIRST_ANSWER] < 0:
        calls.entries[entry, FIRST_ANSWER] = place
    else:
        calls.answers[calls.entries[entry, LAST_ANSWER]] = place
    calls.entries[entry, LAST_ANSWER] = place
    calls.entries[entry, NUM_ANSWERS] += 1
    return 1


@inlined
def has_room(m: Memory, depth: int, base: int, procedure: int) -> bool:
    """Whether a frame at this depth fits on the stack, with what ops may write behind it."""
    end = base + m.code.procedures[procedure, NUM_REGISTERS] + 2 * m.counts[WIDEST]
    return depth < len(m.stack.frames) and end < len(m.stack.registers)


@inlined
def open_frame(m: Memory, depth: int, entry: int, procedure: int, base: int) -> None:
    """Begin to evaluate a call; `entry` is -1 if its answer is not remembered."""
    frames, calls = m.stack.frames, m.calls
    frames[depth, F_ENTRY] = entry
    frames[depth, F_PROCEDURE] = procedure
    frames[depth, F_RULE] = m.code.procedures[procedure, FIRST_RULE] - 1
    frames[depth, F_BASE] = base
    frames[depth, F_LEADER] = depth
    frames[depth, F_GROUP] = m.counts[GROUP]
    frames[depth, F_ASKED] = 0
    frames[depth, F_STEPS] = m.counts[STEPS]
    if entry >= 0:
        first = calls.entries[entry, KNOWN_AT]
        for i in range(m.code.procedures[procedure, NUM_KNOWN]):
            m.stack.registers[base + i] = calls.known[first + i]
        calls.entries[entry, STATUS] = OPEN
        calls.entries[entry, DEPTH] = depth
        if m.counts[COUNTING] != 0:
            m.statistics[procedure, EVALUATED] += 1


@inlined
def rely_on(m: Memory, depth: int, entry: int, added: int, scanning: bool) -> bool:
    """Note that a frame is to use a call's answers so far; False if it must be evaluated first.

    The answers so far of a call are used if it is open, or waits for one that is. When that one is
    done, it is evaluated again if there were new answers after it was first relied on: `F_ASKED`
    is one more than their number then. A frame that goes through its own answers sees those that
    are added meanwhile; until it has finished, the number is negative.
    """
    frames, entries = m.stack.frames, m.calls.entries
    status = entries[entry, STATUS]
    if status == OPEN:
        leader = entries[entry, DEPTH]
        asked = frames[leader, F_ASKED]
        if asked < 0:
            frames[leader, F_ASKED] = -asked
        elif asked == 0:
            is_own = scanning and leader == depth
            frames[leader, F_ASKED] = -added - 1 if is_own else added + 1
    elif status == WAITING:
        leader = entries[entry, LEADER]
    else:
        return bool(status == COMPLETE)
    if leader < frames[depth, F_LEADER]:
        frames[depth, F_LEADER] = leader
    return True


@inlined
def _end_waiting(m: Memory, depth: int, status: int) -> None:
    """End the waiting of calls for a frame: they become `COMPLETE`, or `NEW` if they must be
    evaluated when they are asked again; their answers stay."""
    first = m.stack.frames[depth, F_GROUP]
    for i in range(first, m.counts[GROUP]):
        m.calls.entries[m.stack.group[i], STATUS] = status
    m.counts[GROUP] = first


@inlined
def complete(m: Memory, depth: int, entry: int) -> None:
    """Mark the answers of a call, and of those that waited for it, as final."""
    _end_waiting(m, depth, COMPLETE)
    m.calls.entries[entry, STATUS] = COMPLETE


@inlined
def hold(m: Memory, depth: int, entry: int) -> None:
    """Mark a call as true, whatever is open; calls that waited are evaluated if asked again."""
    _end_waiting(m, depth, NEW)
    m.calls.entries[entry, STATUS] = COMPLETE


AGAIN, CLOSED = range(2)


@inlined
def close_frame(m: Memory, depth: int, entry: int, added: int) -> int:
    """Close a call whose rules were all tried: it is complete, waits, or must be tried `AGAIN`.

    Calls that wait for each other are a group, whose leader is the one lowest on the stack.
    Returns `AGAIN`, `CLOSED` or `FULL_STACK`.
    """
    frames, entries, group = m.stack.frames, m.calls.entries, m.stack.group
    leader, asked = frames[depth, F_LEADER], frames[depth, F_ASKED]
    asked = abs(asked)  # if it did not go through all of its own answers, later ones are new
    if leader >= depth:
        if asked > 0 and added >= asked:
            _end_waiting(m, depth, NEW)
            frames[depth, F_RULE] = m.code.procedures[frames[depth, F_PROCEDURE], FIRST_RULE] - 1
            frames[depth, F_ASKED] = added + 1
            return AGAIN
        complete(m, depth, entry)
        return CLOSED
    if m.counts[GROUP] >= len(group):
        return FULL_STACK
    entries[entry, STATUS] = WAITING
    group[m.counts[GROUP]] = entry
    m.counts[GROUP] += 1
    # Calls that waited for this one wait for its leader now, and so do the answers it missed.
    for i in range(frames[depth, F_GROUP], m.counts[GROUP]):
        entries[group[i], LEADER] = leader
    if asked > 0:
        before = abs(frames[leader, F_ASKED])
        frames[leader, F_ASKED] = asked if before == 0 else min(before, asked)
    if frames[depth - 1, F_LEADER] > leader:
        frames[depth - 1, F_LEADER] = leader
    return CLOSED

"""The interpreter of the relational backend: evaluates a call by the rules of its relation.

`play_kernels` asks `solve` for the answers of a call in the loaded state. This is top-down
evaluation, as in Prolog: rules are tried in order, and their ops in order. An op with several
values (`EACH_`) is resumed for its next value when a later op fails. An op that fails goes back
directly to the last op that could make a difference (`ON_FAIL`).

Unlike Prolog, the interpreter tables calls: each call has an entry with its answers, and is
evaluated once in a state. Rules for calls that lead back to themselves (Zhou and Sato 2003,
"Efficient fixpoint computation in linear tabling"):

1. A call of an open entry (one that is on the stack) uses its answers so far.
2. Calls that depend on each other form a group. Its leader is the lowest one on the stack, since
   all others depend on it.
3. When the rules of the leader are exhausted, they are tried again if answers were added after the
   first use of unfinished ones in its group (`F_ASKED`). Otherwise all entries of the group are
   complete.
"""

from __future__ import annotations

import numpy as np

from ggp.machine.compiling.jit import inlined
from ggp.machine.relational.records import (
    ANSWER,
    ANSWERS,
    ANSWERS_FOUND,
    ASKED,
    BUILD,
    COMPLETE,
    COUNTING,
    DEPTH,
    DONE,
    EACH_ANSWER,
    EACH_FACT,
    EACH_ROW,
    END_RULE,
    ENOUGH,
    ENTRIES,
    EPOCH,
    EVALUATED,
    EXTRA,
    F_ASKED,
    F_BASE,
    F_ENTRY,
    F_GROUP,
    F_LEADER,
    F_PROCEDURE,
    F_RULE,
    F_STEPS,
    FIND_FACT,
    FIND_ROW,
    FIRST_ANSWER,
    FIRST_RULE,
    FULL_CALLS,
    FULL_STACK,
    GROUP,
    I32,
    IS_DIFFERENT,
    IS_SAME,
    KIND,
    KNOWN,
    KNOWN_AT,
    LAST_ANSWER,
    LEADER,
    MAX_STEPS,
    NEW,
    NUM_ANSWERS,
    NUM_FOUND,
    NUM_KNOWN,
    NUM_OPERANDS,
    NUM_OUTPUTS,
    NUM_REGISTERS,
    ON_END,
    ON_FAIL,
    OPEN,
    OPERANDS,
    OUTPUTS,
    PLACE,
    PROCEDURE,
    PROVE,
    REMEMBERS,
    STATUS,
    STEPS,
    STEPS_TAKEN,
    SUBJECT,
    TERM_SIZE,
    TOO_MANY_STEPS,
    WAITING,
    WIDEST,
    WRITE,
    Memory,
    Rows,
    first_link,
    mix,
    term_of,
    value,
)

_FORWARD, _NEXT_VALUE, _RETURN, _NEXT_RULE = range(4)
"""The next step: run the op at `pc` for the first time, get its next value, resume it after a call,
or try the next rule of the frame."""

_BEFORE_FIRST = -2
"""In place of an answer, before the first one."""


@inlined
def _read(m: Memory, pc: int, base: int, cells: I32, first: int) -> bool:
    """Write the outputs of an op, from `cells[first]` on, to registers; False if one that must be
    compared differs."""
    registers, outputs = m.stack.registers, m.code.outputs
    start = m.code.ops[pc, OUTPUTS]
    for i in range(start, start + m.code.ops[pc, NUM_OUTPUTS]):
        cell = cells[first + outputs[i, 0]]
        if outputs[i, 2] == WRITE:
            registers[base + outputs[i, 1]] = cell
        elif value(registers, base, outputs[i, 1]) != cell:
            return False
    return True


@inlined
def _next_row(m: Memory, rows: Rows, pc: int, base: int, link: int) -> int:
    """The first link, from `link` on, whose row matches, with its outputs in registers; or -1."""
    while link >= 0:
        if _read(m, pc, base, rows.cells, rows.first[rows.links[link, 0]]):
            return link
        link = int(rows.links[link, 1])
        m.counts[STEPS] += 1
    return -1


@inlined
def _next_answer(m: Memory, pc: int, base: int, entry: int, place: int) -> int:
    """The next answer of a call that matches, with its outputs in registers; or -1."""
    answers = m.calls.answers
    while True:
        if place == _BEFORE_FIRST:
            place = int(m.calls.entries[entry, FIRST_ANSWER])
        else:
            place = int(answers[place])
        if place < 0 or _read(m, pc, base, answers, place + 1):
            return place
        m.counts[STEPS] += 1


@inlined
def _build(m: Memory, pc: int, base: int, procedure: int) -> int:
    """The term that an op builds, or the code of what ran out."""
    code, registers = m.code, m.stack.registers
    num, at = code.ops[pc, NUM_OPERANDS], code.ops[pc, OPERANDS]
    free = base + code.procedures[procedure, NUM_REGISTERS]
    for i in range(num):
        registers[free + i] = value(registers, base, code.operands[at + i])
    return term_of(m.terms, code.ops[pc, EXTRA], registers, free, num, m.counts[TERM_SIZE])


@inlined
def _take_apart(m: Memory, pc: int, base: int) -> bool:
    """Write a term's arguments to registers; False if its function or an argument differs."""
    terms = m.terms
    term = value(m.stack.registers, base, m.code.ops[pc, SUBJECT])
    if terms.functions[term] != m.code.ops[pc, EXTRA]:
        return False
    return _read(m, pc, base, terms.arguments, terms.first[term])


@inlined
def solve(m: Memory, root: int) -> int:  # noqa: C901
    """Find all answers of an entry, or `ENOUGH`; returns `DONE`, or the code of what ran out.

    The loop keeps its own stack, as kernels with recursion compile slowly. Between two steps, the
    variables below describe the top frame: `depth`, `base` (its first register), `entry` (-1 if its
    answers are not tabled), `procedure`, `pc` and `mode` (the next step). `added` counts new
    answers since the start: if it has not grown since a use of answers, that use missed none.
    """
    code, frames, registers = m.code, m.stack.frames, m.stack.registers
    entries, counts = m.calls.entries, m.counts
    if entries[root, STATUS] == COMPLETE:
        return DONE
    depth, base, entry = 0, 0, root
    procedure = int(entries[root, PROCEDURE])
    if not has_room(m, 0, 0, procedure):
        return FULL_STACK
    open_frame(m, 0, root, procedure, 0)
    added, pc, mode, holds = 0, 0, _NEXT_RULE, False
    while True:
        counts[STEPS] += 1
        if counts[STEPS] > counts[MAX_STEPS]:
            return TOO_MANY_STEPS
        if mode == _NEXT_RULE:
            rule = frames[depth, F_RULE] + 1
            end = code.procedures[procedure, END_RULE]
            if rule < end:
                frames[depth, F_RULE] = rule
                pc, mode = int(code.rules[rule]), _FORWARD
                continue
            if entry < 0:
                # A call without an entry that holds has its rule set behind the last one.
                holds = rule > end
                if frames[depth, F_LEADER] < frames[depth - 1, F_LEADER]:
                    frames[depth - 1, F_LEADER] = frames[depth, F_LEADER]
            elif entries[entry, STATUS] != COMPLETE:
                closed = close_frame(m, depth, entry, added)
                if closed == AGAIN:
                    continue
                if closed < 0:
                    return closed
            if counts[COUNTING] != 0:
                m.statistics[procedure, STEPS_TAKEN] += counts[STEPS] - frames[depth, F_STEPS]
                if entry >= 0:
                    m.statistics[procedure, ANSWERS_FOUND] += entries[entry, NUM_ANSWERS]
            if depth == 0:
                return DONE
            depth -= 1
            base, entry = int(frames[depth, F_BASE]), int(frames[depth, F_ENTRY])
            procedure = int(frames[depth, F_PROCEDURE])
            pc = int(registers[base + code.procedures[procedure, NUM_REGISTERS] - 1])
            mode = _RETURN
            continue
        kind = code.ops[pc, KIND]
        good = True
        if mode == _NEXT_VALUE:
            place = base + code.ops[pc, PLACE]
            if kind == EACH_ANSWER:
                called = int(registers[place + 1])
                current = _next_answer(m, pc, base, called, int(registers[place]))
                if current < 0 and called == entry and frames[depth, F_ASKED] < 0:
                    frames[depth, F_ASKED] = added + 1
            elif kind == EACH_FACT:
                current = _next_row(m, m.facts, pc, base, int(registers[place]))
            else:
                current = _next_row(m, m.rows, pc, base, int(registers[place]))
            if current >= 0:
                if kind == EACH_ANSWER:
                    registers[place] = current
                elif kind == EACH_FACT:
                    registers[place] = m.facts.links[current, 1]
                else:
                    registers[place] = m.rows.links[current, 1]
                pc += 1
                mode = _FORWARD
            else:
                pc = int(code.ops[pc, ON_END])
                mode = _NEXT_RULE if pc < 0 else _NEXT_VALUE
            continue
        if kind in (EACH_FACT, EACH_ROW, FIND_FACT, FIND_ROW):
            subject, at = code.ops[pc, SUBJECT], code.ops[pc, OPERANDS]
            if kind in (EACH_FACT, FIND_FACT):
                link = first_link(m, m.facts, subject, at, base)
            else:
                link = first_link(m, m.rows, subject, at, base)
            good = link >= 0
            if kind in (FIND_FACT, FIND_ROW):
                good = good != (code.ops[pc, EXTRA] != 0)
            elif good:
                registers[base + code.ops[pc, PLACE]] = link
                mode = _NEXT_VALUE
                continue
        elif kind in (PROVE, EACH_ANSWER):
            callee = int(code.ops[pc, SUBJECT])
            place = base + code.ops[pc, PLACE]
            if mode == _RETURN:
                called = int(registers[place + 1])
                mode = _FORWARD
            else:
                if counts[COUNTING] != 0:
                    m.statistics[callee, ASKED] += 1
                next_base = base + int(code.procedures[procedure, NUM_REGISTERS])
                called = -1
                if code.procedures[callee, REMEMBERS] != 0:
                    called = entry_for(m, callee, int(code.ops[pc, OPERANDS]), base)
                    if called < -1:
                        return called
                registers[place + 1] = called
                if called < 0 or not rely_on(m, depth, called, added, kind == EACH_ANSWER):
                    if not has_room(m, depth + 1, next_base, callee):
                        return FULL_STACK
                    registers[next_base - 1] = pc
                    if called < 0:
                        at = code.ops[pc, OPERANDS]
                        for i in range(code.procedures[callee, NUM_KNOWN]):
                            cell = value(registers, base, code.operands[at + i])
                            registers[next_base + i] = cell
                    depth += 1
                    open_frame(m, depth, called, callee, next_base)
                    base, entry, procedure, mode = next_base, called, callee, _NEXT_RULE
                    continue
            good = holds if called < 0 else entries[called, FIRST_ANSWER] >= 0
            if not good and called == entry and frames[depth, F_ASKED] < 0:
                frames[depth, F_ASKED] = added + 1
            if kind == PROVE:
                good = good != (code.ops[pc, EXTRA] != 0)
            elif good:
                registers[place] = _BEFORE_FIRST
                mode = _NEXT_VALUE
                continue
        elif kind == ANSWER:
            good = False
            if entry < 0:
                frames[depth, F_RULE] = code.procedures[procedure, END_RULE]
                mode = _NEXT_RULE
                continue
            new = add_answer(m, entry, procedure, int(code.ops[pc, OPERANDS]), base)
            if new < 0:
                return new
            added += new
            if depth == 0 and entries[root, NUM_ANSWERS] >= counts[ENOUGH]:
                return DONE
            if code.procedures[procedure, NUM_FOUND] == 0:
                hold(m, depth, entry)
                frames[depth, F_RULE] = code.procedures[procedure, END_RULE]
                mode = _NEXT_RULE
                continue
        elif kind == BUILD:
            term = _build(m, pc, base, procedure)
            if term < 0:
                return term
            registers[base + code.ops[pc, SUBJECT]] = term
        elif kind in (IS_SAME, IS_DIFFERENT):
            first = value(registers, base, code.ops[pc, SUBJECT])
            second = value(registers, base, code.ops[pc, EXTRA])
            good = (first == second) == (kind == IS_SAME)
        else:
            good = _take_apart(m, pc, base)
        if good:
            pc += 1
            mode = _FORWARD
        else:
            pc = int(code.ops[pc, ON_FAIL])
            mode = _NEXT_RULE if pc < 0 else _NEXT_VALUE


# ------------------------------------------------------------------------
# The entries of calls in a state, and their answers so far.


@inlined
def entry_for(m: Memory, procedure: int, at: int, base: int) -> int:
    """The entry of a call whose known arguments are the operands at `at`; added if it is new."""
    calls, registers, operands = m.calls, m.stack.registers, m.code.operands
    num = m.code.procedures[procedure, NUM_KNOWN]
    key = mix(np.uint64(5), procedure)
    for i in range(num):
        key = mix(key, value(registers, base, operands[at + i]))
    mask = np.uint64(len(calls.slots) - 1)
    epoch = m.rows.counters[EPOCH]
    slot = key & mask
    while calls.slots[slot, 0] == epoch:
        entry = calls.slots[slot, 1]
        if calls.entries[entry, PROCEDURE] == procedure:
            first = calls.entries[entry, KNOWN_AT]
            is_equal = True
            for i in range(num):
                if calls.args[first + i] != value(registers, base, operands[at + i]):
                    is_equal = False
                    break
            if is_equal:
                return int(entry)
        slot = (slot + np.uint64(1)) & mask
    new, first_new = calls.counters[ENTRIES], calls.counters[KNOWN]
    if new >= len(calls.entries) or first_new + num > len(calls.args):
        return FULL_CALLS
    calls.slots[slot, 0] = epoch
    calls.slots[slot, 1] = new
    calls.counters[ENTRIES], calls.counters[KNOWN] = new + 1, first_new + num
    calls.entries[new, PROCEDURE] = procedure
    calls.entries[new, KNOWN_AT] = first_new
    for i in range(num):
        calls.args[first_new + i] = value(registers, base, operands[at + i])
    calls.entries[new, FIRST_ANSWER] = -1
    calls.entries[new, LAST_ANSWER] = -1
    calls.entries[new, NUM_ANSWERS] = 0
    calls.entries[new, STATUS] = NEW
    return int(new)


@inlined
def add_answer(m: Memory, entry: int, procedure: int, at: int, base: int) -> int:
    """Add the operands at `at` as an answer; returns 1 if it is new, 0 if not, or `FULL_CALLS`."""
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
    epoch = m.rows.counters[EPOCH]
    slot = key & mask
    while calls.answer_slots[slot, 0] == epoch:
        if calls.answer_slots[slot, 1] == entry:
            answer = calls.answer_slots[slot, 2]
            is_equal = True
            for i in range(num):
                cell = calls.answers[answer + 1 + i]
                if cell != value(registers, base, operands[at + i]):
                    is_equal = False
                    break
            if is_equal:
                return 0
        slot = (slot + np.uint64(1)) & mask
    place = calls.counters[ANSWERS]
    # An answer takes two cells or more, so half of the slots stay free.
    if place + num >= len(calls.answers):
        return FULL_CALLS
    calls.answer_slots[slot, 0] = epoch
    calls.answer_slots[slot, 1] = entry
    calls.answer_slots[slot, 2] = place
    calls.answers[place] = -1
    for i in range(num):
        calls.answers[place + 1 + i] = value(registers, base, operands[at + i])
    calls.counters[ANSWERS] = place + num + 1
    if calls.entries[entry, FIRST_ANSWER] < 0:
        calls.entries[entry, FIRST_ANSWER] = place
    else:
        calls.answers[calls.entries[entry, LAST_ANSWER]] = place
    calls.entries[entry, LAST_ANSWER] = place
    calls.entries[entry, NUM_ANSWERS] += 1
    return 1


@inlined
def has_room(m: Memory, depth: int, base: int, procedure: int) -> bool:
    """Whether a frame at this depth, and the cells that ops write behind it, fit on the stack."""
    end = base + m.code.procedures[procedure, NUM_REGISTERS] + 2 * m.counts[WIDEST]
    return depth < len(m.stack.frames) and end < len(m.stack.registers)


@inlined
def open_frame(m: Memory, depth: int, entry: int, procedure: int, base: int) -> None:
    """Begin to evaluate a call; `entry` is -1 if its answer is not tabled."""
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
            m.stack.registers[base + i] = calls.args[first + i]
        calls.entries[entry, STATUS] = OPEN
        calls.entries[entry, DEPTH] = depth
        if m.counts[COUNTING] != 0:
            m.statistics[procedure, EVALUATED] += 1


@inlined
def rely_on(m: Memory, depth: int, entry: int, added: int, scanning: bool) -> bool:
    """Record that a frame uses the answers so far of a call; False if it must be evaluated first.

    The answers so far are used if the call is open, or waits for one that is open (its leader). The
    leader is evaluated again if answers were added after this first use: its `F_ASKED` is 1 plus
    the value of `added` then. A frame that goes through its own answers also meets the ones that
    are added meanwhile; until it has passed all of them, `F_ASKED` is negative.
    """
    frames, entries = m.stack.frames, m.calls.entries
    status = entries[entry, STATUS]
    if status == OPEN:
        leader = entries[entry, DEPTH]
        asked_at = frames[leader, F_ASKED]
        if asked_at < 0:
            frames[leader, F_ASKED] = -asked_at
        elif asked_at == 0:
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
    """Give all calls that wait for a frame a new status: `COMPLETE`, or `NEW` if they must be
    evaluated again on their next use; their answers stay."""
    first = m.stack.frames[depth, F_GROUP]
    for i in range(first, m.counts[GROUP]):
        m.calls.entries[m.stack.group[i], STATUS] = status
    m.counts[GROUP] = first


@inlined
def complete(m: Memory, depth: int, entry: int) -> None:
    """Mark the answers of a call, and of the calls that waited for it, as final."""
    _end_waiting(m, depth, COMPLETE)
    m.calls.entries[entry, STATUS] = COMPLETE


@inlined
def hold(m: Memory, depth: int, entry: int) -> None:
    """Mark a call without unknown arguments as true. One answer is enough, so it is complete; calls
    that waited for it are not."""
    _end_waiting(m, depth, NEW)
    m.calls.entries[entry, STATUS] = COMPLETE


AGAIN, CLOSED = range(2)


@inlined
def close_frame(m: Memory, depth: int, entry: int, added: int) -> int:
    """Close a call whose rules are exhausted: it is complete, or waits for its leader, or its rules
    must be tried `AGAIN`; see the rules at the top of the module.

    Returns `AGAIN`, `CLOSED` or `FULL_STACK`.
    """
    frames, entries, group = m.stack.frames, m.calls.entries, m.stack.group
    leader, asked_at = frames[depth, F_LEADER], frames[depth, F_ASKED]
    asked_at = abs(asked_at)  # negative: the frame did not pass all of its own answers
    if leader >= depth:
        if asked_at > 0 and added >= asked_at:
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
    # Calls that waited for this one now wait for its leader, which inherits the first use.
    for i in range(frames[depth, F_GROUP], m.counts[GROUP]):
        entries[group[i], LEADER] = leader
    if asked_at > 0:
        earlier = abs(frames[leader, F_ASKED])
        frames[leader, F_ASKED] = asked_at if earlier == 0 else min(earlier, asked_at)
    if frames[depth - 1, F_LEADER] > leader:
        frames[depth - 1, F_LEADER] = leader
    return CLOSED

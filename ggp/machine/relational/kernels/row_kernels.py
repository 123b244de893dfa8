"""Rows in kernels: the facts of a state, found by any of their arguments."""

from __future__ import annotations

import numpy as np

from ggp.machine.compiling.jit import inlined, kernel
from ggp.machine.relational.kernels.records import (
    ANSWERS,
    CELLS,
    DONE,
    END_COLUMN,
    END_INDEX,
    ENTRIES,
    EPOCH,
    FIRST_COLUMN,
    FIRST_INDEX,
    FULL_ROWS,
    GROUP,
    I32,
    KNOWN,
    LINKS,
    ROWS,
    Code,
    Memory,
    Rows,
)
from ggp.machine.relational.kernels.term_kernels import mix

_LAST_EPOCH = 2**31 - 2


@inlined
def add_row(code: Code, rows: Rows, relation: int, num: int) -> int:
    """Add the row whose cells are the next `num` to all indexes of its relation."""
    row, first = rows.used[ROWS], rows.used[CELLS]
    if row >= len(rows.first):
        return FULL_ROWS
    mask = np.uint64(len(rows.slots) - 1)
    epoch = rows.used[EPOCH]
    rows.first[row] = first
    for i in range(code.relations[relation, FIRST_INDEX], code.relations[relation, END_INDEX]):
        index = code.relation_indexes[i]
        start, end = code.indexes[index, FIRST_COLUMN], code.indexes[index, END_COLUMN]
        key = mix(np.uint64(3), index)
        for c in range(start, end):
            key = mix(key, rows.cells[first + code.columns[c]])
        link = rows.used[LINKS]
        if link >= len(rows.links):
            return FULL_ROWS
        rows.used[LINKS] = link + 1
        rows.links[link, 0] = row
        rows.links[link, 1] = -1
        slot = key & mask
        while rows.slots[slot, 0] == epoch:
            if rows.slots[slot, 1] == index:
                other = rows.first[rows.links[rows.slots[slot, 2], 0]]
                same = True
                for c in range(start, end):
                    column = code.columns[c]
                    if rows.cells[other + column] != rows.cells[first + column]:
                        same = False
                        break
                if same:
                    break
            slot = (slot + np.uint64(1)) & mask
        if rows.slots[slot, 0] == epoch:
            rows.links[rows.slots[slot, 3], 1] = link
        else:
            rows.slots[slot, 0] = epoch
            rows.slots[slot, 1] = index
            rows.slots[slot, 2] = link
        rows.slots[slot, 3] = link
    rows.used[ROWS], rows.used[CELLS] = row + 1, first + num
    return DONE


@inlined
def value(registers: I32, base: int, operand: int) -> int:
    """The value of an operand: a register of the frame at `base`, or a term."""
    return int(registers[base + operand]) if operand >= 0 else -1 - operand


@inlined
def first_link(m: Memory, rows: Rows, index: int, at: int, base: int) -> int:
    """The first link of the rows whose indexed columns are the operands at `at`, or -1."""
    code, registers = m.code, m.stack.registers
    start, end = code.indexes[index, FIRST_COLUMN], code.indexes[index, END_COLUMN]
    key = mix(np.uint64(3), index)
    for c in range(end - start):
        key = mix(key, value(registers, base, code.operands[at + c]))
    mask = np.uint64(len(rows.slots) - 1)
    epoch = rows.used[EPOCH]
    slot = key & mask
    while rows.slots[slot, 0] == epoch:
        if rows.slots[slot, 1] == index:
            link = rows.slots[slot, 2]
            first = rows.first[rows.links[link, 0]]
            same = True
            for c in range(end - start):
                known = value(registers, base, code.operands[at + c])
                if rows.cells[first + code.columns[start + c]] != known:
                    same = False
                    break
            if same:
                return int(link)
        slot = (slot + np.uint64(1)) & mask
    return -1


@inlined
def add_fluent(m: Memory, term: int) -> int:
    """Add a fluent that holds in the state."""
    return _add_term(m, m.code.fluents, term, -1)


@inlined
def add_move(m: Memory, role: int, term: int) -> int:
    """Add a move of the joint move."""
    return _add_term(m, m.code.moves, term, role)


@inlined
def _add_term(m: Memory, relations: I32, term: int, role: int) -> int:
    """Add rows of a term's arguments, and of the term itself, after a role if there is one."""
    rows, terms = m.rows, m.terms
    extra = 0 if role < 0 else 1
    relation = relations[terms.functions[term]]
    if relation >= 0:
        start, end = terms.first[term], terms.first[term + 1]
        at = rows.used[CELLS]
        if at + end - start + extra >= len(rows.cells):
            return FULL_ROWS
        if extra:
            rows.cells[at] = role
        for k in range(start, end):
            rows.cells[at + extra + k - start] = terms.arguments[k]
        if add_row(m.code, rows, relation, end - start + extra) != DONE:
            return FULL_ROWS
    relation = relations[len(relations) - 1]
    if relation >= 0:
        at = rows.used[CELLS]
        if at + 2 >= len(rows.cells):
            return FULL_ROWS
        if extra:
            rows.cells[at] = role
        rows.cells[at + extra] = term
        return add_row(m.code, rows, relation, 1 + extra)
    return DONE


@inlined
def load(m: Memory, state: I32, start: int, end: int) -> int:
    """Load the state of the terms `state[start:end]`, and forget the answers in the last one."""
    rows, calls = m.rows, m.calls
    if rows.used[EPOCH] >= _LAST_EPOCH:
        rows.slots[:, 0] = 0
        calls.slots[:, 0] = 0
        calls.answer_slots[:, 0] = 0
        rows.used[EPOCH] = 0
    rows.used[EPOCH] += 1
    rows.used[ROWS] = rows.used[CELLS] = rows.used[LINKS] = 0
    calls.used[ENTRIES] = calls.used[KNOWN] = calls.used[ANSWERS] = 0
    m.counts[GROUP] = 0
    for i in range(start, end):
        if add_fluent(m, state[i]) != DONE:
            return FULL_ROWS
    return DONE


@kernel
def add_facts(code: Code, facts: Rows, relation: int, cells: I32, num: int, count: int) -> int:
    """Add rows to a relation of facts: `count` of them, with `num` cells each."""
    for row in range(count):
        at = facts.used[CELLS]
        if at + num > len(facts.cells):
            return FULL_ROWS
        for k in range(num):
            facts.cells[at + k] = cells[row * num + k]
        if add_row(code, facts, relation, num) != DONE:
            return FULL_ROWS
    return DONE

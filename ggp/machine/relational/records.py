"""The arrays of the relational backend's kernels, in named tuples, and the names of their columns.

A *term* is a number: equal terms have the same number (hash-consing), and a term's arguments have
smaller numbers.

    number   function   arguments
    5        e/0
    6        4/0
    9        cell/3     5, 6, 8

A *row* is a tuple of a relation: its arguments as terms. *Indexes* find rows: an index belongs to
one relation and some of its columns, and chains the rows with equal values there by *links*. Rows
of facts are permanent; rows of fluents and moves belong to one state.

A *call* is a relation with some known arguments, such as `(attacked white e 4)`; its answers are
kept as long as the state is loaded. Rules are *ops* for one pattern of known arguments (`compile`).

Hash tables use open addressing with linear probing. Each slot begins with the *epoch*, the number
of the state it was filled for. A slot of an earlier epoch is free, so loading a state frees all
slots without clearing them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.machine.compiling.jit import by_reference, inlined, kernel
from ggp.machine.mixing import GOLDEN, mixed_by, mixed_in

I32 = NDArray[np.int32]
I64 = NDArray[np.int64]
U64 = NDArray[np.uint64]

# Columns of `Code.ops`.
KIND, SUBJECT, EXTRA, OPERANDS, NUM_OPERANDS, OUTPUTS, NUM_OUTPUTS, ON_FAIL, ON_END, PLACE = range(
    10
)

IS_SAME, IS_DIFFERENT, BUILD, TAKE_APART, FIND_FACT, EACH_FACT, FIND_ROW, EACH_ROW = range(8)
PROVE, EACH_ANSWER, ANSWER = range(8, 11)
"""Kinds of ops, see `compile`."""

WRITE, COMPARE = range(2)
"""The use of an output: write it to a register, or compare it with an operand."""

# Columns of `Code.relations` (of rows), of `Code.indexes` and of `Code.procedures`.
FIRST_INDEX, END_INDEX = range(2)
FIRST_COLUMN, END_COLUMN = range(2)
FIRST_RULE, END_RULE, NUM_KNOWN, NUM_FOUND, NUM_REGISTERS, REMEMBERS = range(6)

# Entries of `TermRows.counters`.
TERMS, ARGUMENTS, BASE, NAMES, COLLECT_AT = range(5)

# Entries of `Rows.counters`.
ROWS, CELLS, LINKS, EPOCH = range(4)

# Columns of `Calls.entries`, and entries of `Calls.counters`.
PROCEDURE, KNOWN_AT, FIRST_ANSWER, LAST_ANSWER, NUM_ANSWERS, STATUS, DEPTH, LEADER = range(8)
ENTRIES, KNOWN, ANSWERS = range(3)

NEW, OPEN, COMPLETE, WAITING = range(4)
"""Status of a call: a `WAITING` one has all answers it can get before its leader, still open, is
complete."""

# Columns of `Stack.frames`.
F_ENTRY, F_PROCEDURE, F_RULE, F_BASE, F_LEADER, F_GROUP, F_ASKED, F_STEPS = range(8)

# Entries of `Memory.counts`.
STEPS, MAX_STEPS, GROUP, ENOUGH, COUNTING, WIDEST, TERM_SIZE, ANSWER_SIZE, OUT = range(9)
NUM_COUNTS = 9

# Columns of `Memory.statistics`.
ASKED, EVALUATED, STEPS_TAKEN, ANSWERS_FOUND = range(4)

DONE = 0
FULL_TERMS, FULL_ROWS, FULL_CALLS, FULL_STACK, FULL_OUT = -1, -2, -3, -4, -5
FULL_STATE, TOO_MANY_STEPS, TOO_LARGE_TERM, TOO_LARGE_ANSWER, PAUSED = -6, -7, -8, -9, -10
"""Codes that kernels return. After a code for a full array, the caller enlarges it and starts the
current state again."""


@by_reference
class Code(NamedTuple):
    """The rules as ops, for all patterns of calls that occur.

    Attributes:
        ops: `[P, 10]` kind, subject, slices of `operands` and `outputs`, and so on: see `KIND`.
        operands: a register, or `-1 - t` for the term t.
        outputs: `[O, 3]` column or argument, register or operand, `WRITE` or `COMPARE`.
        rules: `[U]` first op of each rule.
        procedures: `[Q, 6]` slice of `rules`, numbers of arguments known and to find, number of
            registers, and whether answers are tabled: see `FIRST_RULE`.
        relations: `[N, 2]` the indexes of each relation of rows, as a slice of `relation_indexes`.
        relation_indexes: numbers of indexes.
        indexes: `[X, 2]` slice of `columns`.
        columns: the columns of all indexes.
        roots: the root procedures, see `play_kernels`.
        fluents, moves: `[F + 1]` for each function, the relation of rows for its fluents or moves,
            -1 for none; the last entry is for terms of any function.
    """

    ops: I32
    operands: I32
    outputs: I32
    rules: I32
    procedures: I32
    relations: I32
    relation_indexes: I32
    indexes: I32
    columns: I32
    roots: I32
    fluents: I32
    moves: I32


@by_reference
class TermRows(NamedTuple):
    """All terms of a game.

    Attributes:
        functions: `[T]` function of each term.
        first: `[T + 1]` offsets into `arguments`.
        arguments: the arguments of all terms.
        keys: `[T]` hashes of the terms' structure. They do not depend on numbers of terms, and
            define an order of terms.
        sizes: `[T]` number of functions in each term, as a tree.
        names: `[T]` the permanent number of a term in Python, -1 for none.
        by_name: the term with each name. Terms may be renumbered (`collect`), names are not.
        marks: scratch.
        slots: terms by hash, -1 for free slots.
        counters: see `TERMS`; terms below `BASE` are permanent.
    """

    functions: I32
    first: I32
    arguments: I32
    keys: U64
    sizes: I32
    names: I32
    by_name: I32
    marks: I32
    slots: I32
    counters: I64


@by_reference
class Rows(NamedTuple):
    """Rows, with their indexes.

    Attributes:
        first: `[R]` the first cell of each row.
        cells: the terms of all rows.
        links: `[K, 2]` a row, and the next link of the chain or -1.
        slots: `[S, 4]` epoch, index, first and last link of a chain.
        counters: see `ROWS`.
    """

    first: I32
    cells: I32
    links: I32
    slots: I32
    counters: I64


@by_reference
class Calls(NamedTuple):
    """The table of calls in one state.

    Attributes:
        entries: `[E, 8]` see `PROCEDURE`.
        args: the known arguments of all entries.
        slots: `[S, 2]` epoch and entry.
        answers: for each answer, the index of the next answer of its call or -1, then its terms.
        answer_slots: `[A, 3]` epoch, entry, index into `answers`.
        counters: see `ENTRIES`.
    """

    entries: I32
    args: I32
    slots: I32
    answers: I32
    answer_slots: I32
    counters: I64


@by_reference
class Stack(NamedTuple):
    """The stack of calls that are being evaluated.

    Attributes:
        frames: `[D, 8]` see `F_ENTRY`.
        registers: the registers of all frames, one frame after the other.
        group: calls that wait for an open one.
    """

    frames: I64
    registers: I32
    group: I32


@by_reference
class Memory(NamedTuple):
    """All arrays of one game.

    Attributes:
        facts: permanent rows.
        rows: the rows of the loaded state.
        counts: see `STEPS`.
        statistics: `[Q, 4]` for each procedure, the numbers of calls and evaluations, their steps,
            and their answers: see `ASKED`.
        out: the output of kernels.
    """

    code: Code
    terms: TermRows
    facts: Rows
    rows: Rows
    calls: Calls
    stack: Stack
    counts: I64
    statistics: I64
    out: I32


# ------------------------------------------------------------------------
# Kernels for the terms and rows of the relational backend: tables of facts with indexes.
#
# The interpreter (`evaluation`) looks up rows by some of their columns (`first_link`) and makes
# terms (`term_of`). `play_kernels` loads states as rows (`load`, `add_move`), and sorts and names
# terms.

# ------------------------------------------------------------------------
# Terms: equal terms have the same number, and unused terms are collected.


@inlined
def mix(value: np.uint64, number: int) -> np.uint64:
    """A hash with one more number in it."""
    return mixed_by(GOLDEN, value, np.uint64(number))


@inlined
def term_of(terms: TermRows, function: int, source: I32, at: int, num: int, most_size: int) -> int:
    """The term of a function with the `num` arguments from `source[at]` on; added if it is new.

    Below zero, it is `FULL_TERMS` or `TOO_LARGE_TERM`.
    """
    key = mix(np.uint64(7), function)
    for i in range(num):
        key = mixed_in(key, terms.keys[source[at + i]])
    mask = np.uint64(len(terms.slots) - 1)
    slot = key & mask
    while True:
        candidate = terms.slots[slot]
        if candidate < 0:
            break
        if terms.keys[candidate] == key and terms.functions[candidate] == function:
            first = terms.first[candidate]
            is_equal = True
            for i in range(num):
                if terms.arguments[first + i] != source[at + i]:
                    is_equal = False
                    break
            if is_equal:
                return int(candidate)
        slot = (slot + np.uint64(1)) & mask
    term, first_new = terms.counters[TERMS], terms.counters[ARGUMENTS]
    if term + 1 >= len(terms.functions) or first_new + num >= len(terms.arguments):
        return FULL_TERMS
    size = 1
    for i in range(num):
        size += terms.sizes[source[at + i]]
    if size > most_size:
        return TOO_LARGE_TERM
    terms.slots[slot] = term
    terms.functions[term] = function
    terms.keys[term] = key
    terms.sizes[term] = size
    terms.names[term] = -1
    for i in range(num):
        terms.arguments[first_new + i] = source[at + i]
    terms.first[term + 1] = first_new + num
    terms.counters[TERMS] = term + 1
    terms.counters[ARGUMENTS] = first_new + num
    return int(term)


@inlined
def ensure_name(terms: TermRows, term: int) -> int:
    """The name of a term (its permanent number in Python), assigned if it has none."""
    name = terms.names[term]
    if name < 0:
        # There is room, since there are no more names than terms.
        name = np.int32(terms.counters[NAMES])
        terms.counters[NAMES] += 1
        terms.names[term] = name
        terms.by_name[name] = term
    return int(name)


@inlined
def place(terms: TermRows, term: int) -> None:
    """Give a slot to a term that has none."""
    mask = np.uint64(len(terms.slots) - 1)
    slot = terms.keys[term] & mask
    while terms.slots[slot] >= 0:
        slot = (slot + np.uint64(1)) & mask
    terms.slots[slot] = term


@inlined
def collect(terms: TermRows, current: I32, num: int) -> None:
    """Forget unused terms and renumber the others (mark and compact).

    The permanent terms, terms with names, `current[:num]` and their arguments stay. Arguments have
    smaller numbers than their term, so one pass down marks all, and one pass up compacts in place,
    without overwriting anything that is still to be read.
    """
    base, num_terms = terms.counters[BASE], terms.counters[TERMS]
    for term in range(base, num_terms):
        terms.marks[term] = 1 if terms.names[term] >= 0 else 0
    for i in range(num):
        terms.marks[current[i]] = 1
    for term in range(num_terms - 1, base - 1, -1):
        if terms.marks[term] != 0:
            for k in range(terms.first[term], terms.first[term + 1]):
                terms.marks[terms.arguments[k]] = 1
    for term in range(base):
        terms.marks[term] = term
    terms.slots[:] = -1
    target, end = base, terms.first[base]
    for term in range(base, num_terms):
        if terms.marks[term] != 0:
            start, stop = terms.first[term], terms.first[term + 1]
            for k in range(start, stop):
                terms.arguments[end] = terms.marks[terms.arguments[k]]
                end += 1
            terms.functions[target] = terms.functions[term]
            terms.keys[target] = terms.keys[term]
            terms.sizes[target] = terms.sizes[term]
            terms.names[target] = terms.names[term]
            if terms.names[target] >= 0:
                terms.by_name[terms.names[target]] = target
            terms.marks[term] = target
            target += 1
            terms.first[target] = end
    for term in range(target):
        place(terms, term)
    for i in range(num):
        current[i] = terms.marks[current[i]]
    terms.counters[TERMS], terms.counters[ARGUMENTS] = target, end
    terms.counters[COLLECT_AT] = max(len(terms.functions) // 2, 2 * target)


@inlined
def collect_if_many(terms: TermRows, current: I32, num: int) -> None:
    """Collect when the number of terms has doubled since the last time, and exceeds half of the
    room."""
    if terms.counters[TERMS] > terms.counters[COLLECT_AT]:
        collect(terms, current, num)


@inlined
def sort_by_key(terms: TermRows, numbers: I32, start: int, end: int) -> None:
    """Sort terms by their keys: the order depends only on their structure (heapsort, in place)."""
    num = end - start
    for root in range(num // 2 - 1, -1, -1):
        _sift(terms, numbers, start, root, num)
    for last in range(num - 1, 0, -1):
        numbers[start], numbers[start + last] = numbers[start + last], numbers[start]
        _sift(terms, numbers, start, 0, last)


@inlined
def _sift(terms: TermRows, numbers: I32, start: int, root: int, num: int) -> None:
    item = numbers[start + root]
    key = terms.keys[item]
    while 2 * root + 1 < num:
        child = 2 * root + 1
        if (
            child + 1 < num
            and terms.keys[numbers[start + child + 1]] > terms.keys[numbers[start + child]]
        ):
            child += 1
        if terms.keys[numbers[start + child]] <= key:
            break
        numbers[start + root] = numbers[start + child]
        root = child
    numbers[start + root] = item


@kernel
def make_term(terms: TermRows, function: int, arguments: I32, num: int, most_size: int) -> int:
    """Call `term_of` from Python."""
    return term_of(terms, function, arguments, 0, num, most_size)


@kernel
def name_term(terms: TermRows, term: int) -> int:
    """Call `ensure_name` from Python."""
    return ensure_name(terms, term)


@kernel
def place_terms(terms: TermRows) -> int:
    """Give slots to all terms; all slots must be free."""
    for term in range(terms.counters[TERMS]):
        place(terms, term)
    return DONE


_LAST_EPOCH = 2**31 - 2


@inlined
def add_row(code: Code, rows: Rows, relation: int, num: int) -> int:
    """Add the row in the next `num` cells to all indexes of its relation."""
    row, first = rows.counters[ROWS], rows.counters[CELLS]
    if row >= len(rows.first):
        return FULL_ROWS
    mask = np.uint64(len(rows.slots) - 1)
    epoch = rows.counters[EPOCH]
    rows.first[row] = first
    for i in range(code.relations[relation, FIRST_INDEX], code.relations[relation, END_INDEX]):
        index = code.relation_indexes[i]
        start, end = code.indexes[index, FIRST_COLUMN], code.indexes[index, END_COLUMN]
        key = mix(np.uint64(3), index)
        for c in range(start, end):
            key = mix(key, rows.cells[first + code.columns[c]])
        link = rows.counters[LINKS]
        if link >= len(rows.links):
            return FULL_ROWS
        rows.counters[LINKS] = link + 1
        rows.links[link, 0] = row
        rows.links[link, 1] = -1
        slot = key & mask
        while rows.slots[slot, 0] == epoch:
            if rows.slots[slot, 1] == index:
                chain_first = rows.first[rows.links[rows.slots[slot, 2], 0]]
                is_equal = True
                for c in range(start, end):
                    column = code.columns[c]
                    if rows.cells[chain_first + column] != rows.cells[first + column]:
                        is_equal = False
                        break
                if is_equal:
                    break
            slot = (slot + np.uint64(1)) & mask
        if rows.slots[slot, 0] == epoch:
            rows.links[rows.slots[slot, 3], 1] = link
        else:
            rows.slots[slot, 0] = epoch
            rows.slots[slot, 1] = index
            rows.slots[slot, 2] = link
        rows.slots[slot, 3] = link
    rows.counters[ROWS], rows.counters[CELLS] = row + 1, first + num
    return DONE


@inlined
def value(registers: I32, base: int, operand: int) -> int:
    """The value of an operand: a register of the frame at `base`, or a term."""
    return int(registers[base + operand]) if operand >= 0 else -1 - operand


@inlined
def first_link(m: Memory, rows: Rows, index: int, at: int, base: int) -> int:
    """The first link of the rows whose indexed columns equal the operands at `at`, or -1."""
    code, registers = m.code, m.stack.registers
    start, end = code.indexes[index, FIRST_COLUMN], code.indexes[index, END_COLUMN]
    key = mix(np.uint64(3), index)
    for c in range(end - start):
        key = mix(key, value(registers, base, code.operands[at + c]))
    mask = np.uint64(len(rows.slots) - 1)
    epoch = rows.counters[EPOCH]
    slot = key & mask
    while rows.slots[slot, 0] == epoch:
        if rows.slots[slot, 1] == index:
            link = rows.slots[slot, 2]
            first = rows.first[rows.links[link, 0]]
            is_equal = True
            for c in range(end - start):
                cell = value(registers, base, code.operands[at + c])
                if rows.cells[first + code.columns[start + c]] != cell:
                    is_equal = False
                    break
            if is_equal:
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
    """Add a row with a term's arguments, and a row with the term, where rules use them; with the
    role in front, if it is not -1."""
    rows, terms = m.rows, m.terms
    extra = 0 if role < 0 else 1
    relation = relations[terms.functions[term]]
    if relation >= 0:
        start, end = terms.first[term], terms.first[term + 1]
        at = rows.counters[CELLS]
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
        at = rows.counters[CELLS]
        if at + 2 >= len(rows.cells):
            return FULL_ROWS
        if extra:
            rows.cells[at] = role
        rows.cells[at + extra] = term
        return add_row(m.code, rows, relation, 1 + extra)
    return DONE


@inlined
def load(m: Memory, state: I32, start: int, end: int) -> int:
    """Load the state with the fluents `state[start:end]`, and forget the calls of the last state.

    A new epoch frees all slots. Only when epochs run out, slots have to be cleared.
    """
    rows, calls = m.rows, m.calls
    if rows.counters[EPOCH] >= _LAST_EPOCH:
        rows.slots[:, 0] = 0
        calls.slots[:, 0] = 0
        calls.answer_slots[:, 0] = 0
        rows.counters[EPOCH] = 0
    rows.counters[EPOCH] += 1
    rows.counters[ROWS] = rows.counters[CELLS] = rows.counters[LINKS] = 0
    calls.counters[ENTRIES] = calls.counters[KNOWN] = calls.counters[ANSWERS] = 0
    m.counts[GROUP] = 0
    for i in range(start, end):
        if add_fluent(m, state[i]) != DONE:
            return FULL_ROWS
    return DONE


@kernel
def add_facts(code: Code, facts: Rows, relation: int, cells: I32, num: int, count: int) -> int:
    """Add `count` rows with `num` cells each to a relation of facts."""
    for row in range(count):
        at = facts.counters[CELLS]
        if at + num > len(facts.cells):
            return FULL_ROWS
        for k in range(num):
            facts.cells[at + k] = cells[row * num + k]
        if add_row(code, facts, relation, num) != DONE:
            return FULL_ROWS
    return DONE

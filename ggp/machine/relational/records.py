"""The arrays that the kernels of this package read and write, in named tuples.

A *term* is a number: equal terms are one (hash-consing), and a term comes after its arguments.

    number   function   arguments
    5        e/0
    6        4/0
    9        cell/3     5, 6, 8

A *row* is one true instance of a relation: its arguments as terms. Rows are found through
*indexes*: an index is of one relation and some of its columns, and lists the rows that agree in
these as a chain of *links*. Rows of facts are there once and for all, those of fluents and moves
for one state.

A *call* is a relation with some arguments, such as `(attacked white e 4)`, whose answers are
remembered as long as the state is. Rules are *ops* for one pattern of known arguments (`compile`).

Hash tables use open addressing with linear probing. Their slots begin with the number of the
state (*epoch*) they were filled for: so all of them are free again when the next state comes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.machine.compiling.jit import by_reference

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
"""The use of an output: it is kept in a register, or compared with what is there."""

# Columns of `Code.relations` (of rows), of `Code.indexes` and of `Code.procedures`.
FIRST_INDEX, END_INDEX = range(2)
FIRST_COLUMN, END_COLUMN = range(2)
FIRST_RULE, END_RULE, NUM_KNOWN, NUM_FOUND, NUM_REGISTERS, REMEMBERS = range(6)

# Entries of `TermRows.used`.
TERMS, ARGUMENTS, BASE, SHOWN, COLLECT_AT = range(5)

# Entries of `Rows.used`.
ROWS, CELLS, LINKS, EPOCH = range(4)

# Columns of `Calls.entries`, and entries of `Calls.used`.
PROCEDURE, KNOWN_AT, FIRST_ANSWER, LAST_ANSWER, NUM_ANSWERS, STATUS, DEPTH, LEADER = range(8)
ENTRIES, KNOWN, ANSWERS = range(3)

NEW, OPEN, COMPLETE, WAITING = range(4)
"""Status of a call: a `WAITING` one has found all it can until another one, still open, is done."""

# Columns of `Stack.frames`.
F_ENTRY, F_PROCEDURE, F_RULE, F_BASE, F_LEADER, F_GROUP, F_ASKED, F_STEPS = range(8)

# Entries of `Memory.counts`.
STEPS, MOST_STEPS, GROUP, ENOUGH, COUNTING, WIDEST, TERM_SIZE, ANSWER_SIZE, OUT = range(9)
NUM_COUNTS = 9

# Columns of `Memory.statistics`.
ASKED, EVALUATED, STEPS_TAKEN, ANSWERS_FOUND = range(4)

DONE = 0
FULL_TERMS, FULL_ROWS, FULL_CALLS, FULL_STACK, FULL_OUT = -1, -2, -3, -4, -5
FULL_STATE, TOO_MANY_STEPS, TOO_LARGE_TERM, TOO_LARGE_ANSWER, PAUSED = -6, -7, -8, -9, -10
"""Codes for how a kernel ended. What is full can grow; then the state in work is begun again."""


@by_reference
class Code(NamedTuple):
    """The rules, for the patterns of calls that are needed.

    Attributes:
        ops: `[P, 10]` kind, subject, and slices of `operands` and `outputs`.
        operands: a register, or `-1 - t` for the term t.
        outputs: `[O, 3]` column or argument, register or operand, `WRITE` or `COMPARE`.
        rules: `[U]` first op of each rule.
        procedures: `[Q, 6]` rules, number of arguments known and found, registers, and whether
            answers are remembered.
        relations: `[N, 2]` the indexes of each relation of rows, a slice of `relation_indexes`.
        relation_indexes: numbers of indexes.
        indexes: `[X, 2]` slice of `columns`.
        columns: the columns of all indexes.
        roots: procedures that are asked for from outside, see `play_kernels`.
        fluents, moves: `[F + 1]` the relation of rows that fluents or moves of each function are
            in, -1 for none; the last is for those of any function.
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
        functions: `[T]` function of each.
        first: `[T + 1]` where the arguments of each begin.
        arguments: the arguments of all.
        keys: `[T]` hashes of the terms' structure, which do not depend on their numbers: they put
            terms in an order.
        sizes: `[T]` number of functions in each, as a tree.
        names: `[T]` the number by which Python knows a term, -1 for none.
        shown: the term of each such number, which stays the same where terms are renumbered.
        marks: scratch.
        slots: numbers by hash, -1 where free.
        used: see `TERMS`; terms below `BASE` stay for good.
    """

    functions: I32
    first: I32
    arguments: I32
    keys: U64
    sizes: I32
    names: I32
    shown: I32
    marks: I32
    slots: I32
    used: I64


@by_reference
class Rows(NamedTuple):
    """Rows, found by indexes.

    Attributes:
        first: `[R]` where the cells of each row begin.
        cells: terms.
        links: `[K, 2]` row, and the next link of the chain or -1.
        slots: `[S, 4]` epoch, index, first and last link.
        used: see `ROWS`.
    """

    first: I32
    cells: I32
    links: I32
    slots: I32
    used: I64


@by_reference
class Calls(NamedTuple):
    """Calls of one state.

    Attributes:
        entries: `[E, 8]` see `PROCEDURE`.
        known: their known arguments.
        slots: `[S, 2]` epoch and entry.
        answers: of each, the place of the next one of the same call or -1, then its terms.
        answer_slots: `[A, 3]` epoch, entry, place.
        used: see `ENTRIES`.
    """

    entries: I32
    known: I32
    slots: I32
    answers: I32
    answer_slots: I32
    used: I64


@by_reference
class Stack(NamedTuple):
    """Calls that are being evaluated.

    Attributes:
        frames: `[D, 8]` see `F_ENTRY`.
        registers: of all frames, one after the other.
        group: calls that wait for one that is open.
    """

    frames: I64
    registers: I32
    group: I32


@by_reference
class Memory(NamedTuple):
    """All memory that kernels are given.

    Attributes:
        facts: rows that are there for good.
        rows: the rows of the state.
        counts: see `STEPS`.
        statistics: `[Q, 4]` for each procedure, how often it was asked and evaluated, the steps
            that took, and its answers.
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

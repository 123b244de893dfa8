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

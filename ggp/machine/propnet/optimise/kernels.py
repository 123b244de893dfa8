"""Kernels of passes over large circuits, see `draft` and `factoring`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ggp.machine.circuit import FALSE, TRUE, Literals
from ggp.machine.compiling.jit import inlined, kernel
from ggp.machine.mixing import GOLDEN, mixed_by

UNMADE = -1
"""In place of the literal of a net that has none yet."""

GATES, LITERALS, CIRCLE = range(3)
"""The counts of `emit`: gates and literals that were made; and a net that depends on itself."""

I64 = NDArray[np.int64]

_OPENED = -2
"""In `of`, marks a net whose inputs are being made."""


@kernel
def emit(  # noqa: C901
    offsets: I64,
    literals: Literals,
    becomes: Literals,
    of: Literals,
    roots: I64,
    first_made: int,
    stack: I64,
    gate: Literals,
    table: Literals,
    made_offsets: I64,
    made: Literals,
    counts: I64,
) -> None:
    """Make some nets and all that they depend on.

    Args:
        stack: room for every literal and net once.
        gate: room for the literals of the widest gate.
        table: gates made, by digest; its size is twice the greatest number of them, a power of 2.
        made_offsets: offsets of the gates that are made.
        made: their literals.
        counts: the counts, see `GATES`; written.
    """
    first = len(of) - (len(offsets) - 1)
    mask = len(table) - 1
    num_made = 0
    for root in roots:
        top = 0
        stack[0] = root
        while top >= 0:
            net = stack[top]
            if of[net] >= 0:
                top -= 1
                continue
            if becomes[net] >= 0:
                inner = becomes[net] >> 1
                if of[inner] < 0:
                    if of[net] == _OPENED:
                        counts[CIRCLE] = net
                        return
                    of[net] = _OPENED
                    top += 1
                    stack[top] = inner
                    continue
                of[net] = of[inner] ^ (becomes[net] & 1)
                top -= 1
                continue
            start, end = offsets[net - first], offsets[net - first + 1]
            below = top
            for place in range(start, end):
                inner = literals[place] >> 1
                if of[inner] < 0:
                    top += 1
                    stack[top] = inner
            if top > below:
                if of[net] == _OPENED:
                    counts[CIRCLE] = net
                    return
                of[net] = _OPENED
                continue
            top -= 1
            size = 0
            for place in range(start, end):
                gate[size] = of[literals[place] >> 1] ^ (literals[place] & 1)
                size += 1
            size, known = _folded(gate, size)
            if known >= 0:
                of[net] = known
                continue
            slot = _digest(gate, size) & mask
            while table[slot] >= 0 and not _equal(gate, size, made_offsets, made, table[slot]):
                slot = (slot + 1) & mask
            if table[slot] < 0:
                table[slot] = num_made
                begin = made_offsets[num_made]
                for place in range(size):
                    made[begin + place] = gate[place]
                num_made += 1
                made_offsets[num_made] = begin + size
            of[net] = 2 * (first_made + table[slot])
    counts[GATES] = num_made
    counts[LITERALS] = made_offsets[num_made]


@inlined
def _folded(gate: Literals, size: int) -> tuple[int, int]:
    """Number of literals left of a gate, sorted, and the literal it is equal to, or `UNMADE`."""
    # Shell sort; by insertion if there are few.
    step = 1
    while 3 * step < size:
        step = 3 * step + 1
    while step > 0:
        for place in range(step, size):
            literal = gate[place]
            before = place
            while before >= step and gate[before - step] > literal:
                gate[before] = gate[before - step]
                before -= step
            gate[before] = literal
        step //= 3
    left = 0
    for place in range(size):
        literal = gate[place]
        if literal != TRUE and (left == 0 or gate[left - 1] != literal):
            gate[left] = literal
            left += 1
    if left == 0:
        return 0, TRUE
    if left == 1:
        return 1, gate[0]
    if gate[0] == FALSE:
        return left, FALSE
    # Ascending: the two literals of a net are neighbours.
    for place in range(1, left):
        if gate[place - 1] ^ 1 == gate[place]:
            return left, FALSE
    return left, UNMADE


@inlined
def _digest(gate: Literals, size: int) -> int:
    digest = np.uint64(size)
    for place in range(size):
        digest = mixed_by(GOLDEN, digest, np.uint64(gate[place]))
    return int(np.int64(digest >> np.uint64(1)))


@inlined
def _equal(gate: Literals, size: int, made_offsets: I64, made: Literals, other: int) -> bool:
    begin = made_offsets[other]
    if made_offsets[other + 1] - begin != size:
        return False
    equal = 0
    while equal < size and made[begin + equal] == gate[equal]:
        equal += 1
    return equal == size


@kernel
def find_splittable(
    offsets: I64,
    literals: Literals,
    first_net: int,
    may_be_split: NDArray[np.bool_],
    holder: I64,
) -> None:
    """Find gates whose inner gates share a literal, or one of which may, when split, equal another.

    Args:
        may_be_split: `[G]` whether each gate is such a gate; set here.
        holder: for each literal, the last gate that was found to have it in an inner gate.
    """
    for gate in range(len(may_be_split)):
        found = False
        for place in range(offsets[gate], offsets[gate + 1]):
            inner = (literals[place] >> 1) - first_net
            if not literals[place] & 1 or inner < 0:
                continue
            found = found or may_be_split[inner]
            for below in range(offsets[inner], offsets[inner + 1]):
                shared = literals[below]
                found = found or holder[shared] == gate
                holder[shared] = gate
            if found:
                break
        may_be_split[gate] = found

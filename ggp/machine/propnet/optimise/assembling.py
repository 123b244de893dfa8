"""The gates of a changed circuit, made by a kernel: what `_Assembly` of `draft` does one by one.

Nets are emitted depth first, each after all that it depends on, folded, and found again where an
equal gate was made before. The kernel does it with arrays alone, in the same order, so that it
gives the same gates.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from ggp.machine.arrays import offsets_of
from ggp.machine.jit import inlined, kernel
from ggp.machine.propnet.build.builder import Gate
from ggp.machine.propnet.circuit import FALSE, TRUE, Circuit, Literals

FOR_KERNELS = 100_000
"""Literals of circuits that passes use kernels for: to load numba takes half a second, in which a
hundred thousand literals go through a few passes."""

UNMADE = -1
"""Stands for the literal of a net that has none yet."""

I64 = NDArray[np.int64]

_OPENED = -2
"""In `of`: a net whose inputs are being made."""

_GATES, _LITERALS, _CIRCLE = range(3)
"""Counts: of gates and literals that were made, and a net that depends on itself."""


def suits_kernels(circuit: Circuit) -> bool:
    """Whether passes deal with a circuit by kernels, which know of no loops."""
    return circuit.num_literals >= FOR_KERNELS and not circuit.loops


def assemble(
    gates: Sequence[Gate],
    becomes: Literals,
    of: Literals,
    roots: Sequence[int],
    first_made: int,
) -> tuple[I64, Literals]:
    """Gates as offsets and literals, as far as `roots` depend on them.

    Args:
        gates: literals of each gate, which are the last nets.
        becomes: `[nets]` literals that take the place of nets, or `UNMADE`.
        of: `[nets]` literals of nets that are made, or `UNMADE`; those that are made are added.
        roots: literals.
        first_made: net of the first gate that is made.

    Raises:
        ValueError: a net depends on itself.
    """
    sizes = np.fromiter(map(len, gates), dtype=np.int64, count=len(gates))
    offsets = offsets_of(sizes)
    literals = np.fromiter(chain.from_iterable(gates), dtype=np.int32, count=int(offsets[-1]))
    made_offsets = np.zeros(len(gates) + 1, dtype=np.int64)
    made = np.empty(len(literals), dtype=np.int32)
    counts = np.full(3, UNMADE, dtype=np.int64)
    _emit(
        offsets,
        literals,
        becomes,
        of,
        np.array(roots, dtype=np.int64) >> 1,
        first_made,
        np.empty(len(literals) + len(of) + 1, dtype=np.int64),
        np.empty(int(sizes.max(initial=1)), dtype=np.int32),
        np.full(1 << (2 * len(gates)).bit_length(), UNMADE, dtype=np.int32),
        made_offsets,
        made,
        counts,
    )
    if counts[_CIRCLE] != UNMADE:
        raise ValueError(f"net {counts[_CIRCLE]} depends on itself")
    return made_offsets[: counts[_GATES] + 1].copy(), made[: counts[_LITERALS]].copy()


@kernel
def _emit(
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
        table: gates that were made by their digest, twice as many as there can be, a power of 2.
        made_offsets: offsets of the gates that are made.
        made: their literals.
        counts: written, see `_GATES`.
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
                        counts[_CIRCLE] = net
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
                    counts[_CIRCLE] = net
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
    counts[_GATES] = num_made
    counts[_LITERALS] = made_offsets[num_made]


@inlined
def _folded(gate: Literals, size: int) -> tuple[int, int]:
    """How many literals are left of a gate, sorted, and which one it is equal to, or `UNMADE`."""
    # Shell sort: by insertion where there are few.
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
        digest = (digest ^ np.uint64(gate[place])) * np.uint64(0x9E3779B97F4A7C15)
        digest ^= digest >> np.uint64(29)
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

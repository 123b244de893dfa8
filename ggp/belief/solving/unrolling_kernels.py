"""The kernels of unrolling: they fold a turn of a circuit, and write wanted gates as clauses.

Signs are numbers of propositions, negative if these are negated; 1 is true, so -1 is false.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.machine.base import BoolArray, FloatArray, IntArray
from ggp.machine.circuit import Literals
from ggp.machine.compiling.jit import by_reference, inlined, kernel

I8 = NDArray[np.int8]
I32 = NDArray[np.int32]

GATE, CHOICE, START, HELPER = 0, 1, 2, 3
"""Kinds of propositions: an AND of signs; a role makes a move; a fluent holds where the window
begins; a helper that only clauses about the others mention."""

IF, ONLY_IF, IF_SAID, ONLY_IF_SAID = 1, 2, 4, 8
"""Statements that clauses need, and have, about a gate: what follows if it holds; that it holds if
all of its inputs do. Each is wanted only if the gate occurs in clauses with that sign (Plaisted and
Greenbaum 1986)."""


@by_reference
class Propositions(NamedTuple):
    """V propositions, numbered from 1; row 0 is not used.

    Attributes:
        kind: `[V + 1]` see `GATE`.
        about: `[V + 1]` of a choice the number of its group, of a start the fluent, of a gate the
            index of its first sign in `signs`.
        size: `[V + 1]` number of signs of a gate.
        signs: the signs of all gates.
        fixed: `[V + 1]` 1 or -1 where the value is known, 0 elsewhere.
        written: `[V + 1]` its number in the clauses, 0 if they do not mention it.
        wanted: `[V + 1]` what clauses must say about it, see `IF`.
    """

    kind: I8
    about: IntArray
    size: I32
    signs: I32
    fixed: I8
    written: I32
    wanted: I8


@by_reference
class Groups(NamedTuple):
    """G choices of one move each.

    Attributes:
        first: `[G]` proposition of its first move; the others follow, then one helper fewer than
            there are moves.
        size: `[G]` number of moves, two or more.
        legal: `[G]` index in `signs` of the first of the signs that its moves are legal.
        signs: of all groups.
    """

    first: IntArray
    size: I32
    legal: IntArray
    signs: I32


@inlined
def _known(props: Propositions, sign: int) -> int:
    """1 if a sign is known to hold, -1 if it is known not to, else 0."""
    found = props.fixed[abs(sign)]
    return int(found) if sign > 0 else -int(found)


@kernel
def fold(  # noqa: C901
    offsets: IntArray,
    literals: Literals,
    wanted: BoolArray,
    nets: I32,
    first_net: int,
    props: Propositions,
    num_props: int,
    num_signs: int,
) -> tuple[int, int]:
    """The signs of all wanted gates of one turn, unless they are constants or copies.

    Args:
        offsets, literals: of the circuit.
        wanted: `[gates]`.
        nets: `[nets]` signs; those of inputs are given, those of gates are written.
        first_net: net of the first gate.
        props: with room for all gates and all literals.
        num_props, num_signs: numbers of existing propositions and signs of gates.

    Returns:
        both numbers afterwards.
    """
    for gate in range(len(wanted)):
        if not wanted[gate]:
            continue
        start, count = num_signs, 0
        holds = True
        for k in range(offsets[gate], offsets[gate + 1]):
            literal = literals[k]
            sign = nets[literal >> 1]
            if literal & 1:
                sign = -sign
            known = _known(props, sign)
            if known > 0:
                continue
            if known < 0:
                holds = False
                break
            is_new = True
            if count <= 8:
                for i in range(start, start + count):
                    if props.signs[i] == sign:
                        is_new = False
                    elif props.signs[i] == -sign:
                        holds = False
            if not holds:
                break
            if is_new:
                props.signs[start + count] = sign
                count += 1
        net = first_net + gate
        if not holds:
            nets[net] = -1
        elif count == 0:
            nets[net] = 1
        elif count == 1:
            nets[net] = props.signs[start]
        else:
            num_props += 1
            props.kind[num_props] = GATE
            props.about[num_props] = start
            props.size[num_props] = count
            props.fixed[num_props] = 0
            props.written[num_props] = 0
            props.wanted[num_props] = 0
            nets[net] = num_props
            num_signs += count
    return num_props, num_signs


@kernel
def fix(props: Propositions, signs: I32, stack: I32) -> bool:
    """Assert signs, and propagate them through the gates (unit propagation).

    Args:
        stack: scratch, as long as all signs of gates and these together.

    Returns:
        whether they can all hold, as far as propagation shows.
    """
    size = 0
    for sign in signs:
        stack[size] = sign
        size += 1
    while size:
        size -= 1
        sign = stack[size]
        known = _known(props, sign)
        if known < 0:
            return False
        if known > 0:
            continue
        net = abs(sign)
        props.fixed[net] = 1 if sign > 0 else -1
        if props.kind[net] != GATE:
            continue
        start, count = props.about[net], props.size[net]
        if sign > 0:
            for k in range(start, start + count):
                if _known(props, props.signs[k]) <= 0:
                    stack[size] = props.signs[k]
                    size += 1
            continue
        # A gate that must not hold, with all inputs but one true: that input is false.
        open_, num_open, is_false = 0, 0, False
        for k in range(start, start + count):
            known = _known(props, props.signs[k])
            if known < 0:
                is_false = True
            elif known == 0:
                num_open += 1
                open_ = props.signs[k]
        if not is_false and num_open == 0:
            return False
        if not is_false and num_open == 1:
            stack[size] = -open_
            size += 1
    return True


@kernel
def write(
    props: Propositions,
    groups: Groups,
    starts: BoolArray,
    first_start: int,
    stack: I32,
    sizes: IntArray,
    clauses: I32,
) -> int:
    """Write the clauses of wanted propositions, and of everything they depend on.

    Args:
        starts: `[K, F]` fluents of the states in which the window may begin.
        first_start: proposition that it begins in the first of these; the others follow.
        stack: propositions whose clauses are to be written, see `number`. Has room for each
            twice.
        sizes: number of entries on the stack, and the last number that was given.
        clauses: signs, each clause ended by 0.

    Returns:
        number of entries written to `clauses`; what did not fit is still on the stack.
    """
    full = 0
    num_starts = len(starts)
    while sizes[0]:
        prop = stack[sizes[0] - 1]
        kind = props.kind[prop]
        if kind == GATE:
            start, count = props.about[prop], props.size[prop]
            if full + 4 * count + 2 > len(clauses):
                return full
            sizes[0] -= 1
            me, wanted = props.written[prop], props.wanted[prop]
            if wanted & IF and not wanted & IF_SAID:
                props.wanted[prop] |= IF_SAID
                for k in range(start, start + count):
                    clauses[full] = -me
                    clauses[full + 1] = _number(props, props.signs[k], stack, sizes)
                    clauses[full + 2] = 0
                    full += 3
            if wanted & ONLY_IF and not wanted & ONLY_IF_SAID:
                props.wanted[prop] |= ONLY_IF_SAID
                clauses[full] = me
                full += 1
                for k in range(start, start + count):
                    clauses[full] = _number(props, -props.signs[k], stack, sizes)
                    full += 1
                clauses[full] = 0
                full += 1
        elif kind == CHOICE:
            group = props.about[prop]
            first, count = groups.first[group], groups.size[group]
            if full + 16 * count > len(clauses):
                return full
            sizes[0] -= 1
            if prop != first:
                _number(props, first, stack, sizes)  # the one that writes clauses for all of them
                continue
            full = _one_of(props, groups, group, stack, sizes, clauses, full)
        elif kind == START:
            if full + 3 * num_starts > len(clauses):
                return full
            sizes[0] -= 1
            fluent, me = props.about[prop], props.written[prop]
            for k in range(num_starts):
                clauses[full] = _number(props, -(first_start + k), stack, sizes)
                clauses[full + 1] = me if starts[k, fluent] else -me
                clauses[full + 2] = 0
                full += 3
        else:
            sizes[0] -= 1
    return full


@inlined
def _number(props: Propositions, sign: int, stack: I32, sizes: IntArray) -> int:
    """A sign as it appears in clauses; the first time, its proposition is put on the stack."""
    prop = abs(sign)
    wanted = (IF if sign > 0 else ONLY_IF) if props.kind[prop] == GATE else IF
    if not props.wanted[prop] & wanted:
        props.wanted[prop] |= wanted
        if props.written[prop] == 0:
            sizes[1] += 1
            props.written[prop] = sizes[1]
        stack[sizes[0]] = prop
        sizes[0] += 1
    found = int(props.written[prop])
    return found if sign > 0 else -found


@kernel
def number(props: Propositions, signs: I32, stack: I32, sizes: IntArray) -> None:
    """Turn `[K]` signs into their numbers in clauses that are about to be added.

    Args:
        stack, sizes: see `write`, which writes the clauses about them.
    """
    for k in range(len(signs)):
        signs[k] = _number(props, signs[k], stack, sizes)


@inlined
def _one_of(
    props: Propositions,
    groups: Groups,
    group: int,
    stack: I32,
    sizes: IntArray,
    clauses: I32,
    full: int,
) -> int:
    """Clauses that exactly one move is made, and a legal one: a ladder encoding."""
    first, count = groups.first[group], groups.size[group]
    for k in range(count):
        move = _number(props, first + k, stack, sizes)
        legal = groups.signs[groups.legal[group] + k]
        clauses[full], clauses[full + 1] = -move, _number(props, legal, stack, sizes)
        clauses[full + 2] = 0
        full += 3
    for k in range(count):
        clauses[full] = _number(props, first + k, stack, sizes)
        full += 1
    clauses[full] = 0
    full += 1
    for k in range(count - 1):
        move = _number(props, first + k, stack, sizes)
        after = _number(props, first + k + 1, stack, sizes)
        upto = _number(props, first + count + k, stack, sizes)
        clauses[full], clauses[full + 1], clauses[full + 2] = -move, upto, 0
        clauses[full + 3], clauses[full + 4], clauses[full + 5] = -after, -upto, 0
        full += 6
        if k + 2 < count:
            clauses[full] = -upto
            clauses[full + 1] = _number(props, first + count + k + 1, stack, sizes)
            clauses[full + 2] = 0
            full += 3
    return full


@kernel
def simulate(
    props: Propositions,
    groups: Groups,
    num_props: int,
    start: BoolArray,
    first_start: int,
    num_starts: int,
    begun_in: int,
    lots: FloatArray,
    values: BoolArray,
) -> None:
    """Values in a random match with any percepts: a guess to begin a search with.

    Args:
        start: `[F]` fluents of the initial state of the match.
        first_start: proposition that it begins in the first of `num_starts` states; `begun_in`
            is the number of the state in which it does begin.
        lots: `[G]` random numbers from 0 to 1, one for each choice.
        values: `[V + 1]` are set.
    """
    values[1] = True
    for prop in range(2, num_props + 1):
        kind = props.kind[prop]
        if kind == GATE:
            value = True
            first = props.about[prop]
            for k in range(first, first + props.size[prop]):
                sign = props.signs[k]
                if values[abs(sign)] != (sign > 0):
                    value = False
                    break
            values[prop] = value
        elif kind == START:
            values[prop] = start[props.about[prop]]
        elif kind == HELPER:
            if first_start <= prop < first_start + num_starts:
                values[prop] = prop == first_start + begun_in
        elif groups.first[props.about[prop]] == prop:
            group = props.about[prop]
            count, at = groups.size[group], groups.legal[group]
            number = 0
            for k in range(count):
                sign = groups.signs[at + k]
                number += values[abs(sign)] == (sign > 0)
            left = int(lots[group] * number)
            chosen = -1
            for k in range(count):
                sign = groups.signs[at + k]
                if values[abs(sign)] == (sign > 0):
                    if left == 0:
                        chosen = k
                    left -= 1
            for k in range(count):
                values[prop + k] = k == chosen
            for k in range(count - 1):
                values[prop + count + k] = 0 <= chosen <= k

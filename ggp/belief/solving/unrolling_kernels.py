"""The kernels of unrolling: they fold a turn of a circuit into gates, and write gates as clauses.

`unrolling` calls them turn by turn: `fold` and `fix` simplify, `write` makes clauses for a solver,
`simulate` guesses a model. A literal is the number of a proposition, negative if negated; 1 is
true, so -1 is false. Three rules hold:

1. Propositions are numbered in the order of what they depend on, so one pass over the numbers
   evaluates all of them (`simulate`).
2. No gate has an input that was constant when the gate was folded, and none is a copy: `fold`
   stores the constant or the input in its place.
3. A clause about a gate is written at most once, and only if the gate occurs in clauses with the
   polarity that needs it. So the clauses cover the cone of influence of the evidence, and no more.
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
"""Kinds of propositions: a conjunction of literals; a role makes a move; a fluent holds at the
start of the window; a helper that occurs only in the clauses of others."""

IF, ONLY_IF, IF_SAID, ONLY_IF_SAID = 1, 2, 4, 8
"""Clauses about a gate, needed and written: the gate implies each input; the inputs together imply
the gate. Each half is needed only if the gate occurs in clauses with that polarity (Plaisted and
Greenbaum 1986)."""


@by_reference
class Propositions(NamedTuple):
    """V propositions, numbered from 1; row 0 is not used.

    Attributes:
        kind: `[V + 1]` see `GATE`.
        about: `[V + 1]` of a choice the index of its group, of a start the fluent, of a gate the
            index of its first input in `literals`.
        size: `[V + 1]` number of inputs of a gate.
        literals: the inputs of all gates.
        fixed: `[V + 1]` 1 or -1 where the value is known, 0 elsewhere.
        written: `[V + 1]` its number in the clauses, 0 if it does not occur in them.
        polarity: `[V + 1]` flags of its clauses, see `IF`.
    """

    kind: I8
    about: IntArray
    size: I32
    literals: I32
    fixed: I8
    written: I32
    polarity: I8


@by_reference
class Groups(NamedTuple):
    """G groups: in each, a role chooses one move.

    Attributes:
        first: `[G]` proposition of the first move; the other moves follow, then one helper fewer
            than there are moves.
        size: `[G]` number of moves, two or more.
        legal: `[G]` index in `literals` of the first move's legality; the other moves follow.
        literals: that a move is legal, for all moves of all groups.
    """

    first: IntArray
    size: I32
    legal: IntArray
    literals: I32


@inlined
def _value_of(props: Propositions, literal: int) -> int:
    """1 if a literal is known to be true, -1 if known to be false, else 0."""
    value = props.fixed[abs(literal)]
    return int(value) if literal > 0 else -int(value)


@kernel
def fold(  # noqa: C901
    offsets: IntArray,
    inputs: Literals,
    is_needed: BoolArray,
    nets: I32,
    first_net: int,
    props: Propositions,
    num_props: int,
    num_literals: int,
) -> tuple[int, int]:
    """Fold the gates of one turn: add a proposition for each, unless it is a constant or a copy.

    Gates come after their inputs. So the literal of every input is final when a gate is folded, and
    constants propagate through the whole turn in one pass. Repeated and contradictory inputs are
    only looked for in short gates: a longer gate is merely not simplified.

    Args:
        offsets, inputs: the gates of the circuit.
        is_needed: `[gates]` whether to fold each gate.
        nets: `[nets]` literals; given for the circuit's inputs, written for gates.
        first_net: net of the first gate.
        props: with room for all gates and all inputs.
        num_props, num_literals: numbers of existing propositions and of inputs of gates.

    Returns:
        both numbers afterwards.
    """
    for gate in range(len(is_needed)):
        if not is_needed[gate]:
            continue
        start, count = num_literals, 0
        holds = True
        for k in range(offsets[gate], offsets[gate + 1]):
            source = inputs[k]
            literal = nets[source >> 1]
            if source & 1:
                literal = -literal
            value = _value_of(props, literal)
            if value > 0:
                continue
            if value < 0:
                holds = False
                break
            is_new = True
            if count <= 8:
                for i in range(start, start + count):
                    if props.literals[i] == literal:
                        is_new = False
                    elif props.literals[i] == -literal:
                        holds = False
            if not holds:
                break
            if is_new:
                props.literals[start + count] = literal
                count += 1
        net = first_net + gate
        if not holds:
            nets[net] = -1
        elif count == 0:
            nets[net] = 1
        elif count == 1:
            nets[net] = props.literals[start]
        else:
            num_props += 1
            props.kind[num_props] = GATE
            props.about[num_props] = start
            props.size[num_props] = count
            props.fixed[num_props] = 0
            props.written[num_props] = 0
            props.polarity[num_props] = 0
            nets[net] = num_props
            num_literals += count
    return num_props, num_literals


@kernel
def fix(props: Propositions, literals: I32, stack: I32) -> bool:
    """Assert literals, and propagate them through the gates (unit propagation).

    Literals propagate only from gates to their inputs; gates that are folded later see them. A
    false gate with several open inputs fixes none of them: its clauses leave that to the solver.

    Args:
        stack: scratch, as long as the inputs of all gates and these literals together.

    Returns:
        false if they contradict each other; true proves nothing.
    """
    size = 0
    for literal in literals:
        stack[size] = literal
        size += 1
    while size:
        size -= 1
        literal = stack[size]
        value = _value_of(props, literal)
        if value < 0:
            return False
        if value > 0:
            continue
        net = abs(literal)
        props.fixed[net] = 1 if literal > 0 else -1
        if props.kind[net] != GATE:
            continue
        start, count = props.about[net], props.size[net]
        if literal > 0:
            for k in range(start, start + count):
                if _value_of(props, props.literals[k]) <= 0:
                    stack[size] = props.literals[k]
                    size += 1
            continue
        # The gate must be false. If all inputs but one are true, that one is false.
        open_, num_open, is_false = 0, 0, False
        for k in range(start, start + count):
            value = _value_of(props, props.literals[k])
            if value < 0:
                is_false = True
            elif value == 0:
                num_open += 1
                open_ = props.literals[k]
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
    """Write the clauses of the propositions on the stack, and of everything they depend on.

    A proposition leaves the stack only when there is room for all of its clauses, so the caller can
    empty `clauses` and call again. Writing a clause puts its propositions on the stack.

    Args:
        starts: `[K, F]` fluents of the states in which the window may begin.
        first_start: proposition that it begins in the first of these; the others follow.
        stack: propositions whose clauses are still to be written, see `number`. Has room for each
            twice, once for each polarity.
        sizes: number of entries on the stack, and the last number used in clauses.
        clauses: literals, each clause ended by 0.

    Returns:
        number of entries written to `clauses`; the rest is still on the stack.
    """
    end = 0
    num_starts = len(starts)
    while sizes[0]:
        prop = stack[sizes[0] - 1]
        kind = props.kind[prop]
        if kind == GATE:
            start, count = props.about[prop], props.size[prop]
            if end + 4 * count + 2 > len(clauses):
                return end
            sizes[0] -= 1
            own_number, polarity = props.written[prop], props.polarity[prop]
            if polarity & IF and not polarity & IF_SAID:
                props.polarity[prop] |= IF_SAID
                for k in range(start, start + count):
                    clauses[end] = -own_number
                    clauses[end + 1] = _mention(props, props.literals[k], stack, sizes)
                    clauses[end + 2] = 0
                    end += 3
            if polarity & ONLY_IF and not polarity & ONLY_IF_SAID:
                props.polarity[prop] |= ONLY_IF_SAID
                clauses[end] = own_number
                end += 1
                for k in range(start, start + count):
                    clauses[end] = _mention(props, -props.literals[k], stack, sizes)
                    end += 1
                clauses[end] = 0
                end += 1
        elif kind == CHOICE:
            group = props.about[prop]
            first, count = groups.first[group], groups.size[group]
            if end + 16 * count > len(clauses):
                return end
            sizes[0] -= 1
            if prop != first:
                _mention(props, first, stack, sizes)  # it writes the clauses of the group
                continue
            end = _write_choice(props, groups, group, stack, sizes, clauses, end)
        elif kind == START:
            if end + 3 * num_starts > len(clauses):
                return end
            sizes[0] -= 1
            fluent, own_number = props.about[prop], props.written[prop]
            for k in range(num_starts):
                clauses[end] = _mention(props, -(first_start + k), stack, sizes)
                clauses[end + 1] = own_number if starts[k, fluent] else -own_number
                clauses[end + 2] = 0
                end += 3
        else:
            sizes[0] -= 1
    return end


@inlined
def _mention(props: Propositions, literal: int, stack: I32, sizes: IntArray) -> int:
    """The literal as numbered in clauses; at first use, its proposition is put on the stack."""
    prop = abs(literal)
    needed_flag = (IF if literal > 0 else ONLY_IF) if props.kind[prop] == GATE else IF
    if not props.polarity[prop] & needed_flag:
        props.polarity[prop] |= needed_flag
        if props.written[prop] == 0:
            sizes[1] += 1
            props.written[prop] = sizes[1]
        stack[sizes[0]] = prop
        sizes[0] += 1
    number_of = int(props.written[prop])
    return number_of if literal > 0 else -number_of


@kernel
def number(props: Propositions, literals: I32, stack: I32, sizes: IntArray) -> None:
    """Replace `[K]` literals by their numbers in clauses that are about to be added.

    Args:
        stack, sizes: see `write`, which writes the clauses about them.
    """
    for k in range(len(literals)):
        literals[k] = _mention(props, literals[k], stack, sizes)


@inlined
def _write_choice(
    props: Propositions,
    groups: Groups,
    group: int,
    stack: I32,
    sizes: IntArray,
    clauses: I32,
    end: int,
) -> int:
    """Clauses that exactly one move of a group is made, and a legal one: a ladder encoding.

    Helper k means that one of the moves up to k is made. Move k implies helper k, which implies
    helper k + 1 and excludes move k + 1. So the number of clauses is linear in the moves.
    """
    first, count = groups.first[group], groups.size[group]
    for k in range(count):
        move = _mention(props, first + k, stack, sizes)
        legal = groups.literals[groups.legal[group] + k]
        clauses[end], clauses[end + 1] = -move, _mention(props, legal, stack, sizes)
        clauses[end + 2] = 0
        end += 3
    for k in range(count):
        clauses[end] = _mention(props, first + k, stack, sizes)
        end += 1
    clauses[end] = 0
    end += 1
    for k in range(count - 1):
        move = _mention(props, first + k, stack, sizes)
        later = _mention(props, first + k + 1, stack, sizes)
        upto = _mention(props, first + count + k, stack, sizes)
        clauses[end], clauses[end + 1], clauses[end + 2] = -move, upto, 0
        clauses[end + 3], clauses[end + 4], clauses[end + 5] = -later, -upto, 0
        end += 6
        if k + 2 < count:
            clauses[end] = -upto
            clauses[end + 1] = _mention(props, first + count + k + 1, stack, sizes)
            clauses[end + 2] = 0
            end += 3
    return end


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
    """The values of all propositions in a random match with any percepts: a solver's first guess.

    Propositions come after everything they depend on, so one pass over them suffices. A choice
    draws one of its legal moves; the guess is wrong only about percepts.

    Args:
        start: `[F]` fluents of the first state of the match.
        first_start: proposition that it begins in the first of `num_starts` states.
        begun_in: index of the state in which it begins.
        lots: `[G]` one for each choice: a random number from 0 to 1, or -1 - k for its k-th move.
        values: `[V + 1]` out.
    """
    values[1] = True
    for prop in range(2, num_props + 1):
        kind = props.kind[prop]
        if kind == GATE:
            value = True
            first = props.about[prop]
            for k in range(first, first + props.size[prop]):
                literal = props.literals[k]
                if values[abs(literal)] != (literal > 0):
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
            count, first_legal = groups.size[group], groups.legal[group]
            num_legal = 0
            for k in range(count):
                literal = groups.literals[first_legal + k]
                num_legal += values[abs(literal)] == (literal > 0)
            num_skipped = int(lots[group] * num_legal)
            choice = -1 - int(lots[group]) if lots[group] < 0 else -1
            for k in range(count):
                literal = groups.literals[first_legal + k]
                if lots[group] >= 0 and values[abs(literal)] == (literal > 0):
                    if num_skipped == 0:
                        choice = k
                    num_skipped -= 1
            for k in range(count):
                values[prop + k] = k == choice
            for k in range(count - 1):
                values[prop + count + k] = 0 <= choice <= k

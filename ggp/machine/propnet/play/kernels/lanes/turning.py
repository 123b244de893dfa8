"""Makes joint moves in many lanes, and evaluates the successors in the same block.

In come packed states and joint moves, out come successors, percepts, whether the game is over, and
comparisons of legal moves. A search makes many moves in each of few states. So a state is read once
for all its lanes, which are neighbours, and a successor is written as the fluents in which it
differs. The successors' literals are evaluated from the rows of `step`, without reading them again.

    states ─▶ rows ─▶ `step` ─▶ rows of successors ─▶ `look` ─▶ over? how many moves? new ones?
                        │
                        └▶ differences ─▶ successors
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ggp.machine.base import BoolArray, IntArray
from ggp.machine.compiling.jit import by_reference, inlined, kernel
from ggp.machine.compiling.vectors import (
    bor,
    but_not,
    load,
    out_of_line,
    splat,
    store,
    words_of,
)
from ggp.machine.propnet.play.kernels.block_kernels import look_at
from ggp.machine.propnet.play.kernels.lanes.packing import (
    are_moves,
    lanes_from,
    literal,
    run_end,
    store_lanes,
)
from ggp.machine.propnet.play.kernels.lanes.turn_parts import (
    TurnCircuit,
    begin_turns,
    count_moves,
    count_of,
    end_turns,
    is_legal,
    is_over,
    look_ahead,
    store_all,
)
from ggp.machine.propnet.play.kernels.tapes import I32, U64, Query

# ------------------------------------------------------------------------
# Circuits for the phases of a game in kernels that make turns.
#
# If it is the same role's turn in all lanes of a block, half of the circuit cannot matter. So for
# each block, the values of a few *deciding* fluents are looked up, and if all lanes agree, a
# smaller circuit is evaluated (see `layout.phases`). Turns need not alternate: in kriegspiel, a
# role may have several in a row.

_NONE = np.uint64(0)

NO_PHASE = -1


@by_reference
class TurnPhases(NamedTuple):
    """The whole circuit, and equivalent smaller ones for two phases.

    A phase is a number of D bits: which of the deciding fluents hold.

    Attributes:
        whole: the circuit for any state.
        first, second: the circuits for two phases.
        phases: `[2]` the phases of `first` and `second`, `NO_PHASE` for none.
        fluents: `[D]` the deciding fluents.
    """

    whole: TurnCircuit
    first: TurnCircuit
    second: TurnCircuit
    phases: IntArray
    fluents: I32


@inlined
def phase_before(circuits: TurnPhases, packed: U64, lanes: IntArray, first: int, count: int) -> int:
    """The phase of the states of lanes `first .. first + count`; `NO_PHASE` if they differ."""
    out_of_line()
    common, prior = NO_PHASE, -1
    for k in range(first, first + count):
        state = lanes[k]
        if state == prior:
            continue
        prior, phase = state, 0
        for d in range(len(circuits.fluents)):
            fluent = circuits.fluents[d]
            is_true = packed[state, fluent >> 6] >> np.uint64(fluent & 63) & _ONE
            if is_true:
                phase += 1 << d
        if common not in (NO_PHASE, phase):
            return NO_PHASE
        common = phase
    return common


@inlined
def phase_after(
    circuits: TurnPhases, stepped: TurnCircuit, rows: U64, selected: U64, words: int
) -> int:
    """The phase of the successors in the selected lanes of a block where `step` was evaluated;
    `NO_PHASE` if they differ."""
    out_of_line()
    phase = 0
    for d in range(len(circuits.fluents)):
        fluent = circuits.fluents[d]
        row = np.int64(stepped.next_.rows[fluent]) * words
        true, false = _NONE, _NONE
        for word in range(words):
            value = rows[row + word] ^ stepped.next_.inverted[fluent]
            true |= value & selected[word]
            false |= ~value & selected[word]
        if true and false:
            return NO_PHASE
        if true:
            phase |= 1 << d
    return phase


@inlined
def circuit_in(circuits: TurnPhases, phase: int) -> TurnCircuit:
    """The smallest circuit that is valid in a phase."""
    if phase == NO_PHASE:
        return circuits.whole
    if phase == circuits.phases[0]:
        return circuits.first
    if phase == circuits.phases[1]:
        return circuits.second
    return circuits.whole


_ONE = np.uint64(1)


Write = Callable[[TurnCircuit, U64, IntArray, int, int, U64, Any, tuple[int, ...]], None]
"""Writes the successors in a block where `step` was evaluated, in a form of the caller's choice.

Args:
    circuit, packed, lanes, blank, width: see `make_turns`.
    first, count: the joint moves of the block.
    into: the arrays to write to.
"""


@inlined
def write_states(
    circuit: TurnCircuit,
    packed: U64,
    lanes: IntArray,
    first: int,
    count: int,
    blank: U64,
    into: U64,
    width: tuple[int, ...],
) -> None:
    """Write the successors, `into[K, ...]`: see `Write`."""
    store_all(circuit, packed, lanes, first, count, blank, into, width)


@kernel
def make_turns(
    write: Write,
    into: Any,
    circuit: TurnCircuit,
    packed: U64,
    lanes: IntArray,
    moves: IntArray,
    offsets: IntArray,
    listed: IntArray,
    blank: U64,
    rows: U64,
    marks: U64,
    square: U64,
    seen: U64,
    over: BoolArray,
    choices: IntArray,
    news: BoolArray,
    agains: BoolArray,
    width: tuple[int, ...],
) -> bool:
    """Make joint moves, and look at the successors.

    Args:
        write, into: how successors are written, and where.
        packed: `[L, ...]` states.
        lanes: `[K]` state of each joint move; fastest if equal ones are neighbours.
        moves: `[K, R]` joint moves.
        offsets, listed: `[R, L + 1]`, `[N]` moves that each role had in each state, role after
            role; `[0, 0]` to compare no moves.
        blank, rows, marks, square: scratch: rows of `step`, of which those of inputs are zero
            before and after; rows of `look`; rows for the moves of a role, zero before and after;
            64 words.
        seen: `[K, ceil(len(sees) / 64)]` out: percepts; `[0, 0]` for none.
        over: `[K]` out: whether each successor is terminal.
        choices: `[K, R]` out: number of moves of each role, 2 for more; `[K, 0]` for none.
        news: `[K, R]` out: whether a role has a move that it did not have before.
        agains: `[K, R]` out: whether a role still has the move that it made.

    Returns:
        whether all roles have these moves; if not, no move is made.
    """
    if not are_moves(circuit.move_rows, moves):
        return False
    words, look = words_of(width), circuit.look
    for first in range(0, len(lanes), 64 * words):
        count = min(64 * words, len(lanes) - first)
        num_written = begin_turns(circuit, packed, lanes, moves, first, count, blank, width)
        write(circuit, packed, lanes, first, count, blank, into, width)
        if len(seen):
            store_lanes(blank, circuit.sees, count, seen, first, square, width)
        look_ahead(circuit, circuit.next_, blank, rows, width)
        for lane in range(count):
            over[first + lane] = is_over(look, rows, lane, words)
        _count_moves(look, rows, first, count, choices, square, width)
        for role in range(len(offsets)):
            _mark(circuit, role, offsets, listed, lanes, first, count, marks, words, True)
            _compare(circuit, role, moves, first, count, rows, marks, square, news, agains, width)
            _mark(circuit, role, offsets, listed, lanes, first, count, marks, words, False)
        end_turns(circuit, packed, lanes, moves, first, count, blank, words, num_written)
    return True


@kernel
def count_choices(
    look: Query, packed: U64, rows: U64, square: U64, choices: IntArray, width: tuple[int, ...]
) -> None:
    """Count the moves of all roles.

    Args:
        look: the legal moves of each role, a group each.
        packed: `[L, ...]` states.
        rows, square: scratch, `[num_rows * W]` and `[64]`.
        choices: `[L, R]` out: number of moves of each role, 2 for more.
    """
    words = words_of(width)
    for first in range(0, len(packed), 64 * words):
        count = min(64 * words, len(packed) - first)
        look_at(look, packed, first, count, rows, square, width)
        _count_moves(look, rows, first, count, choices, square, width)


@inlined
def _count_moves(
    look: Query,
    rows: U64,
    first: int,
    count: int,
    choices: IntArray,
    square: U64,
    width: tuple[int, ...],
) -> None:
    """`choices[K, R]`: number of moves of roles in lanes 0 .. count of a block, 2 for more."""
    for role in range(choices.shape[1]):
        count_moves(look, role, rows, square, width)
        for lane in range(count):
            choices[first + lane, role] = count_of(square, lane, words_of(width))


@inlined
def _compare(
    circuit: TurnCircuit,
    role: int,
    moves: IntArray,
    first: int,
    count: int,
    rows: U64,
    marks: U64,
    square: U64,
    news: BoolArray,
    agains: BoolArray,
    width: tuple[int, ...],
) -> None:
    """Compare the moves of a role in lanes 0 .. count of a block with the moves in `marks`."""
    out_of_line()
    words, look = words_of(width), circuit.look
    group = 64 * look.starts[role]
    new = splat(np.uint64(0), width)
    for k in range(64 * (look.starts[role + 1] - look.starts[role])):
        legal = literal(rows, look.wires, group + k, width)
        new = bor(new, but_not(legal, load(marks, k * words, width)))
    store(square, 0, new)
    for lane in range(count):
        word, shift = lane >> 6, np.uint64(lane & 63)
        news[first + lane, role] = (square[word] >> shift) & _ONE != 0
        move = moves[first + lane, role]
        agains[first + lane, role] = is_legal(circuit, rows, role, move, lane, words)


@inlined
def _mark(
    circuit: TurnCircuit,
    role: int,
    offsets: IntArray,
    listed: IntArray,
    lanes: IntArray,
    first: int,
    count: int,
    marks: U64,
    words: int,
    value: bool,
) -> None:
    """Mark in `marks` the moves that a role had in the lanes of a block, or clear the marks."""
    out_of_line()
    start = 0
    while start < count:
        state, end = lanes[first + start], run_end(lanes, first, start, count)
        mask = lanes_from(start & 63, end - (start & ~63))
        for n in range(offsets[role, state], offsets[role, state + 1]):
            index = np.int64(circuit.move_rows[role, listed[n]]) - circuit.begins[role]
            at = index * words + (start >> 6)
            marks[at] = (marks[at] | mask) if value else np.uint64(0)
        start = end

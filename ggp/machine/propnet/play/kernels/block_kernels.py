"""Evaluates tapes and queries on blocks of lanes, a vector of lanes with each instruction.

A block is a flat array of rows of `words_of(width)` words: bit b of word w of a row is lane
`64 * w + b`. `run_tape` is the inner loop of the backend: it reads the rows of a gate's inputs and
writes its row. `run_query` loads packed states into a block first, and packs the answers after it.

The rule that all kernels of blocks keep: no instruction mixes lanes, so that the result of a lane
never depends on its neighbours.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.machine.base import UNKNOWN
from ggp.machine.compiling.jit import by_reference, inlined, kernel
from ggp.machine.compiling.vectors import (
    band,
    bor,
    but_not,
    bxor,
    count_ones,
    item,
    load,
    lowest_one,
    out_of_line,
    reduce_or,
    splat,
    store,
    words_of,
)
from ggp.machine.propnet.play.kernels.lanes.packing import (
    are_moves,
    clear_moves,
    literal,
    load_lanes,
    load_runs,
    set_moves,
    store_lanes,
    transpose,
)
from ggp.machine.propnet.play.kernels.tapes import I32, TURNED, U64, WHOLE, Query, Tape, Wires

# ------------------------------------------------------------------------
# Makes joint moves, and writes only the successors after which a role has given percepts.


@kernel
def advance_matching(
    packed: U64,
    lanes: NDArray[np.int64],
    row_of: I32,
    moves: NDArray[np.int64],
    move_rows: I32,
    tape: Tape,
    wires: Wires,
    seen: Wires,
    target_values: U64,
    percepts: NDArray[np.int64],
    matches: NDArray[np.int64],
    out: U64,
    rows: U64,
    square: U64,
    width: tuple[int, ...],
) -> int:
    """Like `run_query`, but only for joint moves after which some literals have given values.

    Args:
        packed: `[L, ...]` states.
        lanes: `[K]` state of each joint move; `moves[K, R]`.
        move_rows: `[R, M]` row of each move of each role.
        seen: the literals that are compared.
        target_values: `[L, ceil(len(seen) / 64)]` the values to match after a move in each state.
        percepts: `[L]` an id of these values, equal for equal ones; `UNKNOWN` if any will do.
        matches: `[K]` indices of the joint moves that match.
        out: `[K, ceil(len(wires) / 64)]` the other literals, for the joint moves that match.
        rows, square: `[num_rows, W]` and `[64]` scratch; the rows of moves are 0, and are so
            afterwards.

    Returns:
        the number of joint moves that match; -1 if a role has no such move.
    """
    if not are_moves(move_rows, moves):
        return -1
    words = words_of(width)
    num_inputs = 1 + len(row_of)
    num_literals = len(wires.rows)
    num_matches = 0
    for first in range(0, len(lanes), 64 * words):
        count = min(64 * words, len(lanes) - first)
        for k in range(num_inputs * words):
            rows[k] = np.uint64(0)
        load_runs(packed, lanes, first, count, row_of, rows, words)
        set_moves(move_rows, moves, first, count, rows, words)
        run_tape(tape, 0, rows, rows, width)
        for word in range((count + 63) >> 6):
            agree = _agreeing(lanes, first, count, word, seen, target_values, percepts, rows, words)
            if not agree:
                continue
            for block in range(out.shape[1]):
                size = num_literals - 64 * block
                for bit in range(64):
                    square[bit] = np.uint64(0)
                    if bit < size:
                        k = 64 * block + bit
                        row = np.int64(wires.rows[k]) * words
                        square[bit] = rows[row + word] ^ wires.inverted[k]
                transpose(square, ())
                at = num_matches
                bits = agree
                while bits:
                    b = lowest_one(bits)
                    bits &= bits - np.uint64(1)
                    out[at, block] = square[b]
                    at += 1
            while agree:
                matches[num_matches] = first + 64 * word + lowest_one(agree)
                agree &= agree - np.uint64(1)
                num_matches += 1
        # Only now, because a literal may read the row of a move.
        clear_moves(move_rows, moves, first, count, rows, words)
    return num_matches


@inlined
def _agreeing(
    lanes: NDArray[np.int64],
    first: int,
    count: int,
    word: int,
    seen: Wires,
    target_values: U64,
    percepts: NDArray[np.int64],
    rows: U64,
    words: int,
) -> np.uint64:
    """Lanes of a word whose literals match; neighbours with equal targets are compared together."""
    out_of_line()
    agreeing = np.uint64(0)
    start = 64 * word
    stop = start + 64 if start + 64 < count else count
    while start < stop:
        state = lanes[first + start]
        end = start + 1
        while end < stop and percepts[lanes[first + end]] == percepts[state]:
            end += 1
        agree = _ALL << np.uint64(start & 63)
        if end & 63:
            agree &= ~(_ALL << np.uint64(end & 63))
        if percepts[state] != UNKNOWN:
            for k in range(len(seen.rows)):
                bits = rows[np.int64(seen.rows[k]) * words + word] ^ seen.inverted[k]
                if not target_values[state, k >> 6] >> np.uint64(k & 63) & np.uint64(1):
                    bits = ~bits
                agree &= bits
                if not agree:
                    break
        agreeing |= agree
        start = end
    return agreeing


_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_ONE = np.uint64(1)


@inlined
def run_tape(tape: Tape, part: int, rows: U64, playing: U64, width: tuple[int, ...]) -> None:
    """Evaluate the gates of a part of a tape in every lane of a block.

    Gates that write into the rows of inputs do so only in lanes of the mask `playing`; a tape
    without such gates ignores it.

    Gates of one shape are side by side, so a segment chooses its loop once. Most gates have two or
    three inputs, or up to four pairs: these shapes have unrolled loops, because a loop over a
    gate's inputs takes longer than reading them.
    """
    out_of_line()
    at = tape.parts[part, 2]
    for s in range(tape.parts[part, 0], tape.parts[part, 1]):
        singles = tape.segments[s, 3] + tape.segments[s, 4]
        pairs = tape.segments[s, 5] + tape.segments[s, 6]
        if tape.segments[s, 2]:
            first, end = tape.segments[s, 0], tape.segments[s, 1]
            at = _run_loop(tape, first, end, at, rows, width)
        elif tape.segments[s, 7] == 1 and singles == 1 and pairs == 0:
            at = _run_either(tape, s, at, rows, playing, width)
        elif tape.segments[s, 7]:
            at = _run_any(tape, s, at, rows, playing, width)
        elif singles == 2 and pairs == 0:
            at = _run_singles(tape, s, at, rows, playing, (0, 0), width)
        elif singles == 3 and pairs == 0:
            at = _run_singles(tape, s, at, rows, playing, (0, 0, 0), width)
        elif singles == 1 and pairs == 1:
            at = _run_pairs(tape, s, at, rows, playing, (0,), (0,), width)
        elif singles == 0 and pairs == 2:
            at = _run_pairs(tape, s, at, rows, playing, (), (0, 0), width)
        elif singles == 0 and pairs == 3:
            at = _run_pairs(tape, s, at, rows, playing, (), (0, 0, 0), width)
        elif singles == 0 and pairs == 4:
            at = _run_pairs(tape, s, at, rows, playing, (), (0, 0, 0, 0), width)
        else:
            at = _run_any(tape, s, at, rows, playing, width)


@inlined
def _run_singles(
    tape: Tape,
    s: int,
    start: int,
    rows: U64,
    playing: U64,
    singles: tuple[int, ...],
    width: tuple[int, ...],
) -> int:
    """Evaluate gates of two or three single inputs.

    Args:
        singles: one zero for each input of a gate; each length is compiled separately.

    Returns:
        the place of the next gate's inputs.
    """
    out_of_line()
    words = words_of(width)
    first, end, plus = tape.segments[s, 0], tape.segments[s, 1], tape.segments[s, 3]
    written, lanes = tape.segments[s, 8], load(playing, 0, width)
    flip_a, flip_b = _inversion(plus, 0, width), _inversion(plus, 1, width)
    flip_c = _inversion(plus, 2, width)
    at = start
    for g in range(first, end):
        a = bxor(_row(tape, at, rows, width), flip_a)
        b = bxor(_row(tape, at + 1, rows, width), flip_b)
        value = band(a, b)
        if len(singles) > 2:
            value = band(value, bxor(_row(tape, at + 2, rows, width), flip_c))
        at += len(singles)
        _write(rows, item(tape.outputs, g) * words, value, written, lanes, width)
    return at


@inlined
def _run_pairs(
    tape: Tape,
    s: int,
    start: int,
    rows: U64,
    playing: U64,
    singles: tuple[int, ...],
    pairs: tuple[int, ...],
    width: tuple[int, ...],
) -> int:
    """Evaluate gates of up to one single input and one to four `nands` or `implications`.

    Args:
        singles, pairs: one zero for each of a gate's singles or pairs; each length is compiled
            separately.

    Returns:
        the place of the next gate's inputs.
    """
    out_of_line()
    words = words_of(width)
    first, end, nands = tape.segments[s, 0], tape.segments[s, 1], tape.segments[s, 5]
    written, lanes = tape.segments[s, 8], load(playing, 0, width)
    flip = _inversion(tape.segments[s, 4], 0, width)
    # All ones for implications, whose second row is inverted.
    b, d = _inversion(nands, 0, width), _inversion(nands, 1, width)
    f, h = _inversion(nands, 2, width), _inversion(nands, 3, width)
    at = start
    for g in range(first, end):
        fails = splat(np.uint64(0), width)
        if len(singles):
            fails = bxor(_row(tape, at, rows, width), flip)
            at += 1
        fails = bor(fails, _as_wanted(tape, at, rows, b, width))
        if len(pairs) > 1:
            fails = bor(fails, _as_wanted(tape, at + 2, rows, d, width))
        if len(pairs) > 2:
            fails = bor(fails, _as_wanted(tape, at + 4, rows, f, width))
        if len(pairs) > 3:
            fails = bor(fails, _as_wanted(tape, at + 6, rows, h, width))
        at += 2 * len(pairs)
        value = bxor(fails, splat(_ALL, width))
        _write(rows, item(tape.outputs, g) * words, value, written, lanes, width)
    return at


@inlined
def _run_either(
    tape: Tape, s: int, start: int, rows: U64, playing: U64, width: tuple[int, ...]
) -> int:
    """Evaluate gates of one single input and one `ors` pair: in circuits for a phase, a quarter of
    the gates of `step`.

    Returns:
        the place of the next gate's inputs.
    """
    out_of_line()
    words = words_of(width)
    first, end = tape.segments[s, 0], tape.segments[s, 1]
    written, lanes = tape.segments[s, 8], load(playing, 0, width)
    flip = _inversion(tape.segments[s, 3], 0, width)
    at = start
    for g in range(first, end):
        either = bor(_row(tape, at + 1, rows, width), _row(tape, at + 2, rows, width))
        value = band(bxor(_row(tape, at, rows, width), flip), either)
        at += 3
        _write(rows, item(tape.outputs, g) * words, value, written, lanes, width)
    return at


@inlined
def _inversion(straight: int, index: int, width: tuple[int, ...]) -> Any:
    """All ones for an inverted input, zeros for one of the first `straight`, which are not."""
    return splat(np.uint64(0) if index < straight else _ALL, width)


@inlined
def _as_wanted(tape: Tape, at: int, rows: U64, flip: Any, width: tuple[int, ...]) -> Any:
    """Lanes where a pair fails: its first row holds, and so does the second, xored with `flip`."""
    return band(_row(tape, at, rows, width), bxor(_row(tape, at + 1, rows, width), flip))


@inlined
def _write(
    rows: U64, at: int, value: Any, written: int, lanes: Any, width: tuple[int, ...]
) -> None:
    """Write the value of a gate: whole, or into an input's row in `lanes` only (see `WHOLE`)."""
    if written == WHOLE:
        store(rows, at, value)
    else:
        old = load(rows, at, width)
        changed = bxor(old, value)
        if written == TURNED:
            changed = bxor(changed, splat(_ALL, width))
        store(rows, at, bxor(old, band(lanes, changed)))


@inlined
def _row(tape: Tape, at: int, rows: U64, width: tuple[int, ...]) -> Any:
    """The row of an input."""
    return load(rows, item(tape.inputs, at) * words_of(width), width)


@inlined
def _run_any(
    tape: Tape, s: int, start: int, rows: U64, playing: U64, width: tuple[int, ...]
) -> int:
    """Evaluate gates of any one shape; returns the place of the next gate's inputs."""
    out_of_line()
    words = words_of(width)
    first, end = tape.segments[s, 0], tape.segments[s, 1]
    plus, minus = tape.segments[s, 3], tape.segments[s, 4]
    nands, implications = tape.segments[s, 5], tape.segments[s, 6]
    ors = tape.segments[s, 7]
    written, lanes = tape.segments[s, 8], load(playing, 0, width)
    at = start
    for g in range(first, end):
        value = splat(_ALL, width)
        # Plain inputs come first, so that no input has to be tested for inversion.
        for _ in range(plus):
            value = band(value, load(rows, item(tape.inputs, at) * words, width))
            at += 1
        for _ in range(minus):
            value = but_not(value, load(rows, item(tape.inputs, at) * words, width))
            at += 1
        for _ in range(nands):
            a = load(rows, item(tape.inputs, at) * words, width)
            b = load(rows, item(tape.inputs, at + 1) * words, width)
            value = but_not(value, band(a, b))
            at += 2
        for _ in range(implications):
            a = load(rows, item(tape.inputs, at) * words, width)
            b = load(rows, item(tape.inputs, at + 1) * words, width)
            value = but_not(value, but_not(a, b))
            at += 2
        for _ in range(ors):
            a = load(rows, item(tape.inputs, at) * words, width)
            b = load(rows, item(tape.inputs, at + 1) * words, width)
            value = band(value, bor(a, b))
            at += 2
        _write(rows, item(tape.outputs, g) * words, value, written, lanes, width)
    return at


@inlined
def _run_loop(
    tape: Tape, first: int, end: int, start: int, rows: U64, width: tuple[int, ...]
) -> int:
    """Evaluate a loop to its least fixpoint; returns the place of the next gate's inputs.

    The gates are evaluated as in `run_tape`, with the code repeated here: as a separate function,
    that part would halve the speed of playouts (`ggp bench` on breakthrough).
    """
    out_of_line()
    words = words_of(width)
    # A loop is monotone in the atoms that it defines. So iterating from its initial values, with
    # which no atom holds, reaches the least fixpoint first.
    for g in range(first, end):
        store(rows, item(tape.outputs, g) * words, splat(tape.initial[g], width))
    changes = True
    at = start
    while changes:
        changed = splat(np.uint64(0), width)
        at = start
        for g in range(first, end):
            value = splat(_ALL, width)
            for _ in range(tape.plus[g]):
                value = band(value, load(rows, item(tape.inputs, at) * words, width))
                at += 1
            for _ in range(tape.minus[g]):
                value = but_not(value, load(rows, item(tape.inputs, at) * words, width))
                at += 1
            out = item(tape.outputs, g) * words
            changed = bor(changed, bxor(value, load(rows, out, width)))
            store(rows, out, value)
        changes = reduce_or(changed)
    return at


NO_MOVES: tuple[NDArray[np.int64], I32] = (
    np.zeros((0, 0), dtype=np.int64),
    np.zeros((0, 0), dtype=np.int32),
)
"""`moves` and `move_rows` of queries that depend on no move."""


@kernel
def run_query(
    query: Query,
    packed: U64,
    moves: NDArray[np.int64],
    move_rows: I32,
    out: U64,
    rows: U64,
    square: U64,
    width: tuple[int, ...],
) -> bool:
    """Evaluate K literals in every state, after its joint move: `out[L, ceil(K / 64)]`.

    Args:
        moves: `[L, R]` joint moves, or `NO_MOVES`.
        move_rows: `[R, M]` row of each move of each role.
        rows, square: scratch, `[num_rows * W]` and `[64]`; the rows of moves are 0 before and
            after.

    Returns:
        false if a role has no such move.
    """
    if not are_moves(move_rows, moves):
        return False
    words, lanes = words_of(width), 64 * words_of(width)
    for first in range(0, len(packed), lanes):
        count = min(lanes, len(packed) - first)
        set_moves(move_rows, moves, first, count, rows, words)
        look_at(query, packed, first, count, rows, square, width)
        store_lanes(rows, query.wires, count, out, first, square, width)
        # Only now, because a literal may read the row of a move.
        clear_moves(move_rows, moves, first, count, rows, words)
    return True


@inlined
def look_at(
    query: Query,
    packed: U64,
    first: int,
    count: int,
    rows: U64,
    square: U64,
    width: tuple[int, ...],
) -> None:
    """Evaluate a query in states `first .. first + count`; `square`: 64 words of scratch."""
    words = words_of(width)
    for k in range((1 + len(query.row_of)) * words):
        rows[k] = np.uint64(0)
    load_lanes(packed, first, count, query.row_of, rows, words, square)
    run_tape(query.tape, 0, rows, rows, width)


@kernel
def list_legal(
    query: Query,
    packed: U64,
    names: NDArray[np.int64],
    offsets: NDArray[np.int64],
    values: NDArray[np.int64],
    rows: U64,
    square: U64,
    width: tuple[int, ...],
) -> int:
    """List the legal moves of a role in up to 64 states.

    Args:
        query: the moves in one group, `terminal` in the next.
        names: `[M]` number of each move.
        offsets: `[L + 1]` filled in.
        values: `[L * M]` the moves that are legal, state by state, filled in.
        rows, square: see `run_query`.
        width: of one word.

    Returns:
        the first state that is not terminal and has no legal move; -1 if there is none.
    """
    look_at(query, packed, 0, len(packed), rows, square, width)
    wires = query.wires
    over = literal(rows, wires, 64 * query.starts[1], width)
    stuck = -1
    at = 0
    offsets[0] = 0
    for lane in range(len(packed)):
        start = at
        if not reduce_or(over) >> np.uint64(lane) & _ONE:
            for k in range(len(names)):
                if reduce_or(literal(rows, wires, k, width)) >> np.uint64(lane) & _ONE:
                    values[at] = names[k]
                    at += 1
            if at == start and stuck < 0:
                stuck = lane
        offsets[lane + 1] = at
    return stuck


@kernel
def count_bits(packed: U64, out: np.ndarray) -> None:
    """`out[L]`: number of bits set in each row of `packed[L, K]`."""
    for lane in range(len(packed)):
        total = 0
        for block in range(packed.shape[1]):
            total += count_ones(packed[lane, block])
        out[lane] = total


@kernel
def list_bits(packed: U64, names: np.ndarray, out: np.ndarray) -> None:
    """`names` of the bits set in each row, one row after the other."""
    at = 0
    for lane in range(len(packed)):
        for block in range(packed.shape[1]):
            word = packed[lane, block]
            while word:
                out[at] = names[64 * block + lowest_one(word)]
                at += 1
                word &= word - np.uint64(1)


# ------------------------------------------------------------------------
# Lists of moves, from the bits of legal moves.


@by_reference
class MoveNames(NamedTuple):
    """The moves in the words of a query that ends with one group for `terminal`.

    Attributes:
        starts: `[R + 1]` word at which the moves of each role begin, and that of `terminal`.
        firsts: `[R]` where the ids of each role begin in `ids`.
        ids: of the moves, role after role.
        logs: `[R, M + 1]` log of the probability of one of 0, 1, ... M equally likely moves.
    """

    starts: NDArray[np.int64]
    firsts: NDArray[np.int64]
    ids: NDArray[np.int64]
    logs: NDArray[np.float64]


@by_reference
class OpenLists(NamedTuple):
    """The moves that may have been made: the fields of `OpenMoves`."""

    offsets: NDArray[np.int64]
    values: NDArray[np.int64]
    logs: NDArray[np.float64]
    counts: NDArray[np.float64]


@kernel
def list_open(
    words: U64,
    names: MoveNames,
    role: int,
    moves: NDArray[np.int64],
    refused: NDArray[np.int64],
    lists: OpenLists,
) -> None:
    """List the moves that each role may have made, where a role knows its own move.

    Args:
        words: `[L, words]` answers to `Queries.look`.
        role: this role.
        moves, refused: `[L]` its move and its refused try, see `PathTree.extend`.
        lists: filled in.
    """
    num_roles = len(names.firsts)
    at = 0
    for j in range(num_roles):
        lists.offsets[j, 0] = at
        for lane in range(len(words)):
            begin, size, is_legal, keeps_all = at, 0, False, j != role or moves[lane] == UNKNOWN
            if words[lane, names.starts[num_roles]] == 0:
                for block in range(names.starts[j], names.starts[j + 1]):
                    word = words[lane, block]
                    while word:
                        k = names.firsts[j] + 64 * (block - names.starts[j]) + lowest_one(word)
                        word &= word - np.uint64(1)
                        size += 1
                        move = names.ids[k]
                        if j == role and move == refused[lane]:
                            is_legal = True
                        if keeps_all or move == moves[lane]:
                            lists.values[at] = move
                            at += 1
            # A move that we chose is certain; one drawn for us is one of our legal moves.
            is_chosen = j == role and moves[lane] != UNKNOWN and refused[lane] == UNKNOWN
            if is_legal:
                at = begin
                if moves[lane] == UNKNOWN:
                    is_chosen, lists.values[at] = True, refused[lane]
                    at += 1
            for index in range(begin, at):
                lists.logs[index] = 0.0 if is_chosen else names.logs[j, size]
            lists.offsets[j, lane + 1] = at
            lists.counts[lane] = (1.0 if j == 0 else lists.counts[lane]) * (at - begin)


@kernel
def list_candidates(
    words: U64,
    names: MoveNames,
    set_offsets: NDArray[np.int64],
    seen: U64,
    offsets: NDArray[np.int64],
    values: NDArray[np.int64],
) -> None:
    """List the moves that are legal in at least one state of a set, in order of appearance.

    Args:
        words: `[L, words]` answers to `Queries.legal`.
        set_offsets: `[S + 1]` states of each set.
        seen: scratch, a word for each word of moves.
        offsets, values: `[S + 1]` and the moves of all sets, filled in.
    """
    num_words = names.starts[1]
    at = 0
    offsets[0] = 0
    for s in range(len(set_offsets) - 1):
        for block in range(num_words):
            seen[block] = np.uint64(0)
        for lane in range(set_offsets[s], set_offsets[s + 1]):
            if words[lane, num_words] != 0:
                continue
            for block in range(num_words):
                word = words[lane, block] & ~seen[block]
                seen[block] |= word
                while word:
                    values[at] = names.ids[64 * block + lowest_one(word)]
                    word &= word - np.uint64(1)
                    at += 1
        offsets[s + 1] = at

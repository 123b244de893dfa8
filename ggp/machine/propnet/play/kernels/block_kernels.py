"""Evaluates tapes on blocks of lanes.

A block is a flat array of rows of `words_of(width)` words: bit b of word w of a row is lane
`64 * w + b`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ggp.machine.compiling.jit import inlined, kernel
from ggp.machine.propnet.play.kernels.lanes.packing import load_lanes, store_lanes
from ggp.machine.propnet.play.kernels.tapes import I32, TURNED, U64, WHOLE, Query, Tape
from ggp.machine.propnet.play.kernels.vectors import (
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

_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


@inlined
def run_tape(tape: Tape, part: int, rows: U64, playing: U64, width: tuple[int, ...]) -> None:
    """Evaluate the gates of a part of a tape in every lane of a block.

    Rows of inputs change only in lanes of the mask `playing`, which may be anything if none is
    written.

    Most gates have two or three inputs, or up to four pairs. Those have loops of their own, because
    finding out the number of inputs of a gate takes longer than reading them.
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
        singles: as many zeros as a gate has inputs: code is made for each number.

    Returns:
        the place of the next gate's inputs.
    """
    out_of_line()
    words = words_of(width)
    first, end, plus = tape.segments[s, 0], tape.segments[s, 1], tape.segments[s, 3]
    written, lanes = tape.segments[s, 8], load(playing, 0, width)
    left, middle = _inversion(plus, 0, width), _inversion(plus, 1, width)
    right = _inversion(plus, 2, width)
    at = start
    for g in range(first, end):
        a = bxor(_row(tape, at, rows, width), left)
        b = bxor(_row(tape, at + 1, rows, width), middle)
        value = band(a, b)
        if len(singles) > 2:
            value = band(value, bxor(_row(tape, at + 2, rows, width), right))
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
    """Evaluate gates of up to one single input, and one to four pairs whose first row must hold.

    Args:
        singles, pairs: as many zeros as a gate has of these: code is made for each number.

    Returns:
        the place of the next gate's inputs.
    """
    out_of_line()
    words = words_of(width)
    first, end, both = tape.segments[s, 0], tape.segments[s, 1], tape.segments[s, 5]
    written, lanes = tape.segments[s, 8], load(playing, 0, width)
    single = _inversion(tape.segments[s, 4], 0, width)
    # The pairs whose second row is inverted.
    b, d = _inversion(both, 0, width), _inversion(both, 1, width)
    f, h = _inversion(both, 2, width), _inversion(both, 3, width)
    at = start
    for g in range(first, end):
        wrong = splat(np.uint64(0), width)
        if len(singles):
            wrong = bxor(_row(tape, at, rows, width), single)
            at += 1
        wrong = bor(wrong, _as_wanted(tape, at, rows, b, width))
        if len(pairs) > 1:
            wrong = bor(wrong, _as_wanted(tape, at + 2, rows, d, width))
        if len(pairs) > 2:
            wrong = bor(wrong, _as_wanted(tape, at + 4, rows, f, width))
        if len(pairs) > 3:
            wrong = bor(wrong, _as_wanted(tape, at + 6, rows, h, width))
        at += 2 * len(pairs)
        value = bxor(wrong, splat(_ALL, width))
        _write(rows, item(tape.outputs, g) * words, value, written, lanes, width)
    return at


@inlined
def _run_either(
    tape: Tape, s: int, start: int, rows: U64, playing: U64, width: tuple[int, ...]
) -> int:
    """Evaluate gates of one single input, and a pair of which one row must hold: in circuits for a
    phase, a quarter of those of `step`.

    Returns:
        the place of the next gate's inputs.
    """
    out_of_line()
    words = words_of(width)
    first, end = tape.segments[s, 0], tape.segments[s, 1]
    written, lanes = tape.segments[s, 8], load(playing, 0, width)
    single = _inversion(tape.segments[s, 3], 0, width)
    at = start
    for g in range(first, end):
        either = bor(_row(tape, at + 1, rows, width), _row(tape, at + 2, rows, width))
        value = band(bxor(_row(tape, at, rows, width), single), either)
        at += 3
        _write(rows, item(tape.outputs, g) * words, value, written, lanes, width)
    return at


@inlined
def _inversion(straight: int, number: int, width: tuple[int, ...]) -> Any:
    """All ones for an input that is inverted; the first `straight` are not."""
    return splat(np.uint64(0) if number < straight else _ALL, width)


@inlined
def _as_wanted(tape: Tape, at: int, rows: U64, b: Any, width: tuple[int, ...]) -> Any:
    """Lanes where the first row of a pair holds, and the second is as the pair wants it."""
    return band(_row(tape, at, rows, width), bxor(_row(tape, at + 1, rows, width), b))


@inlined
def _write(
    rows: U64, at: int, value: Any, written: int, lanes: Any, width: tuple[int, ...]
) -> None:
    """Write the value of a gate, see `WHOLE`."""
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
    both, one = tape.segments[s, 5], tape.segments[s, 6]
    none = tape.segments[s, 7]
    written, lanes = tape.segments[s, 8], load(playing, 0, width)
    at = start
    for g in range(first, end):
        value = splat(_ALL, width)
        # Inputs taken as they are come first, so that none has to be tested for inversion.
        for _ in range(plus):
            value = band(value, load(rows, item(tape.inputs, at) * words, width))
            at += 1
        for _ in range(minus):
            value = but_not(value, load(rows, item(tape.inputs, at) * words, width))
            at += 1
        for _ in range(both):
            a = load(rows, item(tape.inputs, at) * words, width)
            b = load(rows, item(tape.inputs, at + 1) * words, width)
            value = but_not(value, band(a, b))
            at += 2
        for _ in range(one):
            a = load(rows, item(tape.inputs, at) * words, width)
            b = load(rows, item(tape.inputs, at + 1) * words, width)
            value = but_not(value, but_not(a, b))
            at += 2
        for _ in range(none):
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
    # From below: the first fixpoint that is reached is the least one.
    for g in range(first, end):
        store(rows, item(tape.outputs, g) * words, splat(tape.initial[g], width))
    changes = True
    at = start
    while changes:
        changes = False
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
            if reduce_or(bxor(value, load(rows, out, width))):
                changes = True
                store(rows, out, value)
    return at


@kernel
def query(
    asked: Query,
    packed: U64,
    moves: I32,
    out: U64,
    rows: U64,
    square: U64,
    width: tuple[int, ...],
) -> None:
    """Evaluate K literals of every state and joint move: `out[L, ceil(K / 64)]`.

    `moves`: `[L, R]` row of each role's move; `[L, 0]` if nothing depends on moves. `rows` and
    `square`: `[num_rows * W]` and `[64]` scratch; the rows of moves are 0, and are so afterwards.
    """
    words = words_of(width)
    for first in range(0, len(packed), 64 * words):
        count = len(packed) - first
        if count > 64 * words:
            count = 64 * words
        for k in range((1 + len(asked.row_of)) * words):
            rows[k] = np.uint64(0)
        load_lanes(packed, first, count, asked.row_of, rows, words, square)
        for lane in range(count):
            for role in range(moves.shape[1]):
                row = np.int64(moves[first + lane, role])
                rows[row * words + (lane >> 6)] |= np.uint64(1) << np.uint64(lane & 63)
        run_tape(asked.tape, 0, rows, rows, width)
        store_lanes(rows, asked.wires, count, out, first, square, width)
        # Not before, as a literal may be a move.
        for lane in range(count):
            for role in range(moves.shape[1]):
                rows[np.int64(moves[first + lane, role]) * words + (lane >> 6)] = np.uint64(0)


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

"""The inputs of nets: turns and paths as rows of bits, and the meaning of each bit.

A policy reads the knowledge of its role. In plain GDL every role knows the state, and the policy
reads it. In GDL-II it reads the incomplete path: the moves and percepts of the last two turns, the
set of all moves and percepts so far, the number of turns, and each of the first turns separately,
which is the whole path of most small games. Legal moves are read in both cases. A critic reads the
state, and may also read the knowledge of roles (`Joined`).

A `Reader` updates rows turn by turn, from the `Turn`s of an environment; `of_paths` makes the same
rows from whole paths. Most bits stay as they were at the role's previous choice. So nets get the
changes since then (`Choices`), which are computed once, however often they are read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.errors import ConfigError
from ggp.labs.learning.env.environment import Environment, Turn
from ggp.labs.learning.env.kernels import I32, I64, U64
from ggp.machine.arrays import words_for
from ggp.machine.base import IntArray
from ggp.machine.compiling.jit import inlined, kernel
from ggp.machine.compiling.vectors import count_ones, lowest_one
from ggp.study.names import Names

# ------------------------------------------------------------------------
# Kernels that update rows of packed bits.
#
# A *row* of bits is the knowledge of one role in one lane. Each of its fields begins at a new word:
# the legal moves, the last turn, the turn before it, the set of everything so far, the number of
# turns, and each of the first turns. `Features.layout` says where.

MASKS, LAST, BEFORE, EVER, COUNT, TIMED, END = range(7)
"""The fields of a row: a layout has the first word of each, and the end."""

NUM_MOVES, NUM_PERCEPTS, NUM_COUNTED, NUM_TIMED = range(7, 11)
"""The other entries of a layout: numbers of moves, of percepts, of turns that are counted, and of
turns with a field of their own."""

NO_ROW = -1
"""Stands for the row before the first row of a lane."""

_ONE = np.uint64(1)


@inlined
def _set(rows: U64, row: int, bit: int) -> None:
    rows[row, bit >> 6] |= _ONE << np.uint64(bit & 63)


@inlined
def _start_row(rows: U64, row: int, layout: I64) -> None:
    """Clear all fields but the legal moves: a match begins."""
    for w in range(layout[LAST], layout[END]):
        rows[row, w] = np.uint64(0)
    if layout[NUM_COUNTED]:
        _set(rows, row, 64 * layout[COUNT])


@inlined
def _shift_turns(rows: U64, row: int, turn: int, layout: I64) -> None:
    """Shift the fields of the last turns for turn `turn` (from 1), whose tokens follow."""
    for k in range(layout[EVER] - layout[BEFORE]):
        rows[row, layout[BEFORE] + k] = rows[row, layout[LAST] + k]
        rows[row, layout[LAST] + k] = np.uint64(0)
    if layout[NUM_COUNTED]:
        for w in range(layout[COUNT], layout[TIMED]):
            rows[row, w] = np.uint64(0)
        _set(rows, row, 64 * layout[COUNT] + min(turn, layout[NUM_COUNTED] - 1))


@inlined
def _add_token(rows: U64, row: int, turn: int, token: int, layout: I64) -> None:
    """Set the bits of a token of turn `turn`: a move, or `NUM_MOVES` + a percept."""
    bit = token
    if token >= layout[NUM_MOVES]:  # percepts begin at a new word
        bit = 64 * ((layout[NUM_MOVES] + 63) >> 6) + token - layout[NUM_MOVES]
    _set(rows, row, 64 * layout[LAST] + bit)
    _set(rows, row, 64 * layout[EVER] + bit)
    if turn <= layout[NUM_TIMED]:
        tokens = layout[NUM_MOVES] + layout[NUM_PERCEPTS]
        _set(rows, row, 64 * layout[TIMED] + (turn - 1) * tokens + token)


@kernel
def observe(
    masks: U64, moves: I32, percepts: U64, turns: I32, role: int, layout: I64, rows: U64
) -> None:
    """Update a role's rows after a turn, or at the start of an episode.

    Args:
        masks, moves, percepts, turns: as `Turn.mask_bits` and so on.
        role: index of the role in these arrays.
        layout: layout of the rows, see `Features`.
        rows: `[L, W]` as they were before the turn; changed in place.
    """
    for lane in range(len(rows)):
        for w in range(masks.shape[2]):
            rows[lane, w] = masks[lane, role, w]
        turn = int(turns[lane])
        if turn == 0:
            _start_row(rows, lane, layout)
            continue
        _shift_turns(rows, lane, turn, layout)
        _add_token(rows, lane, turn, int(moves[lane, role]), layout)
        for w in range(percepts.shape[2]):
            bits = percepts[lane, role, w]
            while bits:
                token = layout[NUM_MOVES] + 64 * w + lowest_one(bits)
                _add_token(rows, lane, turn, token, layout)
                bits &= bits - _ONE


@kernel
def read_paths(masks: U64, paths: I32, turns: I32, layout: I64, rows: U64) -> None:
    """Make the rows of whole paths, as `observe` would after their turns.

    Args:
        masks: `[N, words]` legal moves at the end of each path.
        paths: `[N, T, K]`, `turns`: `[N]`, as `Turn.paths`.
        rows: `[N, W]` filled in.
    """
    for n in range(len(rows)):
        for w in range(masks.shape[1]):
            rows[n, w] = masks[n, w]
        _start_row(rows, n, layout)
        for t in range(turns[n]):
            _shift_turns(rows, n, t + 1, layout)
            for k in range(paths.shape[2]):
                if paths[n, t, k] == 0:
                    break
                _add_token(rows, n, t + 1, int(paths[n, t, k]) - 1, layout)


@inlined
def _changes(bits: U64, old: U64, lane: int, is_new: bool, input_of: I32, at: int, to: I32) -> int:
    """Write the inputs that changed in a lane to `to[at:]`, and copy `bits` to `old`.

    An input that was cleared is written as `~input`. Returns the position after the last change.
    """
    for w in range(bits.shape[1]):
        now = bits[lane, w]
        changed = now if is_new else now ^ old[lane, w]
        old[lane, w] = now
        while changed:
            b = lowest_one(changed)
            changed &= changed - _ONE
            is_set = (now >> np.uint64(b)) & _ONE
            index = input_of[64 * w + b]
            to[at] = index if is_set else ~index
            at += 1
    return at


@kernel
def take_choices(
    bits: U64,
    mask_words: int,
    input_of: I32,
    last: I64,
    old: U64,
    cursor: I64,
    lanes: I64,
    previous: I64,
    masks: U64,
    starts: I64,
    changes: I32,
) -> None:
    """Append a row for each lane with a choice, while there is room.

    Rule: the changes of a row, applied to the inputs of its previous row, give its own inputs; a
    lane's first row lists all its inputs. So `accumulate` reaches each row by additions.

    Args:
        bits: `[L, W]` the knowledge in every lane; the first words are the legal moves.
        mask_words: number of these words; with 0, every lane has a choice.
        input_of: `[64 * W]` the input of each bit.
        last: `[L]` the last row that each lane appended, or `NO_ROW`; changed.
        old: `[L, W]` the bits of that row; changed.
        cursor: `[2]` the next lane (L once all are done), and the next row; changed.
        lanes, previous, masks: `[N]`, `[N]`, `[N, words]` the lane of each row, the previous row of
            that lane, and the legal moves; filled in.
        starts: `[N + 1]` where the changes of each row begin, and the end; all but the first are
            filled in.
        changes: `[K]` inputs that were set since the previous row, and `~` inputs cleared.
    """
    lane, end = cursor[0], cursor[1]
    room = len(changes) - 64 * bits.shape[1]
    while lane < len(bits) and starts[end] <= room:
        total = 0 if mask_words else 2
        for w in range(mask_words):
            total += count_ones(bits[lane, w])
        if total >= 2:
            is_new = last[lane] == NO_ROW
            lanes[end], previous[end] = lane, last[lane]
            last[lane] = end
            for w in range(mask_words):
                masks[end, w] = bits[lane, w]
            starts[end + 1] = _changes(bits, old, lane, is_new, input_of, starts[end], changes)
            end += 1
        lane += 1
    cursor[0], cursor[1] = lane, end


@kernel
def into_blocks(
    size: int,
    lanes: I64,
    previous: I64,
    masks: U64,
    starts: I64,
    changes: I32,
    ends: I64,
    positions: I64,
    order: I64,
    new_previous: I64,
    new_masks: U64,
    new_starts: I64,
    new_changes: I32,
) -> None:
    """Sort rows by blocks of lanes (a stable counting sort).

    Args:
        size: lanes of a block.
        lanes, previous, masks, starts, changes: N rows, see `take_choices`.
        ends: `[B + 1]` zeros; filled in with the first row of each block, and N.
        positions, order: `[N]` the new position of each row, and its inverse; filled in.
        new_previous: `[N]` the previous row, as an index into the block, or `NO_ROW`; the other
            `new_` arrays hold the rows in their new order.
    """
    for n in range(len(lanes)):
        ends[lanes[n] // size + 1] += 1
    for block in range(1, len(ends)):
        ends[block] += ends[block - 1]
    for n in range(len(lanes)):
        # `ends[block]` counts up to the end of its block here, and is shifted back below.
        block = lanes[n] // size
        position = ends[block]
        ends[block] += 1
        positions[n], order[position] = position, n
        row = previous[n]
        new_previous[position] = NO_ROW if row < 0 else positions[row]
        new_starts[position + 1] = starts[n + 1] - starts[n]
        for w in range(masks.shape[1]):
            new_masks[position, w] = masks[n, w]
    for k in range(len(ends) - 1):
        block = len(ends) - 1 - k
        ends[block] = ends[block - 1]
    ends[0] = 0
    new_starts[0] = 0
    for block in range(len(ends) - 1):
        for n in range(ends[block], ends[block + 1]):
            new_starts[n + 1] += new_starts[n]
            if new_previous[n] >= 0:
                new_previous[n] -= ends[block]
    for n in range(len(lanes)):
        to = new_starts[positions[n]]
        for k in range(starts[n + 1] - starts[n]):
            new_changes[to + k] = changes[starts[n] + k]


# ------------------------------------------------------------------------

MAX_TIMED = 1 << 12
"""Most inputs for the fields of single turns; later turns have none."""

MAX_COUNTED = 64
"""Most inputs for the number of turns, and most turns with a field of their own."""

MAX_INPUTS = 1 << 20
"""Most inputs of a net in all."""


@dataclass(frozen=True)
class Features:
    """The bits that a net reads.

    Attributes:
        num_moves, num_percepts, num_fluents: A, P, F of the game.
        num_counted: inputs for the number of turns; a longer match sets the last one.
        num_timed: number of first turns that have a field of their own.
        reads_state: whether fluents are read instead of a path.
        reads_legal: whether legal moves are read; critics do not read them.
    """

    num_moves: int
    num_percepts: int
    num_fluents: int
    num_counted: int
    num_timed: int
    reads_state: bool
    reads_legal: bool = True

    def __post_init__(self) -> None:
        if min(*self._numbers, self.num_fluents) < 0:
            raise ConfigError("a net cannot read fewer than 0 bits")
        _check_size(self.num_inputs)

    def fit(self, names: Names) -> bool:
        """Whether a policy with these features can play the game with these names."""
        sizes = (self.num_moves, self.num_percepts, self.num_fluents)
        game_sizes = (len(names.moves), len(names.percepts), len(names.fluents))
        return sizes == game_sizes and self.reads_legal and self.reads_state == names.is_plain

    @cached_property
    def layout(self) -> I64:
        """First words of the fields of a path's row, then `NUM_MOVES` and so on."""
        words = [words_for(size) for size in self._sizes]
        fields = [words[0], *(sum(words[k : k + 2]) for k in (1, 3, 5)), *words[7:]]
        return np.array([0, *np.cumsum(fields), *self._numbers], dtype=np.int64)

    @cached_property
    def num_words(self) -> int:
        """W, the words of a row."""
        return sum(map(words_for, self._sizes))

    @cached_property
    def mask_words(self) -> int:
        """The number of words of legal moves, which come first."""
        return words_for(self.num_moves) if self.reads_legal else 0

    @cached_property
    def input_of(self) -> I32:
        """`[64 * W]` the input of each bit, -1 for bits that are never set."""
        inputs = np.full(64 * self.num_words, -1, dtype=np.int32)
        start = first = 0
        for size in self._sizes:
            inputs[start : start + size] = np.arange(first, first + size)
            start += 64 * words_for(size)
            first += size
        return inputs

    @property
    def num_inputs(self) -> int:
        """The number of bits that may be set."""
        return sum(self._sizes)

    @property
    def _numbers(self) -> tuple[int, int, int, int]:
        return self.num_moves, self.num_percepts, self.num_counted, self.num_timed

    @property
    def _sizes(self) -> list[int]:
        """Number of bits of each part of a row that begins at a new word."""
        legal = [self.num_moves] if self.reads_legal else []
        if self.reads_state:
            return [*legal, self.num_fluents]
        tokens = [self.num_moves, self.num_percepts]
        return [*legal, *tokens * 3, self.num_counted, self.num_timed * sum(tokens)]


def features_of(names: Names, max_turns: int | None) -> Features:
    """The features that the policy of a role reads.

    Args:
        max_turns: a bound on the turns of a match; None if there is none.
    """
    tokens = len(names.moves) + len(names.percepts)
    counted = 0 if names.is_plain else min((max_turns or MAX_COUNTED) + 1, MAX_COUNTED)
    return Features(
        len(names.moves),
        len(names.percepts),
        len(names.fluents),
        counted,
        min(counted, MAX_TIMED // tokens),
        reads_state=names.is_plain,
    )


def features_of_states(names: Names) -> Features:
    """The features that a critic reads of the state."""
    return Features(0, 0, len(names.fluents), 0, 0, reads_state=True, reads_legal=False)


class Joined:
    """The bits of several rows side by side, for a net that chooses no move.

    Args:
        parts: the features of each row, in order.

    Attributes:
        num_inputs, num_words, mask_words, input_of: as in `Features`.

    Raises:
        ConfigError: there are more bits than a net may read.
    """

    mask_words = 0

    def __init__(self, parts: Sequence[Features]) -> None:
        self.num_inputs = sum(part.num_inputs for part in parts)
        self.num_words = sum(part.num_words for part in parts)
        _check_size(self.num_inputs)
        firsts = np.cumsum([0, *(part.num_inputs for part in parts[:-1])])
        self.input_of: I32 = np.concatenate(
            [
                np.where(part.input_of >= 0, part.input_of + first, -1)
                for part, first in zip(parts, firsts.tolist(), strict=True)
            ],
            dtype=np.int32,
        )


def _check_size(num_inputs: int) -> None:
    if num_inputs > MAX_INPUTS:
        raise ConfigError(
            f"a net that reads {num_inputs:,} bits is too large; the most is {MAX_INPUTS:,}"
        )


class Reader:
    """The rows of one role in all lanes of an environment.

    Args:
        role: the role's index in `Environment.roles`.

    Attributes:
        rows: `[L, W]` the rows after the last turn.
    """

    def __init__(self, features: Features, lanes: int, role: int = 0) -> None:
        self._features, self._role = features, role
        self.rows: U64 = np.zeros((lanes, features.num_words), dtype=np.uint64)

    def take(self, lanes: IntArray) -> None:
        """Drop all lanes but these."""
        self.rows = self.rows[lanes]

    def read(self, turn: Turn) -> U64:
        """`[L, W]` the rows after a turn; they change with the next one."""
        features = self._features
        if not features.reads_state:
            observe(
                turn.mask_bits,
                turn.moves,
                turn.percept_bits,
                turn.turns,
                self._role,
                features.layout,
                self.rows,
            )
            return self.rows
        start = features.mask_words
        self.rows[:, :start] = turn.mask_bits[:, self._role]
        self.rows[:, start:] = turn.state_bits
        return self.rows


class RowChanges(NamedTuple):
    """N rows of inputs, as changes from earlier rows.

    Attributes:
        masks: `[N, words]` legal moves.
        previous: `[N]` the previous row of the same lane, `NO_ROW` for none.
        starts: `[N + 1]` where the changes of each row begin, and the end.
        changes: `[K]` inputs that were set since the previous row, and `~` inputs cleared.
        order: `[N]` index of each row in `Choices`.
    """

    masks: U64
    previous: I64
    starts: I64
    changes: I32
    order: I64


class Choices:
    """The rows of L lanes in which a role has a choice, turn by turn.

    Args:
        features: the meaning of the bits. If legal moves are not read, every row is taken.
        lanes: L.
        size: the most rows that are kept; default: L.

    Attributes:
        num_rows: N, the number of rows so far.
        lanes: `[N]` the lane of each row.
    """

    def __init__(self, features: Features | Joined, lanes: int, size: int | None = None) -> None:
        self._features, self._words = features, features.mask_words
        size = lanes if size is None else size
        self._last = np.full(lanes, NO_ROW)
        self._old: U64 = np.zeros((lanes, features.num_words), dtype=np.uint64)
        self._lanes, self._places, *orders = np.zeros((4, size), dtype=np.int64)
        room = 64 * features.num_words
        rows, ordered = (
            RowChanges(
                np.zeros((size, self._words), dtype=np.uint64),
                np.zeros(size, dtype=np.int64),
                np.zeros(size + 1, dtype=np.int64),
                np.zeros(room, dtype=np.int32),
                order,
            )
            for order in orders
        )
        self._rows, self._ordered = rows, ordered
        self._rows.order[:] = np.arange(size)
        self.num_rows = 0

    def begin(self) -> None:
        """Drop all rows; the next row of a lane is its first."""
        self._last[:] = NO_ROW
        self.num_rows = 0

    def clear(self) -> None:
        """Drop all rows, but remember their bits: the next rows have changes from them."""
        self.num_rows = 0

    def take(self, lanes: IntArray) -> None:
        """Drop all lanes but these."""
        self._last, self._old = self._last[lanes], self._old[lanes]

    @property
    def lanes(self) -> I64:
        return self._lanes[: self.num_rows]

    def add(self, bits: U64) -> RowChanges:
        """Add the rows of lanes with a choice, and return them.

        Args:
            bits: `[L, W]` as in `Reader.read`.
        """
        features, first = self._features, self.num_rows
        cursor = np.array([0, first])
        while True:
            rows = self._rows
            take_choices(
                bits,
                self._words,
                features.input_of,
                self._last,
                self._old,
                cursor,
                self._lanes,
                rows.previous,
                rows.masks,
                rows.starts,
                rows.changes,
            )
            if cursor[0] == len(bits):
                break
            room = np.zeros_like(rows.changes)
            self._rows = rows._replace(changes=np.concatenate([rows.changes, room]))
        self.num_rows = int(cursor[1])
        return _part(self._rows, first, self.num_rows)

    def blocks(self, size: int) -> list[RowChanges]:
        """All rows, in one block for each `size` lanes; valid until the next call."""
        rows, lanes = self._rows, len(self._last)
        if len(self._ordered.changes) < len(rows.changes):
            self._ordered = self._ordered._replace(changes=np.zeros_like(rows.changes))
        ordered = self._ordered
        ends = np.zeros(-(-lanes // size) + 1, dtype=np.int64)
        into_blocks(
            size,
            self.lanes,
            rows.previous,
            rows.masks,
            rows.starts,
            rows.changes,
            ends,
            self._places,
            ordered.order,
            ordered.previous,
            ordered.masks,
            ordered.starts,
            ordered.changes,
        )
        return [_part(ordered, *pair) for pair in pairwise(ends.tolist())]


def _part(rows: RowChanges, first: int, end: int) -> RowChanges:
    """Rows `first .. end`, without copying any."""
    masks, previous, starts, changes, order = rows
    return RowChanges(
        masks[first:end],
        previous[first:end],
        starts[first : end + 1],
        changes,
        order[first:end],
    )


def of_paths(features: Features, mask_bits: U64, paths: I32, turns: NDArray[np.int32]) -> U64:
    """`[N, W]` the rows of whole paths.

    Args:
        mask_bits: `[N, words]` legal moves at the end of each; `paths`, `turns`: as in `Turn`.
    """
    assert not features.reads_state, "a state is no path"
    rows = np.zeros((len(paths), features.num_words), dtype=np.uint64)
    read_paths(mask_bits, paths, turns, features.layout, rows)
    return rows


def bound_of(env: Environment) -> int | None:
    """A bound on the turns of a match, None if no bound is proved."""
    return env.max_turns if env.is_proved else None

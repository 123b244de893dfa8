"""The inputs of nets: which bits there are, and what each of them means.

A role's policy reads what the role knows. In plain GDL everybody knows the state, so that is what
is read there. Else it is the incomplete path: the moves and percepts of the last two turns, which
ones there were so far, the number of turns, and what happened in each of the first turns, which is
the whole path of most small games. Legal moves are read in both cases. A critic reads the state,
and may read what roles know beside it (`Joined`).

Rows of bits are kept up to date turn by turn (`Reader`), or made of whole paths (`of_paths`); both
give the same. Most bits are as they were when a role chose last. So nets are given what has changed
since then (`Choices`), which is found once, however often it is read.
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
from ggp.labs.learning.env.environment import Environment
from ggp.labs.learning.env.kernels import I32, I64, U64
from ggp.labs.learning.env.turn import Turn
from ggp.machine.arrays import words_for
from ggp.machine.base import IntArray
from ggp.machine.compiling.jit import inlined, kernel
from ggp.machine.compiling.vectors import count_ones, lowest_one
from ggp.study.names import Names

# ------------------------------------------------------------------------
# Kernels that keep what nets read up to date, as packed bits.
#
# A *row* of bits is what one role knows in one lane. It consists of fields that begin at words of
# their own: what is legal now, the turn before this one, the one before that, everything since the
# beginning, the number of turns, and each turn by itself. `features` has the layout.

MASKS, LAST, BEFORE, EVER, COUNT, TIMED, END = range(7)
"""The fields of a row: each entry of a layout is the word at which one begins."""

NUM_MOVES, NUM_PERCEPTS, NUM_COUNTED, NUM_TIMED = range(7, 11)
"""The other entries of a layout: numbers of moves, of percepts, of turns that are counted, and of
turns that have a field of their own."""

NO_ROW = -1
"""Stands for the row before the first one of a lane."""

_ONE = np.uint64(1)


@inlined
def _set(rows: U64, row: int, bit: int) -> None:
    rows[row, bit >> 6] |= _ONE << np.uint64(bit & 63)


@inlined
def _begun(rows: U64, row: int, layout: I64) -> None:
    """Forget everything: the first turn is next."""
    for w in range(layout[LAST], layout[END]):
        rows[row, w] = np.uint64(0)
    if layout[NUM_COUNTED]:
        _set(rows, row, 64 * layout[COUNT])


@inlined
def _turned(rows: U64, row: int, turn: int, layout: I64) -> None:
    """Make room for turn `turn`, from 1, whose move and percepts are told next."""
    for k in range(layout[EVER] - layout[BEFORE]):
        rows[row, layout[BEFORE] + k] = rows[row, layout[LAST] + k]
        rows[row, layout[LAST] + k] = np.uint64(0)
    if layout[NUM_COUNTED]:
        for w in range(layout[COUNT], layout[TIMED]):
            rows[row, w] = np.uint64(0)
        _set(rows, row, 64 * layout[COUNT] + min(turn, layout[NUM_COUNTED] - 1))


@inlined
def _told(rows: U64, row: int, turn: int, token: int, layout: I64) -> None:
    """Take down a token of turn `turn`: a move, or after all moves a percept."""
    place = token
    if token >= layout[NUM_MOVES]:  # percepts begin at a word of their own
        place = 64 * ((layout[NUM_MOVES] + 63) >> 6) + token - layout[NUM_MOVES]
    _set(rows, row, 64 * layout[LAST] + place)
    _set(rows, row, 64 * layout[EVER] + place)
    if turn <= layout[NUM_TIMED]:
        tokens = layout[NUM_MOVES] + layout[NUM_PERCEPTS]
        _set(rows, row, 64 * layout[TIMED] + (turn - 1) * tokens + token)


@kernel
def observe(
    masks: U64, moves: I32, percepts: U64, turns: I32, role: int, layout: I64, rows: U64
) -> None:
    """Bring a role's rows up to date after a turn, or a new beginning.

    Args:
        masks, moves, percepts, turns: as `Turn.mask_bits` and so on.
        role: its index there.
        layout: of its rows, see `Features`.
        rows: `[L, W]` as they were before the turn; changed in place.
    """
    for lane in range(len(rows)):
        for w in range(masks.shape[2]):
            rows[lane, w] = masks[lane, role, w]
        turn = int(turns[lane])
        if turn == 0:
            _begun(rows, lane, layout)
            continue
        _turned(rows, lane, turn, layout)
        _told(rows, lane, turn, int(moves[lane, role]), layout)
        for w in range(percepts.shape[2]):
            bits = percepts[lane, role, w]
            while bits:
                token = layout[NUM_MOVES] + 64 * w + lowest_one(bits)
                _told(rows, lane, turn, token, layout)
                bits &= bits - _ONE


@kernel
def read_paths(masks: U64, paths: I32, turns: I32, layout: I64, rows: U64) -> None:
    """Make the rows of whole paths.

    Args:
        masks: `[N, words]` what is legal at the end of each path.
        paths: `[N, T, K]`, `turns`: `[N]`, as `Turn.paths`.
        rows: `[N, W]` filled in.
    """
    for n in range(len(rows)):
        for w in range(masks.shape[1]):
            rows[n, w] = masks[n, w]
        _begun(rows, n, layout)
        for t in range(turns[n]):
            _turned(rows, n, t + 1, layout)
            for k in range(paths.shape[2]):
                if paths[n, t, k] == 0:
                    break
                _told(rows, n, t + 1, int(paths[n, t, k]) - 1, layout)


@inlined
def _changes(bits: U64, old: U64, lane: int, is_new: bool, input_of: I32, at: int, to: I32) -> int:
    """Write down the inputs that changed in a lane, those of cleared bits inverted; `old` becomes
    as `bits` is. Returns the place after the last one."""
    for w in range(bits.shape[1]):
        now = bits[lane, w]
        changed = now if is_new else now ^ old[lane, w]
        old[lane, w] = now
        while changed:
            b = lowest_one(changed)
            changed &= changed - _ONE
            is_set = (now >> np.uint64(b)) & _ONE
            number = input_of[64 * w + b]
            to[at] = number if is_set else ~number
            at += 1
    return at


@kernel
def take_choices(
    bits: U64,
    mask_words: int,
    input_of: I32,
    last: I64,
    old: U64,
    place: I64,
    lanes: I64,
    previous: I64,
    masks: U64,
    starts: I64,
    changes: I32,
) -> None:
    """Append a row for each lane in which there is a choice, as long as there is room.

    Args:
        bits: `[L, W]` what is known in every lane, which begins with what is legal.
        mask_words: words of that; without any there is a choice everywhere.
        input_of: `[64 * W]` the number of the input that each bit is.
        last: `[L]` number of the last row that each lane appended, or `NO_ROW`; changed.
        old: `[L, W]` the bits there; changed.
        place: `[2]` the next lane, and the next row; changed. It is L once all are done.
        lanes, previous, masks: `[N]`, `[N]`, `[N, words]` the lane of each row, the row that it
            follows and what is legal; filled in.
        starts: `[N + 1]` where its changes begin, and where they end; filled in but for the first.
        changes: `[K]` inputs that were set since the row before, and `~` those cleared.
    """
    lane, end = place[0], place[1]
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
    place[0], place[1] = lane, end


@kernel
def into_blocks(
    size: int,
    lanes: I64,
    previous: I64,
    masks: U64,
    starts: I64,
    changes: I32,
    ends: I64,
    places: I64,
    order: I64,
    new_previous: I64,
    new_masks: U64,
    new_starts: I64,
    new_changes: I32,
) -> None:
    """Put rows in order of blocks of lanes, and as they were within each.

    Args:
        size: lanes of a block.
        lanes, previous, masks, starts, changes: of N rows, see `take_choices`.
        ends: `[B + 1]` zeros; filled in with the number of the first row of each block, and N.
        places, order: `[N]` the new number of each row, and the row that has each; filled in.
        new_previous: `[N]` which row of its block each follows, or `NO_ROW`; the others are the
            rows in their new order.
    """
    for n in range(len(lanes)):
        ends[lanes[n] // size + 1] += 1
    for block in range(1, len(ends)):
        ends[block] += ends[block - 1]
    for n in range(len(lanes)):
        # The number of the block's next row is kept where it begins, and put right below.
        block = lanes[n] // size
        place = ends[block]
        ends[block] += 1
        places[n], order[place] = place, n
        before = previous[n]
        new_previous[place] = NO_ROW if before < 0 else places[before]
        new_starts[place + 1] = starts[n + 1] - starts[n]
        for w in range(masks.shape[1]):
            new_masks[place, w] = masks[n, w]
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
        to = new_starts[places[n]]
        for k in range(starts[n + 1] - starts[n]):
            new_changes[to + k] = changes[starts[n] + k]


# ------------------------------------------------------------------------

MOST_TIMED = 1 << 12
"""Most inputs for what happened in each single turn; later turns go without."""

MOST_COUNTED = 64
"""Most inputs for the number of turns, and most turns remembered by themselves."""

MOST_INPUTS = 1 << 20
"""Most inputs of a net in all."""


@dataclass(frozen=True)
class Features:
    """The bits that a net reads.

    Attributes:
        num_moves, num_percepts, num_fluents: A, P, F of the game.
        num_counted: turns that are counted; longer matches count as that long.
        num_timed: turns each of which is remembered by itself, from the first; 0 for none.
        reads_state: whether fluents are read instead of a path.
        reads_legal: whether legal moves are read; critics do not.
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
        """Whether they are a policy's in the game that has these names."""
        told = (self.num_moves, self.num_percepts, self.num_fluents)
        own = (len(names.moves), len(names.percepts), len(names.fluents))
        return told == own and self.reads_legal and self.reads_state == names.is_plain

    @cached_property
    def layout(self) -> I64:
        """Where the fields of a path's row begin: see `feature_kernels`."""
        words = [words_for(size) for size in self._sizes]
        fields = [words[0], *(sum(words[k : k + 2]) for k in (1, 3, 5)), *words[7:]]
        return np.array([0, *np.cumsum(fields), *self._numbers], dtype=np.int64)

    @cached_property
    def num_words(self) -> int:
        """W, the words of a row."""
        return sum(map(words_for, self._sizes))

    @cached_property
    def mask_words(self) -> int:
        """The number of words at the beginning that say what is legal."""
        return words_for(self.num_moves) if self.reads_legal else 0

    @cached_property
    def input_of(self) -> I32:
        """`[64 * W]` the number of the input that each bit is, -1 for bits that are never set."""
        found = np.full(64 * self.num_words, -1, dtype=np.int32)
        start = number = 0
        for size in self._sizes:
            found[start : start + size] = np.arange(number, number + size)
            start += 64 * words_for(size)
            number += size
        return found

    @property
    def num_inputs(self) -> int:
        """The number of bits that may be set."""
        return sum(self._sizes)

    @property
    def _numbers(self) -> tuple[int, int, int, int]:
        return self.num_moves, self.num_percepts, self.num_counted, self.num_timed

    @property
    def _sizes(self) -> list[int]:
        """Bits of each part of a row that begins at a word of its own."""
        legal = [self.num_moves] if self.reads_legal else []
        if self.reads_state:
            return [*legal, self.num_fluents]
        told = [self.num_moves, self.num_percepts]
        return [*legal, *told * 3, self.num_counted, self.num_timed * sum(told)]


def features_of(names: Names, max_turns: int | None) -> Features:
    """The features that the policy of a role reads.

    Args:
        max_turns: a bound on the turns of a match; None if there is none.
    """
    tokens = len(names.moves) + len(names.percepts)
    counted = 0 if names.is_plain else min((max_turns or MOST_COUNTED) + 1, MOST_COUNTED)
    return Features(
        len(names.moves),
        len(names.percepts),
        len(names.fluents),
        counted,
        min(counted, MOST_TIMED // tokens),
        reads_state=names.is_plain,
    )


def features_of_states(names: Names) -> Features:
    """The features that a critic reads of the state."""
    return Features(0, 0, len(names.fluents), 0, 0, reads_state=True, reads_legal=False)


class Joined:
    """The bits of several rows beside each other, as a net reads them that chooses no move.

    Args:
        parts: what each row means, in order.

    Attributes:
        num_inputs, num_words, mask_words, input_of: as of `Features`.

    Raises:
        ConfigError: these are more bits than a net may read.
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
    if num_inputs > MOST_INPUTS:
        raise ConfigError(
            f"a net that reads {num_inputs:,} bits is too large; the most is {MOST_INPUTS:,}"
        )


class Reader:
    """The rows of one role in all lanes of an environment.

    Args:
        role: the role's index in `Environment.roles`.

    Attributes:
        rows: `[L, W]` as of the last turn.
    """

    def __init__(self, features: Features, lanes: int, role: int = 0) -> None:
        self._features, self._role = features, role
        self.rows: U64 = np.zeros((lanes, features.num_words), dtype=np.uint64)

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
    """What nets read in N rows, as changes.

    Attributes:
        masks: `[N, words]` what is legal.
        previous: `[N]` the earlier row that each follows, `NO_ROW` for none.
        starts: `[N + 1]` where the changes of each begin, and where the last ones end.
        changes: `[K]` inputs that were set since the row before, and `~` those that were cleared.
        order: `[N]` numbers of the rows where they were taken from.
    """

    masks: U64
    previous: I64
    starts: I64
    changes: I32
    order: I64


class Choices:
    """Rows in which there is a choice, in L lanes, turn by turn.

    Args:
        features: what rows of bits mean.
        lanes: L.
        most: rows at a time; default: L. All rows are taken if legal moves are not read.

    Attributes:
        num_rows: N, those at present.
        lanes: `[N]` the lane of each.
    """

    def __init__(self, features: Features | Joined, lanes: int, most: int | None = None) -> None:
        self._features, self._words = features, features.mask_words
        most = lanes if most is None else most
        self._last = np.full(lanes, NO_ROW)
        self._old: U64 = np.zeros((lanes, features.num_words), dtype=np.uint64)
        self._lanes, self._places, *orders = np.zeros((4, most), dtype=np.int64)
        room = 64 * features.num_words
        kept, ordered = (
            RowChanges(
                np.zeros((most, self._words), dtype=np.uint64),
                np.zeros(most, dtype=np.int64),
                np.zeros(most + 1, dtype=np.int64),
                np.zeros(room, dtype=np.int32),
                order,
            )
            for order in orders
        )
        self._kept, self._ordered = kept, ordered
        self._kept.order[:] = np.arange(most)
        self.num_rows = 0

    def begin(self) -> None:
        """Drop all rows; the next ones follow none."""
        self._last[:] = NO_ROW
        self.num_rows = 0

    def clear(self) -> None:
        """Drop all rows; the next ones tell what has changed since the last of their lanes."""
        self.num_rows = 0

    def take(self, lanes: IntArray) -> None:
        """Go on in some lanes only."""
        self._last, self._old = self._last[lanes], self._old[lanes]

    @property
    def lanes(self) -> I64:
        return self._lanes[: self.num_rows]

    def add(self, bits: U64) -> RowChanges:
        """Add the rows of lanes in which there is a choice, and return them.

        Args:
            bits: `[L, W]` as in `Reader.read`.
        """
        features, first = self._features, self.num_rows
        place = np.array([0, first])
        while True:
            kept = self._kept
            take_choices(
                bits,
                self._words,
                features.input_of,
                self._last,
                self._old,
                place,
                self._lanes,
                kept.previous,
                kept.masks,
                kept.starts,
                kept.changes,
            )
            if place[0] == len(bits):
                break
            more = np.zeros_like(kept.changes)
            self._kept = kept._replace(changes=np.concatenate([kept.changes, more]))
        self.num_rows = int(place[1])
        return _part(self._kept, first, self.num_rows)

    def blocks(self, size: int) -> list[RowChanges]:
        """All rows, those of `size` lanes together; valid until the next call."""
        kept, lanes = self._kept, len(self._last)
        if len(self._ordered.changes) < len(kept.changes):
            self._ordered = self._ordered._replace(changes=np.zeros_like(kept.changes))
        ordered = self._ordered
        ends = np.zeros(-(-lanes // size) + 1, dtype=np.int64)
        into_blocks(
            size,
            self.lanes,
            kept.previous,
            kept.masks,
            kept.starts,
            kept.changes,
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
        mask_bits: `[N, words]` what is legal after each; `paths`, `turns`: as in `Turn`.
    """
    assert not features.reads_state, "a state is no path"
    rows = np.zeros((len(paths), features.num_words), dtype=np.uint64)
    read_paths(mask_bits, paths, turns, features.layout, rows)
    return rows


def bound_of(env: Environment) -> int | None:
    """A bound on the turns of a match, None if none is known."""
    return env.max_turns if env.is_proved else None

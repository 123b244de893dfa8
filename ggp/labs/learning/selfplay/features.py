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
from ggp.labs.learning.selfplay.feature_kernels import (
    NO_ROW,
    into_blocks,
    observe,
    read_paths,
    take_choices,
)
from ggp.machine.arrays import words_for
from ggp.machine.base import IntArray
from ggp.study.names import Names

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

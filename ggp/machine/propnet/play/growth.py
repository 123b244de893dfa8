"""What kernels need that ask a circuit about new states by themselves: see `kernels.lanes.growing`.

A lister belongs to one tree, and to one thread: it has scratch of its own, and a table of the
percepts that were seen. Those it lacks it learns from the machine, which spells them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from ggp.machine.arrays import Packed, enlarged
from ggp.machine.base import IntArray
from ggp.machine.compiling.vectors import aligned_words, words_of
from ggp.machine.goal_values import number_or_nan
from ggp.machine.propnet.play.kernels.lanes.growing import Goals, Listing, Seen
from ggp.machine.propnet.play.kernels.lanes.turn_parts import TurnCircuit
from ggp.machine.propnet.play.layout.queries import Queries
from ggp.machine.propnet.play.turns import WIDTH, CircuitTurns, fluents_read
from ggp.machine.rows import RowTable


class CircuitGrowth(CircuitTurns):
    """The part of `PropnetMachine` that serves trees."""

    random_role: int | None
    goal_range: tuple[float, float]

    def lister(self) -> Lister:
        """What kernels need that list moves and goals by themselves."""
        queries, step = self._queries, self._queries.step
        asked = step._replace(starts=step.starts - step.starts[1])
        low, high = self.goal_range
        number = 64 * int(queries.goals.starts[-1])
        points, usual = np.zeros(number), np.zeros(number, dtype=np.int64)
        for outputs, start in zip(queries.circuit.goals, queries.goals.starts, strict=False):
            values = np.array([number_or_nan(name) for name in outputs.names])
            is_usual, first = (values >= low) & (values <= high), 64 * start
            points[first : first + len(values)] = np.where(is_usual, values, 0.0)
            usual[first : first + len(values)] = np.where(is_usual, 1, 2)
        words = words_of(WIDTH)
        goals = Goals(
            queries.goals,
            fluents_read(queries.goals),
            points,
            usual,
            float(low),
            float(high),
            -1 if self.random_role is None else self.random_role,
            aligned_words(queries.goals.num_rows * words),
            np.zeros(2 * words, dtype=np.uint64),
        )
        return Lister(
            queries,
            self.turn_circuit(queries.look),
            goals,
            partial(self._percepts.after, asked),
            is_open=not self._percepts.is_gdl2,
            width=WIDTH,
        )


FIRST_MOVES = 1 << 12
"""Moves that there is room for at first."""

Spell = Callable[[Packed, IntArray], IntArray]
"""Gives the percept ids of all roles by the words of percepts after joint moves, and by these."""


class Lister:
    """The `Listing` of one tree.

    Args:
        circuit: with `Queries.look`.
        is_open: whether percepts are joint moves.
        width: of the kernel.

    Attributes:
        listing: for kernels.
    """

    def __init__(
        self,
        queries: Queries,
        circuit: TurnCircuit,
        goals: Goals,
        spell: Spell,
        *,
        is_open: bool,
        width: tuple[int, ...],
    ) -> None:
        words, num_roles = words_of(width), len(queries.circuit.roles)
        most, step, look = 64 * words, queries.step, circuit.look
        self._spell = spell
        starts = step.starts[1 : num_roles + 2] - step.starts[1]
        self._table = RowTable(num_roles if is_open else 1 + int(np.diff(starts).max()))
        self.listing = Listing(
            circuit,
            goals,
            Seen(
                is_open,
                starts,
                *self._table.tables,
                np.zeros(0, dtype=np.int64),
                np.zeros((1, self._table.rows.shape[1]), dtype=np.uint64),
            ),
            aligned_words(step.num_rows * words),
            aligned_words(look.num_rows * words),
            np.zeros(64, dtype=np.uint64),
            np.empty(most, dtype=np.int64),
            np.empty((most, int(step.starts[1])), dtype=np.uint64),
            np.empty((most, int(step.starts[-1] - step.starts[1])), dtype=np.uint64),
            np.zeros((most, num_roles), dtype=np.int64),
            np.empty(most, dtype=np.bool_),
            np.empty((most, num_roles)),
            np.empty((most, num_roles), dtype=np.int64),
            np.empty((num_roles, most + 1), dtype=np.int64),
            np.empty(FIRST_MOVES, dtype=np.int64),
        )

    def make_room(self, moves: int) -> None:
        """Make room for lists with so many moves."""
        if moves > len(self.listing.values):
            self.listing = self.listing._replace(values=np.empty(2 * moves, dtype=np.int64))

    def learn(self, moves: IntArray) -> None:
        """Learn the ids of the percepts after `[K, R]` joint moves, which were just listed."""
        listing, seen, count = self.listing, self.listing.seen, len(moves)
        told = self._spell(listing.words[:count], moves)
        if seen.is_open:
            self._know(moves.astype(np.uint64), told[:, 0])
        else:
            for role, (start, end) in enumerate(zip(seen.starts, seen.starts[1:], strict=False)):
                keys = np.zeros((count, seen.key.shape[1]), dtype=np.uint64)
                keys[:, 0], keys[:, 1 : 1 + end - start] = role, listing.words[:count, start:end]
                self._know(keys, told[:, role])
        rows, slots = self._table.tables
        self.listing = listing._replace(seen=self.listing.seen._replace(keys=rows, slots=slots))

    def _know(self, keys: Packed, ids: IntArray) -> None:
        listing, numbers = self.listing, self._table.numbers(keys)
        known = enlarged(listing.seen.ids, len(self._table), 0)
        known[numbers] = ids
        self.listing = listing._replace(seen=listing.seen._replace(ids=known))

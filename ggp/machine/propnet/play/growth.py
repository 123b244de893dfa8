"""Moves and goals of many states of a circuit, for trees that grow.

A tree asks the same of all new states of a wave: which they are, whether the game is over, what may
be done, and, where it is over, what that is worth. Each is asked by one call for all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from ggp.machine.abilities import Successors
from ggp.machine.arrays import Packed, enlarged, unpack
from ggp.machine.base import FloatArray, IntArray, Ragged, States
from ggp.machine.compiling.vectors import aligned_words, words_of
from ggp.machine.goal_values import number_or_nan
from ggp.machine.propnet.play.answers import Answers
from ggp.machine.propnet.play.kernels.lanes.growing import Goals, Listing, Seen, list_turns
from ggp.machine.propnet.play.kernels.lanes.turn_parts import TurnCircuit
from ggp.machine.propnet.play.layout.queries import Queries
from ggp.machine.propnet.play.turns import WIDTH, CircuitTurns, fluents_read
from ggp.machine.rows import RowTable
from ggp.machine.threads import made_once


class CircuitGrowth(CircuitTurns):
    """The part of `PropnetMachine` that serves trees."""

    random_role: int | None
    goal_range: tuple[float, float]
    _answers: Answers
    _list_room = 1 << 12  # moves that `listed` has room for at first

    def listed(
        self, states: States, lanes: IntArray, joint_moves: IntArray, without: int | None = None
    ) -> Successors | None:
        """Make joint moves, and list the moves after them.

        Args:
            states, lanes, joint_moves: see `turned`.
            without: a role whose moves are not listed.

        Returns:
            the successors; None if the machine can do no better than `step` and `legal`.

        Raises:
            MachineError: these are no moves of the roles.
        """
        number, most = len(joint_moves), 64 * words_of(WIDTH)
        if number > most:
            return None
        packed, step, look = self._packed(states), self._queries.step, self._queries.look
        words = self.num_words, step.starts[-1] - step.starts[1]
        out, seen = (np.empty((number, each), dtype=np.uint64) for each in words)
        over = np.empty(number, dtype=np.bool_)
        offsets = np.empty((len(self.roles), number + 1), dtype=np.int64)
        wanted = np.arange(len(self.roles)) != (-1 if without is None else without)
        ends = np.empty(most, dtype=np.int64)
        with self.turn_scratch(look) as (blank, rows, _, square):
            while True:
                values = np.empty(self._list_room, dtype=np.int64)
                found = list_turns.alike(
                    self.turn_circuit(look),
                    packed,
                    np.ascontiguousarray(lanes),
                    np.ascontiguousarray(joint_moves),
                    wanted,
                    blank,
                    rows,
                    square,
                    ends,
                    out,
                    seen,
                    over,
                    offsets,
                    values,
                    WIDTH,
                )
                if found <= len(values):
                    break
                self._list_room = 2 * found
        if found < 0:
            # Raises an error that says what is wrong.
            self._moves.rows_of(joint_moves, number)
        self.states_visited += number
        asked = step._replace(starts=step.starts - step.starts[1])
        percepts = self._percepts.after(asked, seen, joint_moves)
        legal = [Ragged(each - each[0], values[each[0] : each[-1]]) for each in offsets]
        return Successors(self._states(out), percepts, over, legal)

    def lister(self) -> Lister:
        """What kernels need that list moves and goals by themselves."""
        queries, step = self._queries, self._queries.step
        asked = step._replace(starts=step.starts - step.starts[1])
        points, usual = self._goal_table.reshape(self._num_goals, 2, -1).sum(axis=2).T
        words = words_of(WIDTH)
        goals = Goals(
            queries.goals,
            fluents_read(queries.goals),
            np.ascontiguousarray(points),
            np.ascontiguousarray(usual).astype(np.int64),
            float(self.goal_range[0]),
            float(self.goal_range[1]),
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

    def usual_goals(self, states: States) -> FloatArray | None:
        """`[L, R]` goals of states if each role has one goal value there, which is a number in
        `goal_range`; None if that is not so in some. `random` may have none."""
        held = unpack(self._answers.ask(self._queries.goals, self._packed(states)), self._num_goals)
        goals, counts = np.split(held.astype(np.float64) @ self._goal_table, 2, axis=1)
        counts[:, self._needs_none] += counts[:, self._needs_none] == 0
        return goals if (counts == 1).all() else None

    @property
    def _num_goals(self) -> int:
        return 64 * int(self._queries.goals.starts[-1])

    @property
    def _needs_none(self) -> slice:
        """The role that needs no goal value, if there is one."""
        role = len(self.roles) if self.random_role is None else self.random_role
        return slice(role, role + 1)

    @made_once
    def _goal_table(self) -> FloatArray:
        """`[literals of goals, 2 * R]` what each adds to the goals of roles, and to the numbers of
        usual goal values: 2 where it is not usual."""
        queries, (low, high) = self._queries, self.goal_range
        table = np.zeros((self._num_goals, 2, len(self.roles)))
        for role, outputs in enumerate(queries.circuit.goals[: len(self.roles)]):
            values = np.array([number_or_nan(name) for name in outputs.names])
            usual, first = (values >= low) & (values <= high), 64 * queries.goals.starts[role]
            table[first : first + len(values), 0, role] = np.where(usual, values, 0.0)
            table[first : first + len(values), 1, role] = np.where(usual, 1, 2)
        return table.reshape(self._num_goals, -1)


# ------------------------------------------------------------------------
# What kernels need that ask about new states by themselves: see `kernels.lanes.growing`.
#
# A lister belongs to one tree, and to one thread: it has scratch of its own, and a table of the
# percepts that were seen. Those it lacks it learns from the machine, which spells them.

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
        roles = np.arange(num_roles)
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
            roles >= 0,
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

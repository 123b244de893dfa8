"""The fast machine for games in which `random` makes moves part by part."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from ggp.gdl.program import RANDOM
from ggp.machine.base import UNKNOWN, BoolArray, FloatArray, IntArray, Ragged, States
from ggp.machine.propnet.circuit import Circuit
from ggp.machine.propnet.parts import parts_of
from ggp.machine.propnet.play.kernels.packed import Packed
from ggp.machine.propnet.play.moves import MoveTable
from ggp.machine.propnet.play.part_choices import Choices
from ggp.machine.propnet.play.part_moves import PartMoves
from ggp.machine.propnet.play.propnet_machine import PropnetMachine
from ggp.machine.propnet.reports import PassReport


class PartedMachine(PropnetMachine):
    """`PropnetMachine` on a circuit with `Parts`: it lists moves of `random` only if they are few
    enough, and draws and completes them without a list (see `InParts`)."""

    _moves: PartMoves
    random_role: int

    # ---------------------------------------------------------------- semantics

    def legal(self, states: States, role: int, *, allow_stuck: bool = False) -> Ragged:
        if role != self.random_role:
            return super().legal(states, role, allow_stuck=allow_stuck)
        packed = self._packed(states)
        offsets, rows = self._choices(states, packed).listed(np.arange(len(packed)))
        if not allow_stuck:
            stuck = (np.diff(offsets) == 0) & ~self.terminal(states)
            if stuck.any():
                self._say_stuck(packed, int(np.argmax(stuck)), role)
        return Ragged(offsets, self._moves.interned(rows))

    def draw_chance(self, states: States, rng: np.random.Generator) -> IntArray:
        """See `InParts`."""
        packed = self._packed(states)
        lanes = np.arange(len(packed))
        rows, there = self._choices(states, packed).drawn(lanes, rng)
        moves = np.full(len(packed), UNKNOWN, dtype=np.int64)
        moves[there] = self._moves.interned(rows[there])
        return moves

    def is_legal_chance(self, states: States, moves: IntArray) -> BoolArray:
        """See `InParts`."""
        packed = self._packed(states)
        choices = self._choices(states, packed)
        rows = self._moves.rows_made(moves)
        legal = np.ones(len(moves), dtype=np.bool_)
        for place, lists in enumerate(choices.lists):
            owner = np.repeat(np.arange(len(moves)), lists.counts)
            found = np.zeros(len(moves), dtype=np.bool_)
            found[owner[lists.values == rows[owner, place]]] = True
            legal &= found
        some = np.flatnonzero(legal)
        legal[some] = self._fit(packed, self._moves_of_players(states), some, rows[some])
        return legal

    def step_matching(
        self,
        states: States,
        lanes: IntArray,
        joint_moves: IntArray,
        role: int,
        percepts: IntArray,
    ) -> tuple[IntArray, States] | None:
        """See `Matcher`; joint moves that do not fit are left out."""
        joint_moves = np.asarray(joint_moves)
        found = super().step_matching(states, lanes, joint_moves, role, percepts)
        if found is None:
            stepped = self.step(states.take(lanes), joint_moves)
            wanted = percepts[lanes]
            match = np.flatnonzero((stepped.percepts[:, role] == wanted) | (wanted == UNKNOWN))
            found = match, stepped.states.take(match)
        match, after = found
        fit = np.flatnonzero(self.fits(states, lanes[match], joint_moves[match]))
        if len(fit) == len(match):
            return match, after
        return match[fit], after.take(fit)

    # ---------------------------------------------------------------- parts

    def count_chance(self, states: States) -> FloatArray:
        """See `InParts`."""
        choices = self._choices(states, self._packed(states))
        return choices.counts(np.random.default_rng(0))

    def fits(self, states: States, lanes: IntArray, joint_moves: IntArray) -> BoolArray:
        """See `InParts`."""
        made = self._moves.spread(joint_moves)
        packed = self._packed(states)[lanes]
        return self._fit(packed, made, np.arange(len(made)), made[:, self._movers])

    def chance_columns(self, states: States, percepts: IntArray, role: int) -> list[Ragged]:
        """See `InParts`."""
        lists = self._lists(states)
        for place, mover in enumerate(self._movers):
            behind = super().legal_behind(states, mover, percepts, role, 1)
            if behind is not None:
                lists[place] = behind[0]
        return lists

    def chance_rows(self, moves: IntArray) -> IntArray:
        """See `InParts`."""
        return self._moves.rows_made(moves)

    def chance_moves(self, rows: IntArray) -> IntArray:
        """See `InParts`."""
        return self._moves.interned(rows)

    def legal_behind(
        self, states: States, mover: int, percepts: IntArray, role: int, more_than: int
    ) -> tuple[Ragged, IntArray] | None:
        if mover == self.random_role:
            return None
        return super().legal_behind(states, mover, percepts, role, more_than)

    # ---------------------------------------------------------------- private

    @property
    def _movers(self) -> list[int]:
        """The roles of the circuit that together make the move of `random`."""
        return [self.random_role, *range(self.parts.num_roles, len(self.circuit.roles))]

    def _knows_percepts(self) -> Callable[[str], bool]:
        known, (begin, end) = super()._knows_percepts(), (f"(did {RANDOM} ", ")")

        def knows(percept: str) -> bool:
            if known(percept) or self._is_gdl2 or not percept.startswith(begin):
                return known(percept)
            return self._moves.id(percept[len(begin) : -len(end)]) is not None

        return knows

    def _new_moves(self) -> MoveTable:
        return PartMoves(self._queries, self.parts, self.random_role, self.growing)

    def _choices(self, states: States, packed: Packed) -> Choices:
        lists = self._lists(states)
        apart, nothing = self.parts.apart, self._moves.nothing
        fit = partial(self._fit, packed, self._moves_of_players(states))
        return Choices(lists, apart, nothing, fit, free=self.parts.free)

    def _lists(self, states: States) -> list[Ragged]:
        """For each place of a row, the choices there."""
        legal = super().legal
        return [legal(states, mover, allow_stuck=True) for mover in self._movers]

    def _moves_of_players(self, states: States) -> IntArray:
        """`[L, roles of the circuit]` some legal moves of the players: what a circuit says about
        moves is right only if every role makes one."""
        moves = np.zeros((len(states), len(self.circuit.roles)), dtype=np.int64)
        for role, numbers in enumerate(self._moves.numbers[: len(self.roles)]):
            if role != self.random_role and len(numbers):
                some = self._some_moves(states, role)
                moves[:, role] = np.where(some == UNKNOWN, numbers[0], some)
        return moves

    def _fit(self, packed: Packed, players: IntArray, lanes: IntArray, rows: IntArray) -> BoolArray:
        """`[K]` whether rows of stand-ins and parts fit in some lanes."""
        moves = players[lanes]
        moves[:, self._movers] = rows
        move_rows = self._moves.rows[np.arange(moves.shape[1]), moves]
        out = self._answers.evaluate(self._queries.fits, packed[lanes], move_rows)
        return np.asarray(out[:, 0] != 0)

    def _some_moves(self, states: States, role: int) -> IntArray:
        if role != self.random_role:
            return super()._some_moves(states, role)
        return self.draw_chance(states, np.random.default_rng(0))


def machine_of(
    circuit: Circuit,
    *,
    is_gdl2: bool,
    told_by: str | None = None,
    threads: int = 1,
    reports: Sequence[PassReport] = (),
) -> PropnetMachine:
    """The machine of a circuit: see `PropnetMachine` for the arguments."""
    kind = PartedMachine if parts_of(circuit).apart else PropnetMachine
    return kind(circuit, is_gdl2=is_gdl2, told_by=told_by, threads=threads, reports=reports)

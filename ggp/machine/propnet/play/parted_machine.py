"""The fast machine for games in which `random` makes moves part by part."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from threading import RLock

import numpy as np

from ggp.errors import MachineError, ReasonerLimitError
from ggp.gdl import canonical_term, parse_term
from ggp.gdl.program import RANDOM
from ggp.gdl.terms import Compound, Term, Variable, signature
from ggp.machine.arrays import Packed, chunks, offsets_of
from ggp.machine.base import UNKNOWN, BoolArray, FloatArray, IntArray, Ragged, States
from ggp.machine.circuit import Circuit
from ggp.machine.propnet.optimise.knowledge import PassReport
from ggp.machine.propnet.parts import NONE, Parts, parts_of
from ggp.machine.propnet.play.layout.queries import Queries
from ggp.machine.propnet.play.moves import MoveTable
from ggp.machine.propnet.play.propnet_machine import PropnetMachine
from ggp.machine.rows import RowTable


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

    def _choices(self, states: States, packed: Packed) -> PartChoices:
        lists = self._lists(states)
        apart, nothing = self.parts.apart, self._moves.nothing
        fit = partial(self._fit, packed, self._moves_of_players(states))
        return PartChoices(lists, apart, nothing, fit, free=self.parts.free)

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


# ------------------------------------------------------------------------
# Counts, lists and draws moves of `random` that are made part by part.
#
# A move is a *row*: a stand-in or a listed move, and K parts. For each place of a row there is a
# list of choices. Parts that are drawn apart take their values from equal lists, each value once.
# Of such rows, all equally likely, those that do not fit are dropped:
#
# stand-in (deal ;1 ;2), parts 1 and 2 apart, of a b c: 3 * 2 rows; fits "1 before 2": 3 of them
#
# round 1    lanes draw   a c   c a   b a
#                fit          yes   no    no        these two draw again

MOST_LISTED = 1_000_000
"""Greatest number of rows that one call looks at to list moves."""

AT_ONCE = 1 << 15
"""Number of rows that are looked at together."""

TRIED = 4_096
"""Number of rows that are drawn to estimate how many fit."""

MOST_ROUNDS = 4_096
"""Number of draws that do not fit before the rows of a lane are listed."""

Fits = Callable[[IntArray, IntArray], BoolArray]
"""`[K]` whether rows `[K, 1 + parts]`, given second, fit in lanes `[K]`, given first."""


class PartChoices:
    """The choices for each place of a row in L lanes.

    Args:
        lists: for each place, the choices, stand-ins and listed moves first.
        apart: for each part, the set that it is drawn apart in, 0 for none, as in `Parts`.
        nothing: for each part, the number for having none.
        fits: tells whether rows fit.
        free: whether all rows fit in which parts that are drawn apart are different.
    """

    def __init__(
        self,
        lists: Sequence[Ragged],
        apart: Sequence[int],
        nothing: IntArray,
        fits: Fits,
        *,
        free: bool,
    ) -> None:
        self.lists = lists
        self._apart, self._fits, self._free = apart, fits, free
        # A move without parts may be made as well: then the same number stands in several places,
        # and all rows are drawn, including those with equal values.
        self._mixed = np.zeros(len(lists[0].counts), dtype=np.bool_)
        for each, number in zip(lists[1:], nothing.tolist(), strict=True):
            owner = np.repeat(np.arange(len(each.counts)), each.counts)
            self._mixed[owner[each.values == number]] = True
        self._counts = np.stack([each.counts for each in lists])
        self.num_rows = self._num_rows()

    def _num_rows(self) -> FloatArray:
        """`[L]` number of rows that may be drawn."""
        left = self._counts.astype(np.float64)
        for place, group in enumerate(self._apart, 1):
            if group:
                taken = sum(other == group for other in self._apart[: place - 1])
                left[place] -= np.where(self._mixed, 0, taken)
        return np.asarray(np.maximum(left, 0).prod(axis=0))

    def counts(self, rng: np.random.Generator) -> FloatArray:
        """`[L]` number of moves: exact if all drawn rows fit, or if few rows
        may be drawn; otherwise an unbiased estimate from `TRIED` rows."""
        found = self.num_rows.copy()
        certain = ~self._mixed & self._free | (found == 0)
        for lane in np.flatnonzero(~certain).tolist():
            lanes = np.full(1, lane)
            if self._counts[:, lane].prod(dtype=np.float64) <= AT_ONCE:
                found[lane] = len(self.listed(lanes)[1])
            else:
                lanes = np.full(TRIED, lane)
                share = self._fits(lanes, self._drawn(lanes, rng)).mean()
                found[lane] *= share or self.drawn(lanes[:1], rng)[1][0] / TRIED
        return found

    def listed(self, lanes: IntArray) -> tuple[IntArray, IntArray]:
        """`[L + 1]` offsets, and the rows of all moves of some lanes.

        Raises:
            ReasonerLimitError: there may be too many.
        """
        sizes = self._counts[:, lanes].prod(axis=0, dtype=np.float64)
        total = float(sizes.sum())
        if total > MOST_LISTED:
            doing = f"listing {total:,.0f} moves of random"
            raise ReasonerLimitError("moves in a list", MOST_LISTED, doing)
        counts = np.zeros(len(lanes), dtype=np.int64)
        parts = [np.zeros((0, len(self.lists)), dtype=np.int64)]
        whole = sizes.astype(np.int64)
        for start, end in chunks(whole, AT_ONCE):
            owners = np.repeat(np.arange(start, end), whole[start:end])
            numbers = np.arange(len(owners))
            numbers -= np.repeat(offsets_of(whole[start:end])[:-1], whole[start:end])
            rows = self._numbered(lanes[owners], numbers)
            fit = self._fits(lanes[owners], rows)
            counts += np.bincount(owners[fit], minlength=len(lanes))
            parts.append(rows[fit])
        return offsets_of(counts), np.concatenate(parts)

    def _numbered(self, lanes: IntArray, numbers: IntArray) -> IntArray:
        """The rows with some numbers, which have a digit for each place, the last place's first."""
        rows = np.empty((len(lanes), len(self.lists)), dtype=np.int64)
        for place in range(len(self.lists) - 1, -1, -1):
            sizes = self._counts[place, lanes]
            rows[:, place] = self._at(place, lanes, numbers % sizes)
            numbers = numbers // sizes
        return rows

    def _at(self, place: int, lanes: IntArray, numbers: IntArray) -> IntArray:
        each = self.lists[place]
        return np.asarray(each.values[each.offsets[lanes] + numbers])

    def drawn(self, lanes: IntArray, rng: np.random.Generator) -> tuple[IntArray, BoolArray]:
        """A move in each of some lanes, all equally likely: rows, and whether there is one."""
        rows = np.empty((len(lanes), len(self.lists)), dtype=np.int64)
        there = self.num_rows[lanes] > 0
        waiting = np.flatnonzero(there)
        for _ in range(MOST_ROUNDS):
            if not len(waiting):
                return rows, there
            drawn = self._drawn(lanes[waiting], rng)
            fit = self._fits(lanes[waiting], drawn)
            rows[waiting[fit]] = drawn[fit]
            waiting = waiting[~fit]
        for place in waiting.tolist():
            offsets, found = self.listed(lanes[place : place + 1])
            there[place] = offsets[1] > 0
            if there[place]:
                rows[place] = found[rng.integers(offsets[1])]
        return rows, there

    def _drawn(self, lanes: IntArray, rng: np.random.Generator) -> IntArray:
        """A row in each of some lanes, all rows equally likely."""
        rows = np.empty((len(lanes), len(self.lists)), dtype=np.int64)
        taken: dict[int, list[IntArray]] = {}
        for place, group in enumerate((0, *self._apart)):
            before = taken.get(group, [])
            apart = np.where(self._mixed[lanes], 0, len(before))
            numbers = rng.integers(0, self._counts[place, lanes] - apart)
            if before:
                # The n-th of the values left: skip those taken, from the lowest up.
                ordered = np.sort(np.stack(before), axis=0)
                for each in ordered:
                    numbers += (apart > 0) & (numbers >= each)
            if group:
                taken[group] = [*before, numbers]
            rows[:, place] = self._at(place, lanes, numbers)
        return rows


# ------------------------------------------------------------------------
# The moves of a circuit in which `random` makes some part by part: see `Parts`.
#
# Such a move gets a number when it is first drawn or named: that of the row with its stand-in and
# its parts.

_HOLE = re.compile(r";([0-9]+)")


class PartMoves(MoveTable):
    """M moves that are listed, and those that are made of K parts.

    Joint moves `[L, R]` of the game have one number for the move of `random`. In the circuit they
    are `[L, R + K]`: with one for a stand-in and one for each part.

    Args:
        queries: the queries of a circuit with parts.
        parts: its parts.
        random_role: the role whose moves have parts.
        growing: held while numbers are assigned.
    """

    def __init__(self, queries: Queries, parts: Parts, random_role: int, growing: RLock) -> None:
        super().__init__(queries)
        self._num_roles, self._random = parts.num_roles, random_role
        self._growing = growing
        self._made = RowTable(1 + len(parts.apart))
        own = queries.circuit.legal[random_role].names
        self._patterns = [
            (parse_term(_HOLE.sub(r"?\1", name)), self._ids[name])
            for name in own
            if _HOLE.search(name)
        ]
        stand_ins = [number for _, number in self._patterns]
        is_own = np.zeros(len(self._texts), dtype=np.bool_)
        for numbers in self.numbers[: self._num_roles]:
            is_own[numbers] = True
        is_own[stand_ins] = False
        self._is_own = is_own
        self._part_ids = [
            {self._texts[number]: number for number in numbers.tolist()}
            for numbers in self.numbers[self._num_roles :]
        ]
        self._nothing = np.array([ids.get(NONE, -1) for ids in self._part_ids], dtype=np.int64)
        self._is_stand_in = np.zeros(len(self._texts), dtype=np.bool_)
        self._is_stand_in[stand_ins] = True

    @property
    def nothing(self) -> IntArray:
        """`[K]` the number for having no such part, -1 if every move has it."""
        return self._nothing

    def id(self, move: str) -> int | None:
        text = canonical_term(move)
        listed = self._ids.get(text)
        if listed is not None and self._is_own[listed]:
            return listed
        term = parse_term(text)
        for pattern, stand_in in self._patterns:
            found: dict[int, str] = {}
            if not _matches(pattern, term, found):
                continue
            row = [stand_in, *self._nothing.tolist()]
            for place, text in found.items():
                row[place] = self._part_ids[place - 1].get(text, -1)
            if min(row) >= 0:
                return int(self.interned(np.array([row], dtype=np.int64))[0])
        return None

    def text(self, move: int) -> str:
        made = move - len(self._texts)
        if not 0 <= made < len(self._made):
            return super().text(move)
        stand_in, *parts = self._made.rows[made].tolist()
        return _HOLE.sub(lambda hole: self._texts[parts[int(hole[1]) - 1]], self._texts[stand_in])

    def interned(self, rows: IntArray) -> IntArray:
        """`[L]` the moves of `random` with these stand-ins and parts: `[L, 1 + K]`."""
        found: IntArray = rows[:, 0].copy()
        parted = np.flatnonzero(self._is_stand_in[found])
        if len(parted):
            with self._growing:
                found[parted] = self._made.numbers(rows[parted].astype(np.uint64))
            found[parted] += len(self._texts)
        return found

    def rows_made(self, moves: IntArray) -> IntArray:
        """`[L, 1 + K]` stand-ins and parts of moves of `random`: see `interned`.

        Raises:
            MachineError: there is no such move.
        """
        num = len(self._texts)
        if moves.size and (moves.min() < 0 or moves.max() >= num + len(self._made)):
            wrong = moves[(moves < 0) | (moves >= num + len(self._made))]
            raise MachineError(f"there is no move number {wrong[0]}")
        rows = np.empty((len(moves), 1 + len(self._nothing)), dtype=np.int64)
        rows[:, 0], rows[:, 1:] = moves, self._nothing
        parted = np.flatnonzero(moves >= num)
        if len(parted):
            rows[parted] = self._made.rows[moves[parted] - num]
        return rows

    def spread(self, joint_moves: IntArray) -> IntArray:
        if joint_moves.ndim != 2 or joint_moves.shape[1] != self._num_roles:
            return joint_moves
        made = self.rows_made(joint_moves[:, self._random])
        spread = np.concatenate([joint_moves, made[:, 1:]], axis=1)
        spread[:, self._random] = made[:, 0]
        return np.ascontiguousarray(spread, dtype=np.int64)


def _matches(pattern: Term, term: Term, found: dict[int, str]) -> bool:
    """Whether a term matches a pattern; the values of variables are added to `found`."""
    if isinstance(pattern, Variable):
        found[int(pattern.name)] = str(term)
        return True
    if isinstance(term, Variable) or signature(pattern) != signature(term):
        return False
    if isinstance(pattern, Compound) and isinstance(term, Compound):
        pairs = zip(pattern.args, term.args, strict=True)
        return all(_matches(inner, other, found) for inner, other in pairs)
    return True

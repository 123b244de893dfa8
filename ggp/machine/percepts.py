"""Ids for sets of percepts, and conversion between percepts and joint moves, as in plain GDL.

Machines without a circuit keep one `PerceptTable`. In plain GDL they use `JointPercepts` to turn
joint moves into percepts, and `RevealedMoves` for the other direction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from re import Pattern
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ggp.errors import MachineError, ReasonerLimitError
from ggp.gdl.analysis.growth import growth_message
from ggp.gdl.analysis.told_moves import PLAIN, Causes
from ggp.gdl.program import Program
from ggp.gdl.syntax.reading import MAX_NESTING
from ggp.machine.arrays import enlarged
from ggp.machine.base import UNKNOWN, BoolArray, IntArray, Machine

MAX_KNOWN = 64
"""Greatest number of percepts, seers and movers for which possible moves are remembered."""


def joint_percepts(roles: Sequence[str], moves: Sequence[str]) -> tuple[str, ...]:
    """The percepts of a joint move in plain GDL, sorted; all texts are canonical KIF."""
    return tuple(
        sorted(f"({PLAIN} {role} {move})" for role, move in zip(roles, moves, strict=True))
    )


class JointPercepts:
    """The percept ids of joint moves in plain GDL, with a cache.

    Args:
        program: the rules, for a message about terms that are too deep.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self._ids: dict[tuple[int, ...], int] = {}

    def of(self, machine: Machine, joint_moves: IntArray) -> IntArray:
        """`[L, R]` percept ids of `[L, R]` joint moves: all roles see `(did ROLE MOVE)` of all.

        Raises:
            ReasonerLimitError: a percept nests too deeply to be parsed.
        """
        ids = []
        for row in joint_moves.tolist():
            key = tuple(row)
            if key not in self._ids:
                texts = joint_percepts(machine.roles, list(map(machine.move_text, key)))
                percept = machine.percept_id(texts)
                if percept is None:  # it could not be parsed
                    doing = "telling all roles a joint move"
                    error = ReasonerLimitError("levels of functions", MAX_NESTING, doing)
                    raise error.because(growth_message(self._program))
                self._ids[key] = percept
            ids.append(self._ids[key])
        column = np.array(ids, dtype=np.int64).reshape(-1, 1)
        return np.repeat(column, len(machine.roles), axis=1)


class RevealedMoves:
    """The joint moves in the percepts of one machine, with a cache.

    Args:
        name: the name in these percepts, see `move_percept`; None if percepts do not show
            joint moves.
        growing: held while the table grows; see `ggp.machine.threads`.
    """

    def __init__(self, name: str | None, growing: AbstractContextManager[Any]) -> None:
        self._name, self._growing = name, growing
        # Row p + 1 belongs to percept id p; the first row belongs to `UNKNOWN`.
        self._moves: IntArray | None = None
        self._is_read = np.ones(1, dtype=np.bool_)

    def of(self, machine: Machine, percepts: IntArray) -> IntArray | None:
        """See `Machine.told_moves`."""
        if self._name is None:
            return None
        with self._growing:
            return self._read_all(machine, percepts, self._name)

    def _read_all(self, machine: Machine, percepts: IntArray, name: str) -> IntArray:
        moves = self._moves
        if moves is None:
            moves = np.full((1, len(machine.roles)), UNKNOWN)
        rows = percepts + 1
        length = 1 + int(rows.max(initial=0))
        self._moves = moves = enlarged(moves, length, UNKNOWN)
        self._is_read = enlarged(self._is_read, length, False)
        for row in np.unique(rows[~self._is_read[rows]]).tolist():
            texts = machine.percept_texts(row - 1)
            moves[row] = moves_told(texts, name, machine.roles, machine.move_id)
            self._is_read[row] = True
        return moves[rows]


def moves_told(
    percepts: Iterable[str], name: str, roles: Sequence[str], move_id: Callable[[str], int | None]
) -> list[int]:
    """The move of each role that a set of percepts tells as `(NAME ROLE MOVE)`, else `UNKNOWN`.

    Args:
        percepts: canonical KIF.
        move_id: see `Machine.move_id`.
    """
    moves = [UNKNOWN] * len(roles)
    for text in percepts:
        for role, role_name in enumerate(roles):
            beginning = f"({name} {role_name} "
            if text.startswith(beginning):
                move = move_id(text[len(beginning) : -1])
                moves[role] = UNKNOWN if move is None else move
    return moves


class PossibleMoves:
    """Excludes moves that percepts of one machine cannot stem from: see `Causes`.

    Args:
        program: the rules.
        growing: held while a table grows; see `ggp.machine.threads`.
    """

    def __init__(self, program: Program, growing: AbstractContextManager[Any]) -> None:
        self._causes, self._growing = Causes(program), growing
        # For (percepts, seer, mover): the forms of moves for each percept, and by move id whether
        # a move has one for every percept (`UNKNOWN` if not yet asked).
        self._known: dict[tuple[int, int, int], tuple[list[Pattern[str]], NDArray[np.int8]]] = {}

    def of(
        self, machine: Machine, moves: IntArray, mover: int, percepts: int, seer: int
    ) -> BoolArray | None:
        """See `InfersMoves.may_cause`."""
        key = percepts, seer, mover
        with self._growing:
            if key not in self._known:
                if len(self._known) >= MAX_KNOWN:
                    self._known.clear()
                roles, texts = (
                    (machine.roles[seer], machine.roles[mover]),
                    machine.percept_texts(percepts),
                )
                forms = [form for text in texts if (form := self._causes.forms(text, *roles))]
                self._known[key] = forms, np.zeros(0, dtype=np.int8)
            forms, known = self._known[key]
            if not forms:
                return None
            known = enlarged(known, 1 + int(moves.max(initial=0)), UNKNOWN)
            for move in moves[known[moves] == UNKNOWN].tolist():
                text = machine.move_text(move)
                known[move] = all(form.fullmatch(text) for form in forms)
            self._known[key] = forms, known
            return np.asarray(known[moves] == 1)


# ------------------------------------------------------------------------
# Ids of sets of percepts, the same for all roles and threads.


class PerceptTable:
    """Ids of sets of percepts; id 0 is the empty set. Roles share the ids of equal sets.

    Args:
        known: whether the game can have a percept.
        growing: held while a set gets its id; see `ggp.machine.threads`.
    """

    def __init__(self, accept: Callable[[str], bool], growing: AbstractContextManager[Any]) -> None:
        self._accept = accept
        self.growing = growing
        self._texts: list[tuple[str, ...]] = [()]
        self._ids: dict[tuple[str, ...], int] = {(): 0}

    def __len__(self) -> int:
        return len(self._texts)

    def texts(self, percepts: int) -> tuple[str, ...]:
        """The percepts of a set, sorted.

        Raises:
            MachineError: there is no such set.
        """
        if not 0 <= percepts < len(self._texts):
            raise MachineError(f"there is no set of percepts number {percepts}")
        return self._texts[percepts]

    def find(self, percepts: Sequence[str]) -> int | None:
        """The id of a set of percepts, None if the game cannot have one of them."""
        key = tuple(sorted(set(percepts)))
        if key not in self._ids and not all(map(self._accept, key)):
            return None
        return self.number(key)

    def number(self, key: tuple[str, ...]) -> int:
        """The id of a set of percepts given in sorted order."""
        percept = self._ids.get(key)
        return self._new(key) if percept is None else percept

    def _new(self, key: tuple[str, ...]) -> int:
        with self.growing:
            number = self._ids.get(key, len(self._texts))
            if number == len(self._texts):
                self._texts.append(key)
                self._ids[key] = number  # last, since a thread that finds the id needs its texts
            return number

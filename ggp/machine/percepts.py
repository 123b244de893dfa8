"""Percepts that are the whole joint move, as in plain GDL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from ggp.errors import ReasonerLimitError
from ggp.gdl.analysis.joint_move_percepts import PLAIN
from ggp.gdl.analysis.what_grows import told_growth
from ggp.gdl.program import Program
from ggp.gdl.syntax.shape import MAX_NESTING
from ggp.machine.arrays import enlarged
from ggp.machine.base import UNKNOWN, IntArray, Machine


def joint_percepts(roles: Sequence[str], moves: Sequence[str]) -> tuple[str, ...]:
    """The percepts of a joint move in plain GDL, sorted; all texts are canonical KIF."""
    return tuple(
        sorted(f"({PLAIN} {role} {move})" for role, move in zip(roles, moves, strict=True))
    )


class JointPercepts:
    """Percept ids that are joint moves, as in plain GDL, each found once.

    Args:
        program: the rules, in which a message names the cause of terms too deep to be read.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self._known: dict[tuple[int, ...], int] = {}

    def of(self, machine: Machine, joint_moves: IntArray) -> IntArray:
        """`[L, R]` percept ids of `[L, R]` joint moves: everybody sees `(did ROLE MOVE)` of all.

        Raises:
            ReasonerLimitError: the machine cannot read such a percept.
        """
        ids = []
        for row in joint_moves.tolist():
            key = tuple(row)
            if key not in self._known:
                texts = joint_percepts(machine.roles, list(map(machine.move_text, key)))
                percept = machine.percept_id(texts)
                if percept is None:  # it could not be read again
                    doing = "telling all roles a joint move"
                    error = ReasonerLimitError("levels of functions", MAX_NESTING, doing)
                    raise error.because(told_growth(self._program))
                self._known[key] = percept
            ids.append(self._known[key])
        column = np.array(ids, dtype=np.int64).reshape(-1, 1)
        return np.repeat(column, len(machine.roles), axis=1)


class JointMovesTold:
    """The joint moves that percepts of one machine contain, each read once.

    Args:
        name: name in these percepts, see `told_by`.
        growing: held while the table grows; see `ggp.machine.threads`.
    """

    def __init__(self, name: str, growing: AbstractContextManager[Any]) -> None:
        self._name, self._growing = name, growing
        # Row p + 1 belongs to percept id p: the first one belongs to `UNKNOWN`.
        self._told: IntArray | None = None
        self._is_read = np.ones(1, dtype=np.bool_)

    def of(self, machine: Machine, percepts: IntArray) -> IntArray:
        """`[L, R]` the moves in the percepts of `[L]` ids, `UNKNOWN` where they contain none."""
        with self._growing:
            return self._read_all(machine, percepts)

    def _read_all(self, machine: Machine, percepts: IntArray) -> IntArray:
        told = self._told
        if told is None:
            told = np.full((1, len(machine.roles)), UNKNOWN)
        rows = percepts + 1
        length = 1 + int(rows.max(initial=0))
        self._told = told = enlarged(told, length, UNKNOWN)
        self._is_read = enlarged(self._is_read, length, False)
        for row in np.unique(rows[~self._is_read[rows]]).tolist():
            told[row] = self._read(machine, machine.percept_texts(row - 1))
            self._is_read[row] = True
        return told[rows]

    def _read(self, machine: Machine, texts: Sequence[str]) -> list[int]:
        row = [UNKNOWN] * len(machine.roles)
        for text in texts:
            for role, name in enumerate(machine.roles):
                beginning = f"({self._name} {name} "
                if text.startswith(beginning):
                    found = machine.move_id(text[len(beginning) : -1])
                    row[role] = UNKNOWN if found is None else found
        return row


# ------------------------------------------------------------------------
# Ids of sets of percepts, the same for all roles and threads.


class PerceptTable:
    """Ids of sets of percepts; id 0 is the empty set. Roles share the ids of equal sets.

    Args:
        known: whether the game can have a percept.
        growing: held while a set gets its id; see `ggp.machine.threads`.
    """

    def __init__(self, known: Callable[[str], bool], growing: AbstractContextManager[Any]) -> None:
        self._known = known
        self.growing = growing
        self._texts: list[tuple[str, ...]] = [()]
        self._ids: dict[tuple[str, ...], int] = {(): 0}

    def __len__(self) -> int:
        return len(self._texts)

    def texts(self, percepts: int) -> tuple[str, ...]:
        """The percepts of a set, sorted; KeyError if there is no such set."""
        if not 0 <= percepts < len(self._texts):
            raise KeyError(percepts)
        return self._texts[percepts]

    def find(self, percepts: Sequence[str]) -> int | None:
        """The id of a set of percepts, None if the game cannot have one of them."""
        key = tuple(sorted(set(percepts)))
        if key not in self._ids and not all(map(self._known, key)):
            return None
        return self.number(key)

    def number(self, key: tuple[str, ...]) -> int:
        """The id of a set of percepts given in sorted order."""
        found = self._ids.get(key)
        return self._new(key) if found is None else found

    def _new(self, key: tuple[str, ...]) -> int:
        with self.growing:
            number = self._ids.get(key, len(self._texts))
            if number == len(self._texts):
                self._texts.append(key)
                self._ids[key] = number  # last, since a thread that finds it asks for its texts
            return number

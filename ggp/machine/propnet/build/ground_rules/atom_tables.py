"""Ground atoms by relation, as KIF, in place of the numbers that gringo prints."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ggp.gdl.program import value_order
from ggp.machine.propnet.build.ground_rules.ground_program import Named
from ggp.machine.propnet.build.ground_rules.simplify import NEVER

_WITH_ROLE = frozenset({"does", "legal", "sees"})

_TOKEN = re.compile(r"f?([0-9]+)(\()?|,")


class AtomTables:
    """The atoms that a circuit needs by name.

    Args:
        names: names of the rulesheet, by their numbers in texts of atoms.
        atoms: the number of each atom after rules were simplified; `NEVER` if it cannot hold.
    """

    def __init__(self, names: Sequence[str], atoms: NDArray[np.int32]) -> None:
        self._names = names
        self._atoms = atoms
        self._found: dict[str, list[tuple[str, int]]] = {}
        self._by_role: dict[tuple[str, str], list[tuple[str, int]]] = {}
        self._goals: dict[str, list[tuple[int, str, int]]] = {}
        self._kif: dict[str, str] = {}
        self.terminal: int | None = None

    def add(self, text: str, atom: int) -> None:
        """Add an atom as clingo prints it, such as `legal(3,f17(4,5))`, with its number there."""
        number = int(self._atoms[atom])
        if number == NEVER:
            return
        relation, _, rest = text.partition("(")
        if relation == "terminal":
            self.terminal = number
        elif relation == "ranked":
            rank, role, value = rest[:-1].split(",", 2)
            if role.isdecimal():
                found = self._goals.setdefault(self._names[int(role)], [])
                found.append((int(self._names[int(rank)]), self._text(value), number))
        elif relation in _WITH_ROLE:
            role, _, term = rest[:-1].partition(",")
            if role.isdecimal():
                key = (relation, self._names[int(role)])
                self._by_role.setdefault(key, []).append((self._text(term), number))
        else:
            self._found.setdefault(relation, []).append((self._text(rest[:-1]), number))

    def named(self, relation: str) -> Named:
        """The terms of `init`, `true` or `next`, sorted."""
        return tuple(sorted(self._found.get(relation, ())))

    def by_role(self, relation: str, roles: Sequence[str]) -> tuple[Named, ...]:
        """For each role, the terms of `does`, `legal` or `sees`, sorted."""
        return tuple(tuple(sorted(self._by_role.get((relation, role), ()))) for role in roles)

    def goals(self, roles: Sequence[str]) -> tuple[Named, ...]:
        """For each role, the values of `goal` in the order in which they count."""
        return tuple(
            tuple(
                (value, atom)
                for _, value, atom in sorted(
                    self._goals.get(role, ()), key=lambda goal: (goal[0], value_order(goal[1]))
                )
            )
            for role in roles
        )

    def _text(self, term: str) -> str:
        known = self._kif.get(term)
        if known is None:
            known = self._kif[term] = _TOKEN.sub(self._token, term)
        return known

    def _token(self, match: re.Match[str]) -> str:
        number, opens = match.groups()
        if number is None:
            return " "
        name = self._names[int(number)]
        return f"({name} " if opens else name

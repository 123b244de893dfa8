"""Encodes names of a rulesheet as numbers, so that no untrusted text ever reaches Prolog."""

from __future__ import annotations

import re

from ggp.gdl import to_kif
from ggp.gdl.terms import Compound, Symbol, Term, Variable

_TOKEN = re.compile(r"f?(\d+)(\()?|\)")


class SymbolTable:
    """Numbers for names: in Prolog, the constant `red` may be 17, and the function `cell` f18."""

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}
        self._names: list[str] = []
        self._frozen = False

    def freeze(self) -> None:
        """Accept no more names, since only terms with names of the rules can ever be true."""
        self._frozen = True

    def number(self, name: str) -> int:
        """The number of a name, assigned if it is new.

        Raises:
            KeyError: the name is new and the table is frozen.
        """
        index = self._ids.get(name)
        if index is None:
            if self._frozen:
                raise KeyError(name)
            index = self._ids[name] = len(self._names)
            self._names.append(name)
        return index

    def encode(self, term: Term) -> str:
        """A term as Prolog text: variables `V_<number>`, constants and functions by number.

        Raises:
            KeyError: the table is frozen and the term has a name that the rules do not have.
        """
        if isinstance(term, Symbol):
            return str(self.number(term.name))
        if isinstance(term, Variable):
            return f"V_{self.number('?' + term.name)}"
        args = ",".join(map(self.encode, term.args))
        return f"f{self.number(term.name)}({args})"

    def texts(self, text: str) -> list[str]:
        """The ground terms in a text printed by Prolog, as canonical KIF, sorted."""
        stack: list[tuple[str, list[Term]]] = [("", [])]
        for match in _TOKEN.finditer(text):
            number, opens = match.groups()
            if opens:
                stack.append((self._names[int(number)], []))
            elif number is not None:
                stack[-1][1].append(Symbol(self._names[int(number)]))
            else:
                name, args = stack.pop()
                stack[-1][1].append(Compound(name, tuple(args)))
        return sorted(map(to_kif, stack[0][1]))

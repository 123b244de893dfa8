"""Names of a rulesheet as numbers, so that no stranger's text ever reaches Prolog."""

from __future__ import annotations

import re

from ggp.gdl import to_kif
from ggp.gdl.terms import Compound, Symbol, Term, Variable

_TOKEN = re.compile(r"f?(\d+)(\()?|\)")


class SymbolTable:
    """Numbers for names: the constant `red` is 17 in Prolog, the function `cell` is f18."""

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}
        self._names: list[str] = []
        self._frozen = False

    def freeze(self) -> None:
        """Accept no more names: nothing that the rules do not mention can ever be true."""
        self._frozen = True

    def number(self, name: str) -> int:
        """The number of a name, assigned if it is new.

        Raises:
            KeyError: the name is new and the table is frozen.
        """
        found = self._ids.get(name)
        if found is None:
            if self._frozen:
                raise KeyError(name)
            found = self._ids[name] = len(self._names)
            self._names.append(name)
        return found

    def encode(self, term: Term) -> str:
        """A term as Prolog text: variables `V_<number>`, constants and functions by number.

        Raises:
            KeyError: the table is frozen and the term has a name the rules do not mention.
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

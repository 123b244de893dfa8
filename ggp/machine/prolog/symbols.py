"""Names of a rulesheet as numbers, so that no stranger's text ever reaches Prolog."""

from __future__ import annotations

import re

from ggp.errors import MachineError
from ggp.gdl.terms import Compound, Symbol, Term, Variable

_TOKEN = re.compile(r"k(\()|(?:(f)?(\d+)(\()?)|[,)]")


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

    @property
    def bound(self) -> int:
        """A power of two above all numbers in use and the next one."""
        return 1 << (len(self._names) + 1).bit_length()

    def name(self, number: int) -> str:
        """The name with this number."""
        return self._names[number]

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

    def decode(self, text: str) -> list[Term]:
        """The ground terms in a line printed by Prolog, separated by blanks.

        `k(<n>)` is the fluent without arguments number n.
        """
        stack: list[tuple[str, list[Term]]] = [("", [])]
        for match in _TOKEN.finditer(text):
            wraps, _, number, opens = match.groups()
            if wraps:
                stack.append(("", []))
            elif opens:
                stack.append((self.name(int(number)), []))
            elif number is not None:
                stack[-1][1].append(Symbol(self.name(int(number))))
            elif match.group() == ")":
                name, args = stack.pop()
                stack[-1][1].append(Compound(name, tuple(args)) if name else args[0])
        if len(stack) != 1:
            raise MachineError(f"SWI-Prolog printed a broken term: {text[:200]}")
        return stack[0][1]

"""Terms of rules, moves and fluents as numbers, and back (see `records`)."""

from __future__ import annotations

import numpy as np

from ggp.errors import ReasonerLimitError
from ggp.gdl.terms import Compound, Signature, Symbol, Term, Variable, signature
from ggp.machine.relational.kernels.records import FULL_TERMS, I32
from ggp.machine.relational.kernels.room import GameMemory
from ggp.machine.relational.kernels.term_kernels import make_term, name_term


class TermTable:
    """The numbers of terms.

    Args:
        room: the memory that they are kept in.

    Attributes:
        functions: the functions of terms, by number; names are functions of no arguments.
    """

    def __init__(self, room: GameMemory) -> None:
        self.functions: list[Signature] = []
        self._room = room
        self._numbers: dict[Signature, int] = {}
        self._ground: dict[Term, int] = {}
        self._frozen = False

    def function(self, name: Signature) -> int:
        """The number of a function, assigned if it is new.

        Raises:
            KeyError: it is new, and the table is frozen.
        """
        found = self._numbers.get(name)
        if found is None:
            if self._frozen:
                raise KeyError(name)
            found = self._numbers[name] = len(self.functions)
            self.functions.append(name)
        return found

    def freeze(self) -> None:
        """Keep the numbers of the terms so far, and accept no more functions: what rules do not
        mention can never hold."""
        self._frozen = True
        self._room.keep_terms()

    def number(self, term: Term) -> int:
        """The number of a ground term, assigned if it is new; once frozen, only for a short time.

        Raises:
            KeyError: it has a function that rules do not mention.
            ReasonerLimitError: it is too large.
        """
        found = self._ground.get(term)
        if found is None:
            args = term.args if isinstance(term, Compound) else ()
            assert not isinstance(term, Variable)
            function = self.function(signature(term))
            found = self._make(function, [self.number(arg) for arg in args])
            if not self._frozen:
                self._ground[term] = found
        return found

    def name(self, term: Term) -> int:
        """The permanent number of a term. Raises as `number` does."""
        return name_term(self._room.memory.terms, self.number(term))

    def term(self, name: int) -> Term:
        """The term with a permanent number."""
        return self._term(int(self._room.memory.terms.shown[name]))

    def _term(self, number: int) -> Term:
        terms = self._room.memory.terms
        name, arity = self.functions[terms.functions[number]]
        if not arity:
            return Symbol(name)
        args = terms.arguments[terms.first[number] : terms.first[number + 1]].tolist()
        return Compound(name, tuple(map(self._term, args)))

    def _make(self, function: int, args: list[int]) -> int:
        arguments: I32 = np.array([*args, 0], dtype=np.int32)
        most = self._room.term_size
        while True:
            terms = self._room.memory.terms
            found = make_term(terms, function, arguments, len(args), most)
            if found == FULL_TERMS:
                self._room.grow(found, "reading a term")
            elif found < 0:
                raise ReasonerLimitError("functions in one term", most, "reading a term")
            else:
                return found

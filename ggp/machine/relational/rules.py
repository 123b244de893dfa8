"""The rules of a game as this backend takes them: apart from facts, with relations of our own.

    ranked    (ranked 2 ?role ?value): goal values by the number of their rule in the rulesheet
    hidden    what a negated condition asks for inside of a function, `(not (p (f ?local)))`: so it
              becomes `(not hidden)`, of a relation without that argument
    facts     relations asked for from outside have rules: if there are only facts, a rule for these

No rulesheet has a name with a semicolon.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ggp.errors import ReasonerLimitError
from ggp.gdl.program import (
    GOAL,
    INIT,
    LEGAL,
    NEXT,
    SEES,
    TERMINAL,
    Atom,
    Literal,
    NormalRule,
    Program,
    local_variables,
)
from ggp.gdl.terms import Compound, Signature, Symbol, Term, Variable, signature, variables
from ggp.machine.relational.records import FULL_TERMS, I32
from ggp.machine.relational.room import GameMemory
from ggp.machine.relational.row_kernels import make_term, name_term

Facts = NDArray[np.int32]
"""`[N, K]` rows of terms."""

RANKED: Signature = ("ranked;", 3)
ROOTS = (TERMINAL, LEGAL, NEXT, RANKED, SEES)
"""Relations that are asked for from outside in play."""


class RelationRules:
    """Rules and facts by relation.

    Args:
        program: normalised rules.
        terms: the table that the terms of facts are added to.

    Attributes:
        rules: the rules of relations that are evaluated.
        facts: the rows of relations that are known.
        static: relations that depend neither on the state nor on moves.
    """

    def __init__(self, program: Program, terms: TermTable) -> None:
        self.rules: dict[Signature, list[NormalRule]] = {}
        self.facts: dict[Signature, Facts] = {}
        self.static = program.static
        for rule in _without_hidden([*program.rules, *_ranked(program)]):
            self.rules.setdefault(signature(rule.head), []).append(rule)
        for rules in self.rules.values():
            _note(rules, terms)
        self.rules.setdefault(INIT, [])
        for relation, rules in [*self.rules.items()]:
            if all(not rule.body and not _names(rule.head) for rule in rules):
                rows = [[terms.number(arg) for arg in arguments(rule.head)] for rule in rules]
                facts = np.array(rows, dtype=np.int32).reshape(len(rows), relation[1])
                self.know(relation, facts)

    def know(self, relation: Signature, facts: Facts) -> None:
        """Make a relation known from now on."""
        self.facts[relation] = facts
        del self.rules[relation]

    def answer_roots(self) -> None:
        """Give rules to relations that are known and asked for from outside."""
        for relation in ROOTS:
            if relation in self.facts:
                own = (f"facts;{relation[0]}", relation[1])
                self.facts[own] = self.facts.pop(relation)
                self.rules[relation] = [NormalRule(_general(relation), (Literal(_general(own)),))]


def _note(rules: Sequence[NormalRule], terms: TermTable) -> None:
    """Give numbers to all functions of rules, and to all terms without variables."""
    pending = [
        arg
        for rule in rules
        for x in (rule.head, *(y.atom for y in rule.body))
        for arg in arguments(x)
    ]
    while pending:
        term = pending.pop()
        if not isinstance(term, Variable):
            terms.function(signature(term))
            pending += arguments(term)
            if not _names(term):
                terms.number(term)


def arguments(atom: Term) -> tuple[Term, ...]:
    """The arguments of an atom; a mere name has none."""
    return atom.args if isinstance(atom, Compound) else ()


def _names(term: Term) -> set[str]:
    return {variable.name for variable in variables(term)}


def _general(relation: Signature) -> Atom:
    name, arity = relation
    args = tuple(Variable(str(i)) for i in range(arity))
    return Compound(name, args) if args else Symbol(name)


def _ranked(program: Program) -> Iterator[NormalRule]:
    goals = program.by_head.get(GOAL, ())
    for rule, rank in zip(goals, program.goal_ranks, strict=True):
        head = Compound(RANKED[0], (Symbol(str(rank)), *arguments(rule.head)))
        yield NormalRule(head, rule.body, rule.start)


def _without_hidden(rules: Sequence[NormalRule]) -> Iterator[NormalRule]:
    """The rules, with each local variable of a negated condition as an argument of its own."""
    made: dict[Atom, NormalRule] = {}
    for rule in rules:
        body = list(rule.body)
        for i, literal in enumerate(rule.body):
            local = local_variables(rule, i)
            if local and not _are_plain(literal.atom, local):
                head = _hidden(literal.atom, local, len(made))
                positive = NormalRule(head, (Literal(literal.atom),), rule.start)
                body[i] = Literal(made.setdefault(literal.atom, positive).head, negated=True)
        yield NormalRule(rule.head, tuple(body), rule.start)
    yield from made.values()


def _are_plain(atom: Atom, local: frozenset[str]) -> bool:
    """Whether each local variable is an argument, and of one only."""
    seen = [v.name for v in variables(atom) if v.name in local]
    plain = [arg.name for arg in arguments(atom) if isinstance(arg, Variable) and arg.name in local]
    return len(seen) == len(plain) == len(set(plain))


def _hidden(atom: Atom, local: frozenset[str], number: int) -> Atom:
    known = dict.fromkeys(v.name for v in variables(atom) if v.name not in local)
    name, args = f"hidden;{number}", tuple(map(Variable, known))
    return Compound(name, args) if args else Symbol(name)


# ------------------------------------------------------------------------
# Terms of rules, moves and fluents as numbers, and back (see `records`).


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

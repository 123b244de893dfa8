"""Prepares the rules of a game for the relational backend: facts apart, and some new relations.

    ranked    `(ranked 2 ?role ?value)`: a goal value with the rank of its rule in the rulesheet
    hidden    for a negated condition with a local variable inside of a function, such as
              `(not (p (f ?local)))`, which becomes `(not hidden)`
    facts     the facts of a root relation, which needs a rule, since kernels call it

`compile` takes the result. `TermTable` numbers terms. The new names contain a semicolon, which no
rulesheet can have.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ggp.errors import ReasonerLimitError
from ggp.gdl.analysis.dependencies import any_of
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
from ggp.machine.relational.records import FULL_TERMS, I32, make_term, name_term
from ggp.machine.relational.room import GameMemory

Facts = NDArray[np.int32]
"""`[N, K]` rows of terms."""

RANKED: Signature = ("ranked;", 3)
ROOTS = (TERMINAL, LEGAL, NEXT, RANKED, SEES)
"""The relations that kernels call in play."""


class RelationRules:
    """Rules and facts by relation.

    Args:
        program: normalised rules.
        terms: the table to which the terms of facts are added.

    Attributes:
        rules: the rules of relations that are evaluated.
        facts: the rows of all other relations.
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
        """Replace the rules of a relation by facts."""
        self.facts[relation] = facts
        del self.rules[relation]

    def answer_roots(self) -> None:
        """Give a rule to each root relation that has only facts."""
        for relation in ROOTS:
            if relation in self.facts:
                facts = (f"facts;{relation[0]}", relation[1])
                self.facts[facts] = self.facts.pop(relation)
                self.rules[relation] = [NormalRule(any_of(relation), (Literal(any_of(facts)),))]


def _note(rules: Sequence[NormalRule], terms: TermTable) -> None:
    """Number all functions of rules, and all terms without variables."""
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


def _ranked(program: Program) -> Iterator[NormalRule]:
    goals = program.by_head.get(GOAL, ())
    for rule, rank in zip(goals, program.goal_ranks, strict=True):
        head = Compound(RANKED[0], (Symbol(str(rank)), *arguments(rule.head)))
        yield NormalRule(head, rule.body, rule.start)


def _without_hidden(rules: Sequence[NormalRule]) -> Iterator[NormalRule]:
    """Yield rules in which each local variable of a negated condition is a whole argument."""
    hidden: dict[Atom, NormalRule] = {}
    for rule in rules:
        body = list(rule.body)
        for i, literal in enumerate(rule.body):
            local = local_variables(rule, i)
            if local and not _are_plain(literal.atom, local):
                head = _hidden(literal.atom, local, len(hidden))
                positive = NormalRule(head, (Literal(literal.atom),), rule.start)
                body[i] = Literal(hidden.setdefault(literal.atom, positive).head, negated=True)
        yield NormalRule(rule.head, tuple(body), rule.start)
    yield from hidden.values()


def _are_plain(atom: Atom, local: frozenset[str]) -> bool:
    """Whether each local variable is a whole argument, and occurs once."""
    seen = [v.name for v in variables(atom) if v.name in local]
    plain = [arg.name for arg in arguments(atom) if isinstance(arg, Variable) and arg.name in local]
    return len(seen) == len(plain) == len(set(plain))


def _hidden(atom: Atom, local: frozenset[str], number: int) -> Atom:
    names = dict.fromkeys(v.name for v in variables(atom) if v.name not in local)
    name, args = f"hidden;{number}", tuple(map(Variable, names))
    return Compound(name, args) if args else Symbol(name)


# ------------------------------------------------------------------------
# Conversion of terms to numbers and back (see `records`).


class TermTable:
    """The numbers of terms.

    Args:
        room: the memory with the terms.

    Attributes:
        functions: the functions of terms, by number; constants are functions without arguments.
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
        number = self._numbers.get(name)
        if number is None:
            if self._frozen:
                raise KeyError(name)
            number = self._numbers[name] = len(self.functions)
            self.functions.append(name)
        return number

    def freeze(self) -> None:
        """Make the terms so far permanent, and accept no more functions, since only terms of the
        rules' functions can ever hold."""
        self._frozen = True
        self._room.keep_terms()

    def number(self, term: Term) -> int:
        """The number of a ground term, assigned if new; once frozen, until terms are collected.

        Raises:
            KeyError: the term has a function that the rules do not have.
            ReasonerLimitError: the term is too large.
        """
        index = self._ground.get(term)
        if index is None:
            args = term.args if isinstance(term, Compound) else ()
            assert not isinstance(term, Variable)
            function = self.function(signature(term))
            index = self._make(function, [self.number(arg) for arg in args])
            if not self._frozen:
                self._ground[term] = index
        return index

    def name(self, term: Term) -> int:
        """The permanent number of a term; raises the same errors as `number`."""
        return name_term(self._room.memory.terms, self.number(term))

    def term(self, name: int) -> Term:
        """The term with a permanent number."""
        return self._term(int(self._room.memory.terms.by_name[name]))

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
            number = make_term(terms, function, arguments, len(args), most)
            if number == FULL_TERMS:
                self._room.grow(number, "reading a term")
            elif number < 0:
                raise ReasonerLimitError("functions in one term", most, "reading a term")
            else:
                return number

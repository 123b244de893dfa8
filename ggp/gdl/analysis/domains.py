"""The values that argument positions can take: a superset, computed from rules alone.

A position is a path into a relation: argument 0 of `cell/3`, or argument 1 of the function
`f/2` inside argument 0 of `true/1`. `init`, `next` and `true` share their positions, and so
do `legal` and `does`. Values flow along shared variables, from conditions to heads, until nothing
changes. If a rule has a variable in several conditions, the values at its first occurrence count:
the true values are a subset of these.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import product

from ggp.gdl.program import KEYWORD_ARITY, Literal, NormalRule
from ggp.gdl.terms import Compound, Signature, Symbol, Term, Variable, signature

Position = tuple[tuple[Signature, int], ...]
"""(relation, argument), then (function, argument) for every level below."""

MAX_DEPTH = 5
"""Positions below this depth are ignored, so that domains stay finite."""

_SHARED = {"init": ("true", 1), "next": ("true", 1), "does": ("legal", 2)}


def position(relation: Signature, argument: int) -> Position:
    """The position of an argument of a relation."""
    name, arity = relation
    shared = _SHARED.get(name)
    if shared is not None and shared[1] == arity:
        relation = shared
    return ((relation, argument),)


def occurrences(atom: Term) -> Iterable[tuple[str, Position]]:
    """Yield the name and position of every variable in an atom."""
    if isinstance(atom, Compound):
        for i, arg in enumerate(atom.args):
            yield from _inside(arg, position(signature(atom), i))


def _inside(term: Term, at: Position) -> Iterable[tuple[str, Position]]:
    if isinstance(term, Variable):
        yield term.name, at
    elif isinstance(term, Compound):
        for i, arg in enumerate(term.args):
            yield from _inside(arg, (*at, (signature(term), i)))


def with_uses(rules: Sequence[NormalRule]) -> list[NormalRule]:
    """The rules, and for each condition on an author's relation a rule that makes it hold.

    These let values flow backwards, from uses to the relation. The values of `(plus 0 ?x ?x)` or of
    `(<= (differ ?x ?y) (distinct ?x ?y))` can come only from uses.
    """
    uses: dict[NormalRule, None] = {}
    for rule in rules:
        for i, literal in enumerate(rule.body):
            if isinstance(literal.atom, Compound) and literal.atom.name not in KEYWORD_ARITY:
                conditions = tuple(x for j, x in enumerate(rule.body) if j != i and x.binds)
                uses[NormalRule(literal.atom, (*conditions, Literal(rule.head)))] = None
    return [*rules, *uses]


class Domains:
    """Values of argument positions of a set of rules.

    Args:
        rules: all rules that values may come from.
        most_flows: bound on the number of flows between two positions, of up to a hundred values
            each, since nested functions can make very many positions; None for no bound.

    Attributes:
        whole: false if `most_flows` was reached, so that values are missing.
    """

    def __init__(self, rules: Sequence[NormalRule], most_flows: int | None = None) -> None:
        self.whole = True
        self._constants: dict[Position, dict[str, None]] = {}
        self._functions: dict[Position, dict[Signature, None]] = {}
        self._flows: dict[Position, dict[Position, None]] = {}
        self._unbound: dict[Position, None] = {}
        for rule in rules:
            self._read(rule)
        self._spread(most_flows)

    def values(self, at: Position, limit: int) -> list[Term] | None:
        """The ground terms of a position in order of appearance; None if more than `limit`."""
        if len(at) > MAX_DEPTH:
            return []
        terms: list[Term] = [Symbol(name) for name in self._constants.get(at, ())]
        for function in self._functions.get(at, ()):
            columns = []
            size = 1
            for i in range(function[1]):
                column = self.values((*at, (function, i)), limit)
                if column is None:
                    return None
                columns.append(column)
                size *= len(column)
                if size > limit:
                    return None
            terms.extend(Compound(function[0], args) for args in product(*columns))
        return terms if len(terms) <= limit else None

    def constants(self, at: Position) -> tuple[str, ...]:
        """The constants of a position in order of appearance."""
        return tuple(self._constants.get(at, ()))

    def functions(self, at: Position) -> tuple[Signature, ...]:
        """The functions of the terms of a position, in order of appearance."""
        return tuple(self._functions.get(at, ()))

    def is_open(self, at: Position) -> bool:
        """Whether a position can take any value, because no positive condition binds it."""
        return at in self._open

    def impossible(self, term: Term, at: Position) -> tuple[Term, Position] | None:
        """An impossible part of a term, and its position; None if the term is possible.

        Variables, open positions (`is_open`), and positions deeper than `MAX_DEPTH` are possible.
        """
        if isinstance(term, Variable) or len(at) > MAX_DEPTH or at in self._open:
            return None
        if isinstance(term, Symbol):
            return None if term.name in self._constants.get(at, ()) else (term, at)
        if signature(term) not in self._functions.get(at, ()):
            return term, at
        parts = (
            self.impossible(arg, (*at, (signature(term), i))) for i, arg in enumerate(term.args)
        )
        return next((part for part in parts if part is not None), None)

    @cached_property
    def _open(self) -> set[Position]:
        """The positions that can take any value; positions inside them are not listed."""
        sources: dict[Position, list[Position]] = {}
        for source in self._flows:
            for length in range(1, len(source) + 1):
                sources.setdefault(source[:length], []).append(source)
        reached = set(self._unbound)
        pending = list(reached)
        while pending:
            for source in sources.get(pending.pop(), ()):
                for target in self._flows[source]:
                    if target not in reached:
                        reached.add(target)
                        pending.append(target)
        return reached

    def _read(self, rule: NormalRule) -> None:
        sources: dict[str, Position] = {}
        for literal in rule.body:
            if literal.binds:
                for name, at in occurrences(literal.atom):
                    sources.setdefault(name, at)
        if isinstance(rule.head, Compound):
            for i, arg in enumerate(rule.head.args):
                self._flow_in(arg, position(signature(rule.head), i), sources)

    def _flow_in(self, term: Term, at: Position, sources: dict[str, Position]) -> None:
        if len(at) > MAX_DEPTH:
            return
        if isinstance(term, Symbol):
            self._constants.setdefault(at, {})[term.name] = None
        elif isinstance(term, Variable):
            source = sources.get(term.name)
            if source is None or len(source) > MAX_DEPTH:
                self._unbound[at] = None
            if source is not None and source != at:
                self._flows.setdefault(source, {})[at] = None
        else:
            self._functions.setdefault(at, {})[signature(term)] = None
            for i, arg in enumerate(term.args):
                self._flow_in(arg, (*at, (signature(term), i)), sources)

    def _spread(self, most_flows: int | None) -> None:
        """Let values flow until nothing changes, or there were too many flows."""
        pending = list(self._flows)
        flows = 0
        while pending:
            source = pending.pop()
            for target in list(self._flows.get(source, ())):
                pending.extend(self._copy(source, target))
                flows += 1 + len(self._constants.get(source, ())) // 100
            if most_flows is not None and flows > most_flows:
                self.whole = False
                return

    def _copy(self, source: Position, target: Position) -> list[Position]:
        changed: list[Position] = []
        if len(target) > MAX_DEPTH:
            return changed
        constants = self._constants.setdefault(target, {})
        num_constants = len(constants)
        constants.update(self._constants.get(source, {}))
        functions = self._functions.setdefault(target, {})
        for function in list(self._functions.get(source, ())):
            if function not in functions:
                functions[function] = None
                num_constants = -1
            for i in range(function[1]):
                inner, outer = (*source, (function, i)), (*target, (function, i))
                flows = self._flows.setdefault(inner, {})
                if outer not in flows and len(outer) <= MAX_DEPTH and inner != outer:
                    flows[outer] = None
                    changed.append(inner)
        if len(constants) != num_constants:
            changed.append(target)
        return changed

"""The values that argument positions can take, approximated from above.

A position is a path into a relation: argument 0 of `cell/3`, or argument 1 of the function
`f/2` inside argument 0 of `true/1`. `init`, `next` and `true` share their positions, and so
do `legal` and `does`. Constants flow from heads to bodies along shared variables until
nothing changes; where a variable occurs several times, its first bound occurrence counts.
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
"""Functions nested deeper than this are left out: domains stay finite."""

_SHARED = {"init": ("true", 1), "next": ("true", 1), "does": ("legal", 2)}


def position(relation: Signature, argument: int) -> Position:
    """The position of an argument of a relation."""
    name, arity = relation
    shared = _SHARED.get(name)
    if shared is not None and shared[1] == arity:
        relation = shared
    return ((relation, argument),)


def occurrences(atom: Term) -> Iterable[tuple[str, Position]]:
    """(name, position) of every variable in an atom."""
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
    """The rules, plus one for each use of an author's own relation that makes it hold there.

    Nothing but the uses of `(plus 0 ?x ?x)` or of `(<= (differ ?x ?y) (distinct ?x ?y))` tells
    which values there are.
    """
    uses: dict[NormalRule, None] = {}
    for rule in rules:
        for i, literal in enumerate(rule.body):
            if isinstance(literal.atom, Compound) and literal.atom.name not in KEYWORD_ARITY:
                others = tuple(x for j, x in enumerate(rule.body) if j != i and x.binds)
                uses[NormalRule(literal.atom, (*others, Literal(rule.head)))] = None
    return [*rules, *uses]


class Domains:
    """Values of argument positions of a set of rules.

    Args:
        rules: all those that values may come from.
        most_flows: number of times that values may flow from one position to another, in hundreds
            at a time, as functions inside of functions can make a great many positions; None for
            no bound.

    Attributes:
        whole: false if `most_flows` was not enough, so that values are missing.
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
        """The ground terms of a position in order of first appearance; None if over `limit`."""
        if len(at) > MAX_DEPTH:
            return []
        found: list[Term] = [Symbol(name) for name in self._constants.get(at, ())]
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
            found.extend(Compound(function[0], args) for args in product(*columns))
        return found if len(found) <= limit else None

    def constants(self, at: Position) -> tuple[str, ...]:
        """The constants of a position in order of first appearance."""
        return tuple(self._constants.get(at, ()))

    def functions(self, at: Position) -> tuple[Signature, ...]:
        """The functions that terms of a position may begin with, in order of first appearance."""
        return tuple(self._functions.get(at, ()))

    def is_open(self, at: Position) -> bool:
        """Whether a position can take any value: one that no positive condition binds."""
        return at in self._open

    def impossible(self, term: Term, at: Position) -> tuple[Term, Position] | None:
        """A part of a term that its position can never take, and where; None if all is possible.

        Anything is possible for variables, for what a head takes from a variable that no positive
        condition of its rule binds, and for what nests deeper than `MAX_DEPTH`.
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
        """The positions that can take any value, without those inside of them."""
        sources: dict[Position, list[Position]] = {}
        for source in self._flows:
            for length in range(1, len(source) + 1):
                sources.setdefault(source[:length], []).append(source)
        found = set(self._unbound)
        pending = list(found)
        while pending:
            for source in sources.get(pending.pop(), ()):
                for target in self._flows[source]:
                    if target not in found:
                        found.add(target)
                        pending.append(target)
        return found

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
        """Let values flow until nothing changes or there are too many."""
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
        before = len(constants)
        constants.update(self._constants.get(source, {}))
        functions = self._functions.setdefault(target, {})
        for function in list(self._functions.get(source, ())):
            if function not in functions:
                functions[function] = None
                before = -1
            for i in range(function[1]):
                inner, outer = (*source, (function, i)), (*target, (function, i))
                flows = self._flows.setdefault(inner, {})
                if outer not in flows and len(outer) <= MAX_DEPTH and inner != outer:
                    flows[outer] = None
                    changed.append(inner)
        if len(constants) != before:
            changed.append(target)
        return changed

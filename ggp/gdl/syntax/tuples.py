"""Tuples: terms without a name, such as `(X, 1)` in infix syntax and `(?n coins)` in KIF.

GDL has none, but some rulesheets use them. They are parsed as terms of the function `tuple`, and
printed without it again. In KIF, `(3 coins)` may be a term with a name or a tuple, and must be the
same kind as `(?n coins)` where the two meet. So wherever a list may begin with a variable or a
list, all lists of the same length are tuples. Terms meet in an argument of a relation or function,
or in a variable; `Tuples` computes these classes of places with union-find.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterator, Sequence

from ggp.gdl.syntax.findings import Findings, quoted
from ggp.gdl.terms import CONNECTIVES, Compound, Rule, Symbol, Term, Variable

TUPLE = "tuple"
"""The function of all tuples."""

UNNAMED = {TUPLE: ""}
"""Spells `(tuple a b)` as `(a b)`; see `ggp.gdl.syntax.names.spelled`."""

_SHARED = {("init", 1): "true", ("next", 1): "true", ("does", 2): "legal", ("sees", 2): "legal"}
"""Relations that share a place: those of fluents; and those of moves and percepts, since messages
may hold either."""

_MOVE = ("legal", 2, 1)
_DID_MOVE = ("did", 2, 1, "in")
"""The place of the move in a percept `(did ROLE MOVE)` of plain GDL."""

_Place = Hashable
"""A place for terms: an argument of a relation or function, or a variable of a rule."""


def warn_of_tuples(rules: Sequence[Rule], named: Collection[int], findings: Findings) -> bool:
    """Whether there are tuples without a name; warns about the first.

    Args:
        named: the offsets of terms with the explicit name `tuple`.
    """
    starts = {
        term.start: term
        for number, rule in enumerate(rules)
        for _, term in _terms(rule, number)
        if isinstance(term, Compound) and term.name == TUPLE and term.start not in named
    }
    if starts:
        first = starts[min(starts)]
        message = f"this term has no name, as terms of GDL have; read as {quoted(str(first))}"
        findings.warn("tuple", message, first.start)
    return bool(starts)


class Tuples:
    """Finds the tuples of a KIF rulesheet.

    Args:
        rules: the parsed rules, in which lists that begin with a variable or a list are terms of
            `TUPLE` already.

    Attributes:
        rules: the rules with all tuples as terms of `TUPLE`.
    """

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._parents: dict[_Place, _Place] = {}
        self._lengths: dict[_Place, set[int]] = defaultdict(set)
        self._named: dict[_Place, list[tuple[str, int]]] = defaultdict(list)
        self._changed: list[_Place] = []
        self._merge(_DID_MOVE, _MOVE)
        for number, rule in enumerate(rules):
            for place, term in _terms(rule, number):
                if isinstance(term, Variable):
                    self._merge(place, (number, term.name))
                elif isinstance(term, Compound) and term.name == TUPLE:
                    self._lengths[self._root(place)].add(len(term.args))
                elif isinstance(term, Compound):
                    self._named[self._root(place)].append((term.name, len(term.args)))
        self._changed += self._lengths
        while self._changed:
            self._take_names(self._root(self._changed.pop()))
        self.rules = tuple(
            Rule(head, tuple(body), rule.start)
            for number, rule in enumerate(rules)
            for head, *body in [[self._in_condition(x, number) for x in (rule.head, *rule.body)]]
        )

    def __bool__(self) -> bool:
        return any(self._lengths.values())

    def in_message(self, term: Term) -> Term:
        """A move or percept from a message, with all tuples in it as terms of `TUPLE`."""
        return self._in_term(term, _MOVE)

    def _in_term(self, term: Term, place: _Place) -> Term:
        if not isinstance(term, Compound):
            return term
        name, args = term.name, term.args
        if name != TUPLE and self._is_tuple(place, len(args) + 1):
            name, args = TUPLE, (Symbol(name, term.start), *args)
        inner = [self._in_term(arg, (name, len(args), i, "in")) for i, arg in enumerate(args)]
        return Compound(name, tuple(inner), term.start)

    def _in_condition(self, term: Term, rule: int) -> Term:
        if not isinstance(term, Compound):
            return term
        if term.name in CONNECTIVES - {"distinct"}:
            args = [self._in_condition(arg, rule) for arg in term.args]
        else:
            args = [self._in_term(arg, place) for place, arg in _arguments(term, rule)]
        return Compound(term.name, tuple(args), term.start)

    def _take_names(self, root: _Place) -> None:
        """Make tuples of named lists at a place that has tuples of their length."""
        lengths, named = self._lengths[root], dict.fromkeys(self._named.pop(root, ()))
        self._named[root] = [key for key in named if key[1] + 1 not in lengths]
        for name, num in named:
            for i in range(num if num + 1 in lengths else 0):
                self._merge((name, num, i, "in"), (TUPLE, num + 1, i + 1, "in"))

    def _is_tuple(self, place: _Place, num: int) -> bool:
        """Whether lists of `num` terms are tuples at a place."""
        return num in self._lengths.get(self._root(place), ())

    def _root(self, place: _Place) -> _Place:
        while place in self._parents:
            above = self._parents[place]
            self._parents[place] = self._parents.get(above, above)
            place = above
        return place

    def _merge(self, source: _Place, target: _Place) -> None:
        source, target = self._root(source), self._root(target)
        if source == target:
            return
        self._parents[source] = target
        self._lengths[target] |= self._lengths.pop(source, set())
        self._named[target] += self._named.pop(source, ())
        self._changed.append(target)


def _arguments(atom: Compound, rule: int) -> Iterator[tuple[_Place, Term]]:
    """Yield each argument of a relation, with its place."""
    num = len(atom.args)
    name = _SHARED.get((atom.name, num), atom.name)
    for i, arg in enumerate(atom.args):
        yield (name, num, i) if name != "distinct" else (name, rule, atom.args), arg


def _terms(rule: Rule, number: int) -> Iterator[tuple[_Place, Term]]:
    """Yield each term in the relations of a rule, with its place."""
    conditions = [rule.head, *rule.body]
    while conditions:
        atom = conditions.pop()
        if not isinstance(atom, Compound):
            continue
        if atom.name in CONNECTIVES - {"distinct"}:
            conditions += atom.args
            continue
        pending = list(_arguments(atom, number))
        while pending:
            place, term = pending.pop()
            yield place, term
            if isinstance(term, Compound):
                num = len(term.args)
                pending += [((term.name, num, i, "in"), arg) for i, arg in enumerate(term.args)]

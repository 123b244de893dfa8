"""Finds terms of a game that grow without end, and the rule that makes them.

Values flow from places in conditions to places in heads, and on the way functions are put around
them or taken off. Terms can only grow without end where values come back to a place with more
functions around them:

    (<= (next (n (s ?x))) (true (n ?x)))        n -> n, one more: grows
    (<= (next (n ?x)) (true (n (s ?x))))        n -> n, one less: does not

This approximates from above, as other conditions may stop the growth. It is certain where none can:
where a rule takes any fluent of a function and asks nothing else about it (`surely`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ggp.gdl.analysis.domains import position
from ggp.gdl.program import (
    DOES,
    GOAL,
    INIT,
    LEGAL,
    NEXT,
    SEES,
    TERMINAL,
    TRUE,
    Atom,
    Literal,
    NormalRule,
    Program,
)
from ggp.gdl.syntax.printer import to_kif
from ggp.gdl.terms import Compound, Signature, Term, Variable, signature, variables

# ------------------------------------------------------------------------
# An upper bound on how deep the terms of a game can nest.

_Place_of_growth = tuple[Signature, int]


def terms_grow(rules: Sequence[NormalRule], depth: int) -> bool:
    """Whether functions may become nested deeper than `depth` in a relation's argument.

    False is certain; true is not.
    """
    known: dict[_Place_of_growth, int] = {}
    waiting: dict[Signature, list[NormalRule]] = {}
    for rule in rules:
        for literal in rule.body:
            waiting.setdefault(_relation(literal.atom), []).append(rule)
    pending = list(rules)
    while pending:
        rule = pending.pop()
        if not isinstance(rule.head, Compound):
            continue
        bound = _bounds(rule, known)
        relation = _relation(rule.head)
        deeper = False
        for i, arg in enumerate(rule.head.args):
            found = _depth(arg, bound)
            if found > depth:
                return True
            if found > known.get((relation, i), -1):
                known[relation, i] = found
                deeper = True
        if deeper:
            pending.extend(waiting.get(relation, ()))
    return False


def _relation(atom: Term) -> Signature:
    """The relation that an atom shares arguments with: `true` for `next`, `legal` for `does`."""
    return position(signature(atom), 0)[0][0]


def _bounds(rule: NormalRule, known: dict[_Place_of_growth, int]) -> dict[str, int]:
    """The greatest depth to which the values of each variable nest."""
    bounds: dict[str, int] = {}
    for literal in rule.body:
        if literal.binds and isinstance(literal.atom, Compound):
            relation = _relation(literal.atom)
            for i, arg in enumerate(literal.atom.args):
                _bound_inside(arg, known.get((relation, i), 0), bounds)
    return bounds


def _bound_inside(term: Term, depth: int, bounds: dict[str, int]) -> None:
    if isinstance(term, Variable):
        bounds[term.name] = min(depth, bounds.get(term.name, depth))
    elif isinstance(term, Compound):
        for arg in term.args:
            _bound_inside(arg, max(depth - 1, 0), bounds)


def _depth(term: Term, bounds: dict[str, int]) -> int:
    if isinstance(term, Variable):
        return bounds.get(term.name, 0)
    if isinstance(term, Compound):
        return 1 + max(_depth(arg, bounds) for arg in term.args)
    return 0


_DEEP = 200
"""Number of functions around a value that is too many for a place: twice what rules can write."""

_Place = tuple[Signature, Signature | None, int]
"""A relation, the function of its fluent, move or percept, and an argument of that function.
Without a function it is an argument of the relation: any fluent of it."""

_WITH_TERM = {
    **dict.fromkeys((INIT, NEXT, TRUE), (TRUE, 0)),
    **dict.fromkeys((LEGAL, DOES), (LEGAL, 1)),
    SEES: (SEES, 1),
}
"""Relations of fluents, moves and percepts: the relation they share places with, the argument."""

_ASKED = (INIT, LEGAL, NEXT, SEES, GOAL, TERMINAL)
"""Relations for which is asked, whatever they hold of."""

_SHARED = (TRUE, LEGAL)
"""Relations whose conditions may be about any term: `(true ?f)`, `(does white ?m)`."""


class GrowingTerm(NamedTuple):
    """A function or relation whose arguments grow, and the rule that wraps them in functions."""

    name: str
    rule: NormalRule


class _Found(NamedTuple):
    """A variable in an atom: its place, and the number of functions around it there."""

    name: str
    place: _Place
    depth: int


class _Raise(NamedTuple):
    """The cause of a place's depth: the values of another place, with so many more functions."""

    source: _Place
    more: int
    rule: NormalRule | None


def what_grows(rules: Sequence[NormalRule], *, surely: bool = False) -> GrowingTerm | None:
    """A function or relation that may grow without end; None if none was found.

    Args:
        surely: count only fluents that do grow once such a rule has applied, for as long as the
            game goes on.
    """
    return _Depths(rules, surely).growth()


def endless_rule(rules: Sequence[NormalRule]) -> NormalRule | None:
    """A rule by which a relation holds of infinitely many terms, all of which are asked for.

    Only what is certain counts: recursion through rules whose one condition takes anything.
    """
    asked = _asked_whole(rules)
    takers = [rule for rule in rules if signature(rule.head) in asked and _takes_all(rule)]
    given = {signature(rule.head) for rule in rules if not rule.body}
    while (found := what_grows(takers)) is not None:
        if given & {signature(found.rule.head), signature(found.rule.body[0].atom)}:
            return found.rule
        takers.remove(found.rule)
    return None


def _asked_whole(rules: Sequence[NormalRule]) -> set[Signature]:
    """Relations for all of whose terms rules ask: no other condition bounds them."""
    bodies: dict[Signature, list[NormalRule]] = {}
    for rule in rules:
        bodies.setdefault(signature(rule.head), []).append(rule)
    asked = set(_ASKED)
    pending = list(asked)
    while pending:
        for rule in bodies.get(pending.pop(), ()):
            positive = [literal.atom for literal in rule.body if literal.binds]
            times = Counter(v.name for atom in positive for v in {*variables(atom)})
            wanted = {variable.name for variable in variables(rule.head)}
            for atom in positive:
                names = _all_variables(atom)
                alone = all(times[name] == 1 for name in names)
                if alone and names & wanted and signature(atom) not in asked:
                    asked.add(signature(atom))
                    pending.append(signature(atom))
    return asked


def told_growth(program: Program) -> str:
    """A message that says what grows in a game and where; empty if nothing does."""
    found = what_grows(program.rules)
    if found is None:
        return ""
    line, column = program.source.position(found.rule.start)
    where = f"{program.source.name}:{line}:{column}" if line else program.source.name
    return f"the terms of `{found.name}` grow by {to_kif(found.rule.head)} ({where})"


def with_growth(text: str, program: Program) -> str:
    """A message that something does not end, and what grows in the game, if anything does."""
    return "; ".join(filter(None, (text, told_growth(program))))


class _Depths:
    """How deep functions nest in each place, counted up until one is too deep."""

    def __init__(self, rules: Sequence[NormalRule], surely: bool) -> None:
        self._surely = surely
        self._depths: dict[_Place, int] = {}
        self._raises: dict[_Place, _Raise] = {}
        self._readers: dict[_Place, list[NormalRule]] = {}
        self._bodies: dict[NormalRule, dict[str, list[_Found]]] = {}
        for rule in rules:
            if isinstance(rule.head, Compound) and (not surely or signature(rule.head) == NEXT):
                body: dict[str, list[_Found]] = {}
                self._bodies[rule] = body
                for found in self._read(rule):
                    body.setdefault(found.name, []).append(found)
                    self._readers.setdefault(found.place, []).append(rule)
        self._wholes = [place for place in self._readers if place[0] in _SHARED and not place[1]]

    def growth(self) -> GrowingTerm | None:
        """The place that nests too deep because its values come back to it."""
        pending = list(self._bodies)
        while pending:
            rule = pending.pop()
            assert isinstance(rule.head, Compound)
            for found in _places(rule.head):
                for place in self._raised(rule, found):
                    if self._depths[place] > _DEEP:
                        grown = self._cycle(place)
                        if grown is not None:
                            return grown
                    else:
                        pending.extend(self._readers.get(place, ()))
        return None

    def _read(self, rule: NormalRule) -> Iterator[_Found]:
        """The variables that a body binds."""
        times = Counter(v.name for literal in rule.body for v in variables(literal.atom))
        for literal in rule.body:
            counts = literal.binds and (not self._surely or _takes_any(literal, times))
            if counts and isinstance(literal.atom, Compound):
                yield from _places(literal.atom)

    def _raised(self, rule: NormalRule, found: _Found) -> Iterator[_Place]:
        """The places that a variable of a head makes deeper."""
        sources = self._bodies[rule].get(found.name)
        if sources is None:
            return
        least = min(sources, key=lambda each: self._depths.get(each.place, 0) - each.depth)
        more = found.depth - least.depth
        depth = max(self._depths.get(least.place, 0) + more, 0)
        if depth <= self._depths.get(found.place, -1):
            return
        yield from self._raise(found.place, depth, _Raise(least.place, more, rule))

    def _raise(self, place: _Place, depth: int, by: _Raise) -> Iterator[_Place]:
        self._depths[place], self._raises[place] = depth, by
        yield place
        for whole in self._wholes if place[1] else ():
            if place[0] == whole[0] and depth + 1 > self._depths.get(whole, -1):
                self._depths[whole], self._raises[whole] = depth + 1, _Raise(place, 1, None)
                yield whole

    def _cycle(self, place: _Place) -> GrowingTerm | None:
        """The rule that nests, on the path by which a place's values came back to it."""
        way: list[_Place] = []
        while place not in way:
            way.append(place)
            if place not in self._raises:
                return None
            place = self._raises[place].source
        cycle = way[way.index(place) :]
        if sum(self._raises[each].more for each in cycle) <= 0:
            return None
        found = []
        for place in cycle:
            by = self._raises[place]
            # A whole fluent is wrapped in the function that its own rule makes.
            target, rule = (place, by.rule) if by.rule else (by.source, self._rule_of(by.source))
            if by.more > 0 and rule is not None:
                found.append(GrowingTerm((target[1] or target[0])[0], rule))
        return min(found, key=lambda growth: growth.rule.start, default=None)

    def _rule_of(self, place: _Place) -> NormalRule | None:
        return self._raises[place].rule if place in self._raises else None


def _takes_all(rule: NormalRule) -> bool:
    """Whether a rule has one condition, which any terms of another relation of the rules meet."""
    if len(rule.body) != 1 or not rule.body[0].binds:
        return False
    atom = rule.body[0].atom
    if not isinstance(atom, Compound) or signature(atom) in _WITH_TERM:
        return False
    return bool(_all_variables(atom))


def _all_variables(atom: Atom) -> set[str]:
    """The arguments of an atom, if they are different variables; else none."""
    args = atom.args if isinstance(atom, Compound) else ()
    names = {arg.name for arg in args if isinstance(arg, Variable)}
    return names if len(names) == len(args) else set()


def _takes_any(literal: Literal, times: Counter[str]) -> bool:
    """Whether a condition accepts any fluent of a function, and no other condition is about it."""
    fluent = literal.atom.args[0] if isinstance(literal.atom, Compound) else literal.atom
    if signature(literal.atom) != TRUE or not isinstance(fluent, Compound):
        return False
    return all(isinstance(arg, Variable) and times[arg.name] == 1 for arg in fluent.args)


def _places(atom: Compound) -> Iterator[_Found]:
    relation, function, args = signature(atom), None, atom.args
    if relation in _WITH_TERM:
        relation, number = _WITH_TERM[relation]
        term = args[number]
        if isinstance(term, Compound):
            function, args = signature(term), term.args
        else:
            args = (term,)
    for i, arg in enumerate(args):
        for name, depth in _inside(arg, 0):
            yield _Found(name, (relation, function, i), depth)


def _inside(term: Term, depth: int) -> Iterator[tuple[str, int]]:
    if isinstance(term, Variable):
        yield term.name, depth
    elif isinstance(term, Compound):
        for arg in term.args:
            yield from _inside(arg, depth + 1)

"""Finds terms of a game that grow without end, and the rule that makes them.

Backends ask whether terms need a check of their size in play; messages about limits name the cause.
Values flow from places in conditions to places in heads, and on the way functions are put around
them or taken off. Terms can only grow without end where values come back to a place with more
functions around them:

    (<= (next (n (s ?x))) (true (n ?x)))        n -> n, one more: grows
    (<= (next (n ?x)) (true (n (s ?x))))        n -> n, one less: does not

This is an upper bound, since other conditions may stop the growth. Growth is certain only where no
condition can stop it: where a rule takes any fluent of a function and requires nothing else of it
(`surely`).
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
from ggp.gdl.terms import Compound, Signature, Term, Variable, signature, variables

# ------------------------------------------------------------------------
# An upper bound on the nesting of terms.

_Argument = tuple[Signature, int]


def terms_grow(rules: Sequence[NormalRule], depth: int) -> bool:
    """Whether functions may nest deeper than `depth`; false is certain, true is not."""
    depths: dict[_Argument, int] = {}
    waiting: dict[Signature, list[NormalRule]] = {}
    for rule in rules:
        for literal in rule.body:
            waiting.setdefault(_relation(literal.atom), []).append(rule)
    pending = list(rules)
    while pending:
        rule = pending.pop()
        if not isinstance(rule.head, Compound):
            continue
        bound = _bounds(rule, depths)
        relation = _relation(rule.head)
        deeper = False
        for i, arg in enumerate(rule.head.args):
            arg_depth = _depth(arg, bound)
            if arg_depth > depth:
                return True
            if arg_depth > depths.get((relation, i), -1):
                depths[relation, i] = arg_depth
                deeper = True
        if deeper:
            pending.extend(waiting.get(relation, ()))
    return False


def _relation(atom: Term) -> Signature:
    """The relation whose arguments an atom shares: `true` for `next`, `legal` for `does`."""
    return position(signature(atom), 0)[0][0]


def _bounds(rule: NormalRule, depths: dict[_Argument, int]) -> dict[str, int]:
    """The greatest depth of the values of each variable."""
    bounds: dict[str, int] = {}
    for literal in rule.body:
        if literal.binds and isinstance(literal.atom, Compound):
            relation = _relation(literal.atom)
            for i, arg in enumerate(literal.atom.args):
                _bound_inside(arg, depths.get((relation, i), 0), bounds)
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
"""Depth at which a place counts as growing: twice the nesting that a rulesheet may have."""

_Place = tuple[Signature, Signature | None, int]
"""A relation, the function of its fluent, move or percept, and the index of an argument of that
function. Without a function, the index of an argument of the relation."""

_WITH_TERM = {
    **dict.fromkeys((INIT, NEXT, TRUE), (TRUE, 0)),
    **dict.fromkeys((LEGAL, DOES), (LEGAL, 1)),
    SEES: (SEES, 1),
}
"""Relations of fluents, moves and percepts: the relation whose places they share, and the index of
the argument."""

_ASKED = (INIT, LEGAL, NEXT, SEES, GOAL, TERMINAL)
"""Relations that are evaluated for all of their terms in play."""

_SHARED = (TRUE, LEGAL)
"""Relations whose conditions may be about any term: `(true ?f)`, `(does white ?m)`."""


class GrowingTerm(NamedTuple):
    """A function or relation whose arguments grow, and the rule that wraps them in functions."""

    name: str
    rule: NormalRule


class _Occurrence(NamedTuple):
    """A variable in an atom: its place, and the number of functions around it."""

    name: str
    place: _Place
    depth: int


class _Raise(NamedTuple):
    """The cause of a place's depth: values of another place, with `rise` more functions."""

    source: _Place
    rise: int
    rule: NormalRule | None


def growing_term(rules: Sequence[NormalRule], *, surely: bool = False) -> GrowingTerm | None:
    """A function or relation that may grow without end; None if there is none.

    Args:
        surely: only fluents that certainly grow until the game ends, once the rule has applied.
    """
    return _Depths(rules, surely).growth()


def endless_rule(rules: Sequence[NormalRule]) -> NormalRule | None:
    """A rule that makes a relation hold for infinitely many terms, all of which are evaluated.

    Only certain cases count: recursion through rules whose only condition matches any term.
    """
    relations = _unbounded_relations(rules)
    takers = [rule for rule in rules if signature(rule.head) in relations and _takes_all(rule)]
    with_facts = {signature(rule.head) for rule in rules if not rule.body}
    while (growth := growing_term(takers)) is not None:
        if with_facts & {signature(growth.rule.head), signature(growth.rule.body[0].atom)}:
            return growth.rule
        takers.remove(growth.rule)
    return None


def _unbounded_relations(rules: Sequence[NormalRule]) -> set[Signature]:
    """Relations that rules evaluate for all terms: no other condition bounds their arguments."""
    bodies: dict[Signature, list[NormalRule]] = {}
    for rule in rules:
        bodies.setdefault(signature(rule.head), []).append(rule)
    relations = set(_ASKED)
    pending = list(relations)
    while pending:
        for rule in bodies.get(pending.pop(), ()):
            positive = [literal.atom for literal in rule.body if literal.binds]
            times = Counter(v.name for atom in positive for v in {*variables(atom)})
            head_names = {variable.name for variable in variables(rule.head)}
            for atom in positive:
                names = _all_variables(atom)
                is_free = all(times[name] == 1 for name in names)
                if is_free and names & head_names and signature(atom) not in relations:
                    relations.add(signature(atom))
                    pending.append(signature(atom))
    return relations


def growth_message(program: Program) -> str:
    """A message that names the term that grows in a game, and its rule; empty if there is none."""
    growth = growing_term(program.rules)
    if growth is None:
        return ""
    line, column = program.source.position(growth.rule.start)
    place = f"{program.source.name}:{line}:{column}" if line else program.source.name
    return f"the terms of `{growth.name}` grow by {growth.rule.head} ({place})"


def with_growth(text: str, program: Program) -> str:
    """The text, followed by the message about a growing term of the game, if there is one."""
    return "; ".join(filter(None, (text, growth_message(program))))


class _Depths:
    """The nesting of functions in each place, raised rule by rule until one place is too deep.

    Each raise remembers its cause. Following the causes from a place that is too deep leads back to
    it, or shows that the depth comes from a finite source.
    """

    def __init__(self, rules: Sequence[NormalRule], surely: bool) -> None:
        self._surely = surely
        self._depths: dict[_Place, int] = {}
        self._raises: dict[_Place, _Raise] = {}
        self._readers: dict[_Place, list[NormalRule]] = {}
        self._bodies: dict[NormalRule, dict[str, list[_Occurrence]]] = {}
        for rule in rules:
            if isinstance(rule.head, Compound) and (not surely or signature(rule.head) == NEXT):
                body: dict[str, list[_Occurrence]] = {}
                self._bodies[rule] = body
                for occurrence in self._read(rule):
                    body.setdefault(occurrence.name, []).append(occurrence)
                    self._readers.setdefault(occurrence.place, []).append(rule)
        self._wholes = [place for place in self._readers if place[0] in _SHARED and not place[1]]

    def growth(self) -> GrowingTerm | None:
        """The term that nests too deep because its values come back to its place."""
        pending = list(self._bodies)
        while pending:
            rule = pending.pop()
            assert isinstance(rule.head, Compound)
            for occurrence in _places(rule.head):
                for place in self._raised(rule, occurrence):
                    if self._depths[place] > _DEEP:
                        term = self._cycle(place)
                        if term is not None:
                            return term
                    else:
                        pending.extend(self._readers.get(place, ()))
        return None

    def _read(self, rule: NormalRule) -> Iterator[_Occurrence]:
        """Yield the variables that a body binds."""
        times = Counter(v.name for literal in rule.body for v in variables(literal.atom))
        for literal in rule.body:
            counts = literal.binds and (not self._surely or _takes_any(literal, times))
            if counts and isinstance(literal.atom, Compound):
                yield from _places(literal.atom)

    def _raised(self, rule: NormalRule, target: _Occurrence) -> Iterator[_Place]:
        """Raise the place of a variable of a head; yield the places that become deeper."""
        sources = self._bodies[rule].get(target.name)
        if sources is None:
            return
        source = min(sources, key=lambda source: self._depths.get(source.place, 0) - source.depth)
        rise = target.depth - source.depth
        depth = max(self._depths.get(source.place, 0) + rise, 0)
        if depth <= self._depths.get(target.place, -1):
            return
        yield from self._raise(target.place, depth, _Raise(source.place, rise, rule))

    def _raise(self, place: _Place, depth: int, cause: _Raise) -> Iterator[_Place]:
        self._depths[place], self._raises[place] = depth, cause
        yield place
        for whole in self._wholes if place[1] else ():
            if place[0] == whole[0] and depth + 1 > self._depths.get(whole, -1):
                self._depths[whole], self._raises[whole] = depth + 1, _Raise(place, 1, None)
                yield whole

    def _cycle(self, place: _Place) -> GrowingTerm | None:
        """The first rule that adds functions on a place's cycle of causes; None without one."""
        path: list[_Place] = []
        while place not in path:
            path.append(place)
            if place not in self._raises:
                return None
            place = self._raises[place].source
        cycle = path[path.index(place) :]
        if sum(self._raises[place].rise for place in cycle) <= 0:
            return None
        growths = []
        for place in cycle:
            by = self._raises[place]
            # A whole fluent is wrapped in the function that its own rule makes.
            target, rule = (place, by.rule) if by.rule else (by.source, self._rule_of(by.source))
            if by.rise > 0 and rule is not None:
                growths.append(GrowingTerm((target[1] or target[0])[0], rule))
        return min(growths, key=lambda growth: growth.rule.start, default=None)

    def _rule_of(self, place: _Place) -> NormalRule | None:
        return self._raises[place].rule if place in self._raises else None


def _takes_all(rule: NormalRule) -> bool:
    """Whether a rule has a single condition, which matches all terms of an author's relation."""
    if len(rule.body) != 1 or not rule.body[0].binds:
        return False
    atom = rule.body[0].atom
    if not isinstance(atom, Compound) or signature(atom) in _WITH_TERM:
        return False
    return bool(_all_variables(atom))


def _all_variables(atom: Atom) -> set[str]:
    """The arguments of an atom if they are distinct variables; else nothing."""
    args = atom.args if isinstance(atom, Compound) else ()
    names = {arg.name for arg in args if isinstance(arg, Variable)}
    return names if len(names) == len(args) else set()


def _takes_any(literal: Literal, times: Counter[str]) -> bool:
    """Whether a condition accepts any fluent of a function, and no other condition is about it."""
    fluent = literal.atom.args[0] if isinstance(literal.atom, Compound) else literal.atom
    if signature(literal.atom) != TRUE or not isinstance(fluent, Compound):
        return False
    return all(isinstance(arg, Variable) and times[arg.name] == 1 for arg in fluent.args)


def _places(atom: Compound) -> Iterator[_Occurrence]:
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
            yield _Occurrence(name, (relation, function, i), depth)


def _inside(term: Term, depth: int) -> Iterator[tuple[str, int]]:
    if isinstance(term, Variable):
        yield term.name, depth
    elif isinstance(term, Compound):
        for arg in term.args:
            yield from _inside(arg, depth + 1)

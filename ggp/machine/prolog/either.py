"""Rules that differ in one test, as one rule: `or` in a rulesheet makes such rules.

Where `(or (distinct ?m ?j) (distinct ?n ?k))` keeps a cell, each of the two rules that it stands
for would list nearly all cells again.
"""

from __future__ import annotations

from collections.abc import Iterable

from ggp.gdl.program import Atom, Literal, NormalRule, atom_of
from ggp.gdl.safety import order_conditions
from ggp.gdl.terms import Compound

_EITHER, _NOT, _IS = "either;", "not;", "is;"


def merged(rules: Iterable[NormalRule]) -> list[NormalRule]:
    """Rules that mean the same, in which those that differ in nothing but a test are one.

    A condition that stands for several tests is a negated one of a relation that no rulesheet
    has: `any_of` says what it means.
    """
    groups: dict[Atom, list[NormalRule]] = {}
    for rule in rules:
        groups.setdefault(rule.head, []).append(rule)
    return [rule for group in groups.values() for rule in _merged(group)]


def any_of(literal: Literal) -> tuple[Literal, ...]:
    """The tests of which one must hold: the literal itself if it does not stand for several."""
    atom = literal.atom
    if not isinstance(atom, Compound) or atom.name != _EITHER:
        return (literal,)
    marked = [arg for arg in atom.args if isinstance(arg, Compound)]
    return tuple(Literal(atom_of(x.args[0]), x.name == _NOT) for x in marked)


def _merged(rules: list[NormalRule]) -> list[NormalRule]:
    """The same for rules of one head."""
    while len(rules) > 1:
        places: dict[frozenset[Literal], dict[int, Literal]] = {}
        for number, rule in enumerate(rules):
            for literal in rule.body:
                if not literal.binds:
                    places.setdefault(frozenset(rule.body) - {literal}, {})[number] = literal
        rest, found = max(places.items(), key=lambda place: len(place[1]), default=((), {}))
        if len(found) < 2:
            break
        first = rules[min(found)]
        tests = dict.fromkeys(test for literal in found.values() for test in any_of(literal))
        marks = (Compound(_NOT if test.negated else _IS, (test.atom,)) for test in tests)
        either = Literal(Compound(_EITHER, tuple(marks)), negated=True)
        body = (*(literal for literal in first.body if literal in rest), either)
        kept = [rule for number, rule in enumerate(rules) if number not in found]
        rules = [*kept, order_conditions(NormalRule(first.head, body, first.start))]
    return rules

"""Merges rules that differ in one test into one rule: `or` in a rulesheet makes such rules.

Where `(or (distinct ?m ?j) (distinct ?n ?k))` keeps a cell, each of the two rules that it stands
for would list nearly all cells again.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heapify, heappop, heappush

from ggp.gdl.program import Atom, Literal, NormalRule, atom_of
from ggp.gdl.rewriting.safety import order_conditions
from ggp.gdl.terms import Compound

_EITHER, _NOT, _IS = "either;", "not;", "is;"

MAX_PASSES = 12
"""Number of times that merged rules are merged again; 12 times `or` in a rule makes 4,096 rules."""


def merged(rules: Iterable[NormalRule]) -> list[NormalRule]:
    """Equivalent rules, in which those that differ in nothing but a test are one.

    A condition that stands for several tests is a negated one of a relation that no rulesheet
    has: `any_of` gives its meaning.
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
    """Merge the rules of one head."""
    for _ in range(MAX_PASSES):
        fewer = _merged_once(rules)
        if len(fewer) == len(rules):
            break
        rules = fewer
    return rules


def _merged_once(rules: list[NormalRule]) -> list[NormalRule]:
    """Merge each rule with one group at most, the largest groups first; in about linear time."""
    places, places_of = _places(rules)
    queue = [(-len(found), i, at) for i, (at, found) in enumerate(places.items()) if len(found) > 1]
    heapify(queue)
    new: list[NormalRule] = []
    while queue:
        size, i, at = heappop(queue)
        found = places[at]
        if len(found) < -size:  # Some have become part of another rule.
            if len(found) > 1:
                heappush(queue, (-len(found), i, at))
            continue
        merged_rule, gone = _one_of(rules, found)
        new.append(merged_rule)
        for number in gone:
            for place in places_of.pop(number):
                places[place].pop(number, None)
    return [*(rules[number] for number in places_of), *new] if new else rules


def _places(rules: list[NormalRule]) -> tuple[dict[int, dict[int, Literal]], dict[int, list[int]]]:
    """For each rest of a rule, the rules with it and their tests; and the rests of every rule.

    A rest is the sum of the hashes of its conditions: listing it for every test of a rule would
    take the square of the rule's length.
    """
    places: dict[int, dict[int, Literal]] = {}
    places_of: dict[int, list[int]] = {}
    for number, rule in enumerate(rules):
        hashes = {literal: hash(literal) for literal in rule.body}
        whole = sum(hashes.values())
        places_of[number] = []
        for literal, value in hashes.items():
            if not literal.binds:
                place = whole - value
                places.setdefault(place, {})[number] = literal
                places_of[number].append(place)
    return places, places_of


def _one_of(rules: list[NormalRule], found: dict[int, Literal]) -> tuple[NormalRule, list[int]]:
    """One rule for those that have the same rest as the first, and their numbers."""
    first, test = next((rules[number], literal) for number, literal in found.items())
    rest = set(first.body) - {test}
    gone = [
        number for number, literal in found.items() if set(rules[number].body) - {literal} == rest
    ]
    tests = dict.fromkeys(test for number in gone for test in any_of(found[number]))
    marks = (Compound(_NOT if test.negated else _IS, (test.atom,)) for test in tests)
    either = Literal(Compound(_EITHER, tuple(marks)), negated=True)
    body = (*(literal for literal in first.body if literal in rest), either)
    return order_conditions(NormalRule(first.head, body, first.start)), gone

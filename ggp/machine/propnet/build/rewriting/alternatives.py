"""Merges rules that differ in one condition into one rule, with a relation in its place.

`(<= (p ?x) (q ?x ?y) (or (r ?y) (s ?y)))` is two rules once `or` is unfolded, and everything that
the rest of it becomes is made twice. As `(<= (p ?x) (q ?x ?y) (either ?y))`, it is made once, and
two small rules define `either`.
"""

from __future__ import annotations

from collections.abc import Sequence

from ggp.gdl.program import Atom, Literal, NormalRule
from ggp.gdl.rewriting.safety import order_conditions
from ggp.gdl.terms import Compound, Symbol, Variable, variables


def with_alternatives(rules: Sequence[NormalRule], prefix: str = "either") -> list[NormalRule]:
    """Equivalent rules, in which those with one head that differ in one condition are one.

    Only positive conditions are merged, and only where they bind the same variables.

    Args:
        rules: some rules of a game; variables of different rules may have equal names by chance.
        prefix: the new relations are called `prefix;0`, `prefix;1`, ...
    """
    groups: dict[Atom, list[NormalRule]] = {}
    for rule in rules:
        groups.setdefault(rule.head, []).append(rule)
    relations: dict[tuple[Literal, ...], Atom] = {}
    merged = [rule for group in groups.values() for rule in _merged(group, relations, prefix)]
    merged += [NormalRule(head, (x,)) for found, head in relations.items() for x in found]
    return merged


def _merged(
    rules: list[NormalRule], relations: dict[tuple[Literal, ...], Atom], prefix: str
) -> list[NormalRule]:
    """Rules of one head, merged as far as possible; adds new relations and their conditions."""
    while len(rules) > 1:
        places: dict[tuple[frozenset[Literal], tuple[str, ...]], list[tuple[int, Literal]]] = {}
        for number, rule in enumerate(rules):
            for literal in rule.body:
                if literal.binds and len(rule.body) > 1:
                    key = (frozenset(rule.body) - {literal}, _names(literal))
                    places.setdefault(key, []).append((number, literal))
        most = max(map(len, places.values()), default=0)
        if most < 2:
            break
        (rest, names), found = next(place for place in places.items() if len(place[1]) == most)
        alternatives = tuple(sorted((literal for _, literal in found), key=str))
        name = f"{prefix};{len(relations)}"
        new = Compound(name, tuple(map(Variable, names))) if names else Symbol(name)
        either = relations.setdefault(tuple(dict.fromkeys(alternatives)), new)
        first = rules[found[0][0]]
        body = (*(literal for literal in first.body if literal in rest), Literal(either))
        gone = {number for number, _ in found}
        kept = [rule for number, rule in enumerate(rules) if number not in gone]
        rules = [*kept, order_conditions(NormalRule(first.head, body, first.start))]
    return rules


def _names(literal: Literal) -> tuple[str, ...]:
    return tuple(sorted({variable.name for variable in variables(literal.atom)}))

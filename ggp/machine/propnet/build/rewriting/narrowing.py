"""Merges rules of one head that leave a variable of it open, without that variable.

`(<= (p ?x ?y) (q ?x) (n ?y))` and `(<= (p ?x ?y) (r ?x) (n ?y))` only say of ?y that it is an n.
Both have an instance for every ?x and ?y. `(<= (p ?x ?y) (open ?x) (n ?y))` means the same with
`(<= (open ?x) (q ?x))` and `(<= (open ?x) (r ?x))`: then only one rule has that many instances, and
the others have one for each ?x.
"""

from __future__ import annotations

from collections.abc import Sequence

from ggp.gdl.program import Atom, Literal, NormalRule
from ggp.gdl.terms import Compound, Signature, Symbol, Variable, signature
from ggp.machine.propnet.build.rewriting.decompose import GIVEN
from ggp.machine.propnet.build.rewriting.extents import Extents
from ggp.machine.propnet.build.rewriting.new_relations import names_in

FEWEST = 3
"""Least number of values of a variable worth leaving out: with two, two rules gain nothing."""

_Open = dict[str, frozenset[Literal]]
"""For each variable that a rule leaves open, the conditions that define its values."""


def narrowed(
    rules: Sequence[NormalRule], static: frozenset[Signature], extents: Extents
) -> list[NormalRule]:
    """Equivalent rules, merged where several leave the same variable open.

    Args:
        rules: some rules of a game; those with one head have the same names of variables in it.
        static: relations that depend neither on the state nor on moves.
        extents: estimates of the numbers of values of variables.
    """
    groups: dict[Atom, list[NormalRule]] = {}
    for rule in rules:
        groups.setdefault(rule.head, []).append(rule)
    found: list[NormalRule] = []
    parts: list[NormalRule] = []
    for head, group in groups.items():
        left = [(rule, _open(rule, static, extents)) for rule in group]
        while (most := _most(left)) is not None:
            name = f"open;{len(parts)}"
            together = [rule for rule, open_ in left if most.items() <= open_.items()]
            kept = [each for each in names_in([head]) if each not in most]
            atom = Compound(name, tuple(map(Variable, kept))) if kept else Symbol(name)
            said = frozenset[Literal]().union(*most.values())
            for rule in together:
                body = tuple(x for x in rule.body if x not in said)
                parts.append(NormalRule(atom, body, rule.start))
            values = [x for x in together[0].body if x in said]
            found.append(NormalRule(head, (Literal(atom), *values), together[0].start))
            left = [(rule, open_) for rule, open_ in left if rule not in together]
        found += [rule for rule, _ in left]
    return [*found, *parts]


def _open(rule: NormalRule, static: frozenset[Signature], extents: Extents) -> _Open:
    """The variables of the head about which a rule only says which values they may have."""
    open_: dict[str, set[Literal]] = {name: set() for name in names_in([rule.head])}
    for literal in rule.body:
        names = names_in([literal.atom])
        says_values = (
            len(names) == 1
            and literal.binds
            and signature(literal.atom) in static
            and not literal.atom.name.startswith(GIVEN)
            and extents.of(literal).values[names[0]] >= FEWEST
        )
        for name in names:
            if says_values and name in open_:
                open_[name].add(literal)
            else:
                open_.pop(name, None)
    found = {name: frozenset(said) for name, said in open_.items() if said}
    # Some of the body must be left.
    everything = frozenset[Literal]().union(*found.values())
    return found if any(literal not in everything for literal in rule.body) else {}


def _most(rules: Sequence[tuple[NormalRule, _Open]]) -> _Open | None:
    """The variables that most of several rules leave open, None if no two leave the same open."""
    shared: dict[tuple[str, frozenset[Literal]], int] = {}
    for _, open_ in rules:
        for item in open_.items():
            shared[item] = shared.get(item, 0) + 1
    best = max(shared, key=lambda item: shared[item], default=None)
    if best is None or shared[best] < 2:
        return None
    all_of_them = [open_.items() for _, open_ in rules if best in open_.items()]
    return dict(item for item in all_of_them[0] if all(item in each for each in all_of_them))

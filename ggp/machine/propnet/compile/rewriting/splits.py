"""Chooses the rules to ground in place of the author's: split, and restricted to what is asked for.

The rules that become facts come first, so that these can be counted, then the others. Where the
ground rules of these are expected to cost too much, they are made only for what is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ggp.gdl.analysis.dependencies import always_true, static_relations, unchanging, with_unchanging
from ggp.gdl.program import GOAL, Atom, Literal, NormalRule, Program, atom_of, resolve, unify
from ggp.gdl.rewriting.safety import order_conditions
from ggp.gdl.terms import Compound, Signature, Symbol, Variable, signature, substitute, variables
from ggp.machine.propnet.compile.rewriting.decompose import cost, decompose, project_locals
from ggp.machine.propnet.compile.rewriting.demand import restricted
from ggp.machine.propnet.compile.rewriting.extents import Extents, RelationSize, Sizes
from ggp.machine.propnet.compile.rewriting.translate import RANKED, with_ranks

LARGE = 3_000_000.0
"""Expected cost of ground rules above which they are made only for what is asked for."""

MOST_FACTS = 100_000.0
"""Expected number of facts above which they are not counted to make a forecast: that takes half a
second."""

Tables = Mapping[Signature, RelationSize]
Count = Callable[[Sequence[NormalRule]], Tables]
"""Counts the atoms of relations that depend on nothing."""


class Split(NamedTuple):
    """Rules equivalent to those of a game.

    Attributes:
        fixed: rules that become facts.
        moving: the others, before they were split.
        parts: the others, split.
        static: relations that depend neither on the state nor on moves.
        counted: the counted tables of these.
        recursive: relations whose rules are left as they are.
        extents: estimates that decide what to split, with the new relations.
        is_counted: whether facts were counted for them.
    """

    fixed: list[NormalRule]
    moving: list[NormalRule]
    parts: list[NormalRule]
    static: frozenset[Signature]
    counted: Tables
    recursive: frozenset[Signature]
    extents: Extents
    is_counted: bool

    @property
    def rules(self) -> list[NormalRule]:
        """All rules."""
        return [*self.fixed, *self.parts]


def whole_rules(program: Program) -> list[NormalRule]:
    """The rules of a game as any grounding needs them."""
    rules = with_ranks(program.rules, program.goal_ranks)
    kept = unchanging(rules)
    return project_locals([*with_unchanging(rules, kept), *always_true(kept)])


def split(program: Program, count: Count, most_facts: float | None = None) -> Split:
    """Split the rules of a game.

    Args:
        program: normalised rules.
        count: counts facts.
        most_facts: expected number of facts above which they are not counted.
    """
    rules = whole_rules(program)
    # If `goal` leads back to itself, it does so through its rules with ranks.
    recursive = program.recursive | ({RANKED} if GOAL in program.recursive else set())
    static = static_relations(rules)
    fixed = [rule for rule in rules if signature(rule.head) in static]
    moving = [rule for rule in rules if signature(rule.head) not in static]
    fixed = decompose(fixed, Extents(rules, static, {}), prefix="fixed")
    few = most_facts is None or _facts(fixed) <= most_facts
    counted = count(fixed) if few else {}
    extents = Extents(rules, static, counted)
    parts = decompose(moving, extents, recursive)
    return Split(fixed, moving, parts, static, counted, recursive, extents, few)


def asked_for(program: Program, found: Split) -> list[NormalRule]:
    """The rules to ground: if they cost too much, only for what is asked for."""
    fixed, parts = found.fixed, found.parts
    if cost(parts, found.extents) <= LARGE:
        return found.rules
    static = found.static | frozenset(signature(rule.head) for rule in fixed)
    moving = with_differences([*fixed, *with_alternatives(found.moving)], static)[len(fixed) :]
    extents = Extents([*fixed, *moving], static, found.counted)
    asked = with_alternatives(decompose(moving, extents, found.recursive, asked=True), "or")
    return restricted(program.roles, [*fixed, *asked], static, extents) or found.rules


def expected_whole(program: Program) -> float:
    """Expected number of ground rules if no rule is split: hardly fewer than there will be."""
    rules = whole_rules(program)
    sizes = Sizes(rules, Extents(rules, static_relations(rules), {}), at_most=True)
    return sum(sizes.instances(rule) for rule in rules if rule.body)


def _facts(rules: Sequence[NormalRule]) -> float:
    """The number of facts that rules are expected to derive."""
    sizes = Sizes(rules, Extents(rules, frozenset(), {}))
    return sum(sizes.instances(rule) for rule in rules if rule.body)


# ------------------------------------------------------------------------
# Merges rules that differ in one condition into one rule, with a relation in its place.
#
# `(<= (p ?x) (q ?x ?y) (or (r ?y) (s ?y)))` is two rules once `or` is unfolded, and everything that
# the rest of it becomes is made twice. As `(<= (p ?x) (q ?x ?y) (either ?y))`, it is made once, and
# two small rules define `either`.


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


# ------------------------------------------------------------------------
# Writes out conditions which say that two things differ.
#
# A relation such as
#
# (<= (different ?x1 ?y1 ?x2 ?y2) (distinct ?x1 ?x2) (index ?x1) ...)
#     (<= (different ?x1 ?y1 ?x2 ?y2) (distinct ?y1 ?y2) (index ?x1) ...)
#
# holds for nearly all values. As one condition it ties all of its variables together; written out,
# each rule compares one pair, and the others can be treated separately (see `decompose`).

MAX_RULES = 3
"""Relations with more rules are left, as a rule that uses one becomes as many rules."""

_OTHERS = ";of"


def with_differences(rules: Sequence[NormalRule], static: frozenset[Signature]) -> list[NormalRule]:
    """Equivalent rules, with differences written out where other rules use them.

    Args:
        rules: all rules of a game.
        static: relations that depend neither on the state nor on moves.
    """
    found = _differences(rules, static)
    written = []
    for rule in rules:
        written += [rule] if signature(rule.head) in static else _written_out(rule, found)
    return written


def _differences(
    rules: Sequence[NormalRule], static: frozenset[Signature]
) -> Mapping[Signature, Sequence[NormalRule]]:
    """The relations all of whose rules compare two values and do not mention such relations."""
    of: dict[Signature, list[NormalRule]] = {}
    for rule in rules:
        if signature(rule.head) in static:
            of.setdefault(signature(rule.head), []).append(rule)
    return {
        relation: alternatives
        for relation, alternatives in of.items()
        if len(alternatives) <= MAX_RULES and all(map(_compares, alternatives))
    }


def _compares(rule: NormalRule) -> bool:
    """Whether a rule compares variables of its head, each with a condition that binds it alone."""
    return any(x.is_distinct for x in rule.body) and all(
        x.is_distinct or (x.binds and len(list(variables(x.atom))) == 1) for x in rule.body
    )


def _written_out(
    rule: NormalRule, differences: Mapping[Signature, Sequence[NormalRule]]
) -> list[NormalRule]:
    """The rule, once for each way in which its first difference can hold, and so on."""
    head = {v.name for v in variables(rule.head)}
    for place, literal in enumerate(rule.body):
        alternatives = differences.get(signature(literal.atom), ()) if literal.binds else ()
        if not alternatives or head.issuperset(v.name for v in variables(literal.atom)):
            continue
        made: list[NormalRule] = []
        for number, alternative in enumerate(alternatives):
            apart = {
                v.name: Variable(f"{v.name}{_OTHERS}{place}.{number}")
                for atom in (alternative.head, *(x.atom for x in alternative.body))
                for v in variables(atom)
            }
            binding = unify(substitute(alternative.head, apart), literal.atom)
            if binding is None:
                continue
            instead = [
                Literal(atom_of(resolve(substitute(x.atom, apart), binding)), x.negated)
                for x in alternative.body
            ]
            body = [*rule.body[:place], *instead, *rule.body[place + 1 :]]
            body = [Literal(atom_of(resolve(x.atom, binding)), x.negated) for x in body]
            one = NormalRule(
                atom_of(resolve(rule.head, binding)), tuple(dict.fromkeys(body)), rule.start
            )
            made += _written_out(order_conditions(one), differences)
        return made
    return [rule]

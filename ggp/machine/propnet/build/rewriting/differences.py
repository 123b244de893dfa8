"""Writes out conditions which say that two things differ.

A relation such as

    (<= (different ?x1 ?y1 ?x2 ?y2) (distinct ?x1 ?x2) (index ?x1) ...)
    (<= (different ?x1 ?y1 ?x2 ?y2) (distinct ?y1 ?y2) (index ?x1) ...)

holds for nearly all values. As one condition it ties all of its variables together; written out,
each rule compares one pair, and the others can be treated separately (see `decompose`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ggp.gdl.program import Literal, NormalRule, atom_of, resolve, unify
from ggp.gdl.rewriting.safety import order_conditions
from ggp.gdl.terms import Signature, Variable, signature, substitute, variables

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

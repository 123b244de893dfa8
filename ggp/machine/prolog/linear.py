"""Recursion in which a proof is a walk: every rule calls the recurring relations at most once.

`(<= (line ?x ?y) (s ?x ?z) (free ?z) (line ?z ?y))` is such a rule. Where the recursive condition
can come last, its answers are the answers of the head, so all answers are found by walking from
call to call, once to each. Where it can come first and asks for nothing but answers of the
same call, they are found by walking from answer to answer. Both end even if the rules go round in
circles, and neither keeps a table for each call. In play (memory.pl) the arguments of a call decide
which way it goes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from ggp.gdl.program import TRUE, Literal, NormalRule
from ggp.gdl.rewriting.safety import order_conditions
from ggp.gdl.terms import Signature, signature, variables


@dataclass(frozen=True, slots=True)
class LinearRule:
    """A rule with a recursive condition, the last one of `walk` and the first of `back`."""

    walk: NormalRule
    back: NormalRule


def linear_rules(
    group: Sequence[Signature], by_head: Mapping[Signature, Sequence[NormalRule]]
) -> dict[Signature, tuple[list[NormalRule], list[LinearRule]]] | None:
    """The rules of relations that depend on each other: those without recursion and those with it.

    Args:
        group: all relations of a strongly connected component.
        by_head: the rules of every relation.

    Returns:
        None if a rule calls the group twice, or if its recursive condition cannot come last without
        being asked for more than before, other than facts and fluents.
    """
    finite = {sig for sig, rules in by_head.items() if not any(rule.body for rule in rules)}
    found: dict[Signature, tuple[list[NormalRule], list[LinearRule]]] = {}
    for sig in group:
        found[sig] = base, recursive = [], []
        for rule in by_head[sig]:
            calls = [i for i, literal in enumerate(rule.body) if signature(literal.atom) in group]
            if not calls:
                base.append(rule)
                continue
            linear = _linear(rule, calls[0], finite | {TRUE}) if len(calls) == 1 else None
            if linear is None:
                return None
            recursive.append(linear)
    return found


def _linear(rule: NormalRule, at: int, finite: Set[Signature]) -> LinearRule | None:
    call = rule.body[at]
    others = (*rule.body[:at], *rule.body[at + 1 :])
    bound = _names([x for x in others[:at] if x.binds])
    for literal in others[at:]:
        if literal.binds and signature(literal.atom) in finite:
            bound |= _names([literal])
        elif not _names([literal]) & _names([call]) <= bound:
            return None
    walk = order_conditions(NormalRule(rule.head, others, rule.start))
    back = order_conditions(NormalRule(rule.head, (call, *others), rule.start))
    # Tests without variables have come before the recursive condition.
    rest = tuple(literal for literal in back.body if literal != call)
    return LinearRule(
        NormalRule(rule.head, (*walk.body, call), rule.start),
        NormalRule(rule.head, (call, *rest), rule.start),
    )


def _names(literals: Sequence[Literal]) -> set[str]:
    return {v.name for literal in literals for v in variables(literal.atom)}

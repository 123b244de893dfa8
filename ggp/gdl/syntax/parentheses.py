"""Repairs parentheses that stand where their author cannot have meant them.

One parenthesis too many or too few leaves a text that is balanced, or is made so, and yet means
something else: a `not` with two conditions, or a condition outside of its rule. Repairs guess,
so they are only made when a text is read for play; see `lenient` of `ggp.gdl.parse`.
"""

from __future__ import annotations

from collections.abc import Iterator

from ggp.gdl.syntax.findings import Findings, quoted
from ggp.gdl.syntax.shape import well_shaped
from ggp.gdl.terms import CONNECTIVES, Compound, Rule, Term

_CONDITIONS_ONLY = CONNECTIVES | {"true", "does"}
"""Names that cannot be the head of a rule, so that they must begin a condition."""


def with_closed_negations(rule: Rule, findings: Findings) -> Rule:
    """The rule with the surplus conditions of a `not` moved out of it.

    `(not open (true (at 1)))` has lost a parenthesis after `open`; `(not open ?x)` has lost those
    around `open ?x`.
    """
    body = tuple(new for condition in rule.body for new in _closed(condition, findings))
    return Rule(rule.head, body, rule.start)


def _closed(condition: Term, findings: Findings) -> Iterator[Term]:
    if not isinstance(condition, Compound) or condition.name not in CONNECTIVES - {"distinct"}:
        yield condition
        return
    args = [new for arg in condition.args for new in _closed(arg, findings)]
    if condition.name != "not" or len(args) < 2:
        yield Compound(condition.name, tuple(args), condition.start)
        return
    first, *rest = args
    if all(isinstance(arg, Compound) for arg in rest):
        message = f"this `not` has {len(args)} conditions; closed after the first"
        negated, outside = first, rest
    elif not isinstance(first, Compound):
        message = f"this `not` lacks the parentheses around {quoted(first.name)} and what follows"
        negated, outside = Compound(first.name, tuple(rest), first.start), []
    else:
        yield condition
        return
    findings.warn("connective-arguments", message, condition.start)
    yield Compound("not", (negated,), condition.start)
    yield from outside


def is_condition(rule: Rule) -> bool:
    """Whether a form at top level can only be a condition."""
    head = rule.head
    return not rule.body and isinstance(head, Compound) and head.name in _CONDITIONS_ONLY


def extended(rule: Rule, condition: Rule, findings: Findings) -> Rule:
    """The rule that was closed too early, as in `(<= terminal) (not open))`, with its condition."""
    message = "this condition stands outside of any rule; taken for one of the rule before it"
    findings.warn("stray-condition", message, condition.start)
    added = with_closed_negations(Rule(rule.head, (condition.head,), rule.start), findings)
    if not well_shaped(added, findings):
        return rule
    return Rule(rule.head, rule.body + added.body, rule.start)

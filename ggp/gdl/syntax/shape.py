"""Checks the shape of each parsed rule, in either syntax: its size, nesting and connectives.

Only rules that later stages cannot represent are refused here; `formal` checks their meaning.
"""

from __future__ import annotations

from ggp.gdl.syntax.findings import Findings, quoted
from ggp.gdl.terms import CONNECTIVES, Compound, Rule, Symbol, Term, Variable

MAX_NESTING = 100
"""Greatest nesting of terms, so that later stages can recurse over them."""

MAX_PARTS = 5_000
"""Greatest number of names, variables and connectives in a rule; the largest in 300 rulesheets from
elsewhere has some 250. The time for a rule may grow with the square of its size."""


def is_small(rule: Rule, findings: Findings) -> bool:
    """Whether a rule has at most `MAX_PARTS` parts; reports it if not."""
    num, pending = 0, [rule.head, *rule.body]
    while pending:
        num += 1
        item = pending.pop()
        if isinstance(item, Compound):
            pending += item.args
        if num > MAX_PARTS:
            message = f"a rule may not have more than {MAX_PARTS:,} names and variables"
            findings.error("size", message, rule.start)
            return False
    return True


def nesting(term: Term) -> int:
    """The number of compounds around the innermost argument of a term."""
    deepest, pending = 0, [(term, 1)]
    while pending:
        item, depth = pending.pop()
        if isinstance(item, Compound):
            deepest = max(deepest, depth)
            pending += [(arg, depth + 1) for arg in item.args]
    return deepest


def too_deep(findings: Findings, offset: int) -> None:
    """Report that a term nests too deeply."""
    findings.error("nesting", f"terms may not nest deeper than {MAX_NESTING} levels", offset)


def well_shaped(rule: Rule, findings: Findings) -> bool:
    """Whether head and conditions are relations or connectives; reports others."""
    head, num_before = rule.head, findings.num_unreadable
    if isinstance(head, Variable):
        _variable_as_relation(head, findings)
    elif head.name in CONNECTIVES:
        findings.error(
            "connective-head", f"{quoted(head.name)} cannot be the head of a rule", head.start
        )
    for condition in rule.body:
        _check_condition(condition, findings)
    return findings.num_unreadable == num_before and is_small(rule, findings)


def _check_condition(condition: Term, findings: Findings) -> None:
    if isinstance(condition, Variable):
        _variable_as_relation(condition, findings)
    elif condition.name in CONNECTIVES:
        args = condition.args if isinstance(condition, Compound) else ()
        _check_number(condition, len(args), findings)
        if condition.name != "distinct":
            for arg in args:
                _check_condition(arg, findings)


def _check_number(connective: Symbol | Compound, num: int, findings: Findings) -> None:
    name = connective.name
    arity = {"not": 1, "distinct": 2}.get(name)
    if num == arity or (num and arity is None):
        return
    takes = {"not": "one condition", "distinct": "two terms"}.get(name, "at least one condition")
    findings.error(
        "connective-arguments", f"{quoted(name)} takes {takes}, not {num}", connective.start
    )


def _variable_as_relation(variable: Variable, findings: Findings) -> None:
    findings.error(
        "variable-relation",
        f"the variable {quoted(str(variable))} cannot stand where a relation must be",
        variable.start,
    )

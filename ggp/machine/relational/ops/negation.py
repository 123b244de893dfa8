"""Checks that negation can be evaluated the way it is compiled.

Rules are stratified (see `ggp.gdl.checks.formal`), but calls are coarser than rules: `(q (f ?x))`
may have to be found among all answers of `q`. If a negated condition may lead back to the call it
is in, it would be asked before its answers are known.
"""

from __future__ import annotations

from ggp.gdl.analysis.dependencies import may_unify, strong_components
from ggp.machine.relational.ops.compile import Compiled, UnsupportedRulesError
from ggp.machine.relational.ops.order import CallPattern


def recurring(compiled: Compiled) -> frozenset[CallPattern]:
    """The calls that may lead back to themselves.

    Raises:
        UnsupportedRulesError: one may do so through a negated condition.
    """
    procedure_of = _procedures_of_rules(compiled)
    edges: dict[int, set[int]] = {}
    for use in compiled.uses:
        edges.setdefault(procedure_of[use.rule], set()).add(use.procedure)
    component = _components(edges, len(compiled.patterns))
    within = [u for u in compiled.uses if component[procedure_of[u.rule]] == component[u.procedure]]
    if any(use.negated for use in within):
        _check_rules(compiled)
    patterns = [*compiled.patterns]
    return frozenset(patterns[use.procedure] for use in within)


def _check_rules(compiled: Compiled) -> None:
    """Check the same by rules, whose heads may exclude a way back."""
    rules_of = list(zip([0, *compiled.rule_ends], compiled.rule_ends, strict=False))
    edges: dict[int, set[int]] = {}
    negated: list[tuple[int, int]] = []
    for use in compiled.uses:
        for rule in range(*rules_of[use.procedure]):
            if may_unify(use.asked, compiled.heads[rule]):
                edges.setdefault(use.rule, set()).add(rule)
                if use.negated:
                    negated.append((use.rule, rule))
    component = _components(edges, len(compiled.heads))
    for rule, asked in negated:
        if component[rule] == component[asked]:
            head = compiled.heads[rule]
            raise UnsupportedRulesError(f"a negated condition of {head} may lead back to it")


def _procedures_of_rules(compiled: Compiled) -> list[int]:
    starts = [0, *compiled.rule_ends]
    return [
        procedure
        for procedure, end in enumerate(compiled.rule_ends)
        for _ in range(starts[procedure], end)
    ]


def _components(edges: dict[int, set[int]], size: int) -> list[int]:
    """The number of the strongly connected component of each node."""
    found = [0] * size
    for number, members in enumerate(strong_components(edges, size)):
        for member in members:
            found[member] = number
    return found

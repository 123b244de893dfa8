"""Which rules depend on which, found without a look at every fact."""

from __future__ import annotations

import pytest

from ggp.gdl import parse
from ggp.gdl.analysis import dependencies
from ggp.gdl.formal import forbidden_uses
from ggp.gdl.normalize import normalize
from ggp.gdl.terms import Term

SHEET = """
(role a) (init (at 0)) {facts}
(<= (far ?x ?z) (succ ?x ?y) (succ ?y ?z)) (<= (far ?x ?z) (far ?x ?y) (succ ?y ?z))
(<= (legal a (go ?y)) (true (at ?x)) (far ?x ?y)) (<= (next (at ?y)) (does a (go ?y)))
(<= terminal (true (at ?x)) (far 90 ?x)) (<= (goal a 100) (true (at ?x)) (succ ?x ?y))
"""


def test_thousands_of_facts_are_not_unified_with_every_condition(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    unified = 0
    may_unify = dependencies.may_unify

    def counted(*terms: Term) -> bool:
        nonlocal unified
        unified += 1
        return may_unify(*terms)

    monkeypatch.setattr(dependencies, "may_unify", counted)
    facts = " ".join(f"(succ {x} {x + 1})" for x in range(1000))
    program = normalize(parse(SHEET.format(facts=facts)))
    assert program.recursive == {("far", 2)}
    assert not list(forbidden_uses(dependencies.RuleGraph(program.rules)))
    assert unified < 100

"""Recursion that ends by itself, and what only looks like it."""

from __future__ import annotations

import pytest

from ggp.gdl import parse
from ggp.gdl.descent import descents
from ggp.gdl.normalize import normalize

FRAME = (
    "(role a) (init (at 1)) (<= (legal a (to ?y)) (clear 1 ?y)) (goal a 1) "
    "(<= (next (at ?x)) (true (at ?x))) (<= (next (at ?y)) (does a (to ?y))) "
    "(<= terminal (clear 4 1)) (s 1 2) (s 2 3) (s 3 4) "
)
BASE = "(<= (clear ?x ?y) (s ?x ?y)) "

DESCENDING = {
    "one way": ("(<= (clear ?x ?y) (s ?x ?z) (not (true (at ?z))) (clear ?z ?y))", 4),
    "the other way": ("(<= (clear ?x ?y) (s ?z ?y) (clear ?x ?z))", 4),
    "two rules": (
        "(<= (clear ?x ?y) (s ?x ?z) (true (at ?z)) (clear ?z ?y))"
        "(<= (clear ?x ?y) (s ?x ?z) (true (at ?y)) (clear ?z ?y))",
        15,
    ),
}

OTHERS = {
    "a cycle": "(s 4 1) (<= (clear ?x ?y) (s ?x ?z) (clear ?z ?y))",
    "facts that come too late": "(<= (clear ?x ?y) (clear ?z ?y) (s ?x ?z))",
    "two calls": "(<= (clear ?x ?y) (s ?x ?z) (clear ?z ?y) (clear ?x ?z))",
    "another value at each step": "(<= (clear ?x ?y) (s ?x ?z) (true (at ?w)) (clear ?z ?y))",
    "several proofs at each step": (
        "(<= (free ?y) (true (at ?y))) (<= (free ?y) (s ?x ?y))"
        "(<= (clear ?x ?y) (s ?x ?z) (free ?y) (clear ?z ?y))"
    ),
    "two rules, two ways": "(<= (clear ?x ?y) (s ?x ?z) (clear ?z ?y))"
    "(<= (clear ?x ?y) (s ?z ?x) (clear ?z ?y))",
    "a fluent, not a fact": "(<= (r ?x ?y) (s ?x ?y) (true (at ?x)))"
    "(<= (clear ?x ?y) (r ?x ?z) (clear ?z ?y))",
    "recursion through another relation": "(<= (clear ?x ?y) (s ?x ?z) (free ?z ?y))"
    "(<= (free ?z ?y) (not (true (at ?z))) (clear ?z ?y))",
}

CLEAR = ("clear", 2)


@pytest.mark.parametrize(("rules", "calls"), DESCENDING.values(), ids=DESCENDING)
def test_recursion_along_facts_without_a_cycle_needs_no_table(rules: str, calls: int) -> None:
    program = normalize(parse(FRAME + BASE + rules))
    assert descents(program.rules, 15) == {CLEAR: calls}
    assert descents(program.rules, calls - 1) == {}


@pytest.mark.parametrize("rules", OTHERS.values(), ids=OTHERS)
def test_other_recursion_may_not_end_or_prove_much_twice(rules: str) -> None:
    program = normalize(parse(FRAME + BASE + rules))
    assert descents(program.rules, 1_000_000) == {}

"""Which terms of a game grow, and by which rule."""

from __future__ import annotations

import pytest

from ggp.gdl.analysis.growth import growing_term, growth_message
from ggp.gdl.normalize import load
from tests.support.games import GAMES
from tests.support.sheets.programs import program

FRAME = (
    "(legal white go) (init (n z 0)) (init (p z)) (succ 0 1) (succ 1 2) (small z) (small (s z)) "
)

GROW = {
    "alone": ("(<= (next (n (s ?x) ?y)) (true (n ?x ?y)))", "n", True),
    "if it is so": ("(<= (next (n (s ?x) 0)) (true (n ?x 0)))", "n", False),
    "with moves": ("(<= (next (p (cons ?m ?x))) (true (p ?x)) (does white ?m))", "p", True),
    "twice the size": ("(<= (next (p (f ?x ?x))) (true (p ?x)))", "p", True),
    "in turns": (
        "(<= (next (p (s ?x))) (true (q ?x))) (<= (next (q (t ?x))) (true (p ?x)))",
        "p",
        True,
    ),
    "by a relation": ("(<= (up (s ?x)) (true (p ?x))) (<= (next (p ?x)) (up ?x))", "up", False),
    "by itself": ("(num z) (<= (num (s ?x)) (num ?x)) (<= (next (p ?x)) (num ?x) (q ?x)) (q z)",
                  "num", False),
    "by moves": ("(<= (legal white (s ?x)) (true (p ?x))) (<= (next (p ?m)) (does white ?m))",
                 "s", False),
    "whole fluents": ("(<= (next (old ?f)) (true ?f))", "old", False),
}  # fmt: skip

DO_NOT = {
    "kept": "(<= (next ?f) (true ?f))",
    "taken off": "(<= (next (p ?x)) (true (p (s ?x))))",
    "on and off": "(<= (next (q (s ?x))) (true (p ?x))) (<= (next (p ?x)) (true (q (s ?x))))",
    "while small": "(<= (next (p (s ?x))) (true (p ?x)) (small ?x))",
    "once": "(<= (next (q (s (s ?x)))) (true (p ?x)))",
    "counted": "(<= (next (n z ?y)) (true (n ?x ?z)) (succ ?z ?y))",
    "seen": "(<= (sees white (s ?x)) (true (p ?x)))",
}


@pytest.mark.parametrize("how", GROW)
def test_a_growing_term_is_reported_with_its_rule(how: str) -> None:
    rules, name, surely = GROW[how]
    parsed = program(FRAME + rules).rules
    growth = growing_term(parsed)
    assert growth is not None
    assert growth.name == name
    assert growth.rule in parsed
    assert (growing_term(parsed, surely=True) is not None) == surely


@pytest.mark.parametrize("how", DO_NOT)
def test_terms_that_cannot_grow_are_not_reported(how: str) -> None:
    parsed = program(FRAME + DO_NOT[how]).rules
    assert growing_term(parsed) is None
    assert growing_term(parsed, surely=True) is None


@pytest.mark.parametrize("game", GAMES)
def test_no_game_of_ours_grows(game: str) -> None:
    assert growing_term(load(game).rules) is None


def test_place_of_the_rule_is_told() -> None:
    sheet = program(FRAME + "\n  " + GROW["alone"][0])
    lines = sheet.source.text.splitlines()
    assert growth_message(sheet) == (
        f"the terms of `n` grow by (next (n (s ?x) ?y)) (<text>:{len(lines)}:3)"
    )
    assert growth_message(program(FRAME)) == ""

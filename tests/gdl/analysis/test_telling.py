"""Which games tell every role the joint move."""

from __future__ import annotations

import pytest

from ggp.gdl import parse
from ggp.gdl.analysis.told_moves import move_percept
from ggp.gdl.normalize import load, normalize

GAME = """
(role a) (role b) (init start) (legal a go) (legal b go) (legal b stay)
(<= terminal (not (true start))) (goal a 50) (goal b 50)
"""


@pytest.mark.parametrize(
    ("rules", "name"),
    [
        ("", "did"),
        ("(<= (sees ?p (did ?r ?m)) (role ?p) (does ?r ?m))", "did"),
        ("(<= (sees ?p (xyzzy ?r ?m)) (does ?r ?m) (role ?p) (role ?r))", "xyzzy"),
        ("(<= (sees ?p (did ?r ?m)) (role ?p) (does ?r ?m)) (<= (sees a ok) (does a go))", "did"),
        ("(<= (sees a (did ?r ?m)) (does ?r ?m))", None),
        ("(<= (sees ?p (did ?r ?m)) (role ?p) (does ?r ?m) (true start))", None),
        ("(<= (sees ?p (did ?r ?m)) (role ?p) (does ?r ?m) (not (true start)))", None),
        ("(<= (sees ?p (did ?r ?m)) (role ?p) (does ?r ?m) (distinct ?r ?p))", None),
        ("(<= (sees ?p (did ?p ?m)) (role ?p) (does ?p ?m))", None),
        ("(<= (sees ?r (did ?p ?m)) (role ?p) (does ?r ?m))", None),
        (
            "(<= (sees ?p (did ?r ?m)) (role ?p) (does ?r ?m)) (<= (sees a (did b stay)) (true x))",
            None,
        ),
        ("(<= (sees ?p (did ?r ?m)) (role ?p) (does ?r ?m)) (<= (sees a ?x) (true ?x))", None),
        ("(<= (sees ?p (did ?r ?m)) (role ?p) (does ?r ?m)) (<= (sees a (did b)) (true x))", None),
        ("(<= (sees ?p ?m) (role ?p) (does ?r ?m))", None),
        ("(<= (sees ?p go) (role ?p) (does ?r go))", None),
        ("(<= (sees ?p (did ?m)) (role ?p) (does ?r ?m))", None),
        ("(<= (sees ?r (did ?p ?r ?m)) (role ?p) (does ?r ?m))", None),
        ("(<= (sees ?p (did ?p ?r ?m)) (role ?p) (does ?r ?m))", None),
        ("(<= (sees ?p (did ?r ?r ?m)) (role ?p) (does ?r ?m))", None),
        ("(<= (sees ?p (did ?r ?r ?m ?m)) (role ?p) (does ?r ?m))", None),
        ("(<= (sees ?p (did (who ?r) ?m)) (role ?p) (does ?r ?m))", None),
    ],
)
def test_only_a_rule_that_tells_all_to_all_counts(rules: str, name: str | None) -> None:
    program = normalize(parse(GAME + rules + "(<= (next x) (true start))"))
    assert move_percept(program) == name


@pytest.mark.parametrize("game", ["kuhn_poker", "meier", "krieg_tic_tac_toe"])
def test_games_with_secrets_have_no_rule_that_tells_everything(game: str) -> None:
    assert move_percept(load(game)) is None

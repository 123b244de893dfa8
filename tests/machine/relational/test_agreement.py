"""Rules interpreted by kernels against the Prolog machine, on random matches."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ggp.errors import GGPError
from ggp.gdl import parse
from ggp.gdl.normalize import load, normalize
from ggp.machine import build_machine
from ggp.machine.abilities import GoalTexts
from tests.support.comparing.agreement import play_both
from tests.support.effort import examples, rarely
from tests.support.games import GAMES, SHARED, SLOW_TO_REFEREE, machine_of_game

MATCHES, STEPS = 10, 40

FEW = {"exploding_bomb", "leduc_poker", "mastermind", "phantom_ttt", "spy_vs_spy"}

RULESHEETS = sorted(
    str(path.relative_to(SHARED))
    for folder in ("gdl1", "gdl2")
    for path in SHARED.glob(f"{folder}/*")
)
QUICK = {
    *("gdl1/buttons.kif", "gdl1/gt_ultimatum.kif", "gdl1/hanoi_6_disks.kif", "gdl1/maze.kif"),
    *("gdl2/guessSix.gdl", "gdl2/transit.gdl"),
}
TOO_SLOW_ON_PROLOG = {"gdl1/amazonsTorus.kif", "gdl1/chess.kif"}


@pytest.mark.parametrize("name", rarely(GAMES, {*GAMES} - FEW))
def test_game_is_played_as_on_prolog(name: str) -> None:
    matches, steps = SLOW_TO_REFEREE.get(name, (MATCHES, STEPS))
    prolog, relational = machine_of_game(name), machine_of_game(name, "relational")
    assert play_both(prolog, relational, matches=matches, max_steps=steps) >= matches


@pytest.mark.parametrize("name", rarely(RULESHEETS, {*RULESHEETS} - QUICK))
def test_rulesheet_by_others_is_played_as_on_prolog(name: str) -> None:
    if name in TOO_SLOW_ON_PROLOG:
        pytest.skip("a handful of states a second on Prolog")
    program = load(str(Path(SHARED) / name))
    prolog, relational = (build_machine(program, backend) for backend in ("prolog", "relational"))
    assert play_both(prolog, relational, matches=2, max_steps=12) >= 2
    prolog.close()


_RELATIONS = ("p", "q", "r")
_atoms = st.builds(
    "({} {} {})".format,
    st.sampled_from([*_RELATIONS, *_RELATIONS, "link", "pair"]),
    st.sampled_from(["?x", "?y", "?z"]),
    st.sampled_from(["?x", "?y", "?z", "0"]),
)
_rules = st.lists(
    st.builds(
        "(<= ({} ?x ?z) {} {} {} (node ?x) (node ?z))".format,
        st.sampled_from(_RELATIONS),
        _atoms,
        _atoms | st.just(""),
        _atoms | st.sampled_from(["", "(distinct ?x ?z)", "(not (link ?z ?x))"]),
    ),
    min_size=1,
    max_size=8,
)
_links = st.lists(
    st.builds("(init (edge {} {}))".format, st.integers(0, 4), st.integers(0, 4)),
    min_size=1,
    max_size=8,
    unique=True,
)
_asked = st.lists(
    st.builds(
        "(<= (legal a ({} ?x ?y)) ({} {}) (node ?x) (node ?y))".format,
        st.sampled_from(["one", "other"]),
        st.sampled_from(_RELATIONS),
        st.sampled_from(["?x ?y", "?x 0", "1 ?y", "?x ?x"]),
    ),
    min_size=1,
    max_size=4,
)

CIRCLES = """
(role a) (node 0) (node 1) (node 2) (node 3) (node 4) (legal a stay)
(pair 0 1) (pair 1 2) (pair 2 0) (pair 3 3)
(<= (link ?x ?y) (true (edge ?x ?y))) (p 4 4) (q 0 1) (r 3 2)
(<= apart (node ?x) (node ?y) (not (p ?x ?y)) (not (q ?y ?x)))
(<= (next (edge ?y ?x)) (does a (one ?x ?y))) (<= (next (edge ?x ?y)) (link ?x ?y) (not apart))
(<= (next (edge ?x ?y)) (r ?x ?y) (not (p ?y ?x)) (not (does a stay)))
(<= (goal a 50) apart) (<= (goal a ?x) (q ?x 1)) (<= terminal (true (edge 2 2)) (not apart))
"""
"""Relations that lead to themselves and each other, asked for with and without known arguments."""


def test_answers_that_a_recursive_call_finds_late_are_used() -> None:
    """It goes through its own answers before it has any, and finds the first in another way."""
    rules = """
    (role a) (init (held 0 0)) (init (held 1 0)) (init (held 2 0)) (legal a go)
    (half 0 0 0 0) (half 0 1 1 0) (half 1 0 1 0) (half 1 1 0 1) (succ 0 1) (succ 1 2) (succ 2 3)
    (<= (added 0 1) (true (held 0 ?a)))
    (<= (added ?e ?k) (true (held ?b ?a)) (added ?b ?c) (half ?a ?c ?s ?k) (succ ?b ?e))
    (<= (goal a ?b) (added ?b 0)) (<= (next (held 1 1)) (true (held 0 0)))
    (<= terminal (true (held 1 1)))
    """
    program = normalize(parse(rules))
    prolog, relational = (build_machine(program, backend) for backend in ("prolog", "relational"))
    assert isinstance(relational, GoalTexts)
    assert relational.goal_texts(relational.initial()) == [(("3", "2", "1"),)]
    assert play_both(prolog, relational, matches=1, max_steps=3) >= 1
    prolog.close()


@settings(max_examples=examples(40), deadline=None)
@given(_rules, _links, _asked)
def test_recursion_in_circles_has_the_same_answers(
    rules: list[str], links: list[str], queries: list[str]
) -> None:
    try:
        program = normalize(parse("\n".join([CIRCLES, *rules, *links, *queries])))
    except GGPError:
        return  # a variable that nothing binds
    prolog, relational = (build_machine(program, backend) for backend in ("prolog", "relational"))
    play_both(prolog, relational, matches=2, max_steps=4)
    prolog.close()

"""Games whose terms grow, but not for ever: what may hold is found turn by turn."""

from __future__ import annotations

import pytest
from clingo import Control

from ggp.errors import ReasonerLimitError
from ggp.gdl import parse
from ggp.gdl.analysis.growth import terms_grow
from ggp.gdl.normalize import load, normalize
from ggp.machine.propnet.compile.ground_rules import grounding
from ggp.machine.propnet.compile.ground_rules.grounding import (
    MAX_UNCHECKED_DEPTH,
    ground,
    lasting_fluents,
)
from ggp.machine.propnet.compile.rewriting.translate import translate
from tests.support.comparing.agreement import play_both
from tests.support.games import machine_of_rules

ROLES = """
    (role a) (role b) (legal a grow) (legal a keep) (legal b grow) (legal b keep)
    (<= (sees b grew) (does a grow)) (init (heap z))
    (<= (next (heap (s ?x))) (true (heap ?x)) (does a grow))
    (<= (next (heap ?x)) (true (heap ?x)) (does a keep))
    (<= (next (twin (pair ?x ?x))) (true (heap ?x)) (does b grow))
    (<= (goal a 100) (true (twin (pair ?x ?x)))) (<= (goal a 0) (not (goal a 100)))
    (<= (goal b 100) (goal a 0)) (<= (goal b 0) (goal a 100))
"""

COUNTED = "(init (step 0)) (<= (next (step ?n)) (true (step ?m)) (succ ?m ?n)) " + " ".join(
    f"(succ {i} {i + 1})" for i in range(8)
)

GAMES = {
    "by steps": ROLES + COUNTED + "(<= terminal (true (step 8)))",
    "by what grows": ROLES + "(<= terminal (true (heap (s (s (s (s (s (s z))))))))) ",
    "by one of them, unless": ROLES
    + "(init lucky) (<= (next lucky) (true lucky) (does b grow))"
    + "(<= terminal (true (heap (s (s (s ?x)))))) (<= terminal (not (true lucky)) (does_not))"
    + "(<= does_not (true (heap (s ?x))) (not (true lucky)))",
    "and back": ROLES.replace(
        "(true (heap ?x)) (does a keep)", "(true (heap (s ?x))) (does a keep)"
    )
    + "(<= (next (heap z)) (true (heap z)) (does a keep))"
    + "(<= terminal (true (heap (s (s (s (s (s z))))))))",
}

HEAPS = {"by steps": 9, "by what grows": 7, "by one of them, unless": 4, "and back": 6}


def ground_part(text: str) -> Control:
    """A clingo program that is ground."""
    control = Control(["--warn=none"])
    control.add("part", [], text)
    control.ground([("part", [])])
    return control


@pytest.mark.parametrize("name", GAMES)
def test_both_backends_play_games_whose_terms_grow_alike(name: str) -> None:
    program = normalize(parse(GAMES[name]))
    assert terms_grow(program.rules, MAX_UNCHECKED_DEPTH)
    heaps = {text for text, _ in ground(program).fluents if text.startswith("(heap")}
    assert len(heaps) == HEAPS[name]
    prolog, propnet = (machine_of_rules(GAMES[name], backend) for backend in ("prolog", "propnet"))
    assert play_both(prolog, propnet, matches=200, max_steps=40) > 400


def test_after_so_many_turns_it_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    grounded = []

    def run(text: str) -> Control:
        grounded.append(text)
        return ground_part(text)

    monkeypatch.setattr(grounding, "MAX_LETTERS", 100_000)
    endless = normalize(parse(ROLES + "(<= terminal (true (step 8)))"))
    assert lasting_fluents(translate(endless.roles, endless.rules), run) is None
    assert 10 < len(grounded) < 100


def test_many_fluents_are_not_asked_one_by_one() -> None:
    """Stacks of up to five letters out of four, and stacks of six that no query covers."""
    pushes = "".join(
        f"(legal b (push {x})) (<= (next (stack ({x} ?s) ?m)) (does b (push {x}))"
        " (true (stack ?s ?n)) (succ ?n ?m))"
        for x in "wxyz"
    )
    frame = "(role b) (init (stack e 0)) (goal b 1) (<= terminal (true (stack ?s 5)))"
    rules = normalize(parse(frame + pushes + "".join(f"(succ {i} {i + 1})" for i in range(6))))
    grounded = []

    def run(text: str) -> Control:
        grounded.append(text)
        return ground_part(text)

    lasting = lasting_fluents(translate(rules.roles, rules.rules), run)
    assert lasting is not None
    assert len(lasting) == sum(4**depth for depth in range(7))
    assert len(grounded) < 60


def test_terms_that_become_too_large_are_told_at_once() -> None:
    """A term of twice the size each turn is not even written."""
    doubled = "(<= (next (heap (pair ?x ?x))) (true (heap ?x)) (does b grow))"
    frame = "(role b) (legal b grow) (init (heap z)) (goal b 1) (<= terminal (true (step 8)))"
    program = normalize(parse(frame + doubled))
    with pytest.raises(ReasonerLimitError, match="functions in one term"):
        ground(program)


def test_terms_that_grow_for_ever_are_not_ground_all_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(grounding, "MAX_LETTERS", 100_000)
    rules = "(role b) (legal b grow) (init (heap z)) (goal b 1) (<= terminal (true (heap over)))"
    grows = rules + "(<= (next (heap (s ?x))) (true (heap ?x)))"
    with pytest.raises(ReasonerLimitError, match="by turns passed the limit of 100,000 letters"):
        ground(normalize(parse(grows)))


def test_where_nothing_grows_nothing_is_looked_at_turn_by_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(grounding, "lasting_fluents", None)
    assert ground(load("tic_tac_toe")).fluents


def test_turns_that_come_again_are_all() -> None:
    """Terms might grow for all that is known of the rules, but do not; and nothing ever ends."""
    rules = ROLES + "(<= terminal (true (step 8)))"
    rules = rules.replace(
        "(true (heap ?x)) (does a grow)", "(true (heap ?x)) (small ?x) (does a grow)"
    )
    rules += "(small z) (small (s z))"
    program = normalize(parse(rules))
    heaps = [text for text, _ in ground(program).fluents if text.startswith("(heap")]
    assert heaps == ["(heap (s (s z)))", "(heap (s z))", "(heap z)"]

"""Fluents that no rule keeps are named, and only those."""

from __future__ import annotations

from pathlib import Path

import pytest

from ggp.gdl import Compound, Rule, Term, list_games, parse, print_kif
from ggp.gdl.analysis.frames import Frames
from ggp.gdl.normalize import load, normalize
from ggp.gdl.program import NEXT, Literal
from ggp.machine import build_machine
from ggp.study.rehearsal import RehearsalLimits, Trouble, rehearse
from tests.support.games import SHARED, build_here

LIGHTS = """
(role a) (init (light kitchen on)) (init (light hall off)) (init (step 1)) (succ 1 2) (succ 2 3)
(legal a wait) (<= (legal a (turn ?r off)) (true (light ?r on)))
(<= (next (light ?r ?s)) (does a (turn ?r ?s)))
(<= (next (step ?m)) (true (step ?n)) (succ ?n ?m)) (<= terminal (true (step 3))) (goal a 50)
"""
KEEPS = "(<= (next (light ?r ?s)) (true (light ?r ?s)) (not (does a (turn ?r off))))"
BY_ANOTHER = "(<= (next (light ?r ?s)) (stays ?r ?s)) (<= (stays ?r ?s) (true (light ?r ?s)))"
EVENT = "(<= (next (heard ?r)) (does a (turn ?r off)))"


def lost(rules: str) -> list[Trouble]:
    program = normalize(parse(rules))
    seen = rehearse(build_here(program, "propnet"), 10, 0, frames=Frames(program))
    return [trouble for trouble in seen.troubles if trouble.kind == "no-frame"]


def test_a_fluent_that_no_rule_keeps_is_named_with_the_moves_before() -> None:
    (trouble,) = lost(LIGHTS + EVENT)
    assert trouble.message.startswith("(light ")
    assert (
        "no `next` for `light` asks whether it did: what stays is kept by a frame rule like "
        "(<= (next (light ?x1 ?x2)) (true (light ?x1 ?x2)) ...)"
    ) in trouble.message
    (history,) = trouble.histories
    assert history.joint_moves


@pytest.mark.parametrize("rule", [KEEPS, BY_ANOTHER])
def test_kept_fluents_and_events_are_not_reported_as_lost(rule: str) -> None:
    assert lost(LIGHTS + EVENT + rule) == []


def test_a_fluent_that_never_comes_again_is_named() -> None:
    (trouble,) = lost(LIGHTS + KEEPS + "(init (target 5))")
    assert "(target 5) holds no longer" in trouble.message


def test_a_value_that_is_replaced_is_not_lost() -> None:
    rules = LIGHTS + KEEPS + "(init (last a b)) (<= (next (last a ?m)) (does a ?m))"
    assert lost(rules + "(init (last a c))") == []


@pytest.mark.parametrize("game", ["tic_tac_toe", "connect_four", "breakthrough"])
def test_a_board_without_its_frame_rules_is_noticed(game: str) -> None:
    program = load(game)
    frame_rules = [rule for rule in program.by_head[NEXT] if "(true (control" not in str(rule)]
    frames = [rule for rule in frame_rules if "(does " not in str(rule)]
    assert len(frames) == 1
    rules = [Rule(rule.head, tuple(map(as_term, rule.body))) for rule in program.rules]
    text = print_kif(rule for rule in rules if str(rule) != str(frames[0]))
    (trouble,) = lost(text)
    assert trouble.message.startswith(("(marked", "(disc", "(cell"))


ASKING = """
(role a) (role b) (<= (init (cell ?x blank)) (index ?x)) (index 1) (index 2) (index 3)
(<= (legal a (mark ?x)) (index ?x)) (legal b wait) (<= terminal (true (cell 1 {0})))
(<= (next (cell ?x {0})) (does {1} (mark ?x)) (true (cell ?x blank))) (goal a 50) (goal b 50)
"""


@pytest.mark.parametrize(("value", "role"), [("mine", "a"), ("?role", "?role")])
def test_a_condition_on_a_replaced_value_keeps_no_other_fluent(value: str, role: str) -> None:
    (trouble,) = lost(ASKING.format(value, role).replace("1 ?role", "1 a"))
    assert trouble.message.startswith("(cell ")


TWO_PHASES = """
(role a) (role b) (init (phase throw)) (<= (legal ?role ?hand) (role ?role) (hand ?hand))
(hand rock) (hand paper) (<= (next (threw ?role ?hand)) (does ?role ?hand) (true (phase throw)))
(<= (next (phase count)) (true (phase throw))) (<= (next (phase throw)) (true (phase count)))
(<= (next (won ?role)) {}) (<= (next (won ?role)) (true (won ?role)))
(<= terminal (true (won a))) (goal a 50) (goal b 50)
"""


def test_moves_of_one_turn_that_are_compared_in_the_next_are_not_lost() -> None:
    compared = "(true (threw ?role paper)) (true (threw ?other rock))"
    assert lost(TWO_PHASES.format(compared)) == []
    # Those of one role come in several turns.
    (trouble,) = lost(TWO_PHASES.format("(true (threw ?role paper)) (true (threw ?role rock))"))
    assert trouble.message.startswith("(threw ")


def as_term(literal: Literal) -> Term:
    return Compound("not", (literal.atom,)) if literal.negated else literal.atom


def sheets() -> list[Path]:
    return sorted(path for path in SHARED.glob("*/*") if path.suffix in (".kif", ".gdl"))


def test_games_in_order_keep_what_they_should() -> None:
    for game in list_games():
        assert not Frames(load(game)).suspects


@pytest.mark.verify
@pytest.mark.parametrize("path", sheets(), ids=lambda path: path.name)
def test_no_sheet_of_others_is_suspected_in_vain(path: Path) -> None:
    program = normalize(parse(path.read_bytes()), lenient=True)
    frames = Frames(program)
    if not frames.suspects:  # of most, nothing need be played
        return
    seen = rehearse(build_machine(program), 10, 0, frames=frames, limits=RehearsalLimits(100, 20))
    assert "no-frame" not in [trouble.kind for trouble in seen.troubles]

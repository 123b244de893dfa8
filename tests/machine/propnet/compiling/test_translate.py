"""Rules become numbers; no text of a rulesheet reaches the grounder."""

from __future__ import annotations

import re

import pytest

from ggp.gdl.normalize import load
from ggp.gdl.program import Program
from ggp.machine.propnet.compile.rewriting.decompose import project_locals
from ggp.machine.propnet.compile.rewriting.translate import translate
from tests.support.games import GAMES
from tests.support.sheets.programs import program

RULE = re.compile(r"[a-z0-9V_(),!=:\-. ]+\.")
NAMES = {"init", "true", "next", "does", "legal", "sees", "goal", "terminal", "player", "not"}


def lines(rules: str) -> list[str]:
    """The lines of rules, without those of the frame, with names restored."""
    frame = set(_restored(program("")))
    return [line for line in _restored(program(rules)) if line not in frame]


def _restored(parsed: Program) -> list[str]:
    """The lines of a program with `[name]` for numbers."""
    translation = translate(parsed.roles, project_locals(parsed.rules))
    body = translation.text.splitlines()[4:]
    return [
        re.sub(r"\b([pf]?)([0-9]+)\b", lambda m: f"{m[1]}[{translation.names[int(m[2])]}]", line)
        for line in body
    ]


@pytest.mark.parametrize("name", GAMES)
def test_program_is_made_of_our_own_names_only(name: str) -> None:
    game = load(name)
    for line in translate(game.roles, project_locals(game.rules)).text.splitlines()[4:]:
        assert RULE.fullmatch(line), line
        assert all(
            word in NAMES or re.fullmatch(r"[pfV]?[0-9]+", word)
            for word in re.findall(r"\w+", line)
        ), line


def test_reachable_fluents_and_moves_are_choices() -> None:
    text = translate(("a",), ()).text
    assert text.splitlines() == [
        "{true(F)} :- init(F).",
        "{true(F)} :- next(F).",
        "{does(R,M)} :- legal(R,M), player(R).",
        "#show init/1. #show true/1. #show next/1. #show does/2. #show legal/2. #show sees/2. "
        "#show terminal/0. #show ranked/3.",
        "player(0).",
    ]


def test_rule_is_translated_word_by_word() -> None:
    rules = "(p 1 2) (<= (next (at ?x (f ?x b))) (does white ?x) (p ?x ?y) (distinct ?x (f ?y b)))"
    assert lines(rules) == [
        "p[p]([1],[2]).",
        "next(f[at](V0,f[f](V0,[b]))) :- does([white],V0), p[p](V0,V1), V0 != f[f](V1,[b]).",
    ]


def test_numbers_are_names_like_others() -> None:
    assert lines("(init 1) (init 01) (init 1.0) (init -1)") == [
        "init([1]).",
        "init([01]).",
        "init([1.0]).",
        "init([-1]).",
    ]


def test_relations_without_arguments_have_no_parentheses() -> None:
    assert lines("(q) (<= terminal (not (over)) q) (<= over (true over))") == [
        "p[q].",
        "terminal :- not p[over], p[q].",
        "p[over] :- true([over]).",
    ]


def test_keyword_with_another_number_of_arguments_is_a_relation_of_its_own() -> None:
    text = "(<= terminal (goal a b c)) (<= (goal a b c) (true start))"
    assert lines(text) == [
        "terminal :- p[goal]([a],[b],[c]).",
        "p[goal]([a],[b],[c]) :- true([start]).",
    ]


def test_equal_rules_give_equal_text() -> None:
    first, second = load("krieg_tic_tac_toe"), load("krieg_tic_tac_toe")
    assert translate(first.roles, project_locals(first.rules)) == translate(
        second.roles, project_locals(second.rules)
    )


def test_local_variable_must_have_been_projected() -> None:
    parsed = program("(<= terminal (not (true (at ?x)))) (<= (next (at b)) (true start))")
    with pytest.raises(ValueError, match="a variable of its own"):
        translate(parsed.roles, parsed.rules)


@pytest.mark.parametrize("predicate", ["init", "true", "player", "terminal"])
def test_predicates_of_gdl_stand_for_no_relation(predicate: str) -> None:
    translation = translate(("white",), program("(p b) (<= terminal (p c))").rules)
    assert translation.relation(predicate) is None
    assert translation.relation(f"p{translation.names.index('p')}") == "p"

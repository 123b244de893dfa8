"""Rules that are restricted to queries: the same meaning with fewer ground rules."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ggp.gdl import parse, read_rulesheet
from ggp.gdl.analysis.dependencies import unchanging
from ggp.gdl.normalize import load, normalize
from ggp.gdl.program import NormalRule
from ggp.machine.propnet.compile.ground_rules import grounding as module
from ggp.machine.propnet.compile.ground_rules.grounding import ground
from ggp.machine.propnet.compile.ground_rules.simplify import ALWAYS
from ggp.machine.propnet.compile.rewriting import splits
from ggp.machine.propnet.compile.rewriting.splits import with_differences
from ggp.machine.propnet.compile.rewriting.translate import Translation, translate
from tests.machine.propnet.compiling.test_ground import FRAME, ODD_RULES
from tests.support.games import path_of_shared
from tests.support.plain.ground_games import GroundGame, play_alike
from tests.support.plain.reference import Reference

ASKED = {
    "a relation asked for in two ways": FRAME
    + "(n 1) (n 2) (n 3) (init (at 1 2)) (<= (near ?x ?y) (n ?x) (n ?y) (true (at ?x ?z)))"
    "(<= (near ?x ?y) (near ?y ?x) (true (at ?z ?z))) (<= (legal a (go ?y)) (near 1 ?y))"
    "(<= (legal b (go ?x)) (near ?x 2) (not (near 3 ?x)))"
    "(<= (next (at ?x ?y)) (does a (go ?x)) (does b (go ?y)))"
    "(<= (next (at ?x ?y)) (true (at ?y ?x))) (<= terminal (near 3 3))",
    "recursion with arguments that are known, one way and the other": FRAME
    + "(s 1 2) (s 2 3) (s 3 4) (init (open 2)) (init (open 3)) (init (at 1))"
    "(<= (free ?x ?y) (s ?x ?y)) (<= (free ?x ?y) (s ?x ?z) (true (open ?z)) (free ?z ?y))"
    "(<= (legal a (to ?y)) (true (at ?x)) (free ?x ?y))"
    "(<= (legal a (to ?x)) (true (at ?y)) (free ?x ?y))"
    "(<= (next (at ?y)) (does a (to ?y))) (<= (next (at 4)) (does a wait))"
    "(<= (next (open ?x)) (true (open ?x)) (not (true (at ?x))))"
    "(<= (next (open ?x)) (true (at ?x)) (not (does a (to ?x)))) (<= terminal (not (free 1 4)))",
    "moves that are legal whatever the state is": "(role a) (n 1) (n 2) (n 3) (n 4) (m 2) (m 3)"
    "(init (at 1))"
    "(<= (legal a (go ?x)) (m ?x)) (<= (near ?x ?y) (n ?x) (n ?y) (true (at ?x)))"
    "(<= (next (at ?y)) (does a (go ?y)) (near ?x ?y)) (<= terminal (true (at 3)))",
    "rules that leave variables of their head open": FRAME
    + "(n 1) (n 2) (n 3) (n 4) (init (at 1 2)) (init (at 3 3))"
    "(<= (hit ?x ?y) (n ?x) (n ?y) (true (at ?x ?z)))"
    "(<= (hit ?x ?y) (n ?x) (n ?y) (true (at ?z ?x)) (not (true (at ?x ?x))))"
    "(<= (hit ?x ?y) (n ?x) (n ?y) (true (at ?y ?z)) (hit ?z ?z))"
    "(<= (hit ?x ?y) (n ?x) (n ?y) (true (at 3 ?y)))"
    "(<= (hit ?x ?y) (n ?x) (n ?y) (true (at 1 4)))"
    "(<= (legal a (go ?x ?y)) (n ?x) (n ?y) (not (hit ?x ?y)))"
    "(<= (next (at ?x ?y)) (does a (go ?x ?y))) (<= (next (at ?y ?x)) (true (at ?x ?y)))",
    "threats but one": FRAME
    + "(n 1) (n 2) (n 3) (init (king 1 1)) (init (foe 1 3)) (init (foe 2 2))"
    "(<= (other ?x ?y ?u ?v) (n ?x) (n ?y) (n ?u) (n ?v) (distinct ?x ?u))"
    "(<= (other ?x ?y ?u ?v) (n ?x) (n ?y) (n ?u) (n ?v) (distinct ?y ?v))"
    "(<= (threat ?x ?y ?u ?v) (true (foe ?x ?v)) (true (king ?u ?v)) (n ?y))"
    "(<= (threat ?x ?y ?u ?v) (true (foe ?x ?y)) (true (king ?u ?v)) (distinct ?y ?u))"
    "(<= (without ?x ?y) (threat ?a ?b ?u ?v) (other ?x ?y ?a ?b) (n ?x) (n ?y))"
    "(<= (legal a (take ?x ?y)) (true (foe ?x ?y)) (not (without ?x ?y)))"
    "(<= (legal b (step ?u ?v)) (true (king ?x ?y)) (other ?x ?y ?u ?v) (not (true (foe ?u ?v))))"
    "(<= (next (foe ?x ?y)) (true (foe ?x ?y)) (not (does a (take ?x ?y))))"
    "(<= (next (king ?u ?v)) (does b (step ?u ?v))) (<= (next (king 1 1)) (does b wait))"
    "(<= terminal (not (true (foe 2 2))))",
}


@pytest.mark.parametrize("text", [*ODD_RULES.values(), *ASKED.values()], ids=[*ODD_RULES, *ASKED])
def test_odd_rules_for_what_is_asked_for_play_as_they_say(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(splits, "LARGE", 0.0)
    rulesheet = parse(text)
    program = normalize(rulesheet)
    game = GroundGame(ground(program), is_gdl2=program.is_gdl2)
    for seed in range(2):
        play_alike(game, Reference(rulesheet.rules), seed=seed, max_steps=5)


@pytest.mark.parametrize("name", ["gdl1/connectFour.kif", "gdl1/maze.kif", "gdl2/transit.gdl"])
def test_rulesheets_for_what_is_asked_for_play_as_they_say(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(splits, "LARGE", 0.0)
    program = load(path_of_shared(name))
    reference = Reference(read_rulesheet(path_of_shared(name)).rules)
    game = GroundGame(ground(program), is_gdl2=program.is_gdl2)
    play_alike(game, reference, seed=0, max_steps=5)


def test_no_questions_are_asked_that_only_list_all_values(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = " ".join(f"(n {i}) (s {i} {i + 1})" for i in range(1, 5))
    cells = "(true (cell ?x queen)) (true (cell ?y king)) (true (cell ?z knight))"
    program = normalize(
        parse(
            f"{FRAME} {numbers} (init (cell 1 queen)) (init (cell 2 king)) (init (cell 3 knight))"
            "(<= (line ?x ?y ?z) (s ?x ?y) (n ?z) (distinct ?y ?z))"
            "(<= (line ?x ?y ?z) (s ?x ?w) (true (cell ?w ?p)) (line ?w ?y ?z))"
            "(<= (next (cell ?y ?p)) (true (cell ?x ?p)) (s ?x ?y) (does a wait))"
            f"(<= (legal a wait) {cells} (line ?x ?y ?z)) (<= (legal b wait) (true (cell ?x king)))"
        )
    )
    monkeypatch.setattr(splits, "LARGE", 0.0)
    seen: list[NormalRule] = []

    def watched(roles: Sequence[str], rules: Sequence[NormalRule]) -> Translation:
        seen.extend(rules)
        return translate(roles, rules)

    monkeypatch.setattr(module, "translate", watched)
    ground(program)
    questions = {str(rule.head) for rule in seen if rule.head.name.startswith("asked;line")}
    assert questions == {"(asked;line;3 ?x)", "(asked;line;3 ?w)"}


def test_no_rules_are_made_for_what_nobody_asks_for(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = " ".join(f"(n {i})" for i in range(12))
    program = normalize(
        parse(
            f"{FRAME} {numbers} (init (at 3)) (<= (next (at ?x)) (does a (to ?x)))"
            "(<= (far ?x ?y ?z) (n ?x) (n ?y) (n ?z) (not (true (at ?x))) (not (true (at ?z))))"
            "(<= (legal a (to ?x)) (n ?x) (far ?x 1 2))"
        )
    )
    # Splitting would find a way to do without most of them too.
    monkeypatch.setattr("ggp.machine.propnet.compile.rewriting.decompose.MIN_GAIN", 1e9)
    whole = ground(program)
    monkeypatch.setattr(splits, "LARGE", 0.0)
    with_queries = ground(program)
    assert len(with_queries.heads) < 60 < 1_500 < len(whole.heads)
    assert with_queries.legal[0][0][0] == whole.legal[0][0][0]
    assert [name for name, _ in with_queries.legal[0]] == [name for name, _ in whole.legal[0]]


def test_relations_over_large_domains_are_restricted_to_queries(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As in chess: 16 names of rows and columns, and six arguments that may be any of them."""
    names = " ".join(f"(c {name})" for name in [*range(1, 9), *"abcdefgh"])
    args = "?a ?b ?x ?y ?u ?v"
    program = normalize(
        parse(
            f"{FRAME} {names} (init (k a 1)) (init (p b 2)) (init (p c 3))"
            f"(<= (hit {args}) (true (p ?a ?b)) (c ?x) (c ?y) (c ?u) (c ?v) (not (true (k ?u ?v))))"
            f"(<= (safe ?x ?y ?u ?v) (c ?x) (c ?y) (c ?u) (c ?v) (not (hit ?x ?y ?x ?y ?u ?v)))"
            "(<= (legal a (m ?u ?v)) (true (k ?x ?y)) (true (p ?u ?v)) (safe ?x ?y ?u ?v))"
            "(<= (next (k ?u ?v)) (does a (m ?u ?v))) (<= (next (p ?x ?y)) (true (p ?x ?y)))"
        )
    )
    monkeypatch.setattr(splits, "LARGE", 1e5)
    assert len(ground(program).heads) < 200


# -------------------------------------------------------------------- what comes before


def rules_of(text: str) -> tuple[NormalRule, ...]:
    return normalize(parse(text)).rules


def test_fluents_that_never_change_are_known_beforehand() -> None:
    text = (
        f"{FRAME} (init (wall 1)) (init (wall 2)) (init (at 1)) (s 1 2) (s 2 3) (s 3 1)"
        "(<= (next (wall ?x)) (true (wall ?x)))"
        "(<= (next (wall ?x)) (true (wall ?x)) (does a wait))"
        "(<= (legal a (to ?y)) (true (at ?x)) (s ?x ?y) (not (true (wall ?y))))"
        "(<= (next (at ?y)) (does a (to ?y))) (<= (next (at ?x)) (true (at ?x)) (does a wait))"
    )
    program = ground(normalize(parse(text)))
    assert dict(program.fluents)["(wall 1)"] == ALWAYS
    assert dict(program.next)["(wall 2)"] == ALWAYS
    assert "(wall 1)" in program.initial
    assert [name for name, _ in program.fluents] == ["(at 1)", "(wall 1)", "(wall 2)"]


@pytest.mark.parametrize(
    "rule",
    [
        "(<= (next (wall 3)) (true (at 1)))",  # another comes
        "(<= (next ?f) (true ?f) (does a wait))",  # anything may
    ],
)
def test_fluents_that_may_change_are_left_as_they_are(rule: str) -> None:
    text = (
        f"{FRAME} (init (wall 1)) (init (at 1)) (<= (next (wall ?x)) (true (wall ?x))) {rule}"
        "(<= terminal (true (wall 3)))"
    )
    assert unchanging(rules_of(text)) == []


def test_fluents_that_are_kept_only_at_times_are_left_as_they_are() -> None:
    rules = rules_of(
        f"{FRAME} (init (wall 1)) (<= (next (wall ?x)) (true (wall ?x)) (does a wait))"
        "(<= (next (wall (f ?x))) (true (wall (f ?x)))) (<= terminal (not (true (wall 1))))"
    )
    assert unchanging(rules) == []


def test_differences_are_written_out_where_that_frees_variables() -> None:
    text = (
        f"{FRAME} (n 1) (n 2) (init (at 1 1)) (<= (next (at ?x ?y)) (true (at ?x ?y)))"
        "(<= (next (at 2 2)) (does a wait))"
        "(<= (other ?x ?y ?u ?v) (n ?x) (n ?y) (n ?u) (n ?v) (distinct ?x ?u))"
        "(<= (other ?x ?y ?u ?v) (n ?x) (n ?y) (n ?u) (n ?v) (distinct ?y ?v))"
        "(<= terminal (true (at ?x ?y)) (true (at ?u ?v)) (other ?x ?y ?u ?v))"
    )
    program = normalize(parse(text))
    written = with_differences(program.rules, program.static)
    ends = [rule for rule in written if str(rule.head) == "terminal"]
    assert len(ends) == 3
    assert all("other" not in str(rule) for rule in ends)
    assert {str(rule).count("distinct ?x ?u") for rule in ends} == {0, 1}

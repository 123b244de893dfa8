"""Splitting rules changes how many ground rules there are, and nothing else."""

from __future__ import annotations

import random

import pytest

from ggp.gdl import parse
from ggp.gdl.analysis.dependencies import relations_reaching
from ggp.gdl.normalize import load, normalize
from ggp.gdl.program import DOES, TRUE, Program
from ggp.gdl.terms import Signature, signature
from ggp.machine.propnet.compile.ground_rules.grounding import ground
from ggp.machine.propnet.compile.rewriting import decompose as module
from ggp.machine.propnet.compile.rewriting.decompose import decompose, project_locals
from ggp.machine.propnet.compile.rewriting.extents import Extents
from tests.support.games import path_of_shared
from tests.support.plain.ground_games import GroundGame, play_alike
from tests.support.plain.reference import Reference
from tests.support.sheets.programs import program

NUMBERS = "".join(f"(number {i})" for i in range(9)) + "".join(
    f"(succ {i} {i + 1})" for i in range(8)
)
BOARD = NUMBERS + (
    "(<= (init (cell ?x ?y b)) (number ?x) (number ?y)) (init (at 0)) (init (at 8))"
    "(<= (next (at ?x)) (true (at ?x))) (<= (next (cell ?x ?y w)) (true (cell ?x ?y b)))"
    "(<= (next (cell ?x ?y b)) (true (cell ?x ?y w)))"
    "(<= (legal white (mark ?x ?y)) (number ?x) (number ?y))"
)


def split_rules(rules: str, leave: frozenset[Signature] = frozenset()) -> list[str]:
    """What becomes of the last of some rules about the board, new relations last."""
    parsed = program(BOARD + rules)
    last = max(rule.start for rule in parsed.rules)
    normal = project_locals(parsed.rules)
    split = decompose(normal, extents_of(parsed), leave)
    old = {str(rule) for rule in normal if rule.start != last}
    return [str(rule) for rule in split if str(rule) not in old]


def extents_of(parsed: Program) -> Extents:
    normal = project_locals(parsed.rules)
    static = {signature(rule.head) for rule in normal} - relations_reaching(normal, (TRUE, DOES))
    return Extents(normal, frozenset(static), {})


# -------------------------------------------------------------------- there is no


def test_variable_local_to_a_negation_is_projected() -> None:
    parsed = program("(init (at 1)) (<= terminal (true (at ?x)) (not (true (on ?x ?x ?y))))")
    rules = list(map(str, project_locals(parsed.rules)))
    assert "(<= terminal (true (at ?x)) (not (some;0 ?x)))" in rules
    assert rules[-1] == "(<= (some;0 ?x) (true (on ?x ?x ?y)))"


def test_equal_projections_are_shared() -> None:
    parsed = program(
        "(init (p 1 2)) (<= (next (p ?x ?y)) (true (p ?x ?y)))"
        "(<= terminal (true (p ?x ?y)) (not (true (p ?y ?z))))"
        "(<= (goal white 7) (true (p ?a ?b)) (not (true (p ?b ?c))))"
        "(<= (goal white 8) (true (p ?a ?b)) (not (true (p ?c ?c))))"
        "(<= (goal white 9) (true (p ?a ?b)) (not (true (p ?c ?b))))"
    )
    new = [str(rule) for rule in project_locals(parsed.rules) if ";" in str(rule.head)]
    assert new == [
        "(<= (some;0 ?y) (true (p ?y ?z)))",
        "(<= some;1 (true (p ?c ?c)))",
        "(<= (some;2 ?b) (true (p ?c ?b)))",
    ]


# -------------------------------------------------------------------- what is split


def test_argument_nobody_needs_is_projected() -> None:
    assert split_rules(
        "(<= (next (cell ?x ?y w)) (does ?r (mark ?x ?z)) (true (cell ?x ?y b)))"
    ) == [
        "(<= (next (cell ?x ?y w)) (part;0 ?x) (true (cell ?x ?y b)))",
        "(<= (part;0 ?x) (does ?r (mark ?x ?z)))",
    ]


def test_conditions_without_common_variables_are_separated() -> None:
    rules = "(<= terminal (true (cell ?a ?b w)) (true (cell ?c ?d b)) (distinct ?c ?d))"
    assert split_rules(rules) == [
        "(<= terminal part;1 part;0)",
        "(<= part;0 (true (cell ?a ?b w)))",
        "(<= part;1 (true (cell ?c ?d b)) (distinct ?c ?d))",
    ]


def test_equal_parts_are_shared() -> None:
    first = "(<= (next (at ?x)) (number ?x) (true (cell ?a ?b w)) (true (cell ?x ?d b)))"
    second = "(<= (goal white 7) (true (cell ?u ?v w)) (true (cell ?s ?t b)) (true (at ?k)))"
    rules = "\n".join(split_rules(first + second))
    assert rules.count("(true (cell ?a ?b w)))") + rules.count("(true (cell ?u ?v w)))") == 1


def test_test_takes_along_what_binds_its_variables() -> None:
    rules = split_rules(
        "(<= (next (at ?x)) (true (cell ?x ?y w)) (succ ?x ?z)"
        "(true (cell ?a ?b b)) (distinct ?a ?z))"
    )
    (part,) = [rule for rule in rules if rule.startswith("(<= (part;0")]
    assert "(distinct ?a ?z)" in part
    assert "(succ ?x;z ?z)" in part or "(succ ?x ?z)" in part


def test_rule_with_few_instances_stays_whole() -> None:
    rule = "(<= terminal (true (at ?x)) (true (at ?y)) (distinct ?x ?y) (succ ?x ?y))"
    assert split_rules(rule) == [
        "(<= terminal (true (at ?x)) (true (at ?y)) (distinct ?x ?y) (succ ?x ?y))"
    ]


def test_chain_becomes_small_steps() -> None:
    rules = split_rules(
        "(<= (next (at ?a)) (true (cell ?a ?b b)) (true (cell ?b ?c b)) (true (cell ?c ?d b))"
        "(true (cell ?d ?e b)))"
    )
    assert len(rules) == 4
    for rule in rules:
        assert len({word.strip("()") for word in rule.split() if "?" in word}) <= 2, rule


def test_recursive_relation_is_left_as_it_is() -> None:
    rules = "(<= (reach ?x) (true (at ?x))) (<= terminal (reach 5))" + (
        "(<= (reach ?y) (reach ?x) (true (cell ?x ?y w)) (true (cell ?a ?b b)))"
    )
    assert len(split_rules(rules)) > 1
    assert len(split_rules(rules, frozenset({("reach", 1)}))) == 1


def test_part_is_not_made_of_itself() -> None:
    parsed = load(path_of_shared("gdl1/coloredtrails.kif"))
    for rule in decompose(project_locals(parsed.rules), extents_of(parsed)):
        if rule.head.name.startswith("part;"):
            assert rule.head.name not in {literal.atom.name for literal in rule.body}, str(rule)


@pytest.mark.parametrize(
    ("name", "share"),
    [("gdl2/mastermind.gdl", 0.1), ("gdl2/vis_pacman3p.gdl", 0.1), ("gdl2/kriegTTT_4x4.gdl", 0.5)],
)
def test_splitting_pays(name: str, share: float) -> None:
    parsed = load(path_of_shared(name))
    whole, split = ground(parsed, split=False), ground(parsed)
    assert len(split.conditions) < share * len(whole.conditions)


# -------------------------------------------------------------------- what is not changed


def random_rules(seed: int) -> str:
    """A game of random rules; whatever its rules mean, they mean it split or not."""
    rng = random.Random(seed)
    names = "uvwxyz"

    def condition() -> str:
        a, b, c = (f"?{name}" for name in rng.choices(names, k=3))
        return rng.choice(
            [
                f"(true (f {a} {b}))",
                f"(true (g {a}))",
                f"(true (f {a} 1))",
                f"(edge {a} {b})",
                f"(link {a} {b} {c})",
                f"(does ?r (go {a}))",
                f"(pair {a} {b})",
            ]
        )

    def rule(head: str, variable: str, *, moves: bool = True) -> str:
        body = [condition() for _ in range(rng.randint(2, 5))]
        body = [x for x in body if moves or "does" not in x] or ["(true (g ?u))"]
        body += [f"(num ?{name})" for name in variable if f"?{name}" not in " ".join(body)]
        bound = [name for name in names if f"?{name}" in " ".join(body)]
        for _ in range(rng.randint(0, 2)):
            a, b = rng.choices(bound, k=2)
            body.append(
                rng.choice(
                    [
                        f"(distinct ?{a} ?{b})",
                        f"(not (true (f ?{a} ?{b})))",
                        f"(not (true (f ?{a} ?other)))",
                        f"(not (edge ?{a} ?{b}))",
                    ]
                )
            )
        return f"(<= {head} {' '.join(body)})"

    parts = [
        "(role a) (role b)" + "".join(f"(num {i})" for i in range(4)),
        "(init (f 0 1)) (init (f 1 2)) (init (f 2 2)) (init (g 3)) (init (g 0))",
        "(edge 0 1) (edge 1 2) (edge 2 3) (edge 3 1)",
        "(<= (link ?x ?y ?z) (edge ?x ?y) (edge ?y ?z))",
        "(<= (pair ?x ?y) (true (f ?x ?y)) (true (g ?z)) (distinct ?z ?y))",
        "(<= (legal ?r (go ?x)) (role ?r) (num ?x))",
        rule("(next (f ?u ?v))", "uv"),
        rule("(next (f ?u 1))", "u"),
        rule("(next (g ?w))", "w"),
        rule("(sees a (saw ?x ?y))", "xy"),
        "(<= (next (g ?x)) (does a (go ?x)))",
        rule("(goal a 7)", "", moves=False),
        "(<= terminal (true (f 3 3)) (true (g 2)) (not (true (g 1)))) (goal b 1)",
    ]
    return "\n".join(parts)


@pytest.mark.parametrize("seed", range(40))
def test_random_rules_mean_the_same_when_split(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WORTH", 1.0)
    monkeypatch.setattr(module, "MIN_GAIN", 0.0)
    text = random_rules(seed)
    parsed = normalize(parse(text))
    reference = Reference.of_program(parsed)
    for split in (True, False):
        game = GroundGame(ground(parsed, split=split))
        for match in range(2):
            play_alike(game, reference, seed=match, max_steps=4)

"""The values that argument positions can take."""

from __future__ import annotations

import pytest

from ggp.gdl import parse_term
from ggp.gdl.analysis.domains import MAX_DEPTH, Domains, position, with_uses
from ggp.gdl.analysis.growth import terms_grow
from ggp.gdl.normalize import load
from ggp.gdl.program import NormalRule
from ggp.gdl.terms import Signature
from tests.support.games import GAMES
from tests.support.sheets.programs import program

RULES = """
(number 1) (number 2) (number 3)
(init (at 1 a)) (init hidden)
(<= (next (at ?y b)) (true (at ?x ?z)) (does white (go ?y)))
(<= (legal white (go ?x)) (number ?x) (distinct ?x 3))
(<= (legal white (both (pair ?x ?y))) (true (at ?x ?y)))
(<= (near ?p) (number ?x) (true (at ?p ?q)))
(<= (legal white near) (near 1))
"""


def domains(rules: str = RULES, *, with_queries: bool = False) -> Domains:
    parsed = program(rules).rules
    return Domains(with_uses(parsed) if with_queries else parsed)


def values(of: Domains, relation: str, arity: int, argument: int, limit: int = 100) -> set[str]:
    constants = of.values(position((relation, arity), argument), limit)
    assert constants is not None
    assert len(constants) == len(set(constants))
    return set(map(str, constants))


def test_constants_flow_from_heads_to_bodies() -> None:
    assert values(domains(), "number", 1, 0) == {"1", "2", "3"}
    assert values(domains(), "near", 1, 0) == {"1", "2", "3"}


@pytest.mark.parametrize("relation", ["init", "next", "true"])
def test_init_next_and_true_share_their_values(relation: str) -> None:
    assert values(domains(), relation, 1, 0) == {
        *("start", "hidden"),
        *(f"(at {x} {y})" for x in (1, 2, 3) for y in "ab"),
    }


@pytest.mark.parametrize("relation", ["legal", "does"])
def test_legal_and_does_share_their_values(relation: str) -> None:
    assert values(domains(), relation, 2, 1) == {
        *("noop", "near", "(go 1)", "(go 2)", "(go 3)"),
        *(f"(both (pair {x} {y}))" for x in (1, 2, 3) for y in "ab"),
    }
    assert values(domains(), relation, 2, 0) == {"white", "black"}


def test_places_inside_functions_have_values_of_their_own() -> None:
    place = (*position(("legal", 2), 1), (("both", 1), 0), (("pair", 2), 1))
    assert [str(v) for v in domains().values(place, 100) or ()] == ["a", "b"]


def test_values_come_in_order_of_first_appearance() -> None:
    place_values = domains("(number 2) (number 1) (number 10) (<= (legal white ?x) (number ?x))")
    place = position(("number", 1), 0)
    assert [str(v) for v in place_values.values(place, 9) or ()] == ["2", "1", "10"]


def test_more_values_than_the_limit_are_none() -> None:
    place = position(("true", 1), 0)
    assert domains().values(place, 8) is not None
    assert domains().values(place, 7) is None


def test_terms_that_nest_without_end_are_cut_off() -> None:
    domain = domains(
        "(<= (deep (s ?x)) (deep ?x)) (deep 0) (<= (legal white go) (deep (s 0)))"
        "(<= (next (tree ?x ?x)) (true (tree ?x ?y))) (init (tree 1 2))"
        "(<= (next (tree (node ?x ?y) 1)) (true (tree ?x ?y)))"
    )
    deep = values(domain, "deep", 1, 0)
    assert {"0", "(s 0)", "(s (s 0))"} <= deep
    assert len(deep) <= MAX_DEPTH + 1
    domain.values(position(("true", 1), 0), 10_000)


def test_where_a_variable_occurs_twice_its_first_place_counts() -> None:
    domain = domains(
        "(few 1) (many 1) (many 2) (<= (p ?x) (few ?x) (many ?x)) (<= (legal white ?x) (p ?x))"
    )
    assert values(domain, "p", 1, 0) == {"1"}


def test_uses_of_a_relation_of_the_authors_tell_values_too() -> None:
    rules = """
    (number 1) (number 2)
    (<= (same ?x ?y) (number ?x) (also ?x ?y)) (also 3 3)
    (<= (legal white (go ?x)) (number ?x) (same ?x 7))
    """
    assert values(domains(rules), "also", 2, 1) == {"3"}
    assert values(domains(rules, with_queries=True), "also", 2, 1) == {"3", "7"}
    assert values(domains(rules, with_queries=True), "also", 2, 0) == {"1", "2", "3"}
    assert values(domains(rules, with_queries=True), "legal", 2, 0) == {"white", "black"}


@pytest.mark.parametrize("name", GAMES)
def test_terms_of_our_games_are_flat(name: str) -> None:
    assert not terms_grow(load(name).rules, 2)


@pytest.mark.parametrize(
    ("rules", "deepest"),
    [
        ("(<= (legal white (go ?x)) (number ?x)) (number 1)", 1),
        ("(<= (legal white (go ?x)) (number ?x)) (number (s (s 0)))", 3),
        ("(<= (legal white ?x) (number (s ?x))) (number (s (s 0)))", 2),
        ("(<= (q (f ?x)) (p ?x)) (<= (r (f ?x)) (q ?x)) (p 0) (<= (legal white ?x) (r ?x))", 2),
        ("(<= (next (at (s ?x))) (true (at ?y)) (number ?x)) (init (at 0)) (number 1)", 2),
    ],
)  # fmt: skip
def test_terms_that_nest_up_to_a_depth_do_not_grow_beyond_it(rules: str, deepest: int) -> None:
    parsed = program(rules).rules
    assert not terms_grow(parsed, deepest)
    assert terms_grow(parsed, deepest - 1)


@pytest.mark.parametrize(
    "rules",
    [
        "(<= (next (at (s ?x))) (true (at ?x))) (init (at 0))",
        "(<= (p (s ?x)) (p ?x)) (p 0) (<= (legal white ?x) (p ?x) (true (at ?x)))",
        "(<= (p (s ?x)) (q ?x)) (<= (q ?x) (p ?x)) (q 0)"
        "(<= (legal white ?x) (p ?x) (true (at ?x)))",
        "(<= (next (said ?m)) (does white ?m)) (init (said 0))"
        "(<= (legal white (say ?m)) (true (said ?m)))",
    ],
)
def test_terms_that_nest_without_end_grow_beyond_every_depth(rules: str) -> None:
    assert all(terms_grow(program(rules).rules, depth) for depth in (1, 5, 40))


def test_places_of_a_relation_know_what_they_share() -> None:
    next_, true = ("next", 1), ("true", 1)
    assert position(next_, 0) == position(true, 0) == position(("init", 1), 0)
    successor: Signature = ("next", 2)
    assert position(successor, 0) == ((successor, 0),)
    rule = NormalRule(parse_term("(next 1 2)"))  # type: ignore[arg-type]
    assert Domains([rule]).values(position(true, 0), 9) == []


def test_functions_inside_of_functions_are_given_up_where_flows_are_bounded() -> None:
    parsed = program(" ".join(f"(<= (next (f{i} ?x)) (true ?x))" for i in range(20))).rules
    assert not Domains(parsed, most_flows=1_000).whole
    assert Domains(program(RULES).rules, most_flows=1_000).whole

"""Names and states from anywhere: pictures stay text, whole and bounded."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ggp.gdl import parse, parse_term
from ggp.gdl.normalize import normalize
from ggp.gdl.terms import Compound, Symbol, Term
from match_runner.pictures import Layout
from tests.gdl.syntax.strategies import names
from tests.match_runner.pictures.test_boards import layout
from tests.match_runner.pictures.test_states import facts_in
from tests.support.effort import examples

LONG = "x" * 990
ODD = ["<script>alert`1`</script>", "\u202egnp.exe", "a,1", "a:1", "a%2c1", "&amp", "'\"", LONG]

PLAIN = layout(
    """(number 1) (number 2) (number 3)
    (<= (legal ?r (mark ?x ?y)) (role ?r) (number ?x) (number ?y))
    (<= (next (cell ?x ?y ?r)) (does ?r (mark ?x ?y)))"""
)
MANY = 10_000


def hostile(name: str) -> Layout:
    """A board whose coordinates, contents and role have an odd name."""
    cells = "".join(f"(init (cell {x} {y} {name}))" for x in (name, "b") for y in (1, 2, 3))
    return layout(f"(after {name} b) (after b c) {cells}", f"{name} other")


@pytest.mark.parametrize("name", ODD)
def test_odd_names_are_text_and_short(name: str) -> None:
    odd_layout = hostile(name)
    facts: list[Term] = [Compound("cell", (Symbol(name), Symbol("1"), Symbol(name))), Symbol(name)]
    text = json.dumps(odd_layout.picture(facts).to_json())
    assert len(text) < 20_000
    picture = json.loads(text)
    if len(name) < 100:
        assert sorted(facts_in(picture)) == sorted(map(str, facts))


def test_cells_with_odd_names_have_ids_of_their_own() -> None:
    cells = "".join(
        f"(init (cell {x} {y} full))"
        for x in ("a,1", "a", "a%2C1", LONG + "1", LONG + "2")
        for y in ("1", "1,1", "2")
    )
    text = f"""{cells} (after a,1 a) (after a a%2C1) (after a%2C1 {LONG}1) (after {LONG}1 {LONG}2)
    (up 1 1,1) (up 1,1 2)
    (<= (next (cell ?u ?v full)) (true (cell ?x ?y full)) (after ?x ?u) (up ?y ?v))
    """
    (board,) = layout(text).picture([]).to_json()["boards"]
    ids = [cell["id"] for cell in board["cells"]]
    assert len(set(ids)) == len(ids) == 15
    assert all(len(cell_id) < 120 for cell_id in ids)


def test_states_of_very_many_fluents_stay_bounded() -> None:
    rows = [(f"{i}", f"{i}", "white") for i in range(MANY)]
    rows += [("1", "2", f"w{i}") for i in range(MANY)]
    facts = [Compound("cell", tuple(map(Symbol, row))) for row in rows]
    picture = PLAIN.picture(facts).to_json()
    assert len(facts_in(picture)) == 5_001
    assert picture["facts"][-1]["text"] == "and 15,000 more"
    assert len(json.dumps(picture)) < 1_500_000


def test_rules_with_very_many_names_are_read_in_time() -> None:
    many_rules = "".join(
        f"(init (cell {i} {i} c{i}))(init (at{i} {i % 50} {i % 49}))" for i in range(1_000)
    )
    functions = "".join(f"(init (f{i} (g{i} (h{i} a) b) c))" for i in range(200))
    rules = parse(f"(role r) (legal r noop) (goal r 0) terminal {many_rules} {functions}")
    program = normalize(rules)
    start = time.process_time()
    big_layout = Layout.of(program)
    picture = big_layout.picture(parse_term(f"(at{i} 1 1)") for i in range(1_000))
    assert time.process_time() - start < 10
    assert len(json.dumps(picture.to_json())) < 4_000_000


def test_functions_inside_of_functions_are_given_up_in_time() -> None:
    rules = " ".join(f"(<= (next (f{i} ?x ?y)) (true ?x) (true ?y))" for i in range(40))
    start = time.process_time()
    nested_layout = layout(rules)
    assert time.process_time() - start < 5
    assert nested_layout.picture([]).to_json()["boards"] == []


def test_terms_nested_very_deep_are_single_facts() -> None:
    term: Term = Symbol("a")
    for _ in range(5_000):
        term = Compound("s", (term,))
    picture = PLAIN.picture([Compound("cell", (term, term, term)), term]).to_json()
    assert len(picture["facts"]) == 2
    assert all(len(fact["text"]) <= 400 for fact in picture["facts"])


leaves = st.one_of(names, st.integers(0, 4).map(str)).map(Symbol)
facts = st.one_of(
    st.builds(Compound, st.just("cell"), st.tuples(leaves, leaves, leaves)),
    st.builds(Compound, names, st.lists(leaves, min_size=1, max_size=3).map(tuple)),
    leaves,
)


@settings(max_examples=examples(60))
@given(st.lists(facts, max_size=20, unique=True))
def test_every_fact_of_any_state_is_in_the_picture(state: list[Term]) -> None:
    picture = PLAIN.picture(state).to_json()
    assert sorted(facts_in(picture)) == sorted(map(str, state))
    ids = [cell["id"] for board in picture["boards"] for cell in board["cells"]]
    assert len(set(ids)) == len(ids) == 9
    json.dumps(picture, allow_nan=False)

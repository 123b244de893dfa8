"""Normalisation keeps the meaning, repairs what can be repaired, and says so."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ggp.gdl import list_games, parse, print_kif
from ggp.gdl.normalize import load, normalize, validate
from ggp.gdl.program import local_variables
from ggp.gdl.terms import Compound, Rule, Symbol, Term, Variable, variables
from tests.support.effort import examples
from tests.support.plain.reference import Reference
from tests.support.sheets.programs import (
    FRAME,
    added,
    diagnostics,
    legal_after,
    problems,
    program,
    refusals,
)

# -------------------------------------------------------------------- what is left


def test_frame_has_no_problems_even_when_strict() -> None:
    assert problems("", strict=True) == []


@pytest.mark.parametrize("name", list_games())
def test_games_of_ours_keep_the_formal_rules(name: str) -> None:
    assert load(name, strict=True).diagnostics == ()


@pytest.mark.parametrize("name", list_games())
def test_normalising_twice_changes_nothing(name: str) -> None:
    once = load(name)
    rules = [
        Rule(r.head, tuple(Compound("not", (x.atom,)) if x.negated else x.atom for x in r.body))
        for r in once.rules
    ]
    twice = normalize(parse(print_kif(rules)))
    assert twice.rules == once.rules
    assert twice.digest == once.digest


def test_rules_that_nothing_needs_are_left_out() -> None:
    assert added("(unused 1) (<= (also ?x) (unused ?x))") == []


def test_relations_that_depend_on_nothing_that_changes_are_static() -> None:
    result = program(
        "(succ 1 2) (<= (less ?x ?y) (succ ?x ?y)) (<= (on ?x) (less ?x ?y) (true (at ?x)))"
        "(<= (chosen ?x) (does white ?x)) (<= (next (was ?x)) (chosen ?x) (on ?x))"
    )
    assert {("succ", 2), ("less", 2), ("role", 1), ("init", 1)} <= result.static
    assert not {("on", 1), ("chosen", 1), ("next", 1)} & result.static
    assert ("legal", 2) in result.static


def test_relations_that_lead_back_to_themselves_are_recursive() -> None:
    result = program(
        "(succ 1 2) (<= (less ?x ?y) (succ ?x ?y)) (<= (less ?x ?z) (less ?x ?y) (less ?y ?z))"
        "(<= (even ?x) (odd ?y) (succ ?y ?x)) (<= (odd ?x) (even ?y) (succ ?y ?x)) (even 0)"
        "(<= (legal white ?x) (less ?x 2)) (<= (legal white ?x) (odd ?x))"
        "(<= (goal white 0) (not (goal white 100))) (<= (goal white 100) (less 1 2))"
    )
    assert result.recursive == {("less", 2), ("even", 1), ("odd", 1)}


# -------------------------------------------------------------------- duplicates


def test_duplicate_facts_are_dropped_with_the_line_of_the_first() -> None:
    succ = "\n(succ 1 2)\n(succ 1 2)\n(succ 2 3)\n(succ 1 2)(<= (legal white ?x) (succ ?x ?y))"
    assert added(succ).count("(succ 1 2)") == 1
    reported = diagnostics(succ)
    assert [(d.rule, d.severity) for d in reported] == [("duplicate", "warning")] * 2
    first = FRAME.count("\n") + 2
    assert [d.line for d in reported] == [first + 1, first + 3]
    assert reported[0].message == f"fact already given in line {first}: dropped"


def test_duplicate_rules_are_found_under_other_variable_names() -> None:
    rules = "(<= (legal ?r (go ?x)) (true (at ?r ?x))) (<= (legal ?a (go ?b)) (true (at ?a ?b)))"
    assert len(added(rules)) == 1
    assert problems(rules) == [("warning", "duplicate")]
    swapped = "(<= (legal white ?x) (true (at ?x ?y))) (<= (legal white ?x) (true (at ?y ?x)))"
    assert len(added(swapped)) == 2
    assert problems(swapped) == []


def test_rules_that_become_equal_are_one() -> None:
    rules = "(<= (legal white go) (or (true start) (true start)))"
    assert added(rules) == ["(<= (legal white go) (true start))"]


# -------------------------------------------------------------------- order of conditions


@pytest.mark.parametrize(
    ("body", "ordered"),
    [
        ("(distinct ?x 1) (number ?x)", "(number ?x) (distinct ?x 1)"),
        ("(not (true (at ?x))) (number ?x)", "(number ?x) (not (true (at ?x)))"),
        (
            "(distinct ?x ?y) (not (true (at ?y))) (number ?x) (number ?y)",
            "(number ?x) (number ?y) (distinct ?x ?y) (not (true (at ?y)))",
        ),
        (
            "(number ?x) (number ?y) (distinct ?x 1)",
            "(number ?x) (distinct ?x 1) (number ?y)",
        ),
        (
            "(number ?x) (true (on ?x ?y)) (true (on ?y ?x))",
            "(number ?x) (true (on ?x ?y)) (true (on ?y ?x))",
        ),
        ("(number ?x) (not (true (off)))", "(not (true off)) (number ?x)"),
    ],
)
def test_tests_come_where_their_variables_are_first_bound(body: str, ordered: str) -> None:
    rules = "(number 1) (number 2)" + f"(<= (legal white (go ?x)) {body})"
    assert f"(<= (legal white (go ?x)) {ordered})" in added(rules)
    assert all(rule != "arity" for _, rule in problems(rules))


def test_order_of_conditions_is_no_problem_even_when_strict() -> None:
    rules = "(number 1) (number 2) (<= (legal white (go ?x)) (distinct ?x 1) (number ?x))"
    assert problems(rules, strict=True) == []
    assert legal_after(rules) == {"(go 2)"}


def test_distinct_of_constants_is_decided_when_loading() -> None:
    assert added("(<= (legal white go) (distinct a b))") == ["(legal white go)"]
    assert added("(<= (legal white go) (distinct a a))") == []
    assert added("(<= (legal white go) (true (at ?x)) (distinct ?x ?x))") == []
    assert added("(<= (legal white go) (distinct 1 01) (distinct 0.8 .8) (distinct 1 1.0))") == [
        "(legal white go)"
    ]


# -------------------------------------------------------------------- unbound variables


@pytest.mark.parametrize(
    ("rule", "bound"),
    [
        ("(<= (legal ?who go) (true start))", "(<= (legal ?who go) (role ?who) (true start))"),
        ("(<= (sees ?who go) (true start))", "(<= (sees ?who go) (role ?who) (true start))"),
        ("(<= (goal ?who 1) (true start))", "(<= (goal ?who 1) (role ?who) (true start))"),
        ("(legal ?who go)", "(<= (legal ?who go) (role ?who))"),
        (
            "(<= (legal ?who go) (not (true (control ?who))))",
            "(<= (legal ?who go) (role ?who) (not (true (control ?who))))",
        ),
        (
            "(<= (next nobody) (not (does ?who noop)) (distinct ?who white))",
            "(<= (next nobody) (role ?who) (not (does ?who noop)) (distinct ?who white))",
        ),
    ],
)
def test_unbound_role_argument_ranges_over_the_roles(rule: str, bound: str) -> None:
    assert bound in added(rule)
    (diagnostic,) = diagnostics(rule)
    assert diagnostic.rule in ("unsafe-head", "unsafe-variable")
    assert diagnostic.message == "nothing binds ?who: it ranges over the roles"
    assert diagnostic.context[diagnostic.column - 1 :].startswith("?who")
    assert problems(rule, strict=True)[0][0] == "error"


def test_unbound_head_variable_ranges_over_the_values_of_its_argument() -> None:
    rules = """
    (colour red) (colour blue)
    (<= (legal white (paint ?c)) (colour ?c))
    (<= (next (painted ?c)) (does white (paint ?c)))
    (<= (legal white (clean ?c)) (not (true (painted ?c))))
    (<= (next (painted ?c)) (true (wild)))
    """
    assert legal_after(rules) == {"(paint red)", "(paint blue)", "(clean red)", "(clean blue)"}
    assert [d.message for d in diagnostics(rules) if d.rule == "unsafe-head"] == [
        "nothing binds ?c: it ranges over the values it can take",
        "nothing binds ?c: it ranges over the values it can take",
    ]


def test_unbound_head_variable_inside_functions_ranges_over_that_place_only() -> None:
    rules = """
    (init (hand (card 1 red) north)) (init (hand (card 2 blue) south)) (init (hand joker 7))
    (<= (legal white (take ?h)) (true (hand ?h ?where)))
    (<= (next (hand (card ?n red) north)) (does white noop))
    (<= (next (seen ?n)) (true (hand (card ?n ?c) ?where)))
    (<= (next (kept (card ?n ?c))) (true (hand (card ?n ?c) ?where)))
    """
    reference = Reference.of_program(program(rules))
    following = reference.step(reference.initial(), {"white": "noop", "black": "noop"}).state
    hands = {t for t in reference.texts(following) if t.startswith("(hand")}
    assert hands == {"(hand (card 1 red) north)", "(hand (card 2 red) north)"}


def test_score_that_nothing_binds_is_scored_with_every_value_there_is() -> None:
    rules = """
    (role red) (number 0) (number 1) (number 2) (plus 0 ?x ?x) (plus 1 1 2)
    (init (points red 1))
    (<= (total ?r ?s) (true (points ?r ?p)) (plus ?p 1 ?s))
    (<= (legal red (claim ?s)) (total red ?s))
    (<= (legal red (sum ?a ?b)) (number ?a) (number ?b) (plus 0 ?a ?b))
    """
    assert legal_after(rules, "red") == {
        "(claim 2)",
        "(sum 0 0)",
        "(sum 1 1)",
        "(sum 2 2)",
    }
    assert [d.message for d in diagnostics(rules)] == [
        "nothing binds ?x: it ranges over the values it can take"
    ]


def test_unbound_variable_of_a_helper_ranges_over_what_it_is_asked_for() -> None:
    rules = """
    (number 1) (number 2)
    (<= (differ ?x ?y) (distinct ?x ?y))
    (<= (apart ?y ?x) (differ ?x ?y))
    (<= (legal white (pair ?x ?y)) (number ?x) (number ?y) (apart ?x ?y))
    """
    assert legal_after(rules) == {"(pair 1 2)", "(pair 2 1)"}
    assert problems(rules) == [("warning", "unsafe-head")] * 2


def test_variable_that_only_distinct_has_makes_it_hold() -> None:
    rules = "(<= (legal white go) (distinct ?x white))"
    assert added(rules) == ["(legal white go)"]
    assert [d.message for d in diagnostics(rules)] == [
        "nothing binds ?x: the `distinct` is taken to hold"
    ]


def test_unbound_variable_over_too_many_values_is_an_error() -> None:
    facts = "".join(f"(number {i})" for i in range(160))
    rules = f"""
    {facts} (<= (legal white (pair (both ?x ?y))) (number ?x) (number ?y))
    (<= (legal white (pair ?z)) (true start))
    """
    errors = [d for d in diagnostics(rules) if d.severity == "error"]
    assert {d.rule for d in errors} == {"unsafe-head"}
    assert "more than 20000 values; bind it with a condition" in errors[0].message


def test_rule_dropped_for_an_unbound_head_variable_is_an_error_that_says_what_was_meant() -> None:
    rules = """
    (colour red) (init (at 1))
    (<= (legal white (paint ?coulor)) (colour ?colour))
    (<= (legal white (mix ?a)) (colour ?b) (true (at ?c)) (colour ?c))
    (<= (legal white (blend ?a)) (true start))
    """
    reported = diagnostics(rules)
    dropped = "nothing binds {} and it has no possible value"
    assert [(d.severity, d.rule, d.message) for d in reported] == [
        ("error", "unsafe-head", dropped.format("?coulor") + "; did you mean `?colour`?"),
        ("error", "unsafe-head", dropped.format("?a") + "; did you mean `?b`?"),
        ("error", "unsafe-head", dropped.format("?a")),
    ]
    assert reported[0].context[reported[0].column - 1 :].startswith("?coulor")
    sheet = normalize(parse(FRAME + rules), lenient=True)
    assert [str(r) for r in sheet.rules if "paint" in str(r)] == []
    assert any(d.message.endswith("?colour`?: rule dropped") for d in sheet.diagnostics)


# -------------------------------------------------------------------- there is no


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("(not (true (at ?x 1)))", False),
        ("(not (true (at ?x 9)))", True),
        ("(not (true (at ?x ?x)))", False),
        ("(not (true (at ?x ?y)))", False),
        ("(not (true (on ?x ?y)))", True),
        ("(not (or (true (at ?x 9)) (true (on ?x))))", True),
        ("(not (or (true (at ?x 9)) (true (at 2 ?x))))", False),
        ("(not (and (true (at ?x 1)) (true (at ?x 2))))", False),
        ("(not (and (true (at ?x 1)) (true (at 3 ?x))))", True),
        ("(not (and (true (at ?x ?y)) (true (at ?y ?z)) (distinct ?x ?z)))", False),
        ("(not (and (true (at ?x ?y)) (not (true (at ?y ?x)))))", False),
        ("(not (and (true (at ?x ?y)) (not (true (at ?y ?z)))))", False),
        ("(not (and (true (at ?x 3)) (not (true (at 3 ?x)))))", True),
        ("(not (and (true (at ?x ?y)) (or (true (on ?y)) (true (at ?y ?x)))))", False),
        ("(not (not (true (at ?x 1))))", True),
        ("(not (not (true (at ?x 9))))", False),
        ("(not (or (not (true (at ?x 1))) (true (on ?y))))", True),
    ],
)
def test_a_variable_of_one_negation_means_that_there_is_no_such_value(
    condition: str, holds: bool
) -> None:
    facts = "(init (at 1 1)) (init (at 1 2)) (init (at 2 4)) (init (at 3 3))"
    rules = f"{facts} (<= (legal white yes) {condition})"
    assert legal_after(rules) == ({"yes"} if holds else set())


def test_a_variable_of_one_negation_is_a_warning_and_an_error_when_strict() -> None:
    rules = "(<= (legal white yes) (not (true (at ?x 1))))"
    (diagnostic,) = diagnostics(rules)
    assert (diagnostic.severity, diagnostic.rule) == ("warning", "unsafe-not")
    assert diagnostic.message == (
        '?x occurs only under this `not`: read as "there is no ?x such that ..."'
    )
    assert ("error", "unsafe-not") in problems(rules, strict=True)


@pytest.mark.parametrize(
    ("moves", "stays"),
    [(("wait", "wait"), True), (("buy", "wait"), False), (("buy", "reset"), False)],
)
def test_variable_of_several_negations_is_read_in_each_of_them_by_itself(
    moves: tuple[str, str], stays: bool
) -> None:
    # "Nobody buys and nobody resets", not "somebody does neither".
    rules = program("""
    (init (n 1)) (legal ?r wait) (legal ?r buy) (legal ?r reset)
    (<= (next (n ?x)) (true (n ?x)) (not (does ?p buy)) (not (does ?p reset)))
    """)
    for reference in (Reference.of_program(rules), Reference(parse(rules.source.text).rules)):
        joint = dict(zip(reference.roles, moves, strict=True))
        assert (("n", "1") in reference.step(reference.initial(), joint).state) is stays


@pytest.mark.parametrize(
    ("conditions", "holds"),
    [
        ("(not (true (at ?x))) (not (true (on ?x)))", False),
        ("(not (true (at ?x))) (not (true (off ?x)))", False),
        ("(not (true (by ?x 1))) (not (true (by 1 ?x)))", True),
        ("(not (or (true (by ?x 1)) (true (by ?y 2)))) (not (true (by 1 ?x)))", True),
        (
            "(not (or (true (by ?x 1)) (true (on ?y)))) (not (or (true (by 1 ?y)) (true off)))",
            False,
        ),
        ("(not (and (true (at 1)) (not (true (by ?x 1))))) (not (true (by 1 ?x)))", False),
        ("(not (true (by ?x 1))) (not (true (at ?x))) (true (at ?x))", False),
        ("(not (true (by ?x 1))) (not (true (on ?x))) (true (at ?x))", True),
    ],
)
def test_a_variable_of_several_negations_is_quantified_in_each(
    conditions: str, holds: bool
) -> None:
    facts = "(init (at 1)) (init (at 2)) (init (on 2)) (init (on 3)) (init (off 3)) (init (by 2 3))"
    rules = f"{facts} (<= (legal white yes) {conditions})"
    assert legal_after(rules) == ({"yes"} if holds else set())


def test_variable_of_several_negations_is_a_warning_in_each_and_an_error_when_strict() -> None:
    rules = """
    (init (at 1)) (init (on 2))
    (<= (legal white yes) (not (true (at ?x))) (not (true (on ?x))))
    """
    message = '?x occurs only under `not`s: each is read as "there is no ?x such that ..."'
    reported = diagnostics(rules)
    assert [(d.severity, d.rule, d.message) for d in reported] == [
        ("warning", "unsafe-not", message)
    ] * 2
    assert len({d.column for d in reported}) == 2
    assert problems(rules, strict=True) == [("error", "unsafe-not")] * 2


def test_variable_that_a_distinct_shares_with_negations_is_the_same_in_all_of_them() -> None:
    rules = """
    (init (at 1)) (init (at 2)) (init (at 3)) (init (on 3)) (init (off 2))
    (<= (legal white yes) (not (true (at ?x))) (distinct ?x 1))
    (<= (legal white also) (not (true (on ?x))) (not (true (at ?x))) (distinct ?x 3))
    (<= (legal white too) (not (true (off ?x))) (distinct ?x 1))
    (<= (next (off 3)) (true over))
    """
    # ?x ranges over what its first place can take: 1, 2 and 3; 3; 2 and 3.
    assert legal_after(rules) == {"too"}
    assert problems(rules) == [("warning", "unsafe-variable")] * 3


# -------------------------------------------------------------------- or, and, not

NUM_FACTS = 4

_atoms = st.integers(0, NUM_FACTS - 1).map(lambda i: Compound("true", (Symbol(f"f{i}"),)))
_tests = st.tuples(st.integers(1, 3), st.integers(1, 3)).map(
    lambda pair: Compound("distinct", tuple(Symbol(str(i)) for i in pair))
)
_bodies: st.SearchStrategy[Term] = st.recursive(
    _atoms | _atoms | _tests,
    lambda inner: (
        st.builds(lambda c: Compound("not", (c,)), inner)
        | st.builds(
            Compound,
            st.sampled_from(["and", "or"]),
            st.lists(inner, min_size=1, max_size=3).map(tuple),
        )
    ),
    max_leaves=14,
)


def truth(term: Term, facts: Sequence[bool]) -> bool:
    """The truth of a ground condition, by its words."""
    assert isinstance(term, Compound)
    if term.name == "not":
        return not truth(term.args[0], facts)
    if term.name == "and":
        return all(truth(arg, facts) for arg in term.args)
    if term.name == "or":
        return any(truth(arg, facts) for arg in term.args)
    if term.name == "distinct":
        return term.args[0] != term.args[1]
    return facts[int(str(term.args[0])[1:])]


@settings(deadline=None, max_examples=examples(150))
@given(st.lists(st.lists(_bodies, min_size=1, max_size=3), min_size=1, max_size=3))
def test_connectives_mean_what_they_say(bodies: list[list[Term]]) -> None:
    rules = [
        Rule(Compound("legal", (Symbol("white"), Symbol(f"m{i}"))), tuple(body))
        for i, body in enumerate(bodies)
    ]
    reference = Reference.of_program(program(print_kif(rules)))
    for facts in product([False, True], repeat=NUM_FACTS):
        state = frozenset(f"f{i}" for i, holds in enumerate(facts) if holds)
        expected = {
            f"m{i}" for i, body in enumerate(bodies) if all(truth(term, facts) for term in body)
        }
        assert set(reference.legal(state, "white")) - {"noop"} == expected


_variable = st.sampled_from("xyz").map(Variable)
_pairs = st.tuples(_variable, _variable).map(lambda pair: Compound("edge", pair))
_open_bodies: st.SearchStrategy[Term] = st.recursive(
    _pairs,
    lambda inner: (
        st.builds(lambda c: Compound("not", (c,)), inner)
        | st.builds(
            Compound,
            st.sampled_from(["and", "or"]),
            st.lists(inner, min_size=1, max_size=3).map(tuple),
        )
        | st.tuples(_variable, _variable).map(lambda pair: Compound("distinct", pair))
    ),
    max_leaves=8,
)


def holds(term: Term, binding: dict[str, int], edges: set[tuple[int, int]]) -> bool:
    """The truth of a condition once its variables have values."""
    assert isinstance(term, Compound)
    if term.name == "not":
        return not holds(term.args[0], binding, edges)
    if term.name in ("and", "or"):
        parts = [holds(arg, binding, edges) for arg in term.args]
        return all(parts) if term.name == "and" else any(parts)
    first, right = (binding[v.name] for v in variables(term))
    return first != right if term.name == "distinct" else (first, right) in edges


@settings(deadline=None, max_examples=examples(150))
@given(
    st.lists(_open_bodies, min_size=1, max_size=3),
    st.sets(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=5),
)
def test_connectives_mean_what_they_say_of_bound_variables(
    body: list[Term], edges: set[tuple[int, int]]
) -> None:
    node = [Compound("node", (Variable(name),)) for name in "xyz"]
    move = Compound("go", tuple(map(Variable, "xyz")))
    rule = Rule(Compound("legal", (Symbol("white"), move)), (*body, *node))
    facts = "(node 0) (node 1) (node 2)" + "".join(f"(edge {i} {j})" for i, j in sorted(edges))
    expected = set()
    for x, y, z in product(range(3), repeat=3):
        if all(holds(term, {"x": x, "y": y, "z": z}, edges) for term in body):
            expected.add(f"(go {x} {y} {z})")
    assert legal_after(facts + print_kif([rule])) == expected


def test_negated_distinct_makes_two_terms_equal() -> None:
    rules = """
    (number 1) (number 2) (pair (of 1 2)) (pair (of 2 2))
    (<= (legal white (same ?x)) (number ?x) (number ?y) (not (distinct ?x ?y)) (distinct ?y 1))
    (<= (legal white (fit ?x)) (pair ?p) (number ?x) (not (distinct ?p (of ?x 2))))
    (<= (legal white (is ?x)) (not (distinct ?x 7)))
    (<= (legal white never) (number ?x) (not (distinct ?x (of ?x 2))))
    """
    assert legal_after(rules) == {"(same 2)", "(fit 1)", "(fit 2)", "(is 7)"}
    assert problems(rules) == []


def test_large_disjunctions_stay_small() -> None:
    choices = " ".join(
        "(or " + " ".join(f"(true (at {i} {j}))" for j in range(4)) + ")" for i in range(12)
    )
    rules = "".join(f"(init (at {i} 3))" for i in range(12))
    rules += f"(<= (legal white yes) {choices})"
    assert legal_after(rules) == {"yes"}
    assert len(added(rules)) < 600


def test_variables_shared_between_a_disjunction_and_the_rest_stay_the_same() -> None:
    rules = """
    (init (at 1)) (init (at 2)) (init (on 2)) (init (on 3)) (number 1) (number 2) (number 3)
    (<= (legal white (both ?x)) (or (true (at ?x)) (true (on ?x))) (number ?x) (distinct ?x 3))
    (<= (legal white (none ?x)) (number ?x) (not (or (true (at ?x)) (true (on 3)))))
    (<= (legal white (nand ?x)) (number ?x) (not (and (true (at ?x)) (true (on ?x)))))
    """
    assert legal_after(rules) == {"(both 1)", "(both 2)", "(nand 1)", "(nand 3)"}


# -------------------------------------------------------------------- names


def test_relations_and_functions_are_told_apart_by_their_arity() -> None:
    rules = """
    (cell 1) (cell 1 2) (cell (f 1)) (cell (f 1 2)) (cell (f (f 1)))
    (<= (legal white (one ?x)) (cell ?x))
    (<= (legal white (two ?x ?y)) (cell ?x ?y))
    (<= (legal white (fun ?x)) (cell (f ?x)))
    (<= (legal white none) cell)
    """
    assert legal_after(rules) == {
        *("(one 1)", "(one (f 1))", "(one (f 1 2))", "(one (f (f 1)))"),
        *("(two 1 2)", "(fun 1)", "(fun (f 1))"),
    }
    reported = diagnostics(rules)
    assert [(d.severity, d.rule) for d in reported if d.rule == "arity"] == [
        ("warning", "arity")
    ] * 2
    messages = [d.message for d in reported]
    assert "relation `cell` is used with 0, 1, 2 arguments: these are different things" in messages
    assert "function `f` is used with 1, 2 arguments: these are different things" in messages
    assert "relation `cell` with 0 arguments is not defined: it is false" in messages


def test_symbols_that_look_like_numbers_are_compared_as_text() -> None:
    rules = "(value 1) (value 01) (value 1.0) (value +1) (<= (legal white (say ?v)) (value ?v))"
    assert legal_after(rules) == {"(say 1)", "(say 01)", "(say 1.0)", "(say +1)"}
    assert problems(rules, strict=True) == []


def test_upper_and_lower_case_are_the_same() -> None:
    text = FRAME.upper().replace("NOOP", "Noop")
    sheet = normalize(parse(text))
    assert sheet.rules == program("").rules
    assert sheet.roles == ("white", "black")
    assert sheet.digest == program("").digest
    assert sheet.spelling["white"] == "WHITE"


def test_fluent_and_relation_of_one_name_are_different() -> None:
    rules = "(start 1) (<= (legal white (go ?x)) (start ?x) (true start)) (init (start 2))"
    assert legal_after(rules) == {"(go 1)"}


# -------------------------------------------------------------------- undefined and ignored


def test_undefined_relations_are_false_with_one_warning_each() -> None:
    rules = """
    (<= (legal white a) (nothing 1))
    (<= (legal white b) (not (nothing 1)))
    (<= (legal white c) (or (nothing 2) (true start)))
    (<= (chain ?x) (nothing ?x)) (<= (legal white d) (chain 1)) (<= (legal white e) (not (chain 1)))
    (<= (legal white f) (not (and (true start) (nothing 1))))
    """
    assert legal_after(rules) == {"b", "c", "e", "f"}
    assert [d.message for d in diagnostics(rules)] == [
        "relation `nothing` with 1 argument is not defined: it is false"
    ]
    assert "nothing" not in " ".join(added(rules))
    assert problems(rules, strict=True) == [("warning", "undefined")]


def test_fluents_and_moves_nobody_makes_are_no_undefined_relations() -> None:
    assert problems("(<= (legal white go) (true (never made)))", strict=True) == []
    assert problems("(<= (next done) (does white (never made)))", strict=True) == []


@pytest.mark.parametrize(
    "hints",
    [
        "(base start) (base (never ?x)) (input white noop) (<= (input ?r (go ?x)) (cells ?x))",
        "(<= (base (f ?x)) (base ?x))",
        "(<= (sees_xml ?r ?t) (true ?t) (nowhere ?t)) (sees_xml random (state) (now))",
        "(percept white (bang)) (<= (percept ?r ?p) (not (true ?p)))",
        "(<= (base p) (not (base p)))",
        "(<= (input white m) (does white m) (next p) (goal white 3))",
    ],
)
def test_hints_and_views_are_ignored(hints: str) -> None:
    hints = hints.replace("(state)", "state").replace("(now)", "now").replace("(bang)", "bang")
    assert program(hints).rules == program("").rules
    assert program(hints).digest == program("").digest
    assert [p for p in problems(hints, strict=True) if p[0] == "error"] == []


def test_views_are_no_percepts() -> None:
    assert not program("(<= (sees_xml ?r ?t) (true ?t))").is_gdl2
    assert program("(<= (sees white ?t) (true ?t))").is_gdl2
    assert program("(role random)").is_gdl2


def test_relations_used_by_hints_only_are_not_reported_as_undefined() -> None:
    assert problems("(<= (base ?x) (undefined_hint ?x))") == []


# -------------------------------------------------------------------- next inside sees


def test_next_inside_sees_is_of_the_same_state_and_joint_move() -> None:
    rules = """
    (<= (legal white (put ?x)) (number ?x)) (number 1) (number 2)
    (<= (next (at ?x)) (does white (put ?x)))
    (<= (sees black (now ?x)) (next (at ?x)))
    (<= (sees black (before ?x)) (true (at ?x)))
    (<= (sees black quiet) (not (next (at ?x))))
    """
    assert problems(rules) == [
        ("warning", "keyword-body"),
        ("warning", "keyword-body"),
        ("warning", "unsafe-not"),
    ]
    reference = Reference.of_program(program(rules))
    first = reference.step(reference.initial(), {"white": "(put 1)", "black": "noop"})
    second = reference.step(first.state, {"white": "(put 2)", "black": "noop"})
    third = reference.step(second.state, {"white": "noop", "black": "noop"})
    assert first.percepts["black"] == ("(now 1)",)
    assert second.percepts["black"] == ("(before 1)", "(now 2)")
    assert third.percepts["black"] == ("(before 2)", "quiet")


# -------------------------------------------------------------------- severities, files


STRICT_ERRORS = {
    "unsafe-head": "(<= (legal white (go ?x)) (true start)) (<= (legal white (go 1)) (true start))",
    "unsafe-not": "(<= (legal white go) (not (true (at ?x))))",
    "unsafe-variable": "(<= (legal white go) (distinct ?x ?y))",
    "arity": "(p 1) (p 1 2) (<= (legal white go) (p 1) (p 1 2))",
    "keyword-arity": "(legal white a b)",
    "keyword-head": "(true start)",
    "keyword-body": "(<= (sees white x) (next start))",
    "recursion": "(<= (p ?x) (q ?x)) (<= (p ?x) (p (f ?x))) (q 1) (<= (legal white ?x) (p ?x))",
}


@pytest.mark.parametrize("rule", STRICT_ERRORS)
def test_breach_of_a_formal_rule_is_a_warning_and_an_error_when_strict(rule: str) -> None:
    assert {s for s, name in problems(STRICT_ERRORS[rule]) if name == rule} == {"warning"}
    strict = problems(STRICT_ERRORS[rule], strict=True)
    assert {s for s, name in strict if name == rule} == {"error"}


def test_warnings_outside_the_formal_rules_stay_warnings_when_strict() -> None:
    rules = "(f 1) (f 1) (<= (legal white go) (f 1) (undefined 1))"
    assert problems(rules, strict=True) == [("warning", "duplicate"), ("warning", "undefined")]


def test_all_problems_of_a_file_are_reported_at_once_in_text_order() -> None:
    text = """
(role white)
(init (a 1))
(init (a 1))
(<= (legal white go) (does white go))
(<= (legal ?r stay) (not (true (b ?x))))
(<= p (not q))
(<= q (not p))
(<= (goal white 1) p (sees white x))
(<= (sees white x) (or (nothing) (true d)))
(<= (init c) (true d))
"""
    reported = validate(parse(text, "game.gdl"))
    assert [(d.line, d.severity, d.rule) for d in reported] == [
        (0, "error", "no-terminal"),
        (4, "warning", "duplicate"),
        (5, "error", "dependency"),
        (6, "warning", "unsafe-head"),
        (6, "warning", "never-true"),
        (6, "warning", "unsafe-not"),
        (7, "error", "stratification"),
        (8, "error", "stratification"),
        (9, "error", "dependency"),
        (9, "warning", "keyword-body"),
        (10, "warning", "empty-arguments"),
        (10, "warning", "undefined"),
        (10, "warning", "never-true"),
        (11, "error", "dependency"),
    ]
    first = str(reported[2]).splitlines()
    assert first == [
        "game.gdl:5:1: error: `legal` must not depend on `does`, but does through "
        "(legal white go) [dependency]",
        "(<= (legal white go) (does white go))",
        "^",
    ]


def test_repairs_made_while_reading_are_errors_when_strict() -> None:
    rules = "(<= (legal white go) (true (a))) (<= (init b))"
    assert set(problems(rules)) == {("warning", "empty-arguments"), ("warning", "empty-body")}
    strict = problems(rules, strict=True)
    assert set(strict) == {("error", "empty-arguments"), ("error", "empty-body")}


def test_every_variable_of_a_normalised_rule_is_bound_before_it_is_tested() -> None:
    rules = """
    (number 1) (number 2) (init (at 1 2))
    (<= (legal ?r (go ?x)) (distinct ?x ?y) (not (true (at ?x ?z))) (number ?y))
    (<= (next (at ?x ?y)) (or (not (number ?x)) (distinct ?x ?y)) (true (at ?y ?x)))
    (<= (sees ?r ?m) (not (and (does ?r ?m) (number ?m))) (does ?s ?m))
    (<= (goal ?r ?v) (not (not (number ?v))) (not (or (true (at ?v ?r)) (true (at ?w ?v)))))
    """
    for rule in program(rules).rules:
        bound: set[str] = set()
        for i, literal in enumerate(rule.body):
            names = {v.name for v in variables(literal.atom)}
            if literal.binds:
                bound |= names
            else:
                assert names - local_variables(rule, i) <= bound, str(rule)
        assert {v.name for v in variables(rule.head)} <= bound, str(rule)


def test_rulesheet_of_nothing_is_refused_for_everything_it_lacks() -> None:
    assert [rule for rule, _ in refusals("")] == ["no-role", "no-legal", "no-terminal"]

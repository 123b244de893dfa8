"""Terms without a name are read as tuples, in both syntaxes, and printed as they were written."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given

from ggp.errors import GDLSyntaxError, GDLValidationError
from ggp.gdl import Compound, Rule, Term, parse, parse_term, print_infix, print_kif, print_sheet
from ggp.gdl.normalize import normalize, validate
from ggp.gdl.syntax.reading import TUPLE, UNNAMED, Tuples, spelled
from ggp.machine import build_machine
from tests.gdl.syntax import strategies
from tests.support.shop import SHOP

INFIX = """
role(a). init(at((x, 1))). init(at((y, 2))). succ(1, 2).
legal(a, go(C, (N, M))) :- true(at((C, N))), succ(N, M).
legal(a, stay).
next(at(P)) :- true(at(P)), does(a, stay).
next(at((C, M))) :- does(a, go(C, (_, M))).
terminal :- true(at((x, 2))).
goal(a, 100) :- true(at((x, 2))).
goal(a, 0) :- not true(at((x, 2))).
"""


def rules_of(text: str) -> list[str]:
    return [str(rule) for rule in parse(text).rules]


def test_infix_tuples_are_terms_and_printed_as_tuples() -> None:
    sheet = parse("p((X, 1)) :- q((a, (b, c)), X), distinct((X, 1), X).")
    assert str(sheet.rules[0]) == (
        "(<= (p (tuple ?x 1)) (q (tuple a (tuple b c)) ?x) (distinct (tuple ?x 1) ?x))"
    )
    assert print_sheet(sheet, "infix") == (
        "p((X, 1)) :-\n    q((a, (b, c)), X),\n    distinct((X, 1), X).\n"
    )
    assert "(p (tuple ?x 1))" in print_sheet(sheet, "kif")  # which other programs can read
    (warning,) = sheet.diagnostics
    assert (warning.rule, warning.line, warning.column) == ("tuple", 1, 3)


def test_tuples_may_have_names_that_begin_like_theirs() -> None:
    sheet = parse("p((Tuple1, N)) :- q((tuple, N)), r((tuples, N), tuple(1, N), Tuple1).")
    assert str(sheet.rules[0]) == (
        "(<= (p (tuple ?tuple1 ?n)) (q (tuple tuple ?n)) "
        "(r (tuple tuples ?n) (tuple 1 ?n) ?tuple1))"
    )
    assert parse(print_infix(sheet.rules)).rules == sheet.rules


def test_kif_tuples_are_terms_and_printed_as_tuples() -> None:
    text = "(<= (legal a (buy ?card (?n ?c)))\n    (true (price ?card (?n ?c))))\n"
    sheet = parse(text)
    assert str(sheet.rules[0].head) == "(legal a (buy ?card (tuple ?n ?c)))"
    assert print_sheet(sheet, "kif") == text
    assert "buy(Card, (N, C))" in print_sheet(sheet, "infix")
    assert [diagnostic.rule for diagnostic in sheet.diagnostics] == ["tuple"]


@pytest.mark.parametrize(
    ("text", "first_rule"),
    [
        # Where the two are one argument, of a relation or a function.
        ("(p (3 c)) (<= q (p (?n ?c)))", "(p (tuple 3 c))"),
        ("(p (f (3 c))) (<= q (r (f (?n ?c))))", "(p (f (tuple 3 c)))"),
        ("(init (at (3 c))) (<= q (true (at (?n ?c))))", "(init (at (tuple 3 c)))"),
        ("(<= (legal a (3 c)) r) (<= q (does ?r (?n ?c)))", "(<= (legal a (tuple 3 c)) r)"),
        ("(p (f 1) b) (<= q (p ((f ?x) ?y) b))", "(p (tuple f 1) b)"),
        # Where a variable is both.
        ("(p (3 c)) (<= (q ?x) (p ?x)) (<= r (q (?n ?c)))", "(p (tuple 3 c))"),
        ("(p (3 c)) (<= q (p ?x) (or (distinct ?x (?n ?c)) r))", "(p (tuple 3 c))"),
        # Lists in lists, once the outer ones are tuples.
        ("(p (3 (f 1))) (<= q (p (?n ?m)) (r ?m)) (r (?x ?y))", "(p (tuple 3 (tuple f 1)))"),
        ("(p (f (3 c))) (<= q (p (?x (?n ?c))))", "(p (tuple f (tuple 3 c)))"),
        # Elsewhere, and with another number of terms, a list has a name.
        ("(s (3 c)) (<= q (p (?n ?c)))", "(s (3 c))"),
        ("(p (3 c d)) (<= q (p (?n ?c)))", "(p (3 c d))"),
        ("(p x (3 c)) (<= q (p (?n ?c) x))", "(p x (3 c))"),
    ],
)
def test_lists_with_a_constant_first_are_tuples_where_others_are(
    text: str, first_rule: str
) -> None:
    assert rules_of(text)[0] == first_rule
    sheet = parse(text)
    assert parse(print_sheet(sheet, "kif")).rules == sheet.rules


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("(p (?x))", "variable-functor"),
        ("(p ((f a)))", "list-of-lists"),
        ("(<= p (?x a))", "variable-functor"),
        ("(<= p ((q a) b))", "list-of-lists"),
        ("p((X)).", "syntax"),
        ("p :- (X, 1).", "syntax"),
        ("(p (?x a)) (q (tuple a b))", "tuple"),
        ("(p (?x a)) (tuple a b)", "tuple"),
    ],
)
def test_lists_that_are_no_tuples_are_still_refused(text: str, rule: str) -> None:
    with pytest.raises(GDLSyntaxError) as caught:
        parse(text)
    assert rule in [
        diagnostic.rule for diagnostic in caught.value.diagnostics if diagnostic.severity == "error"
    ]


def test_tuples_break_the_formal_rules_and_may_have_any_number_of_terms() -> None:
    sheet = parse(INFIX + "init(at((x, 1, 2))).")
    assert [diagnostic.rule for diagnostic in validate(sheet)] == ["tuple"]
    with pytest.raises(GDLValidationError, match="no name, as terms of GDL have"):
        normalize(sheet, strict=True)


def test_the_game_with_tuples_is_the_game_with_names() -> None:
    named = print_kif(parse(SHOP).rules)
    assert "(?n ?c)" not in named
    machines = [build_machine(normalize(parse(text))) for text in (SHOP, named, INFIX)]
    tuples_machine, names_machine, _ = machines
    state, twin = tuples_machine.initial(1), names_machine.initial(1)
    for _ in range(3):
        assert tuples_machine.fluents(state) == names_machine.fluents(twin)
        moves = [tuples_machine.move_text(move) for move in tuples_machine.legal(state, 0)[0]]
        assert moves == [names_machine.move_text(move) for move in names_machine.legal(twin, 0)[0]]
        joint = [[tuples_machine.legal(state, role)[0][-1] for role in range(2)]]
        state = tuples_machine.step(state, np.array(joint)).states
        joint = [[names_machine.legal(twin, role)[0][-1] for role in range(2)]]
        twin = names_machine.step(twin, np.array(joint)).states
    machine = machines[2]
    moves = [machine.move_text(move) for move in machine.legal(machine.initial(1), 0)[0]]
    assert sorted(moves, key=len) == ["stay", "(go x (tuple 1 2))"]


@given(strategies.rules)
def test_infix_prints_what_it_reads(rule: Rule) -> None:
    def with_tuples(term: Term) -> Term:
        if not isinstance(term, Compound):
            return term
        args = tuple(map(with_tuples, term.args))
        return Compound(TUPLE, args) if len(args) > 1 else Compound(term.name, args)

    head = rule.head
    if isinstance(head, Compound):
        head = Compound(head.name, tuple(map(with_tuples, head.args)))
    assert parse(print_infix([Rule(head)])).rules == (Rule(head),)


def test_a_list_is_the_same_term_by_every_way_it_is_read() -> None:
    """Two lists are the same term as tuples if and only if they are the same lists."""
    lists = ["(3 c)", "(c 3)", "(3 (3 c))", "(?n ?c)", "(?n (?m ?c))", "((3 c) ?n)", "c"]
    text = " ".join(f"(p {text})" for text in lists)
    read = [rule.head.args[0] for rule in parse(text).rules if isinstance(rule.head, Compound)]
    for (first, first_term), (second, also) in product(zip(lists, read, strict=True), repeat=2):
        assert (first == second) == (first_term == also)
        assert spelled(str(first_term), UNNAMED) == first


def test_moves_are_read_as_the_rules_are() -> None:
    tuples = Tuples(parse(SHOP).rules)
    for text, expected in [
        ("(buy wall (1 ore))", "(buy wall (tuple 1 ore))"),
        ("(did buyer (buy wall (1 ore)))", "(did buyer (buy wall (tuple 1 ore)))"),
        ("(other (1 ore))", "(other (1 ore))"),
    ]:
        assert str(tuples.in_message(parse_term(text))) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("p(X) :- q(X), r(Y), X < Y.", "compares numbers in Prolog and in answer set programs"),
        ("p(X) :- q(X), r(Y), X >= Y.", "write a fact for each pair, like `less(1, 2).`"),
        ("p(X) :- q(X), r(Y), X <= Y.", "where it compares numbers in Prolog and in answer set"),
        ("p(X) :- q(X), X = a.", "write the same variable twice"),
        ("p(X) :- q(Y), X is Y + 1.", "calculates in Prolog; GDL has no arithmetic"),
        ("p(X) :- q(X), X -> r.", "chooses in Prolog, not in GDL"),
        ("row(1..6).", "makes intervals in answer set programs"),
        ('p("a b").', 'the string `"a b"` is no name of GDL'),
        ('p("a).', "must end on its line"),
    ],
)
def test_features_that_gdl_lacks_are_named(text: str, message: str) -> None:
    with pytest.raises(GDLSyntaxError) as caught:
        parse(text)
    assert message in str(caught.value)


def test_strings_are_the_constants_that_kif_writes_the_same() -> None:
    sheet = parse('p("Left", X) :- q(X, "<=").')
    assert str(sheet.rules[0]) == '(<= (p "left" ?x) (q ?x "<="))'
    assert print_infix(sheet.rules) == 'p("left", X) :-\n    q(X, "<=").\n'
    assert parse(print_kif(sheet.rules)).rules == sheet.rules

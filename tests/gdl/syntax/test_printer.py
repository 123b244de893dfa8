"""Printed rules read back as the same rules, in both syntaxes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from ggp.gdl import (
    Compound,
    Rule,
    Symbol,
    Term,
    Variable,
    parse,
    parse_term,
    print_infix,
    print_kif,
    to_kif,
)
from ggp.gdl.syntax.reading import MAX_NESTING
from tests.gdl.syntax import strategies
from tests.support.effort import examples


@given(strategies.rulesheets)
@settings(max_examples=examples(50), deadline=None)
def test_printed_kif_reads_back_as_the_same_rules(rules: tuple[Rule, ...]) -> None:
    reread = parse(print_kif(rules))
    assert reread.rules == rules
    assert reread.syntax == "kif"
    assert not reread.diagnostics
    assert not reread.spelling


@given(strategies.rulesheets)
@settings(max_examples=examples(50), deadline=None)
def test_printed_infix_reads_back_as_the_same_rules(rules: tuple[Rule, ...]) -> None:
    reread = parse(print_infix(rules))
    assert reread.rules == rules
    assert reread.syntax == ("infix" if rules else "kif")
    assert not reread.diagnostics
    assert not reread.spelling


@given(strategies.terms)
@settings(max_examples=examples(300), deadline=None)
def test_term_as_kif_reads_back_as_the_same_term(term: Term) -> None:
    assert parse_term(to_kif(term)) == term
    assert to_kif(term) == str(term)


@pytest.mark.parametrize(
    ("kif", "infix"),
    [
        ("terminal", "terminal."),
        ("(succ 1 02)", "succ(1, 02)."),
        ("(p -1 0.8 +2 3am)", "p(-1, 0.8, +2, '3am')."),
        ("(p ?x ?x1 ?n++ ? ?_ ?a,b)", "p(X, X1, ?'n++', ?, ?_, ?'a,b')."),
        (r"(p it's a\b ++)", r"p('it\'s', 'a\\b', '++')."),
        ("(p not (or a))", "p('not', 'or'(a))."),
        ("(1 a)", "'1'(a)."),
        ("(<= p (not (q ?x)) (distinct ?x a))", "p :-\n    not q(X),\n    distinct(X, a)."),
        ("(<= p (or a (and b c)) d)", "p :-\n    (a ; (b, c)),\n    d."),
        ("(<= p (or a) (and b))", "p :-\n    or(a),\n    and(b)."),
        ("(<= p (not (and a b)))", "p :-\n    not (a, b)."),
        ("(<= p (not (not a)))", "p :-\n    not not a."),
        ("(<= p (or a (or b c)))", "p :-\n    (a ; (b ; c))."),
    ],
)
def test_rule_is_printed_as(kif: str, infix: str) -> None:
    rules = parse(f";\n{kif}").rules
    assert print_infix(rules) == infix + "\n"
    assert parse(infix).rules == rules


def test_kif_rule_is_printed_with_a_line_for_each_condition() -> None:
    rules = parse("(role a)(<= (p ?x)(q ?x)(not(r ?x)))").rules
    assert print_kif(rules) == "(role a)\n(<= (p ?x)\n    (q ?x)\n    (not (r ?x)))\n"


def test_kif_beginning_with_a_bare_name_is_marked_as_kif() -> None:
    rules = (Rule(Symbol("++")), Rule(Symbol("b")))
    assert print_kif(rules) == "; KIF\n++\nb\n"


def test_no_rules_are_printed_as_nothing() -> None:
    assert print_kif([]) == print_infix([]) == ""


def test_terms_deeper_than_the_python_stack_can_be_printed() -> None:
    term: Term = Variable("x")
    for _ in range(20_000):
        term = Compound("s", (term, Symbol("y")))
    assert to_kif(term).startswith("(s (s (s ")
    assert print_infix([Rule(term)]).startswith("s(s(s(")


@pytest.mark.parametrize("wrapped", ["(p {})", "(<= p (q {}))"])
def test_deepest_terms_read_back_from_both_syntaxes(wrapped: str) -> None:
    inner = "(f " * (MAX_NESTING - 1) + "a" + ")" * (MAX_NESTING - 1)
    rules = parse(wrapped.format(inner)).rules
    assert parse(print_kif(rules)).rules == rules
    assert parse(print_infix(rules)).rules == rules
    assert len({*rules, *parse(print_infix(rules)).rules}) == 1


def test_role_as_an_alternative_is_no_sign_of_kif() -> None:
    alternatives = Compound("or", (Symbol("role"), Symbol("0")))
    rules = (Rule(Symbol("a"), (alternatives,)), Rule(Symbol("a"), ()))
    assert parse(print_infix(rules)).rules == rules

"""Reading KIF: white space, names, repairs."""

from __future__ import annotations

import pytest

from ggp.errors import GDLSyntaxError
from ggp.gdl import Compound, Rule, Symbol, Variable, parse, parse_term, parse_terms


def kif(text: str | bytes) -> list[str]:
    sheet = parse(text)
    assert sheet.syntax == "kif"
    return list(map(str, sheet.rules))


def warnings(text: str | bytes) -> list[tuple[str, int, int]]:
    return [(d.rule, d.line, d.column) for d in parse(text).diagnostics]


def test_rule_becomes_head_and_body_with_offsets() -> None:
    text = " (<= (p ?X) (q a ?x))"
    (rule,) = parse(text).rules
    x = Variable("x")
    assert rule == Rule(Compound("p", (x,)), (Compound("q", (Symbol("a"), x)),))
    condition = rule.body[0]
    assert isinstance(condition, Compound)
    starts = rule.start, rule.head.start, condition.start, condition.args[0].start
    assert [text[start:][:2] for start in starts] == ["(<", "(p", "(q", "a "]


@pytest.mark.parametrize("space", [" ", "\t", "\r\n", "\r", "\n", "\f", "\v", "\xa0", "\u2003"])
def test_white_space_separates_names(space: str) -> None:
    assert kif(f"(role{space}a{space}){space}(b{space}c)") == ["(role a)", "(b c)"]


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_comment_goes_from_semicolon_to_the_end_of_the_line(end: str) -> None:
    assert kif(f'(role a;b) ( " ;{end}) ;; (c d){end};') == ["(role a)"]


@pytest.mark.parametrize("block", ["#| (role x)\n; |#", "/* (role x)\n(b c) */", "#||#", "/**/"])
def test_block_of_comments_is_left_out_with_a_warning(block: str) -> None:
    text = f"(role a){block}(b\n  {block} c)"
    assert kif(text) == ["(role a)", "(b c)"]
    assert [rule for rule, _, _ in warnings(text)] == ["comment"] * 2
    assert kif(f"{block} (role a)") == ["(role a)"]


@pytest.mark.parametrize("begin", ["#|", "/*"])
def test_block_of_comments_without_an_end_is_a_name(begin: str) -> None:
    assert kif(f"(role a) ({begin} b) (c d)") == ["(role a)", f"({begin} b)", "(c d)"]


@pytest.mark.parametrize(
    "name", ["'", '"', "\\", "$x", "|a|", "#", "++", "0.8", "3am", "-1", "01", "a?", "a:b", "\0"]
)
def test_everything_but_space_parentheses_and_semicolon_is_a_name(name: str) -> None:
    assert parse(f"({name} {name})").rules == (Rule(Compound(name, (Symbol(name),))),)


def test_variables_may_have_any_name_or_none() -> None:
    assert parse_term("(p ? ?n++ ??)") == Compound("p", tuple(map(Variable, ("", "n++", "?"))))


def test_names_are_folded_and_the_first_spelling_is_kept() -> None:
    sheet = parse("(ROLE xPlayer) (<= (Legal ?R Noop) (role ?R))")
    assert list(map(str, sheet.rules)) == ["(role xplayer)", "(<= (legal ?r noop) (role ?r))"]
    assert sheet.spelling == {
        "role": "ROLE",
        "xplayer": "xPlayer",
        "legal": "Legal",
        "noop": "Noop",
    }


def test_one_name_in_two_spellings_is_warned_of_once() -> None:
    assert warnings("(a Red) (a red)\n(a RED) (A b)") == [
        ("case-clash", 1, 12),
        ("case-clash", 2, 10),
    ]


def test_variable_spellings_clash_within_a_rule_only() -> None:
    assert warnings("(<= (p ?x) (q ?x)) (<= (p ?X) (q ?X))") == []
    assert warnings("(<= (p ?x) (q ?X)) (<= (p ?X) (q ?x))") == [("case-clash", 1, 15)]


def test_lists_of_one_name_are_that_name() -> None:
    text = "(<= (terminal) (true (c)))"
    assert kif(text) == ["(<= terminal (true c))"]
    assert warnings(text) == [("empty-arguments", 1, 5), ("empty-arguments", 1, 22)]


def test_rule_without_conditions_is_a_fact() -> None:
    assert kif("(<= (p a))") == ["(p a)"]
    assert warnings("(<= (p a))") == [("empty-body", 1, 1)]


def test_prolog_arrow_is_accepted() -> None:
    assert kif("(:- (p a) b)") == ["(<= (p a) b)"]


@pytest.mark.parametrize("condition", ["(or a)", "(and a)", "(or a (not b) (and c d e))"])
def test_and_and_or_take_any_number_of_conditions(condition: str) -> None:
    assert kif(f"(<= p {condition})") == [f"(<= p {condition})"]


def test_connectives_below_a_relation_are_plain_names() -> None:
    assert kif("(p (not a b) or (distinct ?x))") == ["(p (not a b) or (distinct ?x))"]


@pytest.mark.parametrize("text", ["((role a) (b c))", "( (role a) (b c) ) ; end"])
def test_outer_list_is_unwrapped(text: str) -> None:
    assert kif(text) == ["(role a)", "(b c)"]
    assert warnings(text) == []


def test_outer_list_that_ends_early_or_never_is_warned_of() -> None:
    assert kif("((role a)) (b c)") == kif("((role a) (b c)") == ["(role a)", "(b c)"]
    assert warnings("((role a)) (b c)") == [("outer-list", 1, 10)]
    assert warnings("((role a) (b c)") == [("unbalanced", 1, 1)]
    assert warnings("((role a)) (b c))") == [("unbalanced", 1, 10)]


def test_stray_closing_parenthesis_is_ignored() -> None:
    assert kif("(role a)) (b c)") == ["(role a)", "(b c)"]
    assert warnings("(role a)) (b c)") == [("unbalanced", 1, 9)]


def test_missing_parenthesis_is_repaired_before_the_next_rule() -> None:
    text = "(<= (p ?x)\n  (q ?x)\n(<= (r a) (s a))"
    assert kif(text) == ["(<= (p ?x) (q ?x))", "(<= (r a) (s a))"]
    assert warnings(text) == [("unbalanced", 1, 1)]


def test_missing_parenthesis_is_repaired_at_the_end_of_the_text() -> None:
    assert kif("(a b) (<= p (q (f c") == ["(a b)", "(<= p (q (f c)))"]
    assert warnings("(a b) (<= p (q (f c d") == [("unbalanced", 1, 7)]


def test_empty_list_at_the_top_is_dropped() -> None:
    assert kif("(role a) ()") == ["(role a)"]
    assert warnings("(role a) ()") == [("empty-list", 1, 10)]


def test_condition_that_a_stray_parenthesis_left_outside_is_dropped() -> None:
    text = "(<= p q)\n (distinct ?x ?y))"
    assert kif(text) == ["(<= p q)"]
    assert warnings(text) == [("stray-condition", 2, 2), ("unbalanced", 2, 18)]


def test_bytes_that_are_not_utf8_are_replaced() -> None:
    assert kif(b"; \xe9\n(role a)") == ["(role a)"]
    assert warnings(b"; \xc3\xa9 \xe9\n(role a)") == [("encoding", 1, 5)]
    assert warnings("; é\n(role a)".encode()) == []


@pytest.mark.parametrize("text", ["\ufeff(role a)", b"\xef\xbb\xbf(role a)"])
def test_byte_order_mark_is_dropped(text: str | bytes) -> None:
    sheet = parse(text)
    assert (str(sheet.rules[0]), sheet.rules[0].start, sheet.diagnostics) == ("(role a)", 0, ())


@pytest.mark.parametrize("text", ["", "  \n", "; only a comment", "\ufeff"])
def test_text_without_rules_is_an_empty_rulesheet(text: str) -> None:
    assert kif(text) == []


@pytest.mark.parametrize("text", ["(<= p q)", "% x\n(role a)", "noop (role a)", ";\nnoop"])
def test_kif_is_recognised(text: str) -> None:
    assert parse(text).syntax == "kif"


def test_single_terms_are_read() -> None:
    assert parse_term(" (MARK 1 (f ?x)) ") == parse_term("(mark 1 (f ?X))")
    assert parse_term("(noop)") == Symbol("noop")
    assert list(map(str, parse_terms("noop (mark 1 2)"))) == ["noop", "(mark 1 2)"]
    assert parse_terms(" ") == ()


@pytest.mark.parametrize(
    "text", ["", "a b", "(a", "a)", "()", "((a) b)", "(?x)", "(a) )", "(<= a b)", "(f ())"]
)
def test_a_text_that_is_not_one_term_is_a_syntax_error(text: str) -> None:
    with pytest.raises(GDLSyntaxError, match="<term>:1:"):
        parse_term(text)

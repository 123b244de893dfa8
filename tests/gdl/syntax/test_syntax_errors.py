"""Errors of reading: all of them, each with its place; garbage gives nothing else."""

from __future__ import annotations

import string
from collections.abc import Callable, Iterable
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ggp.errors import GDLSyntaxError
from ggp.gdl import Rule, parse, parse_term, print_infix, print_kif
from ggp.gdl.syntax.reading import MAX_NESTING
from tests.gdl.syntax import strategies
from tests.support.effort import examples


def syntax_error(text: str | bytes) -> GDLSyntaxError:
    with pytest.raises(GDLSyntaxError) as caught:
        parse(text, "game.gdl")
    return caught.value


def rules_if_any(text: str | bytes) -> tuple[Rule, ...]:
    """The rules of a text, none where it is refused with a proper error."""
    try:
        return parse(text).rules
    except GDLSyntaxError as caught:
        error = caught
    assert any(d.severity == "error" for d in error.diagnostics)
    assert error.line >= 1
    assert "error: " in str(error)
    return ()


def test_message_shows_place_line_and_caret() -> None:
    error = syntax_error("(role a)\n\t(<= ?x (p ?x))\n")
    assert str(error) == (
        "game.gdl:2:6: error: the variable `?x` cannot stand where a relation must be "
        "[variable-relation]\n\t(<= ?x (p ?x))\n\t    ^"
    )
    assert (error.line, error.column, error.context) == (2, 6, "\t(<= ?x (p ?x))")


@pytest.mark.parametrize("width", [40, 60, 100])
def test_a_terminal_gets_no_line_wider_than_itself_and_the_caret_stays_under_its_word(
    width: int,
) -> None:
    many = "(p ?y) " * 30
    (diagnostic,) = syntax_error(f"(role a)\n\t(<= q {many}(?x b) {many})\n").diagnostics
    *message, text, caret = diagnostic.laid_out(width).split("\n")
    assert max(map(len, (*message, text, caret))) <= width
    assert " ".join(line.strip() for line in message) == str(diagnostic).partition("\n")[0]
    assert all(line.startswith("    ") for line in message[1:])
    assert text[caret.index("^") :].startswith("?x b)"), (text, caret)


def test_infix_message_shows_place_line_and_caret() -> None:
    assert str(syntax_error("role(a).\np(b c).\n")) == (
        "game.gdl:2:5: error: unexpected `c`; expected `)` or `,` [syntax]\np(b c).\n    ^"
    )


@pytest.mark.parametrize(
    ("text", "rule", "column", "message"),
    [
        ("(<=)", "no-head", 2, "this rule has no head"),
        ("(a (b))((c) d)", "list-of-lists", 8, "must begin with a name"),
        ("(<= p ((a) (b)))", "list-of-lists", 7, "must begin with a name"),
        ("(p ())", "empty-list", 4, "an empty list cannot be an argument"),
        ("(?x a)", "variable-functor", 2, "`?x` cannot be the name of a relation"),
        ("(p (?x))", "variable-functor", 5, "a list of one variable is no term; write `?x`"),
        ("(<= p ?x)", "variable-relation", 7, "`?x` cannot stand where a relation must be"),
        ("(<= p (not ?x))", "variable-relation", 12, "`?x` cannot stand where a relation must"),
        ("(<= p (not a b))", "connective-arguments", 7, "`not` takes one condition, not 2"),
        ("(<= p (or (not a b)))", "connective-arguments", 11, "`not` takes one condition, not 2"),
        ("(<= p (not))", "connective-arguments", 8, "`not` has no arguments"),
        ("(<= p not)", "connective-arguments", 7, "`not` takes one condition, not 0"),
        ("(<= p (distinct a))", "connective-arguments", 7, "`distinct` takes two terms, not 1"),
        ("(<= p (and))", "connective-arguments", 8, "`and` has no arguments"),
        ("(<= (or a b) c)", "connective-head", 5, "`or` cannot be the head of a rule"),
        ("() <= p q", "syntax", 4, "`<=` must follow an opening parenthesis"),
        ("p :- X.", "variable-relation", 6, "`X` cannot stand where a relation must be"),
        ("p :- .", "syntax", 6, "unexpected `.`"),
        ("p :- q,", "syntax", 7, "the text ends within a clause"),
        ("p(not).", "syntax", 3, "unexpected `not`"),
        ("p(or).", "reserved-word", 3, "as a constant it is written `'or'`"),
        ("p :- 'or'(a).", "reserved-word", 6, "the reserved word `or` cannot stand here"),
        ("p :- distinct(a).", "connective-arguments", 6, "`distinct` takes two terms, not 1"),
        ("p('a b').", "quotes", 3, "`'a b'` is no name of GDL"),
        ("p('').", "quotes", 3, "`''` is no name of GDL"),
        (r"p('a\n').", "quotes", 3, r"only `\\` and `\'` can be used in a quoted name"),
        ("p('a).", "quotes", 3, "has no end"),
        ("p. /* a", "comment", 4, "this comment has no end"),
        ("p :- a @ b.", "syntax", 8, "`@` has no meaning here"),
        ("'<='(a).", "syntax", 1, "unexpected `'<='`"),
    ],
)
def test_error_names_rule_and_place(text: str, rule: str, column: int, message: str) -> None:
    error = syntax_error(text)
    (diagnostic,) = [d for d in error.diagnostics if d.severity == "error"]
    hint = message.replace("`X`", "`?x`")
    assert (diagnostic.rule, diagnostic.line, diagnostic.column) == (rule, 1, column)
    assert hint in diagnostic.message
    assert str(error) == str(diagnostic)


def test_roles_inside_of_a_rule_show_that_a_parenthesis_is_missing() -> None:
    rules = "(<= (legal ?r noop)\n    (role ?r)\n(role a)\n(role b)\n"
    message = "a parenthesis from here on is never closed, so `(role a)` in line 3 is inside"
    (error,) = syntax_error(rules).diagnostics
    assert (error.rule, error.line, error.column, error.message) == ("unbalanced", 1, 1, message)
    assert [warning.severity for warning in parse(rules, lenient=True).diagnostics] == ["warning"]
    for sheet in (rules.replace("(role a)\n(role b)", "(role a)"), rules.replace("\n(", "\n  (")):
        assert parse(sheet.replace("(role a)", "(role ?a)")).rules


def test_a_fact_inside_of_a_rule_is_shown_whole() -> None:
    (error,) = syntax_error("(<= (legal a m)\n(init (at (b c)))\n").diagnostics
    assert "so `(init (at (b c)))` in line 2 is inside" in error.message


def test_the_readable_part_of_a_broken_clause_is_no_clause() -> None:
    error = syntax_error("p(a).\np(b) :- q, X is 1.\np(c)\np(d) )\np(e).")
    assert [diagnostic.rule for diagnostic in error.diagnostics] == ["other-language", "syntax"]
    rules = parse("role(a).\np(b) :- role(a), ).\np(c)", lenient=True).rules
    assert [str(rule) for rule in rules] == ["(role a)", "(p c)"]


def test_all_errors_and_warnings_are_reported_in_text_order() -> None:
    error = syntax_error("(<= ?x a)\n(p (c))\n(<=)\n(role a)\n(<= p (not a b) ?y)\n(q ()\n")
    assert [(d.line, d.severity, d.rule) for d in error.diagnostics] == [
        (1, "error", "variable-relation"),
        (2, "warning", "empty-arguments"),
        (3, "error", "no-head"),
        (5, "error", "connective-arguments"),
        (5, "error", "variable-relation"),
        (6, "warning", "unbalanced"),
        (6, "error", "empty-list"),
    ]
    assert str(error).count("error:") == 5


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("p(.\nq(a).\nr :- .\ns(a b). t(c d).\nu(e).", [1, 3, 4, 4]),
        ("foo(a\nbar(b)\n  baz(\nqux(c)", [2, 4]),
        ("a :- X\nb :- c @ d\n  e\nf(", [1, 2, 4]),
    ],
)
def test_infix_errors_are_reported_for_every_clause(text: str, lines: list[int]) -> None:
    assert [d.line for d in syntax_error(text).diagnostics] == lines


def test_long_line_is_shortened_around_the_place() -> None:
    facts = "(role a) " * 5000
    error = syntax_error(f"{facts}(<=) {facts}")
    assert error.column == len(facts) + 2
    _, context, caret = str(error).splitlines()
    assert len(context) < 250
    assert context[caret.index("^") :].startswith("<=)")


def test_characters_that_disturb_a_terminal_are_not_shown() -> None:
    assert "\x1b" not in str(syntax_error("(<= p (not \x1b[31m b))"))


@pytest.mark.parametrize("text", ["(p {})", "(<= p (q {}))"])
def test_terms_that_nest_too_deep_are_an_error(text: str) -> None:
    inner = "(f " * MAX_NESTING + "a" + ")" * MAX_NESTING
    assert syntax_error(text.format(inner)).diagnostics[0].rule == "nesting"
    with pytest.raises(GDLSyntaxError, match="may not nest deeper than 100 levels"):
        parse_term(f"(p {inner})")
    infix = "p(" + "f(" * MAX_NESTING + "a" + ")" * MAX_NESTING + ")."
    assert syntax_error(infix).diagnostics[0].rule == "nesting"


def test_more_than_a_thousand_errors_are_counted_not_listed() -> None:
    error = syntax_error("(<=)" * 3000)
    assert len(error.diagnostics) == 1001
    assert error.diagnostics[-1].message == "2,000 more errors are not listed"


@pytest.mark.parametrize(
    "piece",
    [
        *("(", ")", "()", "(a ", "((a ", "(<= ", "(not ", "a:-", "a:-(", "a:-f(", "f(", "not "),
        *("/*", "'\\", "\\'", "'", "%", ";", ".", "1", "1 ", "_", "\0", "\x85", "\ufeff", "İ"),
    ],
)
def test_endless_repetition_gives_a_rulesheet_or_a_syntax_error(piece: str) -> None:
    rules_if_any("a:-not " + piece * 5000)
    rules_if_any(piece * 5000)


_PIECES = [*"() .,;:'\\_?#~|&%\n\t\r=", "<=", ":-", "not", "or(", "distinct", "/*", "*/", "a", "X"]
_garbage = st.one_of(
    st.text(max_size=60),
    st.binary(max_size=60),
    st.lists(st.sampled_from(_PIECES), max_size=40).map("".join),
    st.text(alphabet=string.printable, max_size=60),
)


@given(_garbage)
@settings(max_examples=examples(500), deadline=None)
def test_garbage_gives_a_syntax_error_or_rules_that_can_be_printed(text: str | bytes) -> None:
    rules = rules_if_any(text)
    assert parse(print_kif(rules)).rules == rules
    assert parse(print_infix(rules)).rules == rules


@given(strategies.rulesheets, st.sampled_from([print_kif, print_infix]), st.data())
@settings(max_examples=examples(100), deadline=None)
def test_damaged_rulesheet_gives_a_syntax_error_or_rules(
    rules: tuple[Rule, ...], printer: Callable[[Iterable[Rule]], str], data: st.DataObject
) -> None:
    text = printer(rules)
    at = data.draw(st.integers(0, len(text)))
    damaged = text[:at] + data.draw(st.sampled_from(["", *_PIECES])) + text[at + 1 :]
    read = rules_if_any(damaged)
    assert parse(print_kif(read)).rules == read


@given(st.text(max_size=40))
@settings(max_examples=examples(300), deadline=None)
def test_garbage_as_a_term_gives_a_syntax_error_or_a_term(text: str) -> None:
    with suppress(GDLSyntaxError):
        term = parse_term(text)
        assert parse_term(str(term)) == term


def test_other_languages_are_named() -> None:
    error = syntax_error("role(a).\nmark(X) :: control(a) ==> cell(X)\n")
    assert "game.gdl:2:9: error: `::` is of Stanford's newer language of rules" in str(error)
    assert "game.gdl:2:23: error: `==>` is of Stanford's newer language" in str(error)

"""Texts and rules that are too large are refused before anything takes long."""

from __future__ import annotations

import pytest

from ggp.errors import GDLSyntaxError
from ggp.gdl import parse
from ggp.gdl.normalize import normalize
from ggp.gdl.syntax.parser import MAX_WORDS
from ggp.gdl.syntax.reading import MAX_PARTS
from tests.support.sheets.programs import FRAME, program


@pytest.mark.parametrize("word", ["(", ")", "word ", "(f x) "])
def test_text_with_too_many_words_is_not_read(word: str) -> None:
    with pytest.raises(GDLSyntaxError, match="more than 200,000 words and parentheses"):
        parse(word * (MAX_WORDS + 1), "big.gdl")


def test_a_text_that_is_too_large_is_dropped_where_errors_are_repaired() -> None:
    sheet = parse(FRAME + "(" * MAX_WORDS, lenient=True)
    assert sheet.rules == ()
    assert [diagnostic.rule for diagnostic in sheet.diagnostics] == ["size"]


@pytest.mark.parametrize("form", ["(<= (next x) {})", "next(x) :- {}."])
def test_rule_that_is_too_large_is_refused(form: str) -> None:
    kif = form.startswith("(")
    conditions = (" " if kif else ", ").join(["(p a)" if kif else "p(a)"] * (MAX_PARTS // 2))
    with pytest.raises(GDLSyntaxError, match=r":1:\d+: .*more than 5,000 names"):
        parse(form.format(conditions), "big.gdl")


def test_relations_that_need_undefined_ones_are_undefined_in_any_order() -> None:
    chain = "".join(f"(<= (p{i} ?x) (p{i + 1} ?x) (true ?x))" for i in range(300))
    parsed = program(
        "(<= (legal white (go ?x)) (p0 ?x)) (<= (legal black go) (not (p0 go)))" + chain
    )
    heads = {str(rule.head) for rule in parsed.rules}
    assert "(legal black go)" in heads
    assert not any("p0" in str(rule) for rule in parsed.rules)
    assert normalize(parse(FRAME)).rules[0] in parsed.rules

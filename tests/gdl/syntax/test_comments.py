"""Comments stay beside their rules, in both syntaxes, there and back."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ggp.gdl import Rule, list_games, parse, print_kif, print_sheet, read_rulesheet
from ggp.gdl.source import describe
from tests.gdl.syntax import strategies
from tests.support.effort import examples

KIF = """\
; A game
;
;;; of one role

(role a)  ; who plays

; it ends
(<= terminal  ; when
    ; both hold
    (true p)  ; first
    (true q))  ; and this; too
; the end
"""
BLOCKS = """\
(role a)
#| it ends
   when both hold |#
(<= terminal  /* first */
    (true p)
    (true q))
"""
INFIX = """\
% A game
%
%%% of one role

role(a).  % who plays

% it ends
terminal :-  % when
    % both hold
    true(p),  % first
    true(q).  % and this; too
% the end
"""


def test_comments_are_printed_where_they_belong() -> None:
    assert print_sheet(parse(KIF), "infix") == INFIX
    assert print_sheet(parse(INFIX), "kif") == KIF
    assert print_sheet(parse(KIF), "kif") == KIF
    assert print_sheet(parse(INFIX), "infix") == INFIX


@pytest.mark.parametrize(
    ("text", "kif"),
    [
        ("/* A game\n   of one role.\n */\nrole(a).", "; A game\n; of one role.\n(role a)\n"),
        ("role(a). /* who\n plays */ % here", "(role a)  ; who plays; here\n"),
        ("%; odd\nrole(a).", "; ; odd\n(role a)\n"),
        ("p :-\n    not q, % no\n    a != b.", "(<= p\n    (not q)  ; no\n    (distinct a b))\n"),
        ("\n\n% first\n\n\n\nrole(a).\r\n\r\nrole(b).", "; first\n\n(role a)\n\n(role b)\n"),
        ("(role a)(role b) ; both", "(role a)\n(role b)  ; both\n"),
        ("(<= p q\n    ; all\n)\nr", "(<= p\n    q)\n; all\nr\n"),
        ("; KIF\np", "; KIF\np\n"),
        (";\n", ";\n"),
    ],
)
def test_comment_is_printed_as(text: str, kif: str) -> None:
    sheet = parse(text)
    assert print_sheet(sheet, "kif") == kif
    assert print_sheet(parse(print_sheet(sheet, "infix")), "kif") == kif


@pytest.mark.parametrize("game", list_games())
def test_games_keep_comments_and_description(game: str) -> None:
    sheet = read_rulesheet(game)
    kif, infix = print_sheet(sheet, "kif"), print_sheet(sheet, "infix")
    assert parse(infix).rules == parse(kif).rules == sheet.rules
    assert print_sheet(parse(infix), "kif") == kif
    assert describe(infix) == describe(kif) == describe(sheet.source.text)
    assert kif.count(";") == sheet.source.text.count(";")


comments = st.from_regex(r"[;% ]?[-a-z(.'/*%; ]{0,8}", fullmatch=True).filter(
    lambda text: "*/" not in text
)
"""Without ends of blocks, which the name `/*` may begin."""


@given(strategies.rulesheets, st.lists(st.tuples(st.integers(0, 40), comments), max_size=5))
@settings(max_examples=examples(100), deadline=None)
def test_any_comments_survive_there_and_back(
    rules: tuple[Rule, ...], numbered: list[tuple[int, str]]
) -> None:
    lines = ["; KIF", *print_kif(rules).splitlines()]
    for number, comment in numbered:
        lines[number % len(lines)] += f" ;{comment}\n"
    sheet = parse("\n".join(lines))
    assert sheet.rules == rules
    kif = print_sheet(sheet, "kif")
    infix = print_sheet(sheet, "infix")
    assert parse(kif).rules == rules
    assert print_sheet(parse(kif), "kif") == kif
    if rules:  # a text without rules is taken for KIF or infix by how it begins
        assert parse(infix).rules == rules
        assert print_sheet(parse(infix), "kif") == kif
        assert print_sheet(parse(infix), "infix") == infix


def test_blocks_of_comments_become_lines() -> None:
    assert print_sheet(parse(BLOCKS), "kif") == (
        "(role a)\n; it ends\n; when both hold\n"
        "(<= terminal  ; first\n    (true p)\n    (true q))\n"
    )

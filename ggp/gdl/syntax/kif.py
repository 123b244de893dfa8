"""Parses GDL in KIF, the prefix syntax that servers send.

`parser` calls `read_kif` with a text and gets rules and the spelling of names. Text becomes tokens,
tokens become balanced top-level forms, and each form is parsed separately, so an error costs no
more than its form. The last part of the module repairs misplaced parentheses.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import accumulate, pairwise
from typing import Any, cast

from lark import Lark, Token, UnexpectedToken
from lark.lexer import Lexer, LexerState

from ggp.gdl.source import Source
from ggp.gdl.syntax.reading import (
    ARROWS,
    MAX_NESTING,
    TUPLE,
    UNNAMED,
    Builder,
    Findings,
    FoldedNames,
    Tuples,
    quoted,
    start_of,
    too_deep,
    warn_of_mixed_variables,
    warn_of_tuples,
    well_shaped,
)
from ggp.gdl.terms import CONNECTIVES, Compound, Rule, Symbol, Term, Variable

# Lark's own lexer takes 0.50 s for the 167,000 tokens of 92 rulesheets, this one 0.28 s. Besides,
# parentheses have to be balanced between lexer and parser.
_TOKEN = re.compile(r"[()]|;[^\r\n]*|[^\s();\ufeff]+")
_BLOCKS = {"#|": "|#", "/*": "*/"}
"""Marks at the beginning and the end of block comments in other languages. KIF has none, but a
block in a rulesheet is surely a comment. Without an end, the mark is an ordinary name."""

_NESTS = {"LPAR": 1, "RPAR": -1}

_VARIABLE = re.compile(r"\?[^\s();\ufeff]*")


@dataclass(frozen=True, slots=True)
class _Form:
    """A balanced top-level form, and the depth of its parentheses."""

    tokens: list[Token]
    depth: int

    @property
    def is_rule(self) -> bool:
        return len(self.tokens) > 1 and self.tokens[1].type == "ARROW"


def read_kif(source: Source, findings: Findings) -> tuple[tuple[Rule, ...], dict[str, str]]:
    """The rules of a KIF text, and the spelling of its names; problems go to `findings`."""
    names = FoldedNames(findings)
    rules: list[Rule] = []
    is_open = False  # whether the last rule lacks its conditions
    tokens = list(_tokens(source.text, names, findings))
    begins = [pair for pair in pairwise(tokens) if pair[0].type == "LPAR"]
    named = {start_of(lpar) for lpar, first in begins if first == TUPLE}
    may_lack_names = any(first.type in ("LPAR", "VARIABLE") for _, first in begins)
    for form in _forms(tokens, findings):
        rule = _read_form(form, findings, goes_on=is_open and findings.lenient)
        if rule is None:
            continue
        if is_open and findings.lenient and is_condition(rule):
            rules[-1] = extended(rules[-1], rule, findings)
            continue
        rules.append(rule)
        is_open = form.is_rule and not rule.body
    if names.mixed_variables:
        warn_of_mixed_variables(rules, _VARIABLE, findings)
    if may_lack_names and warn_of_tuples(rules, named, findings):
        if named:  # these would be printed without the name
            message = f"`{TUPLE}` is the name of lists without one; choose another"
            findings.error("tuple", message, min(named))
        return Tuples(rules).rules, {**names.spelling, **UNNAMED}
    return tuple(rules), names.spelling


def read_kif_terms(source: Source, findings: Findings) -> tuple[Term, ...]:
    """The terms of a KIF text such as a list of moves; only `(c)` is repaired."""
    tokens = list(_tokens(source.text, FoldedNames(findings), findings))
    opened: list[Token] = []
    for token in tokens:
        if token.type == "LPAR":
            opened.append(token)
        elif token.type == "RPAR" and not opened:
            findings.error("unbalanced", "this parenthesis closes nothing", start_of(token))
            return ()
        elif token.type == "RPAR":
            opened.pop()
    if opened:
        findings.error("unbalanced", "this parenthesis is never closed", start_of(opened[0]))
        return ()
    terms = []
    for form in _forms(tokens, findings, unwrap=False):
        if form.depth > MAX_NESTING:
            too_deep(findings, start_of(form.tokens[0]))
        elif isinstance(term := _parse(form.tokens, "term", findings), Term):
            terms.append(term)
    return tuple(terms)


def kif_pieces(text: str) -> Iterator[tuple[int, str, bool]]:
    """Yield the offset and text of each parenthesis, name or comment, and if it is a comment."""
    ends = dict.fromkeys(_BLOCKS, 0)  # -1: there is no further end mark
    at = 0
    while (match := _TOKEN.search(text, at)) is not None:
        start, piece = match.start(), match.group()
        begin = piece[:2]
        if begin in _BLOCKS and ends[begin] >= 0:
            ends[begin] = text.find(_BLOCKS[begin], start + len(begin))
            if ends[begin] >= 0:
                piece = text[start : ends[begin] + len(begin)]
        yield start, piece, piece[0] == ";" or (begin in _BLOCKS and ends[begin] >= 0)
        at = start + len(piece)


def _tokens(text: str, names: FoldedNames, findings: Findings) -> Iterator[Token]:
    kinds: dict[str, tuple[str, str]] = {"(": ("LPAR", "("), ")": ("RPAR", ")")}
    opened = False
    for start, spelled, is_comment in kif_pieces(text):
        if is_comment:
            if spelled[0] != ";":
                message = "a block of comments, which KIF does not have, is left out"
                findings.warn("comment", message, start)
            continue
        folded = kinds.get(spelled)
        if folded is None:
            folded = kinds[spelled] = _classify(spelled, start, names)
        kind, name = folded
        if kind == "SYMBOL" and opened and name in CONNECTIVES:
            kind = "DISTINCT" if name == "distinct" else "CONNECTIVE"
        opened = kind == "LPAR"
        yield Token(kind, name, start)


def _classify(spelled: str, offset: int, names: FoldedNames) -> tuple[str, str]:
    if spelled in ARROWS:
        return "ARROW", spelled
    if spelled[0] == "?":
        return "VARIABLE", names.variable(spelled[1:], offset)
    return "SYMBOL", names.constant(spelled, offset)


def _forms(tokens: list[Token], findings: Findings, *, unwrap: bool = True) -> Iterator[_Form]:
    """Yield the balanced top-level forms, with `c` for `(c)`, and without a list around all."""
    outer = None
    if unwrap and [token.type for token in tokens[:2]] == ["LPAR", "LPAR"]:
        outer = tokens.pop(0)
    strays: list[Token] = []
    form: list[Token] = []
    opened: list[Token] = []
    depth = 0
    for token in tokens:
        kind = token.type
        if kind == "LPAR":
            opened.append(token)
            depth = max(depth, len(opened))
            form.append(token)
        elif kind == "RPAR":
            if not opened:
                strays.append(token)
                continue
            opened.pop()
            _close(form, token, findings)
        elif kind == "ARROW" and len(opened) > 1 and form[-1].type == "LPAR":
            # `<=` never occurs inside a rule, so the surrounding forms lack their parentheses.
            first = form.pop()
            opened.pop()
            yield _Form(_close_all(form, opened, findings), depth)
            form, opened, depth = [first, token], [first], 1
        else:
            form.append(token)
        if not opened and form:
            yield _Form(form, depth)
            form, depth = [], 0
    if opened:
        yield _Form(_close_all(form, opened, findings), depth)
    _check_top_level(outer, strays, tokens, findings)


def _close(form: list[Token], rpar: Token, findings: Findings) -> None:
    """Append a closing parenthesis; if that would close a list `(name)`, leave `name` instead."""
    # A list must begin with a name, so a list in that position is an error and remains one.
    is_name = len(form) > 1 and form[-1].type == "SYMBOL" and form[-2].type == "LPAR"
    if is_name and (len(form) == 2 or form[-3].type != "LPAR"):
        name = form.pop()
        lpar = form.pop()
        findings.warn(
            "empty-arguments",
            f"`({name})` has no arguments; read as {quoted(name)}",
            start_of(lpar),
        )
        form.append(name)
    else:
        form.append(rpar)


def _close_all(form: list[Token], opened: Sequence[Token], findings: Findings) -> list[Token]:
    num = len(opened)
    inside = _fact_inside(form, findings.source)
    if inside is not None:
        message = f"a parenthesis from here on is never closed, so {inside} is inside"
        (findings.warn if findings.lenient else findings.error)(
            "unbalanced", message, start_of(form[0])
        )
    else:
        findings.warn(
            "unbalanced",
            "this parenthesis is never closed; closed at the end of the form"
            if num == 1
            else f"{num} parentheses from here on are never closed; closed at the end of the form",
            start_of(opened[0]),
        )
    for _ in opened:
        _close(form, Token("RPAR", ")", start_of(form[-1])), findings)
    return form


def _fact_inside(form: list[Token], source: Source) -> str | None:
    """A fact, with its line, that is inside a form because of a forgotten parenthesis.

    Such a fact is about `role` or `init`, and begins a line no further right than the form does.
    """
    first_column = source.position(start_of(form[0]))[1]
    for at, (token, name) in enumerate(pairwise(form[1:]), 1):
        if token.type == "LPAR" and name in ("role", "init"):
            start = start_of(token)
            line, column = source.position(start)
            opened = accumulate(_NESTS.get(part.type, 0) for part in form[at:])
            end = next(
                (part for part, depth in zip(form[at:], opened, strict=True) if not depth), form[-1]
            )
            fact = source.text[start : start_of(end) + len(end)]
            is_first = not source.line(line)[: column - 1].strip()
            if is_first and column <= first_column and "?" not in fact:
                return f"{quoted(fact)} in line {line}"
    return None


def _check_top_level(
    outer: Token | None, strays: list[Token], tokens: list[Token], findings: Findings
) -> None:
    """Warn of closing parentheses that close nothing, and of an incomplete outer list."""
    if outer is not None:
        if strays and strays[-1] is tokens[-1]:
            strays.pop()
        elif strays:
            end = strays.pop(0)
            message = "the outer list around the rules ends here, but the text goes on; ignored"
            findings.warn("outer-list", message, start_of(end))
        else:
            message = "the outer list around the rules is never closed; closed at the end"
            findings.warn("unbalanced", message, start_of(outer))
    for stray in strays:
        findings.warn("unbalanced", "this parenthesis closes nothing; ignored", start_of(stray))


def _read_form(form: _Form, findings: Findings, *, goes_on: bool) -> Rule | None:
    """The rule of a form, None if there is none.

    Args:
        goes_on: whether a condition outside of any rule may belong to the rule before it.
    """
    tokens = form.tokens
    start = start_of(tokens[0])
    if form.depth > MAX_NESTING + form.is_rule:
        too_deep(findings, start)
        return None
    if len(tokens) == 2 and tokens[1].type == "RPAR":
        findings.warn("empty-list", "an empty list says nothing; ignored", start)
        return None
    rule = _parse(tokens, "form", findings)
    if not isinstance(rule, Rule):
        return None
    if findings.lenient:
        rule = with_closed_negations(rule, findings)
    if not form.is_rule and isinstance(rule.head, Compound) and rule.head.name in CONNECTIVES:
        # Left over from a rule with a misplaced parenthesis; it has no head.
        if goes_on:
            return rule
        message = f"{quoted(rule.head.name)} stands outside of any rule; ignored"
        findings.warn("stray-condition", message, start)
        return None
    if not well_shaped(rule, findings):
        return None
    if form.is_rule and not rule.body:
        findings.warn("empty-body", "a rule without conditions; read as a fact", start)
    return rule


def _parse(tokens: list[Token], start: str, findings: Findings) -> object:
    try:
        return _parser().parse(tokens, start=start)
    except UnexpectedToken as error:
        rule, message, offset = _explain(tokens, error.token)
        findings.error(rule, message, offset)
        return None


def _explain(tokens: list[Token], unexpected: Token) -> tuple[str, str, int]:
    """Name, message and offset of the error at an unexpected token."""
    at = next((i for i, token in enumerate(tokens) if token is unexpected), len(tokens))
    previous = tokens[at - 1] if 0 < at < len(tokens) else None
    place = start_of(previous if previous is not None else unexpected)
    match previous.type if previous is not None else "", unexpected.type:
        case "LPAR", "LPAR":
            message = "the list of a condition must begin with a name, not with a list"
            return "list-of-lists", message, place
        case "LPAR", "RPAR":
            return "empty-list", "an empty list cannot be an argument or a condition", place
        case "LPAR", "VARIABLE":
            name = quoted(f"?{unexpected}")
            message = f"the variable {name} cannot be the name of a relation"
            return "variable-functor", message, start_of(unexpected)
        case "RPAR", "RPAR":
            return "list-of-lists", "a list of one list is no term", place
        case "VARIABLE", "RPAR":
            message = f"a list of one variable is no term; write {quoted(f'?{previous}')}"
            return "variable-functor", message, place
        case "ARROW", "RPAR":
            return "no-head", "this rule has no head", place
        case "CONNECTIVE" | "DISTINCT", "RPAR":
            message = f"{quoted(str(previous))} has no arguments"
            return "connective-arguments", message, place
        case "", "ARROW":
            message = f"{quoted(unexpected)} must follow an opening parenthesis"
            return "syntax", message, start_of(unexpected)
    return "syntax", f"unexpected {quoted(unexpected)}", start_of(unexpected)


class _Tokens(Lexer):
    """A lexer that hands on the tokens of one form."""

    __future_interface__ = 2

    def __init__(self, lexer_conf: object) -> None:
        pass

    def lex(self, lexer_state: LexerState, parser_state: object) -> Iterator[Token]:
        return iter(cast("list[Token]", lexer_state.text))


class _Build(Builder):
    """Builds terms and rules while the parser reduces."""

    def SYMBOL(self, token: Token) -> Symbol:
        return Symbol(token.value, start_of(token))

    def VARIABLE(self, token: Token) -> Variable:
        return Variable(token.value, start_of(token))

    ARROW = CONNECTIVE = DISTINCT = SYMBOL

    def compound(self, children: list[Any]) -> Compound:
        lpar, name, args, _ = children
        return Compound(name.name, tuple(args), lpar.start_pos)

    def unnamed(self, children: list[Any]) -> Compound:
        lpar, first, rest, _ = children
        return Compound(TUPLE, (first, *rest), lpar.start_pos)

    def rule(self, children: list[Any]) -> Rule:
        lpar, _, conditions, _ = children
        return Rule(conditions[0], tuple(conditions[1:]), lpar.start_pos)


@cache
def _parser() -> Lark:
    grammar = files("ggp.gdl.syntax").joinpath("kif.lark").read_text(encoding="utf-8")
    return Lark(
        grammar,
        parser="lalr",
        lexer=_Tokens,
        start=["form", "term"],
        transformer=_Build(),
        keep_all_tokens=True,
        maybe_placeholders=False,
    )


# ------------------------------------------------------------------------
# Repairs of misplaced parentheses.
#
# A text with one parenthesis too many or too few can be balanced, but it has another meaning: a
# `not` with two conditions, or a condition outside of its rule. Repairs are guesses, so they are
# made only when a text is parsed for play: see `lenient` of `ggp.gdl.parse`.

_CONDITIONS_ONLY = CONNECTIVES | {"true", "does"}
"""Names that cannot be the head of a rule, so they begin a condition."""


def with_closed_negations(rule: Rule, findings: Findings) -> Rule:
    """The rule, with surplus conditions of a `not` moved out of it.

    `(not open (true (at 1)))` lacks a parenthesis after `open`; `(not open ?x)` lacks the two
    around `open ?x`.
    """
    body = tuple(new for condition in rule.body for new in _closed(condition, findings))
    return Rule(rule.head, body, rule.start)


def _closed(condition: Term, findings: Findings) -> Iterator[Term]:
    if not isinstance(condition, Compound) or condition.name not in CONNECTIVES - {"distinct"}:
        yield condition
        return
    args = [new for arg in condition.args for new in _closed(arg, findings)]
    if condition.name != "not" or len(args) < 2:
        yield Compound(condition.name, tuple(args), condition.start)
        return
    first, *rest = args
    if all(isinstance(arg, Compound) for arg in rest):
        message = f"this `not` has {len(args)} conditions; closed after the first"
        negated, outside = first, rest
    elif not isinstance(first, Compound):
        message = f"this `not` lacks the parentheses around {quoted(first.name)} and what follows"
        negated, outside = Compound(first.name, tuple(rest), first.start), []
    else:
        yield condition
        return
    findings.warn("connective-arguments", message, condition.start)
    yield Compound("not", (negated,), condition.start)
    yield from outside


def is_condition(rule: Rule) -> bool:
    """Whether a form at top level can only be a condition."""
    head = rule.head
    return not rule.body and isinstance(head, Compound) and head.name in _CONDITIONS_ONLY


def extended(rule: Rule, condition: Rule, findings: Findings) -> Rule:
    """The rule with a condition added; `(<= terminal) (not open))` closes the rule too early."""
    message = "this condition stands outside of any rule; taken for one of the rule before it"
    findings.warn("stray-condition", message, condition.start)
    added = with_closed_negations(Rule(rule.head, (condition.head,), rule.start), findings)
    if not well_shaped(added, findings):
        return rule
    return Rule(rule.head, rule.body + added.body, rule.start)

"""KIF as programs read it that tell upper from lower case, such as ggp-base."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ggp.gdl.terms import Compound, Rule, Symbol, Term, Variable

_TOKEN = re.compile(r"[()]|[^\s()]+")
_COMMENT = re.compile(r";[^\r\n]*")


def terms_of(text: str) -> list[Term]:
    """The terms of a text, with every name as it is spelled there."""
    return list(_terms(iter(_TOKEN.findall(_COMMENT.sub(" ", text)))))


def rules_of(text: str) -> list[Rule]:
    """The rules of a text, likewise."""
    return [
        Rule(term.args[0], term.args[1:])
        if isinstance(term, Compound) and term.name == "<="
        else Rule(term)
        for term in terms_of(text)
    ]


def _terms(tokens: Iterator[str]) -> Iterator[Term]:
    for token in tokens:
        if token == ")":
            return
        if token == "(":
            name, *args = _terms(tokens)
            yield Compound(name.name, tuple(args)) if args else name
        else:
            yield Variable(token[1:]) if token[0] == "?" else Symbol(token)

"""Rules and terms of messages as terms of GDL, read quickly and without repairs.

The server must know at once how a rulesheet uses its own words; workers read it properly, with the
parser. Whatever this reader does not understand is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ggp.gdl.syntax.names import ARROWS
from ggp.gdl.syntax.tuples import TUPLE
from ggp.gdl.terms import Compound, Rule, Symbol, Term, Variable

_TOKEN = re.compile(r"[()]|;[^\r\n]*|[^\s();\ufeff]+")


def quick_rules(text: str) -> tuple[Rule, ...]:
    """The rules in a text, in order; none if a parenthesis is never closed. A list without a name
    is a term, but no rule."""
    return tuple(
        Rule(form.args[0], form.args[1:])
        if isinstance(form, Compound) and form.name in ARROWS
        else Rule(form)
        for form in _forms(text)
        if not (isinstance(form, Compound) and form.name == TUPLE)
    )


def quick_term(text: str) -> Term | None:
    """The single term in a text; None if there is no such term."""
    terms = list(_forms(text))
    return terms[0] if len(terms) == 1 else None


def _forms(text: str) -> Iterator[Term]:
    """The terms side by side in a text; a list without a name is one of `TUPLE`."""
    # The items of every open list; None for what is not understood.
    opened: list[list[Term | None]] = [[]]
    for match in _TOKEN.finditer(text):
        token = match.group()
        if token == "(":
            opened.append([])
        elif token == ")":
            if len(opened) > 1:  # an unmatched closing parenthesis otherwise
                closed = _closed(opened.pop())
                opened[-1].append(closed)
        elif token[0] == "?":
            opened[-1].append(Variable(token[1:].lower()))
        elif token[0] != ";":
            opened[-1].append(Symbol(token.lower()))
    if len(opened) == 1:
        yield from (form for form in opened[0] if form is not None)


def _closed(items: list[Term | None]) -> Term | None:
    parts = tuple(item for item in items if item is not None)
    if not parts or len(parts) < len(items):
        return None
    if not isinstance(parts[0], Symbol):
        return Compound(TUPLE, parts) if len(parts) > 1 else None
    name, args = parts[0].name, parts[1:]
    return Compound(name, args) if args else Symbol(name)

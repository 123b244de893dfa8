"""Prints terms and rules; parsing the text gives the same terms and rules again."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ggp.gdl.syntax.reading import TUPLE
from ggp.gdl.terms import CONNECTIVES, Rule, Symbol, Term, Variable

_INDENT = "    "
_PLAIN_NAME = re.compile(r"[a-z][a-z0-9_]*")
_PLAIN_CONSTANT = re.compile(r'[+-]?[0-9]+(?:\.[0-9]+)?|"[^\s"();\ufeff]*"')
_WORD = re.compile(r"\w*")

# Text to write unchanged; or a term, and whether it is a condition or head and not an argument.
_Part = str | tuple[Term, bool]


def to_kif(term: Term) -> str:
    """A term in canonical lower-case KIF, for records, messages and comparisons.

    >>> from ggp.gdl import parse_term
    >>> to_kif(parse_term("( Cell 1 2  X )"))
    '(cell 1 2 x)'
    """
    return str(term)


def print_kif(rules: Iterable[Rule]) -> str:
    """Rules as a KIF rulesheet, with a line for each fact and each condition."""
    lines = [line for rule in rules for line in kif_lines(rule)]
    return "".join(line + "\n" for line in marked_as_kif(lines))


def print_infix(rules: Iterable[Rule]) -> str:
    """Rules as a Prolog-style rulesheet, with a line for each fact and each condition."""
    return "".join(line + "\n" for rule in rules for line in infix_lines(rule))


def kif_lines(rule: Rule) -> list[str]:
    """A rule in KIF: a line for its head, and one for each condition."""
    if not rule.body:
        return [str(rule.head)]
    lines = [f"(<= {rule.head}", *(f"{_INDENT}{term}" for term in rule.body)]
    lines[-1] += ")"
    return lines


def infix_lines(rule: Rule) -> list[str]:
    """A rule in infix syntax: a line for its head, and one for each condition."""
    if not rule.body:
        return [f"{_infix(rule.head)}."]
    lines = [f"{_infix(rule.head)} :-", *(f"{_INDENT}{_infix(term)}," for term in rule.body)]
    lines[-1] = lines[-1][:-1] + "."
    return lines


def marked_as_kif(lines: list[str]) -> list[str]:
    """The lines of a rulesheet, after a comment if they would not be recognised as KIF.

    A bare name at the top looks like the beginning of an infix text.
    """
    return ["; KIF", *lines] if lines and lines[0][:1] not in ("(", ";") else lines


def _infix(condition: Term) -> str:
    """A head or condition as text; without recursion, since terms may nest deeper than Python's
    stack."""
    pieces: list[str] = []
    pending: list[_Part] = [(condition, True)]
    while pending:
        part = pending.pop()
        if isinstance(part, str):
            pieces.append(part)
        else:
            pending.extend(reversed(_parts(*part)))
    return "".join(pieces)


def _parts(term: Term, is_condition: bool) -> list[_Part]:
    """The text of a term, with parts that are still terms."""
    if isinstance(term, Variable):
        return [_variable(term.name)]
    if isinstance(term, Symbol):
        is_plain = not is_condition and _PLAIN_CONSTANT.fullmatch(term.name)
        return [term.name if is_plain else _constant(term.name)]
    if term.name == TUPLE and len(term.args) > 1 and not is_condition:
        return ["(", *_listed(term.args, ", ", False), ")"]
    if not is_condition or term.name not in CONNECTIVES:
        return [_constant(term.name), "(", *_listed(term.args, ", ", False), ")"]
    if term.name == "not" and len(term.args) == 1:
        return ["not ", (term.args[0], True)]
    if term.name == "distinct":
        return ["distinct(", *_listed(term.args, ", ", False), ")"]
    if len(term.args) == 1:
        return [term.name, "(", (term.args[0], True), ")"]
    return ["(", *_listed(term.args, ", " if term.name == "and" else " ; ", True), ")"]


def _listed(terms: Sequence[Term], separator: str, are_conditions: bool) -> list[_Part]:
    parts: list[_Part] = []
    for term in terms:
        parts += (separator, (term, are_conditions))
    return parts[1:]


def _constant(name: str) -> str:
    if _PLAIN_NAME.fullmatch(name) and name not in CONNECTIVES:
        return name
    return _in_quotes(name)


def _variable(name: str) -> str:
    if _PLAIN_NAME.fullmatch(name):
        return name[0].upper() + name[1:]
    return "?" + (name if _WORD.fullmatch(name) else _in_quotes(name))


def _in_quotes(name: str) -> str:
    return "'" + name.replace("\\", "\\\\").replace("'", "\\'") + "'"

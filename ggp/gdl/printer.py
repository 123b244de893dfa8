"""Prints terms and rules such that reading them back gives the same terms and rules."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ggp.gdl.terms import CONNECTIVES, Rule, Symbol, Term, Variable

_INDENT = "    "
_PLAIN_NAME = re.compile(r"[a-z][a-z0-9_]*")
_PLAIN_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?")
_WORD = re.compile(r"\w*")

# Text to write as it is, or a term and whether it is a condition (or head), not an argument.
_Part = str | tuple[Term, bool]


def to_kif(term: Term) -> str:
    """A term in canonical lower-case KIF, for records, messages and comparisons."""
    return str(term)


def print_kif(rules: Iterable[Rule]) -> str:
    """Rules as a KIF rulesheet, with each fact and each condition on a line of its own."""
    texts = [_kif_rule(rule) for rule in rules]
    if texts and not texts[0].startswith("("):
        # A bare name at the top would be taken for the beginning of an infix text.
        texts.insert(0, "; KIF")
    return "".join(text + "\n" for text in texts)


def print_infix(rules: Iterable[Rule]) -> str:
    """Rules as a Prolog-style rulesheet, with each fact and each condition on a line of its own."""
    return "".join(_infix_rule(rule) + "\n" for rule in rules)


def _kif_rule(rule: Rule) -> str:
    if not rule.body:
        return str(rule.head)
    return f"(<= {rule.head}" + "".join(f"\n{_INDENT}{term}" for term in rule.body) + ")"


def _infix_rule(rule: Rule) -> str:
    head = _infix(rule.head)
    if not rule.body:
        return f"{head}."
    conditions = f",\n{_INDENT}".join(map(_infix, rule.body))
    return f"{head} :-\n{_INDENT}{conditions}."


def _infix(condition: Term) -> str:
    """A head or condition; not recursive, since terms may nest deeper than Python's stack."""
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
    """The parts that a term is written as: text, and terms still to be written."""
    if isinstance(term, Variable):
        return [_variable(term.name)]
    if isinstance(term, Symbol):
        is_number = not is_condition and _PLAIN_NUMBER.fullmatch(term.name)
        return [term.name if is_number else _constant(term.name)]
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

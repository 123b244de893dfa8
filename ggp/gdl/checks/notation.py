"""Finds notation of other languages that is a mere name in GDL, or means nothing there.

KIF takes every run of characters for a name, so `[mark`, `=>` and `+` are names like any other:
the rule is read, but does not say what its author thinks. A sheet may well define a relation `>`
by facts, or use `+` as a name of its own; these are not reported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ggp.gdl.checks.formal import IGNORED, Diagnosis, conditions
from ggp.gdl.nearest import nearest
from ggp.gdl.program import DOES, INIT, KEYWORD_ARITY, LEGAL, NEXT, SEES, TRUE, number_of
from ggp.gdl.source import Rulesheet
from ggp.gdl.terms import CONNECTIVES, Compound, Rule, Signature, Symbol, Term, Variable, signature

_BY_FACTS = "; GDL has no arithmetic: write facts like (less 1 2) and (succ 1 2)"
_EQUAL = "; GDL has no `=`: write the same variable twice, or `distinct` for what differs"

OPERATORS: Mapping[str, str] = {
    **dict.fromkeys(("+", "-", "*", "/", "%", "^", "**"), _BY_FACTS),
    **dict.fromkeys((">", "<", ">=", "=<", "<=", "=>"), _BY_FACTS),
    **dict.fromkeys(("=", "==", "!=", "/=", "<>", "neq", "eq"), _EQUAL),
    **dict.fromkeys(("!", "~", "\\+"), "; a negation is written (not condition)"),
    **dict.fromkeys(("&", "&&", ","), "; all conditions of a rule must hold; write nothing"),
    **dict.fromkeys(("|", "||"), "; a disjunction is written (or condition condition)"),
    "knows": (
        "; it is of GDL-III, whose rules may ask what a role knows: in GDL-II, keep what it has "
        "seen in a fluent"
    ),
}
"""The GDL to write instead of an operator of another language, as the end of a message."""

_NAMING = frozenset({INIT, TRUE, NEXT, LEGAL, DOES, SEES})
"""Relations whose last argument may be a name."""

_CALCULATING = frozenset({"+", "-", "*", "/", "%", "^", "**"})
_ARROWS = frozenset({"=>", "->", "<-", "==>", "<==", "-->", "<--", ":=", "<->", "<=>"})
_BRACKETS = frozenset("[]{}")


@dataclass(slots=True)
class _Uses:
    """The places where names occur.

    Attributes:
        symbols: first place of each name of a constant, function or relation.
        heads, bodies: relations in heads and in bodies, with their first place.
        made, taken: functions in heads, and in conditions other than `distinct`, with first place.
        all_made: functions anywhere, with their first place.
    """

    symbols: dict[str, int] = field(default_factory=dict)
    heads: dict[Signature, int] = field(default_factory=dict)
    bodies: dict[Signature, int] = field(default_factory=dict)
    made: dict[Signature, int] = field(default_factory=dict)
    taken: dict[Signature, int] = field(default_factory=dict)
    functions: dict[Signature, int] = field(default_factory=dict)


def check_notation(rulesheet: Rulesheet, report: Diagnosis) -> None:
    """Report brackets, commas, arrows and arithmetic, and keywords that are spelled wrong."""
    uses = _uses_in(rulesheet)
    fluents = {
        signature(rule.head.args[0])
        for rule in rulesheet.rules
        if signature(rule.head) in (INIT, NEXT) and isinstance(rule.head, Compound)
        if not isinstance(rule.head.args[0], Variable)
    }
    _check_variables(rulesheet, report)
    for name, place in uses.symbols.items():
        if _BRACKETS & set(name):
            message = "brackets mean nothing in GDL: terms are written (name argument ...)"
            report.breach("notation", f"`{name}` is read as a name; {message}", place)
        elif len(name) > 1 and (name.endswith(",") or name.startswith(",")):
            message = "arguments are separated by blanks"
            report.breach("notation", f"`{name}` is read as a name; {message}", place)
    for (name, _), place in (uses.heads | uses.bodies).items():
        if number_of(name) is not None:
            message = "here a number names a relation; a fact is written (name argument ...)"
            report.breach("notation", f"`{name}`: {message}", place)
    for relation, place in uses.heads.items():
        name = relation[0]
        if name in _ARROWS and relation not in uses.bodies:
            message = f"`{name}` means nothing in GDL; a rule is written (<= head condition ...)"
            report.breach("notation", message, place)
        elif name not in KEYWORD_ARITY and relation not in uses.bodies | dict.fromkeys(IGNORED):
            if relation in fluents:
                shape = f"({name} ...)" if relation[1] else name
                message = f"nothing uses the relation `{name}`; a fluent is made by (next {shape})"
                report.breach("unused", message, place)
                continue
            meant = nearest(name, KEYWORD_ARITY)
            if meant is not None and meant not in ("true", "does", "distinct"):
                message = f"nothing uses the relation `{name}`; did you mean `{meant}`?"
                report.breach("unused", message, place)
    for function, place in uses.functions.items():
        name = function[0]
        if name in _CALCULATING and not (function in uses.made and function in uses.taken):
            message = f"`{name}` does not calculate: it is a name like any other{OPERATORS[name]}"
            report.breach("notation", message, place)
        elif name in _ARROWS and not (function in uses.made and function in uses.taken):
            message = f"`{name}` means nothing in GDL; a rule is written (<= head condition ...)"
            report.breach("notation", message, place)


def _check_variables(rulesheet: Rulesheet, report: Diagnosis) -> None:
    """Report constants of KIF that look like variables of Prolog, and stand where these would.

    Such a constant begins with a capital letter, though not all keywords do; two conditions of one
    rule or its head have it, but not as a whole fluent, move or percept; and no fact has it.
    """
    spelling = rulesheet.spelling
    keywords = {rule.head.name for rule in rulesheet.rules} & KEYWORD_ARITY.keys()
    if rulesheet.syntax != "kif" or keywords <= spelling.keys():
        return
    capitals = {name for name, spelled in spelling.items() if spelled[:1].isupper()}
    for rule in rulesheet.rules:
        if not rule.body:
            capitals -= {part.name for part in _parts(rule.head)}
    for rule in rulesheet.rules:
        atoms = [each for each in (rule.head, *conditions(rule)) if isinstance(each, Compound)]
        symbols = [
            {each.name: each for each in _inside(atom) if each.name in capitals} for atom in atoms
        ]
        for name, times in Counter(name for each in symbols for name in each).items():
            if times > 1:
                capitals.remove(name)
                place = next(each[name].start for each in symbols if name in each)
                said = f"`{spelling[name]}` is a constant; a variable is written ?{spelling[name]}"
                report.breach("notation", said, place)


def _inside(atom: Compound) -> Iterator[Symbol]:
    """The constants in an atom, but for a whole fluent, move or percept."""
    for arg in atom.args:
        for part in _parts(arg):
            whole = part is atom.args[-1] and signature(atom) in _NAMING
            if isinstance(part, Symbol) and not whole:
                yield part


def check_control(rules: Sequence[Rule], roles: Sequence[str], report: Diagnosis) -> None:
    """Warn where `control` seems to say who moves, as it does in pyggp, but no `legal` asks it."""
    given = [Compound("init", (Compound("control", (Symbol(role),)),)) for role in roles]
    first = next((rule for rule in rules if rule.head in given), None)
    if first is None or len(roles) == 1:
        return
    bodies: dict[Signature, list[Term]] = {}
    for rule in rules:
        bodies.setdefault(signature(rule.head), []).extend(conditions(rule))
    pending = [LEGAL]
    while pending:
        for atom in bodies.pop(pending.pop(), ()):
            if signature(atom) == TRUE and any(part.name == "control" for part in _parts(atom)):
                return
            if signature(atom) == ("control", 1):  # of which something else is said
                return
            pending.append(signature(atom))
    message = (
        "no `legal` asks who has `control`, which means nothing by itself in GDL: all roles move "
        "in every turn (in pyggp only those that have it)"
    )
    report.breach("control", message, first.start)


def _uses_in(rulesheet: Rulesheet) -> _Uses:
    uses = _Uses()
    for rule in rulesheet.rules:
        if signature(rule.head) in IGNORED:
            continue
        uses.heads.setdefault(signature(rule.head), rule.head.start)
        _note(uses, rule.head, uses.made)
        for atom in conditions(rule):
            if isinstance(atom, Variable):
                continue
            uses.bodies.setdefault(signature(atom), atom.start)
            _note(uses, atom, uses.taken if atom.name not in CONNECTIVES else None)
    return uses


def _note(uses: _Uses, atom: Term, into: dict[Signature, int] | None) -> None:
    for term in _parts(atom):
        uses.symbols.setdefault(term.name, term.start)
        if isinstance(term, Compound) and term is not atom:
            uses.functions.setdefault(signature(term), term.start)
            if into is not None:
                into.setdefault(signature(term), term.start)


def _parts(term: Term) -> Iterator[Symbol | Compound]:
    """The term and all terms inside of it, except variables."""
    pending = [term]
    while pending:
        item = pending.pop()
        if isinstance(item, Variable):
            continue
        yield item
        if isinstance(item, Compound):
            pending.extend(reversed(item.args))

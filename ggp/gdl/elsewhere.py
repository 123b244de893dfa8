"""Where other engines read a rulesheet differently from GDL, or not at all.

`differences` takes a parsed rulesheet with its problems and yields warnings of what an engine
misreads, with what it does there and what to write instead. Each row of `ROWS` was observed by
running the engine; the rulesheets that show it are in tests/engines, and
docs/reference/other-engines.md lists them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from textwrap import dedent

from ggp.gdl.analysis.dependencies import groups_by_relation, may_unify
from ggp.gdl.formal import conditions, without_connectives
from ggp.gdl.program import GOAL, KEYWORD_ARITY, ROLE, SEES
from ggp.gdl.source import Diagnostic, Rulesheet, diagnose
from ggp.gdl.syntax.kif import kif_pieces
from ggp.gdl.syntax.reading import ARROWS
from ggp.gdl.terms import (
    CONNECTIVES,
    Compound,
    Rule,
    Symbol,
    Term,
    Variable,
    signature,
    variables,
)

GGP_BASE, GAMECONTROLLER, CLINGO, PYGGP = "ggp-base", "gamecontroller", "clingo", "pyggp"
ENGINES = (GGP_BASE, GAMECONTROLLER, CLINGO, PYGGP)
"""ggp-base; the Dresden GameController; gringo, given the rules term by term; pyggp, given the
rules in infix syntax."""


@dataclass(frozen=True, slots=True)
class Misreading:
    """A way to write rules that engines take differently.

    Attributes:
        writing: the construct.
        instead: what to write instead.
        engines: engine -> what it does with it.
    """

    writing: str
    instead: str
    engines: Mapping[str, str]

    def warning(self, engines: Collection[str]) -> str:
        """What these engines do, and what to write instead; empty if they read the rules right."""
        views = [
            f"{engine}: {self.engines[engine]}" for engine in engines if engine in self.engines
        ]
        return f"{self.writing}: {'; '.join(views)}; write {self.instead}" if views else ""


_TABLE = """
and | `(and ...)` | the conditions one after the other; in an `or`, a relation of their own
    ggp-base: a relation `and` that never holds | pyggp: not read
negated-or | `(not (or ...))` | a negation of each disjunct
    ggp-base: holds unless all disjuncts hold | pyggp: not read | clingo: not read
negated-and | `(not (and ...))` | the negation of a relation of their own
    ggp-base: always holds | pyggp: not read | clingo: not read
negated-not | `(not (not ...))` | the condition itself
    ggp-base: refused by its validator, not built by its network | pyggp: not read
negated-distinct | `(not (distinct ...))` | the same variable twice
    ggp-base: refused by its validator
or | `(or ...)` | a rule for each disjunct
    pyggp: not read | clingo: not read
single-or | `(or ...)` of one condition | the condition alone
    gamecontroller: never holds | ggp-base: not built by its network
late-binding | `not` or `distinct` before what binds its variables | it after what binds them
    gamecontroller: `distinct` never holds, `not` fails where any value matches
left-recursion | a recursive condition before what binds its variables | it after what binds them
    gamecontroller: no answer
nested | a recursive condition with a variable bound in a term only | a relation of its arguments
    ggp-base: refused by its validator
circle | recursion that may lead back to where it began | an argument more, which counts steps
    gamecontroller: no answer
mutual | relations that define each other | one relation with an argument more
    ggp-base: its network is never finished
distinct-function | `distinct` of a term with arguments | `distinct` of the arguments
    gamecontroller: never holds | ggp-base: not built by its network
parentheses | `(name)` for `name` | it without parentheses
    ggp-base: another name: `(terminal)` never ends a match
    gamecontroller: another name: `(terminal)` never ends a match
letter-case | one name in two letter cases | it in one way
    ggp-base: two names
goal-number | a goal value that is not a whole number | a whole number from 0 to 100
    ggp-base: no goal value | gamecontroller: an error | pyggp: not read | clingo: not read
unbound | a variable that no condition binds | a condition that binds it
    ggp-base: refused by its validator | gamecontroller: in a head, it stays a variable
    pyggp: not read | clingo: not read
role-twice | the same role twice | it once
    ggp-base: two players
arities | one name with several numbers of arguments | two names
    ggp-base: its prover fails
block-comment | comments in `#| |#` or `/* */` | comments after `;`
    ggp-base: rules | gamecontroller: rules, if in `/* */`
arrow | `:-` in KIF | `<=`
    ggp-base: the rule is lost: `:-` is a relation
    gamecontroller: the rule is lost: `:-` is a relation
sees | `sees` | a game without hidden moves
    ggp-base: everybody is told every move
hints | `base` or `input` without what play reaches | the missing fluents and moves as well
    ggp-base: its network takes such a fluent for false, and such a move for none
number | numbers such as `01`, `+1`, `1.0` and from 2^31 on | names, or smaller numbers
    clingo: not read; large ones lose their high bits
    pyggp: not read, or as plain numbers: `01` is `1`
name | names with other characters than letters, digits and `_` | names of these
    clingo: arithmetic, or not read | pyggp: arithmetic, or not read
"""
"""Name, construct and what to write instead; behind each such line, what engines make of it."""

ROWS: Mapping[str, Misreading] = {
    name: Misreading(
        writing,
        instead,
        dict(view.split(": ", 1) for view in re.split(r" \| |\n", dedent(views).strip())),
    )
    for name, writing, instead, views in re.findall(
        r"^(\S+) \| (.+) \| (.+)\n((?:    .+\n)+)", _TABLE, re.MULTILINE
    )
}
"""Name of a row, as in diagnostics -> the row."""

_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?")
_PLAIN_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,8})")
_PLAIN_NAME = re.compile(r"[a-z_][a-z0-9_]*")
_WHOLE = re.compile(r"[+-]?[0-9]+")


_OF_PROBLEM = {
    "arity": "arities",
    "case-clash": "letter-case",
    "comment": "block-comment",
    "empty-arguments": "parentheses",
    **dict.fromkeys(("unsafe-head", "unsafe-not", "unsafe-variable"), "unbound"),
}
"""Rule of a diagnostic -> name of a row. The parser and the checks have seen these places."""


def differences(
    sheet: Rulesheet, problems: Collection[Diagnostic], engines: Collection[str]
) -> Iterator[Diagnostic]:
    """Yield a warning of each row that some of the engines read differently, at its first place.

    Args:
        problems: those that validation found.
    """
    if not engines:
        return
    places = [
        (_OF_PROBLEM[problem.rule], problem)
        for problem in problems
        if problem.rule in _OF_PROBLEM and not _is_of_keyword(problem)
    ]
    places += [
        (name, diagnose(sheet.source, "warning", name, "", at)) for name, at in _places(sheet)
    ]
    first: dict[str, Diagnostic] = {}
    for name, place in sorted(places, key=lambda pair: (pair[1].line, pair[1].column)):
        first.setdefault(name, place)
    for name, place in first.items():
        if message := ROWS[name].warning(engines):
            yield replace(place, severity="warning", rule=f"for-{name}", message=message)


def _is_of_keyword(problem: Diagnostic) -> bool:
    """Whether a problem is the letter case of a keyword, which engines ignore."""
    return problem.rule == "case-clash" and problem.message.split("`")[1].lower() in KEYWORD_ARITY


def breaches(sheet: Rulesheet) -> Iterator[tuple[str, int, str]]:
    """Yield each construct that the specification does not have: row, offset and message."""
    for name, offset in dict(reversed(list(_places(sheet)))).items():
        if name.split("-")[0] in ("and", "arrow", "negated"):
            row = ROWS[name]
            yield name, offset, f"GDL has no {row.writing}; write {row.instead}"


def _places(sheet: Rulesheet) -> Iterator[tuple[str, int]]:
    """Yield all places where a row applies, with its name."""
    roles: set[Term] = set()
    for rule in sheet.rules:
        for term in rule.body:
            yield from _in_condition(term)
        yield from _late_bindings(rule)
        head = rule.head
        for term in (head, *conditions(rule)):
            yield from _in_names(term)
        if isinstance(head, Compound) and signature(head) == GOAL:
            value = head.args[1]
            if isinstance(value, Symbol) and not _WHOLE.fullmatch(value.name):
                yield "goal-number", value.start
        elif isinstance(head, Compound) and signature(head) == ROLE:
            if head.args[0] in roles:
                yield "role-twice", rule.start
            roles.add(head.args[0])
        elif isinstance(head, Compound) and signature(head) == SEES:
            yield "sees", rule.start
    yield from _recursions(sheet.rules)
    if sheet.syntax == "kif":  # the parser reads both arrows
        pieces = [piece for piece in kif_pieces(sheet.source.text) if not piece[2]]
        for (_, opening, _), (start, name, _) in pairwise(pieces):
            if opening == "(" and name in ARROWS - {"<="}:
                yield "arrow", start


def _in_condition(term: Term) -> Iterator[tuple[str, int]]:
    if not isinstance(term, Compound) or term.name not in CONNECTIVES:
        return
    inner = term.args[0]
    if term.name == "distinct":
        if any(isinstance(arg, Compound) for arg in term.args):
            yield "distinct-function", term.start
        return
    if term.name == "not" and isinstance(inner, Compound) and inner.name in CONNECTIVES:
        yield f"negated-{inner.name}", term.start
    elif term.name != "not":
        yield term.name, term.start
        if term.name == "or" and len(term.args) == 1:
            yield "single-or", term.start
    for arg in term.args:
        yield from _in_condition(arg)


def _late_bindings(rule: Rule) -> Iterator[tuple[str, int]]:
    bound: set[Variable] = set()
    for term in rule.body:
        if isinstance(term, Compound) and term.name in ("not", "distinct"):
            if not bound.issuperset(variables(term)):
                yield "late-binding", term.start
        else:
            bound.update(variables(term))


def _recursions(rules: Sequence[Rule]) -> Iterator[tuple[str, int]]:
    """Yield what is odd in recursive conditions."""
    calls = without_connectives(rules)
    group_of = groups_by_relation(calls)
    for rule in calls:
        group, bound = group_of[signature(rule.head)], set[Variable]()
        direct = {
            arg
            for atom in (rule.head, *(x.atom for x in rule.body if signature(x.atom) not in group))
            for arg in (atom.args if isinstance(atom, Compound) else ())
        }
        for literal in rule.body:
            used = set(variables(literal.atom))
            calls_itself = may_unify(literal.atom, rule.head)
            if calls_itself or (len(group) > 1 and signature(literal.atom) in group):
                if len(group) > 1:
                    yield "mutual", literal.atom.start
                if used and bound.isdisjoint(used):
                    yield "left-recursion", literal.atom.start
                elif isinstance(literal.atom, Compound) and not direct.issuperset(
                    arg for arg in literal.atom.args if isinstance(arg, Variable)
                ):
                    yield "nested", literal.atom.start
            bound |= used


def _in_names(term: Term) -> Iterator[tuple[str, int]]:
    """Yield the places in a relation or term."""
    if isinstance(term, Variable):
        return
    if _NUMBER.fullmatch(term.name):
        if not _PLAIN_NUMBER.fullmatch(term.name):
            yield "number", term.start
    elif not _PLAIN_NAME.fullmatch(term.name):
        yield "name", term.start
    for arg in term.args if isinstance(term, Compound) else ():
        yield from _in_names(arg)

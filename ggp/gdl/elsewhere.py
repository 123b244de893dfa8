"""Where other engines read a rulesheet differently from GDL, or not at all.

`differences` takes a parsed rulesheet and yields the places that an engine misreads, with what it
does there and what to write instead. Each row of `ROWS` was observed by running the engine; the
rulesheets that show it are in tests/engines, and docs/reference/other-engines.md lists them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from ggp.gdl.formal import conditions
from ggp.gdl.program import GOAL, KEYWORD_ARITY, ROLE, SEES
from ggp.gdl.source import Rulesheet
from ggp.gdl.syntax.kif import kif_pieces
from ggp.gdl.syntax.reading import ARROWS
from ggp.gdl.terms import CONNECTIVES, Compound, Rule, Symbol, Term, Variable, signature, variables

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
        is_breach: whether the specification has no such construct.
    """

    writing: str
    instead: str
    engines: Mapping[str, str]
    is_breach: bool = False


_NO_OTHER = "refused by its validator, not built by its network"
_NO_SYNTAX = "not read"

ROWS: Mapping[str, Misreading] = {
    "and": Misreading(
        "`(and ...)`",
        "the conditions one after the other; in an `or`, a relation of their own",
        {GGP_BASE: "a relation `and` that never holds", PYGGP: _NO_SYNTAX},
        is_breach=True,
    ),
    "negated-or": Misreading(
        "`(not (or ...))`",
        "a negation of each disjunct",
        {GGP_BASE: "holds unless all disjuncts hold", PYGGP: _NO_SYNTAX},
        is_breach=True,
    ),
    "negated-and": Misreading(
        "`(not (and ...))`",
        "the negation of a relation of their own",
        {GGP_BASE: "always holds", PYGGP: _NO_SYNTAX},
        is_breach=True,
    ),
    "negated-not": Misreading(
        "`(not (not ...))`",
        "the condition itself",
        {GGP_BASE: _NO_OTHER, PYGGP: _NO_SYNTAX},
        is_breach=True,
    ),
    "negated-distinct": Misreading(
        "`(not (distinct ...))`",
        "the same variable twice",
        {GGP_BASE: "refused by its validator"},
        is_breach=True,
    ),
    "or": Misreading(
        "`(or ...)`", "a rule for each disjunct", {PYGGP: _NO_SYNTAX, CLINGO: _NO_SYNTAX}
    ),
    "single-or": Misreading(
        "`(or ...)` of one condition",
        "the condition alone",
        {GAMECONTROLLER: "never holds", GGP_BASE: "not built by its network"},
    ),
    "late-binding": Misreading(
        "`not` or `distinct` before what binds its variables",
        "it behind the conditions that bind them",
        {GAMECONTROLLER: "`distinct` never holds, `not` fails where any value matches"},
    ),
    "distinct-function": Misreading(
        "`distinct` of a term with arguments",
        "`distinct` of the arguments",
        {GAMECONTROLLER: "never holds", GGP_BASE: "not built by its network"},
    ),
    "parentheses": Misreading(
        "`(name)` for `name`",
        "it without parentheses",
        dict.fromkeys((GGP_BASE, GAMECONTROLLER), "another name: `(terminal)` never ends a match"),
    ),
    "letter-case": Misreading(
        "one name in two letter cases",
        "it in one way",
        {GGP_BASE: "two names"},
    ),
    "goal-number": Misreading(
        "a goal value that is not a whole number",
        "a whole number from 0 to 100",
        {
            GGP_BASE: "no goal value",
            GAMECONTROLLER: "an error",
            PYGGP: _NO_SYNTAX,
            CLINGO: _NO_SYNTAX,
        },
    ),
    "role-twice": Misreading("the same role twice", "it once", {GGP_BASE: "two players"}),
    "arities": Misreading(
        "one name with several numbers of arguments",
        "two names",
        {GGP_BASE: "its prover fails"},
    ),
    "block-comment": Misreading(
        "comments in `#| |#` or `/* */`",
        "comments behind `;`",
        {GGP_BASE: "rules", GAMECONTROLLER: "rules, if in `/* */`"},
    ),
    "arrow": Misreading(
        "`:-` in KIF",
        "`<=`",
        dict.fromkeys((GGP_BASE, GAMECONTROLLER), "the rule is lost: `:-` is a relation"),
    ),
    "sees": Misreading(
        "`sees`", "a game without hidden moves", {GGP_BASE: "everybody is told every move"}
    ),
    "number": Misreading(
        "numbers such as `01`, `+1`, `1.0` and from 2^31 on",
        "names, or smaller numbers",
        {CLINGO: "not read; large ones lose their high bits", PYGGP: _NO_SYNTAX},
    ),
    "name": Misreading(
        "names with other characters than letters, digits and `_`",
        "names of these",
        dict.fromkeys((CLINGO, PYGGP), "arithmetic, or not read"),
    ),
}
"""Name of a row, as in diagnostics -> the row."""

_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?")
_PLAIN_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,8})")
_PLAIN_NAME = re.compile(r"[a-z_][a-z0-9_]*")
_WHOLE = re.compile(r"[+-]?[0-9]+")


def differences(sheet: Rulesheet, engines: Collection[str]) -> Iterator[tuple[str, int, str]]:
    """Yield each place that some of the engines read differently: row, offset and message.

    Each row comes once, with its first place.
    """
    if not engines:
        return
    first: dict[str, int] = {}
    for name, offset in _places(sheet):
        first[name] = min(offset, first.get(name, offset))
    for name, offset in sorted(first.items(), key=lambda place: place[1]):
        row = ROWS[name]
        views = [f"{engine}: {row.engines[engine]}" for engine in engines if engine in row.engines]
        if views:
            yield name, offset, f"{row.writing}: {'; '.join(views)}; write {row.instead}"


def breaches(sheet: Rulesheet) -> Iterator[tuple[str, int, str]]:
    """Yield the constructs that the specification does not have, as `differences` does."""
    for name, offset in dict(reversed(list(_places(sheet)))).items():
        row = ROWS[name]
        if row.is_breach:
            yield name, offset, f"GDL has no {row.writing}; write {row.instead}"


def _places(sheet: Rulesheet) -> Iterator[tuple[str, int]]:
    """Yield all places where a row applies, with its name."""
    roles: set[Term] = set()
    arities: dict[tuple[bool, str], int] = {}
    for rule in sheet.rules:
        for term in rule.body:
            yield from _in_condition(term)
        yield from _late_bindings(rule)
        head = rule.head
        for term in (head, *conditions(rule)):
            yield from _in_names(term, arities)
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
    if sheet.syntax == "kif":
        yield from _in_text(sheet.source.text)


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


def _in_names(
    term: Term, arities: dict[tuple[bool, str], int], *, is_atom: bool = True
) -> Iterator[tuple[str, int]]:
    """Yield the places in a relation or term; `arities` has the numbers of arguments so far."""
    if isinstance(term, Variable):
        return
    args = term.args if isinstance(term, Compound) else ()
    if args and arities.setdefault((is_atom, term.name), len(args)) != len(args):
        yield "arities", term.start
    if _NUMBER.fullmatch(term.name):
        if not _PLAIN_NUMBER.fullmatch(term.name):
            yield "number", term.start
    elif not _PLAIN_NAME.fullmatch(term.name):
        yield "name", term.start
    for arg in args:
        yield from _in_names(arg, arities, is_atom=False)


def _in_text(text: str) -> Iterator[tuple[str, int]]:
    """Yield the places that only the text shows, since the parser repairs them."""
    pieces = []
    spellings: dict[str, str] = {}
    for start, piece, is_comment in kif_pieces(text):
        if not is_comment:
            pieces.append((start, piece))
            name = piece.lower()
            if spellings.setdefault(name, piece) != piece and name not in KEYWORD_ARITY:
                yield "letter-case", start
        elif piece[0] != ";":
            yield "block-comment", start
    for place, (start, piece) in enumerate(pieces[:-2]):
        name, last = pieces[place + 1][1], pieces[place + 2][1]
        if piece == "(" and name in ARROWS - {"<="}:
            yield "arrow", start
        if piece == "(" and last == ")" and name not in "()":
            yield "parentheses", start

"""Short rulesheets for tests of normalisation, and what became of them."""

from __future__ import annotations

from ggp.errors import GDLError, GDLValidationError
from ggp.gdl import parse
from ggp.gdl.normalize import normalize
from ggp.gdl.program import Program
from ggp.gdl.source import Diagnostic
from tests.support.plain.reference import Reference

FRAME = """
(role white) (role black)
(init start) (<= (next start) (true start))
(<= (legal ?r noop) (role ?r))
(<= terminal (true over))
(<= (goal ?r 50) (role ?r))
"""
"""A game without problems to add rules to; its roles are white and black."""


_NUMBERS = " ".join(f"(num {number})" for number in range(200))
MANY_MOVES = f"""
(role seeker) (role random) {_NUMBERS} (init (step 0)) (succ 0 1) (succ 1 2) (succ 2 3)
(<= (legal seeker (pick ?v ?w ?x ?y ?z)) (true (step ?s)) (not (true (last ?v)))
    (num ?v) (num ?w) (num ?x) (num ?y) (num ?z))
(<= (legal random (hide ?x)) (true (step 0)) (num ?x))
(<= (legal random noop) (not (true (step 0))))
(<= (next (last ?v)) (does seeker (pick ?v ?w ?x ?y ?z)))
(<= (next (hidden ?x)) (does random (hide ?x)))
(<= (next (hidden ?x)) (true (hidden ?x))) (<= (next (step ?y)) (true (step ?x)) (succ ?x ?y))
(<= (sees seeker (odd ?x)) (does random (hide ?x)) (num ?x))
(<= terminal (true (step 3))) (goal seeker 50)
"""
"""One role has 200^5 legal moves, and sees the other's move."""


def program(rules: str, *, strict: bool = False) -> Program:
    """The normalised rules of the frame and more rules."""
    return normalize(parse(FRAME + rules), strict=strict)


def added(rules: str) -> list[str]:
    """The normalised rules that `rules` add to the frame, as KIF."""
    frame = set(map(str, program("").rules))
    return [str(rule) for rule in program(rules).rules if str(rule) not in frame]


def problems(rules: str, *, strict: bool = False) -> list[tuple[str, str]]:
    """(severity, rule) of everything found in the frame and more rules, in text order."""
    return [(d.severity, d.rule) for d in diagnostics(rules, strict=strict)]


def diagnostics(rules: str, *, strict: bool = False) -> tuple[Diagnostic, ...]:
    """Everything found in the frame and more rules, in text order."""
    try:
        return program(rules, strict=strict).diagnostics
    except GDLError as error:
        return error.diagnostics


def refusals(text: str) -> list[tuple[str, str]]:
    """(rule, message) of the errors for which a whole rulesheet is refused."""
    try:
        normalize(parse(text))
    except GDLValidationError as error:
        return [(d.rule, d.message) for d in error.diagnostics if d.severity == "error"]
    return []


def legal_after(rules: str, role: str = "white") -> set[str]:
    """The legal moves of a role at the start, but for the frame's."""
    reference = Reference.of_program(program(rules))
    return set(reference.legal(reference.initial(), role)) - {"noop"}

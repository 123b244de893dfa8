"""Recognises games in which the percepts of every role contain the whole joint move.

`move_percept` gives machines the name of such percepts. A player of these games knows the
state.
"""

from __future__ import annotations

from ggp.gdl.program import SEES, NormalRule, Program
from ggp.gdl.terms import Compound, Variable

PLAIN = "did"
"""The name in percepts of plain GDL, which has no rules for percepts."""


def move_percept(program: Program) -> str | None:
    """The name in percepts `(NAME ROLE MOVE)` that show every role the whole joint move.

    Returns:
        `did` in plain GDL. In GDL-II, the name in a rule
        `(<= (sees ?p (NAME ?r ?m)) (role ?p) (does ?r ?m))`, which servers append to plain GDL,
        if no other rule makes percepts of that name. Otherwise None.
    """
    if not program.is_gdl2:
        return PLAIN
    rules = program.by_head.get(SEES, ())
    for rule in rules:
        name = _name_of(rule)
        if name is not None and not any(
            _may_make(name, other_rule) for other_rule in rules if other_rule is not rule
        ):
            return name
    return None


def never_tells(program: Program) -> bool:
    """Whether a program is GDL-II and makes no percepts `(did ROLE MOVE)`.

    If a server sends such percepts nevertheless, it treats the game as plain GDL.
    """
    rules = program.by_head.get(SEES, ())
    return program.is_gdl2 and not any(_may_make(PLAIN, rule) for rule in rules)


def _name_of(rule: NormalRule) -> str | None:
    """The name in the percepts of a rule that shows all moves to all roles; None for others."""
    assert isinstance(rule.head, Compound)
    seer, percept = rule.head.args
    if not isinstance(percept, Compound) or len(percept.args) != 2:
        return None
    role, move = percept.args
    if len({seer, role, move}) != 3 or not all(isinstance(a, Variable) for a in (seer, role, move)):
        return None
    required = {Compound("does", (role, move))}
    permitted = required | {Compound("role", (seer,)), Compound("role", (role,))}
    atoms = {literal.atom for literal in rule.body if not literal.negated}
    return percept.name if required <= atoms <= permitted and len(atoms) == len(rule.body) else None


def _may_make(name: str, rule: NormalRule) -> bool:
    """Whether a rule may make percepts of that name."""
    assert isinstance(rule.head, Compound)
    percept = rule.head.args[1]
    return isinstance(percept, Variable) or percept.name == name

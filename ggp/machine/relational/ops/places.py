"""Places where the values of a condition are found: among rows, or by a call."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from ggp.gdl.program import DOES, TRUE, Atom
from ggp.gdl.terms import Signature, Term, Variable, signature
from ggp.machine.relational.ops.rules import RelationRules, arguments


class RowKind(Enum):
    """The kind of a place's rows, or that it is called."""

    FACT = "fact"
    FLUENT = "fluent"
    MOVE = "move"
    CALL = "call"


class RelationPlace(NamedTuple):
    """A relation; for fluents and moves, also the function, None for those of any function."""

    kind: RowKind
    name: Signature | None


class Located(NamedTuple):
    """A condition as a place and the arguments there."""

    place: RelationPlace
    args: tuple[Term, ...]


def located(atom: Atom, rules: RelationRules) -> Located:
    """The place of an atom's values. For fluents the arguments are those of the fluent, for moves
    the role and the arguments of the move."""
    relation, args = signature(atom), arguments(atom)
    if relation in (TRUE, DOES):
        kind = RowKind.FLUENT if relation == TRUE else RowKind.MOVE
        before, term = args[:-1], args[-1]
        if isinstance(term, Variable):
            return Located(RelationPlace(kind, None), args)
        return Located(RelationPlace(kind, signature(term)), (*before, *arguments(term)))
    return Located(
        RelationPlace(RowKind.CALL if relation in rules.rules else RowKind.FACT, relation), args
    )

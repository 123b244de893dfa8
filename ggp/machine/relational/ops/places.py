"""Places where the values of a condition are found: among rows, or by a call."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from ggp.gdl.program import DOES, TRUE, Atom
from ggp.gdl.terms import Signature, Term, Variable, signature
from ggp.machine.relational.ops.rules import Rules, arguments


class Kind(Enum):
    """The kind of a place's rows, or that it is called."""

    FACT = "fact"
    FLUENT = "fluent"
    MOVE = "move"
    CALL = "call"


class Place(NamedTuple):
    """A relation; for fluents and moves, also the function, None for those of any function."""

    kind: Kind
    name: Signature | None


class Located(NamedTuple):
    """A condition as a place and the arguments there."""

    place: Place
    args: tuple[Term, ...]


def located(atom: Atom, rules: Rules) -> Located:
    """The place of an atom's values. For fluents the arguments are those of the fluent, for moves
    the role and the arguments of the move."""
    relation, args = signature(atom), arguments(atom)
    if relation in (TRUE, DOES):
        kind = Kind.FLUENT if relation == TRUE else Kind.MOVE
        before, term = args[:-1], args[-1]
        if isinstance(term, Variable):
            return Located(Place(kind, None), args)
        return Located(Place(kind, signature(term)), (*before, *arguments(term)))
    return Located(Place(Kind.CALL if relation in rules.rules else Kind.FACT, relation), args)

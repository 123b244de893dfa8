"""Where the values of a condition are found: among rows, or by a call."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from ggp.gdl.program import DOES, TRUE, Atom
from ggp.gdl.terms import Signature, Term, Variable, signature
from ggp.machine.relational.ops.rules import Rules, arguments


class Kind(Enum):
    """What the rows of a place are of, or that it is called."""

    FACT = "fact"
    FLUENT = "fluent"
    MOVE = "move"
    CALL = "call"


class Place(NamedTuple):
    """A relation; of fluents and moves those of one function, None for those of any."""

    kind: Kind
    name: Signature | None


class Located(NamedTuple):
    """A condition as a place and arguments there."""

    place: Place
    args: tuple[Term, ...]


def located(atom: Atom, rules: Rules) -> Located:
    """Where the values of an atom are; those of fluents are the arguments of the fluent, of moves
    the role and the arguments of the move."""
    relation, args = signature(atom), arguments(atom)
    if relation in (TRUE, DOES):
        kind = Kind.FLUENT if relation == TRUE else Kind.MOVE
        before, term = args[:-1], args[-1]
        if isinstance(term, Variable):
            return Located(Place(kind, None), args)
        return Located(Place(kind, signature(term)), (*before, *arguments(term)))
    return Located(Place(Kind.CALL if relation in rules.rules else Kind.FACT, relation), args)

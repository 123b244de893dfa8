"""Names for moves of `random` that are made part by part, because they are too many to list.

A circuit has an input for each move. Where chance deals three of 90 cards, in order, that would be
700,000. Instead `random` makes one *stand-in* move, `(deal ;1 ;2 ;3)`, and three roles of the
circuit's own, `random;1`, `random;2` and `random;3`, make a move for each of the *holes* in it: a
card. So the circuit is that of an ordinary game, whose roles each make one legal move; but only
some joint moves are valid: those that *fit*, which the first of these roles sees.

No name of a rulesheet contains a `;`.
"""

from __future__ import annotations

from typing import NamedTuple

from ggp.gdl.program import RANDOM
from ggp.machine.circuit import FALSE, TRUE, Circuit

NONE = ";none"
"""The value of a part where a move has no such part."""

FITS = ";fits"
"""The percept of the first part's role where the parts fit."""

FREE = ";free"
"""Its percept, always, if parts fit whenever those that are drawn apart are different."""


def part_role(number: int, apart: int = 0) -> str:
    """The role that makes a part.

    Args:
        number: number of the part, from 1.
        apart: from 1, the same for parts that take different values of one set; 0 for a part that
            does not.
    """
    return f"{RANDOM};{number};{apart}"


def hole(number: int) -> str:
    """The hole for part `number` in a stand-in move."""
    return f";{number}"


class Parts(NamedTuple):
    """The parts of a circuit: K roles after those of the game.

    Attributes:
        num_roles: number of roles of the game.
        apart: for each part, the set that it is drawn apart in, as in `part_role`.
        fits: literal that holds where a legal joint move fits.
        free: whether it holds wherever parts that are drawn apart are different.
    """

    num_roles: int
    apart: tuple[int, ...]
    fits: int
    free: bool


def parts_of(circuit: Circuit) -> Parts:
    """The parts of a circuit; in most games there are none, and everything fits."""
    apart = tuple(
        int(role.rpartition(";")[2]) for role in circuit.roles if role.startswith(f"{RANDOM};")
    )
    num_roles = len(circuit.roles) - len(apart)
    if not apart:
        return Parts(num_roles, (), TRUE, True)
    # Values are drawn apart by place, so these parts must have the same values.
    names = [outputs.names for outputs in circuit.legal[num_roles:]]
    alike = all(
        len({n for n, own in zip(names, apart, strict=True) if own == group}) == 1
        for group in set(apart)
        if group
    )
    if not alike:
        apart = (0,) * len(apart)
    sees = circuit.sees[num_roles]
    held = dict(zip(sees.names, sees.literals.tolist(), strict=True))
    return Parts(num_roles, apart, held.get(FITS, FALSE), alike and held.get(FREE, FALSE) == TRUE)


def roles_of(circuit: Circuit) -> tuple[str, ...]:
    """The roles of the game."""
    return circuit.roles[: parts_of(circuit).num_roles]

"""Which cells a move names.

The arguments of a move are read from left to right: what fits the coordinates of a board is a cell.
On boards with layers the move must say which one, or the rules must: if in a rule the mover is also
the owner of the board that the move's coordinates are on, the move is on the own board, else on the
other role's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ggp.gdl.program import Program
from ggp.gdl.terms import Compound, Term, Variable
from match_runner.pictures.grids import Grid, Place
from match_runner.pictures.shapes import Skeleton, flatten

Spot = tuple[tuple[str, ...], str, str]
"""Layer, column and row."""


@dataclass(frozen=True, slots=True)
class Moves:
    """How to read the moves of a game.

    Attributes:
        own: for moves on boards of the roles, by shape and grid, whether it is the mover's own.
    """

    roles: Sequence[str]
    grids: Sequence[Grid]
    own: Mapping[tuple[Skeleton, int], bool]

    def spots(self, move: Term, role: str) -> tuple[int, tuple[Spot, ...]]:
        """The grid that a move is on, and the places that it names there, in order."""
        skeleton, terms = flatten(move)
        leaves = [str(leaf) for leaf in terms]
        for number, grid in enumerate(self.grids):
            layer = self._layer(number, grid, skeleton, role)
            found = tuple(_spots(grid, leaves, layer))
            if found:
                return number, found
        return -1, ()

    def _layer(
        self, number: int, grid: Grid, skeleton: Skeleton, role: str
    ) -> tuple[str, ...] | None:
        """The layer that moves of a role are on; None if only the move can say it."""
        if grid.layers == ((),):
            return ()
        own = self.own.get((skeleton, number))
        others = [each for each in self.roles if each != role]
        if own is None or role not in self.roles:
            return None
        if own:
            return (role,)
        return (others[0],) if len(others) == 1 else None


def moves_of(
    program: Program, roles: Sequence[str], grids: Sequence[Grid], places: Mapping[Skeleton, Place]
) -> Moves:
    """How to read the moves of a game."""
    own: dict[tuple[Skeleton, int], bool] = {}
    layered = {skeleton: place for skeleton, place in places.items() if place.layers}
    for rule in program.rules if layered else ():
        atoms = [rule.head, *(literal.atom for literal in rule.body if literal.binds)]
        compounds = [atom for atom in atoms if isinstance(atom, Compound)]
        moved = [each.args for each in compounds if each.name in ("does", "legal")]
        fluents = [flatten(a.args[0]) for a in compounds if a.name in ("true", "next")]
        for mover, move in (args for args in moved if len(args) == 2):
            shape, arguments = flatten(move)
            for skeleton, leaves in fluents:
                place = layered.get(skeleton)
                if place is None or place.rows is None or not isinstance(mover, Variable):
                    continue
                at = {leaves[i] for i in (*place.columns.leaves, *place.rows.leaves)}
                if at <= set(arguments):
                    # A rule about the own board says more than one that also looks elsewhere.
                    is_own = leaves[place.layers[0]] == mover
                    own[shape, place.grid] = own.get((shape, place.grid), False) or is_own
    return Moves(roles, grids, own)


def _spots(grid: Grid, leaves: Sequence[str], layer: tuple[str, ...] | None) -> Iterator[Spot]:
    at = 0
    while at < len(leaves):
        spot, width = _spot(grid, leaves[at:], layer)
        if spot is None:
            at += 1
        else:
            yield spot
            at += width


def _spot(
    grid: Grid, names: Sequence[str], layer: tuple[str, ...] | None
) -> tuple[Spot | None, int]:
    """The place that a list of names begins with, in the order that fluents have."""
    head = grid.members[0]
    leaves = {leaf for axis in head.axes for leaf in axis.leaves}
    if layer is None:
        leaves.update(head.layers)
    order = sorted(leaves)
    if len(names) < len(order):
        return None, 0
    by_leaf = dict(zip(order, names, strict=False))
    column = head.columns.of(by_leaf)
    row = "" if head.rows is None else head.rows.of(by_leaf)
    where = layer if layer is not None else tuple(by_leaf[leaf] for leaf in head.layers)
    if column not in grid.columns or row not in grid.rows or where not in grid.layers:
        return None, 0
    assert column is not None
    assert row is not None
    return (where, column, row), len(order)

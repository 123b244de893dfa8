"""Reads which cells a move names.

The arguments of a move are read from left to right: what fits the coordinates of a board is a cell.
On boards with layers the move must say which one, or the rules must: if in a rule the mover also
owns the board that the move's coordinates are on, the move is on the mover's own board, else on the
other role's. If a move names only a column and something appears there, it is dropped in at the
top, so the move is on the highest cell.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ggp.gdl.program import NormalRule, Program
from ggp.gdl.terms import Compound, Symbol, Term
from match_runner.pictures.grids import Grid, Place
from match_runner.pictures.shapes import Skeleton, flatten

Spot = tuple[tuple[str, ...], str, str]
"""Layer, column and row of a cell."""


@dataclass(frozen=True, slots=True)
class Moves:
    """Reader of the moves of a game.

    Attributes:
        own_boards: whether a move is on the mover's own board, by its shape and the grid, where
            each role has a board.
        drops: grids into which moves of one argument drop something, by shape.
    """

    roles: Sequence[str]
    grids: Sequence[Grid]
    own_boards: Mapping[tuple[Skeleton, int], bool]
    drops: Mapping[Skeleton, int]

    def spots(self, move: Term, role: str) -> tuple[int, tuple[Spot, ...]]:
        """The grid that a move is on, and the cells that it names there, in order."""
        skeleton, terms = flatten(move)
        leaves = [str(leaf) for leaf in terms]
        if skeleton in self.drops:
            number = self.drops[skeleton]
            grid = self.grids[number]
            if leaves[0] in grid.columns:
                return number, (((), leaves[0], grid.rows[grid.core[2]]),)
        for number, grid in enumerate(self.grids):
            layer = self._layer(number, grid, skeleton, role)
            cells = tuple(_spots(grid, leaves, layer))
            if cells:
                return number, cells
        return -1, ()

    def parts(self, move: Term, role: str) -> tuple[Spot | Term, ...]:
        """The name of a move and its arguments in order, with cells in the place of coordinates."""
        skeleton, terms = flatten(move)
        names = tuple(Symbol(head[0]) for head in skeleton[:1] if head is not None)
        number, _ = self.spots(move, role)
        if number < 0:
            return (*names, *terms)
        grid = self.grids[number]
        if skeleton in self.drops:
            return (*names, ((), str(terms[0]), ""), *terms[1:])
        leaves = [str(leaf) for leaf in terms]
        layer = self._layer(number, grid, skeleton, role)
        read = _read(grid, leaves, layer)
        return (*names, *(terms[at] if spot is None else spot for at, spot in read))

    def drops_in(self, move: Term) -> bool:
        """Whether a move names a column, into which something is dropped."""
        return flatten(move)[0] in self.drops

    def _layer(
        self, number: int, grid: Grid, skeleton: Skeleton, role: str
    ) -> tuple[str, ...] | None:
        """Layer that moves of a role are on; None if only the move can say it."""
        if grid.layers == ((),):
            return ()
        is_own = self.own_boards.get((skeleton, number))
        opponents = [other_role for other_role in self.roles if other_role != role]
        if is_own is None or (role,) not in grid.layers:
            return None
        if is_own:
            return (role,)
        return (opponents[0],) if len(opponents) == 1 else None


def moves_of(
    program: Program, roles: Sequence[str], grids: Sequence[Grid], places: Mapping[Skeleton, Place]
) -> Moves:
    """Find out from the rules how to read the moves of a game."""
    own_boards: dict[tuple[Skeleton, int], bool] = {}
    drops: dict[Skeleton, int] = {}
    squares = {skeleton: place for skeleton, place in places.items() if place.rows is not None}
    for rule in program.rules if squares else ():
        next_fluents = _leaves(rule.head, "next")
        conditions = [fluent for x in rule.body if x.binds for fluent in _leaves(x.atom, "true")]
        for mover, shape, arguments in _moved(rule):
            for skeleton, leaves in (*next_fluents, *conditions):
                place = squares.get(skeleton)
                if place is None or not place.layers:
                    continue
                if _coordinates(place, leaves) <= {*arguments}:
                    # A rule about the mover's board says more than one that looks elsewhere too.
                    is_own = leaves[place.layers[0]] == mover
                    own_boards[shape, place.grid] = (
                        own_boards.get((shape, place.grid), False) or is_own
                    )
            for skeleton, leaves in next_fluents:
                place = squares.get(skeleton)
                if place is None or place.layers or place.columns.part >= 0 or len(arguments) != 1:
                    continue
                column = [leaves[i] for i in place.columns.leaves]
                if column == [*arguments] and len(_coordinates(place, leaves)) > 1:
                    drops[shape] = place.grid
    return Moves(roles, grids, own_boards, drops)


def _moved(rule: NormalRule) -> Iterator[tuple[Term, Skeleton, tuple[Term, ...]]]:
    """Yield who moves in a rule, with the shape and leaves of the move."""
    for atom in (rule.head, *(literal.atom for literal in rule.body if literal.binds)):
        if isinstance(atom, Compound) and atom.name in ("does", "legal"):
            yield atom.args[0], *flatten(atom.args[1])


def _leaves(atom: Term, relation: str) -> list[tuple[Skeleton, tuple[Term, ...]]]:
    """Shape and leaves of the fluent in `next` or `true`; none for other atoms."""
    if isinstance(atom, Compound) and atom.name == relation:
        return [flatten(atom.args[0])]
    return []


def _coordinates(place: Place, leaves: Sequence[Term]) -> set[Term]:
    rows = () if place.rows is None else place.rows.leaves
    return {leaves[i] for i in (*place.columns.leaves, *rows)}


def _spots(grid: Grid, leaves: Sequence[str], layer: tuple[str, ...] | None) -> Iterator[Spot]:
    yield from (spot for _, spot in _read(grid, leaves, layer) if spot is not None)


def _read(
    grid: Grid, leaves: Sequence[str], layer: tuple[str, ...] | None
) -> Iterator[tuple[int, Spot | None]]:
    """Yield where something begins among the leaves of a move, with the cell if it is one."""
    at = 0
    while at < len(leaves):
        spot, width = _spot(grid, leaves[at:], layer)
        yield at, spot
        at += width if spot is not None else 1


def _spot(
    grid: Grid, names: Sequence[str], layer: tuple[str, ...] | None
) -> tuple[Spot | None, int]:
    """The cell that a list of names begins with, in the order that fluents have."""
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
    board_layer = layer if layer is not None else tuple(by_leaf[leaf] for leaf in head.layers)
    if column not in grid.columns or row not in grid.rows or board_layer not in grid.layers:
        return None, 0
    assert column is not None
    assert row is not None
    return (board_layer, column, row), len(order)

"""Puts moves, percepts and fluents into words for people, and reads which cells a move names.

The first saying of the game's side file that matches a term gives its words (`side_file`). Without
one, the words follow the arguments: arguments that name a cell become one word, so `(move a 2 a 3)`
is a2-a3, and names lose their underscores. The words of a move or percept depend only on the term
and the role, so they reveal nothing more than the term does.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ggp.gdl.analysis.told_moves import PLAIN
from ggp.gdl.program import RANDOM, NormalRule, Program
from ggp.gdl.terms import Compound, Symbol, Term
from match_runner.pictures.grids import Grid, Place, Spot
from match_runner.pictures.shapes import Skeleton, flatten
from match_runner.pictures.side_file import NOTHING, WHOSE, Sayings, plain

WAITING = frozenset({"noop", "no_op", "wait"})
"""Moves of roles that have nothing to do."""

CONTROL = "control"
"""The fluent that says whose turn it is, in most rulesheets."""

LONGEST, MAX_LETTERS = 120, 200
"""Most characters of a text, and of a text in words; the rest is cut off."""

_TO = " to "


class GameWords:
    """Words of one game.

    Args:
        moves: reads which cells a move names.
        said: sayings of its side file for `moves`, `percepts` and `fluents`.
    """

    def __init__(self, moves: Moves, sayings: Mapping[str, Sayings]) -> None:
        self._moves, self._sayings = moves, sayings

    def move(self, move: Term, role: str) -> str:
        """A move of a role."""
        saying = self._find("moves", flatten(move))
        if saying:
            return saying
        if str(move) in WAITING:
            return "wait"
        parts = self._moves.parts(move, role)
        cells = [_cell(argument) if isinstance(argument, tuple) else None for argument in parts]
        words = ""
        for index, (part, cell) in enumerate(zip(parts, cells, strict=True)):
            text = plain(str(part)) if cell is None else cell
            if not index:
                words = text
            elif cell and cells[index - 1]:
                words += ("-" if cell[0].isalpha() else _TO) + text
            else:
                words += f" {text}"
        if len(parts) == 3 and str(parts[0]) == "move" and cells[1] and cells[2]:
            words = words.removeprefix("move ")
        return short(words, MAX_LETTERS)

    def percept(self, percept: Term, whose: str = "the") -> str:
        """A percept of a role; empty for one that the board shows.

        Args:
            whose: what `?whose` stands for in a saying: whose move led to the percept.
        """
        if isinstance(percept, Compound) and percept.name == PLAIN and len(percept.args) == 2:
            role = str(percept.args[0])
            return short(f"{plain(role)}: {self.move(percept.args[1], role)}", MAX_LETTERS)
        text = self._find("percepts", flatten(percept), {WHOSE: whose})
        return in_order(percept) if text is None else text

    def fluent(self, fluent: Term) -> str | None:
        """A fluent that holds; empty for bookkeeping, None if the game has no words for it."""
        text = self._find("fluents", flatten(fluent))
        if text is not None:
            return text
        if isinstance(fluent, Compound) and fluent.name == CONTROL and len(fluent.args) == 1:
            mover = str(fluent.args[0])
            return short(f"{'chance' if mover == RANDOM else plain(mover)} to move", MAX_LETTERS)
        return None

    def around(self, fluent: Term, gaps: Collection[int], gap: str = " ") -> str | None:
        """The words for a fluent without some of its leaves; None if there are none.

        Args:
            gap: what stands in their place.
        """
        skeleton, leaves = flatten(fluent)
        shown = [Symbol(gap) if i in gaps else leaf for i, leaf in enumerate(leaves)]
        return self._find("fluents", (skeleton, shown))

    def _find(
        self,
        kind: str,
        flat: tuple[Skeleton, Sequence[Term]],
        given: Mapping[str, str] = NOTHING,
    ) -> str | None:
        """The first saying of a kind that matches a term, given flat."""
        for saying in self._sayings.get(kind, ()):
            text = saying.of(*flat, given)
            if text is not None:
                return short(text, MAX_LETTERS)
        return None


def in_order(term: Term) -> str:
    """The names in a term, one after the other: `(dealt (card king))` is dealt card king."""
    names: list[str] = []
    pending = [term]
    while pending and len(names) < MAX_LETTERS:
        item = pending.pop()
        if isinstance(item, Compound):
            names.append(plain(item.name))
            pending += reversed(item.args)
        else:
            names.append(plain(str(item)))
    return short(" ".join(names), MAX_LETTERS)


def _cell(spot: Spot) -> str:
    """Name of a cell: `a2`, `3,1`, or its column if there are no rows."""
    _, column, row = spot
    if not row:
        return plain(column)
    joined = column[-1:].isalpha() and row.isdecimal()
    return f"{column}{row}" if joined else f"{plain(column)},{plain(row)}"


def short(text: str, longest: int = LONGEST) -> str:
    """A text, cut off if it is too long."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


# ------------------------------------------------------------------------
# Reads which cells a move names.
#
# Rules and grids come in; `Moves` goes out, which maps a move to cells, for marks and for clicks.
# It reads the arguments of a move from left to right: arguments that fit the coordinates of a board
# are a cell. On boards with layers, the move must name the layer, or the rules must: if a rule has
# the move's coordinates on a board that the mover owns, the move is on the mover's own board,
# otherwise on the other role's. If a move names only a column and an item appears there, it is
# dropped in at the top, so the move is on the highest cell.


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
        """Index of the grid that a move is on, and the cells that it names there, in order."""
        skeleton, terms = flatten(move)
        leaves = [str(leaf) for leaf in terms]
        if skeleton in self.drops:
            index = self.drops[skeleton]
            grid = self.grids[index]
            if leaves[0] in grid.columns:
                return index, (((), leaves[0], grid.rows[grid.core[2]]),)
        for index, grid in enumerate(self.grids):
            layer = self._layer(index, grid, skeleton, role)
            cells = tuple(spot for _, spot in _read(grid, leaves, layer) if spot is not None)
            if cells:
                return index, cells
        return -1, ()

    def parts(self, move: Term, role: str) -> tuple[Spot | Term, ...]:
        """The name of a move and its arguments in order, with cells in place of coordinates."""
        skeleton, terms = flatten(move)
        names = tuple(Symbol(head[0]) for head in skeleton[:1] if head is not None)
        index, _ = self.spots(move, role)
        if index < 0:
            return (*names, *terms)
        grid = self.grids[index]
        if skeleton in self.drops:
            return (*names, ((), str(terms[0]), ""), *terms[1:])
        leaves = [str(leaf) for leaf in terms]
        layer = self._layer(index, grid, skeleton, role)
        read = _read(grid, leaves, layer)
        return (*names, *(terms[at] if spot is None else spot for at, spot in read))

    def drops_in(self, move: Term) -> bool:
        """Whether a move drops a piece into a column."""
        return flatten(move)[0] in self.drops

    def _layer(
        self, index: int, grid: Grid, skeleton: Skeleton, role: str
    ) -> tuple[str, ...] | None:
        """Layer of a role's moves; None if only the move can name it."""
        if grid.layers == ((),):
            return ()
        is_own = self.own_boards.get((skeleton, index))
        opponents = [other_role for other_role in self.roles if other_role != role]
        if is_own is None or (role,) not in grid.layers:
            return None
        if is_own:
            return (role,)
        return (opponents[0],) if len(opponents) == 1 else None


def moves_of(
    program: Program, roles: Sequence[str], grids: Sequence[Grid], places: Mapping[Skeleton, Place]
) -> Moves:
    """The reader of a game's moves, learnt from its rules."""
    owned: dict[tuple[Skeleton, int], bool] = {}
    drops: dict[Skeleton, int] = {}
    squares = {
        skeleton: place for skeleton, place in places.items() if place.member.rows is not None
    }
    for rule in program.rules if squares else ():
        next_fluents = _leaves(rule.head, "next")
        conditions = [fluent for x in rule.body if x.binds for fluent in _leaves(x.atom, "true")]
        for mover, shape, arguments in _moved(rule):
            for skeleton, leaves in (*next_fluents, *conditions):
                place = squares.get(skeleton)
                if place is None or not place.member.layers:
                    continue
                if _coordinates(place, leaves) <= {*arguments}:
                    # One rule about the mover's own board outweighs rules that read other boards.
                    is_own = leaves[place.member.layers[0]] == mover
                    owned[shape, place.grid] = owned.get((shape, place.grid), False) or is_own
            for skeleton, leaves in next_fluents:
                place = squares.get(skeleton)
                if (
                    place is None
                    or place.member.layers
                    or place.member.columns.part >= 0
                    or len(arguments) != 1
                ):
                    continue
                column = [leaves[i] for i in place.member.columns.leaves]
                if column == [*arguments] and len(_coordinates(place, leaves)) > 1:
                    drops[shape] = place.grid
    return Moves(roles, grids, owned, drops)


def _moved(rule: NormalRule) -> Iterator[tuple[Term, Skeleton, tuple[Term, ...]]]:
    """Yield the role, the shape and the leaves of each move in a rule."""
    for atom in (rule.head, *(literal.atom for literal in rule.body if literal.binds)):
        if isinstance(atom, Compound) and atom.name in ("does", "legal"):
            yield atom.args[0], *flatten(atom.args[1])


def _leaves(atom: Term, relation: str) -> list[tuple[Skeleton, tuple[Term, ...]]]:
    """Shape and leaves of the fluent in `next` or `true`; none for other atoms."""
    if isinstance(atom, Compound) and atom.name == relation:
        return [flatten(atom.args[0])]
    return []


def _coordinates(place: Place, leaves: Sequence[Term]) -> set[Term]:
    return {leaves[i] for axis in place.member.axes for i in axis.leaves}


def _read(
    grid: Grid, leaves: Sequence[str], layer: tuple[str, ...] | None
) -> Iterator[tuple[int, Spot | None]]:
    """Yield the index of each cell or other leaf of a move, with the cell or None."""
    at = 0
    while at < len(leaves):
        spot, width = _spot(grid, leaves[at:], layer)
        yield at, spot
        at += width if spot is not None else 1


def _spot(
    grid: Grid, names: Sequence[str], layer: tuple[str, ...] | None
) -> tuple[Spot | None, int]:
    """The cell at the beginning of a list of names, in the order of fluents, and its width."""
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
    return grid.spot(board_layer, column, row), len(order)

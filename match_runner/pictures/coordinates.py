"""Recognises sets of constants that are coordinates, and puts them in order.

Shapes of fluents come in; a `Candidate` for a board goes out, which `grids` places. Coordinates are
whole numbers without gaps, single letters without gaps, numbers with a common prefix (`c1`, `c2`),
names of squares (`a1`, `h10`), and constants that a successor relation of the rules puts into a
chain. A few other words may stand beside many coordinates (`pit1`...`pit12` and `home`); they come
last.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations

from ggp.gdl.program import Program
from match_runner.pictures.shapes import FluentShape, flatten
from match_runner.pictures.symbols import Symbols

MAX_COORDINATES = 64
"""Most values of one axis; longer sequences are counters."""

_WHOLE = re.compile(r"-?\d{1,6}")
_PREFIXED = re.compile(r"([^\d\s]+?)[_-]?(\d{1,4})")
_SQUARE = re.compile(r"([a-z])[_-]?(\d{1,2})")
_ODD = 2


class CoordinateKind(StrEnum):
    """Kinds of coordinates."""

    NUMBERS = "numbers"
    LETTERS = "letters"
    PREFIXED = "prefixed"
    CHAIN = "chain"


@dataclass(frozen=True, slots=True)
class Order:
    """Coordinates in order.

    Attributes:
        prefix: prefix of `PREFIXED` coordinates.
    """

    values: tuple[str, ...]
    kind: CoordinateKind
    prefix: str = ""


def order_of(
    values: Iterable[str], chains: Sequence[Mapping[str, str]], *, gaps: bool = False
) -> Order | None:
    """Put values in order; None if they are not coordinates.

    Args:
        chains: successor relations of the rules: value -> next value.
        gaps: whether values may be missing in between.
    """
    distinct = set(values)
    if not 2 <= len(distinct) <= MAX_COORDINATES:
        return None
    names = sorted(distinct)
    if all(_WHOLE.fullmatch(name) for name in names):
        numbers = sorted(names, key=int)
        if gaps or int(numbers[-1]) - int(numbers[0]) == len(numbers) - 1:
            return Order(tuple(numbers), CoordinateKind.NUMBERS)
        return _by_chain(names, chains)
    if all(len(name) == 1 and name.isalpha() for name in names):
        if gaps or ord(names[-1]) - ord(names[0]) == len(names) - 1:
            return Order(tuple(names), CoordinateKind.LETTERS)
        return _by_chain(names, chains)
    return _by_prefix(names) or _by_chain(names, chains)


def square_of(name: str) -> tuple[str, str] | None:
    """Letter and number of the name of a square such as `a1`."""
    match = _SQUARE.fullmatch(name)
    return (match[1], match[2]) if match else None


def are_squares(names: Iterable[str]) -> bool:
    """Whether constants name the squares of a grid with several columns and rows."""
    squares = [square_of(name) for name in names]
    parts = [square for square in squares if square is not None]
    if not squares or len(parts) < len(squares):
        return False
    return all(len({part[i] for part in parts}) > 1 for i in (0, 1))


def natural(name: str) -> tuple[str, int, str]:
    """Sort key that orders numbers by size, with or without a prefix."""
    match = re.fullmatch(r"(.*?)(\d{1,9})", name[:40])
    return (match[1], int(match[2]), name) if match else (name, -1, name)


def _by_prefix(names: Sequence[str]) -> Order | None:
    matches = [(_PREFIXED.fullmatch(name), name) for name in names if len(name) <= 40]
    groups: dict[str, list[tuple[int, str]]] = {}
    for match, name in matches:
        if match:
            groups.setdefault(match[1], []).append((int(match[2]), name))
    if not groups:
        return None
    prefix, members = max(groups.items(), key=lambda group: len(group[1]))
    members.sort()
    odd = [name for name in names if name not in {member for _, member in members}]
    if len(odd) > _ODD or (odd and len(members) < 4 * len(odd)) or len(members) < 2:
        return None
    if members[-1][0] - members[0][0] != len(members) - 1:
        return None
    return Order((*(name for _, name in members), *odd), CoordinateKind.PREFIXED, prefix)


def _by_chain(names: Sequence[str], chains: Sequence[Mapping[str, str]]) -> Order | None:
    coordinates = set(names)
    for chain in chains:
        following = {a: b for a, b in chain.items() if a in coordinates and b in coordinates}
        firsts = coordinates - set(following.values())
        if len(firsts) != 1 or len(following) != len(coordinates) - 1:
            continue
        line = [firsts.pop()]
        while line[-1] in following and len(line) <= len(coordinates):
            line.append(following[line[-1]])
        if len(line) == len(coordinates):
            return Order(tuple(line), CoordinateKind.CHAIN)
    return None


# ------------------------------------------------------------------------
# Candidates: shapes that may be on a board, found by `CoordinateFinder` or given in a side file.


@dataclass(frozen=True, slots=True)
class Axis:
    """The position of a coordinate in a fluent: one leaf, or several that make one coordinate.

    Attributes:
        leaves: indices of its leaves.
        part: -1 if the coordinate is the whole leaf, 0 or 1 if it is the letter or the number of a
            square.
    """

    leaves: tuple[int, ...]
    part: int = -1

    def of(self, leaves: Sequence[str] | Mapping[int, str]) -> str | None:
        """The coordinate that a fluent's leaves name."""
        if self.part < 0:
            return " ".join(leaves[i] for i in self.leaves)
        square = square_of(leaves[self.leaves[0]])
        return None if square is None else square[self.part]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A shape that may be in a grid, and the meaning of its leaves.

    Attributes:
        orders: orders of the columns and the rows.
        content: leaves that are the content of a cell.
        layers: leaves with a further coordinate.
        side: a leaf that names a role, which may own this board.
        downwards: whether the first row is at the top.
        complete: whether the initial fluents fill the grid.
        keys: column and row of the initial fluents, or of all fluents if `holes`.
        holes: whether `keys` are the only cells.
    """

    shape: FluentShape
    columns: Axis
    rows: Axis | None
    orders: tuple[Order, Order | None]
    content: tuple[int, ...]
    layers: tuple[int, ...] = ()
    side: int | None = None
    downwards: bool = False
    complete: bool = False
    keys: frozenset[tuple[str, str]] = frozenset()
    holes: bool = False

    @property
    def axes(self) -> tuple[Axis, ...]:
        """Columns, and rows if there are several."""
        return (self.columns,) if self.rows is None else (self.columns, self.rows)


# ------------------------------------------------------------------------
# Finds the leaves of fluents that are coordinates, and their kinds.
#
# A fluent with two coordinates among its leaves may be in a grid; a fluent with one, in a row.
# Among the other leaves, a further coordinate is a layer, and so is a role whose fluents no rule
# compares with another role's at the same place (each side's fleet); the rest is the content of a
# cell.
#
# The first coordinate goes across and the second one up, as in chess: the first row is at the
# bottom. If only the second coordinates are letters, they go across. If the rules call one `row`
# and the other `column` (variables or prefixes of constants), or if rows are letters, the first row
# is at the top.

FEW = 20
"""Most coordinates of an ordinary board; larger sets may be counters too."""

MAX_IN_ROW = 52

_ROW_NAMES = frozenset({"row", "r", "row1", "r1"})
_COLUMN_NAMES = frozenset({"col", "column", "c", "col1", "c1"})


class CoordinateFinder:
    """Finds coordinates among the leaves of shapes."""

    def __init__(
        self, program: Program, roles: Sequence[str], chains: Sequence[Mapping[str, str]]
    ) -> None:
        self._program, self._roles, self._chains = program, roles, chains

    def square(self, shape: FluentShape) -> Candidate | None:
        """A shape as a candidate for a grid of several columns and rows; None if it is not one."""
        single = self._by_names_of_squares(shape)
        if single is not None:
            return single
        orders = self._orders(shape)
        if any(_is_mixed(leaf.values) for i, leaf in enumerate(shape.leaves) if i not in orders):
            return None
        plain = [i for i in range(len(shape.leaves)) if i not in orders]
        if len(orders) < 2 or (len(orders) > 3 and not plain and not shape.initial):
            return None
        if self._is_amount(shape, orders):
            return None
        merged = self._of_four(shape, orders, plain)
        if merged is not None:
            return merged
        pairs = [p for p in combinations(orders, 2) if self._fits(shape, orders, *p)]
        if not pairs:
            return None
        first, second = max(pairs, key=lambda pair: self._score(shape, orders, *pair))
        free = [i for i in range(len(shape.leaves)) if i not in (first, second)]
        coordinates = [i for i in free if i in orders]
        layers = tuple(coordinates if len(coordinates) < len(free) else coordinates[:-1])[:1]
        side = self._side(shape, first, second, free) if not layers else None
        content = tuple(i for i in free if i not in layers)
        return self._make(shape, (first,), (second,), orders, content, layers, side)

    def line(self, shape: FluentShape, *, without_grids: bool) -> Candidate | None:
        """A shape as a candidate for a board of one row.

        Args:
            without_grids: whether the game has no grids.
        """
        orders = self._orders(shape)
        num = len(shape.leaves)
        leaf = next(iter(orders), None)
        if leaf is None or shape.counter:
            return None
        keys = [row[leaf] for row in shape.initial]
        full = len(set(keys)) == len(keys) >= max(2, len(orders[leaf].values) // 2)
        content = tuple(i for i in range(num) if i != leaf)
        side = 0 if leaf == 1 and self._is_role(shape.leaves[0].values) else None
        if side is not None:
            content = content[1:]
        if not full:
            is_row = leaf == 0 or (side is not None and bool(content))
            is_row = is_row and without_grids and len(orders) == 1
            if not is_row or len(orders[leaf].values) > MAX_IN_ROW:
                return None
        elif side is not None and not content:
            return None
        layers = () if side is None else (side,)
        return Candidate(
            shape,
            Axis((leaf,)),
            None,
            (orders[leaf], None),
            content,
            layers,
            complete=full,
            keys=frozenset((key, "") for key in keys),
        )

    def _orders(self, shape: FluentShape) -> dict[int, Order]:
        """The leaves that are coordinates, with their orders."""
        orders = {}
        for i, leaf in enumerate(shape.leaves):
            values = _of_one_kind(leaf.values, [row[i] for row in shape.initial])
            if not self._is_role(leaf.values):
                order = order_of(values, self._chains)
                if order is not None:
                    orders[i] = order
        return orders

    def _is_role(self, values: Iterable[str]) -> bool:
        return set(values) <= {*self._program.roles}

    def _by_names_of_squares(self, shape: FluentShape) -> Candidate | None:
        for i, leaf in enumerate(shape.leaves):
            if not are_squares(leaf.values):
                continue
            parts = [square for square in map(square_of, leaf.values) if square is not None]
            letters = order_of({p[0] for p in parts}, self._chains, gaps=True)
            numbers = order_of({p[1] for p in parts}, self._chains, gaps=True)
            if letters is None or numbers is None:
                continue
            content = tuple(j for j in range(len(shape.leaves)) if j != i)
            keys = [square_of(row[i]) for row in shape.initial]
            initial = frozenset(key for key in keys if key is not None)
            return Candidate(
                shape,
                Axis((i,), 0),
                Axis((i,), 1),
                (letters, numbers),
                content,
                complete=bool(content) and len(initial) >= len(parts) > 0,
                keys=frozenset(parts),
                holes=True,
            )
        return None

    def _is_amount(self, shape: FluentShape, orders: Mapping[int, Order]) -> bool:
        """Whether the second of two leaves is an amount at the first: `(heap a 12)`."""
        if len(shape.leaves) != 2 or len(shape.initial) < 2:
            return False
        keys = [row[0] for row in shape.initial]
        return len(set(keys)) == len(keys) >= len(orders[0].values) / 2

    def _of_four(
        self, shape: FluentShape, orders: Mapping[int, Order], plain: Sequence[int]
    ) -> Candidate | None:
        """Boards of boards: four coordinates of one kind, and contents of the cells."""
        if len(orders) != 4 or not plain or len({o.values for o in orders.values()}) > 1:
            return None
        a, b, c, d = orders
        return self._make(shape, (a, c), (b, d), orders, tuple(plain), (), None)

    def _fits(
        self, shape: FluentShape, orders: Mapping[int, Order], first: int, second: int
    ) -> bool:
        """Whether two leaves may be the coordinates of a grid."""
        a, b = orders[first], orders[second]
        if len(shape.leaves) > 2 and shape.initial:
            return True
        if a.kind == b.kind == CoordinateKind.LETTERS and not self._chained(a):
            return False
        kinds = {a.kind, b.kind}
        if kinds == {CoordinateKind.LETTERS, CoordinateKind.NUMBERS} or a.values == b.values:
            return True
        return max(len(a.values), len(b.values)) <= FEW

    def _chained(self, order: Order) -> bool:
        return any(
            2 * len(set(order.values) & {*chain}) >= len(order.values) for chain in self._chains
        )

    def _score(
        self, shape: FluentShape, orders: Mapping[int, Order], first: int, second: int
    ) -> tuple[int, float, int]:
        a, b = orders[first], orders[second]
        points = 4 * (a.kind != b.kind and CoordinateKind.LETTERS in (a.kind, b.kind))
        points += 3 * (a.values == b.values) + 2 * (second == first + 1)
        sizes = sorted((len(a.values), len(b.values)))
        return points, sizes[0] / sizes[1], -first

    def _side(self, shape: FluentShape, first: int, second: int, rest: Sequence[int]) -> int | None:
        """The leaf before the coordinates that names the owner of the board; None without one."""
        if len(rest) != 1 or rest[0] > min(first, second):
            return None
        named = self._is_role(shape.leaves[rest[0]].values)
        return rest[0] if named and not self._meet(shape, rest[0]) else None

    def _meet(self, shape: FluentShape, side: int) -> bool:
        """Whether a rule has fluents of two roles in one cell."""
        for rule in self._program.rules:
            owners: dict[tuple[object, ...], object] = {}
            for atom in (literal.atom for literal in rule.body):
                if getattr(atom, "name", "") != "true" or not hasattr(atom, "args"):
                    continue
                skeleton, leaves = flatten(atom.args[0])
                if skeleton != shape.skeleton:
                    continue
                cell = tuple(leaf for i, leaf in enumerate(leaves) if i != side)
                if owners.setdefault(cell, leaves[side]) != leaves[side]:
                    return True
        return False

    def _make(
        self,
        shape: FluentShape,
        first: tuple[int, ...],
        second: tuple[int, ...],
        orders: Mapping[int, Order],
        content: tuple[int, ...],
        layers: tuple[int, ...],
        side: int | None,
    ) -> Candidate:
        across, up = Axis(first), Axis(second)
        a, b = _product([orders[i] for i in first]), _product([orders[i] for i in second])
        direction = _direction(shape, first, second, orders)
        swapped = direction == "rows first" or (
            direction == ""
            and b.kind == CoordinateKind.LETTERS
            and a.kind != CoordinateKind.LETTERS
        )
        if swapped:
            across, up, a, b = up, across, b, a
        downwards = direction != "" or b.kind == CoordinateKind.LETTERS or len(first) > 1
        keys = [(across.of(row), up.of(row)) for row in shape.initial]
        initial = frozenset((x, y) for x, y in keys if x in a.values and y in b.values)
        symbols = Symbols(self._roles, [shape.leaves[i].values for i in content])
        marked = len(content) == 1 and any(
            symbols.is_empty([value]) for value in shape.leaves[content[0]].values
        )
        full = 10 * len(initial) >= 9 * len(a.values) * len(b.values)
        return Candidate(
            shape,
            across,
            up,
            (a, b),
            content,
            layers,
            side,
            downwards,
            complete=full or (marked and len(initial) > 3),
            keys=initial,
        )


def _product(orders: Sequence[Order]) -> Order:
    if len(orders) == 1:
        return orders[0]
    values = [f"{x} {y}" for x in orders[0].values for y in orders[1].values]
    return Order(tuple(values), orders[0].kind)


def _is_mixed(values: Sequence[str]) -> bool:
    """Whether letters and numbers are mixed: coordinates of an unknown kind."""
    letters = sum(len(value) == 1 and value.isalpha() for value in values)
    numbers = sum(value.isdigit() for value in values)
    return letters > 1 and numbers > 1 and letters + numbers == len(values)


def _of_one_kind(values: Sequence[str], initial: Iterable[str]) -> Sequence[str]:
    """Only the letters or only the numbers of a mixture, if all initial values are of that kind."""
    if not _is_mixed(values):
        return values
    letters = [value for value in values if not value.isdigit()]
    numbers = [value for value in values if value.isdigit()]
    seen = set(initial)
    if seen and seen <= {*letters}:
        return letters
    return numbers if seen and seen <= {*numbers} else values


def _direction(
    shape: FluentShape, first: tuple[int, ...], second: tuple[int, ...], orders: Mapping[int, Order]
) -> str:
    """`rows first`, `columns first`, or nothing if no name says so."""
    if len(first) > 1:
        return "rows first"

    def says(leaf: int, names: frozenset[str]) -> bool:
        return shape.leaves[leaf].name in names or orders[leaf].prefix in names

    i, j = first[0], second[0]
    if CoordinateKind.LETTERS in (orders[i].kind, orders[j].kind):
        return ""
    if says(i, _ROW_NAMES) and says(j, _COLUMN_NAMES):
        return "rows first"
    if says(i, _COLUMN_NAMES) and says(j, _ROW_NAMES):
        return "columns first"
    return ""

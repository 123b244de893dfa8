"""Finds the leaves of fluents that are coordinates, and their kinds.

A fluent with two coordinates among its leaves may be in a grid, one with a single coordinate in a
row. Of the other leaves, a further coordinate is a layer, and so is a role whose boards never meet
(each side's fleet); the rest is what a cell holds.

The first coordinate goes across and the second one up, as in chess: the first row is at the bottom.
If only the second coordinates are letters, these go across. If the rules call one `row` and the
other one `column` (variables or prefixes of constants), the first row is at the top, as it is if
rows are letters.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

from ggp.gdl.program import Program
from match_runner.pictures.candidates import Axis, Candidate
from match_runner.pictures.orders import CoordinateKind, Order, are_squares, order_of, square_of
from match_runner.pictures.shapes import FluentShape, flatten
from match_runner.pictures.symbols import Symbols

FEW = 20
"""Most coordinates of an ordinary board; larger sets may be numbers that also count something."""

MOST_IN_ROW = 52

_ROW_NAMES = frozenset({"row", "r", "row1", "r1"})
_COLUMN_NAMES = frozenset({"col", "column", "c", "col1", "c1"})


class CoordinateFinder:
    """Finds coordinates among the leaves of shapes."""

    def __init__(
        self, program: Program, roles: Sequence[str], chains: Sequence[Mapping[str, str]]
    ) -> None:
        self._program, self._roles, self._chains = program, roles, chains

    def square(self, shape: FluentShape) -> Candidate | None:
        """A shape as a candidate for a grid of several columns and rows; None if it is none."""
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
        rest = [i for i in range(len(shape.leaves)) if i not in (first, second)]
        more = [i for i in rest if i in orders]
        layers = tuple(more if len(more) < len(rest) else more[:-1])[:1]
        side = self._side(shape, first, second, rest) if not layers else None
        content = tuple(i for i in rest if i not in layers)
        return self._made(shape, (first,), (second,), orders, content, layers, side)

    def line(self, shape: FluentShape, *, alone: bool) -> Candidate | None:
        """A shape as a candidate for a board of one row; `alone` if the game has no grids."""
        orders = self._orders(shape)
        num = len(shape.leaves)
        at = next(iter(orders), None)
        if at is None or shape.counter:
            return None
        keys = [row[at] for row in shape.initial]
        full = len(set(keys)) == len(keys) >= max(2, len(orders[at].values) // 2)
        content = tuple(i for i in range(num) if i != at)
        side = 0 if at == 1 and self._is_role(shape.leaves[0].values) else None
        if side is not None:
            content = content[1:]
        if not full:
            wanted = at == 0 or (side is not None and bool(content))
            if not alone or not wanted or len(orders[at].values) > MOST_IN_ROW or len(orders) > 1:
                return None
        elif side is not None and not content:
            return None
        layers = () if side is None else (side,)
        return Candidate(
            shape,
            Axis((at,)),
            None,
            (orders[at], None),
            content,
            layers,
            complete=full,
            keys=frozenset((key, "") for key in keys),
        )

    def _orders(self, shape: FluentShape) -> dict[int, Order]:
        """The leaves that are coordinates, with their orders."""
        found = {}
        for i, leaf in enumerate(shape.leaves):
            values = _of_one_kind(leaf.values, [row[i] for row in shape.initial])
            if not self._is_role(leaf.values):
                order = order_of(values, self._chains)
                if order is not None:
                    found[i] = order
        return found

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
            known = frozenset(key for key in keys if key is not None)
            return Candidate(
                shape,
                Axis((i,), 0),
                Axis((i,), 1),
                (letters, numbers),
                content,
                complete=bool(content) and len(known) >= len(parts) > 0,
                keys=frozenset(parts),
                holes=True,
            )
        return None

    def _is_amount(self, shape: FluentShape, orders: Mapping[int, Order]) -> bool:
        """Whether the second of two leaves is what a place holds: `(heap a 12)`."""
        if len(shape.leaves) != 2 or len(shape.initial) < 2:
            return False
        keys = [row[0] for row in shape.initial]
        return len(set(keys)) == len(keys) >= len(orders[0].values) / 2

    def _of_four(
        self, shape: FluentShape, orders: Mapping[int, Order], plain: Sequence[int]
    ) -> Candidate | None:
        """Boards of boards: four coordinates of one kind, and something in the cells."""
        if len(orders) != 4 or not plain or len({o.values for o in orders.values()}) > 1:
            return None
        a, b, c, d = orders
        return self._made(shape, (a, c), (b, d), orders, tuple(plain), (), None)

    def _fits(
        self, shape: FluentShape, orders: Mapping[int, Order], first: int, second: int
    ) -> bool:
        """Whether two leaves may be the coordinates of a grid."""
        a, b = orders[first], orders[second]
        if len(shape.leaves) > 2 and shape.initial:
            return True
        if a.kind == b.kind == CoordinateKind.LETTERS and not self._chained(a):
            return False
        if {a.kind, b.kind} == {
            CoordinateKind.LETTERS,
            CoordinateKind.NUMBERS,
        } or a.values == b.values:
            return True
        return len(a.values) <= FEW and len(b.values) <= FEW

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
        """The leaf before the coordinates that says on whose board this is."""
        if len(rest) != 1 or rest[0] > min(first, second):
            return None
        named = self._is_role(shape.leaves[rest[0]].values)
        return rest[0] if named and not self._meet(shape, rest[0]) else None

    def _meet(self, shape: FluentShape, side: int) -> bool:
        """Whether a rule has fluents of two roles in one place."""
        for rule in self._program.rules:
            seen: dict[tuple[object, ...], object] = {}
            for atom in (literal.atom for literal in rule.body):
                if getattr(atom, "name", "") != "true" or not hasattr(atom, "args"):
                    continue
                skeleton, leaves = flatten(atom.args[0])
                if skeleton != shape.skeleton:
                    continue
                place = tuple(leaf for i, leaf in enumerate(leaves) if i != side)
                if seen.setdefault(place, leaves[side]) != leaves[side]:
                    return True
        return False

    def _made(
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
        known = frozenset((x, y) for x, y in keys if x in a.values and y in b.values)
        symbols = Symbols(self._roles, [shape.leaves[i].values for i in content])
        marked = len(content) == 1 and any(
            symbols.is_empty([value]) for value in shape.leaves[content[0]].values
        )
        full = 10 * len(known) >= 9 * len(a.values) * len(b.values)
        return Candidate(
            shape,
            across,
            up,
            (a, b),
            content,
            layers,
            side,
            downwards,
            complete=full or (marked and len(known) > 3),
            keys=known,
        )


def _product(orders: Sequence[Order]) -> Order:
    if len(orders) == 1:
        return orders[0]
    values = [f"{x} {y}" for x in orders[0].values for y in orders[1].values]
    return Order(tuple(values), orders[0].kind)


def _is_mixed(values: Sequence[str]) -> bool:
    """Whether these are letters and numbers side by side: coordinates of an unknown kind."""
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

"""Which fluents are boards, from the rules alone.

A fluent with two coordinates among its leaves is in a grid, one with a single coordinate may be in
a row. Of the other leaves, a coordinate more is a layer, and so is a role whose boards never meet
(each side's fleet); the rest is what a cell holds. Fluents over the same coordinates share a grid,
unless each of them fills it: those of `cell1` and `cell2` are two.

The first coordinate goes across and the second one up, as in chess: the first row is at the bottom.
If only the second coordinates are letters, these go across. Where the rules call one `row` and the
other one `column` (variables or prefixes of constants), the first row is at the top, and so it is
where rows are letters.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from ggp.gdl.program import RANDOM, Program
from match_runner.pictures.orders import Kind, Order, are_squares, natural, order_of, square_of
from match_runner.pictures.shapes import Shape, Skeleton, flatten
from match_runner.pictures.symbols import Symbols

MOST_CELLS = 2_600
"""Of one board: 51 by 51 still is one."""

MOST_LAYERS = 24
MOST_IN_ROW = 52
_FEW = 20

_ROW_NAMES = frozenset({"row", "r", "row1", "r1"})
_SMALL_WORDS = frozenset(
    {
        *("at", "is", "in", "on", "has", "holds", "location", "position", "pos", "cell"),
        *("mark", "marked", "piece"),
    }
)
_COLUMN_NAMES = frozenset({"col", "column", "c", "col1", "c1"})


@dataclass(frozen=True, slots=True)
class Axis:
    """Where a coordinate stands: several leaves if it is made of several.

    Attributes:
        part: -1 if it is the whole leaf, 0 or 1 if it is the letter or number of a square.
    """

    leaves: tuple[int, ...]
    part: int = -1

    def of(self, leaves: Sequence[str]) -> str | None:
        """The coordinate that the leaves of a fluent name."""
        if self.part < 0:
            return " ".join(leaves[i] for i in self.leaves)
        square = square_of(leaves[self.leaves[0]])
        return None if square is None else square[self.part]


@dataclass(frozen=True, slots=True)
class Place:
    """How fluents of a shape are put on boards.

    Attributes:
        grid: index of the grid.
        rows: None on boards of one row.
        layers: leaves that say which board of the grid's.
        content: leaves that say what a cell holds.
        named: whether the fluent's name belongs to what the cell holds.
    """

    grid: int
    columns: Axis
    rows: Axis | None
    layers: tuple[int, ...]
    content: tuple[int, ...]
    named: bool = False


@dataclass(frozen=True, slots=True)
class Candidate:
    """A shape that may be in a grid, and how.

    Attributes:
        orders: of the columns and the rows.
        layers: leaves with a coordinate more.
        side: a leaf that names a role, whose own board this may be.
        downwards: whether the first row is at the top.
        complete: whether initial fluents fill the grid.
        keys: column and row of the initial fluents, or of all fluents where `holes`.
        holes: whether there are no other cells.
    """

    shape: Shape
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


@dataclass(slots=True)
class Grid:
    """Boards over the same coordinates, one for each layer.

    Attributes:
        columns, rows: all coordinates that there may be, in order: from left to right, from top to
            bottom; the one row of a row is "".
        core: indices of the first and last column and row that are always shown.
        cells: those that exist; None for all.
        layers: values of the layers, one row of constants for each board; dull ones are only
            shown when something is there.
    """

    name: str
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    core: tuple[int, int, int, int]
    cells: frozenset[tuple[str, str]] | None
    layers: tuple[tuple[str, ...], ...]
    symbols: Symbols
    members: tuple[Candidate, ...]


def recognise(
    program: Program, shapes: Sequence[Shape], chains: Sequence[Mapping[str, str]]
) -> tuple[list[Grid], dict[Skeleton, Place]]:
    """The grids of a game, and where the fluents of each shape go in them."""
    roles = tuple(role for role in program.roles if role != RANDOM)
    finder = _Finder(program, roles, chains)
    groups: list[list[Candidate]] = []
    squares = [each for each in map(finder.square, shapes) if each is not None]
    for candidate in sorted(squares, key=_rank):
        _join(groups, candidate)
    placed = {member.shape.skeleton for group in groups for member in group}
    for shape in shapes:
        if shape.skeleton not in placed:
            _lay_over(groups, shape)
    placed = {member.shape.skeleton for group in groups for member in group}
    rows = [finder.line(s, alone=not groups) for s in shapes if s.skeleton not in placed]
    lines: list[list[Candidate]] = []
    for each in sorted((row for row in rows if row is not None), key=_rank):
        _join(lines, each)
    return _laid_out([*groups, *lines], roles)


def _rank(candidate: Candidate) -> tuple[bool, bool, int]:
    return candidate.side is not None, not candidate.complete, -len(candidate.keys)


class _Finder:
    """Looks for coordinates among the leaves of shapes."""

    def __init__(
        self, program: Program, roles: Sequence[str], chains: Sequence[Mapping[str, str]]
    ) -> None:
        self._program, self._roles, self._chains = program, roles, chains

    def square(self, shape: Shape) -> Candidate | None:
        """How a shape is in a grid of several columns and rows; None if it is not."""
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

    def line(self, shape: Shape, *, alone: bool) -> Candidate | None:
        """How a shape is in a row; `alone` if the game has no grids."""
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

    def _orders(self, shape: Shape) -> dict[int, Order]:
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

    def _by_names_of_squares(self, shape: Shape) -> Candidate | None:
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

    def _is_amount(self, shape: Shape, orders: Mapping[int, Order]) -> bool:
        """Whether the second of two leaves is what a place holds: `(heap a 12)`."""
        if len(shape.leaves) != 2 or len(shape.initial) < 2:
            return False
        keys = [row[0] for row in shape.initial]
        return len(set(keys)) == len(keys) >= len(orders[0].values) / 2

    def _of_four(
        self, shape: Shape, orders: Mapping[int, Order], plain: Sequence[int]
    ) -> Candidate | None:
        """Boards of boards: four coordinates of one kind, and something in the cells."""
        if len(orders) != 4 or not plain or len({o.values for o in orders.values()}) > 1:
            return None
        a, b, c, d = orders
        return self._made(shape, (a, c), (b, d), orders, tuple(plain), (), None)

    def _fits(self, shape: Shape, orders: Mapping[int, Order], first: int, second: int) -> bool:
        """Whether two leaves may be the coordinates of a grid."""
        a, b = orders[first], orders[second]
        if len(shape.leaves) > 2 and shape.initial:
            return True
        if a.kind == b.kind == Kind.LETTERS and not self._chained(a):
            return False
        if {a.kind, b.kind} == {Kind.LETTERS, Kind.NUMBERS} or a.values == b.values:
            return True
        return len(a.values) <= _FEW and len(b.values) <= _FEW

    def _chained(self, order: Order) -> bool:
        return any(
            2 * len(set(order.values) & {*chain}) >= len(order.values) for chain in self._chains
        )

    def _score(
        self, shape: Shape, orders: Mapping[int, Order], first: int, second: int
    ) -> tuple[int, float, int]:
        a, b = orders[first], orders[second]
        points = 4 * (a.kind != b.kind and Kind.LETTERS in (a.kind, b.kind))
        points += 3 * (a.values == b.values) + 2 * (second == first + 1)
        sizes = sorted((len(a.values), len(b.values)))
        return points, sizes[0] / sizes[1], -first

    def _side(self, shape: Shape, first: int, second: int, rest: Sequence[int]) -> int | None:
        """The leaf before the coordinates that says on whose board this is."""
        if len(rest) != 1 or rest[0] > min(first, second):
            return None
        named = self._is_role(shape.leaves[rest[0]].values)
        return rest[0] if named and not self._meet(shape, rest[0]) else None

    def _meet(self, shape: Shape, side: int) -> bool:
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
        shape: Shape,
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
            direction == "" and b.kind == Kind.LETTERS and a.kind != Kind.LETTERS
        )
        if swapped:
            across, up, a, b = up, across, b, a
        downwards = direction != "" or b.kind == Kind.LETTERS or len(first) > 1
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


def _join(groups: list[list[Candidate]], candidate: Candidate) -> None:
    """Put a candidate into the group that has its coordinates, or into one of its own."""
    for group in groups:
        fitted = _fitted(group[0], candidate)
        if fitted is not None:
            group.append(fitted)
            return
    if candidate.side is not None:
        content = tuple(i for i in candidate.content if i != candidate.side)
        candidate = replace(candidate, layers=(candidate.side,), content=content)
    groups.append([candidate])


def _lay_over(groups: Sequence[list[Candidate]], shape: Shape) -> None:
    """Put a shape of two leaves onto the board whose coordinates they are: walls, marks."""
    if len(shape.leaves) != 2 or not all(leaf.values for leaf in shape.leaves):
        return
    values = tuple(set(leaf.values) for leaf in shape.leaves)
    for group in groups:
        head = group[0]
        if head.rows is None or head.orders[1] is None or head.layers:
            continue
        across, up = (set(order.values) for order in (head.orders[0], head.orders[1]))
        straight = max(head.columns.leaves) <= max(head.rows.leaves)
        for columns, rows in ((0, 1), (1, 0)) if straight else ((1, 0), (0, 1)):
            if values[columns] <= across and values[rows] <= up:
                keys = frozenset((row[columns], row[rows]) for row in shape.initial)
                axes = Axis((columns,)), Axis((rows,))
                group.append(Candidate(shape, *axes, head.orders, (), keys=keys))
                return


def _fitted(head: Candidate, candidate: Candidate) -> Candidate | None:
    """A candidate as it is on the board of another; None if it is on a board of its own."""
    full = head.complete and candidate.complete and head.content and candidate.content
    if full or len(head.axes) != len(candidate.axes):
        return None
    if head.side is not None and candidate.side is not None:
        content = tuple(i for i in candidate.content if i != candidate.side)
        candidate = replace(candidate, layers=(candidate.side,), content=content)
    if [set(v) for v in _layer_values(head)] != [set(v) for v in _layer_values(candidate)]:
        return None
    if _alike(head.orders, candidate.orders):
        return candidate
    if candidate.rows is None or candidate.orders[1] is None:
        return None
    turned = (candidate.orders[1], candidate.orders[0])
    if not _alike(head.orders, turned):
        return None
    return replace(candidate, columns=candidate.rows, rows=candidate.columns, orders=turned)


def _alike(
    orders: tuple[Order | None, Order | None], others: tuple[Order | None, Order | None]
) -> bool:
    for a, b in zip(orders, others, strict=True):
        if a is None or b is None:
            continue
        num, common = len(a.values), len({*a.values} & {*b.values})
        if 2 * common < num or (2 * common < len(b.values) and len(b.values) <= _FEW):
            return False
    return True


def _layer_values(candidate: Candidate) -> list[tuple[str, ...]]:
    return [candidate.shape.leaves[i].values for i in candidate.layers]


def _laid_out(
    groups: Sequence[Sequence[Candidate]], roles: Sequence[str]
) -> tuple[list[Grid], dict[Skeleton, Place]]:
    grids: list[Grid] = []
    places: dict[Skeleton, Place] = {}
    names: set[str] = set()
    for group in groups:
        name = group[0].shape.name
        while name in names:
            name += "+"
        grid = _grid(name, group, roles)
        if grid is None:
            continue
        names.add(name)
        for member in group:
            named = member is not group[0] or not member.content
            places[member.shape.skeleton] = Place(
                len(grids), member.columns, member.rows, member.layers, member.content, named
            )
        grids.append(grid)
    return grids, places


def _grid(name: str, group: Sequence[Candidate], roles: Sequence[str]) -> Grid | None:
    """The grid of a group; None if it would have too many cells."""
    head = group[0]
    columns = _united([member.orders[0] for member in group])
    rows = _united([member.orders[1] for member in group])
    if not head.downwards:
        rows = rows[::-1]
    keys = {key for member in group for key in member.keys}
    core = _core(columns, rows, keys, complete=head.complete)
    size = (core[1] - core[0] + 1) * (core[3] - core[2] + 1)
    values = [set(v) for v in _layer_values(head)]
    layers = [tuple(sorted(v, key=natural)) for v in values]
    shown = tuple((v,) for v in layers[0]) if layers else ((),)
    if size * max(1, min(len(shown), MOST_LAYERS)) > MOST_CELLS:
        return None
    contents = [m.shape.leaves[i].values for m in group for i in m.content]
    contents += [
        words_of(m.shape.name, has_content=bool(m.content))
        for m in group
        if m is not head or not m.content
    ]
    empties = sum("b" in row for row in head.shape.initial)
    symbols = Symbols(roles, contents, common_empty=3 * empties > len(head.shape.initial))
    bounded = head.holes or (head.complete and head.content and len(head.keys) < size)
    cells = head.keys if bounded else None
    return Grid(name, columns, rows, core, cells, shown, symbols, tuple(group))


def words_of(name: str, *, has_content: bool) -> tuple[str, ...]:
    """The words of a fluent's name that say what there is: `king` of `king_at`.

    Args:
        has_content: whether leaves say it, so that no word is needed.
    """
    words = tuple(word for word in name.replace("-", "_").split("_") if word)
    telling = tuple(word for word in words if word not in _SMALL_WORDS)
    return telling if telling or has_content else (name,)


def _united(orders: Sequence[Order | None]) -> tuple[str, ...]:
    """The coordinates of all members of a group."""
    head = orders[0]
    if head is None:
        return ("",)
    union = dict.fromkeys(value for order in orders if order is not None for value in order.values)
    if set(union) == {*head.values}:
        return head.values
    order = order_of(union, (), gaps=True)
    return order.values if order is not None else tuple(union)


def _core(
    columns: Sequence[str], rows: Sequence[str], keys: set[tuple[str, str]], *, complete: bool
) -> tuple[int, int, int, int]:
    """First and last column and row that are always shown.

    The rules often let coordinates be larger than the board: one relation counts both squares and
    steps. So if the initial fluents fill a smaller rectangle fairly well, that is the board.
    """
    whole = 0, len(columns) - 1, 0, len(rows) - 1
    xs = [columns.index(x) for x, _ in keys if x in columns]
    ys = [rows.index(y) for _, y in keys if y in rows]
    if not xs or not ys:
        return whole
    hull = min(xs), max(xs), min(ys), max(ys)
    width, height = hull[1] - hull[0] + 1, hull[3] - hull[2] + 1
    dense = 2 * len(keys) >= width * height >= 3 * max(width, height)
    dense = dense and 2 * width * height < len(columns) * len(rows)
    wide = max(len(columns), len(rows)) > _FEW
    return hull if complete or dense or wide else whole


def _product(orders: Sequence[Order]) -> Order:
    if len(orders) == 1:
        return orders[0]
    values = [f"{x} {y}" for x in orders[0].values for y in orders[1].values]
    return Order(tuple(values), orders[0].kind)


def _is_mixed(values: Sequence[str]) -> bool:
    """Whether these are letters and numbers side by side: coordinates, but nobody knows of what."""
    letters = sum(len(value) == 1 and value.isalpha() for value in values)
    numbers = sum(value.isdigit() for value in values)
    return letters > 1 and numbers > 1 and letters + numbers == len(values)


def _of_one_kind(values: Sequence[str], initial: Iterable[str]) -> Sequence[str]:
    """Letters or numbers alone, as at the start, where rules for both make a mixture."""
    if not _is_mixed(values):
        return values
    letters = [value for value in values if not value.isdigit()]
    numbers = [value for value in values if value.isdigit()]
    seen = set(initial)
    if seen and seen <= {*letters}:
        return letters
    return numbers if seen and seen <= {*numbers} else values


def _direction(
    shape: Shape, first: tuple[int, ...], second: tuple[int, ...], orders: Mapping[int, Order]
) -> str:
    """`rows first`, `columns first`, or nothing if no name says so."""
    if len(first) > 1:
        return "rows first"

    def says(leaf: int, names: frozenset[str]) -> bool:
        return shape.leaves[leaf].name in names or orders[leaf].prefix in names

    i, j = first[0], second[0]
    if Kind.LETTERS in (orders[i].kind, orders[j].kind):
        return ""
    if says(i, _ROW_NAMES) and says(j, _COLUMN_NAMES):
        return "rows first"
    if says(i, _COLUMN_NAMES) and says(j, _ROW_NAMES):
        return "columns first"
    return ""

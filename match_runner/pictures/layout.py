"""From the fluents of a state to its picture."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from ggp.gdl.normalize import normalize
from ggp.gdl.program import RANDOM, Program
from ggp.gdl.source import Rulesheet
from ggp.gdl.terms import Compound, Signature, Term, signature
from match_runner.pictures.boards import MOST_LAYERS, Grid, Place, recognise, words_of
from match_runner.pictures.orders import natural, square_of
from match_runner.pictures.picture import (
    MOST_FACTS,
    Board,
    Cell,
    Fact,
    Item,
    Json,
    Picture,
    Table,
    id_part,
    short,
)
from match_runner.pictures.shapes import Skeleton, flatten, shapes_of
from match_runner.pictures.values import Values, chains_of

_LONGEST_TITLE = 400


class Layout:
    """What the states of a game look like; made by `Layout.of`."""

    def __init__(
        self,
        roles: Sequence[str],
        grids: Sequence[Grid],
        places: Mapping[Skeleton, Place],
        headers: Mapping[Signature, Sequence[str]],
    ) -> None:
        self._roles, self._grids, self._places, self._headers = roles, grids, places, headers

    @classmethod
    def of(cls, rules: Program | Rulesheet, side_file: Path | None = None) -> Layout:
        """The layout that a game's rules suggest.

        Args:
            side_file: a file that says better what the game looks like.

        Raises:
            GDLValidationError: a rulesheet that cannot be played.
            ConfigError: the side file cannot be used.
        """
        program = rules if isinstance(rules, Program) else normalize(rules)
        values = Values(program)
        shapes = shapes_of(program, values)
        grids, places = recognise(program, shapes, chains_of(values.facts))
        roles = tuple(role for role in program.roles if role != RANDOM)
        return cls(roles, grids, places, {})

    def picture(self, facts: Iterable[Term]) -> Picture:
        """What to draw of the fluents of a state, or of the percepts of a turn.

        Every board is there, also where nothing is on it.
        """
        return self._draw([(fact, 1.0) for fact in facts])

    def heat(self, marginals: Mapping[Term, float]) -> Json:
        """The picture of what somebody believes, as the page reads it.

        Args:
            marginals: the probability of each fluent.
        """
        return self._draw(list(marginals.items())).to_json()

    def cells_of_move(self, move: Term) -> tuple[str, ...]:
        """Ids of the cells that a move names, in its order; () if there are none.

        A board with several layers is only named by a move that also names the layer.
        """
        leaves = [str(leaf) for leaf in flatten(move)[1]]
        for grid in self._grids:
            found = tuple(_named(grid, leaves))
            if found:
                return found
        return ()

    def _draw(self, facts: Sequence[tuple[Term, float]]) -> Picture:
        on_grids: list[dict[tuple[tuple[str, ...], str, str], list[Item]]] = [
            {} for _ in self._grids
        ]
        rest: list[tuple[Term, float]] = []
        ordered = sorted(((str(fact), fact, share) for fact, share in facts), key=lambda f: f[0])
        for text, fact, share in ordered[:MOST_FACTS]:
            skeleton, leaves = flatten(fact)
            place = self._places.get(skeleton)
            where = None
            if place is not None:
                names = [str(leaf) for leaf in leaves]
                where = _where(self._grids[place.grid], place, names)
            if place is None or where is None:
                rest.append((fact, share))
                continue
            item = self._item(place, names, skeleton, share, text)
            on_grids[place.grid].setdefault(where, []).append(item)
        boards = [
            board
            for grid, items in zip(self._grids, on_grids, strict=True)
            for board in _boards(grid, items)
        ]
        tables, facts_left = self._tables(rest)
        if len(ordered) > MOST_FACTS:
            facts_left.append(Fact(f"and {len(ordered) - MOST_FACTS:,} more", 1.0))
        return Picture(boards, tables, facts_left, [short(role) for role in self._roles])

    def _item(
        self, place: Place, names: Sequence[str], skeleton: Skeleton, share: float, text: str
    ) -> Item:
        words = [names[i] for i in place.content]
        head = skeleton[0]
        if place.named and head is not None:
            words = [*words_of(head[0], has_content=bool(words)), *words]
        look = self._grids[place.grid].symbols.look(words)
        return Item(
            short(look.text), short(look.symbol, 24), look.owner, share, short(text, _LONGEST_TITLE)
        )

    def _tables(self, facts: Sequence[tuple[Term, float]]) -> tuple[list[Table], list[Fact]]:
        groups: dict[Signature, list[tuple[Term, float]]] = {}
        for fact, share in facts:
            groups.setdefault(signature(fact), []).append((fact, share))
        tables, single = [], []
        for (name, arity), members in groups.items():
            if arity == 0 or len(members) == 1:
                single += [Fact(short(str(fact), _LONGEST_TITLE), share) for fact, share in members]
                continue
            headers = self._headers.get((name, arity)) or [str(i + 1) for i in range(arity)]
            table = Table(short(name), headers)
            rows = []
            for fact, share in members:
                assert isinstance(fact, Compound)
                rows.append((tuple(str(arg) for arg in fact.args), share))
            for row, share in sorted(rows, key=lambda r: [natural(text) for text in r[0]]):
                table.rows.append(tuple(short(text) for text in row))
                table.shares.append(share)
            tables.append(table)
        return tables, single


def _where(
    grid: Grid, place: Place, names: Sequence[str]
) -> tuple[tuple[str, ...], str, str] | None:
    """Layer, column and row of a fluent; None if it is beside the board."""
    column = place.columns.of(names)
    row = "" if place.rows is None else place.rows.of(names)
    layer = tuple(names[i] for i in place.layers)
    if column not in grid.columns or row not in grid.rows or layer not in grid.layers:
        return None
    assert column is not None
    assert row is not None
    return layer, column, row


def _boards(
    grid: Grid, items: Mapping[tuple[tuple[str, ...], str, str], list[Item]]
) -> Iterator[Board]:
    left, right, top, bottom = grid.core
    for _, column, row in items:
        x, y = grid.columns.index(column), grid.rows.index(row)
        left, right, top, bottom = min(left, x), max(right, x), min(top, y), max(bottom, y)
    columns, rows = grid.columns[left : right + 1], grid.rows[top : bottom + 1]
    used = {layer for layer, _, _ in items}
    few = len(grid.layers) <= MOST_LAYERS
    layers = [each for each in grid.layers if each in used or (few and each != (RANDOM,))]
    for layer in layers:
        cells = [
            Cell(_cell_id(grid, layer, column, row), x, y, items.get((layer, column, row), []))
            for y, row in enumerate(rows)
            for x, column in enumerate(columns)
            if grid.cells is None or (column, row) in grid.cells or (layer, column, row) in items
        ]
        title = short(" ".join((grid.name, *layer)))
        yield Board(
            _board_id(grid, layer),
            title,
            [short(c) for c in columns],
            [short(r) for r in rows],
            cells,
        )


def _board_id(grid: Grid, layer: Sequence[str]) -> str:
    return "@".join(id_part(name) for name in (grid.name, *layer))


def _cell_id(grid: Grid, layer: Sequence[str], column: str, row: str) -> str:
    at = id_part(column) if grid.rows == ("",) else f"{id_part(column)},{id_part(row)}"
    return f"{_board_id(grid, layer)}:{at}"


def _named(grid: Grid, leaves: Sequence[str]) -> Iterator[str]:
    """The cells that the leaves of a move name on a grid."""
    layer: tuple[str, ...] | None = () if grid.layers == ((),) else None
    member = grid.members[0]
    column_first = member.rows is None or member.columns.leaves[0] <= member.rows.leaves[0]
    at = 0
    while at < len(leaves):
        if layer is None and (leaves[at],) in grid.layers and len(leaves) > 2:
            layer = (leaves[at],)
            at += 1
            continue
        width = 1 if member.rows is None or member.columns.part >= 0 else 2
        pair = leaves[at : at + width]
        cell = _cell_of(grid, member.rows is None, member.columns.part >= 0, column_first, pair)
        if cell is not None and layer is not None:
            yield _cell_id(grid, layer, *cell)
            at += width
        else:
            at += 1


def _cell_of(
    grid: Grid, is_row: bool, is_square: bool, column_first: bool, names: Sequence[str]
) -> tuple[str, str] | None:
    if is_square:
        found = square_of(names[0])
        if found is None:
            return None
        column, row = found
    elif is_row:
        column, row = names[0], ""
    elif len(names) < 2:
        return None
    else:
        column, row = names if column_first else (names[1], names[0])
    return (column, row) if column in grid.columns and row in grid.rows else None

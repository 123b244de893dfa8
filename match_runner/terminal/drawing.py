"""Pictures of states as rich draws them: grids, tables, and what is of other kinds in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from ggp.console import table_of
from match_runner.match.views import plain
from match_runner.pictures.kinds import KINDS
from match_runner.pictures.picture import Json
from match_runner.pictures.symbols import unfilled

_STYLES = ("bold cyan", "bold magenta", "bold yellow", "bold green", "bold red", "bold blue")
_MARKS = ("underline", "underline2", "overline", "italic", "strike")
"""Styles of what belongs to all roles but the first, where symbols do not tell it."""

_WIDEST = 12
"""Most characters of a cell; longer texts are cut, and stand in full where a board is a table."""


def draw(
    picture: Json, encoding: str = "utf-8", *, colours: bool = True
) -> Iterator[RenderableType]:
    """Draw the parts of a picture, one below the other.

    Args:
        encoding: encoding of the terminal: symbols that it does not have are written in words.
        colours: whether it shows colours; else pieces are marked with the first letter of their
            role.
    """
    pen = _Pen(picture["owners"], encoding, colours)
    drawers = {"boards": pen.boards, "tables": _tables}
    for name, kind in KINDS.items():
        if name in drawers:
            yield from drawers[name](picture[name])
        elif picture[name]:
            yield plain("  ".join(map(kind.words, picture[name])))


class _Pen:
    """Draws boards.

    Attributes:
        legend: roles whose pieces were drawn in their colours.
    """

    def __init__(self, owners: Sequence[str], encoding: str, colours: bool) -> None:
        self._owners, self._encoding, self._colours = list(owners), encoding, colours
        self.legend: dict[str, None] = {}

    def style(self, owner: str) -> str:
        """Style of a role's pieces: its colour."""
        return _STYLES[self._owners.index(owner) % len(_STYLES)]

    def boards(self, boards: Sequence[Json]) -> Iterator[RenderableType]:
        """All boards, and whose colours are on them."""
        for board in boards:
            if len(boards) > 1:
                yield plain(board["title"], "dim")
            yield self._grid(board)
        if self.legend:
            yield Text("  ").join(plain(owner, self.style(owner)) for owner in self.legend)

    def _grid(self, board: Json) -> Table:
        """A board with its coordinates."""
        lines = box.SQUARE if self._encoding.lower().startswith("utf") else box.ASCII2
        has_rows = len(board["rows"]) > 1 or board["rows"][0] != ""
        grid = Table(box=lines, show_lines=True)
        if has_rows:
            grid.add_column("", style="dim", justify="right")
        for name in board["columns"]:
            grid.add_column(plain(name, "dim"), justify="center", min_width=1, no_wrap=True)
        cells = {(cell["row"], cell["column"]): cell for cell in board["cells"]}
        for row, name in enumerate(board["rows"]):
            found = (cells.get((row, column)) for column in range(len(board["columns"])))
            grid.add_row(*([plain(name)] if has_rows else []), *map(self._cell, found))
        return grid

    def _cell(self, cell: Json | None) -> Text:
        text = Text()
        for item in cell["items"] if cell is not None else ():
            symbol = unfilled(item["symbol"], item["owner"])
            mark = symbol if _fits(symbol, self._encoding) else item["text"]
            if len(mark) > _WIDEST:
                mark = f"{mark[: _WIDEST - 1]}."
            style = ""
            if mark and item["owner"] in self._owners:
                if self._colours:
                    style = self.style(item["owner"])
                    if item["mark"]:
                        style = f"{style} {_MARKS[(item['mark'] - 1) % len(_MARKS)]}"
                    self.legend[item["owner"]] = None
                elif mark == symbol:
                    mark += item["owner"][:1]
            if mark:
                text.append_text(plain(f" {mark}" if len(text) else mark, style))
        return text


def _tables(tables: Sequence[Json]) -> Iterator[RenderableType]:
    for table in tables:
        drawn = table_of([str(header) or " " for header in table["headers"]], table["rows"])
        assert isinstance(drawn, Table)
        drawn.title, drawn.title_style = plain(table["title"], "dim"), ""
        drawn.title_justify = "left"
        yield drawn


def _fits(symbol: str, encoding: str) -> bool:
    try:
        symbol.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True

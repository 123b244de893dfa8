"""Draws pictures of states with rich: grids, tables, and facts on one line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from ggp.console import table_of
from match_runner.match.views import plain
from match_runner.pictures.picture import Json

_STYLES = ("bold cyan", "bold magenta", "bold yellow", "bold green", "bold red", "bold blue")
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
    for board in picture["boards"]:
        if len(picture["boards"]) > 1:
            yield plain(board["title"], "dim")
        yield pen.grid(board)
    if pen.legend:
        yield Text("  ").join(plain(owner, pen.style(owner)) for owner in pen.legend)
    for table in picture["tables"]:
        yield _table(table)
    if picture["facts"]:
        yield plain("  ".join(fact["text"] for fact in picture["facts"]))


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

    def grid(self, board: Json) -> Table:
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
            mark = item["symbol"] if _fits(item["symbol"], self._encoding) else item["text"]
            if len(mark) > _WIDEST:
                mark = f"{mark[: _WIDEST - 1]}."
            style = ""
            if mark and item["owner"] in self._owners:
                if self._colours:
                    style = self.style(item["owner"])
                    self.legend[item["owner"]] = None
                elif mark == item["symbol"]:
                    mark += item["owner"][:1]
            if mark:
                text.append_text(plain(f" {mark}" if len(text) else mark, style))
        return text


def _table(table: Json) -> RenderableType:
    headers = [str(header) or " " for header in table["headers"]]
    width = max((len(row) for row in table["rows"]), default=0)
    headers += [" "] * (width - len(headers))
    rows = [(*row, *[""] * (len(headers) - len(row))) for row in table["rows"]]
    drawn = table_of(headers, rows)
    assert isinstance(drawn, Table)
    drawn.title, drawn.title_style, drawn.title_justify = plain(table["title"], "dim"), "", "left"
    return drawn


def _fits(symbol: str, encoding: str) -> bool:
    try:
        symbol.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True

"""Pictures for notebooks: states and beliefs as HTML with inline styles.

It escapes all texts and uses no scripts: rules and records may come from anybody.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path

from ggp.gdl.games import game_that_comes
from ggp.machine.definition import GameDefinition
from ggp.report import Table
from match_runner.pictures.kinds import KINDS, Json
from match_runner.pictures.layout import Artist
from match_runner.pictures.side_file import side_file_of
from match_runner.pictures.symbols import unfilled

MAX_ITEMS = 4
"""Most pieces on one cell that we show, the likeliest first."""

_CERTAIN = 1 - 1e-9
"""Least probability that counts as certain: the weights of all particles may sum to less than 1."""

_KEPT = 8
"""Number of artists that we keep: finding a game's boards may take a second."""

_COLOURS = ("#0b5cad", "#a3262a", "#2e7031", "#7a4a00", "#6a3d9a", "#00695c")
_LINES = ("solid", "double", "dotted", "dashed", "wavy")
"""Underlines of the pieces of every role but the first, where symbols do not show the owner."""

_CELL = (
    "border:1px solid #b8b0a0;background:#f6f2e9;color:#222;min-width:2em;height:2em;"
    "text-align:center;padding:0 0.2em;line-height:1.1"
)
_EDGE = "border:none;opacity:0.6;text-align:center;padding:0 0.3em;font-weight:normal"

_artists: OrderedDict[tuple[str, Path | None], Artist] = OrderedDict()


def state_html(game: str, program: GameDefinition, fluents: Sequence[str]) -> str:
    """A state as a picture.

    Args:
        game: name or path of the game; a side file may lie beside it.
    """
    artist = _artist(program, _side_file(game))
    return block(_parts(artist.picture(fluents)))


def belief_html(
    game: str, program: GameDefinition, shares: Mapping[str, float], caption: str
) -> str:
    """A belief as a picture, with the probability of every uncertain fluent.

    Args:
        game: see `state_html`.
        shares: the probability of each fluent.
    """
    artist = _artist(program, _side_file(game))
    return block([line(caption), *_parts(artist.heat(shares))])


def states_html(game: str, program: GameDefinition, states: Iterable[Sequence[str]]) -> list[str]:
    """Some states as pictures.

    Args:
        game: a name from a record, which may be anything: only a game of ours has a side file.
    """
    artist = _artist(program, _side_file(game, files=False))
    return ["".join(_parts(artist.picture(state))) for state in states]


def _side_file(game: str, *, files: bool = True) -> Path | None:
    """The side file of a game that comes with ggp, or of a rulesheet that is a file.

    Args:
        files: whether the game may be a file.
    """
    path = Path(game) if files and os.path.isfile(game) else game_that_comes(game)
    return None if path is None else side_file_of(path)


def _artist(program: GameDefinition, side_file: Path | None) -> Artist:
    key = (program.digest, side_file)
    if key not in _artists:
        _artists[key] = Artist(program, side_file)
        while len(_artists) > _KEPT:
            _artists.popitem(last=False)
    _artists.move_to_end(key)
    return _artists[key]


def _parts(picture: Json) -> Iterator[str]:
    """The parts of a picture, one below the other."""
    for name, kind in KINDS.items():
        if name == "boards":
            for board in picture[name]:
                yield _board(board, picture["owners"], titled=len(picture[name]) > 1)
        elif name == "tables":
            yield from map(_table, picture[name])
        elif picture[name]:
            words = (
                kind.words(part) + _share(part.get("share", 1.0), " ") for part in picture[name]
            )
            yield line("   ".join(words))


def _board(board: Json, owners: Sequence[str], *, titled: bool) -> str:
    cells = {(cell["row"], cell["column"]): cell for cell in board["cells"]}
    edge = "".join(f'<th style="{_EDGE}">{escape(name)}</th>' for name in ("", *board["columns"]))
    rows = []
    for row, name in enumerate(board["rows"]):
        slots = (cells.get((row, column)) for column in range(len(board["columns"])))
        html = "".join(
            f'<td style="{_EDGE}"></td>' if cell is None else _cell(cell, owners) for cell in slots
        )
        rows.append(f'<tr><th style="{_EDGE}">{escape(name)}</th>{html}</tr>')
    title = f'<caption style="text-align:left">{escape(board["title"])}</caption>' if titled else ""
    style = "border-collapse:collapse;display:inline-table;margin:0.3em 1em 0.3em 0"
    return f'<table style="{style}">{title}<tr>{edge}</tr>{"".join(rows)}</table>'


def _cell(cell: Json, owners: Sequence[str]) -> str:
    items = [item for item in cell["items"] if item["symbol"]]
    symbols = "<br>".join(_item(item, owners) for item in items[:MAX_ITEMS])
    suffix = f" +{len(items) - MAX_ITEMS}" if len(items) > MAX_ITEMS else ""
    title = ", ".join(f"{item['text']}{_share(item['share'], ' ')}" for item in cell["items"])
    return f'<td style="{_CELL}" title="{escape(title)}">{symbols}{suffix}</td>'


def _item(item: Json, owners: Sequence[str]) -> str:
    colour = ""
    if item["owner"] in owners:
        colour = f"color:{_COLOURS[owners.index(item['owner']) % len(_COLOURS)]};"
    if item["mark"]:
        colour += f"text-decoration:underline {_LINES[(item['mark'] - 1) % len(_LINES)]};"
    symbol = escape(unfilled(item["symbol"], item["owner"]))
    mark = f'<span style="{colour}font-weight:bold">{symbol}</span>'
    share = _share(item["share"])
    return f"{mark}<small>&thinsp;{share}</small>" if share else mark


def _table(table: Json) -> str:
    columns = [str(header) for header in table["headers"]]
    uncertain = any(share < _CERTAIN for share in table["shares"])
    rows = [
        (*row, _share(share) or "1") if uncertain else row
        for row, share in zip(table["rows"], table["shares"], strict=True)
    ]
    head = (*columns, "#probability") if uncertain else columns
    return Table(head, rows, table["title"]).html()


def _share(share: float, prefix: str = "") -> str:
    """A probability in words, unless it is certain."""
    return "" if share >= _CERTAIN else f"{prefix}{share:.2f}"


def line(text: str) -> str:
    """A line of text."""
    return f'<div style="white-space:pre-wrap">{escape(text)}</div>'


def folded(summary: str, parts: Sequence[str]) -> str:
    """Parts folded under a summary."""
    return f"<details><summary>{escape(summary)}</summary>{''.join(parts)}</details>"


def block(parts: Iterable[str]) -> str:
    """Parts one below the other."""
    return f"<div>{''.join(parts)}</div>"

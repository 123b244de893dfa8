"""Pictures for files: frames of a match, drawn with matplotlib.

A cell is one unit wide. Boards are side by side, from left to right. The text above them has the
moves, the text below them everything that is not on boards.
"""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from match_runner.charts import Plot, new_figure
from match_runner.pictures.kinds import KINDS, Json

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CELL_INCHES, _LINE = 0.62, 0.42
_GAP, _MARGIN, _MIN_WIDTH = 1.0, 0.9, 7.0
_LETTERS = 7.5
"""Letters of a line of text in the width of a cell."""

_MAX_LINES = 12
_WHITE, _BLACK = "♔♕♖♗♘♙⛀⛁", "♚♛♜♝♞♟⛂⛃"
_INK, _SOFT, _LINES, _LIGHT, _DARK, _LAST = (
    *("#22252a", "#5d646e", "#c3c9d1"),
    *("#eceff3", "#c6d0db", "#c99700"),
)
_OWNERS = ("#1f6fd0", "#c2410c", "#15803d", "#8b3fc4", "#a16207", "#0f766e")
_COLOURS = {
    **{"red": "#d93a34", "blue": "#3477dd", "green": "#2f9e4f", "yellow": "#f2c71f"},
    **{"white": "#ffffff", "black": "#1b1d21", "orange": "#ee8322", "purple": "#8e4cc7"},
}
_MARKS = ("-", (0, (6, 1.5)), ":", "--", "-.")
"""Underlines of the pieces of every role but the first, see `symbols`."""

_EDGES: Mapping[str, tuple[float, float, float, float]] = {
    **{"▔": (0, 0, 1, 0), "▕": (1, 0, 1, 1), "▁": (0, 1, 1, 1), "▏": (0, 0, 0, 1)}
}


def still(frame: Json) -> Plot:
    """A frame of a match (see `frames`) as a chart, which can be saved."""
    picture = frame["state"]
    boards = picture["boards"]
    width = sum(len(board["columns"]) + _GAP for board in boards) + 2 * _MARGIN - _GAP
    width = max(width, _MIN_WIDTH)
    height = max((len(board["rows"]) for board in boards), default=0)
    letters = int((width - 2 * _MARGIN) * _LETTERS)
    head = _lines(_turn_in_words(frame), letters)
    foot = _lines("; ".join(_foot_words(picture)), letters)
    top = _MARGIN + _LINE * (len(head) + (len(boards) > 1))
    below = top + height + (_GAP if boards else 0)
    total = below + _LINE * len(foot) + _MARGIN / 2
    plot = new_figure(width * _CELL_INCHES, total * _CELL_INCHES)
    plot.set_layout_engine("none")
    axes = plot.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, width), ylim=(total, 0))
    axes.axis("off")
    for index, line in enumerate(head):
        position = _MARGIN, _MARGIN / 2 + _LINE * (index + 0.5)
        _text(axes, position, line, 0.3, _INK, at="left")
    for index, line in enumerate(foot):
        position = _MARGIN, below + _LINE * (index + 0.5)
        _text(axes, position, line, 0.26, _SOFT, at="left")
    x = _MARGIN
    for board in boards:
        if len(boards) > 1:
            _text(axes, (x, top - _LINE / 2), board["title"], 0.24, _SOFT, at="left")
        _draw_board(axes, board, x, top, frame)
        x += len(board["columns"]) + _GAP
    return Plot(plot)


def _turn_in_words(frame: Json) -> str:
    words = frame["words"].get("moves", {})
    moves = [f"{role}: {words.get(move, move)}" for role, move in frame["moves"].items()]
    return "; ".join([f"turn {frame['turn']}", *moves])


def _foot_words(picture: Json) -> list[str]:
    """Facts that are not on boards, in words, without bookkeeping."""
    lines: list[str] = []
    for name, kind in KINDS.items():
        for part in picture[name] if name != "boards" else ():
            lines += [kind.words(part)] if kind.lines is None else kind.lines(part)
    return [line for line in lines if line]


def _lines(text: str, letters: int) -> list[str]:
    lines = wrap(text, letters)
    return lines if len(lines) <= _MAX_LINES else [*lines[: _MAX_LINES - 1], "…"]


def _draw_board(axes: Axes, board: Json, x0: float, y0: float, frame: Json) -> None:
    from matplotlib.patches import Rectangle

    columns, rows = board["columns"], board["rows"]
    for index, name in enumerate(columns):
        _text(axes, (x0 + index + 0.5, y0 + len(rows) + 0.22), name, 0.2, _SOFT)
    for index, name in enumerate(rows):
        _text(axes, (x0 - 0.1, y0 + index + 0.5), name, 0.2, _SOFT, at="right")
    is_checkered = min(len(columns), len(rows)) > 2 and any(
        item["symbol"] in _WHITE + _BLACK for cell in board["cells"] for item in cell["items"]
    )
    for cell in board["cells"]:
        x, y = x0 + cell["column"], y0 + cell["row"]
        is_dark = is_checkered and (cell["column"] + len(rows) - cell["row"]) % 2
        face = _DARK if is_dark else _LIGHT
        axes.add_patch(Rectangle((x, y), 1, 1, facecolor=face, edgecolor=_LINES, linewidth=0.6))
        if cell["id"] in frame["marks"]:
            at = (x + 0.04, y + 0.04)
            axes.add_patch(Rectangle(at, 0.92, 0.92, fill=False, edgecolor=_LAST, linewidth=2.0))
        _draw_items(axes, cell, x, y, frame["state"]["owners"])


def _draw_items(axes: Axes, cell: Json, x: float, y: float, owners: list[str]) -> None:
    visible = [item for item in cell["items"] if item["symbol"]]
    inside = [item for item in visible if item["symbol"] not in _EDGES][:4]
    for item in visible:
        if item["symbol"] in _EDGES:
            x1, y1, x2, y2 = _EDGES[item["symbol"]]
            axes.plot([x + x1, x + x2], [y + y1, y + y2], color=_INK, linewidth=2.0)
    for index, item in enumerate(inside):
        middle = (index + 0.5) / len(inside)
        symbol, colour, rim = _look(item, owners)
        size = (0.62 if len(symbol) == 1 else min(0.3, 1.3 / len(symbol))) / len(inside) ** 0.7
        _text(axes, (x + middle, y + 0.5), symbol, size, colour, rim=rim)
        if item["mark"]:
            style = _MARKS[(item["mark"] - 1) % len(_MARKS)]
            ends = [x + middle - 0.3 / len(inside), x + middle + 0.3 / len(inside)]
            axes.plot(ends, [y + 0.86] * 2, color=_INK, linewidth=1.4, linestyle=style)


def _look(item: Json, owners: list[str]) -> tuple[str, str, str | None]:
    """The text to draw for an item, its colour, and the colour of its rim."""
    symbol = item["symbol"]
    words = [item["owner"], *item["text"].replace("_", " ").split()]
    if len(symbol) == 1 and symbol in _WHITE:
        return _BLACK[_WHITE.index(symbol)], _COLOURS["white"], _INK
    colour = next((_COLOURS[word] for word in words if word in _COLOURS), None)
    if colour is None and item["owner"] in owners:
        colour = _OWNERS[owners.index(item["owner"]) % len(_OWNERS)]
    is_light = colour in (_COLOURS["white"], _COLOURS["yellow"])
    return symbol, colour or _INK, _INK if is_light else None


def _text(
    axes: Axes,
    position: tuple[float, float],
    text: str,
    size: float,
    colour: str,
    *,
    at: str = "center",
    rim: str | None = None,
) -> None:
    """Draw a text at a place; its size is its height in cells."""
    from matplotlib.patheffects import withStroke

    points = size * _CELL_INCHES * 72
    style: dict[str, Any] = {"ha": at, "va": "center", "fontsize": points, "color": colour}
    # A text from a rulesheet is not a formula.
    label = axes.text(*position, text, parse_math=False, **style)
    if rim is not None:
        label.set_path_effects([withStroke(linewidth=points / 14, foreground=rim)])

"""`python scripts/rooms.py` draws the packages of the project and what flows between them.

It reads the code alone: a package stands above those that it imports, an arrow goes from where
things are made to where they are used, unless the way through another package says the same, and
beside an arrow stand the classes that most modules take along it. `tests/test_drawing_of_rooms.py`
says when docs/figures/rooms.svg is not what this draws.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from graphlib import TopologicalSorter
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

PROJECT = Path(__file__).resolve().parent.parent
DRAWING = PROJECT / "docs" / "figures" / "rooms.svg"

PACKAGES = ("ggp", "match_runner")
LABS = "ggp.labs."
MAX_NAMES = 3
"""Names beside an arrow."""

ROW, GAP, BOX_WIDTH, BEND = 140, 36, 256, 90
LINE, TOP = 17, 46
"""Pixels: from row to row, between boxes, of a box, and from where an arrow turns to the row below;
of a line of text, and of what stands above the first one in a box."""

MIDDLE, SIDES = 2, (3, 1, 0, *range(4, 10))
"""Columns, those at the sides in the order in which they are filled."""

STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #1f2933 }
  .name { font-weight: 600; font-size: 15px }
  .rooms { fill: #52606d }
  .flow { font-size: 11px; fill: #0b6e4f; stroke: #fff; stroke-width: 3px; paint-order: stroke }
  rect { fill: #f5f7fa; stroke: #9aa5b1 }
  path { fill: none; stroke: #9aa5b1; stroke-width: 1.4 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e4e7eb } .rooms { fill: #9aa5b1 } .flow { fill: #65d6ad; stroke: #0d1117 }
    rect { fill: #1f2933; stroke: #52606d } path { stroke: #616e7c }
  }
"""


class House(NamedTuple):
    """What the code says of itself.

    Attributes:
        rooms: of each package, the folders in it.
        flows: by (user, maker), how many modules of the user take each name from the maker.
    """

    rooms: Mapping[str, tuple[str, ...]]
    flows: Mapping[tuple[str, str], Counter[str]]


class Box(NamedTuple):
    """Where a package stands.

    Attributes:
        x, y: its corner.
        rooms: lines of text.
    """

    x: int
    y: int
    rooms: list[str]

    @property
    def height(self) -> int:
        return TOP - 14 + LINE * len(self.rooms)


def package_of(module: str) -> str | None:
    """The package that a module belongs to; None for modules that stand beside the packages. Each
    lab is a package, and an address of one is none."""
    names = module.split(".")
    if names[0] == "match_runner":
        return "match_runner"
    if names[:2] == ["ggp", "labs"]:
        return ".".join(names[:3]) if len(names) > 3 else None
    if names[:2] == ["ggp", "env"]:
        return None
    is_inside = names[0] == "ggp" and len(names) > 1 and (PROJECT / "ggp" / names[1]).is_dir()
    return f"ggp.{names[1]}" if is_inside else None


def read_house() -> House:
    """Packages, rooms and imports of the project."""
    flows: dict[tuple[str, str], Counter[str]] = {}
    folders: dict[str, set[str]] = {}
    for top in PACKAGES:
        for path in sorted((PROJECT / top).rglob("*.py")):
            module = ".".join(path.relative_to(PROJECT).with_suffix("").parts)
            user = package_of(module)
            if user is None:
                continue
            rooms = folders.setdefault(user, set())
            inside = path.parent.relative_to(PROJECT / user.replace(".", "/")).parts
            rooms.update(inside[:1])
            taken = {
                (maker, name)
                for maker, name in _taken(path)
                if maker != user and (not maker.startswith(LABS) or user.startswith(LABS))
            }
            for maker, name in taken:
                flows.setdefault((user, maker), Counter())[name] += 1
    return House({name: tuple(sorted(rooms)) for name, rooms in folders.items()}, flows)


def _taken(path: Path) -> Iterator[tuple[str, str]]:
    """Packages that a file imports from when it is imported, and the names that it takes."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ImportFrom) and (maker := package_of(node.module or "")):
            yield from ((maker, alias.name) for alias in node.names)


def heights(house: House) -> dict[str, int]:
    """How high each package stands: above all that it imports, the lowest at 0."""
    makers = {name: {maker for user, maker in house.flows if user == name} for name in house.rooms}
    sorter = TopologicalSorter(makers)
    sorter.prepare()
    found: dict[str, int] = {}
    while ready := sorter.get_ready():
        found |= dict.fromkeys(ready, max(found.values(), default=-1) + 1)
        sorter.done(*ready)
    return found


def columns(drawn: Sequence[tuple[str, str]], height_of: Mapping[str, int]) -> dict[str, int]:
    """The column of each package: the longest way from the lowest to the highest in the middle, the
    others where their arrows upwards meet no box."""
    top = max(height_of, key=lambda name: height_of[name])
    found = {top: MIDDLE}
    while makers := [maker for user, maker in drawn if user == top]:
        top = max(makers, key=lambda name: height_of[name])
        found[top] = MIDDLE
    taken: dict[int, set[int]] = {}
    for name in sorted(height_of.keys() - found.keys(), key=lambda name: (height_of[name], name)):
        highest = max((height_of[user] for user, maker in drawn if maker == name), default=0)
        rows = set(range(height_of[name], max(highest, height_of[name] + 1)))
        free = [column for column in SIDES if not rows & taken.get(column, set())]
        found[name] = free[0]
        taken.setdefault(free[0], set()).update(rows)
    return found


def arrows(house: House) -> list[tuple[str, str]]:
    """(user, maker) of the arrows: those that no way through another package stands for."""
    makers = {name: {maker for user, maker in house.flows if user == name} for name in house.rooms}

    def reached(name: str) -> set[str]:
        return makers[name].union(*(reached(maker) for maker in makers[name]))

    return [
        (user, maker)
        for user, maker in sorted(house.flows)
        if not any(maker in reached(other) for other in makers[user] - {maker})
    ]


def draw(house: House) -> str:
    """The drawing, as SVG."""
    height_of, drawn = heights(house), arrows(house)
    column_of = columns(drawn, height_of)
    num_rows = max(height_of.values()) + 1
    boxes = {
        name: Box(
            GAP + column_of[name] * (BOX_WIDTH + GAP),
            GAP + (num_rows - 1 - height_of[name]) * ROW,
            _wrapped(house.rooms[name]),
        )
        for name in sorted(house.rooms)
    }
    parts: list[str] = []
    flows: list[str] = []
    for user in boxes:
        makers = sorted((m for u, m in drawn if u == user), key=lambda maker: boxes[maker].x)
        for place, maker in enumerate(makers):
            over = [u for u, m in drawn if m == maker]
            leaves = (sorted(over, key=lambda u: boxes[u].x).index(user) + 1) / (len(over) + 1)
            arrives = (place + 1) / (len(makers) + 1)
            parts.append(_arrow(boxes[maker], leaves, boxes[user], arrives))
            flows.append(_flow(house.flows[user, maker], boxes[user], place))
    parts += [*flows, *(_box(name, boxes[name]) for name in sorted(boxes))]
    height = GAP + num_rows * ROW
    width = (max(column_of.values()) + 1) * (BOX_WIDTH + GAP) + GAP
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">\n'
        f"<title>Packages, and what flows between them</title>\n<style>{STYLE}</style>\n"
        '<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" '
        'orient="auto"><path d="M0 0 L8 4 L0 8"/></marker>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def _wrapped(words: tuple[str, ...], most: int = 36) -> list[str]:
    lines: list[str] = []
    for word in words:
        if lines and len(lines[-1]) + len(word) + 2 <= most:
            lines[-1] += f", {word}"
        else:
            lines.append(word)
    return lines


def _box(name: str, box: Box) -> str:
    x, y, lines = box
    texts = [f'<text class="name" x="{x + 10}" y="{y + 22}">{escape(name)}</text>']
    texts += [
        f'<text class="rooms" x="{x + 10}" y="{y + TOP - 4 + LINE * k}">{escape(line)}</text>'
        for k, line in enumerate(lines)
    ]
    rect = f'<rect x="{x}" y="{y}" width="{BOX_WIDTH}" height="{box.height}" rx="6"/>'
    return "\n".join([rect, *texts])


def _arrow(maker: Box, leaves: float, user: Box, arrives: float) -> str:
    """A curve from the top of one box, at a share of its width, to the bottom of another."""
    x, y = maker.x + leaves * BOX_WIDTH, maker.y
    to_x, to_y = user.x + arrives * BOX_WIDTH, user.y + user.height
    turn, middle = to_y + ROW - BEND, to_y + (ROW - BEND) / 2
    begin = f"M{x:.0f} {y} V{min(turn, y)} "
    curve = f"{begin}C{x:.0f} {middle:.0f} {to_x:.0f} {middle:.0f} {to_x:.0f} {to_y}"
    return f'<path d="{curve}" marker-end="url(#tip)"/>'


def _flow(names: Counter[str], user: Box, place: int) -> str:
    """The classes that are taken most, at the foot of the box of who takes them."""
    classes = [name for name in names if name[0].isupper() and not name.isupper()]
    told = [name for name in classes if not name.endswith("Array")]
    most = sorted(told, key=lambda name: (-names[name], name))[:MAX_NAMES]
    y = user.y + user.height + 16 + 14 * place
    return f'<text class="flow" x="{user.x + 10}" y="{y}">{escape(", ".join(most))}</text>'


if __name__ == "__main__":
    DRAWING.write_text(draw(read_house()))

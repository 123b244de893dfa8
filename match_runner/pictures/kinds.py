"""The parts of a picture, by kind: boards, cards, counters, tables and facts, as JSON of texts.

Facts come in; parts go out, for the page, the terminal and files to draw. Every fact is in a
picture exactly once: each kind takes the facts that it can draw, and leaves the rest to the next
kind. To add a kind, write its functions here and a line in `KINDS`, and the same in the page
(`KINDS` in `board.js`).

Names come from rulesheets, so they may be anything: texts are cut to `LONGEST` characters, and the
parts of ids are escaped so that no two cells share an id.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from types import MappingProxyType
from typing import Any, NamedTuple

from ggp.gdl.program import RANDOM
from ggp.gdl.terms import Compound, Signature, Term, signature
from match_runner.pictures.coordinates import natural
from match_runner.pictures.faces import CARDS, Face, FaceKind, card_face, label_of, plain_label
from match_runner.pictures.grids import MAX_CELLS, MAX_LAYERS, Grid, Place, Spot, words_of
from match_runner.pictures.shapes import FluentLeaf, FluentShape, Skeleton, flatten
from match_runner.pictures.side_file import plain
from match_runner.pictures.words import in_order, short

LONGEST_FACT = 400
"""Most characters of a whole fact."""

MAX_FACTS = 5_000
"""Most facts in one picture; it only counts the rest."""

_ROUNDING = 1e-6
"""Error of sums of shares."""

Json = dict[str, Any]


class DrawnFact(NamedTuple):
    """A fact to draw.

    Attributes:
        text: the fact as KIF; facts are sorted by it.
        share: its probability, from 0 to 1.
    """

    text: str
    fact: Term
    share: float


class Rules(NamedTuple):
    """A game's fluents, and where to draw them.

    Attributes:
        roles: without `random`.
        headers: headers of tables of fluents, see `headers_of`.
        grids, places: its boards, and the place of each shape's fluents on them.
        words: puts a fluent into words; empty for bookkeeping that people need not see, None where
            the game has no words for it.
        faces: the shapes whose fluents are cards, dice or counters.
        around: words of a fluent without some of its leaves, as `words`.
    """

    roles: tuple[str, ...]
    headers: Mapping[Signature, list[str]]
    grids: Sequence[Grid]
    places: Mapping[Skeleton, Place]
    words: Callable[[Term], str | None] = lambda fluent: None
    faces: Mapping[Skeleton, Face] = MappingProxyType({})
    around: Callable[[Term, Collection[int]], str | None] = lambda fluent, gaps: None


Taken = tuple[list[Json], list[DrawnFact]]
"""The parts made from facts, and the facts that are left for later kinds."""


class Kind(NamedTuple):
    """One kind of parts; a part is JSON that the page draws.

    Attributes:
        take: makes parts from facts of a game.
        certain: reduces a part to its certain facts, None if there are none; may change the part.
        is_view: whether a part deserves a picture if it consists of percepts.
        words: the part in plain text, where the terminal does not draw it.
        lines: the part in words for people, without bookkeeping, for the text beside the boards;
            None for its plain text.
    """

    take: Callable[[Rules, Sequence[DrawnFact]], Taken]
    certain: Callable[[Json], Json | None]
    is_view: Callable[[Json], bool] = lambda part: False
    words: Callable[[Json], str] = str
    lines: Callable[[Json], Sequence[str]] | None = None


@dataclass(slots=True)
class Picture:
    """Picture of a state, of the percepts of a turn, or of a belief.

    Attributes:
        parts: parts by the name of their kind.
        owners: the roles in order, for colours.
    """

    parts: Mapping[str, Sequence[Json]]
    owners: Sequence[str] = ()

    def to_json(self) -> Json:
        """The picture as the page reads it: dicts, lists, strings and numbers."""
        return {**self.parts, "owners": list(self.owners)}


def id_part(name: str) -> str:
    """A name as a part of an id: short, without separators, and different for different names."""
    safe = name.replace("%", "%25").replace(",", "%2C").replace(":", "%3A").replace(" ", "%20")
    if len(safe) <= 40:
        return safe
    return f"{safe[:20]}%{blake2b(name.encode(errors='replace'), digest_size=8).hexdigest()}"


# ------------------------------------------------------------------------
# Boards: grids with items in their cells.
#
# board  id, title; columns, from left to right, and rows, from top to bottom: the names at its
#        edge; cells, row by row: a board need not be a full rectangle
# cell   id; column and row, indices from the top left; items, the likeliest first
# item   text: in words, such as `black rook`; symbol: the character to draw for a well-known
#        piece, otherwise the text, empty if the item says that the cell is empty; owner: the role
#        that owns it, or empty; mark: number of the owner's mark where symbols are alike, 0 for
#        none; share: its probability; title: the fluent as KIF

UNKNOWN = {
    **{"text": "unknown", "symbol": "?", "owner": None},
    **{"mark": 0, "share": 1.0, "title": "not known"},
}
"""The item of a cell whose contents a role does not know completely; `last` is an item that it once
saw there, if any."""


def take_on_boards(rules: Rules, facts: Sequence[DrawnFact]) -> Taken:
    """Put fluents on the grids of a game. It makes every board, even empty."""
    on_grids: list[dict[Spot, list[Json]]] = [{} for _ in rules.grids]
    extents = [ShownExtent(grid) for grid in rules.grids]
    rest = []
    for drawn_fact in facts:
        skeleton, leaves = flatten(drawn_fact.fact)
        place = rules.places.get(skeleton)
        names = [str(leaf) for leaf in leaves]
        spot = None if place is None else _spot(rules.grids[place.grid], place, names)
        if place is None or spot is None or not extents[place.grid].takes(spot):
            rest.append(drawn_fact)
            continue
        item = _item(rules.grids[place.grid], place, skeleton, names, drawn_fact)
        on_grids[place.grid].setdefault(spot, []).append(item)
    pairs = zip(extents, on_grids, strict=True)
    return [board for extent, items in pairs for board in _of_layers(extent, items)], rest


def certain_board(part: Json) -> Json:
    """A board with its certain items, and `UNKNOWN` in cells that may have others."""
    for cell in part["cells"]:
        sure = [item for item in cell["items"] if item["share"] >= 1.0]
        cell["items"] = sure if len(sure) == len(cell["items"]) else [*sure, dict(UNKNOWN)]
    return part


def has_items(part: Json) -> bool:
    """Whether a board has items."""
    return any(cell["items"] for cell in part["cells"])


def _item(
    grid: Grid, place: Place, skeleton: Skeleton, names: Sequence[str], drawn_fact: DrawnFact
) -> Json:
    words = [names[i] for i in place.member.content]
    head = skeleton[0]
    if place.named and head is not None:
        words = [*words_of(head[0], has_content=bool(words)), *words]
    look = grid.symbols.look(words)
    title = short(drawn_fact.text, LONGEST_FACT)
    return {
        "text": short(look.text),
        "symbol": short(look.symbol, 24),
        "owner": look.owner,
        "mark": look.mark,
        "share": drawn_fact.share,
        "title": title,
    }


class ShownExtent:
    """The part of a grid to show: its core, and occupied cells beside it, up to a limit."""

    def __init__(self, grid: Grid) -> None:
        self.grid = grid
        self._box = grid.core
        has_few = len(grid.layers) <= MAX_LAYERS
        self._layers = {layer for layer in grid.layers if has_few and layer != (RANDOM,)}

    def takes(self, spot: Spot) -> bool:
        """Make room for a cell; false if the grid would be too large."""
        layer, column, row = spot
        x, y = self.grid.columns.index(column), self.grid.rows.index(row)
        first_column, last_column, first_row, last_row = self._box
        box = min(first_column, x), max(last_column, x), min(first_row, y), max(last_row, y)
        num = (box[1] - box[0] + 1) * (box[3] - box[2] + 1)
        layers = self._layers | {layer}
        if len(layers) > MAX_LAYERS or num * len(layers) > 2 * MAX_CELLS:
            return False
        self._box, self._layers = box, layers
        return True

    @property
    def layers(self) -> list[tuple[str, ...]]:
        """Layers to show, in order."""
        return [layer for layer in self.grid.layers if layer in self._layers]

    @property
    def columns(self) -> Sequence[str]:
        """Columns to show, from left to right."""
        return self.grid.columns[self._box[0] : self._box[1] + 1]

    @property
    def rows(self) -> Sequence[str]:
        """Rows to show, from top to bottom."""
        return self.grid.rows[self._box[2] : self._box[3] + 1]


def _spot(grid: Grid, place: Place, names: Sequence[str]) -> Spot | None:
    """Layer, column and row of a fluent; None if it is beside the board."""
    member = place.member
    row = "" if member.rows is None else member.rows.of(names)
    return grid.spot(tuple(names[i] for i in member.layers), member.columns.of(names), row)


def _of_layers(extent: ShownExtent, items: Mapping[Spot, list[Json]]) -> Iterator[Json]:
    grid, columns, rows = extent.grid, extent.columns, extent.rows
    for layer in extent.layers:
        cells = [
            {
                "id": cell_id(grid, layer, column, row),
                "column": x,
                "row": y,
                "items": sorted(items.get((layer, column, row), []), key=lambda i: -i["share"]),
            }
            for y, row in enumerate(rows)
            for x, column in enumerate(columns)
            if grid.cells is None or (column, row) in grid.cells or (layer, column, row) in items
        ]
        yield {
            "id": _board_id(grid, layer),
            "title": short(" ".join((grid.title, *layer))),
            "columns": [short(column) for column in columns],
            "rows": [short(row) for row in rows],
            "cells": cells,
        }


def _board_id(grid: Grid, layer: Sequence[str]) -> str:
    return "@".join(id_part(name) for name in (grid.name, *layer))


def cell_id(grid: Grid, layer: Sequence[str], column: str, row: str) -> str:
    at = id_part(column) if grid.rows == ("",) else f"{id_part(column)},{id_part(row)}"
    return f"{_board_id(grid, layer)}:{at}"


# ------------------------------------------------------------------------
# Cards: a hand for each owner and name of fluents; dice are cards with pips.
#
# hand  title: whose it is, in words; owner: the role, or empty; cards
# card  text: in words; symbol: its rank or name, `?` face down; suit: the sign of the suit, or
#       empty; dice: numbers of pips, empty for a card; note: a number beside it, or empty; share;
#       title: the fluent as KIF

FACE_DOWN: Json = {
    **{"text": "face down", "symbol": "?", "suit": "", "dice": [], "note": ""},
    **{"share": 1.0, "title": "not known"},
}
"""A card that a role does not know."""


class _Faced(NamedTuple):
    """A fluent with a face."""

    face: Face
    names: Sequence[str]
    label: str
    drawn: DrawnFact


def _with_faces(
    rules: Rules, facts: Sequence[DrawnFact], kinds: Collection[FaceKind]
) -> tuple[list[_Faced], list[DrawnFact]]:
    """The facts with a face of some kinds, and the other facts; bookkeeping has no face."""
    faced, rest = [], []
    for drawn_fact in facts:
        skeleton, leaves = flatten(drawn_fact.fact)
        face = rules.faces.get(skeleton)
        names, head, label = [str(leaf) for leaf in leaves], skeleton[0], None
        if face is not None and face.kind in kinds and face.can_show(names):
            gaps = {face.leaf} if face.note is None else {face.leaf, face.note}
            words = rules.around(drawn_fact.fact, gaps)
            name = "" if head is None else head[0]
            label = plain_label(name, names, face) if words is None else label_of(words)
        if face is None or not label:
            rest.append(drawn_fact)
        else:
            faced.append(_Faced(face, names, short(label), drawn_fact))
    return faced, rest


def take_into_hands(rules: Rules, facts: Sequence[DrawnFact]) -> Taken:
    """Put cards and dice into hands."""
    faced, rest = _with_faces(rules, facts, CARDS)
    hands: dict[tuple[str, str], Json] = {}
    for each in faced:
        owner = "" if each.face.owner is None else each.names[each.face.owner]
        hand = hands.setdefault(
            (each.label, owner), {"title": each.label, "owner": short(owner), "cards": []}
        )
        hand["cards"].append(_card(each))
    for hand in hands.values():
        hand["cards"].sort(key=lambda card: -card["share"])
    return list(hands.values()), rest


def _card(faced: _Faced) -> Json:
    face, name = faced.face, faced.names[faced.face.leaf]
    symbol, suit = card_face(name) if face.kind is FaceKind.CARD else (name, "")
    return {
        "text": short(plain(name)),
        "symbol": short(symbol, 24),
        "suit": suit,
        "dice": [int(digit) for digit in name] if face.kind is FaceKind.DICE else [],
        "note": "" if face.note is None else short(faced.names[face.note]),
        "share": faced.drawn.share,
        "title": short(faced.drawn.text, LONGEST_FACT),
    }


def certain_hand(part: Json) -> Json:
    """A hand with its certain cards, and as many cards face down as there are others.

    A card whose rank is certain is face up, without its suit.
    """
    sure = [card for card in part["cards"] if card["share"] >= 1.0]
    others = [card for card in part["cards"] if card["share"] < 1.0]
    hidden = max(1, round(sum(card["share"] for card in others))) if others else 0
    symbols = {card["symbol"] for card in others}
    down = dict(FACE_DOWN)
    is_one = len(symbols) == 1 and abs(sum(card["share"] for card in others) - 1) < _ROUNDING
    if is_one and not others[0]["dice"]:
        symbol = symbols.pop()
        down |= {"text": f"{symbol}, suit not known", "symbol": symbol}
    return {**part, "cards": [*sure, *(dict(down) for _ in range(hidden))]}


def words_of_hand(part: Json) -> str:
    """A hand in plain text: `player1 holds K`."""
    cards = (
        f"{card['symbol']}{card['suit']}{f' ({note})' if (note := card['note']) else ''}"
        f"{_share_of(card)}"
        for card in part["cards"]
    )
    return f"{part['title']}: {' '.join(cards)}"


def _share_of(part: Json) -> str:
    """A probability in words, unless it is certain."""
    return "" if part["share"] >= 1 - _ROUNDING else f" {part['share']:.2f}"


# ------------------------------------------------------------------------
# Counters: numbers with names.
#
# counter  title: its name; owner: the role in its name, or empty; values, the likeliest first
# value    text; share; title: the fluent as KIF


def take_counters(rules: Rules, facts: Sequence[DrawnFact]) -> Taken:
    """Take counters: facts with a number that has only one value at a time."""
    faced, rest = _with_faces(rules, facts, (FaceKind.COUNTER,))
    groups: dict[tuple[str, ...], list[_Faced]] = {}
    for each in faced:
        skeleton, _ = flatten(each.drawn.fact)
        others = (name for i, name in enumerate(each.names) if i != each.face.leaf)
        groups.setdefault((str(skeleton), *others), []).append(each)
    counters = []
    for members in groups.values():
        if sum(each.drawn.share for each in members) > 1 + _ROUNDING:
            rest += [each.drawn for each in members]
        else:
            counters.append(_counter(members))
    return counters, rest


def _counter(members: Sequence[_Faced]) -> Json:
    first = members[0]
    owner = "" if first.face.owner is None else first.names[first.face.owner]
    values = [
        {
            "text": short(each.names[each.face.leaf]),
            "share": each.drawn.share,
            "title": short(each.drawn.text, LONGEST_FACT),
        }
        for each in sorted(members, key=lambda each: -each.drawn.share)
    ]
    return {"title": first.label, "owner": short(owner), "values": values}


def certain_counter(part: Json) -> Json:
    """A counter with its value if that is certain, else with a question mark."""
    sure = [value for value in part["values"] if value["share"] >= 1.0]
    return {**part, "values": sure or [{"text": "?", "share": 1.0, "title": "not known"}]}


def words_of_counter(part: Json) -> str:
    """A counter in plain text: `turns played: 3`."""
    values = (value["text"] + _share_of(value) for value in part["values"])
    return f"{part['title']}: {' '.join(values)}"


# ------------------------------------------------------------------------
# Tables: facts with the same name, a row each.
#
# table  title, headers, rows, and shares of the rows; words: the rows in words, empty for
#        bookkeeping, which is folded away; no words where the game has none


def take_into_tables(rules: Rules, facts: Sequence[DrawnFact]) -> Taken:
    """Make tables of facts with the same name."""
    groups: dict[Signature, list[DrawnFact]] = {}
    for drawn_fact in facts:
        groups.setdefault(signature(drawn_fact.fact), []).append(drawn_fact)
    tables, single = [], []
    for (name, arity), members in groups.items():
        if arity == 0 or len(members) == 1:
            single += members
            continue
        rows = []
        for drawn_fact in members:
            assert isinstance(drawn_fact.fact, Compound)
            row = tuple(str(arg) for arg in drawn_fact.fact.args)
            rows.append((row, drawn_fact.share, rules.words(drawn_fact.fact)))
        rows.sort(key=lambda r: [natural(text) for text in r[0]])
        words = [text for _, _, text in rows]
        tables.append(
            {
                "title": short(name),
                "headers": rules.headers.get((name, arity)) or [str(i + 1) for i in range(arity)],
                "rows": [[short(text) for text in row] for row, _, _ in rows],
                "shares": [share for _, share, _ in rows],
                "words": [] if None in words else words,
            }
        )
    return tables, single


def certain_table(part: Json) -> Json | None:
    """A table with its certain rows; None without any."""
    certain = [index for index, share in enumerate(part["shares"]) if share >= 1]
    for key in ("rows", "shares", "words"):
        part[key] = [part[key][index] for index in certain] if part[key] else []
    return part if certain else None


def headers_of(shapes: Sequence[FluentShape], roles: Sequence[str]) -> dict[Signature, list[str]]:
    """Headers of tables by signature: the variables of the rules, if these are words."""
    headers = {}
    for shape in shapes:
        head = shape.skeleton[0]
        if head is not None and head[1] == len(shape.leaves) == len(shape.skeleton) - 1:
            headers[head] = [_header(i, leaf, roles) for i, leaf in enumerate(shape.leaves)]
    return headers


def _header(index: int, leaf: FluentLeaf, roles: Sequence[str]) -> str:
    if leaf.values and set(leaf.values) <= {*roles, RANDOM}:
        return "role"
    return leaf.name if len(leaf.name) > 2 and leaf.name.isalpha() else str(index + 1)


# ------------------------------------------------------------------------
# Facts that no other kind has taken.
#
# fact  text: as KIF; share; words: in words, empty for bookkeeping, which is folded away


def take_facts(rules: Rules, facts: Sequence[DrawnFact]) -> Taken:
    """Take all remaining facts."""
    parts = []
    for drawn_fact in facts:
        words = rules.words(drawn_fact.fact)
        words = in_order(drawn_fact.fact) if words is None else words
        parts.append(fact(short(drawn_fact.text, LONGEST_FACT), drawn_fact.share, words))
    return parts, []


def fact(text: str, share: float = 1.0, words: str | None = None) -> Json:
    """A line of text, with its words if they differ."""
    return {"text": text, "share": share, "words": text if words is None else words}


def lines_of_table(part: Json) -> Sequence[str]:
    """Rows of a table, in the words of the game if it has words."""
    plain = [" ".join([part["title"], *row]) for row in part["rows"]]
    words: Sequence[str] = part["words"]
    return words or plain


def text_of_fact(part: Json) -> str:
    """A fact as KIF."""
    return str(part["text"])


def certain_fact(part: Json) -> Json | None:
    """The fact if it is certain, else None."""
    return part if part["share"] >= 1.0 else None


KINDS: Mapping[str, Kind] = {
    "boards": Kind(take_on_boards, certain_board, is_view=has_items),
    "cards": Kind(take_into_hands, certain_hand, words=words_of_hand),
    "counters": Kind(take_counters, certain_counter, words=words_of_counter),
    "tables": Kind(take_into_tables, certain_table, lines=lines_of_table),
    "facts": Kind(take_facts, certain_fact, words=text_of_fact, lines=lambda fact: [fact["words"]]),
}
"""Kinds by their names in JSON. They take facts, and are drawn, in this order."""

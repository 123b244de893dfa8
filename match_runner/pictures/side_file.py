"""Reads `NAME.picture.toml` beside a rulesheet: boards that the rules do not show, and words.

    [[boards]]
    fluents = ["(ship ?who ?x ?y)", "(shot ?who ?x ?y)"]
    title = "Fleet"      # else the name of the first fluent
    columns = "?x"       # the variable that goes across; ?x if it is not given
    rows = "?y"          # the one that goes up; ?y if it is not given, "" for a board of one row
    layer = "?who"       # a board for each of its values; none if it is not given
    first_row = "top"    # or "bottom"

    [symbols]            # what is in a cell, in words, and the text to draw instead
    shot = "•"

    [owners]             # the role that owns a content, where no name says so
    rook = "white"

    [plain]              # fluents that are not on boards, though they look as if they were
    fluents = ["(score ?x ?y)"]

    [moves]              # moves, percepts and fluents in words; the first pattern that fits counts
    "(fire ?x ?y)" = "fire at ?x,?y"

    [percepts]           # ?whose is "your", "black's" or "the", by whose move it was
    hit = "Your ship is hit."
    refused = "The umpire refuses ?whose try."

    [fluents]            # only those that are not drawn on boards
    "(turns ?n)" = "?n turns played"
    "(may_castle ? ?)" = ""    # bookkeeping, which is folded away

Other variables of a fluent are the content of the cell. Everything is optional.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ggp.errors import ConfigError, GDLError
from ggp.gdl import parse_term
from ggp.gdl.games import game_that_comes
from ggp.gdl.terms import Compound, Term, Variable
from ggp.run.whole_files import read_toml
from match_runner.pictures.coordinates import (
    Axis,
    Candidate,
    CoordinateKind,
    Order,
    natural,
    order_of,
)
from match_runner.pictures.shapes import FluentShape, Skeleton, flatten

SUFFIX = ".picture.toml"

MAX_BYTES = 100_000


def side_file_of(rulesheet: Path) -> Path | None:
    """Path of a rulesheet's side file, which describes its picture; None if there is none."""
    path = rulesheet.with_suffix(SUFFIX)
    return path if path.is_file() else None


SAID = ("moves", "percepts", "fluents")
"""Tables of sayings."""


def side_file_for(game: str, rules: str) -> Path | None:
    """Path of the side file of a game that comes with ggp; None if there is none.

    Args:
        rules: text of the rulesheet, or empty; a text that differs from the game's has none.
    """
    path = game_that_comes(game)
    if path is None or (rules and path.read_text(encoding="utf-8") != rules):
        return None
    return side_file_of(path)


_BOARD_KEYS = ("fluents", "title", "columns", "rows", "layer", "first_row")


@dataclass(frozen=True, slots=True)
class SideBoard:
    """A board as the side file describes it.

    Attributes:
        fluents: skeleton of each fluent, and the names of its variables by leaf.
        columns, rows, layer: names of variables; empty for none.
        downwards: whether the first row is at the top.
    """

    fluents: tuple[tuple[Skeleton, tuple[str, ...]], ...]
    title: str
    columns: str
    rows: str
    layer: str
    downwards: bool


@dataclass(frozen=True, slots=True)
class SideFile:
    """A game's description of its own picture."""

    boards: tuple[SideBoard, ...] = ()
    symbols: Mapping[str, str] = field(default_factory=dict)
    owners: Mapping[str, str] = field(default_factory=dict)
    plain: frozenset[Skeleton] = frozenset()
    sayings: Mapping[str, tuple[Saying, ...]] = field(default_factory=dict)


NO_SIDE_FILE = SideFile()


def read_side_file(path: Path, roles: Sequence[str]) -> SideFile:
    """Read a side file.

    Raises:
        ConfigError: it cannot be read or is malformed; the message names file and key.
    """
    if path.is_file() and path.stat().st_size > MAX_BYTES:
        raise ConfigError(f"{path} is larger than {MAX_BYTES:,} bytes")
    tables = read_toml(path)
    try:
        return _side_file(tables, roles)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error


def _side_file(data: Mapping[str, Any], roles: Sequence[str]) -> SideFile:
    _check_keys(data, ("boards", "symbols", "owners", "plain", *SAID), "")
    boards = data.get("boards", [])
    if not isinstance(boards, list) or not all(isinstance(board, dict) for board in boards):
        raise ConfigError("boards: must be tables [[boards]]")
    plain = _table(data, "plain")
    _check_keys(plain, ("fluents",), "plain.")
    owners = _texts(data, "owners")
    for name, owner in owners.items():
        if owner not in roles:
            raise ConfigError(f"owners.{name}: {owner!r} is not a role; roles: {', '.join(roles)}")
    return SideFile(
        tuple(_board(board, f"boards[{i}].") for i, board in enumerate(boards, start=1)),
        _texts(data, "symbols"),
        owners,
        frozenset(skeleton for skeleton, _ in _fluents(plain, "plain.", is_required=False)),
        {kind: _sayings(data, kind) for kind in SAID},
    )


def _sayings(data: Mapping[str, Any], kind: str) -> tuple[Saying, ...]:
    try:
        given = (WHOSE,) if kind == "percepts" else ()
        return tuple(saying(pattern, text, given) for pattern, text in _texts(data, kind).items())
    except ConfigError as error:
        raise ConfigError(f"{kind}: {error}") from error


def _board(data: Mapping[str, Any], prefix: str) -> SideBoard:
    _check_keys(data, _BOARD_KEYS, prefix)
    fluents = _fluents(data, prefix, is_required=True)
    columns, rows = _variable(data, "columns", "?x", prefix), _variable(data, "rows", "?y", prefix)
    layer = _variable(data, "layer", "", prefix)
    for key, name in (("columns", columns), ("rows", rows), ("layer", layer)):
        for _, names in fluents:
            if name and names.count(name) != 1:
                raise ConfigError(f"{prefix}{key}: ?{name} must be in each fluent exactly once")
    first = data.get("first_row", "bottom")
    if first not in ("top", "bottom"):
        raise ConfigError(f'{prefix}first_row: must be "top" or "bottom", not {first!r}')
    title = data.get("title", "")
    if not isinstance(title, str):
        raise ConfigError(f"{prefix}title: must be a text")
    return SideBoard(fluents, title, columns, rows, layer, first == "top")


def _fluents(
    data: Mapping[str, Any], prefix: str, *, is_required: bool
) -> tuple[tuple[Skeleton, tuple[str, ...]], ...]:
    texts = data.get("fluents", [])
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise ConfigError(f'{prefix}fluents: must be a list of texts such as "(cell ?x ?y ?piece)"')
    if is_required and not texts:
        raise ConfigError(f"{prefix}fluents: name the fluents of this board")
    fluents = []
    for text in texts:
        try:
            term = parse_term(text)
        except GDLError as error:
            raise ConfigError(f"{prefix}fluents: {text!r} is not a fluent: {error}") from error
        skeleton, leaves = flatten(term)
        if not isinstance(term, Compound) or not all(isinstance(x, Variable) for x in leaves):
            raise ConfigError(f"{prefix}fluents: {text!r} must have variables for arguments")
        fluents.append((skeleton, tuple(str(leaf)[1:] for leaf in leaves)))
    return tuple(fluents)


def _variable(data: Mapping[str, Any], key: str, default: str, prefix: str) -> str:
    value = data.get(key, default)
    if not isinstance(value, str) or (value and not value.startswith("?")):
        raise ConfigError(f'{prefix}{key}: must be a variable such as "?x"')
    return value[1:].lower()


def _table(data: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = data.get(key, {})
    if not isinstance(value, dict):
        raise ConfigError(f"{key}: must be a table [{key}]")
    return value


def _texts(data: Mapping[str, Any], key: str) -> dict[str, str]:
    table = _table(data, key)
    for name, value in table.items():
        if not isinstance(value, str):
            raise ConfigError(f"{key}.{name}: must be a text")
    return {name.lower(): value for name, value in table.items()}


def _check_keys(data: Mapping[str, Any], keys: Iterable[str], prefix: str) -> None:
    for key in data:
        if key not in keys:
            raise ConfigError(f"{prefix}{key}: unknown; possible: {', '.join(keys)}")


def groups_of(
    side: SideFile, shapes: Sequence[FluentShape], chains: Sequence[Mapping[str, str]]
) -> list[tuple[str, list[Candidate]]]:
    """Title and members of each board of a side file.

    Raises:
        ConfigError: the game has no such fluents.
    """
    by_skeleton = {shape.skeleton: shape for shape in shapes}
    groups = []
    for number, board in enumerate(side.boards, start=1):
        members = []
        for skeleton, names in board.fluents:
            shape = by_skeleton.get(skeleton)
            if shape is None:
                head = skeleton[0] or ("?", 0)
                raise ConfigError(
                    f"boards[{number}].fluents: the game has no fluents ({head[0]} ...) "
                    f"with {head[1]} arguments"
                )
            members.append(_member(board, shape, names, chains))
        groups.append((board.title, members))
    return groups


def _member(
    board: SideBoard, shape: FluentShape, names: Sequence[str], chains: Sequence[Mapping[str, str]]
) -> Candidate:
    leaves = {name: i for i, name in enumerate(names)}
    across = leaves[board.columns]
    up = leaves[board.rows] if board.rows else None
    layers = (leaves[board.layer],) if board.layer else ()
    coordinates = {across, *layers, *(() if up is None else (up,))}
    return Candidate(
        shape,
        Axis((across,)),
        None if up is None else Axis((up,)),
        (_order(shape, across, chains), None if up is None else _order(shape, up, chains)),
        tuple(i for i in range(len(names)) if i not in coordinates),
        layers,
        downwards=board.downwards,
    )


def _order(shape: FluentShape, leaf: int, chains: Sequence[Mapping[str, str]]) -> Order:
    values = shape.leaves[leaf].values
    order = order_of(values, chains, gaps=True)
    return order or Order(tuple(sorted(values, key=natural)), CoordinateKind.CHAIN)


# ------------------------------------------------------------------------
# Sayings: words for the terms that match a pattern, such as `"(fire ?x ?y)" = "fire at ?x,?y"`.

_VARIABLE = re.compile(r"\?(\w+)")

WHOSE = "whose"
"""The variable of a percept's saying that says whose move led to it."""

NOTHING: Mapping[str, str] = {}


def plain(name: str) -> str:
    """A name without underscores."""
    return name.replace("_", " ").strip() or name


@dataclass(frozen=True, slots=True)
class Saying:
    """Words for the terms that match one pattern.

    Attributes:
        skeleton: their shape.
        leaves: constants that they must have, and variables that match any term.
        text: the words, with variables; empty for bookkeeping.
    """

    skeleton: Skeleton
    leaves: tuple[Term, ...]
    text: str

    def of(
        self, skeleton: Skeleton, leaves: Sequence[Term], given: Mapping[str, str] = NOTHING
    ) -> str | None:
        """The words for a term; None if it does not match. `given` has further variables."""
        if skeleton != self.skeleton:
            return None
        bound = dict(given)
        for pattern, leaf in zip(self.leaves, leaves, strict=True):
            if isinstance(pattern, Variable):
                bound[pattern.name.lower()] = plain(str(leaf))
            elif pattern != leaf:
                return None
        return _VARIABLE.sub(lambda match: bound[match[1].lower()], self.text)


Sayings = Sequence[Saying]


def saying(pattern: str, text: str, given: Collection[str] = ()) -> Saying:
    """Read a saying; `given` has the variables that it may use besides those of the pattern.

    Raises:
        ConfigError: the pattern is not a term, or lacks a variable of the text.
    """
    try:
        term = parse_term(pattern)
    except GDLError as error:
        raise ConfigError(f"{pattern!r} is not a term: {error}") from error
    skeleton, leaves = flatten(term)
    variables = {leaf.name.lower() for leaf in leaves if isinstance(leaf, Variable)}
    for name in _VARIABLE.findall(text):
        if name.lower() not in variables and name.lower() not in given:
            raise ConfigError(f"{text!r} has ?{name}, which is not in {pattern}")
    return Saying(skeleton, leaves, text)

"""A folder holds one idea and says so, and imports go in no circles."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from fnmatch import fnmatch
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

from ggp.players import Player
from tests.support.games import REPOSITORY
from tests.support.imports import imported_modules, module_of

OF_A_KIND = {"ggp/cli", "ggp/players", "tests/cli"}
"""These hold a file a command, a player, however many there are."""

BESIDE_PLAYERS = {"player", "spec", "spiel_bot"}
"""In the room of players: the protocol of a player, the list of them, and an alias of one
elsewhere."""

WITHOUT_A_MAP = {"ggp"}
"""docs/understand/architecture.md describes its rooms: its docstring is `help(ggp)`."""

FILES = sorted(
    path
    for package in ("ggp", "match_runner", "benchmarks")
    for path in (REPOSITORY / package).rglob("*.py")
)

ROOMS = sorted({path.parent for path in FILES})

ROOMS_OF_TESTS = sorted({path.parent for path in (REPOSITORY / "tests").rglob("*.py")})


def name_of(path: Path) -> str:
    return path.relative_to(REPOSITORY).as_posix()


def modules_in(room: Path) -> set[str]:
    return {path.stem for path in room.glob("*.py")} - {"__init__", "__main__"}


def rooms_in(room: Path) -> set[str]:
    return {path.name for path in ROOMS if path.parent == room}


def unnamed_in(room: Path) -> set[str]:
    """The modules and rooms in a room that its map does not name."""
    docstring = ast.get_docstring(ast.parse((room / "__init__.py").read_text())) or ""
    return (modules_in(room) | rooms_in(room)) - set(re.findall(r"`(\w+)`", docstring))


def test_pytest_goes_into_every_room_of_tests(pytestconfig: pytest.Config) -> None:
    """It passes by folders of certain names, such as `build`, and says nothing."""
    passed_by = pytestconfig.getini("norecursedirs")
    missed = {
        name_of(room)
        for room in ROOMS_OF_TESTS
        for part in room.relative_to(REPOSITORY).parts
        if any(fnmatch(part, name) for name in passed_by)
    }
    assert missed == set()


@pytest.mark.parametrize("room", ROOMS, ids=name_of)
def test_a_room_begins_with_its_map(room: Path) -> None:
    """It names all that is in the room, but where there is a file of each kind."""
    if name_of(room) not in OF_A_KIND:
        unnamed = unnamed_in(room)
        assert bool(unnamed) == (name_of(room) in WITHOUT_A_MAP), unnamed


def test_the_room_of_players_holds_players() -> None:
    """Only these rooms may have many modules: their common parts have rooms of their own."""
    room = REPOSITORY / "ggp" / "players"
    plain_modules = {name for name in modules_in(room) if not has_player(f"ggp.players.{name}")}
    assert plain_modules == BESIDE_PLAYERS
    assert unnamed_in(room).isdisjoint(rooms_in(room) | BESIDE_PLAYERS)


def has_player(module: str) -> bool:
    values = (value for value in vars(import_module(module)).values() if isinstance(value, type))
    return any(
        value.__module__ == module and {"observe", "choose"} <= set(dir(value))
        for value in values
        if value is not Player
    )


@cache
def imports() -> Mapping[str, frozenset[str]]:
    """Which modules of ours each of them imports: when loaded, in functions, for types, by name."""
    return {module_of(path): imported_modules(path) for path in FILES}


def reached(start: str) -> set[str]:
    modules: set[str] = set()
    pending = [start]
    while pending:
        new = imports().get(pending.pop(), frozenset()) - modules
        modules |= new
        pending += new
    return modules


def test_imports_go_in_no_circles() -> None:
    reachable = {module: reached(module) for module in imports()}
    circles = {
        tuple(
            sorted(successor for successor in reachable[module] if module in reachable[successor])
        )
        for module in reachable
        if module in reachable[module]
    }
    assert not circles


def test_imports_by_name_are_seen() -> None:
    """Commands, functions of new processes, and names that a package finds by `__getattr__`."""
    assert "match_runner.cli" in imports()["match_runner.__main__"]
    assert "ggp.players.hyperplay" in imports()["ggp.players.spec"]
    assert imports()["ggp"] >= {"ggp.env", "ggp.library", "ggp.players"}

"""Imports point one way, as the architecture says."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.support.games import REPOSITORY

MAY_IMPORT = {
    "ggp.errors": {"ggp.gdl"},
    "ggp.launch": set(),
    "ggp.libraries": {"ggp.errors"},
    "ggp.seeds": {"ggp.errors"},
    "ggp.run": {"ggp.errors"},
    "ggp.statistics": set(),
    "ggp.gdl": {"ggp.errors"},
    "ggp.machine": {
        "ggp.errors",
        "ggp.gdl",
        "ggp.run",
        "ggp.libraries",
    },
    "ggp.belief": {"ggp.errors", "ggp.machine", "ggp.run"},
    "ggp.search": {"ggp.errors", "ggp.belief", "ggp.run", "ggp.machine"},
    "ggp.solve": {"ggp.errors", "ggp.belief", "ggp.machine"},
    "ggp.respond": {
        "ggp.errors",
        "ggp.belief",
        "ggp.run",
        "ggp.env",
        "ggp.learn",
        "ggp.machine",
        "ggp.search",
        "ggp.solve",
        "ggp.statistics",
    },
    "ggp.study": {
        "ggp.errors",
        "ggp.gdl",
        "ggp.search",
        "ggp.belief",
        "ggp.machine",
        "ggp.solve",  # synthetic trees are solved as games are
    },
    "ggp.env": {
        "ggp.belief",
        "ggp.errors",
        "ggp.gdl",
        "ggp.given",
        "ggp.libraries",
        "ggp.machine",
        "ggp.pickled",
        "ggp.players",  # whoever a learner plays against, in a function
        "ggp.seeds",
        "ggp.solve",  # what is learnt is evaluated exactly
    },
    "ggp.learn": {
        "ggp.belief",  # incomplete paths
        "ggp.env",
        "ggp.errors",
        "ggp.gdl",
        "ggp.machine",
        "ggp.seeds",
        "ggp.run",
    },
    "ggp.openspiel": {"ggp.env", "ggp.errors", "ggp.gdl", "ggp.belief", "ggp.machine"},
    "ggp.players": {
        "ggp.errors",
        "ggp.run",
        "ggp.env",
        "ggp.learn",
        "ggp.gdl",
        "ggp.openspiel",
        "ggp.solve",
        "ggp.study",  # what a game is like, for who chooses a player
        "ggp.search",
        "ggp.belief",
        "ggp.machine",
    },
    "ggp.console": {"ggp.errors", "ggp.gdl", "ggp.launch"},
    "ggp.protocol": {"ggp.errors", "ggp.gdl"},
    "ggp.server": {
        "ggp.errors",
        "ggp.gdl",
        "ggp.machine",
        "ggp.players",
        "ggp.search",
        "ggp.study",  # what players are chosen by, before there is a match
        "ggp.console",
        "ggp.protocol",
        "ggp.run",
    },
}
"""What each part of ggp may import of ggp. ggp.errors needs ggp.gdl for types only."""

MAY_IMPORT["ggp.html_tables"] = set()
MAY_IMPORT["ggp.players"].add("ggp.html_tables")
MAY_IMPORT["ggp.frames"] = {"ggp.libraries"}
MAY_IMPORT["ggp.given"] = {"ggp.run", "ggp.errors", "ggp.gdl", "ggp.seeds"}
MAY_IMPORT["ggp.pickled"] = {"ggp.errors", "ggp.gdl", "ggp.machine"}
EVERYTHING_OF_GGP = {*MAY_IMPORT, "ggp.cli"}
MAY_IMPORT["ggp.__init__"] = {"ggp", "ggp.library"}
MAY_IMPORT["ggp.library"] = EVERYTHING_OF_GGP | {"match_runner"}  # for `ggp.play_match`
MAY_IMPORT["ggp.cli"] = EVERYTHING_OF_GGP | {"ggp.library"}  # `ggp advise` plays matches
MODULES = sorted(
    path for package in ("ggp", "match_runner") for path in (REPOSITORY / package).rglob("*.py")
)


def part_of(module: str) -> str:
    """`ggp.gdl.terms` belongs to `ggp.gdl`, `match_runner.cli` to `match_runner`."""
    names = module.split(".")
    return ".".join(names[:2]) if names[0] == "ggp" else names[0]


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(REPOSITORY).with_suffix("").parts)


@cache
def imported(path: Path) -> frozenset[str]:
    """Modules of ours that a file imports, in functions too."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"relative import in {path}"
            names.add(node.module or "")
            if node.module == "ggp":  # a part of it, not the package
                names.discard("ggp")
                names.update(f"ggp.{alias.name}" for alias in node.names)
    return frozenset(n for n in names if n.split(".")[0] in ("ggp", "match_runner", "tests"))


def allowed_to(module: str) -> set[str]:
    """Parts that a module may import something of."""
    own = part_of(module)
    if own == "match_runner":
        return EVERYTHING_OF_GGP | {"match_runner"}
    return MAY_IMPORT.get(own, EVERYTHING_OF_GGP) | {own}


def test_modules_import_only_what_their_layer_may() -> None:
    found = {
        name: {part_of(each) for each in imported(path)} - allowed_to(name)
        for path in MODULES
        for name in [module_name(path)]
    }
    assert {name: parts for name, parts in found.items() if parts} == {}


NOT_FOR = {"match_runner/terminal": ("match_runner.table",), "match_runner": ("ggp.server",)}
"""What a folder does not import: seats in the terminal know nothing of browsers, and who holds
matches nothing of the server that plays in those of others."""

BUT = {
    "match_runner/table/worker_tasks.py": {"ggp.server.workers.kernels"},
    "match_runner/table/web/server.py": {"ggp.server.http.incoming"},
}
"""A table has the machine code of players compiled ahead, and bounds headers, by the same code as
the server."""


@pytest.mark.parametrize("folder", NOT_FOR)
def test_rooms_side_by_side_do_not_import_each_other(folder: str) -> None:
    found = {
        path.relative_to(REPOSITORY).as_posix(): {
            name for name in imported(path) if name.startswith(NOT_FOR[folder])
        }
        for path in (REPOSITORY / folder).rglob("*.py")
    }
    expected = {file: names for file, names in BUT.items() if file.startswith(folder + "/")}
    assert {file: names for file, names in found.items() if names} == expected


PURE = sorted((REPOSITORY / "ggp" / "protocol").rglob("*.py"))
"""Modules that know no sockets, processes, threads or clocks."""

PURE_LIBRARIES = {"__future__", "collections", "dataclasses", "enum", "itertools", "re", "typing"}


@pytest.mark.parametrize("path", PURE, ids=module_name)
def test_protocol_is_pure(path: Path) -> None:
    libraries = {
        (node.module or "") if isinstance(node, ast.ImportFrom) else alias.name
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    assert {library.split(".")[0] for library in libraries} <= PURE_LIBRARIES | {"ggp"}


def nodes_of(path: Path, *words: str) -> Iterator[ast.AST]:
    """All of a module's syntax, if one of these words is in it: few are, and reading takes long."""
    text = path.read_text()
    if any(word in text for word in words):
        yield from ast.walk(ast.parse(text))


def test_only_the_engine_imports_pyswip() -> None:
    users = {
        module_name(path)
        for path in MODULES
        if any(
            name.split(".")[0] == "pyswip"
            for node in nodes_of(path, "pyswip")
            for name in (
                [alias.name for alias in node.names]
                if isinstance(node, ast.Import)
                else [node.module or ""]
                if isinstance(node, ast.ImportFrom)
                else []
            )
        )
    }
    assert users == {"ggp.machine.prolog.engine"}


def _asks_for_the_kind(node: ast.AST) -> bool:
    """Whether code finds out what a game is defined in: see `ggp.machine.definition`."""
    if isinstance(node, ast.ImportFrom):
        names = {alias.name for alias in node.names}
        return "SpielGame" in names or (node.module or "").startswith("ggp.machine.frontends")
    is_test = isinstance(node, ast.Call) and ast.unparse(node.func) in ("isinstance", "type")
    return is_test and any(isinstance(n, ast.Name) and n.id == "Program" for n in ast.walk(node))


def test_nothing_above_machines_asks_what_a_game_is_defined_in() -> None:
    askers = {
        module_name(path)
        for path in MODULES
        if any(map(_asks_for_the_kind, nodes_of(path, "SpielGame", "frontends", "Program")))
    }
    assert {each for each in askers if not each.startswith("ggp.machine.")} == set()

"""Imports point one way, as the architecture says."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.games import REPOSITORY
from tests.support.imports import imported_by_name, imported_modules, module_of

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
        "ggp.registry",
    },
    "ggp.belief": {"ggp.errors", "ggp.machine", "ggp.registry", "ggp.run"},
    "ggp.search": {"ggp.errors", "ggp.belief", "ggp.run", "ggp.machine"},
    "ggp.solve": {"ggp.errors", "ggp.belief", "ggp.machine"},
    "ggp.registry": {"ggp.errors"},
    "ggp.study": {
        "ggp.errors",
        "ggp.gdl",
        "ggp.search",
        "ggp.belief",
        "ggp.machine",
    },
    "ggp.players": {
        "ggp.registry",
        "ggp.errors",
        "ggp.run",
        "ggp.gdl",
        "ggp.solve",
        "ggp.study",  # what a game is like, for who chooses a player
        "ggp.search",
        "ggp.belief",
        "ggp.machine",
    },
    "ggp.console": {"ggp.errors", "ggp.gdl", "ggp.launch", "ggp.registry"},
    "ggp.protocol": {"ggp.errors", "ggp.gdl"},
    "ggp.server": {
        "ggp.errors",
        "ggp.gdl",
        "ggp.machine",
        "ggp.players",
        "ggp.search",
        "ggp.study",  # what players are chosen by is compiled ahead
        "ggp.console",
        "ggp.protocol",
        "ggp.run",
    },
}
"""The parts of ggp that each part may import. ggp.errors needs ggp.gdl for types only."""

MAY_IMPORT["ggp.report"] = {"ggp.gdl", "ggp.libraries"}
for part in ("ggp.console", "ggp.players", "ggp.study"):
    MAY_IMPORT[part].add("ggp.report")
for part in ("ggp.gdl", "ggp.machine", "ggp.players"):
    MAY_IMPORT[part].add("ggp.launch")  # to import their names later
MAY_IMPORT["ggp.given"] = {"ggp.run", "ggp.errors", "ggp.gdl", "ggp.seeds"}
MAY_IMPORT["ggp.pickled"] = {"ggp.errors", "ggp.gdl", "ggp.machine"}
CORE = {*MAY_IMPORT, "ggp.cli"}
MAY_IMPORT["ggp"] = CORE | {"ggp.library", "ggp.env"}  # `import ggp` finds its packages
MAY_IMPORT["ggp.library"] = set(CORE)  # and the match runner, for `ggp.play_match`
MAY_IMPORT["ggp.cli"] = CORE | {"ggp.library"}
RUNNER = {
    "match_runner.charts": set(),
    "match_runner.workers": set(),
    "match_runner.remote": set(),
    "match_runner.pictures": {"match_runner.charts"},
    "match_runner.match": {"match_runner.pictures", "match_runner.remote", "match_runner.workers"},
    "match_runner.archives": {"match_runner.match", "match_runner.remote"},
    "match_runner.series": {
        "match_runner.charts",
        "match_runner.match",
        "match_runner.remote",
        "match_runner.workers",
    },
    "match_runner.tournament": {
        "match_runner.match",
        "match_runner.remote",
        "match_runner.series",
    },
    "match_runner.terminal": {
        "match_runner.match",
        "match_runner.pictures",
        "match_runner.remote",
        "match_runner.series",
        "match_runner.workers",
    },
    "match_runner.table": {
        "match_runner.match",
        "match_runner.pictures",
        "match_runner.remote",
        "match_runner.series",
        "match_runner.tournament",
        "match_runner.workers",
    },
}
"""The rooms of the match runner that each room may import, from the bottom up."""

COMMANDS = {"match_runner.__main__", "match_runner.cli", "match_runner.demo"}
"""These stand above all rooms, and assemble them on the command line."""

RUNNER |= {part: {*RUNNER, *COMMANDS} for part in COMMANDS}
MAY_IMPORT |= {part: CORE - {"ggp.cli"} | rooms for part, rooms in RUNNER.items()}
for part in COMMANDS:
    MAY_IMPORT[part].add("ggp.cli")
MAY_IMPORT["ggp.library"] |= set(RUNNER)
AMONG_LABS = {
    "ggp.labs.kriegspiel": {"ggp.labs.papers"},
    "ggp.labs.papers": {"ggp.labs.openspiel"},
}
"""Labs that build on another one: for its experiments, and for games of OpenSpiel in these."""

ADDRESSES = {
    "ggp.env": {"ggp.labs.learning"},
    "ggp.env.exact": {"ggp.labs.learning"},
    "ggp.env.gymnasium_env": {"ggp.labs.learning"},
    "ggp.env.pettingzoo_env": {"ggp.labs.learning"},
    "ggp.learn": {"ggp.labs.learning"},
    "ggp.openspiel": {"ggp.labs.openspiel"},
    "ggp.players.spiel_bot": {"ggp.labs.openspiel"},
}
"""Modules that users import, with the lab that defines their names. They define nothing
themselves."""

MODULES = sorted(
    path for package in ("ggp", "match_runner") for path in (REPOSITORY / package).rglob("*.py")
)


def part_of(module: str) -> str:
    """`ggp.gdl.terms` belongs to `ggp.gdl`, `match_runner.match.seats` to `match_runner.match`, and
    each lab is a part."""
    names = module.split(".")
    return ".".join(names[: 3 if names[:2] == ["ggp", "labs"] else 2])


def allowed_to(module: str) -> set[str]:
    """Parts that a module may import something of."""
    part = part_of(module)
    if part.startswith("ggp.labs"):
        return CORE | {part, "ggp.library", *RUNNER} | AMONG_LABS.get(part, set())
    return MAY_IMPORT.get(part, CORE) | {part} | ADDRESSES.get(module, set())


def test_modules_import_only_what_their_layer_may() -> None:
    wrong_imports = {
        name: {part_of(imported) for imported in imported_modules(path)} - allowed_to(name)
        for path in MODULES
        for name in [module_of(path)]
    }
    assert {name: parts for name, parts in wrong_imports.items() if parts} == {}


@pytest.mark.parametrize("address", ADDRESSES)
def test_address_modules_only_reexport_and_are_used_by_no_module(address: str) -> None:
    """Else the core had a lab in it by another name."""
    path = REPOSITORY / (address.replace(".", "/") + ".py")
    path = path if path.exists() else path.with_suffix("") / "__init__.py"
    kinds = [type(node) for node in ast.parse(path.read_text()).body]
    assert set(kinds) <= {ast.Expr, ast.ImportFrom, ast.Assign}
    users = {module_of(importer) for importer in MODULES if address in imported_modules(importer)}
    assert {user for user in users if not user.startswith(address)} <= {"ggp"}  # its `__getattr__`


def test_one_module_of_ggp_imports_the_match_runner() -> None:
    """When it is used: `import ggp` leaves it alone. Labs apart."""
    users = {
        module_of(path)
        for path in MODULES
        if not module_of(path).startswith(("match_runner", "ggp.labs"))
        if any(name.startswith("match_runner") for name in imported_modules(path))
    }
    assert users == {"ggp.library.matches"}
    loaded = ast.parse((REPOSITORY / "ggp" / "library" / "matches.py").read_text()).body
    assert "match_runner" not in {
        str(node.module).partition(".")[0] for node in loaded if isinstance(node, ast.ImportFrom)
    }


BY_NAME = {"ggp.cli.serve"}
"""Commands that still say the names of modules that are loaded ahead."""


def test_commands_and_the_match_runner_import_what_they_name() -> None:
    named = {
        module_of(path): imported_by_name(path)
        for path in MODULES
        if module_of(path).startswith(("match_runner", "ggp.cli"))
        if module_of(path) not in BY_NAME
    }
    assert {module: names for module, names in named.items() if names} == {}


NOT_FOR = {"match_runner/terminal": ("match_runner.table",), "match_runner": ("ggp.server",)}
"""What a folder does not import: seats in the terminal know nothing of browsers, and who holds
matches nothing of the server that plays in those of others."""

BUT = {
    "match_runner/table/worker_tasks.py": {"ggp.server.workers.kernels"},
    "match_runner/table/server.py": {"ggp.server.http.http_server"},
}
"""A table has the machine code of players compiled ahead, and bounds headers, by the same code as
the server."""


@pytest.mark.parametrize("folder", NOT_FOR)
def test_rooms_side_by_side_do_not_import_each_other(folder: str) -> None:
    imports_of = {
        path.relative_to(REPOSITORY).as_posix(): {
            name for name in imported_modules(path) if name.startswith(NOT_FOR[folder])
        }
        for path in (REPOSITORY / folder).rglob("*.py")
    }
    expected = {file: names for file, names in BUT.items() if file.startswith(folder + "/")}
    assert {file: names for file, names in imports_of.items() if names} == expected


PURE = sorted((REPOSITORY / "ggp" / "protocol").rglob("*.py"))
"""Modules that know no sockets, processes, threads or clocks."""

PURE_LIBRARIES = {"__future__", "collections", "dataclasses", "enum", "itertools", "re", "typing"}


@pytest.mark.parametrize("path", PURE, ids=module_of)
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
        module_of(path)
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
    """Whether code asks how a game is defined: see `ggp.machine.definition`."""
    if isinstance(node, ast.ImportFrom):
        names = {alias.name for alias in node.names}
        return bool(names & {"SpielGame", "FRONTENDS"})
    is_test = isinstance(node, ast.Call) and ast.unparse(node.func) in ("isinstance", "type")
    return is_test and any(isinstance(n, ast.Name) and n.id == "Program" for n in ast.walk(node))


def test_nothing_above_machines_asks_what_a_game_is_defined_in() -> None:
    askers = {
        module_of(path)
        for path in MODULES
        if any(map(_asks_for_the_kind, nodes_of(path, "SpielGame", "FRONTENDS", "Program")))
    }
    assert {
        asker for asker in askers if not asker.startswith(("ggp.machine.", "ggp.labs.openspiel."))
    } == set()

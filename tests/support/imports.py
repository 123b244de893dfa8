"""Which modules of ours a module imports, however it says so.

Where the name of a module is a string, the import is the same: `import_module("ggp.players")`, a
command that is imported when it runs, a function that a new process calls, and the tables by which
the `__getattr__` of a package finds what is in it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Iterator
from functools import cache
from pathlib import Path

from tests.support.games import REPOSITORY

PACKAGES = ("ggp", "match_runner", "benchmarks", "tests")

IMPORTERS = (
    "import_module",
    "__import__",
    "find_spec",
    "preload",
    "launch",
    "start",
    "LaterCommand",
    "Registry",
)
"""What imports the modules that it is given the names of, or has a process import them."""

_NAME = re.compile(r"((?:ggp|match_runner)(?:\.\w+)+)(?::\w+)?")
"""A module, or a function in it."""


def module_of(path: Path) -> str:
    """The name by which a file is imported."""
    names = path.relative_to(REPOSITORY).with_suffix("").parts
    return ".".join(names[:-1] if names[-1] == "__init__" else names)


@cache
def known_modules() -> frozenset[str]:
    """All modules of ours."""
    files = (path for package in PACKAGES for path in (REPOSITORY / package).rglob("*.py"))
    return frozenset(map(module_of, files))


@cache
def imported_modules(path: Path) -> frozenset[str]:
    """Modules of ours that a file imports: when it is loaded, in functions, for types, by strings.

    A package is among them only where something of its own is imported, not one of its modules.
    """
    tree = ast.parse(path.read_text())
    module = module_of(path)  # a command may launch itself
    return frozenset((*_in_statements(tree, path), *_in_strings(tree, module))) - {module}


def imported_by_name(path: Path) -> frozenset[str]:
    """Modules of ours that a file says the names of where it could import them."""
    by_name = ("import_module", "__import__", "find_spec", "preload")
    return frozenset(_in_calls(ast.parse(path.read_text()), by_name))


def _in_statements(tree: ast.Module, path: Path) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known_modules())
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"relative import in {path}"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                if inner in known_modules():
                    yield inner
                elif node.module in known_modules():
                    yield str(node.module)


def _in_strings(tree: ast.Module, module: str) -> Iterator[str]:
    finds_names = any(
        isinstance(node, ast.FunctionDef) and node.name == "__getattr__" for node in tree.body
    )
    yield from _in_calls(tree, IMPORTERS)
    for node in ast.walk(tree) if finds_names else ():
        if (inner := f"{module}.{_text(node)}") in known_modules():
            yield inner


def _in_calls(tree: ast.Module, functions: Container[str]) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _called(node) in functions:
            arguments = (*node.args, *(keyword.value for keyword in node.keywords))
            # A registry has a table of names.
            nodes = (node for argument in arguments for node in _parts_of(argument))
            for text in map(_text, nodes):
                name = _NAME.fullmatch(text)
                if name is not None and name[1] in known_modules():
                    yield name[1]


def _parts_of(node: ast.AST) -> tuple[ast.AST, ...]:
    return (node, *node.values) if isinstance(node, ast.Dict) else (node,)


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else ast.unparse(node.func)


def _text(node: ast.AST) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""

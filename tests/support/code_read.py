"""Which modules some code reads, name by name, without importing or running anything.

`from ggp.machine.base import UNKNOWN` makes whoever uses `UNKNOWN` depend on the module in which it
is assigned, and on what that expression names in its turn. Modules of whose names none is read do
not count, whoever imports them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.support.games import REPOSITORY

_WITH_BODIES = ("body", "orelse", "finalbody", "handlers")


class Name(NamedTuple):
    """A name at the top of a module."""

    module: str
    name: str


def module_of(path: Path) -> str:
    """The module that a file of ours is."""
    names = path.resolve().relative_to(REPOSITORY).with_suffix("").parts
    return ".".join(names[:-1] if names[-1] == "__init__" else names)


def names_read(starts: Iterable[Name], *, by_kernels: bool = False) -> set[Name]:
    """The names of ours that some code reads, with those that these are made of.

    Args:
        by_kernels: of annotations only the named tuples count, whose fields kernels find by their
            places, and decorators do not count.
    """
    read: set[Name] = set()
    pending = list(starts)
    while pending:
        name = pending.pop()
        if name not in read:
            read.add(name)
            for node in _definitions(name.module).get(name.name, ()):
                pending += _reads(name, node, by_kernels)
    return {
        name
        for name in read
        for node in _definitions(name.module).get(name.name, ())
        if not isinstance(node, ast.Import | ast.ImportFrom)
    }


def decorated(module: str, decorators: set[str]) -> Iterator[Name]:
    """The functions and classes at the top of a module that have one of some decorators."""
    for name, nodes in _definitions(module).items():
        for node in nodes:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                names_used = {
                    decorator.id
                    for decorator in node.decorator_list
                    if isinstance(decorator, ast.Name)
                }
                if names_used & decorators:
                    yield Name(module, name)


@cache
def tree_of(module: str) -> ast.Module | None:
    """A module of the project; None for any other name."""
    path = REPOSITORY.joinpath(*module.split("."))
    for file in (path.with_suffix(".py"), path / "__init__.py"):
        if module.split(".")[0] == "ggp" and file.is_file():
            return ast.parse(file.read_text(encoding="utf-8"))
    return None


@cache
def _definitions(module: str) -> dict[str, list[ast.stmt]]:
    """The top-level statements of a module that define a name."""
    definitions: dict[str, list[ast.stmt]] = {}
    tree = tree_of(module)
    for node in _statements(tree.body if tree else []):
        for name in _bound(node):
            definitions.setdefault(name, []).append(node)
    return definitions


def _statements(body: Iterable[ast.stmt | ast.ExceptHandler]) -> Iterator[ast.stmt]:
    """Statements outside of functions and classes."""
    for node in body:
        if isinstance(node, ast.stmt):
            yield node
        if not isinstance(node, ast.FunctionDef | ast.ClassDef):
            for part in _WITH_BODIES:
                yield from _statements(getattr(node, part, ()))


def _bound(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Import | ast.ImportFrom):
        yield from (alias.asname or alias.name.split(".")[0] for alias in node.names)
    elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.For):
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            yield from (part.id for part in ast.walk(target) if isinstance(part, ast.Name))


def _reads(name: Name, node: ast.stmt, by_kernels: bool) -> Iterator[Name]:
    """The names that a defining statement reads."""
    if isinstance(node, ast.ImportFrom):
        yield from (source for alias, source in _imported(node) if alias == name.name)
        return
    ignored, types = _beside_code(node) if by_kernels else (set(), set())
    for part in ast.walk(node):
        if part in ignored:
            continue
        if isinstance(part, ast.Name):
            read = Name(name.module, part.id)
            if part not in types or _is_tuple(read):
                yield read
        elif isinstance(part, ast.ImportFrom):
            yield from (source for _, source in _imported(part))
        elif isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name):
            for definition in _definitions(name.module).get(part.value.id, ()):
                if isinstance(definition, ast.ImportFrom):
                    for alias, source in _imported(definition):
                        if alias == part.value.id:
                            yield Name(f"{source.module}.{source.name}", part.attr)


def _imported(node: ast.ImportFrom) -> Iterator[tuple[str, Name]]:
    """The names that an import introduces, and their sources."""
    for alias in node.names:
        yield alias.asname or alias.name, Name(node.module or "", alias.name)


def _beside_code(node: ast.stmt) -> tuple[set[ast.AST], set[ast.AST]]:
    """All parts of decorators within a statement, and all parts of annotations."""
    decorators: list[ast.expr] = []
    annotations: list[ast.expr] = []
    for child in ast.walk(node):
        decorators += getattr(child, "decorator_list", ())
        for field in ("annotation", "returns"):
            if isinstance(annotation := getattr(child, field, None), ast.expr):
                annotations.append(annotation)
    parts = [
        {part for child in group for part in ast.walk(child)} for group in (decorators, annotations)
    ]
    return parts[0], parts[1]


def _is_tuple(name: Name) -> bool:
    """Whether a name stands for a class of named tuples."""
    for node in _definitions(name.module).get(name.name, ()):
        if isinstance(node, ast.ImportFrom):
            return any(_is_tuple(source) for alias, source in _imported(node) if alias == name.name)
        if isinstance(node, ast.ClassDef):
            return any(
                isinstance(base, ast.Name) and base.id == "NamedTuple" for base in node.bases
            )
    return False

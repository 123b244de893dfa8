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
    found: set[Name] = set()
    pending = list(starts)
    while pending:
        name = pending.pop()
        if name not in found:
            found.add(name)
            for node in _definitions(name.module).get(name.name, ()):
                pending += _reads(name, node, by_kernels)
    return {
        name
        for name in found
        for node in _definitions(name.module).get(name.name, ())
        if not isinstance(node, ast.Import | ast.ImportFrom)
    }


def decorated(module: str, decorators: set[str]) -> Iterator[Name]:
    """The functions and classes at the top of a module that have one of some decorators."""
    for name, nodes in _definitions(module).items():
        for node in nodes:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                used = {each.id for each in node.decorator_list if isinstance(each, ast.Name)}
                if used & decorators:
                    yield Name(module, name)


@cache
def tree_of(module: str) -> ast.Module | None:
    """A module of ours; None for those of others, and for what is none."""
    path = REPOSITORY.joinpath(*module.split("."))
    for file in (path.with_suffix(".py"), path / "__init__.py"):
        if module.split(".")[0] == "ggp" and file.is_file():
            return ast.parse(file.read_text(encoding="utf-8"))
    return None


@cache
def _definitions(module: str) -> dict[str, list[ast.stmt]]:
    """The statements at the top of a module that say what a name stands for."""
    found: dict[str, list[ast.stmt]] = {}
    tree = tree_of(module)
    for node in _statements(tree.body if tree else []):
        for name in _bound(node):
            found.setdefault(name, []).append(node)
    return found


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
            yield from (each.id for each in ast.walk(target) if isinstance(each, ast.Name))


def _reads(name: Name, node: ast.stmt, by_kernels: bool) -> Iterator[Name]:
    """What a statement reads that says what a name stands for."""
    if isinstance(node, ast.ImportFrom):
        yield from (source for known, source in _imported(node) if known == name.name)
        return
    ignored, types = _beside_code(node) if by_kernels else (set(), set())
    for each in ast.walk(node):
        if each in ignored:
            continue
        if isinstance(each, ast.Name):
            read = Name(name.module, each.id)
            if each not in types or _is_tuple(read):
                yield read
        elif isinstance(each, ast.ImportFrom):
            yield from (source for _, source in _imported(each))
        elif isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name):
            for other in _definitions(name.module).get(each.value.id, ()):
                if isinstance(other, ast.ImportFrom):
                    for known, source in _imported(other):
                        if known == each.value.id:
                            yield Name(f"{source.module}.{source.name}", each.attr)


def _imported(node: ast.ImportFrom) -> Iterator[tuple[str, Name]]:
    """What names an import makes known, and what each stands for."""
    for alias in node.names:
        yield alias.asname or alias.name, Name(node.module or "", alias.name)


def _beside_code(node: ast.stmt) -> tuple[set[ast.AST], set[ast.AST]]:
    """All parts of decorators within a statement, and all parts of annotations."""
    decorators: list[ast.expr] = []
    annotations: list[ast.expr] = []
    for each in ast.walk(node):
        decorators += getattr(each, "decorator_list", ())
        for field in ("annotation", "returns"):
            if isinstance(found := getattr(each, field, None), ast.expr):
                annotations.append(found)
    parts = [
        {part for each in some for part in ast.walk(each)} for some in (decorators, annotations)
    ]
    return parts[0], parts[1]


def _is_tuple(name: Name) -> bool:
    """Whether a name stands for a class of named tuples."""
    for node in _definitions(name.module).get(name.name, ()):
        if isinstance(node, ast.ImportFrom):
            return any(_is_tuple(source) for known, source in _imported(node) if known == name.name)
        if isinstance(node, ast.ClassDef):
            return any(
                isinstance(base, ast.Name) and base.id == "NamedTuple" for base in node.bases
            )
    return False

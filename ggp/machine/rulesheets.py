"""The frontend of rulesheets: found by name or path, normalised, built by `ggp.machine.build`."""

from __future__ import annotations

from pathlib import Path

from ggp.errors import GDLError
from ggp.gdl import normalize, parser
from ggp.gdl.games import find_game
from ggp.gdl.program import Program
from ggp.gdl.source import Diagnostic
from ggp.machine.build import BACKENDS

__all__ = ["BACKENDS", "check", "find", "read"]


def find(name: str) -> Path | None:
    """The rulesheet."""
    return find_game(name)


def read(text: str | bytes, name: str, *, files: bool) -> Program:
    """The rules that a text holds; they cannot name files."""
    return normalize.normalize(parser.parse(text, name))


def check(text: str, name: str) -> tuple[Diagnostic, ...]:
    """Everything that is wrong with the rules."""
    try:
        return normalize.validate(parser.parse(text, name))
    except GDLError as error:
        return error.diagnostics or (Diagnostic("error", "unreadable", str(error), name, 0, 0, ""),)

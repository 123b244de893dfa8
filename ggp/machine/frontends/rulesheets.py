"""The frontend of rulesheets: found by name or path, normalised, built by `ggp.machine.build`."""

from __future__ import annotations

from ggp.errors import GDLError
from ggp.gdl.checks.goals import goal_bounds
from ggp.gdl.games import find_game
from ggp.gdl.normalize import normalize, validate
from ggp.gdl.program import Program
from ggp.gdl.source import Diagnostic
from ggp.gdl.syntax.parser import parse
from ggp.machine.build import BACKENDS
from ggp.machine.definition import Frontend


def _read(text: str | bytes, name: str, files: bool) -> Program:
    return normalize(parse(text, name))


def _check(text: str, name: str) -> tuple[Diagnostic, ...]:
    try:
        return validate(parse(text, name))
    except GDLError as error:
        unreadable = Diagnostic("error", "unreadable", str(error), name, 0, 0, "")
        return error.diagnostics or (unreadable,)


FRONTEND = Frontend(_read, BACKENDS, find_game, _check, goal_bounds)

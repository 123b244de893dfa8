"""The frontend of files of Gambit's, found by their paths."""

from __future__ import annotations

from ggp.errors import GDLError
from ggp.gdl.games import find_game
from ggp.gdl.source import Diagnostic
from ggp.machine.base import Limits, Machine
from ggp.machine.definition import Frontend
from ggp.machine.gambit.games import GambitGame, gambit_game


def _read(text: str | bytes, name: str, files: bool) -> GambitGame:
    return gambit_game(text, name)


def _build(game: GambitGame, limits: Limits, ready: bool) -> Machine:
    from ggp.machine.gambit.tree_machine import TreeMachine

    return TreeMachine(game, threads=limits.threads)


def _check(text: str, name: str) -> tuple[Diagnostic, ...]:
    try:
        return gambit_game(text, name).diagnostics
    except GDLError as error:
        return error.diagnostics


def _goal_bounds(game: GambitGame) -> tuple[float, float]:
    return game.goal_bounds


FRONTEND = Frontend(_read, {"auto": _build, "tree": _build}, find_game, _check, _goal_bounds)

"""The frontend of OpenSpiel: reads a game's name, and builds its machine."""

from __future__ import annotations

from ggp.labs.openspiel.machine.games import SpielGame, refuse_files, spiel_game
from ggp.machine.base import Limits, Machine
from ggp.machine.definition import Frontend


def _read(text: str | bytes, name: str, files: bool) -> SpielGame:
    text = str(text)
    if not files:
        refuse_files(text)
    return spiel_game(text, name)


def _build(game: SpielGame, limits: Limits, ready: bool) -> Machine:
    from ggp.labs.openspiel.machine.spiel_machine import SpielMachine

    return SpielMachine(game, threads=limits.threads)


FRONTEND = Frontend(_read, {"auto": _build, "openspiel": _build})

"""The frontend of games of OpenSpiel, which are their names: see `ggp.machine.definition`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ggp.gdl.source import Diagnostic
from ggp.machine.base import Limits, Machine
from ggp.machine.spiel.games import SpielGame, refuse_files, spiel_game


def find(name: str) -> None:
    """A name is all there is of the game."""


def read(text: str | bytes, name: str, *, files: bool) -> SpielGame:
    """The game that a text names; see `spiel_game`."""
    text = str(text)
    if not files:
        refuse_files(text)
    return spiel_game(text, name)


def check(text: str, name: str) -> tuple[Diagnostic, ...]:
    """Nothing: there is no more to say of a name than what reading it raises."""
    return ()


def _build(game: SpielGame, limits: Limits, ready: bool) -> Machine:
    from ggp.machine.spiel.spiel_machine import SpielMachine

    return SpielMachine(game, threads=limits.threads)


BACKENDS: Mapping[str, Callable[[SpielGame, Limits, bool], Machine]] = {
    "auto": _build,
    "openspiel": _build,
}
"""How to build a machine, by the name `--backend` takes."""

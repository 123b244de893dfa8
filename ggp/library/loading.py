"""A game out of whatever names it: a name, a path, or its rules."""

from __future__ import annotations

import os

from ggp.gdl.games import list_games
from ggp.given import checked_text
from ggp.library.games import Game
from ggp.machine import build_machine
from ggp.machine.games import is_named, load_program, read_program


def load(name_or_path_or_text: str | os.PathLike[str], *, backend: str = "auto") -> Game:
    """A game, ready to be played.

    Args:
        name_or_path_or_text: name of a game that comes with ggp, path of a rulesheet, the rules
            themselves in KIF or infix syntax, or `openspiel:NAME` for a game of OpenSpiel. Files of
            Gambit's (`.efg`, `.nfg`) are rules, too.
        backend: one of `ggp.machine.BACKENDS`; `auto` takes the first that can be built.

    Raises:
        ConfigError: there is no such game, or it cannot be played here.
        GDLError: the rules cannot be used; its diagnostics say what is wrong where.
        MachineError: no machine can be built.
    """
    text = checked_text(name_or_path_or_text)
    is_name = is_named(text) or os.path.exists(text) or text in list_games()
    if is_name or not set(text) & set("(\n"):
        program = load_program(text)
        return Game(text, program, build_machine(program, backend))
    program = read_program(text, files=True)
    return Game(program.source.name, program, build_machine(program, backend))

"""Loads games by their names: rulesheets, or games of OpenSpiel.

Either becomes a `Program`. Its `source.text` is all that is needed to load it again: records keep
it, and workers are sent it.
"""

from __future__ import annotations

from ggp.gdl import normalize, parser
from ggp.gdl.program import Program
from ggp.machine.spiel.games import is_spiel, refuse_files, spiel_program


def load_program(name_or_path: str) -> Program:
    """A game by its name, or by the path of its rulesheet.

    Raises:
        ConfigError: there is no such game, or it cannot be played here.
        BackendUnavailableError: the game is one of OpenSpiel's, which is not installed.
        GDLError: the rules cannot be used.
    """
    if is_spiel(name_or_path):
        return spiel_program(name_or_path)
    return normalize.load(name_or_path)


def read_program(text: str, name: str = "<text>", *, files: bool = False) -> Program:
    """A game from its rules, or from its name in OpenSpiel.

    Args:
        name: the name of the text in messages.
        files: whether a game of OpenSpiel may read a file that the text names: false where somebody
            else may have written the text.

    Raises:
        ConfigError: OpenSpiel has no such game, or it cannot be played here.
        BackendUnavailableError: the game is one of OpenSpiel's, which is not installed.
        GDLError: the rules cannot be used.
    """
    if is_spiel(text):
        if not files:
            refuse_files(text)
        return spiel_program(text, name)
    return normalize.normalize(parser.parse(text, name))

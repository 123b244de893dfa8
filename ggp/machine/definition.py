"""Protocols for the definition of a game, by a rulesheet or in another way, before it is played.

All definitions answer the same questions:

    text       `source`: enough to read the game again from a record, or in another process
    digest     whether two definitions are the same game
    roles      the players
    build      `prefix`: the key of the frontend, for `build_machine`
    describe   the game in words
    draw       `as_program`: rules in which pictures are recognised. If it has none, a machine that
               is `Wordy` describes states.

`Program` is the definition of a rulesheet. (`ggp.Game` is more than a `GameDefinition`: it has a
machine as well.) A `Frontend` reads definitions of one kind and builds machines from them.
`ggp.machine.games` has the table of frontends; no other module distinguishes them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from ggp.gdl.program import MAX_GOAL, MIN_GOAL, Program
from ggp.gdl.source import Description, Diagnostic, Source
from ggp.machine.base import Limits, Machine

IMPORTS = "GGP_IMPORT"
"""Environment variable with names of modules, separated by commas, that frontends import before
they look for a game. `--import` sets it, and child processes inherit it."""


class GameDefinition(Protocol):
    """The definition of a game; an immutable value."""

    @property
    def prefix(self) -> str:
        """The key of its frontend, and the beginning of its text; empty for rulesheets."""
        ...

    @property
    def source(self) -> Source:
        """Its text, and its name in messages. The same text defines the same game everywhere."""
        ...

    @property
    def digest(self) -> str:
        """128 bits as hex digits; equal for equal games."""
        ...

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles in the order of joint moves; chance plays `random`."""
        ...

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """All repairs, in text order."""
        ...

    def describe(self) -> Description:
        """The game in words."""
        ...

    def as_program(self) -> Program:
        """Its rules in GDL, to recognise pictures and to find terms that grow.

        A game that is not a rulesheet gives a program without rules (`without_rules`). No machine
        is built from it, and its digest is not the game's.
        """
        ...


Builder = Callable[[Any, Limits, bool], Machine]
"""Builds a machine from a definition, within limits; if the last argument is true, with all machine
code loaded."""


class Frontend(NamedTuple):
    """Reads one kind of games, and builds machines for them.

    Attributes:
        read: returns the definition for the contents of a file or for a text. The other arguments
            are its name in messages, and whether it may name files to read (see
            `ggp.machine.games.read_program`).
        backends: functions that build machines, by the names that `--backend` takes; `auto` is one
            of them.
        find: returns the file of a game, by name or path; None if games of this kind have no files,
            because their names define them.
        check: returns all problems of a text (and its name in messages), if there are more than
            `read` raises.
        goal_bounds: returns the least and the greatest goal value of a game; None if unknown.
    """

    read: Callable[[str | bytes, str, bool], GameDefinition]
    backends: Mapping[str, Builder]
    find: Callable[[str], Path] | None = None
    check: Callable[[str, str], tuple[Diagnostic, ...]] = lambda text, name: ()
    goal_bounds: Callable[[Any], tuple[float, float] | None] = lambda game: (MIN_GOAL, MAX_GOAL)

"""A game as somebody defined it, before a machine plays it: by a rulesheet, or in another way.

Whatever a game is defined in, the rest of the project asks it the same few things:

    text       `source`: all that is needed to have the game again, in a record or another process
    digest     whether two of them are the same game
    roles      who plays
    build      `build_machine` looks its frontend up by its `prefix`
    describe   what it says of itself in words
    draw       `as_program`: what pictures are recognised in; where that has no rules, a machine
               that is `Wordy` says what states look like

A `GameDefinition` is not called a game: `ggp.Game` is one, a definition with the machine that
plays it. A rulesheet's definition is a `Program`. What reads definitions of one kind and builds
machines of them is a `Frontend`. `ggp.machine.frontends` has the table of all, and nothing else
asks which one it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from ggp.gdl.program import LEAST_GOAL, MOST_GOAL, Program
from ggp.gdl.source import Diagnostic, Source
from ggp.gdl.syntax.descriptions import Description
from ggp.machine.base import Limits, Machine

IMPORTS = "GGP_IMPORT"
"""Environment variable with modules, separated by commas, that frontends import before they look
for a game. It is set by `--import`, and processes inherit it."""


class GameDefinition(Protocol):
    """A value: all that is known of a game before it is played."""

    @property
    def prefix(self) -> str:
        """Key of its frontend, with which its text begins; empty for rulesheets."""
        ...

    @property
    def source(self) -> Source:
        """Its text, and what messages call it. The same text makes the same game, anywhere."""
        ...

    @property
    def digest(self) -> str:
        """128 bits as hex digits: equal games have equal ones."""
        ...

    @property
    def roles(self) -> tuple[str, ...]:
        """In the order of the joint moves; chance plays `random`."""
        ...

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What had to be repaired, in text order."""
        ...

    def describe(self) -> Description:
        """The game in words."""
        ...

    def as_program(self) -> Program:
        """Its rules in GDL, for whoever looks into rules: to draw states, or to say what may grow.

        It has no rules where the game is defined in another way (`without_rules`). It is not played
        on, and its digest is not the game's.
        """
        ...


Builder = Callable[[Any, Limits, bool], Machine]
"""A machine of a definition of one frontend, within limits; ready at once if asked for."""


class Frontend(NamedTuple):
    """What reads one kind of games, and builds machines of them.

    Attributes:
        read: a game from its text, or from what its file holds; the name that messages call it by;
            and whether it may have other files read (see `ggp.machine.games.read_program`).
        backends: how to build machines, by the names that `--backend` takes; `auto` is one of them.
        find: the file that holds a game, by name or path; None for a frontend whose games have no
            files, as their names are all there is of them.
        check: everything that is wrong with a text, and the name as above, where it is more than
            what reading it raises.
        goal_bounds: the least and the greatest goal value that a game can give; None if they are
            not known.
    """

    read: Callable[[str | bytes, str, bool], GameDefinition]
    backends: Mapping[str, Builder]
    find: Callable[[str], Path] | None = None
    check: Callable[[str, str], tuple[Diagnostic, ...]] = lambda text, name: ()
    goal_bounds: Callable[[Any], tuple[float, float] | None] = lambda game: (LEAST_GOAL, MOST_GOAL)

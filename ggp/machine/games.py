"""Finds games by name, path or text, and builds their machines, however the games are defined.

A name, a file or a text gives a `GameDefinition`, and `build_machine` makes a `Machine` from it.
The `source.text` of a definition is enough to read it again: records contain it, and workers
receive it. The table `FRONTENDS` gives the reader for each kind of game.
"""

from __future__ import annotations

import os
from pathlib import Path

from ggp.errors import ConfigError
from ggp.gdl.games import list_games, read_file
from ggp.gdl.source import Diagnostic
from ggp.machine.base import Limits, Machine
from ggp.machine.definition import Frontend, GameDefinition
from ggp.machine.gambit.games import EXTENSIVE, NORMAL
from ggp.registry import Registry

_BEGINNING = 1_000
"""Number of bytes at the beginning of a file that show its kind."""


def backends() -> tuple[str, ...]:
    """The names of all backends, as `--backend` takes them."""
    return tuple(dict.fromkeys(name for entry in FRONTENDS.values() for name in entry.backends))


def __getattr__(name: str) -> tuple[str, ...]:
    if name == "BACKENDS":  # only then are the frontends imported
        return backends()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def prefix_of(text: str) -> str:
    """The key of `FRONTENDS` that a name or text begins with; empty for rulesheets."""
    begins = text.lstrip()
    return next((prefix for prefix in FRONTENDS if prefix and begins.startswith(prefix)), "")


def is_named(text: str) -> bool:
    """Whether a text names a game that has neither rules nor a file."""
    return FRONTENDS[prefix_of(text)].find is None


def find_file(name_or_path: str) -> Path | None:
    """The file of a game; None for a game that its name defines.

    Raises:
        ConfigError: there is no such file, nor a game of that name.
    """
    find = FRONTENDS[prefix_of(name_or_path)].find
    return None if find is None else find(name_or_path)


def has_rulesheet(name_or_path: str) -> bool:
    """Whether a game is defined by a rulesheet, as opposed to another kind of file or a name.

    Raises:
        ConfigError: there is no such game, or its file cannot be read.
    """
    path = find_file(name_or_path)
    return path is not None and not _prefix_in(read_file(path))


def _prefix_in(data: bytes) -> str:
    """The key of `FRONTENDS` for the contents of a file; never that of a name, which may have
    other files read."""
    prefix = prefix_of(data[:_BEGINNING].decode("utf-8-sig", "replace"))
    return "" if is_named(prefix) else prefix


def load_program(name_or_path: str, *, files: bool = True) -> GameDefinition:
    """The definition of a game, by its name or the path of its file.

    >>> load_program("monty_hall").roles
    ('candidate', 'random')

    Args:
        files: as for `read_program`.

    Raises:
        ConfigError: there is no such game, or it cannot be played here.
        BackendUnavailableError: the game is one of OpenSpiel's, which is not installed.
        GDLError: the rules cannot be used.
    """
    path = find_file(name_or_path)
    if path is None:
        return read_program(name_or_path, name_or_path.strip(), files=files)
    data = read_file(path)
    return FRONTENDS[_prefix_in(data)].read(data, str(path), files)


def read_program(text: str, name: str = "<text>", *, files: bool = False) -> GameDefinition:
    """The definition of a game, from its rules, the contents of its file, or its name.

    Args:
        name: its name in messages.
        files: whether a name may have parameters with paths of files to read; false for names from
            untrusted sources.

    Raises:
        ConfigError: there is no such game, it cannot be played here, or it names a file.
        BackendUnavailableError: OpenSpiel has it, which is not installed.
        GDLError: the rules cannot be used.
    """
    return FRONTENDS[prefix_of(text)].read(text, name, files)


def find_program(name_or_path_or_text: str) -> tuple[str, GameDefinition]:
    """The name and the definition of a game, from a name, a path or a text.

    Args:
        name_or_path_or_text: see `ggp.load`.

    Raises:
        ConfigError: there is no such game, or it cannot be played here.
        BackendUnavailableError: OpenSpiel has it, which is not installed.
        GDLError: the rules cannot be used.
    """
    text = name_or_path_or_text
    is_no_text = not set(text) & set("(\n")
    if is_no_text or is_named(text) or os.path.exists(text) or text in list_games():
        return text, load_program(text)
    program = read_program(text, files=True)
    return program.source.name, program


def check_text(text: str, name: str) -> tuple[Diagnostic, ...]:
    """All problems of a text, in text order; none for names."""
    return FRONTENDS[prefix_of(text)].check(text, name)


def goal_bounds(program: GameDefinition) -> tuple[float, float] | None:
    """The least and the greatest goal value of a game; None if unknown."""
    return FRONTENDS[program.prefix].goal_bounds(program)


def build_machine(
    program: GameDefinition,
    backend: str = "auto",
    limits: Limits | None = None,
    *,
    ready: bool = False,
) -> Machine:
    """A machine for a game.

    >>> machine = build_machine(load_program("tic_tac_toe"), backend="prolog")
    >>> machine.roles, machine.legal(machine.initial(), role=0).counts.tolist()
    (('xplayer', 'oplayer'), [9])

    Args:
        program: normalised rules, or another definition.
        backend: one of `backends()`.
        limits: bounds on the reasoners, on the time and memory for building a circuit, and on the
            number of processors, which does not change results.
        ready: also load or compile all machine code, so that no later call waits for it.

    Raises:
        ConfigError: there is no such backend, or it cannot play this kind of game.
        BackendUnavailableError: software that the backend needs is not installed.
        InstallationError: a module of ggp is missing.
        ReasonerLimitError: the rules cannot be compiled within the limits.
    """
    build = FRONTENDS[program.prefix].backends.get(backend)
    if build is None:
        raise ConfigError(_why_not(program, backend))
    return build(program, limits or Limits(), ready)


def check_first_turn(machine: Machine) -> None:
    """Raise `NoLegalMoveError` if a role has no legal move in the first turn."""
    states = machine.initial(1)
    if not machine.terminal(states)[0]:
        for role in range(len(machine.roles)):
            machine.legal(states, role)  # raises


def _why_not(program: GameDefinition, backend: str) -> str:
    """The message that a backend does not play a game."""
    name = program.source.name
    owner = next((prefix for prefix in FRONTENDS if backend in FRONTENDS[prefix].backends), None)
    if owner is None:
        return f"unknown backend {backend!r}; backends: {', '.join(backends())}"
    if owner:
        subject = name if program.prefix else f"{name} is a rulesheet"
        begins = f"files that begin with {owner.strip()}"
        plays = f"games that are named {owner}NAME" if is_named(owner) else begins
        return f"{subject}; the backend {backend} plays {plays}"
    return f"{name} has no rules to read; leave out --backend"


# ------------------------------------------------------------------------
# The table of frontends: for each kind of game, its reader and its backends.
#
# There are frontends for rulesheets and for Gambit's files. An installed package can add a
# `Frontend` for another kind of game: see `ggp.registry`.

FRONTENDS: Registry[Frontend] = Registry(
    "ggp.frontends",
    "frontend",
    {
        "": "ggp.machine.build:FRONTEND",
        EXTENSIVE: "ggp.machine.gambit.tree_machine:FRONTEND",
        NORMAL: "ggp.machine.gambit.tree_machine:FRONTEND",
    },
    form="{}:",
)
"""Frontends by the prefix of names or texts of their games; the prefix of rulesheets is empty. The
prefix of an installed package is the name of its entry point, and a colon."""

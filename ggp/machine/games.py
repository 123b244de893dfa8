"""Games by their names, and machines of them, whatever they are defined in.

What comes of a text is a `GameDefinition`. Its `source.text` is all that is needed to have it
again: records keep it, and workers are sent it. `ggp.machine.frontends` says who reads which.
"""

from __future__ import annotations

import os
from pathlib import Path

from ggp.errors import ConfigError
from ggp.gdl.games import list_games, read_file
from ggp.gdl.source import Diagnostic
from ggp.machine.base import Limits, Machine
from ggp.machine.definition import GameDefinition
from ggp.machine.frontends import FRONTENDS

_BEGINNING = 1_000
"""Number of bytes of a file in which its kind shows."""


def backends() -> tuple[str, ...]:
    """The names of all backends, as `--backend` takes them."""
    return tuple(dict.fromkeys(name for each in FRONTENDS.values() for name in each.backends))


def prefix_of(text: str) -> str:
    """The prefix in `FRONTENDS` that a name or text begins with.

    Where it is not empty, the text is neither rules nor the name of a game that comes with ggp.
    """
    begins = text.lstrip()
    return next((each for each in FRONTENDS if each and begins.startswith(each)), "")


def is_named(text: str) -> bool:
    """Whether a text is the name of a game that has neither rules nor a file."""
    return FRONTENDS[prefix_of(text)].find is None


def find_file(name_or_path: str) -> Path | None:
    """The file that holds a game; None where its name is all there is of it.

    Raises:
        ConfigError: there is no such file, nor a game of that name.
    """
    find = FRONTENDS[prefix_of(name_or_path)].find
    return None if find is None else find(name_or_path)


def has_rulesheet(name_or_path: str) -> bool:
    """Whether a game is defined by a rulesheet, as opposed to a file of another kind, or a name.

    Raises:
        ConfigError: there is no such game, or its file cannot be read.
    """
    path = find_file(name_or_path)
    return path is not None and not _prefix_in(read_file(path))


def _prefix_in(data: bytes) -> str:
    """The prefix in `FRONTENDS` of what a file holds; never that of a mere name, which may have
    other files read."""
    prefix = prefix_of(data[:_BEGINNING].decode("utf-8-sig", "replace"))
    return "" if is_named(prefix) else prefix


def load_program(name_or_path: str, *, files: bool = True) -> GameDefinition:
    """A game by its name, or by the path of its rulesheet.

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
    """A game from its rules, or from what names it elsewhere.

    Args:
        name: what messages call it.
        files: whether a name may have parameters that have a file read: not where somebody else may
            have written it.

    Raises:
        ConfigError: there is no such game, it cannot be played here, or it names a file.
        BackendUnavailableError: OpenSpiel has it, which is not installed.
        GDLError: the rules cannot be used.
    """
    return FRONTENDS[prefix_of(text)].read(text, name, files)


def find_program(name_or_path_or_text: str) -> tuple[str, GameDefinition]:
    """The name and the rules of a game, from whatever somebody gives for it.

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
    """What is wrong with rules that somebody wrote, in text order; with names, nothing."""
    return FRONTENDS[prefix_of(text)].check(text, name)


def goal_bounds(program: GameDefinition) -> tuple[float, float] | None:
    """What a match can pay at least and at most; None if that is not known."""
    return FRONTENDS[program.prefix].goal_bounds(program)


def build_machine(
    program: GameDefinition,
    backend: str = "auto",
    limits: Limits | None = None,
    *,
    ready: bool = False,
) -> Machine:
    """A machine for a game.

    Args:
        program: normalised rules, or another game.
        backend: one of `backends()`.
        limits: bounds on the reasoners, on the time and memory for making a circuit, and on the
            processors used, where the backend can use several; results are the same.
        ready: also load or compile all machine code, so that no call waits for that; else it is
            done when it is needed.

    Raises:
        ConfigError: there is no such backend, or it cannot play this kind of game.
        BackendUnavailableError: what the backend needs is not installed.
        InstallationError: a module of ours is missing.
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
    """Why a backend does not play a game."""
    name = program.source.name
    owner = next((each for each in FRONTENDS if backend in FRONTENDS[each].backends), None)
    if owner is None:
        return f"unknown backend {backend!r}; backends: {', '.join(backends())}"
    if owner:
        what = name if program.prefix else f"{name} is a rulesheet"
        begins = f"files that begin with {owner.strip()}"
        plays = f"games that are named {owner}NAME" if is_named(owner) else begins
        return f"{what}; the backend {backend} plays {plays}"
    return f"{name} has no rules to read; leave out --backend"

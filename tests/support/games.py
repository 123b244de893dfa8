"""Machines of games for tests, built once in a process."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from ggp.errors import ConfigError
from ggp.gdl import list_games, parse
from ggp.gdl.analysis.told_moves import move_percept
from ggp.gdl.games import LONG_GAMES
from ggp.gdl.normalize import normalize
from ggp.labs.openspiel.machine.games import load_game
from ggp.machine import Limits, Machine, build_machine
from ggp.machine.definition import GameDefinition
from ggp.machine.games import load_program

REPOSITORY = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("GGP_SHARED") or REPOSITORY.parent / "shared" / "rulesheets")
GAMES = list_games()
MODEST_GAMES = [name for name in GAMES if name not in LONG_GAMES]
"""For tests that enumerate, search on Prolog, play whole matches move by move or make circuits: in
the others a step takes milliseconds on Prolog, and a circuit takes seconds to make."""

BACKENDS = ("prolog", "propnet", "relational")
"""Every suite for machines runs on all of these."""

SPIEL_GAMES = (
    "openspiel:kuhn_poker",
    "openspiel:liars_dice(dice_sides=3)",
    "openspiel:goofspiel(num_cards=3,imp_info=True)",
    "openspiel:matrix_rps",
    "openspiel:pig(winscore=6)",
    "openspiel:tic_tac_toe",
)
"""Games of OpenSpiel of all kinds: with and without chance, secrets and moves at the same time."""


def spiel_names() -> list[str]:
    """OpenSpiel's own games that machines play, with the parameters that they have by default."""
    names = []
    for kind in pytest.importorskip("pyspiel").registered_games():
        with suppress(ConfigError):
            if kind.default_loadable and not kind.short_name.startswith("python_"):
                load_game(kind.short_name)
                names.append(kind.short_name)
    return names


GAMBIT_GAMES = tuple(
    str(path) for path in sorted(Path(__file__).with_name("sheets").glob("gambit/*.?fg"))
)
"""Files of Gambit's: one in which roles wait for each other, and both forms of `.nfg`."""

LARGE_GAMES = LONG_GAMES | {
    "dark_chess_4x4",
    "battleships_in_fog",
    "blind_breakthrough",
    "breakthrough",
    "connect_four",
    "kriegspiel_king_rook",
    "mastermind",
    "number_guessing",
    "othello",
    "phantom_connect_four",
    "phantom_ttt",
}
"""Games in which a nested search visits too many states for Prolog."""


SLOW_TO_REFEREE = {"othello": (1, 8)}
"""Games whose states take seconds to be evaluated plainly: matches to play, and steps of each."""


def build_here(game: GameDefinition, backend: str, limits: Limits | None = None) -> Machine:
    """A machine whose circuit is built in this process: saves the time of starting another.

    Circuits are kept where processes that share the tests, and commands, find them.
    """
    if backend != "propnet":
        return build_machine(game, backend, limits)
    from ggp.machine.compiling.disk_cache import makers_version, user_cache
    from ggp.machine.propnet.compile.circuit_file import Built, from_bytes
    from ggp.machine.propnet.compile.circuits import FINISH_SHARE, make
    from ggp.machine.propnet.play.propnet_machine import PropnetMachine

    program = game.as_program()
    key = f"{program.digest}-{makers_version()}"
    cached = user_cache().get(key)
    built_circuit = None if cached is None else from_bytes(cached, key)
    if not isinstance(built_circuit, Built):
        # A child's time begins with the circuit; this process may have been busy for minutes.
        usual = Limits()
        seconds = usual.grounding_seconds + time.process_time() / (1 - FINISH_SHARE)
        child_bytes = make((program, replace(usual, grounding_seconds=seconds), key))
        user_cache().put(key, child_bytes)
        built_circuit = from_bytes(child_bytes, key)
        assert isinstance(built_circuit, Built)
    return PropnetMachine(
        built_circuit.circuit,
        is_gdl2=program.is_gdl2,
        move_percept=move_percept(program),
        reports=built_circuit.reports,
    )


@cache
def machine_of_game(name: str, backend: str = "prolog") -> Machine:
    """The machine of a game of ours."""
    return build_here(load_program(name), backend)


def rulesheets_in(path: Path) -> list[Path]:
    """The file, or all rulesheets of a folder."""
    if not path.is_dir():
        return [path]
    return sorted(sheet for sheet in path.rglob("*") if sheet.suffix in (".gdl", ".kif"))


def backend_for_search(name: str) -> str:
    """The backend on which tests search a game of ours."""
    return "propnet" if name in LARGE_GAMES else "prolog"


def path_of_shared(name: str) -> str:
    """The path of a rulesheet of the shared folder; skips the test if it is missing."""
    if not (SHARED / name).exists():
        pytest.skip(f"no folder of shared rulesheets with {name}")
    return str(SHARED / name)


@cache
def machine_of_shared(name: str, backend: str = "prolog") -> Machine:
    """The machine of a rulesheet of the shared folder; skips the test if it is missing."""
    return build_here(load_program(path_of_shared(name)), backend)


@cache
def machine_of_rules(text: str, backend: str = "prolog") -> Machine:
    """The machine of a rulesheet given as text."""
    return build_here(normalize(parse(text)), backend)

"""Pickled forms of games and states, and how games are restored from them.

A game is pickled as the text of its rules and the name of its backend, a state in the form that its
machine writes, such as its fluents. A process that still has the machine of a pickled game uses
it. Any other process reads the rules and builds a machine for the first pickle of a game.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import RLock
from weakref import WeakKeyDictionary, WeakValueDictionary

from ggp.errors import ConfigError, MachineError
from ggp.machine import build_machine
from ggp.machine.abilities import StateWriter
from ggp.machine.base import Machine, States
from ggp.machine.definition import GameDefinition
from ggp.machine.games import read_program

Rules = tuple[str, str, str, str]
"""Digest, backend, name of the text in messages, and the text."""

_machines: WeakValueDictionary[tuple[str, str], Machine] = WeakValueDictionary()
_programs: WeakKeyDictionary[Machine, GameDefinition] = WeakKeyDictionary()
_lock = RLock()


def rules_of(program: GameDefinition, machine: Machine) -> Rules:
    """The pickled form of a game; registers its machine, so that `restore_game` finds it."""
    with _lock:
        owner = _machines.setdefault((program.digest, machine.backend), machine)
        _programs.setdefault(owner, program)
    return program.digest, machine.backend, program.source.name, program.source.text


def restore_game(rules: Rules) -> tuple[GameDefinition, Machine]:
    """The game that was pickled, with its machine.

    Raises:
        ConfigError: this version reads the rules differently from the one that pickled the game.
        MachineError: no machine can be built.
    """
    digest, backend, name, text = rules
    with _lock:
        machine = _machines.get((digest, backend))
        if machine is not None:
            return _programs[machine], machine
        program = read_program(text, name, files=True)
        if program.digest != digest:
            raise ConfigError(
                f"{name} was pickled by a version of ggp that reads its rules differently; "
                "load the game again"
            )
        machine = build_machine(program, backend)
        rules_of(program, machine)
        return program, machine


def write_states(machine: Machine, states: States) -> list[tuple[str, ...]]:
    """The pickled form of states."""
    return _writer(machine).written(states)


def read_states(machine: Machine, texts: Sequence[tuple[str, ...]]) -> States:
    """The states that were pickled."""
    return _writer(machine).from_written(texts)


def _writer(machine: Machine) -> StateWriter:
    if isinstance(machine, StateWriter):
        return machine
    raise MachineError(f"the backend {machine.backend} cannot store states")

"""Pickled forms of games and states, and how the originals are found again.

A game is pickled as its rules, in text, and the name of its backend; a state as whatever a machine
writes for it, such as its fluents. A process that still has the machine of a pickled game uses
that. In another one the rules are read again, and a machine is built when the first pickle of a
game arrives.
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
_finding = RLock()


def rules_of(program: GameDefinition, machine: Machine) -> Rules:
    """What is pickled of a game; while its machine lives, it is found again here."""
    with _finding:
        kept = _machines.setdefault((program.digest, machine.backend), machine)
        _programs.setdefault(kept, program)
    return program.digest, machine.backend, program.source.name, program.source.text


def found_again(rules: Rules) -> tuple[GameDefinition, Machine]:
    """The game that was pickled.

    Raises:
        ConfigError: the rules are read differently from where it was pickled.
        MachineError: no machine can be built.
    """
    digest, backend, name, text = rules
    with _finding:
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


def written(machine: Machine, states: States) -> list[tuple[str, ...]]:
    """The pickled form of states."""
    return _writer(machine).written(states)


def read(machine: Machine, texts: Sequence[tuple[str, ...]]) -> States:
    """The states that were pickled."""
    return _writer(machine).from_written(texts)


def _writer(machine: Machine) -> StateWriter:
    if isinstance(machine, StateWriter):
        return machine
    raise MachineError(f"the backend {machine.backend} cannot store states")

"""Picking a backend for a rulesheet."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from ggp.errors import (
    BackendUnavailableError,
    GDLError,
    InstallationError,
    MachineError,
    ReasonerLimitError,
)
from ggp.gdl.analysis.joint_move_percepts import told_by
from ggp.gdl.analysis.what_grows import told_growth
from ggp.gdl.formal import goal_bounds
from ggp.gdl.games import find_game
from ggp.gdl.normalize import normalize, validate
from ggp.gdl.program import Program
from ggp.gdl.source import Diagnostic
from ggp.gdl.syntax.parser import parse
from ggp.machine.base import PATIENCE, WAITING, Limits, Machine
from ggp.machine.compiling.jit import demand_compiler
from ggp.machine.definition import Frontend

if TYPE_CHECKING:
    from ggp.machine.prolog.prolog_machine import PrologMachine
    from ggp.machine.propnet.compile.circuit_file import Built
    from ggp.machine.propnet.compile.circuits import Foreseen
    from ggp.run.calls import Meanwhile


_log = logging.getLogger(__name__)

Build = Callable[[Program, Limits, bool], Machine]
"""Builds a machine; the last argument is `ready` of `ggp.machine.build_machine`."""

_SOON_S = 1.0
"""Seconds within which most rules are ground."""

MORE_SECONDS = 4
"""Factor by which the advice raises the time for grounding, where that took too long."""


def _prolog(program: Program, limits: Limits, ready: bool) -> PrologMachine:
    from ggp.machine.prolog.prolog_machine import PrologMachine  # starts SWI-Prolog

    return PrologMachine(program, limits)


def _relational(
    program: Program, limits: Limits, ready: bool, meanwhile: Callable[[], None] | None = None
) -> Machine:
    demand_compiler()
    from ggp.machine.relational.relational_machine import RelationalMachine

    machine = RelationalMachine(program, limits, meanwhile=meanwhile)
    if ready:
        machine.warm_up()
    return machine


def _propnet(
    program: Program,
    limits: Limits,
    ready: bool,
    *,
    foreseen: Foreseen | None = None,
    meanwhile: Meanwhile | None = None,
) -> Machine:
    demand_compiler()
    try:
        from ggp.machine.propnet.compile.circuits import build
        from ggp.machine.propnet.play.propnet_machine import PropnetMachine
    except ImportError as error:  # numba is imported later, and clingo elsewhere
        raise InstallationError(str(error)) from error

    def laid_out(built: Built) -> Machine:
        machine = PropnetMachine(
            built.circuit,
            is_gdl2=program.is_gdl2,
            told_by=told_by(program),
            threads=limits.threads,
            reports=built.reports,
        )
        machine.lay_out()
        if ready:
            machine.warm_up()
        return machine

    def built(*, anew: bool = False) -> Built:
        try:
            return build(program, limits, anew=anew, foreseen=foreseen, meanwhile=meanwhile)
        except ReasonerLimitError as error:
            raise error.because(told_growth(program)) from None

    try:
        return laid_out(built())
    except (IndexError, KeyError, ValueError) as error:
        # The file holds a circuit, but not one of these rules.
        _log.info("the circuit of %s is made anew: %r", program.source.name, error)
        return laid_out(built(anew=True))


def _auto(program: Program, limits: Limits, ready: bool) -> Machine:
    try:
        return _propnet(program, limits, ready)
    except MachineError as error:
        cause = error
    return _instead(program, limits, cause)


def _instead(
    program: Program,
    limits: Limits,
    cause: MachineError,
    made: Machine | None = None,
    *,
    at_once: bool = False,
) -> Machine:
    """A machine without a circuit (`made`, if given) in place of one that cannot be built."""
    try:
        machine = made or _without_circuit(program, limits, at_once=at_once)
    except BackendUnavailableError as error:
        raise BackendUnavailableError(error.tool, f"{error.hint}; and {cause}") from error
    _log.warning(
        "%s runs %s, which is slower: %s; %s",
        program.source.name,
        _PLAYED[machine.backend],
        cause,
        _advice(cause, machine.backend),
    )
    return machine


def _without_circuit(
    program: Program,
    limits: Limits,
    meanwhile: Callable[[], None] | None = None,
    *,
    at_once: bool = False,
) -> Machine:
    """The interpreter of rules, or Prolog for rules that it cannot play.

    Args:
        meanwhile: called again and again while the interpreter is made.
        at_once: whether Prolog comes first where machine code would have to be compiled.
    """
    first: Build = partial(_relational, meanwhile=meanwhile)
    then: Build = _prolog
    if at_once and not _has_machine_code():
        first, then = then, first
    try:
        return first(program, limits, True)
    except MachineError as error:
        _log.info("%s is played by another machine: %s", program.source.name, error)
        return then(program, limits, True)


def _has_machine_code() -> bool:
    """Whether all kernels of the interpreter are in the cache."""
    try:
        demand_compiler()
    except BackendUnavailableError:
        return False
    from ggp.machine.relational.play_kernels import KERNELS

    return all(kernel.is_cached for kernel in KERNELS)


_PLAYED = {"relational": "without a circuit", "prolog": "on Prolog"}
"""Words for the way that a game is played."""


def _advice(error: MachineError, backend: str) -> str:
    """Advice about a fast backend that cannot be built, in place of which another is used."""
    advice = f"`--backend {backend}` does not try anything else"
    if isinstance(error, ReasonerLimitError) and error.limit in ("seconds", WAITING):
        more = MORE_SECONDS * error.reached / (PATIENCE if error.limit == WAITING else 1)
        return f"`--grounding-seconds {more:g}` tries for longer, {advice}"
    return advice


BACKENDS: Mapping[str, Build] = {
    "auto": _auto,
    "propnet": _propnet,
    "relational": _relational,
    "prolog": _prolog,
}
"""How to build a machine, by the name `--backend` takes. `auto` takes the first of propnet,
relational and prolog that can be built."""


def build_by_the_first_clock(
    program: Program,
    limits: Limits,
    is_asked: Callable[[], bool],
    foreseen: Foreseen | None = None,
) -> Machine:
    """The fast machine if it is ready when a move is asked for, otherwise one without a circuit.

    The latter is made while the rules are ground, if that takes long or somebody waits. So nobody
    waits for rules that cannot be ground.

    Args:
        program: normalised rules.
        limits: see `ggp.machine.build_machine`.
        is_asked: whether somebody waits for a move.
        foreseen: told what is expected of grounding.

    Raises:
        BackendUnavailableError: the software that the backends need is not installed.
        ReasonerLimitError: the rules cannot be compiled within the limits.
    """
    beside = _Beside(program, limits, is_asked)
    try:
        machine = _propnet(program, limits, True, foreseen=foreseen, meanwhile=beside.look)
    except _Asked as asked:
        name, played = program.source.name, _PLAYED[asked.machine.backend]
        _log.warning("%s is played %s: its rules are not ground yet", name, played)
        return asked.machine
    except MachineError as error:
        return _instead(program, limits, error, beside.machine, at_once=True)
    if beside.machine is not None:
        beside.machine.close()
    return machine


class _Asked(Exception):
    """Somebody waits for a move, which a machine without a circuit can find."""

    def __init__(self, machine: Machine) -> None:
        super().__init__()
        self.machine = machine


class _Ground(Exception):
    """The rules are ground, or cannot be: the machine made meanwhile need not be finished."""


class _Beside:
    """Makes a machine without a circuit while rules are ground.

    Args:
        program: normalised rules.
        limits: bounds on the reasoner.
        is_asked: whether somebody waits for a move.

    Attributes:
        machine: None before it is made, and if it cannot be made.
    """

    def __init__(self, program: Program, limits: Limits, is_asked: Callable[[], bool]) -> None:
        self._program, self._limits, self._is_asked = program, limits, is_asked
        self._due_s = time.monotonic() + _SOON_S
        self._was_tried = False
        self.machine: Machine | None = None

    def look(self, is_ground: Callable[[], bool]) -> None:
        """Make the machine if it is time to; raise `_Asked` if it is to be played on."""
        if not self._was_tried and (self._is_asked() or time.monotonic() > self._due_s):
            with suppress(_Ground):
                self._make(is_ground)
        if self.machine is not None and self._is_asked():
            raise _Asked(self.machine)

    def _make(self, is_ground: Callable[[], bool]) -> None:
        def go_on() -> None:
            if is_ground():
                raise _Ground

        try:
            self.machine = _without_circuit(self._program, self._limits, go_on, at_once=True)
        except MachineError as error:
            _log.info("the machine without a circuit cannot be made: %s", error)
        self._was_tried = True


def tell_moves(machine: Machine, program: Program, limits: Limits | None = None) -> Machine:
    """The same game on a machine that shows every role the joint move, as in plain GDL.

    The circuit is not built again.

    Args:
        machine: the program's machine, from `build_machine`.
        program: rules of GDL-II.
        limits: bounds on the reasoners.

    Raises:
        ReasonerLimitError: the rules cannot be compiled within the limits.
    """
    plain, limits = replace(program, is_gdl2=False), limits or Limits()
    if machine.backend == "prolog":
        return _prolog(plain, limits, True)
    if machine.backend == "relational":
        from ggp.machine.relational.relational_machine import RelationalMachine

        assert isinstance(machine, RelationalMachine)
        return RelationalMachine(plain, limits, machine.game)
    from ggp.machine.propnet.play.propnet_machine import PropnetMachine

    assert isinstance(machine, PropnetMachine)
    told = PropnetMachine(machine.circuit, is_gdl2=False, reports=machine.reports)
    told.lay_out()
    told.warm_up()
    return told


# ------------------------------------------------------------------------
# The frontend of rulesheets: found by name or path, normalised, built by `ggp.machine.build`.


def _read(text: str | bytes, name: str, files: bool) -> Program:
    return normalize(parse(text, name))


def _check(text: str, name: str) -> tuple[Diagnostic, ...]:
    try:
        return validate(parse(text, name))
    except GDLError as error:
        unreadable = Diagnostic("error", "unreadable", str(error), name, 0, 0, "")
        return error.diagnostics or (unreadable,)


FRONTEND = Frontend(_read, BACKENDS, find_game, _check, goal_bounds)

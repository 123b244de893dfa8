"""Builds the machine of a rulesheet, with the fastest backend that can play it.

`auto` tries to ground the rules into a circuit (`propnet`), then to interpret them (`relational`),
then Prolog. For a match with a running clock, `build_by_the_first_clock` builds a machine without
a circuit while the rules are ground, and uses it if the circuit comes too late.
"""

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
from ggp.gdl.analysis.growth import growth_message
from ggp.gdl.analysis.told_moves import move_percept
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
"""Seconds that suffice to ground most rules."""

MORE_SECONDS = 4
"""Factor on the time for grounding in the advice after it was too short."""


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
        make_ready(machine)
    return machine


def make_ready(machine: Machine) -> None:
    """Load or compile all machine code of a machine, so that no later call waits for it."""
    if hasattr(machine, "warm_up"):  # all but Prolog have some
        machine.warm_up()


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

    def laid_out(source: Built) -> Machine:
        machine = PropnetMachine(
            source.circuit,
            is_gdl2=program.is_gdl2,
            move_percept=move_percept(program),
            threads=limits.threads,
            reports=source.reports,
        )
        machine.lay_out()
        if ready:
            make_ready(machine)
        return machine

    def compiled(*, anew: bool = False) -> Built:
        try:
            return build(program, limits, anew=anew, foreseen=foreseen, meanwhile=meanwhile)
        except ReasonerLimitError as error:
            raise error.because(growth_message(program)) from None

    try:
        return laid_out(compiled())
    except (IndexError, KeyError, ValueError) as error:
        # The file holds a circuit of other rules.
        _log.info("the circuit of %s is built again: %r", program.source.name, error)
        return laid_out(compiled(anew=True))


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
    substitute: Machine | None = None,
    *,
    at_once: bool = False,
) -> Machine:
    """A machine without a circuit, or `substitute`, in place of one that cannot be built."""
    try:
        machine = substitute or _without_circuit(program, limits, at_once=at_once)
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
    """The interpreter of rules, or Prolog if it cannot play them.

    Args:
        meanwhile: called repeatedly while the interpreter is built.
        at_once: prefer Prolog if machine code of the interpreter would have to be compiled.
    """
    first: Build = partial(_relational, meanwhile=meanwhile)
    second: Build = _prolog
    if at_once and not _has_machine_code():
        first, second = second, first
    try:
        return first(program, limits, True)
    except MachineError as error:
        _log.info("%s is played by another machine: %s", program.source.name, error)
        return second(program, limits, True)


def _has_machine_code() -> bool:
    """Whether all kernels of the interpreter are in the cache."""
    try:
        demand_compiler()
    except BackendUnavailableError:
        return False
    from ggp.machine.relational.play_kernels import KERNELS

    return all(kernel.is_cached for kernel in KERNELS)


_PLAYED = {"relational": "without a circuit", "prolog": "on Prolog"}
"""The end of the message "is played ...", by backend."""


def _advice(error: MachineError, backend: str) -> str:
    """Advice for a user whose game runs on a slower backend."""
    advice = f"`--backend {backend}` does not try anything else"
    if isinstance(error, ReasonerLimitError) and error.limit in ("seconds", WAITING):
        seconds = MORE_SECONDS * error.reached / (PATIENCE if error.limit == WAITING else 1)
        return f"`--grounding-seconds {seconds:g}` tries for longer, {advice}"
    return advice


BACKENDS: Mapping[str, Build] = {
    "auto": _auto,
    "propnet": _propnet,
    "relational": _relational,
    "prolog": _prolog,
}
"""Functions that build machines, by the names that `--backend` takes. `auto` takes the first of
propnet, relational and prolog that can be built."""


def build_by_the_first_clock(
    program: Program,
    limits: Limits,
    is_asked: Callable[[], bool],
    foreseen: Foreseen | None = None,
) -> Machine:
    """The fast machine if it is ready when a move is needed, otherwise one without a circuit.

    The second one is built while the rules are ground, if that takes long or a move is needed. So a
    match does not wait for rules that cannot be ground.

    Args:
        program: normalised rules.
        limits: see `ggp.machine.build_machine`.
        is_asked: returns whether a move is needed.
        foreseen: called with the expected duration of grounding.

    Raises:
        BackendUnavailableError: the software that the backends need is not installed.
        ReasonerLimitError: the rules cannot be compiled within the limits.
    """
    standby = _Standby(program, limits, is_asked)
    try:
        machine = _propnet(program, limits, True, foreseen=foreseen, meanwhile=standby.look)
    except _Asked as asked:
        name, manner = program.source.name, _PLAYED[asked.machine.backend]
        _log.warning("%s is played %s: its rules are not ground yet", name, manner)
        return asked.machine
    except MachineError as error:
        return _instead(program, limits, error, standby.machine, at_once=True)
    if standby.machine is not None:
        standby.machine.close()
    return machine


class _Asked(Exception):
    """A move is needed, and the machine without a circuit is ready."""

    def __init__(self, machine: Machine) -> None:
        super().__init__()
        self.machine = machine


class _Ground(Exception):
    """Grounding has ended, so the machine without a circuit need not be finished."""


class _Standby:
    """Builds a machine without a circuit while rules are ground.

    Args:
        program: normalised rules.
        limits: bounds on the reasoner.
        is_asked: returns whether a move is needed.

    Attributes:
        machine: None before it is built, and if it cannot be built.
    """

    def __init__(self, program: Program, limits: Limits, is_asked: Callable[[], bool]) -> None:
        self._program, self._limits, self._is_asked = program, limits, is_asked
        self._due_s = time.monotonic() + _SOON_S
        self._was_tried = False
        self.machine: Machine | None = None

    def look(self, is_ground: Callable[[], bool]) -> None:
        """Build the machine if it is time; raise `_Asked` if a move is needed now."""
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
            _log.info("the machine without a circuit cannot be built: %s", error)
        self._was_tried = True


def reveal_moves(machine: Machine, program: Program, limits: Limits | None = None) -> Machine:
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
    plain_machine = PropnetMachine(machine.circuit, is_gdl2=False, reports=machine.reports)
    plain_machine.lay_out()
    make_ready(plain_machine)
    return plain_machine


# ------------------------------------------------------------------------
# The frontend of rulesheets.


def _read(text: str | bytes, name: str, files: bool) -> Program:
    return normalize(parse(text, name))


def _check(text: str, name: str) -> tuple[Diagnostic, ...]:
    try:
        return validate(parse(text, name))
    except GDLError as error:
        unreadable = Diagnostic("error", "unreadable", str(error), name, 0, 0, "")
        return error.diagnostics or (unreadable,)


FRONTEND = Frontend(_read, BACKENDS, find_game, _check, goal_bounds)

"""Picking a backend for a rulesheet."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
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
from ggp.gdl.checks.formal import goal_bounds
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
    program: Program, limits: Limits, cause: MachineError, made: Machine | None = None
) -> Machine:
    """A machine without a circuit (`made`, if given) in place of one that cannot be built."""
    try:
        machine = made or _without_circuit(program, limits)
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


def _without_circuit(program: Program, limits: Limits) -> Machine:
    """The faster of the machines that need no circuit, or Prolog where that cannot be built."""
    try:
        return _relational(program, limits, True)
    except MachineError as error:
        _log.info("%s is not interpreted by kernels: %s", program.source.name, error)
        return _prolog(program, limits, True)


_PLAYED = {"relational": "without a circuit", "prolog": "on Prolog"}
"""Words for the way that a game is played."""


def _advice(error: MachineError, backend: str) -> str:
    """Advice about a fast backend that cannot be built, in place of which another is used."""
    advice = f"`--backend {backend}` does not try anything else"
    if isinstance(error, ReasonerLimitError) and error.limit in ("seconds", WAITING):
        more = MORE_SECONDS * error.reached / (PATIENCE if error.limit == WAITING else 1)
        return f"`--grounding-seconds {more:g}` tries for longer, {advice}"
    return advice


BACKENDS: Mapping[str, Callable[[Program, Limits, bool], Machine]] = {
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

    The latter is made while the rules are ground: first on Prolog, which is ready at once. So
    nobody waits for rules that cannot be ground, and an early request is answered by what is ready.

    Args:
        program: normalised rules.
        limits: see `ggp.machine.build_machine`.
        is_asked: whether somebody waits for a move. Without Prolog nobody asks in vain.
        foreseen: told what is expected of grounding.

    Raises:
        BackendUnavailableError: the software that both backends need is not installed.
        ReasonerLimitError: the rules cannot be compiled within the limits.
    """
    beside = _Beside(program, limits, is_asked)
    try:
        machine = _propnet(program, limits, True, foreseen=foreseen, meanwhile=beside.look)
    except _Asked:
        assert beside.machine is not None
        _say_why(program, beside.machine, "its rules are not ground yet")
        return beside.machine
    except MachineError as error:
        return _instead(program, limits, error, beside.best())
    if beside.machine is None:
        return machine
    if is_asked():
        _say_why(program, beside.machine, "its circuit came too late")
        return beside.machine
    beside.machine.close()
    return machine


def _say_why(program: Program, machine: Machine, why: str) -> None:
    name = program.source.name
    _log.warning("%s is played %s: %s", name, _PLAYED[machine.backend], why)


class _Asked(Exception):
    """Somebody waits for a move."""


class _Ground(Exception):
    """The rules are ground, or cannot be: the machine made meanwhile need not be finished."""


class _Beside:
    """A machine without a circuit that is made while rules are ground.

    First it is made on Prolog, which is ready at once. If grounding takes longer, a faster machine
    takes its place, if that needs no machine code to be compiled.

    Args:
        program: normalised rules.
        limits: bounds on the reasoner.
        is_asked: whether somebody waits for a move.

    Attributes:
        machine: None before it is made, and if it cannot be made.
    """

    def __init__(self, program: Program, limits: Limits, is_asked: Callable[[], bool]) -> None:
        self._program, self._limits, self._is_asked = program, limits, is_asked
        self._began_s = time.monotonic()
        self._tried_prolog = self._tried_faster = False
        self.machine: Machine | None = None

    def look(self, is_ground: Callable[[], bool]) -> None:
        """Make what is to be made next; raise if it is to be played on."""
        if not self._made_prolog() and time.monotonic() - self._began_s > _SOON_S:
            with suppress(_Ground):
                self._make_faster(is_ground)
        self._check()

    def best(self) -> Machine | None:
        """The best there is, or can be made before anybody asks, where rules cannot be ground."""
        self._made_prolog()
        with suppress(_Asked):
            self._make_faster(lambda: False)
        return self.machine

    def _made_prolog(self) -> bool:
        """Make it on Prolog, unless that was tried before; whether it is tried now."""
        if self._tried_prolog:
            return False
        self._tried_prolog = True
        self._make(lambda: _prolog(self._program, self._limits, True))
        return True

    def _make_faster(self, is_ground: Callable[[], bool]) -> None:
        def go_on() -> None:
            self._check()
            if is_ground():
                raise _Ground

        if not self._tried_faster:
            self._check()
            self._make(lambda: self._relational(go_on))
            self._tried_faster = True

    def _check(self) -> None:
        if self.machine is not None and self._is_asked():
            raise _Asked

    def _make(self, build: Callable[[], Machine]) -> None:
        before = self.machine
        try:
            self.machine = build()
        except MachineError as error:
            _log.info("the machine without a circuit cannot be made ready: %s", error)
            return
        if before is not None:
            before.close()

    def _relational(self, go_on: Callable[[], None]) -> Machine:
        demand_compiler()
        from ggp.machine.relational.kernels.play_kernels import KERNELS

        if not all(kernel.is_cached for kernel in KERNELS):
            raise MachineError("machine code for it is not in the cache")
        return _relational(self._program, self._limits, True, go_on)


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

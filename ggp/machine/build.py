"""Picking a backend for a game."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from ggp.errors import (
    BackendUnavailableError,
    ConfigError,
    InstallationError,
    MachineError,
    ReasonerLimitError,
)
from ggp.gdl.program import Program
from ggp.gdl.telling import told_by
from ggp.gdl.what_grows import told_growth
from ggp.machine.base import PATIENCE, WAITING, Limits, Machine
from ggp.machine.jit import demand_compiler
from ggp.machine.spiel.games import PREFIX, SpielProgram

if TYPE_CHECKING:
    from ggp.machine.propnet.build.circuit_file import Built

_log = logging.getLogger(__name__)

MORE_SECONDS = 4
"""How many times longer to ground rules, in the advice given where that took too long."""


def _prolog(program: Program, limits: Limits, ready: bool) -> Machine:
    from ggp.machine.prolog.prolog_machine import PrologMachine  # starts SWI-Prolog

    return PrologMachine(program, limits)


def _propnet(program: Program, limits: Limits, ready: bool) -> Machine:
    demand_compiler()
    try:
        from ggp.machine.propnet.build.circuits import build
        from ggp.machine.propnet.play.parted_machine import machine_of
    except ImportError as error:  # numba is imported later, and clingo elsewhere
        raise InstallationError(str(error)) from error

    def laid_out(built: Built) -> Machine:
        machine = machine_of(
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
            return build(program, limits, anew=anew)
        except ReasonerLimitError as error:
            raise error.because(told_growth(program)) from None

    try:
        return laid_out(built())
    except (IndexError, KeyError, ValueError) as error:
        # What was stored is a circuit, but not one of these rules.
        _log.info("the circuit of %s is made anew: %r", program.source.name, error)
        return laid_out(built(anew=True))


def _openspiel(program: Program, limits: Limits, ready: bool) -> Machine:
    if not isinstance(program, SpielProgram):
        raise ConfigError(
            f"{program.source.name} is a rulesheet; the backend openspiel plays games that are "
            f"named {PREFIX}NAME"
        )
    from ggp.machine.spiel.spiel_machine import SpielMachine

    return SpielMachine(program, threads=limits.threads)


def _auto(program: Program, limits: Limits, ready: bool) -> Machine:
    if isinstance(program, SpielProgram):
        return _openspiel(program, limits, ready)
    try:
        return _propnet(program, limits, ready)
    except MachineError as error:
        _log.warning(
            "%s runs on Prolog, which is slower: %s; %s",
            *(program.source.name, error, _advice(error)),
        )
        cause = error
    try:
        return _prolog(program, limits, ready)
    except BackendUnavailableError as error:
        raise BackendUnavailableError(error.tool, f"{error.hint}; and {cause}") from error


def _advice(error: MachineError) -> str:
    """What to do about a fast backend that cannot be built."""
    advice = "`--backend prolog` does not try anything else"
    if isinstance(error, ReasonerLimitError) and error.limit in ("seconds", WAITING):
        more = MORE_SECONDS * error.reached / (PATIENCE if error.limit == WAITING else 1)
        return f"`--grounding-seconds {more:g}` tries for longer, {advice}"
    return advice


BACKENDS: Mapping[str, Callable[[Program, Limits, bool], Machine]] = {
    "auto": _auto,
    "propnet": _propnet,
    "prolog": _prolog,
    "openspiel": _openspiel,
}
"""How to build a machine, by the name `--backend` takes. `auto` prefers the propnet for rulesheets,
and games of OpenSpiel have one backend only."""

_READS_RULES = ("propnet", "prolog")


def build_machine(
    program: Program,
    backend: str = "auto",
    limits: Limits | None = None,
    *,
    ready: bool = False,
) -> Machine:
    """A machine for a game.

    Args:
        program: normalised rules, or a game of OpenSpiel.
        backend: one of `BACKENDS`.
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
    if backend not in BACKENDS:
        raise ConfigError(f"unknown backend {backend!r}; backends: {', '.join(BACKENDS)}")
    if backend in _READS_RULES and isinstance(program, SpielProgram):
        raise ConfigError(f"{program.source.name} has no rules to read; leave out --backend")
    return BACKENDS[backend](program, limits or Limits(), ready)


def tell_moves(machine: Machine, program: Program, limits: Limits | None = None) -> Machine:
    """The same game on a machine that tells every role the joint move, as in plain GDL.

    A circuit is not made anew.

    Args:
        machine: of the program, from `build_machine`.
        program: rules of GDL-II.
        limits: bounds on the reasoners.

    Raises:
        ReasonerLimitError: the rules cannot be compiled within the limits.
    """
    if machine.backend == "prolog":
        return _prolog(replace(program, is_gdl2=False), limits or Limits(), True)
    from ggp.machine.propnet.play.parted_machine import machine_of
    from ggp.machine.propnet.play.propnet_machine import PropnetMachine

    assert isinstance(machine, PropnetMachine)
    told = machine_of(machine.circuit, is_gdl2=False, reports=machine.reports)
    told.lay_out()
    told.warm_up()
    return told

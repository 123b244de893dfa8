"""Picking a backend for a rulesheet."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ggp.errors import ConfigError
from ggp.gdl.program import Program
from ggp.machine.base import Limits, Machine


def _prolog(program: Program, limits: Limits | None) -> Machine:
    from ggp.machine.prolog.machine import PrologMachine  # starts SWI-Prolog

    return PrologMachine(program, limits)


BACKENDS: Mapping[str, Callable[[Program, Limits | None], Machine]] = {
    "auto": _prolog,
    "prolog": _prolog,
}
"""How to build a machine, by the name `--backend` takes."""


def build_machine(program: Program, backend: str = "auto", limits: Limits | None = None) -> Machine:
    """A machine for a game.

    Raises:
        ConfigError: there is no such backend.
        BackendUnavailableError: what the backend needs is not installed.
        ReasonerLimitError: the rules cannot be compiled within the limits.
    """
    if backend not in BACKENDS:
        raise ConfigError(f"unknown backend {backend!r}; backends: {', '.join(BACKENDS)}")
    return BACKENDS[backend](program, limits)

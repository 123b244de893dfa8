"""Machines that have the game as a circuit: callers ask more of these than of any machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from ggp.machine.base import Machine

if TYPE_CHECKING:  # the circuit is not loaded for those who have none
    from typing_extensions import TypeIs

    from ggp.machine.propnet.play.propnet_machine import PropnetMachine

    OnCircuit: TypeAlias = PropnetMachine


def on_circuit(machine: Machine) -> TypeIs[OnCircuit]:
    """Whether a machine has the game as a circuit (`machine.circuit`), and the public surface of
    `PropnetMachine`."""
    return hasattr(machine, "circuit")

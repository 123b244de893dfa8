"""Recognises machines that have the circuit of their game, and can do more than other machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from ggp.machine.base import Machine

if TYPE_CHECKING:  # the circuit is not loaded for those who have none
    from typing_extensions import TypeIs

    from ggp.machine.propnet.play.propnet_machine import PropnetMachine

    OnCircuit: TypeAlias = PropnetMachine


def on_circuit(machine: Machine) -> TypeIs[OnCircuit]:
    """Whether a machine has a circuit (`machine.circuit`) and the public methods of
    `PropnetMachine`."""
    return hasattr(machine, "circuit")

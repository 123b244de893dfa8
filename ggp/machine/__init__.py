"""Game machines: rules as batched state machines."""

from ggp.machine.base import Limits, Machine, Playouts, Ragged, States, Stepped, role_index
from ggp.machine.build import BACKENDS, build_machine

__all__ = [
    "BACKENDS",
    "Limits",
    "Machine",
    "Playouts",
    "Ragged",
    "States",
    "Stepped",
    "build_machine",
    "role_index",
]

"""Game machines: rules as batched state machines.

In comes a `Program`, out goes a `Machine`. Begin with `base`, the central abstraction, then
`abilities`, which some machines have beyond it; `build` picks a backend, and `games` finds games
by name. The backends: `prolog` is the reference, `propnet` is fast, `relational` is for rules that
do not ground, `spiel` for games of OpenSpiel. They share `arrays`, `rows` and their
`row_kernels`, `mixing` of words (hashes, random streams), `code_version` for caches, `goal_values`,
`boards`, the rooms `percepts` and `compiling` (of kernels), the sharing of work (`threads`,
`forks`) and the keeping of memory (`freed_memory`).
"""

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

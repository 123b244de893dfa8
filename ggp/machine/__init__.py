"""Game machines: the rules of a game as functions of batches of states.

In comes a `GameDefinition`, out goes a `Machine`. Start with `base`, the central protocol, then
`abilities`, protocols for what only some machines can do. Machines with a `circuit` of gates can do
most (`on_circuit`). `definition` is the protocol of a game, however it is defined. `games` finds
games and builds their machines.

For a rulesheet, `build` picks one of the backends: `prolog` is the reference, `propnet` is fast,
`relational` is for rules that do not ground; `gambit` plays Gambit's files. They share `arrays`,
`rows` (tables of rows), `mixing` (hashes, random streams), `goal_values`, `boards`, `percepts`,
`compiling` (of kernels), and `threads` and `forks` (parallel work). `layers` enumerates the joint
moves of many states and merges equal successors.
"""

from typing import TYPE_CHECKING

from ggp.launch import later

if TYPE_CHECKING:
    from ggp.machine.base import Limits, Machine, Playouts, Ragged, States, Stepped, role_index
    from ggp.machine.games import build_machine

    BACKENDS: tuple[str, ...]
else:
    __getattr__ = later(__name__, "base", "games")

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

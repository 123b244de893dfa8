"""Game machines: rules as batched state machines.

In comes a `GameDefinition`, out goes a `Machine`. Begin with `base`, the one central abstraction,
then `abilities`, what some machines can do beyond it. Those that have the game as a `circuit` of
gates do most (`on_circuit`). `definition` says what a game is, whoever defined it; `games` finds
games and builds machines of them, by the table in `frontends`. The backends, one of which `build`
picks for a rulesheet: `prolog` is the reference, `propnet` is fast, `relational` is for rules that
do not ground, `gambit` for files of Gambit's. They have in common `arrays`, `rows`, `mixing` of
words (hashes, random streams), `goal_values`, `boards`, `percepts`, the room `compiling` (of
kernels), and how work is shared (`threads`, `forks`). `layers` is for whoever plays out games with
them: joint moves of many states, and what follows, equal states merged.
"""

from typing import TYPE_CHECKING, Any

from ggp.machine.base import Limits, Machine, Playouts, Ragged, States, Stepped, role_index
from ggp.machine.games import backends, build_machine

if TYPE_CHECKING:
    BACKENDS: tuple[str, ...]

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


def __getattr__(name: str) -> Any:
    if name == "BACKENDS":  # their frontends need not be imported before
        return backends()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

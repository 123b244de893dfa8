"""What optimal play is worth, by the method that suits a game.

    two players, constant sum, everybody knows the state    position by position
    any other game, or where strategies are wanted          the tree of the game

A game has far fewer positions than its tree has nodes, but a tree tells strategies by what players
did and saw. So what is asked of a game decides how it is solved, and only here.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from ggp.errors import SolvingError
from ggp.machine.base import Machine
from ggp.solve.positions.graph import PositionBounds, suits
from ggp.solve.positions.induction import PositionSolution, solve_positions
from ggp.solve.solver import INDUCTION, MOST_SECONDS, Solution, solve
from ggp.solve.trees.build import USUAL_BOUNDS, TreeBounds


@dataclass(frozen=True)
class OptimalPlay:
    """What optimal play is worth.

    Attributes:
        method: how it was found.
        values: expected goal value of each player, by name.
        gains: gain of each player by deviating alone, by name.
        num_states: number of positions, or of nodes of the tree.
        information_sets: number of those in which each player has a choice, by name.
        seconds: wall time.
        solution: the solved tree; None where the game was solved position by position.
    """

    method: str
    values: dict[str, float]
    gains: dict[str, float]
    num_states: int
    information_sets: dict[str, int]
    seconds: float
    solution: Solution | None

    @property
    def nash_conv(self) -> float:
        """The sum of the gains; 0 in an equilibrium."""
        return sum(self.gains.values())


def optimal_play(
    machine: Machine,
    *,
    strategies: bool = False,
    seed: int = 0,
    most_seconds: float = MOST_SECONDS,
    bounds: TreeBounds = USUAL_BOUNDS,
) -> OptimalPlay:
    """Find what optimal play is worth.

    Args:
        machine: the machine of the game.
        strategies: whether the tree of the game is wanted, with a strategy for each player.
        seed, most_seconds: see `ggp.solve.solver.solve`.
        bounds: of the positions, and of the tree; they share the time.

    Raises:
        SolvingError: see `ggp.solve.solver.solve`.
    """
    began_s, bounds = time.monotonic(), bounds.begun()
    if not strategies and suits(machine):
        of_positions = PositionBounds(
            bounds.states, turns=bounds.turns, is_over=bounds.is_over, progress=bounds.progress
        )
        try:
            return _of_positions(solve_positions(machine, of_positions), began_s)
        except SolvingError:
            pass  # the tree is refused as well, not of constant sum, or solved otherwise
    return _of_tree(solve(machine, seed=seed, most_seconds=most_seconds, bounds=bounds))


def _of_positions(found: PositionSolution, began_s: float) -> OptimalPlay:
    graph = found.graph
    names = [graph.machine.roles[role] for role in graph.players]
    return OptimalPlay(
        f"{INDUCTION} over matrices" if found.is_at_once else INDUCTION,
        dict(zip(names, found.values, strict=True)),
        dict(zip(names, found.gains, strict=True)),
        graph.num_positions,
        dict(zip(names, graph.choices, strict=True)),
        time.monotonic() - began_s,
        None,
    )


def _of_tree(found: Solution) -> OptimalPlay:
    tree, profile = found.tree, found.profile
    return OptimalPlay(
        profile.method,
        profile.values,
        profile.gains,
        tree.num_states,
        {name: len(sets) for name, sets in zip(tree.names, tree.sets, strict=True)},
        found.seconds,
        found,
    )

"""What optimal play is worth, by the method that suits a game.

    two players, constant sum, everybody knows the state    position by position
    any other game, or where strategies are wanted          the tree of the game

A game has far fewer positions than its tree has nodes, but a tree tells strategies by what players
did and saw. So what is asked of a game decides how it is solved, and only here.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

from ggp.errors import SolvingError
from ggp.machine.base import DEFAULT_MAX_STEPS, Machine
from ggp.solve.positions.graph import PositionBounds, suits
from ggp.solve.positions.induction import PositionSolution, solve_positions
from ggp.solve.solver import INDUCTION, MOST_SECONDS, Solution, solve
from ggp.solve.trees.build import MOST_STATES, Progress


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
    most_states: int = MOST_STATES,
    most_turns: int = DEFAULT_MAX_STEPS,
    most_seconds: float = MOST_SECONDS,
    build_seconds: float = math.inf,
    progress: Progress | None = None,
) -> OptimalPlay:
    """Find what optimal play is worth.

    Args:
        machine: the machine of the game.
        strategies: whether the tree of the game is wanted, with a strategy for each player.
        seed, most_turns, most_seconds, progress: see `ggp.solve.solver.solve`.
        most_states: greatest number of positions, and of nodes of the tree.
        build_seconds: for positions, and what is left of it for the tree.

    Raises:
        SolvingError: see `ggp.solve.solver.solve`.
    """
    began_s = time.monotonic()
    if not strategies and suits(machine):
        bounds = PositionBounds(
            most_states,
            turns=most_turns,
            is_over=lambda: time.monotonic() > began_s + build_seconds,
        )
        if progress is not None:
            bounds = bounds._replace(progress=progress)
        try:
            return _of_positions(solve_positions(machine, bounds), began_s)
        except SolvingError:
            pass  # the tree is refused as well, not of constant sum, or solved otherwise
    return _of_tree(
        solve(
            machine,
            seed=seed,
            most_states=most_states,
            most_turns=most_turns,
            most_seconds=most_seconds,
            build_seconds=max(began_s + build_seconds - time.monotonic(), 0.0),
            progress=progress,
        )
    )


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

"""The player `auto`: recognises the kind of game, and delegates to the player that is best at it.

    two players with constant sum, everybody       the equilibrium, with moves drawn from the mixed
    knows everything, moves are made at once       strategy, if there are few enough states
    other games where everybody knows everything   `mcts`
    one player, and no chance                      `puzzle`: a line to the best goal
    one player, or two with constant sum, and      the optimum or an equilibrium, with moves drawn
    few enough states to solve the whole game      from the mixed strategy
    other games with as few states                 `hyperplay2`: it has time for many simulations
    any other                                      `ismcts`

Only one player follows the match, since several would share the machine and the clock.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

from ggp.belief import Sampler
from ggp.machine.base import Machine, is_open, player_roles
from ggp.players.belief_player import BeliefPlayer
from ggp.players.hyperplay2 import HyperPlay2, HyperPlay2Options
from ggp.players.ismcts import ISMCTS
from ggp.players.mcts import MCTS
from ggp.players.option_fields import whole
from ggp.players.player import Context, Decision, Preparing
from ggp.players.puzzle import Puzzle, PuzzleOptions
from ggp.players.risk import RiskOptions
from ggp.players.solved import (
    MOST_LEAVES,
    SOLVED_STATES,
    Effort,
    Looked,
    Solved,
    look_into,
)
from ggp.players.tree_player import TreeOptions
from ggp.search.anytime import Deadline
from ggp.search.puzzles.lines import is_puzzle

PREPARED_TIMES = 10
"""How many times larger the games may be that are solved on a start clock."""

PREPARED_SHARE = 0.4
"""Share of the start clock for finding all positions of such a game, and again for solving it."""


@dataclass(frozen=True)
class AutoOptions(RiskOptions):
    """Options of `auto`."""

    solve: int = whole(SOLVED_STATES, "states of the largest game to solve; 0: none", low=0)


class Auto:
    """Solves small games, plays `mcts` where everybody knows everything, and searches elsewhere."""

    Options = AutoOptions
    PLAYS = ("mcts", "ismcts", "hyperplay2", "puzzle")

    def __init__(self, options: AutoOptions, context: Context) -> None:
        self._options, self._context = options, context
        self._player = _player_for(options, context)
        # The work of examining the game is no part of any decision.
        self._machine = context.machine
        self._visited_before = self._machine.states_visited

    @property
    def states_visited(self) -> int:
        return self._machine.states_visited - self._visited_before

    @property
    def belief(self) -> Sampler | None:
        """See `Believing`."""
        return self._player.belief

    @property
    def tells_policy(self) -> bool:
        """Whether the player in its place does."""
        return self._player.tells_policy

    def observe(
        self,
        move: str | None,
        percepts: Sequence[str] | None,
        *,
        submitted: str | None = None,
        in_time: bool = True,
        deadline: Deadline | None = None,
    ) -> None:
        self._player.observe(
            move, percepts, submitted=submitted, in_time=in_time, deadline=deadline
        )

    def choose(self, deadline: Deadline | None = None, *, value_forced: bool = False) -> Decision:
        return self._player.choose(deadline, value_forced=value_forced)

    def ponder(self, deadline: Deadline) -> None:
        self._player.ponder(deadline)

    def prepare(self, deadline: Deadline) -> None:
        """See `Preparing`: solve a larger game than without a start clock."""
        if isinstance(self._player, Preparing):
            self._player.prepare(deadline)
        elif self._options.solve and not isinstance(self._player, Solved):
            self._solve(deadline)
            self._visited_before = self._machine.states_visited

    def _solve(self, deadline: Deadline) -> None:
        until = deadline.part(PREPARED_SHARE)
        effort = Effort(
            PREPARED_TIMES,
            PREPARED_TIMES * MOST_LEAVES,
            PREPARED_SHARE * max(deadline.left_s(), 0.0),
            until.passed,
        )
        context = self._context
        looked = look_into(
            self._machine, context.role, self._options.solve, _digest(context), effort
        )
        if looked.part is not None:
            self._player = Solved(looked.part, self._options.risk, context)


def _player_for(options: AutoOptions, context: Context) -> BeliefPlayer:
    """The player that suits a game."""
    machine = context.machine
    if is_puzzle(machine):
        return Puzzle(PuzzleOptions(risk=options.risk), context)
    looked = _looked(cast("Hashable", machine), context.role, options.solve, _digest(context))
    if looked.part is not None:
        return Solved(looked.part, options.risk, context)
    if len(player_roles(machine)) > 1 and is_open(machine):
        return MCTS(TreeOptions(risk=options.risk), context)
    if looked.is_small:
        return HyperPlay2(HyperPlay2Options(risk=options.risk), context)
    return ISMCTS(TreeOptions(risk=options.risk), context)


def _digest(context: Context) -> str | None:
    """Of what decides whether a game can be solved."""
    if context.program is None:
        return None
    # Some machines reveal joint moves though the rules do not.
    return f"{context.program.digest}-{'told' if is_open(context.machine) else 'rules'}"


@lru_cache(maxsize=4)
def _looked(machine: Hashable, role: int, most_states: int, digest: str | None) -> Looked:
    """The result of `look_into`: each match of a series has a new player on the same machine."""
    return look_into(cast("Machine", machine), role, most_states, digest)

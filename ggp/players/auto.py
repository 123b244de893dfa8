"""The player `auto`: recognises the kind of game, and delegates to the player that is best at it.

    several players, everybody knows everything    `mcts`
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
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from ggp.belief import Bags, Sampler
from ggp.errors import GGPError, SolvingError
from ggp.gdl import canonical_term
from ggp.machine.base import Machine, is_open
from ggp.players.belief_player import BeliefPlayer, Choice
from ggp.players.hyperplay import HyperPlay, HyperPlayOptions
from ggp.players.hyperplay2 import HyperPlay2, HyperPlay2Options
from ggp.players.ismcts import ISMCTS
from ggp.players.known_sizes import is_too_large, note_too_large
from ggp.players.mcts import MCTS
from ggp.players.option_fields import whole
from ggp.players.player import Context, Decision, Preparing
from ggp.players.puzzle import Puzzle, PuzzleOptions
from ggp.players.risk import Risk, RiskOptions
from ggp.players.tree_player import TreeOptions
from ggp.search.anytime import Deadline
from ggp.search.puzzles.lines import is_puzzle

if TYPE_CHECKING:
    from ggp.solve.following import Part

SOLVED_STATES = 200_000
"""Most states of a game that is solved: a propositional network takes a second for these."""

SLOW_SHARE = 50
"""On other backends, games must be this many times smaller to be solved."""

MOST_LEAVES = 30_000
"""Most leaves of a subgame in which both players have choices: large linear programs take long."""

SOLVE_SECONDS = 5.0
"""Time for linear programs, and for CFR+ if they fail."""

ACCURACY = 0.005
"""Share of the goals' spread that a player may gain by deviating from the solution."""


@dataclass(frozen=True)
class AutoOptions(RiskOptions):
    """Options of `auto`."""

    solve: int = whole(SOLVED_STATES, "states of the largest game to solve; 0: none", low=0)


class Auto:
    """Solves small games, plays `mcts` where everybody knows everything, and searches elsewhere."""

    Options = AutoOptions
    PLAYS = ("mcts", "ismcts", "hyperplay2", "puzzle")

    def __init__(self, options: AutoOptions, context: Context) -> None:
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
        """See `Preparing`."""
        if isinstance(self._player, Preparing):
            self._player.prepare(deadline)


def _player_for(options: AutoOptions, context: Context) -> BeliefPlayer:
    """The player that suits a game."""
    machine = context.machine
    if is_puzzle(machine):
        return Puzzle(PuzzleOptions(risk=options.risk), context)
    players = len(machine.roles) - (machine.random_role is not None)
    if players > 1 and is_open(machine):
        return MCTS(TreeOptions(risk=options.risk), context)
    digest = None
    if context.program is not None:
        # Some machines reveal joint moves though the rules do not.
        digest = f"{context.program.digest}-{'told' if is_open(machine) else 'rules'}"
    looked = _looked(cast("Hashable", machine), context.role, options.solve, digest)
    if looked.part is not None:
        return Solved(looked.part, options.risk, context)
    if looked.is_small:
        return HyperPlay2(HyperPlay2Options(risk=options.risk), context)
    return ISMCTS(TreeOptions(risk=options.risk), context)


class Solved(HyperPlay):
    """Plays a role's part in a solved game; HyperPlay where it does not know where it is.

    It does not know where it is if it was not told its move or percepts of some turn.
    """

    tells_policy = True

    def __init__(self, part: Part, risk: Risk, context: Context) -> None:
        super().__init__(HyperPlayOptions(risk=risk), context)
        self._part = part
        self._path: int | None = context.role

    def observe(
        self,
        move: str | None,
        percepts: Sequence[str] | None,
        *,
        submitted: str | None = None,
        in_time: bool = True,
        deadline: Deadline | None = None,
    ) -> None:
        super().observe(move, percepts, submitted=submitted, in_time=in_time, deadline=deadline)
        known = self._ids(move, percepts)
        if self._path is not None:
            self._path = None if known is None else self._part.after(self._path, *known)

    def decide(self, bag: Bags, deadline: Deadline | None) -> Choice:
        found = None if self._path is None else self._part.choices(self._path)
        if found is None:
            return super().decide(bag, deadline)
        moves, shares = found
        return self.mixed(moves, shares), self.unvalued(moves.tolist())

    def _ids(self, move: str | None, percepts: Sequence[str] | None) -> tuple[int, int] | None:
        """The machine's ids of a turn; None if it is not known, or does not follow the rules."""
        if move is None or percepts is None:
            return None
        move_id = self.machine.move_id(canonical_term(move))
        percept_id = self.machine.percept_id([canonical_term(each) for each in percepts])
        return None if move_id is None or percept_id is None else (move_id, percept_id)


class Looked(NamedTuple):
    """Findings about a game.

    Attributes:
        is_small: whether it has no more states than the limit.
        part: the role's part of the solution, if the game can be solved with certainty: with one
            player, or two whose goals have a constant sum. Elsewhere a strategy is good only
            against some others.
    """

    is_small: bool
    part: Part | None


def look_into(machine: Machine, role: int, most_states: int, digest: str | None = None) -> Looked:
    """Play a game out to all its ends, if it has few enough states, and solve it if possible.

    Args:
        machine: of the game.
        role: the role whose part is wanted.
        most_states: 0 does not look at the game.
        digest: of the rules, and of what the machine reveals; the fact that the game could not be
            played out is remembered under it.
    """
    from ggp.solve.following import Part
    from ggp.solve.solver import solve_tree
    from ggp.solve.trees.build import build_tree  # with scipy, which takes long to import

    if machine.backend != "propnet":
        most_states //= SLOW_SHARE
    if not most_states or (digest is not None and is_too_large(digest, most_states)):
        return Looked(False, None)
    try:
        tree = build_tree(machine, split=True, keep_stands=True, most_states=most_states)
    except SolvingError:
        if digest is not None:
            note_too_large(digest, most_states)
        return Looked(False, None)
    except GGPError:
        return Looked(False, None)
    if len(tree.players) > 1 and not tree.is_constant_sum:
        return Looked(True, None)
    both = tree.actors.sum(axis=1) > 1
    if np.bincount(tree.leaves.owners[both[tree.leaves.owners]]).max(initial=0) > MOST_LEAVES:
        return Looked(True, None)
    solution = solve_tree(tree, most_seconds=SOLVE_SECONDS)
    if solution.profile.nash_conv > ACCURACY * tree.goal_spread:
        return Looked(True, None)
    return Looked(True, Part(solution, role))


@lru_cache(maxsize=4)
def _looked(machine: Hashable, role: int, most_states: int, digest: str | None) -> Looked:
    """The result of `look_into`: each match of a series has a new player on the same machine."""
    return look_into(cast("Machine", machine), role, most_states, digest)

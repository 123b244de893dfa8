"""Plays what was solved beforehand: small games of one player, or of two with constant sum.

    everybody knows the state, and moves are made at once    position by position
    any other game                                           the tree of sequences

How large a game may be is a matter of counts, so that the same is solved on every computer; a
player that has a start clock may allow more, and a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ggp.belief import Bags
from ggp.errors import GGPError, SolvingError
from ggp.gdl import canonical_term
from ggp.machine.base import Machine, is_open, player_roles
from ggp.machine.compiling.disk_cache import makers_version, user_cache
from ggp.machine.compiling.kernel_version import code_version
from ggp.players.hyperplay import HyperPlay, HyperPlayOptions
from ggp.players.parts.risk import Risk
from ggp.players.player import Choice, Context
from ggp.search.anytime import Deadline

if TYPE_CHECKING:
    from ggp.solve.following import RolePart


SOLVED_STATES = 200_000
"""Most states of a game that is solved: a propositional network takes a second for these."""

SHARES = {"propnet": 1, "openspiel": 10}
"""How many times smaller games must be on a backend, since it is as much slower; measured with
leduc_poker, which has some 9,000 states: 0.05 s, and 0.4 s on `openspiel`."""

SLOW_SHARE = 50
"""The same for all other backends."""

JOINT_MOVES = 50
"""Most joint moves of a game that is solved position by position, for each of its states."""

AT_ONCE_BY = 2_000
"""In so many positions some moves must be made at once: games in which players take turns are left
to tree search, which beats weak players more often and proves what is sure."""

MOST_LEAVES = 30_000
"""Most leaves of a subgame in which both players have choices: large linear programs take long."""

SOLVE_SECONDS = 5.0
"""Time for linear programs, and for CFR+ if they fail."""

ACCURACY = 0.005
"""Share of the goals' spread that a player may gain by deviating from the solution."""


class SolvedPlayer(HyperPlay):
    """Plays a role's part in a solved game; HyperPlay where it does not know where it is.

    It does not know where it is if it was not told its move or percepts of some turn.
    """

    tells_policy = True

    def __init__(self, part: RolePart, risk: Risk, context: Context) -> None:
        super().__init__(HyperPlayOptions(risk=risk), context)
        self._part = part
        self._path: int | None = part.start

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
        is_small: whether it has no more states than the limit; False where everybody knows the
            state, since that makes no difference then.
        part: the role's part of the solution, if the game can be solved with certainty: with one
            player, or two whose goals have a constant sum. Elsewhere a strategy is good only
            against some others.
    """

    is_small: bool
    part: RolePart | None


class SolvingEffort(NamedTuple):
    """How much may be done to solve a game.

    Attributes:
        times: the number of states is multiplied by this.
        seconds: see `SOLVE_SECONDS`.
        is_over: says when to give up.
    """

    times: int = 1
    seconds: float = SOLVE_SECONDS
    is_over: Callable[[], bool] = lambda: False


def look_into(
    machine: Machine,
    role: int,
    most_states: int,
    digest: str | None = None,
    effort: SolvingEffort = SolvingEffort(),  # noqa: B008  a value that nobody changes
) -> Looked:
    """Play a game out to all its ends, if it has few enough states, and solve it if possible.

    Args:
        machine: of the game.
        role: the role whose part is wanted.
        most_states: on a propositional network; 0 does not look at the game.
        digest: of the rules, and of what the machine reveals; the fact that the game could not be
            played out is remembered under it.
        effort: how much more may be done.
    """
    most_states = effort.times * most_states // SHARES.get(machine.backend, SLOW_SHARE)
    if not most_states or (digest is not None and is_too_large(digest, most_states)):
        return Looked(False, None)
    is_by_position = len(player_roles(machine)) > 1 and is_open(machine)
    look = _by_position if is_by_position else _by_tree
    try:
        return look(machine, role, most_states, effort)
    except SolvingError:
        if digest is not None and not effort.is_over():
            note_too_large(digest, most_states)
    except (GGPError, MemoryError):
        pass
    return Looked(False, None)


def _by_position(machine: Machine, role: int, most_states: int, effort: SolvingEffort) -> Looked:
    from ggp.solve.positions.graph import MOST_JOINT_MOVES, PositionBounds, suits
    from ggp.solve.positions.induction import PositionPart, solve_positions

    if not suits(machine):
        return Looked(False, None)
    bounds = PositionBounds(
        most_states,
        min(JOINT_MOVES * most_states, MOST_JOINT_MOVES),
        at_once_by=AT_ONCE_BY,
        is_over=effort.is_over,
    )
    solution = solve_positions(machine, bounds)
    if not solution.is_at_once or solution.nash_conv > ACCURACY * solution.goal_spread:
        return Looked(False, None)
    return Looked(False, PositionPart(solution, role))


def _by_tree(machine: Machine, role: int, most_states: int, effort: SolvingEffort) -> Looked:
    from ggp.solve.following import Part
    from ggp.solve.solver import solve_tree
    from ggp.solve.trees.build import (  # with scipy, which takes long to import
        TreeBounds,
        build_tree,
    )

    bounds = TreeBounds(most_states, is_over=effort.is_over)
    tree = build_tree(machine, bounds, split=True, keep_stands=True)
    if len(tree.players) > 1 and not tree.is_constant_sum:
        return Looked(True, None)
    both = tree.actors.sum(axis=1) > 1
    if np.bincount(tree.leaves.owners[both[tree.leaves.owners]]).max(initial=0) > MOST_LEAVES:
        return Looked(True, None)
    solution = solve_tree(tree, most_seconds=effort.seconds)
    if solution.profile.nash_conv > ACCURACY * tree.goal_spread:
        return Looked(True, None)
    return Looked(True, Part(solution, role))


# ------------------------------------------------------------------------
# Games known not to be solvable, mostly because they are too large, kept on disk between processes.
#
# Finding this out takes up to a second, and a player that takes over a match has no second to
# spare. The result is always the same, so remembering it changes no decision.

_TOO_LARGE = b"too large"


def is_too_large(digest: str, most_states: int) -> bool:
    """Whether the game with a digest is known to have too many states to be played out."""
    return user_cache().get(_key(digest, most_states)) == _TOO_LARGE


def note_too_large(digest: str, most_states: int) -> None:
    """Remember that the game with a digest cannot be played out within `most_states` states."""
    user_cache().put(_key(digest, most_states), _TOO_LARGE)


def _key(digest: str, most_states: int) -> str:
    return f"{digest}-{makers_version()}-{_lookers_version()}-{most_states}"


@cache
def _lookers_version() -> str:
    """Version of the code that counts states, and says how many are too many."""
    return code_version(["solve", "players/choosing/solved"])

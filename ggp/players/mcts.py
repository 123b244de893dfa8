"""The player `mcts`: Monte Carlo tree search in games where everybody knows the state.

Its search is that of `ismcts`, whose trees merge here. On a start clock it may learn values of
leaves, and uses them if they win duels against playouts.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ggp.machine.base import UNKNOWN, FloatArray, IntArray, Machine, States, is_open, player_roles
from ggp.players.ismcts import ISMCTS
from ggp.players.options.evaluations import PLAYOUTS
from ggp.players.player import Context, Player
from ggp.search.anytime import Deadline, OutOfTime, check
from ggp.search.moves import executed_moves, random_moves
from ggp.search.parts import INFORMED, TREES, JointEvaluation
from ggp.study.matches import LaneTurn

_log = logging.getLogger(__name__)


DUELS, MIN_DUELS, ENOUGH = 8, 4, 0.6
"""Matches between learned values and playouts, the least number of them, and the least share of
points for learned values to be used."""

LEARNING_SHARE = 0.8
"""Share of the time for learning before duels begin."""

DECISION_S = 0.015
"""Least time of a decision in a duel, overhead included. If even such short decisions leave no time
for enough duels, nothing is learned, since it could not be used: in connect_four with less than
8 s, in breakthrough with less than 10 s, and in othello with less than 20 s."""


class MCTS(ISMCTS):
    """The best move of a tree search; where roles know different things, it plays as `ismcts`.

    Everybody knows everything in plain GDL, and if percepts reveal the joint move to all roles.
    Then there is one state, and a path is one node of every role's tree. Wins and losses are proved
    if roles take turns (Winands, Bjornsson & Saito, 2008).
    """

    SOURCE = "Kocsis & Szepesvari (2006), UCT; Finnsson & Bjornsson (2008), MAST"
    KINDS = frozenset({INFORMED, TREES})

    def __init__(self, options: Any, context: Context) -> None:
        self._open = is_open(context.machine)
        super().__init__(options, context)
        if not self._open:
            _log.info("%s: roles know different things here; it plays as ismcts", context.name)

    def prepare(self, deadline: Deadline) -> None:
        """See `ISMCTS`; then grow the tree from the start.

        Only if everybody knows the state. Elsewhere growth showed no gain: a role's first moves
        then depend on guesses of the others' play before they had moved.
        """
        super().prepare(deadline)
        if self._open:
            self.think_ahead(deadline)

    @property
    def proves(self) -> bool:
        return self._open

    @property
    def outside(self) -> float:
        return 0.0 if self._open else super().outside

    def learning_share(self, until: Deadline) -> float:
        if not self._open:
            return super().learning_share(until)
        duels_s = (1 - LEARNING_SHARE) * until.left_s()
        needed_s = MIN_DUELS * DECISION_S * decisions_of_a_match(self.machine, self.rng)
        return LEARNING_SHARE if duels_s >= needed_s else 0.0

    def will_do(self, learnt: JointEvaluation, until: Deadline) -> bool:
        """Whether they win duels against playouts; where roles know different things, matches of
        very short decisions say little."""
        if not self._open:
            return super().will_do(learnt, until)
        makers = self._maker(learnt), self._maker(None)
        score = duels(self.machine, makers, DUELS, self.rng, until)
        _log.info("%s: %g points of %d in duels", self.context.name, score.points, score.matches)
        return score.matches >= MIN_DUELS and score.points >= ENOUGH * score.matches

    def _maker(self, evaluation: JointEvaluation | None) -> Maker:
        """Makes players like this one, with this evaluation of leaves."""

        def make(machine: Machine, role: int, rng: np.random.Generator) -> MCTS:
            context = Context(machine, role, rng, self.context.clock, program=self.context.program)
            player = type(self)(replace(self.options, evaluation=PLAYOUTS, learn=0), context)
            player.evaluation = evaluation
            return player

        return make


# ------------------------------------------------------------------------
# Duels: short matches between two players on the start clock, to choose the better one.

Maker = Callable[[Machine, int, np.random.Generator], Player]
"""Makes a player for a role."""

MAX_TURNS = 300
"""Turns after which a duel is broken off without a winner."""

SAMPLED_ENDS, SAMPLED_TURNS = 64, 10
"""Random matches that estimate the number of decisions, and their first turns, in which players
with a choice are counted."""


class Score(NamedTuple):
    """The score of duels.

    Attributes:
        matches: number of matches that counted: equally many for both assignments of seats.
        points: of the first maker: for each pair of matches with exchanged seats, and each
            seat, 1 if its goal value there was higher than the second maker's, 1/2 if equal.
    """

    matches: int
    points: float


def duels(
    machine: Machine,
    makers: tuple[Maker, Maker],
    most: int,
    rng: np.random.Generator,
    deadline: Deadline,
) -> Score:
    """Pairs of matches of two roles, with exchanged seats.

    Goal values are compared on the same seat: one seat may be better than the other, and a gain of
    the other role need not be our loss.

    Args:
        machine: of a game of two players.
        makers: make the two players.
        most: matches to play, an even number; the time for a move is such that all of them fit, if
            they have as many decisions as random ones.
    """
    machine = copy.copy(machine)  # do not count states of duels
    move_s = deadline.left_s() / (most * decisions_of_a_match(machine, rng))
    sides = player_roles(machine)
    points, matches = 0.0, 0
    try:
        while matches < most:
            goals = [
                _match(machine, _players(machine, sides, order, rng), move_s, rng, deadline)
                for order in (makers, makers[::-1])
            ]
            first, second = sides
            points += _better(goals, first) + 1.0 - _better(goals, second)
            matches += 2
    except OutOfTime:
        pass
    return Score(matches, points)


def decisions_of_a_match(machine: Machine, rng: np.random.Generator) -> float:
    """Mean number of decisions of all players in a random match."""
    ends = machine.playout(machine.initial(SAMPLED_ENDS), rng, MAX_TURNS)
    turns = max(float(ends.steps.mean()), 1.0)
    return turns * max(_deciders(machine, rng), 1.0)


def _deciders(machine: Machine, rng: np.random.Generator) -> float:
    """Mean number of players with a choice in the first turns of a match."""
    states, deciders = machine.initial(SAMPLED_ENDS), []
    for _ in range(SAMPLED_TURNS):
        states = states.take(np.flatnonzero(~machine.terminal(states)))
        if not len(states):
            break
        turn = LaneTurn(machine, states)
        deciders.append(turn.decides.sum(axis=1).mean())
        states = machine.step(states, turn.random(rng)).states
    return float(np.mean(deciders)) if deciders else 0.0


def _players(
    machine: Machine, sides: Sequence[int], makers: Sequence[Maker], rng: np.random.Generator
) -> dict[int, Player]:
    return {
        role: make(machine, role, np.random.default_rng(int(rng.integers(1 << 62))))
        for role, make in zip(sides, makers, strict=True)
    }


def _better(goals: Sequence[FloatArray | None], role: int) -> float:
    """1 if a role's goal was higher in the first of two matches, 1/2 if equal, else 0."""
    first, second = goals
    if first is None or second is None:
        return 0.5
    return 0.5 + 0.5 * float(np.sign(first[role] - second[role]))


def _match(
    machine: Machine,
    players: dict[int, Player],
    move_s: float,
    rng: np.random.Generator,
    deadline: Deadline,
) -> FloatArray | None:
    """`[R]` the goal values of a match; None if it is broken off."""
    states = machine.initial(1)
    for _ in range(MAX_TURNS):
        moves = {
            role: player.choose(_until(move_s, deadline)).move for role, player in players.items()
        }
        joint = _executed(machine, states, moves, rng)
        stepped = machine.step(states, joint[None])
        states = stepped.states
        if machine.terminal(states)[0]:
            return np.asarray(machine.goals(states)[0])
        for role, player in players.items():
            player.observe(
                machine.move_text(int(joint[role])),
                machine.percept_texts(int(stepped.percepts[0, role])),
                submitted=moves[role],
                deadline=_until(move_s, deadline),
            )
    return None


def _until(seconds: float, deadline: Deadline) -> Deadline:
    """A deadline in so many seconds, but no later than the given one, whose clock may jump.

    Raises:
        OutOfTime: the deadline has passed.
    """
    check(deadline)
    return Deadline(min(deadline.clock() + seconds, deadline.at_s), deadline.clock)


def _executed(
    machine: Machine, states: States, moves: dict[int, str], rng: np.random.Generator
) -> IntArray:
    """`[R]` the joint move; chance moves, and replacements of illegal moves, are drawn."""
    joint = np.zeros(len(machine.roles), dtype=np.int64)
    for role in range(len(joint)):
        if role == machine.random_role:
            joint[role] = random_moves(machine, states, role, rng)[0]
            continue
        move = machine.move_id(moves[role])
        submitted = np.array([UNKNOWN if move is None else move])
        joint[role] = executed_moves(machine, states, role, submitted, rng)[0][0]
    return joint

"""A bound on what a player can lose: responders learn, the better one is judged on fresh matches.

For each role apart, responders get equal budgets. While it learns, it is judged now and
then on matches that it does not learn from: so one sees the bound over time, and which responder is
the better one. That one plays fresh matches, and nothing is chosen any more. The mean of its scores
is, in expectation, no more than that of a best response: the lower end of its interval bounds what
a best response gets from below, and what the player is left with from above.

Intervals are by betting (`ggp.statistics`): they hold at whatever time one stops.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ggp.errors import ConfigError
from ggp.labs.learning.env.environment import Environment, Episodes
from ggp.labs.learning.env.kernels import U64
from ggp.labs.learning.env.turn import Turn
from ggp.labs.learning.respond.movers import Mover, PathPolicy
from ggp.labs.learning.respond.responders import (
    Budget,
    MakeResponder,
    Responder,
    Rival,
    Searched,
    goals_of,
    scores,
)
from ggp.labs.learning.selfplay import Learner, LearntPolicy, Settings
from ggp.labs.learning.selfplay.policies import NetPaths
from ggp.machine.arrays import take_segments, unpack
from ggp.machine.base import FloatArray, IntArray, Machine, Ragged, is_open, player_roles
from ggp.run.clocks import cpu_seconds
from ggp.statistics import LEVEL, Interval, mean_interval, mean_of_means
from ggp.study.names import Names

# ------------------------------------------------------------------------
# The responder that learns by policy gradient on its own paths, in lanes of an environment.
#
# It is self-play with one role that learns; the others move as the measured player does. Where the
# tree of `response_tree` knows single paths, a net knows what they have in common: it is for games
# whose paths are too many to be met again.

_log = logging.getLogger(__name__)

CHEAP_LANES, ASKED_LANES = 512, 16
"""Lanes where all moves are made by tables, and where players are asked."""

BLOCKS = 4
"""Steps of learning in an update, each from as many lanes."""

SETTINGS = Settings(slower=1.0, warm=0.05, cold=0.005)
"""Cooler than in self-play: the others never change, so nothing has to come to rest."""

TEMPERATURE = 0.2
"""The policy that is judged is colder than the one that learnt: a best response needs no chance."""

_MOST_AT_ONCE = 4096
"""Paths at which a policy is worked out together."""

_LEAST = 1e-9
"""Added to each probability, so that they are above 0."""


class LearntResponder:
    """The responder with a net, for games in which not all is known to all.

    Raises:
        ConfigError: the game cannot be learnt, as where its moves have no names that can be listed.
    """

    name = "learnt"

    def __init__(self, rival: Rival, role: int, rng: np.random.Generator) -> None:
        if rival.program is None:
            raise ConfigError("to learn, the rules of the game are needed")
        self._rival, self._role, self._rng = rival, role, rng
        lanes = CHEAP_LANES if rival.is_cheap else ASKED_LANES
        settings = replace(SETTINGS, block=lanes // BLOCKS)
        self._env = Environment(rival.program, rival.machine, lanes, Episodes(paths=False))
        self._sides = Sides(rival, self._env, rival.movers(role, rng))
        self._learner = Learner(
            self._env,
            roles=[rival.machine.roles[role]],
            others=self._sides,
            settings=settings,
            seed=int(rng.integers(1 << 31)),
        )

    def learn(self, budget: Budget, after: Callable[[int], None]) -> None:
        self._learner.learn(
            updates=budget.updates,
            seconds=budget.seconds,
            progress=lambda told: after(self._sides.matches),
            clock=cpu_seconds,
        )

    def mover(self) -> Mover:
        return _Follower(self._rival, self._role, self._env.names, self._policy, self._rng)

    @property
    def _policy(self) -> LearntPolicy:
        return self._learner.policies()[self._rival.machine.roles[self._role]]


def learnt(rival: Rival, role: int, rng: np.random.Generator) -> LearntResponder | None:
    """A learner, or None for games that it cannot learn."""
    if is_open(rival.machine):
        return None
    try:
        return LearntResponder(rival, role, rng)
    except ConfigError as error:
        _log.info("nobody learns to respond by gradients: %s", error)
        return None


class _Follower(PathPolicy):
    """Moves drawn by a policy that was learnt, worked out once for each path."""

    def __init__(
        self, rival: Rival, role: int, names: Names, policy: LearntPolicy, rng: np.random.Generator
    ) -> None:
        super().__init__(rival.machine, rival.paths, role, rng)
        self._policy, self._rows = policy, NetPaths(rival.machine, rival.paths, names)

    def _ask(self, paths: IntArray, legal: Ragged) -> None:
        for start in range(0, len(paths), _MOST_AT_ONCE):
            some = np.arange(start, min(start + _MOST_AT_ONCE, len(paths)))
            offsets, at = take_segments(legal.offsets, some)
            part = Ragged(offsets, legal.values[at])
            shares = self._rows.shares(self._policy, paths[some], part, TEMPERATURE)
            self._note_all(paths[some], part, shares + _LEAST)


# ------------------------------------------------------------------------
# The measured player in the lanes of an environment, where the responder learns.


class Numbers:
    """Moves and percepts of a machine, by their indices in an environment."""

    def __init__(self, machine: Machine, names: Names) -> None:
        self._machine, self._names = machine, names
        found = [machine.move_id(text) for text in names.moves]
        self.moves = np.array([-1 if each is None else each for each in found], dtype=np.int64)
        self._percepts: dict[bytes, int] = {}

    def percepts(self, bits: U64) -> IntArray:
        """`[L]` percept ids of `[L, words]` bits."""
        texts, found = self._names.percepts, np.empty(len(bits), dtype=np.int64)
        for lane, row in enumerate(bits):
            key = row.tobytes()
            if key not in self._percepts:
                some = np.flatnonzero(unpack(row[None], len(texts))[0]).tolist()
                said = self._machine.percept_id([texts[each] for each in some])
                assert said is not None
                self._percepts[key] = said
            found[lane] = self._percepts[key]
        return found

    def actions(self, moves: IntArray) -> IntArray:
        """`[K]` indices of moves."""
        order = np.argsort(self.moves)
        return np.asarray(order[np.searchsorted(self.moves, moves, sorter=order)])


class Sides:
    """The others in the lanes of an environment: `learner.Others`.

    Attributes:
        matches: that have begun.
    """

    def __init__(self, rival: Rival, env: Environment, others: Mapping[int, Mover]) -> None:
        self.matches = 0
        self._rival, self._env = rival, env
        self._numbers = Numbers(rival.machine, env.names)
        roles = rival.machine.roles
        self._others = {env.roles.index(roles[role]): each for role, each in others.items()}
        self._index = {env.roles.index(roles[role]): role for role in others}
        self._paths = np.zeros((env.num_lanes, len(env.roles)), dtype=np.int64)

    def __call__(self, turn: Turn) -> IntArray:
        actions = np.full(turn.moves.shape, -1, dtype=np.int64)
        new, old = np.flatnonzero(turn.turns == 0), np.flatnonzero(turn.turns > 0)
        self.matches += len(new)
        every, legal = np.arange(len(actions)), turn.legal
        for number, mover in self._others.items():
            if mover.is_loose(every).all():
                continue
            if len(new):
                mover.begin(new)
                self._paths[new, number] = self._index[number]
            self._tell(turn, number, mover, old)
            offsets, at = take_segments(legal.offsets, every * len(self._env.roles) + number)
            options = Ragged(offsets, self._numbers.moves[legal.values[at]])
            moves = mover.moves(every, self._paths[:, number], options)
            actions[:, number] = self._numbers.actions(moves)
        return actions

    def _tell(self, turn: Turn, number: int, mover: Mover, lanes: IntArray) -> None:
        if not len(lanes):
            return
        moves = self._numbers.moves[turn.moves[lanes, number]]
        percepts = self._numbers.percepts(turn.percept_bits[lanes, number])
        if mover.needs_paths:
            before = self._paths[lanes, number]
            self._paths[lanes, number] = self._rival.paths.extend(before, moves, percepts)
        mover.observe(lanes, moves, percepts)


# ------------------------------------------------------------------------

RESPONDERS: tuple[MakeResponder, ...] = (Searched, learnt)
"""All who try, where they can."""

VALIDATION_SHARE, LEAST_VALIDATION, MOST_VALIDATION = 0.2, 16, 2000
"""Matches to judge a responder while it learns: a share of those that it learned from since the
last time, and the bounds of their number."""

_TOTAL_DIGITS = 6


@dataclass(frozen=True, slots=True)
class Judged:
    """The score of a responder at some time while it learned.

    Attributes:
        by: its name.
        matches: it had learned from.
        seconds: of CPU time since this responder began, to judge it included.
        score: the mean of its scores then, with its interval.
    """

    by: str
    matches: int
    seconds: float
    score: Interval


@dataclass(frozen=True, slots=True)
class Response:
    """The better responder of one role.

    Attributes:
        by: its name.
        over_time: of all responders.
        goals: `[L, R]` goal values of all roles in fresh matches.
        score: the mean of its role's, with its interval.
    """

    by: str
    over_time: tuple[Judged, ...]
    goals: FloatArray
    score: Interval


@dataclass(frozen=True, slots=True)
class Bound:
    """The scores of responders against a player, and the bounds that follow.

    Attributes:
        responses: by name of the responder's role.
        left: by name of the player's role, the lowest mean score that it had in fresh matches
            against a responder in another role, with an interval that counts how many there were.
        total: what all goals of a match sum up to, if it was the same in all fresh matches.
        nash_conv: where it was, what all roles together gained by responding, with its interval:
            NashConv of the player is, in expectation, no less.
    """

    responses: dict[str, Response]
    left: dict[str, Interval]
    total: float | None
    nash_conv: Interval | None


Progress = Callable[[str, Judged | int], None]
"""Called with the responder's role, and what it got, or the number of matches it learned from."""


def measure(
    rival: Rival,
    budget: Budget,
    matches: int,
    seed: int,
    *,
    responders: Sequence[MakeResponder] = RESPONDERS,
    progress: Progress = lambda role, found: None,
) -> Bound:
    """Learn to respond to a player in every role, and see what that gets.

    Args:
        rival: the player. Each role's responders meet it anew, with no path known.
        budget: in each role: seconds for all responders together, or updates of each.
        matches: fresh ones in each role, at the end.
        responders: who tries; the one that gets most while it learns is judged.

    Raises:
        ConfigError: none of them can play the game.
        MachineError: the game cannot be played to its end.
    """
    found = {}
    for role in player_roles(rival.machine):
        course = _Course(replace(rival), role, budget, seed, progress)
        found[rival.machine.roles[role]] = course.run(responders, matches)
    return _summed(rival.machine, found)


class _Course:
    """All that is done for one role."""

    def __init__(
        self, rival: Rival, role: int, budget: Budget, seed: int, progress: Progress
    ) -> None:
        self._rival, self._role, self._budget = rival, role, budget
        self._name = rival.machine.roles[role]
        self._rng = np.random.default_rng((seed, role))
        self._others = rival.movers(role, self._rng)
        self._progress = progress

    def run(self, makers: Sequence[MakeResponder], matches: int) -> Response:
        made = [maker(self._rival, self._role, self._rng) for maker in makers]
        responders = [each for each in made if each is not None]
        if not responders:
            raise ConfigError("no responder can play this game")
        seconds = self._budget.seconds
        share = Budget(self._budget.updates, seconds and seconds / len(responders))
        courses = [self._learn(each, share) for each in responders]
        values = [course[-1].score.value or 0.0 for course in courses]
        best = responders[int(np.argmax(values))]
        mover = best.mover()
        goals = goals_of(self._rival, {**self._others, self._role: mover}, matches, self._rng)
        own = np.nan_to_num(goals[:, self._role], nan=self._rival.machine.goal_range[0])
        judged = tuple(each for course in courses for each in course)
        return Response(best.name, judged, goals, self._interval(own))

    def _learn(self, responder: Responder, budget: Budget) -> list[Judged]:
        """Let a responder learn; it is judged after 1, 2, 4 ... updates and at the end."""
        began_s = cpu_seconds()
        judged: list[Judged] = []
        learned = updates = before = 0

        def judge() -> None:
            nonlocal before
            wanted = int(VALIDATION_SHARE * (learned - before))
            count = min(max(wanted, LEAST_VALIDATION), MOST_VALIDATION)
            before = learned
            mover = responder.mover()
            got = scores(self._rival, self._role, self._others, mover, count, self._rng)
            seconds = cpu_seconds() - began_s
            judged.append(Judged(responder.name, learned, seconds, self._interval(got)))
            self._progress(self._name, judged[-1])

        def after(matches: int) -> None:
            nonlocal learned, updates
            learned = matches
            updates += 1
            self._progress(self._name, matches)
            if updates & (updates - 1) == 0:
                judge()

        responder.learn(budget, after)
        if before < learned:
            judge()
        return judged

    def _interval(self, values: FloatArray) -> Interval:
        bounds = self._rival.machine.goal_range
        return mean_interval(values.tolist(), 0, bounds, fixed=False)


def _summed(machine: Machine, responses: dict[str, Response]) -> Bound:
    low, high = machine.goal_range
    players = player_roles(machine)
    left: dict[str, Interval] = {}
    for role in players:
        against = [responses[machine.roles[other]] for other in players if other != role]
        level = 1 - (1 - LEVEL) / max(len(against), 1)
        # A match that was not over may have been worth anything to the player.
        values = [np.nan_to_num(each.goals[:, role], nan=high) for each in against]
        found = [
            mean_interval(v.tolist(), 0, (low, high), fixed=False, level=level) for v in values
        ]
        if found:
            left[machine.roles[role]] = min(found, key=lambda each: each.value or 0.0)
    sums = np.concatenate([each.goals[:, players].sum(axis=1) for each in responses.values()])
    total, nash_conv = None, None
    if (
        len(players) > 1
        and np.isfinite(sums).all()
        and len(set(np.round(sums, _TOTAL_DIGITS).tolist())) == 1
    ):
        total = float(sums[0])
        groups = [responses[machine.roles[role]].goals[:, role].tolist() for role in players]
        mean = mean_of_means(groups, (low, high))
        ends = (mean.value, mean.low, mean.high)
        value, least, most = (None if x is None else len(players) * x - total for x in ends)
        nash_conv = Interval(value, least, most, mean.method)
    return Bound(responses, left, total, nash_conv)

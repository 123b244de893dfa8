"""A bound on a player's losses: responders learn, and the better one is scored in fresh matches.

`measure` takes a `Rival`, the measured player, and returns a `Bound`. Each role is treated
separately, and its responders get equal budgets. A responder is scored after 1, 2, 4 ... updates,
in matches that it does not learn from: this gives the bound over time, and selects the better
responder. The selected one plays fresh matches, so its score is not biased by the selection. Its
mean score is, in expectation, at most the score of a best response: the lower end of its interval
bounds a best response from below, and what remains for the player from above.

Intervals are by betting (`ggp.statistics`): they are valid whenever one stops.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ggp.errors import ConfigError
from ggp.labs.learning.env.environment import Environment, Episodes, Turn
from ggp.labs.learning.env.kernels import U64
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
# It is self-play with one role that learns; the others move as the measured player does. The tree
# of `Searched` records single paths; a net generalises over paths, for games with too many paths to
# meet any of them twice.

_log = logging.getLogger(__name__)

CHEAP_LANES, ASKED_LANES = 512, 16
"""Lanes if all moves come from tables, and if players are asked."""

BLOCKS = 4
"""Steps of the optimiser in an update, each from an equal share of the lanes."""

SETTINGS = Settings(slower=1.0, warm=0.05, cold=0.005)
"""Colder than in self-play: the other roles never change, so learning cannot cycle."""

TEMPERATURE = 0.2
"""The scored policy is colder than the learning one: a best response need not be random."""

_MAX_AT_ONCE = 4096
"""Most paths in one batch of a policy."""

_LEAST = 1e-9
"""Added to each probability, to keep it above 0."""


class LearntResponder:
    """The responder that trains a net, for games of imperfect information.

    Raises:
        ConfigError: the game cannot be learnt, for example because its moves cannot be listed.
    """

    name = "learnt"

    def __init__(self, rival: Rival, role: int, rng: np.random.Generator) -> None:
        if rival.program is None:
            raise ConfigError("learning needs the rules of the game")
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

    def learn(self, budget: Budget, record: Callable[[int], None]) -> None:
        self._learner.learn(
            updates=budget.updates,
            seconds=budget.seconds,
            progress=lambda report: record(self._sides.matches),
            clock=cpu_seconds,
        )

    def mover(self) -> Mover:
        return _Follower(self._rival, self._role, self._env.names, self._policy, self._rng)

    @property
    def _policy(self) -> LearntPolicy:
        return self._learner.policies()[self._rival.machine.roles[self._role]]


def learnt(rival: Rival, role: int, rng: np.random.Generator) -> LearntResponder | None:
    """A `LearntResponder`, or None for games that it cannot learn."""
    if is_open(rival.machine):
        return None
    try:
        return LearntResponder(rival, role, rng)
    except ConfigError as error:
        _log.info("no responder learns by gradients: %s", error)
        return None


class _Follower(PathPolicy):
    """Draws moves from a learnt policy, which is computed once for each path."""

    def __init__(
        self, rival: Rival, role: int, names: Names, policy: LearntPolicy, rng: np.random.Generator
    ) -> None:
        super().__init__(rival.machine, rival.paths, role, rng)
        self._policy, self._rows = policy, NetPaths(rival.machine, rival.paths, names)

    def _ask(self, paths: IntArray, legal: Ragged) -> None:
        for start in range(0, len(paths), _MAX_AT_ONCE):
            batch = np.arange(start, min(start + _MAX_AT_ONCE, len(paths)))
            offsets, at = take_segments(legal.offsets, batch)
            part = Ragged(offsets, legal.values[at])
            shares = self._rows.shares(self._policy, paths[batch], part, TEMPERATURE)
            self._note_all(paths[batch], part, shares + _LEAST)


# ------------------------------------------------------------------------
# The measured player in the lanes of an environment, where the responder learns.


class Numbers:
    """Translates between ids of a machine and indices of an environment.

    Attributes:
        moves: `[A]` the move id of each index, -1 for none.
    """

    def __init__(self, machine: Machine, names: Names) -> None:
        self._machine, self._names = machine, names
        ids = [machine.move_id(text) for text in names.moves]
        self.moves = np.array([-1 if k is None else k for k in ids], dtype=np.int64)
        self._percepts: dict[bytes, int] = {}

    def percepts(self, bits: U64) -> IntArray:
        """`[L]` percept ids of `[L, words]` bits."""
        texts, ids = self._names.percepts, np.empty(len(bits), dtype=np.int64)
        for lane, row in enumerate(bits):
            key = row.tobytes()
            if key not in self._percepts:
                indices = np.flatnonzero(unpack(row[None], len(texts))[0]).tolist()
                percept_id = self._machine.percept_id([texts[index] for index in indices])
                assert percept_id is not None
                self._percepts[key] = percept_id
            ids[lane] = self._percepts[key]
        return ids

    def actions(self, moves: IntArray) -> IntArray:
        """`[K]` indices of `[K]` move ids."""
        order = np.argsort(self.moves)
        return np.asarray(order[np.searchsorted(self.moves, moves, sorter=order)])


class Sides:
    """Moves the measured player's roles in the lanes of an environment: a `learner.Others`.

    Attributes:
        matches: number of matches begun.
    """

    def __init__(self, rival: Rival, env: Environment, movers: Mapping[int, Mover]) -> None:
        self.matches = 0
        self._rival, self._env = rival, env
        self._numbers = Numbers(rival.machine, env.names)
        roles = rival.machine.roles
        self._movers = {env.roles.index(roles[role]): mover for role, mover in movers.items()}
        self._role_of = {env.roles.index(roles[role]): role for role in movers}
        self._paths = np.zeros((env.num_lanes, len(env.roles)), dtype=np.int64)

    def __call__(self, turn: Turn) -> IntArray:
        actions = np.full(turn.moves.shape, -1, dtype=np.int64)
        new, old = np.flatnonzero(turn.turns == 0), np.flatnonzero(turn.turns > 0)
        self.matches += len(new)
        lanes, legal = np.arange(len(actions)), turn.legal
        for seat, mover in self._movers.items():
            if mover.is_loose(lanes).all():
                continue
            if len(new):
                mover.begin(new)
                self._paths[new, seat] = self._role_of[seat]
            self._observe(turn, seat, mover, old)
            offsets, at = take_segments(legal.offsets, lanes * len(self._env.roles) + seat)
            options = Ragged(offsets, self._numbers.moves[legal.values[at]])
            moves = mover.moves(lanes, self._paths[:, seat], options)
            actions[:, seat] = self._numbers.actions(moves)
        return actions

    def _observe(self, turn: Turn, seat: int, mover: Mover, lanes: IntArray) -> None:
        if not len(lanes):
            return
        moves = self._numbers.moves[turn.moves[lanes, seat]]
        percepts = self._numbers.percepts(turn.percept_bits[lanes, seat])
        if mover.needs_paths:
            paths = self._paths[lanes, seat]
            self._paths[lanes, seat] = self._rival.paths.extend(paths, moves, percepts)
        mover.observe(lanes, moves, percepts)


# ------------------------------------------------------------------------

RESPONDERS: tuple[MakeResponder, ...] = (Searched, learnt)
"""All responders; each is used where it can play the game."""

VALIDATION_SHARE, MIN_VALIDATION, MAX_VALIDATION = 0.2, 16, 2000
"""Number of matches that score a learning responder: a share of the matches that it learnt from
since its last score, and bounds of this number."""

_TOTAL_DIGITS = 6


@dataclass(frozen=True, slots=True)
class Judged:
    """The score of a responder at one point of its learning.

    Attributes:
        by: name of the responder.
        matches: number of matches that it had learnt from.
        seconds: seconds of CPU time since it began, including its evaluation.
        score: its mean score at that point, with an interval.
    """

    by: str
    matches: int
    seconds: float
    score: Interval


@dataclass(frozen=True, slots=True)
class Response:
    """The better responder of one role.

    Attributes:
        by: name of the responder.
        over_time: the scores of all responders while they learnt.
        goals: `[L, R]` goal values of all roles in fresh matches.
        score: mean goal value of its role, with an interval.
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
        remainders: by name of the player's role, its lowest mean score in fresh matches against a
            responder in another role, with an interval that is corrected for their number.
        total: the sum of all goals of a match, if it was the same in all fresh matches.
        nash_conv: if there is such a total, the sum of the gains of all responses, with an
            interval. In expectation it is at most the NashConv of the player.
    """

    responses: dict[str, Response]
    remainders: dict[str, Interval]
    total: float | None
    nash_conv: Interval | None


Progress = Callable[[str, Judged | int], None]
"""Called with the responder's role, and its score or the number of matches it learnt from."""


def measure(
    rival: Rival,
    budget: Budget,
    matches: int,
    seed: int,
    *,
    responders: Sequence[MakeResponder] = RESPONDERS,
    progress: Progress = lambda role, news: None,
) -> Bound:
    """Learn to respond to a player in every role, and score the responses.

    Args:
        rival: the player. For each role it starts without the policies it reported before.
        budget: in each role: seconds for all responders together, or updates of each.
        matches: number of fresh matches in each role, at the end.
        responders: the responders; the one with the highest score after learning plays the fresh
            matches.

    Raises:
        ConfigError: no responder can play the game.
        MachineError: the game cannot be played to its end.
    """
    responses = {}
    for role in player_roles(rival.machine):
        course = _Course(replace(rival), role, budget, seed, progress)
        responses[rival.machine.roles[role]] = course.run(responders, matches)
    return _bound(rival.machine, responses)


class _Course:
    """The measurement of one role: learning, selection, fresh matches."""

    def __init__(
        self, rival: Rival, role: int, budget: Budget, seed: int, progress: Progress
    ) -> None:
        self._rival, self._role, self._budget = rival, role, budget
        self._name = rival.machine.roles[role]
        self._rng = np.random.default_rng((seed, role))
        self._movers = rival.movers(role, self._rng)
        self._progress = progress

    def run(self, makers: Sequence[MakeResponder], matches: int) -> Response:
        candidates = [maker(self._rival, self._role, self._rng) for maker in makers]
        responders = [candidate for candidate in candidates if candidate is not None]
        if not responders:
            raise ConfigError("no responder can play this game")
        seconds = self._budget.seconds
        share = Budget(self._budget.updates, seconds and seconds / len(responders))
        courses = [self._learn(responder, share) for responder in responders]
        values = [course[-1].score.value or 0.0 for course in courses]
        best = responders[int(np.argmax(values))]
        mover = best.mover()
        goals = goals_of(self._rival, {**self._movers, self._role: mover}, matches, self._rng)
        role_goals = np.nan_to_num(goals[:, self._role], nan=self._rival.machine.goal_range[0])
        judged = tuple(point for course in courses for point in course)
        return Response(best.name, judged, goals, self._interval(role_goals))

    def _learn(self, responder: Responder, budget: Budget) -> list[Judged]:
        """Let a responder learn, and score it after 1, 2, 4 ... updates and at the end."""
        began_s = cpu_seconds()
        judged: list[Judged] = []
        learned = updates = last_learned = 0

        def judge() -> None:
            nonlocal last_learned
            share = int(VALIDATION_SHARE * (learned - last_learned))
            count = min(max(share, MIN_VALIDATION), MAX_VALIDATION)
            last_learned = learned
            mover = responder.mover()
            goals = scores(self._rival, self._role, self._movers, mover, count, self._rng)
            seconds = cpu_seconds() - began_s
            judged.append(Judged(responder.name, learned, seconds, self._interval(goals)))
            self._progress(self._name, judged[-1])

        def record(matches: int) -> None:
            nonlocal learned, updates
            learned = matches
            updates += 1
            self._progress(self._name, matches)
            if updates & (updates - 1) == 0:
                judge()

        responder.learn(budget, record)
        if last_learned < learned:
            judge()
        return judged

    def _interval(self, values: FloatArray) -> Interval:
        bounds = self._rival.machine.goal_range
        return mean_interval(values.tolist(), 0, bounds, fixed=False)


def _bound(machine: Machine, responses: dict[str, Response]) -> Bound:
    """The bound that follows from the responses in all roles."""
    low, high = machine.goal_range
    players = player_roles(machine)
    remainders: dict[str, Interval] = {}
    for role in players:
        against = [responses[machine.roles[player]] for player in players if player != role]
        level = 1 - (1 - LEVEL) / max(len(against), 1)  # Bonferroni: the lowest is selected
        # An unfinished match counts as the highest goal, so that the bound stays valid.
        values = [np.nan_to_num(response.goals[:, role], nan=high) for response in against]
        intervals = [
            mean_interval(v.tolist(), 0, (low, high), fixed=False, level=level) for v in values
        ]
        if intervals:
            remainders[machine.roles[role]] = min(intervals, key=lambda i: i.value or 0.0)
    goals = [response.goals[:, players].sum(axis=1) for response in responses.values()]
    sums = np.concatenate(goals)
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
        value, low_end, high_end = (None if x is None else len(players) * x - total for x in ends)
        nash_conv = Interval(value, low_end, high_end, mean.method)
    return Bound(responses, remainders, total, nash_conv)

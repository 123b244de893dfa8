"""The player `learned`: plays a policy that was learnt by self-play.

The policy comes from a file that the user names, or it is learnt in the start clock of this very
match. Nothing learnt is kept for another match, and nothing is read that was not named.

With `search` its belief is weighted by how likely the others, by their policies, were to come to
each particle, and its policy takes a step towards moves that are worth more when everybody goes on
by policy from there: see `ggp.labs.learning.learned`.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ggp.belief import (
    DEFAULT_EXACT,
    OWN_COMPLETIONS,
    Bags,
    FollowsPaths,
    HyperPlaySampler,
    Known,
    PathModel,
    PathTree,
    Sampler,
    never,
)
from ggp.errors import NOTE, ConfigError
from ggp.labs.learning.env.engine import engine_of
from ggp.labs.learning.env.kernels import U64
from ggp.labs.learning.learnt_values import MatchLearner
from ggp.labs.learning.selfplay import LearntPolicy
from ggp.labs.learning.selfplay.files import read_policy
from ggp.labs.learning.selfplay.policies import NetPaths
from ggp.labs.learning.selfplay.rollouts import Rollouts
from ggp.machine.arrays import offsets_of
from ggp.machine.base import FloatArray, IntArray, Machine, Ragged, player_roles
from ggp.machine.definition import GameDefinition
from ggp.players.options.evaluations import policies_field
from ggp.players.options.opponents import ModelForm
from ggp.players.options.option_fields import whole
from ggp.players.parts.belief_player import BeliefPlayer
from ggp.players.parts.risk import RiskOptions
from ggp.players.parts.search_player import move_values
from ggp.players.player import Choice, Context
from ggp.search.anytime import Deadline, OutOfTime, Pace
from ggp.search.budgets import run_search
from ggp.search.estimates import Estimates, Tally, candidates
from ggp.search.trials import Results, plan_round
from ggp.study.names import names_of

MOST_PARTICLES = 1000
"""Most particles of a bag that is searched, if there is a clock, and time."""

STEP, SOLE_STEP = 0.02, 0.001
"""Temperature of a step of search, as a share of the goal range: of games of several roles, and of
one, where nobody can take advantage of a role that always plays the best. With 0.1 policies moved
too little: docs/measured/learning.md has duels."""

SOLE_TEMPERATURE = 0.1
"""Factor of the temperature of a policy where one role plays: chance in its moves is of no use to
it, but breaks ties."""

START_SHARE = 0.85
"""Share of the start clock in which it learns."""

FIRST_SHARE, LAST_SHARE = 0.5, 0.7
"""Shares of the time for a move in which it learns, where there was no start clock, or too little:
no update is begun after the first, and none goes on after the second."""

TOLD_S = 0.05
"""A decision with at least so much time tells if that is too little to learn; rehearsals of matches
have less."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class LearnedOptions(RiskOptions):
    """Options of `learned`."""

    policy: str = policies_field(
        "policies that `ggp learn` wrote; without, it learns in the start clock"
    )
    updates: int = whole(20, "how often it learns without a file and without a clock")
    search: int = whole(0, "steps of search on the policy; 0: none", low=0, high=100)
    trials: int = whole(256, "rollouts of each candidate when it searches without a clock")
    particles: int = whole(256, "particles in a bag that is searched, if it is sampled")


class Learned(BeliefPlayer):
    """A move drawn from a policy learnt by self-play, from a file or in the start clock."""

    Options = LearnedOptions
    options: LearnedOptions

    def __init__(self, options: Any, context: Context) -> None:
        if context.program is None:
            raise ConfigError("learned needs the rules of the game, and was given none")
        self._program: GameDefinition = context.program
        self._names = names_of(self._program, context.machine)
        self._policies: dict[str, LearntPolicy] = {}
        self._model: LearntMoves | None = None
        super().__init__(options, context)
        self._engine = engine_of(self.machine, self._names)
        self._seed = int(self.rng.integers(1 << 62))
        self._learner: MatchLearner | None = None
        self._has_told = False
        if self.options.policy:
            self._policies.update(self._read(self.options.policy))
        else:
            self._learner = MatchLearner(
                self._program, self.machine, self._names, self._seed, context.clock
            )

    @property
    def tells_policy(self) -> bool:  # type: ignore[override]
        """Only with a file and without search: what is learnt or searched depends on the seed."""
        return bool(self.options.policy) and not self.options.search

    @property
    def most_particles(self) -> int:
        return MOST_PARTICLES if self.options.search else super().most_particles

    def sampler(self, tree: PathTree) -> Sampler:
        self._rows = NetPaths(self.machine, tree, self._names)
        if not self.options.search:
            return super().sampler(tree)
        self._model = LearntMoves(self.machine, tree, self.role, self._rows, self._policies)
        return HyperPlaySampler(
            self.machine,
            tree,
            exact=DEFAULT_EXACT,
            capacity=self.options.particles,
            keep_views=True,
            model=self._model,
            follows=True,
            completions=OWN_COMPLETIONS,
            solves=True,
        )

    def simulated(self) -> tuple[FollowsPaths, ...]:
        return () if self._model is None else (self._model,)

    def prepare(self, deadline: Deadline) -> None:
        """Learn in the time before the first turn; see `Preparing`."""
        if self._learner is not None:
            self._policies.update(self._learner.learn_until(deadline.part(START_SHARE), deadline))

    def decide(self, bag: Bags, deadline: Deadline | None) -> Choice:
        if not self._policies:
            self._learn(deadline)
        moves = candidates(self.machine, bag).values
        if not self._policies:
            shares = np.full(len(moves), 1 / len(moves))
            return self.mixed(moves, shares), self.unvalued(moves.tolist())
        shares = self._shares(bag, moves)
        if not self.options.search:
            return self.mixed(moves, shares), self.unvalued(moves.tolist())
        estimates = run_search(
            self._search(bag, deadline), self.machine, self.options.trials, deadline
        )
        tried = estimates.visits > 0
        if tried.any():
            # What was not tried, for want of time, is worth what the policy is on average.
            usual = np.average(estimates.values[tried], weights=shares[tried] + 1e-12)
            values = np.where(tried, estimates.values, usual)
            shares = stepped(shares, values, self._step / self.options.search)
        return self.mixed(moves, shares), move_values(self.machine, estimates)

    def shares_at(self, tree: PathTree, paths: IntArray, legal: Ragged) -> FloatArray | None:
        """See `ggp.solve.exploitation.TellsPaths`."""
        if not self.tells_policy or self._policy.features.reads_state:
            return None
        return self._told(NetPaths(self.machine, tree, self._names), paths, legal)

    # ---------------------------------------------------------------- learning

    def _read(self, file: str) -> dict[str, LearntPolicy]:
        kept = read_policy(Path(file))
        kept.check_game(self._names, file)
        policies, role = kept.policies(), self.machine.roles[self.role]
        if role not in policies:
            raise ConfigError(f"{file} has no policy of {role}, only of {', '.join(policies)}")
        return policies

    def _learn(self, deadline: Deadline | None) -> None:
        """Learn policies of all roles, if there is time for it."""
        assert self._learner is not None
        given_s = 0.0 if deadline is None else deadline.left_s()
        if deadline is None:
            found = self._learner.learn(self.options.updates)
        else:
            until, end = deadline.part(FIRST_SHARE), deadline.part(LAST_SHARE)
            found = self._learner.learn_until(until, end)
        self._policies.update(found)
        if found or self._has_told or deadline is None or given_s < TOLD_S:
            return
        self._has_told = True
        role = self.machine.roles[self.role]
        _log.log(
            NOTE,
            "%s as %s: no time to learn yet, so it moves at random; give a start clock or "
            "policy=FILE",
            self.context.name,
            role,
        )

    # ---------------------------------------------------------------- playing

    @property
    def _is_sole(self) -> bool:
        """Whether one role plays, of whom nobody can take advantage."""
        return len(self._names.roles) == 1

    @property
    def _temperature(self) -> float:
        """The temperature of the policy."""
        return SOLE_TEMPERATURE if self._is_sole else 1.0

    @property
    def _step(self) -> float:
        """The temperature of a step, in goal values."""
        low, high = self.machine.goal_range
        return (SOLE_STEP if self._is_sole else STEP) * max(high - low, 1e-9)

    def _search(self, bag: Bags, deadline: Deadline | None) -> PolicySearch:
        policies = [self._policies.get(role) for role in self._names.roles]
        rollouts = Rollouts(self._engine, policies, sum(self.machine.goal_range) / 2)
        return PolicySearch(self.machine, bag, rollouts, policies, self._rows, self.rng, deadline)

    def _shares(self, bag: Bags, moves: IntArray) -> FloatArray:
        """`[M]` probabilities of moves by the policy alone."""
        legal = Ragged(np.array([0, len(moves)]), moves)
        if not self._policy.features.reads_state:
            return self._told(self._rows, bag.paths[:1], legal)
        state = bag.states_of(0).take(np.zeros(1, dtype=np.int64))
        row = np.concatenate([self._rows.masks(legal), self._engine.fluent_words(state)], axis=1)
        places = self._rows.actions(moves)
        shares = self._policy.at(row, self._temperature)[0, places].astype(np.float64)
        return np.asarray(shares / shares.sum())

    def _told(self, rows: NetPaths, paths: IntArray, legal: Ragged) -> FloatArray:
        return rows.shares(self._policy, paths, legal, self._temperature)

    @property
    def _policy(self) -> LearntPolicy:
        return self._policies[self.machine.roles[self.role]]


# ------------------------------------------------------------------------
# One step of search on a policy: values of moves where everybody goes on as was learnt.
#
# The update-equivalence framework (S. Sokota et al., ICLR 2024): what search adds to a policy is a
# step of the learning algorithm itself, made only where the role stands. For magnetic mirror
# descent, by which policies are learnt here, this step is
#
# shares ∝ policy * exp(value / temperature)
#
# It needs no public information: values are means over a belief that is weighted by how likely the
# others, who move by their policies, were to come there. Values do not depend on the role's own
# shares at this place, which a match comes to only once. So N steps are one of N times the length.

SIDE_BY_SIDE = 256
"""Rollouts that take about as long together as a single one."""

LANES_AT_ONCE = 1 << 13
"""Rollouts side by side: bounds memory."""


class PolicySearch:
    """Values of the candidates of one bag, improved round by round, by rollouts of policies.

    Args:
        bag: one bag with particles. Without views, what the others know is not known: they then
            move at random.
        policies: of each player, in the order of `rows.names`.
        deadline: looked at during rounds.

    Attributes:
        moves: see `Search`.
    """

    side_by_side = SIDE_BY_SIDE

    def __init__(
        self,
        machine: Machine,
        bag: Bags,
        rollouts: Rollouts,
        policies: Sequence[LearntPolicy | None],
        rows: NetPaths,
        rng: np.random.Generator,
        deadline: Deadline | None = None,
    ) -> None:
        self._machine, self._bag, self._rollouts = machine, bag, rollouts
        self._rng, self._deadline, self._rows = rng, deadline, rows
        self.moves = candidates(machine, bag)
        self._tally = Tally(len(self.moves.values))
        self._role = player_roles(machine).index(bag.role)
        self._turns = 0
        self._known = self._known_rows(policies)
        self._pace = Pace(deadline, SIDE_BY_SIDE, LANES_AT_ONCE, min_lanes=SIDE_BY_SIDE)

    def round(self, count: int, subset: IntArray | None = None) -> None:
        """Make `count` more rollouts of every candidate, or of those chosen.

        Raises:
            OutOfTime: not all could be made; candidates that got all of theirs count.
        """
        bag = self._bag
        trials = plan_round(bag, self.moves, count, self._rng, subset)
        results = Results(trials, sum(self._machine.goal_range) / 2)
        stop = never if self._deadline is None else self._deadline.passed
        try:
            for start, end in self._pace.batches(len(trials)):
                strata, counts = trials.part(start, end)
                lanes = np.repeat(trials.lanes[strata], counts)
                moves = np.repeat(trials.moves[strata], counts)
                ended = self._rollouts.run(
                    bag.sets.states.take(lanes),
                    [rows[lanes] for rows in self._known],
                    self._turns,
                    self._role,
                    self._rows.actions(moves),
                    self._rng,
                    stop,
                )
                if stop():
                    raise OutOfTime
                goals = np.ascontiguousarray(ended.goals[:, self._role])
                results.add(start, goals, ended.turns)
        finally:
            self._tally.add(results, count, exact=bool(bag.exact.all()))

    def estimates(self) -> Estimates:
        """The values so far."""
        return self._tally.estimates(self.moves)

    def _known_rows(self, policies: Sequence[LearntPolicy | None]) -> list[U64]:
        """`[N, W]` of each player, what it knows in each entry."""
        bag, views, found = self._bag, self._bag.sets.views, []
        for number, role in enumerate(player_roles(self._machine)):
            policy, paths = policies[number], None
            if role == bag.role:
                paths = np.full(len(bag.sets.states), bag.paths[0])
                self._turns = self._rows.depth(int(bag.paths[0]))
            elif views is not None:
                paths = views[:, role]
            if policy is None or policy.features.reads_state or paths is None:
                width = 0 if policy is None else policy.features.num_words
                found.append(np.zeros((len(bag.sets.states), width), dtype=np.uint64))
            else:
                found.append(self._rows.rows(policy.features, paths))
        return found


def stepped(policy: FloatArray, values: FloatArray, temperature: float) -> FloatArray:
    """`[M]` shares of moves after a step of mirror descent from a policy.

    Args:
        policy: `[M]` shares; they sum to 1.
        values: `[M]` of the moves.
        temperature: above 0, in the unit of values: a move that is better by so much becomes e
            times as likely, compared with the other.
    """
    logs = np.log(np.maximum(policy, 1e-12)) + (values - values.max()) / temperature
    shares = np.exp(logs - logs.max())
    return np.asarray(shares / shares.sum())


# ------------------------------------------------------------------------
# How other roles are believed to move: by policies that were learnt (`path_rows`).
#
# In plain GDL, where everybody knows the state, nets read that and not paths; nothing is believed
# of the others then, and there is no need: a belief has one state.

TRUST = 1.0
"""How far a policy is trusted to be that of the others."""


def _model(
    file: str,
    machine: Machine,
    tree: PathTree,
    role: int,
    rng: np.random.Generator,
    program: GameDefinition | None,
) -> LearntMoves:
    """The model in a file that `ggp learn` wrote."""
    if program is None:
        raise ConfigError(f"model=policy:{file} needs the rules of the game, and was given none")
    names, kept = names_of(program, machine), read_policy(Path(file))
    kept.check_game(names, file)
    return LearntMoves(machine, tree, role, NetPaths(machine, tree, names), kept.policies())


MODEL = ModelForm(_model, lambda file: read_policy(Path(file)), lambda file: True)


class LearntMoves(PathModel):
    """The others move by policies.

    Args:
        rows: makes what policies read.
        policies: by role; of roles that are missing the model says nothing. May be filled in as
            long as nothing was asked.
    """

    def __init__(
        self,
        machine: Machine,
        tree: PathTree,
        own: int,
        rows: NetPaths,
        policies: Mapping[str, LearntPolicy],
    ) -> None:
        super().__init__(machine, tree, own)
        self._rows, self._policies = rows, policies

    def _ask(self, role: int, paths: IntArray, moves: list[IntArray]) -> list[Known | None]:
        policy = self._policies.get(self._machine.roles[role])
        if policy is None or policy.features.reads_state:
            return [None] * len(paths)
        legal = Ragged(offsets_of(np.array(list(map(len, moves)))), np.concatenate(moves))
        shares = self._rows.shares(policy, paths, legal)
        parts = np.split(shares, legal.offsets[1:-1])
        return [Known(*pair, TRUST) for pair in zip(moves, parts, strict=True)]

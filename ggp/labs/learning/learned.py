"""The player `learned`: plays a policy that was learnt by self-play.

Each decision takes the role's path, and draws a move from the policy. The policy comes from a file
that the user names, or it is learnt in the start clock of the match. Nothing learnt is kept for
another match, and no other file is read.

With `search`, the policy makes a step towards moves of higher value. Values are means of rollouts
in which every role follows its policy, from particles that are weighted by the probability that
the other roles, by their policies, reach them (`PolicySearch`).
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
from ggp.search.estimates import Estimates, Results, Tally, candidates, plan_round
from ggp.search.parts import run_search
from ggp.study.names import names_of

MAX_PARTICLES = 1000
"""Most particles of a bag that is searched, if a clock leaves enough time."""

STEP, SOLE_STEP = 0.02, 0.001
"""Temperature of a step of search, as a share of the goal range: in games of several roles, and of
one, where nobody can exploit a role that always plays its best move. With 0.1, policies moved too
little: docs/measured/learning.md has the duels."""

SOLE_TEMPERATURE = 0.1
"""Factor of the temperature of a policy in games of one role: random moves only serve to break
ties."""

START_SHARE = 0.85
"""Share of the start clock in which it learns."""

FIRST_SHARE, LAST_SHARE = 0.5, 0.7
"""Shares of the time for a move, if the start clock was missing or too short for learning: no
update begins after the first, and none continues after the second."""

TOLD_S = 0.05
"""Least time of a decision that warns if it is too short for learning. Rehearsals of matches have
less time, and do not warn."""

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
        self._has_warned = False
        if self.options.policy:
            self._policies.update(self._read(self.options.policy))
        else:
            self._learner = MatchLearner(
                self._program, self.machine, self._names, self._seed, context.clock
            )

    @property
    def tells_policy(self) -> bool:  # type: ignore[override]
        """Only with a file and without search: learning and searching depend on the seed."""
        return bool(self.options.policy) and not self.options.search

    @property
    def most_particles(self) -> int:
        return MAX_PARTICLES if self.options.search else super().most_particles

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
        visited = estimates.visits > 0
        if visited.any():
            # A move without trials, for lack of time, gets the mean value of the policy.
            usual = np.average(estimates.values[visited], weights=shares[visited] + 1e-12)
            values = np.where(visited, estimates.values, usual)
            shares = stepped(shares, values, self._step / self.options.search)
        return self.mixed(moves, shares), move_values(self.machine, estimates)

    def shares_at(self, tree: PathTree, paths: IntArray, legal: Ragged) -> FloatArray | None:
        """See `ggp.solve.exploitation.TellsPaths`."""
        if not self.tells_policy or self._policy.features.reads_state:
            return None
        return self._path_shares(NetPaths(self.machine, tree, self._names), paths, legal)

    # ---------------------------------------------------------------- learning

    def _read(self, file: str) -> dict[str, LearntPolicy]:
        policy_file = read_policy(Path(file))
        policy_file.check_game(self._names, file)
        policies, role = policy_file.policies(), self.machine.roles[self.role]
        if role not in policies:
            raise ConfigError(f"{file} has no policy of {role}, only of {', '.join(policies)}")
        return policies

    def _learn(self, deadline: Deadline | None) -> None:
        """Learn policies of all roles, if there is time for it."""
        assert self._learner is not None
        time_s = 0.0 if deadline is None else deadline.left_s()
        if deadline is None:
            policies = self._learner.learn(self.options.updates)
        else:
            until, end = deadline.part(FIRST_SHARE), deadline.part(LAST_SHARE)
            policies = self._learner.learn_until(until, end)
        self._policies.update(policies)
        if policies or self._has_warned or deadline is None or time_s < TOLD_S:
            return
        self._has_warned = True
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
        """Whether the game has only one role, which nobody can exploit."""
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
            return self._path_shares(self._rows, bag.paths[:1], legal)
        state = bag.states_of(0).take(np.zeros(1, dtype=np.int64))
        row = np.concatenate([self._rows.masks(legal), self._engine.fluent_words(state)], axis=1)
        actions = self._rows.actions(moves)
        shares = self._policy.at(row, self._temperature)[0, actions].astype(np.float64)
        return np.asarray(shares / shares.sum())

    def _path_shares(self, rows: NetPaths, paths: IntArray, legal: Ragged) -> FloatArray:
        return rows.shares(self._policy, paths, legal, self._temperature)

    @property
    def _policy(self) -> LearntPolicy:
        return self._policies[self.machine.roles[self.role]]


# ------------------------------------------------------------------------
# One step of search on a policy, by the values of moves when every role goes on by its policy.
#
# The update-equivalence framework (S. Sokota et al., ICLR 2024): search improves a policy by a step
# of the learning algorithm itself, made only at the present information set. For magnetic mirror
# descent, by which policies are learnt here, this step is
#
#     shares ∝ policy * exp(value / temperature)
#
# It needs no public information: values are means over a belief whose particles are weighted by the
# probability that the other roles reach them by their policies. The values do not depend on the
# role's own shares at this information set, since a match visits it only once. So N steps are one
# step of N times the length.

SIDE_BY_SIDE = 256
"""Rollouts that together take about as long as a single one."""

LANES_AT_ONCE = 1 << 13
"""Most rollouts side by side, which bounds memory."""


class PolicySearch:
    """Values of the candidates of one bag, improved round by round, by rollouts of policies.

    Args:
        bag: one bag with particles. Without views, the knowledge of other roles is unknown, and
            they move at random.
        policies: the policy of each player, in the order of `rows.names`.
        deadline: checked during rounds.

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
        self._knowledge = self._role_rows(policies)
        self._pace = Pace(deadline, SIDE_BY_SIDE, LANES_AT_ONCE, min_lanes=SIDE_BY_SIDE)

    def round(self, count: int, subset: IntArray | None = None) -> None:
        """Make `count` more rollouts of every candidate, or of the `chosen` ones.

        Raises:
            OutOfTime: there was no time for all; candidates with all their rollouts count.
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
                    [rows[lanes] for rows in self._knowledge],
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
        """The estimates so far."""
        return self._tally.estimates(self.moves)

    def _role_rows(self, policies: Sequence[LearntPolicy | None]) -> list[U64]:
        """For each player `[N, W]`, its knowledge in each particle."""
        bag, views, role_rows = self._bag, self._bag.sets.views, []
        for player, role in enumerate(player_roles(self._machine)):
            policy, paths = policies[player], None
            if role == bag.role:
                paths = np.full(len(bag.sets.states), bag.paths[0])
                self._turns = self._rows.depth(int(bag.paths[0]))
            elif views is not None:
                paths = views[:, role]
            if policy is None or policy.features.reads_state or paths is None:
                width = 0 if policy is None else policy.features.num_words
                role_rows.append(np.zeros((len(bag.sets.states), width), dtype=np.uint64))
            else:
                role_rows.append(self._rows.rows(policy.features, paths))
        return role_rows


def stepped(policy: FloatArray, values: FloatArray, temperature: float) -> FloatArray:
    """`[M]` shares of moves after a step of mirror descent from a policy.

    Args:
        policy: `[M]` shares; they sum to 1.
        values: `[M]` of the moves.
        temperature: above 0, in the unit of values: an advantage of one temperature makes a move e
            times as likely.
    """
    logs = np.log(np.maximum(policy, 1e-12)) + (values - values.max()) / temperature
    shares = np.exp(logs - logs.max())
    return np.asarray(shares / shares.sum())


# ------------------------------------------------------------------------
# A move model of other roles, by learnt policies.
#
# In plain GDL, where every role knows the state, nets read the state and not paths. Then the model
# says nothing, and need not: a belief has only one state.

TRUST = 1.0
"""Trust that other roles move by these policies, from 0 to 1."""


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
    names, policy_file = names_of(program, machine), read_policy(Path(file))
    policy_file.check_game(names, file)
    return LearntMoves(machine, tree, role, NetPaths(machine, tree, names), policy_file.policies())


MODEL = ModelForm(_model, lambda file: read_policy(Path(file)), lambda file: True)


class LearntMoves(PathModel):
    """The move model in which other roles follow learnt policies.

    Args:
        rows: makes the rows of bits that policies read.
        policies: by role; the model says nothing about missing roles. The caller may fill it in
            until the model is first asked.
    """

    def __init__(
        self,
        machine: Machine,
        tree: PathTree,
        role: int,
        rows: NetPaths,
        policies: Mapping[str, LearntPolicy],
    ) -> None:
        super().__init__(machine, tree, role)
        self._rows, self._policies = rows, policies

    def _ask(self, role: int, paths: IntArray, moves: list[IntArray]) -> list[Known | None]:
        policy = self._policies.get(self._machine.roles[role])
        if policy is None or policy.features.reads_state:
            return [None] * len(paths)
        legal = Ragged(offsets_of(np.array(list(map(len, moves)))), np.concatenate(moves))
        shares = self._rows.shares(policy, paths, legal)
        parts = np.split(shares, legal.offsets[1:-1])
        return [Known(*pair, TRUST) for pair in zip(moves, parts, strict=True)]

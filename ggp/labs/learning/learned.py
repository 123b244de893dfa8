"""The player `learned`: plays a policy that was learnt by self-play.

Each decision takes the role's path, and draws a move from the policy. The policy comes from a file
that the user names, or it is learnt in the start clock of the match. Nothing learnt is kept for
another match, and no other file is read.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ggp.belief import Bags, PathTree, Sampler
from ggp.errors import NOTE, ConfigError
from ggp.labs.learning.env.engine import engine_of
from ggp.labs.learning.learnt_values import MatchLearner
from ggp.labs.learning.selfplay import LearntPolicy
from ggp.labs.learning.selfplay.files import read_policy
from ggp.labs.learning.selfplay.policies import NetPaths
from ggp.machine.base import FloatArray, IntArray, Ragged
from ggp.machine.definition import GameDefinition
from ggp.players.options.option_fields import whole, words
from ggp.players.parts.belief_player import BeliefPlayer, RiskOptions
from ggp.players.player import Choice, Context
from ggp.search.anytime import Deadline
from ggp.search.estimates import candidates
from ggp.study.names import names_of

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


def _checked(file: str) -> str:
    if file:
        read_policy(Path(file))
    return file


@dataclass(frozen=True)
class LearnedOptions(RiskOptions):
    """Options of `learned`."""

    policy: str = words(
        "",
        "policies that `ggp learn` wrote; without, it learns in the start clock",
        "FILE",
        _checked,
        usual="none",
        names_file=bool,
        reads=str,
    )
    updates: int = whole(20, "how often it learns without a file and without a clock")


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
        """Only with a file: what it learns depends on the seed."""
        return bool(self.options.policy)

    def sampler(self, tree: PathTree) -> Sampler:
        self._rows = NetPaths(self.machine, tree, self._names)
        return super().sampler(tree)

    def prepare(self, deadline: Deadline) -> None:
        """Learn in the time before the first turn; see `Preparing`."""
        if self._learner is not None:
            self._policies.update(self._learner.learn_until(deadline.part(START_SHARE), deadline))

    def decide(self, bag: Bags, deadline: Deadline | None) -> Choice:
        if not self._policies:
            self._learn(deadline)
        moves = candidates(self.machine, bag).values
        shares = self._shares(bag, moves) if self._policies else np.full(len(moves), 1 / len(moves))
        return self.mixed(moves, shares), self.unvalued(moves.tolist())

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
    def _temperature(self) -> float:
        """The temperature of the policy: lower where nobody can exploit it."""
        return SOLE_TEMPERATURE if len(self._names.roles) == 1 else 1.0

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

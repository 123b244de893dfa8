"""The player `learned`: plays a policy that was learnt by self-play.

The policy comes from a file that the user names, or it is learnt in the start clock of this very
match. Nothing learnt is kept for another match, and nothing is read that was not named.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ggp.belief import Bags
from ggp.env.circuit_engine import engine_of, suits
from ggp.env.environment import Environment
from ggp.env.kernels import U64
from ggp.env.names import names_of
from ggp.errors import ConfigError
from ggp.learn import Learner, LearntPolicy
from ggp.learn.features import of_paths
from ggp.learn.files import read_policy
from ggp.machine.base import UNKNOWN, FloatArray, IntArray
from ggp.machine.definition import GameDefinition
from ggp.machine.propnet.play.kernels.packed import rows_of_bits, words_for
from ggp.players.belief_player import BeliefPlayer, Choice
from ggp.players.option_fields import whole, words
from ggp.players.player import Context
from ggp.players.risk import RiskOptions
from ggp.search.anytime import Deadline
from ggp.search.estimates import candidates

START_SHARE = 0.85
"""Share of the start clock in which it learns."""

FIRST_SHARE = 0.5
"""Share of the time for the first move in which it learns, where there was no start clock."""

LANES, SLOW_LANES = 1024, 4
"""Matches side by side while it learns: with a circuit, and on slower machines."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class LearnedOptions(RiskOptions):
    """Options of `learned`."""

    policy: str = words(
        "",
        "policies that `ggp learn` wrote; without, it learns in the start clock",
        "FILE",
        usual="none",
        names_file=bool,
    )
    temperature: int = whole(
        100, "percent of the policy's own: less makes likely moves likelier", high=1000
    )
    updates: int = whole(20, "how often it learns without a file and without a clock")


class Learned(BeliefPlayer):
    """A move drawn from a policy learnt by self-play, from a file or in the start clock."""

    Options = LearnedOptions
    options: LearnedOptions

    def __init__(self, options: Any, context: Context) -> None:
        super().__init__(options, context)
        if context.program is None:
            raise ConfigError("learned needs the rules of the game, and was given none")
        self._program: GameDefinition = context.program
        self._names = names_of(self._program, self.machine)
        self._engine = engine_of(self.machine, self._names)
        self._policy: LearntPolicy | None = None
        self._seed = int(self.rng.integers(1 << 62))
        if self.options.policy:
            self._policy = self._read(self.options.policy)

    @property
    def tells_policy(self) -> bool:  # type: ignore[override]
        """Only with a file: a policy that is learnt in a match depends on the seed."""
        return bool(self.options.policy)

    def prepare(self, deadline: Deadline) -> None:
        """Learn in the time before the first turn; see `Preparing`."""
        if self._policy is None:
            self._learn(deadline.part(START_SHARE))

    def decide(self, bag: Bags, deadline: Deadline | None) -> Choice:
        if self._policy is None:
            self._learn(None if deadline is None else deadline.part(FIRST_SHARE))
        moves = candidates(self.machine, bag).values
        return self.mixed(moves, self._shares(bag, moves)), self.unvalued(moves.tolist())

    # ---------------------------------------------------------------- learning

    def _read(self, file: str) -> LearntPolicy:
        kept = read_policy(Path(file))
        kept.check_game(self._names, file)
        policies, role = kept.policies(), self.machine.roles[self.role]
        if role not in policies:
            raise ConfigError(f"{file} has no policy of {role}, only of {', '.join(policies)}")
        return policies[role]

    def _learn(self, deadline: Deadline | None) -> None:
        """Learn policies of all roles, and keep that of ours."""
        learner = Learner(self._environment(), seed=self._seed)
        if deadline is None:
            learner.learn(updates=self.options.updates)
        else:
            learner.learn(seconds=max(deadline.left_s(), 1e-9), clock=deadline.clock)
        self._policy = learner.policies()[self.machine.roles[self.role]]
        _log.info("learned from %d decisions", learner.decisions)

    def _environment(self) -> Environment:
        lanes = LANES if suits(self.machine) else SLOW_LANES
        return Environment(self._program, self.machine, lanes, paths=False, names=self._names)

    # ---------------------------------------------------------------- playing

    def _shares(self, bag: Bags, moves: IntArray) -> FloatArray:
        """`[M]` probabilities of moves."""
        assert self._policy is not None
        places = [self._names.move(self.machine.move_text(move)) for move in moves.tolist()]
        row = self._row(bag, np.array(places))
        temperature = self.options.temperature / 100
        shares = self._policy.at(row, temperature)[0, places].astype(np.float64)
        return np.asarray(shares / shares.sum())

    def _row(self, bag: Bags, places: IntArray) -> U64:
        """`[1, W]` what the policy reads."""
        assert self._policy is not None
        features = self._policy.features
        zeros = np.zeros(len(places), dtype=np.int64)
        masks = rows_of_bits(zeros, places, 1, words_for(len(self._names.moves)))
        if features.reads_state:
            state = bag.states_of(0).take(np.zeros(1, dtype=np.int64))
            return np.concatenate([masks, self._engine.fluent_words(state)], axis=1)
        turns = self._tokens(int(bag.paths[0]))
        paths = np.zeros((1, len(turns), max(map(len, turns), default=0)), dtype=np.int32)
        for turn, tokens in enumerate(turns):
            paths[0, turn, : len(tokens)] = tokens
        return of_paths(features, masks, paths, np.array([len(turns)], dtype=np.int32))

    def _tokens(self, path: int) -> list[list[int]]:
        """The tokens of each turn of a path, as `Turn.paths`; what is not known is left out."""
        machine, names, tree = self.machine, self._names, self.tracker.tree
        found = []
        for node in tree.beginnings(np.array([path]))[1:]:
            move, percepts, _ = tree.last_turns(node)[0].tolist()
            tokens = []
            if move != UNKNOWN:
                tokens.append(1 + names.move(machine.move_text(move)))
            if percepts != UNKNOWN:
                seen = map(names.percept, machine.percept_texts(percepts))
                tokens += [1 + len(names.moves) + each for each in seen]
            found.append(tokens)
        return found

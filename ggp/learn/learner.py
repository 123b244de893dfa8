"""Learns policies by playing: regularised policy gradient with a critic that sees the state.

All roles play in L lanes for a *segment* of some turns. The critic says how much better each came
out than was expected (generalised advantages), and every policy learns from that once, in blocks of
lanes, by the clipped gradient of PPO. A temperature weighs the entropy of policies, so that
self-play comes to rest instead of running in circles (S. Sokota et al., ICLR 2023; M. Rudolph et
al., arXiv 2502.08938); it falls while learning goes on. What counts in the end are the averages of
the weights.

To learn a best response, let one role learn and name who moves the others:

    env = make("krieg_tic_tac_toe", 1024)
    learner = Learner(env, roles=["xplayer"], others=opponent, seed=1)
    learner.learn(updates=200)
    learner.policies()["xplayer"]

`opponent(turn)` is called once a turn with the `Turn` of all lanes and returns `[L, Q]` actions;
those of roles that learn are ignored, -1 draws a legal one. Its matches begin where `turn.turns` is
0. `turn.paths` is what roles know, if the environment keeps paths.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ggp.env.environment import Environment
from ggp.env.kernels import I64
from ggp.env.turn import Turn
from ggp.errors import ConfigError
from ggp.gdl.nearest import unknown
from ggp.learn.actors import Actor, Critic, Steps
from ggp.learn.features import bound_of, features_of, features_of_states
from ggp.learn.policies import LearntPolicy
from ggp.learn.policy_kernels import advantages
from ggp.seeds import check_seed

Others = Callable[[Turn], I64]
"""Says how roles that do not learn move: `[L, Q]` actions, -1 for one that is drawn."""

_MIDDLE, _HALF = 50.0, 50.0
"""Goal values, from 0 to 100, are learnt as rewards from -1 to 1."""


@dataclass(frozen=True)
class Settings:
    """How to learn.

    Attributes:
        turns: S, of a segment.
        blocks: of lanes, from each of which there is one step.
        hidden, critic: units of the hidden layers of policies, and of the critic.
        rate: of learning, at the beginning; it falls to a tenth.
        warm, cold: temperature at the beginning and at the end, for rewards from -1 to 1.
        clip: how far a step may change probabilities, as a ratio.
        decay: lambda of advantages.
    """

    turns: int = 32
    blocks: int = 4
    hidden: tuple[int, ...] = (64, 64)
    critic: tuple[int, ...] = (64,)
    rate: float = 3e-3
    warm: float = 0.2
    cold: float = 0.05
    clip: float = 0.2
    decay: float = 0.95


@dataclass(frozen=True)
class Told:
    """How learning goes on.

    Attributes:
        updates, states, decisions: segments learnt from, turns in all lanes, choices in them.
        seconds: of learning, by the clock.
        share: of the budget that is used up.
        rewards: by role, mean goal value of the matches that ended in the last segment; NaN if none
            did.
        entropy: by role, mean entropy of its decisions there, in nats.
        error: mean square error of the critic, for rewards from -1 to 1.
    """

    updates: int
    states: int
    decisions: int
    seconds: float
    share: float
    rewards: Mapping[str, float]
    entropy: Mapping[str, float]
    error: float


class Learner:
    """Learns in the lanes of an environment.

    Args:
        env: of all players, with `restarts`; see above for `paths`.
        roles: those that learn; default: all.
        others: how all other roles move; default: at random.
        seed: of everything random.

    Raises:
        ConfigError: there is no such role, or nets would be too large.
    """

    def __init__(
        self,
        env: Environment,
        *,
        roles: Sequence[str] | None = None,
        others: Others | None = None,
        settings: Settings | None = None,
        seed: int = 0,
    ) -> None:
        check_seed(seed)
        self.env, self.seed = env, seed
        self.settings = settings = settings or Settings()
        self.updates = self.states = self.decisions = 0
        self._others = others
        for role in roles or ():
            if role not in env.roles:
                raise ConfigError(unknown("role", role, env.roles, ", ".join(env.roles)))
        features = features_of(env.names, bound_of(env))
        self._actors = [
            Actor(env, number, features, settings.hidden, settings.turns)
            for number, role in enumerate(env.roles)
            if roles is None or role in roles
        ]
        states = features_of_states(env.names)
        self._critic = Critic(env, states, settings.critic, settings.turns)
        rng = np.random.default_rng([seed, 0])
        for actor in self._actors:
            actor.begin(rng)
        self._critic.begin(rng)
        self._turn = env.reset(seed)
        lanes, num = env.num_lanes, len(env.roles)
        self._rewards = np.zeros((settings.turns, lanes, num), dtype=np.float32)
        self._ended = np.zeros((settings.turns, lanes), dtype=np.bool_)
        self._seconds = 0.0
        self._key = 0

    def learn(
        self,
        *,
        updates: int | None = None,
        states: int | None = None,
        seconds: float | None = None,
        progress: Callable[[Told], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> Told:
        """Learn until a budget is used up; the first one counts if there are several.

        With updates or states, the same seed gives the same policies.

        Args:
            updates: segments to learn from, in this call.
            states: turns in all lanes together.
            seconds: by the clock. The update during which they run out is finished.
            progress: called after each update.

        Raises:
            ConfigError: there is no budget.
        """
        if updates is states is seconds is None:
            raise ConfigError("learning needs a budget: updates, states, or seconds")
        began, spent = clock(), self._seconds
        first_update, first_state = self.updates, self.states
        told, share = None, 0.0
        while told is None or share < 1:
            gone = clock() - began
            share = max(
                (self.updates - first_update) / updates if updates else 0.0,
                (self.states - first_state) / states if states else 0.0,
                gone / seconds if seconds else 0.0,
            )
            if share >= 1 and told is not None:
                break
            self._segment()
            error = self._improve(min(share, 1.0))
            self._seconds = spent + clock() - began
            told = self._told(min(share, 1.0), error)
            if progress is not None:
                progress(told)
        return told

    def policies(self, *, averaged: bool = True) -> dict[str, LearntPolicy]:
        """What was learnt so far, by role.

        Args:
            averaged: whether weights are averages over time, or the last ones.
        """
        return {
            self.env.roles[actor.role]: LearntPolicy(
                actor.net.features,
                actor.net.shape.hidden,
                (actor.optimiser.average if averaged else actor.net.weights.flat).copy(),
            )
            for actor in self._actors
        }

    def _segment(self) -> None:
        """Play some turns in all lanes."""
        env, turn = self.env, self._turn
        actions = np.full((env.num_lanes, len(env.roles)), -1, dtype=np.int64)
        for actor in self._actors:
            actor.begin_segment()
        for number in range(self.settings.turns):
            self._critic.watch(turn, number)
            if self._others is not None:
                actions[:] = self._others(turn)
            for actor in self._actors:
                self._key += 1
                key = (self.seed * 1_000_003 + self._key * 7_919) & ((1 << 63) - 1)
                actor.act(turn, number, key, actions)
            turn = env.step(actions)
            self._ended[number] = turn.ended
            # A match that is cut off is worth nothing to anybody.
            rewards = (turn.rewards - _MIDDLE) / _HALF
            self._rewards[number] = np.where(turn.terminated[:, None], rewards, 0)
        self._critic.watch(turn, self.settings.turns)
        self._turn = turn
        self.updates += 1
        self.states += env.num_lanes * self.settings.turns
        self.decisions += sum(actor.num_rows for actor in self._actors)

    def _improve(self, share: float) -> float:
        """Learn from the segment; returns the error of the critic."""
        settings = self.settings
        rate = settings.rate * (1 - 0.9 * share)
        temperature = settings.warm * (settings.cold / settings.warm) ** share
        steps = Steps(rate, temperature, settings.clip)
        bounds = np.linspace(0, self.env.num_lanes, settings.blocks + 1).astype(int).tolist()
        for actor in self._actors:
            actor.told[:] = 0
        error = 0.0
        for low, high in pairwise(bounds):
            values = self._critic.values(low, high)
            gains = np.empty((settings.turns, high - low, values.shape[2]), dtype=np.float32)
            rewards, ended = self._rewards[:, low:high], self._ended[:, low:high]
            advantages(values, rewards, ended, settings.decay, gains)
            self._critic.learn(gains, rate)
            error += self._critic.error / settings.blocks
            for actor in self._actors:
                actor.learn(low, high, gains[:, :, actor.role], steps)
        return error

    def _told(self, share: float, error: float) -> Told:
        names = [self.env.roles[actor.role] for actor in self._actors]
        ends = self._ended.sum()
        goals = np.where(self._ended[..., None], self._rewards, 0).sum(axis=(0, 1))
        means = _MIDDLE + _HALF * goals / ends if ends else np.full(len(self.env.roles), np.nan)
        return Told(
            self.updates,
            self.states,
            self.decisions,
            self._seconds,
            share,
            dict(zip(self.env.roles, map(float, means), strict=True)),
            {
                name: float(actor.told[0]) / max(actor.num_rows, 1)
                for name, actor in zip(names, self._actors, strict=True)
            },
            error,
        )

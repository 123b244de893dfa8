"""Learns policies by self-play: regularised policy gradient, with a critic that sees the state.

A `Learner` plays in the L lanes of an environment, and returns a policy for each role. All roles
play a *segment* of some turns. The critic gives generalised advantages: how much better than
expected each role came out. Every policy learns from them once, in blocks of lanes, by the clipped
gradient of PPO. A temperature weighs the entropy of policies, so that self-play converges instead
of cycling (S. Sokota et al., ICLR 2023; M. Rudolph et al., arXiv 2502.08938); it falls with the
share of the budget that is used. The final policies have the averages of the weights.

To learn a best response, let one role learn, and pass a function that moves the others:

    env = make("krieg_tic_tac_toe", 1024)
    learner = Learner(env, roles=["xplayer"], others=opponent, seed=1)
    learner.learn(updates=200)
    learner.policies()["xplayer"]

`opponent(turn)` is called once a turn with the `Turn` of all lanes and returns `[L, Q]` actions; -1
draws a legal action, and columns of roles that learn are ignored. A match begins where `turn.turns`
is 0. `turn.paths` is the knowledge of the roles, if the environment keeps paths.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from math import isfinite, sqrt
from typing import Any, NamedTuple

import numpy as np

from ggp.errors import ConfigError, GGPError
from ggp.gdl.nearest import unknown
from ggp.labs.learning.env.environment import Environment, Turn
from ggp.labs.learning.env.kernels import I64, U64
from ggp.labs.learning.selfplay.features import (
    Choices,
    Features,
    Joined,
    Reader,
    RowChanges,
    bound_of,
    features_of,
    features_of_states,
)
from ggp.labs.learning.selfplay.files import About, PolicyFile
from ggp.labs.learning.selfplay.nets import (
    F32,
    Net,
    Optimiser,
    Scratch,
    advantages,
    first_weights,
    improve,
)
from ggp.labs.learning.selfplay.policies import HALF, MIDDLE, Drawing, LearntPolicy, LearntValues
from ggp.labs.learning.threads import Crew, one_thread
from ggp.machine.mixing import finalised
from ggp.seeds import MAX_SEED, check_seed

Others = Callable[[Turn], I64]
"""Moves the roles that do not learn: returns `[L, Q]` actions, -1 to draw a legal action."""

MAX_POINTS = 200
"""Most points of a learning curve."""

_NEWEST = 0.1
"""Weight of the last segment in the variance of rewards."""

_MIN_SPREAD = 0.05
"""Lower bound of the standard deviation of rewards that scales the temperature."""


class StoppedError(GGPError):
    """The caller stopped a learner."""


class Learner:
    """Learns in the lanes of an environment.

    Args:
        env: an environment of all players, with `restarts`; see above for `paths`.
        roles: the roles that learn; default: all.
        others: moves the other roles; default: uniformly at random.
        settings: default: `usual_settings`.
        seed: seed of all random draws.
        threads: processors to use; the policies do not depend on it.

    Attributes:
        updates, states, decisions: see `LearningReport`.
        curve: points of the learning curve, with the fields of `LearningReport`.

    Raises:
        ConfigError: there is no such role, nets would be too large, or lanes do not restart.
    """

    def __init__(
        self,
        env: Environment,
        *,
        roles: Sequence[str] | None = None,
        others: Others | None = None,
        settings: Settings | None = None,
        seed: int = 0,
        threads: int = 1,
    ) -> None:
        check_seed(seed)
        if not env.restarts:
            raise ConfigError(
                "learning needs lanes that restart: make the environment with restarts=True"
            )
        self._crew = Crew(threads)
        self.env, self.seed = env, seed
        self.settings = settings = settings or usual_settings(env)
        self.updates = self.states = self.decisions = 0
        self._others = others
        for role in roles or ():
            if role not in env.roles:
                raise ConfigError(unknown("role", role, env.roles, ", ".join(env.roles)))
        features = features_of(env.names, bound_of(env))
        self._actors = [
            Actor(env, index, features, settings.hidden, settings.turns)
            for index, role in enumerate(env.roles)
            if roles is None or role in roles
        ]
        informers = self._actors if settings.informed else []
        self._critic = Critic(env, informers, settings.critic, settings.turns)
        rng = np.random.default_rng([seed, 0])
        for actor in self._actors:
            actor.begin(rng)
        self._critic.begin(rng)
        self._observe_turn(env.reset(seed))
        lanes = env.num_lanes
        self._rewards = np.zeros((settings.turns, lanes, len(env.roles)), dtype=np.float32)
        self._ended = np.zeros((settings.turns, lanes), dtype=np.bool_)
        self.curve: list[dict[str, Any]] = []
        self._seconds = 0.0
        self._key, self._goes_on = 0, False
        self._variance: float | None = None

    def learn(
        self,
        *,
        updates: int | None = None,
        states: int | None = None,
        seconds: float | None = None,
        progress: Callable[[LearningReport], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
        stop: Callable[[], bool] = lambda: False,
    ) -> LearningReport:
        """Learn until the first of the given budgets is used up.

        With a budget of updates or states, the same seed gives the same policies.

        Args:
            updates: segments to learn from, in this call.
            states: turns in all lanes together.
            seconds: time by the clock. Except for the first update, an update that would take
                longer is not begun.
            progress: called after each update.
            stop: asked once a turn, and before each block; when true, learning ends immediately.

        Raises:
            ConfigError: there is no budget, or it is not above 0; `others` returned an array of
                another shape or type.
            StoppedError: `stop` was true; the rest of the segment is lost.
        """
        budgets = [limit for limit in (updates, states, seconds) if limit is not None]
        if not budgets or not min(budgets) > 0:
            raise ConfigError("learning needs a budget above 0: updates, states, or seconds")
        began, spent = clock(), self._seconds
        first_update, first_state = self.updates, self.states
        report, share, longest = None, 0.0, 0.0
        with one_thread():
            while report is None or share < 1:
                started = clock()
                self._segment(stop)
                error = self._improve(share, stop)
                elapsed = clock() - began
                self._seconds = spent + elapsed
                report = self._report(share, error)
                self._record(report)
                if progress is not None:
                    progress(report)
                if report.updates > first_update + 1:  # the first update loads machine code
                    longest = max(longest, clock() - started)
                share = max(
                    (self.updates - first_update) / updates if updates else 0.0,
                    (self.states - first_state) / states if states else 0.0,
                    (elapsed + longest) / seconds if seconds else 0.0,
                )
        return report

    def policies(self, *, averaged: bool = True) -> dict[str, LearntPolicy]:
        """The policies learnt so far, by role.

        Args:
            averaged: whether to use averages of the weights over time, or the last weights.
        """
        return {
            self.env.roles[actor.role]: LearntPolicy(
                actor.features,
                actor.net.shape.hidden,
                (actor.optimiser.average if averaged else actor.net.weights.flat).copy(),
            )
            for actor in self._actors
        }

    def values(self) -> LearntValues | None:
        """See `Critic.learnt`."""
        return self._critic.learnt()

    def snapshot(self, game: str, version: str) -> PolicyFile:
        """The policies, with everything that is needed to resume learning.

        Args:
            game: name of the game; `version`: version of the package.
        """
        settings, names = self.settings, self.env.names
        optimisers = [part.optimiser for part in self._parts]
        record = {
            "seed": self.seed,
            "lanes": self.env.num_lanes,
            "settings": asdict(settings),
            "updates": self.updates,
            "states": self.states,
            "decisions": self.decisions,
            "seconds": round(self._seconds, 3),
            "curve": self.curve,
        }
        about = About(
            game,
            names.digest,
            version,
            tuple(self.learns),
            features_of(names, bound_of(self.env)),
            features_of_states(names),
            self._critic.num_paths,
            settings.hidden,
            settings.critic,
            len(self.env.roles),
            tuple(optimiser.steps for optimiser in optimisers),
            record,
        )
        return PolicyFile(about, tuple(optimiser.snapshot() for optimiser in optimisers))

    def resume(self, snapshot: PolicyFile, file: str) -> None:
        """Resume from a snapshot: at the final temperature, and at a tenth of the initial rate.

        Args:
            file: name of the file in messages.

        Raises:
            ConfigError: the snapshot has another game, other roles or other layers.
        """
        snapshot.check_game(self.env.names, file)
        about, settings = snapshot.about, self.settings
        if about.roles != tuple(self.learns):
            raise ConfigError(f"in {file} other roles have learnt: {', '.join(about.roles)}")
        features = features_of(self.env.names, bound_of(self.env))
        if (about.features, about.critic_paths) != (features, self._critic.num_paths):
            raise ConfigError(
                f"the policies in {file}, or their critic, read other bits than those learnt here; "
                "begin anew, without going on from it"
            )
        if about.hidden != settings.hidden:
            raise ConfigError(f"the layers in {file} are {about.hidden}, not {settings.hidden}")
        if about.critic_shape != self._critic.net.shape:
            raise ConfigError(f"the critic in {file} has other layers than {settings.critic}")
        for part, array, steps in zip(self._parts, snapshot.arrays, about.steps, strict=True):
            part.optimiser.resume(array, steps)
        record = about.record
        self.updates, self.states = int(record["updates"]), int(record["states"])
        self.decisions, self._seconds = int(record["decisions"]), float(record["seconds"])
        self.curve = list(record["curve"])
        self._goes_on = True
        self._observe_turn(self.env.reset((self.seed + self.updates) & MAX_SEED))
        self._key = self.updates << 16

    @property
    def _parts(self) -> list[Part]:
        """The actors, then the critic, as in files."""
        return [*self._actors, self._critic]

    @property
    def learns(self) -> list[str]:
        """The roles that learn."""
        return [self.env.roles[actor.role] for actor in self._actors]

    def _observe_turn(self, turn: Turn) -> None:
        """Set the present turn, and let each role observe it."""
        self._turn = turn
        self._crew.do(partial(actor.observe, turn) for actor in self._actors)

    def _segment(self, stop: Callable[[], bool]) -> None:
        """Play some turns in all lanes."""
        env = self.env
        actions = np.full((env.num_lanes, len(env.roles)), -1, dtype=np.int64)
        for part in self._parts:
            part.begin_segment()
        for step in range(self.settings.turns):
            if stop():
                raise StoppedError("learning was stopped")
            self._critic.watch(self._turn)
            if self._others is not None:
                actions[:] = self._others_actions(self._others)
            self._crew.do(
                partial(actor.act, step, self._new_key(), actions) for actor in self._actors
            )
            turn = env.step(actions)
            self._observe_turn(turn)
            self._ended[step] = turn.ended
            # A match that is cut off has reward 0 for every role.
            rewards = (turn.rewards - MIDDLE) / HALF
            self._rewards[step] = np.where(turn.terminated[:, None], rewards, 0)
        self._critic.watch(self._turn)
        self.updates += 1
        self.states += env.num_lanes * self.settings.turns
        self.decisions += sum(actor.num_rows for actor in self._actors)

    def _others_actions(self, others: Others) -> I64:
        """`[L, Q]` actions of the roles that do not learn.

        Raises:
            ConfigError: `others` returned an array of another shape or type.
        """
        actions = np.asarray(others(self._turn))
        shape = (self.env.num_lanes, len(self.env.roles))
        if actions.shape != shape or actions.dtype.kind not in "iu":
            raise ConfigError(
                f"others must return whole numbers of shape {shape}, lanes and roles; these are "
                f"{actions.dtype} of shape {actions.shape}"
            )
        return actions

    def _new_key(self) -> int:
        """Random bits for one role in one turn."""
        self._key += 1
        return (self.seed * 1_000_003 + self._key * 7_919) & ((1 << 63) - 1)

    def _improve(self, share: float, stop: Callable[[], bool]) -> float:
        """Learn from the segment, and return the error of the critic."""
        settings = self.settings
        rate = settings.rate_at(share, self._goes_on)
        warmth = settings.temperature_at(1.0 if self._goes_on else share) * self._spread()
        steps = Steps(rate, warmth, settings.clip)
        lanes = self.env.num_lanes
        size = -(-lanes // max(1, round(lanes / settings.block)))
        self._crew.do(partial(part.end_segment, size) for part in self._parts)
        for actor in self._actors:
            actor.totals[:] = 0
        squares = 0.0
        for block, low in enumerate(range(0, lanes, size)):
            if stop():
                raise StoppedError("learning was stopped")
            values = self._critic.values(block)
            block_lanes = slice(low, low + size)
            rewards, ended = self._rewards[:, block_lanes], self._ended[:, block_lanes]
            gains = np.empty(rewards.shape, dtype=np.float32)
            advantages(values, rewards, ended, settings.decay, gains)
            self._crew.do(
                [
                    partial(self._critic.learn, gains, rate),
                    *(
                        partial(actor.learn, block, low, gains[:, :, actor.role], steps)
                        for actor in self._actors
                    ),
                ]
            )
            squares += self._critic.error * ended.shape[1]
        return squares / lanes

    def _spread(self) -> float:
        """The standard deviation of rewards over the last segments, or the widest so far."""
        rewards = self._rewards[self._ended]
        if len(rewards):
            share = 1.0 if self._variance is None else _NEWEST
            old = self._variance or 0.0
            new = old + share * (float(rewards.var(axis=0).mean()) - old)
            self._variance = max(new, old) if self.settings.widest else new
        return max(sqrt(self._variance or 0.0), _MIN_SPREAD)

    def _record(self, report: LearningReport) -> None:
        """Add a point to the curve, which has at most `MAX_POINTS`, at even distances."""
        if (self.updates - 1) % self._stride:
            return
        self.curve.append(asdict(report))
        if len(self.curve) > MAX_POINTS:
            self.curve = self.curve[::2]

    @property
    def _stride(self) -> int:
        """Updates from one point of the curve to the next: a power of 2."""
        if len(self.curve) < 2:
            return 1
        return int(self.curve[1]["updates"]) - int(self.curve[0]["updates"])

    def _report(self, share: float, error: float) -> LearningReport:
        goals = MIDDLE + HALF * self._rewards[self._ended]
        means = goals.mean(axis=0).tolist() if len(goals) else [None] * len(self.env.roles)
        return LearningReport(
            self.updates,
            self.states,
            self.decisions,
            self._seconds,
            share,
            dict(zip(self.env.roles, means, strict=True)),
            {
                name: float(actor.totals[0]) / max(actor.num_rows, 1)
                for name, actor in zip(self.learns, self._actors, strict=True)
            },
            error,
        )


# ------------------------------------------------------------------------
# Settings of a learner, and its reports.


@dataclass(frozen=True)
class Settings:
    """The settings of a learner.

    Attributes:
        turns: S, the turns of a segment.
        block: lanes of one step of the optimiser.
        hidden, critic: units of the hidden layers of policies, and of the critic.
        informed: whether the critic reads the knowledge of learning roles, beside the state.
        rate: the initial learning rate. By the end it falls to a tenth, times
        slower: this factor. At low temperatures, roles that play against each other cycle unless
            they learn slowly: steps must be small compared with the temperature.
        warm, cold: initial and final temperature, in standard deviations of the rewards of matches.
        widest: whether to use the largest standard deviation so far, not the present one.
        clip: how much a step may change probabilities, as a ratio.
        decay: lambda of advantages, from 0 to 1.

    Raises:
        ConfigError: a number is 0 or less, or not finite, or `decay` is not from 0 to 1.
    """

    turns: int = 32
    block: int = 64
    hidden: tuple[int, ...] = (64, 64)
    critic: tuple[int, ...] = (64,)
    informed: bool = False
    rate: float = 2e-3
    slower: float = 0.3
    warm: float = 0.3
    cold: float = 0.06
    widest: bool = False
    clip: float = 0.2
    decay: float = 1.0

    def __post_init__(self) -> None:
        for name in ("turns", "block"):
            _check(name, getattr(self, name), minimum=1)
        for name in ("hidden", "critic"):
            for units in getattr(self, name):
                _check(name, units, minimum=1)
        for name in ("rate", "slower", "warm", "cold", "clip"):
            _check(name, getattr(self, name), minimum=0)
        if not 0 <= self.decay <= 1:
            raise ConfigError(f"decay must be from 0 to 1, not {self.decay:g}")

    def rate_at(self, share: float, goes_on: bool = False) -> float:
        """The learning rate when a share of the budget is used up.

        Args:
            goes_on: whether learning was resumed; then the rate begins at a tenth.
        """
        falling = 0.1 if goes_on else 1 - 0.9 * share
        return self.rate * falling * float(self.slower**share)

    def temperature_at(self, share: float) -> float:
        """The temperature when a share of the budget is used up, in the unit of `warm`."""
        return self.warm * float((self.cold / self.warm) ** share)


@dataclass(frozen=True)
class LearningReport:
    """A report on the progress of learning.

    Attributes:
        updates, states, decisions: segments learnt from, turns in all lanes, choices in them.
        seconds: seconds of learning, by the clock.
        share: share of the budget that is used up.
        rewards: by role, mean goal of the matches that ended in the last segment; None if no match
            ended.
        entropy: by role, mean entropy of its decisions in the last segment, in nats.
        error: mean square error of the critic, for rewards from -1 to 1.
    """

    updates: int
    states: int
    decisions: int
    seconds: float
    share: float
    rewards: Mapping[str, float | None]
    entropy: Mapping[str, float]
    error: float


def _check(name: str, number: float, *, minimum: int) -> None:
    """Check that a setting is finite, above 0, and at least `minimum`."""
    if not isfinite(number) or number < minimum or number <= 0:
        bound = f"at least {minimum}" if minimum else "above 0"
        raise ConfigError(f"{name} must be {bound}, not {number:g}")


def usual_settings(env: Environment) -> Settings:
    """The default settings for an environment.

    A role that plays alone has no opponent to exploit it, so its final policy needs no entropy. But
    it needs much exploration: for example, it learns late which questions are best. So the rate
    falls less (`slower`), and the critic reads the questions asked so far. Once most matches are
    won, rewards hardly differ; a temperature that fell with their spread would freeze a policy that
    is only nearly right (`widest`).
    """
    if len(env.names.roles) > 1:
        return Settings()
    return Settings(
        hidden=(128,),
        block=16,
        rate=3e-3,
        slower=1.0,
        warm=0.2,
        cold=0.005,
        informed=True,
        widest=True,
    )


Told = LearningReport
"""The former name of `LearningReport`."""

# ------------------------------------------------------------------------
# The learning parts: an `Actor` for each role, with a policy, and a `Critic` of states for all.
#
# Both keep the rows of a *segment*, some turns in all lanes, and learn from it once, in blocks of
# lanes. An actor keeps only rows with a choice.


class Steps(NamedTuple):
    """The settings of a step of the optimiser.

    Attributes:
        rate: the learning rate.
        temperature: the weight of entropy.
        clip: see `improve`.
    """

    rate: float
    temperature: float
    clip: float


class Part:
    """A net that learns from the rows of a segment, block by block.

    Args:
        choices: the rows.

    Attributes:
        net, optimiser: the net, and what fits its weights.
    """

    def __init__(self, net: Net, choices: Choices, capacity: int) -> None:
        self.net, self.optimiser = net, Optimiser(net)
        self._choices, self._row_indices, self._scratch = choices, np.arange(capacity), Scratch()

    def begin(self, rng: np.random.Generator) -> None:
        """Draw the initial weights."""
        self.net.weights.flat[:] = first_weights(self.net.shape, rng)
        self.optimiser.average[:] = self.net.weights.flat

    def begin_segment(self) -> None:
        """Drop the rows of the last segment."""
        self._choices.begin()

    def end_segment(self, size: int) -> None:
        """Prepare to learn from blocks of `size` lanes."""
        self._blocks = self._choices.blocks(size)

    def _forward(self, rows: RowChanges) -> F32:
        """`[N, outputs]` the outputs for the rows of a block."""
        indices = self._row_indices[: len(rows.order)]
        sums = self._scratch.take("sums", len(indices), self.net.shape.hidden[0])
        self.net.sums(rows, rows.previous, indices, sums)
        return self.net.forward(sums, indices)

    def _descend(self, rows: RowChanges, slopes: F32, rate: float) -> None:
        """Make a step down the slopes of the last outputs."""
        gradient = self.optimiser.gradient
        self.net.backward_sums(rows, self.net.backward(slopes, gradient), gradient)
        self.optimiser.step(rate)


class Actor(Part):
    """The policy of one role while it learns.

    Args:
        env: the environment.
        role: index in `env.roles`.
        turns: S, the turns of a segment.

    Attributes:
        features: the bits that the policy reads.
        num_rows: number of decisions in the segment so far.
        totals: `[2]` see `improve`.
    """

    def __init__(
        self, env: Environment, role: int, features: Features, hidden: tuple[int, ...], turns: int
    ) -> None:
        net = Net(features, hidden, features.num_moves)
        lanes, capacity = env.num_lanes, env.num_lanes * turns
        self._drawing = Drawing(net, lanes, capacity)
        super().__init__(net, self._drawing.choices, capacity)
        self.role, self.features = role, features
        self.totals = np.zeros(2, dtype=np.float32)
        self._reader = Reader(features, lanes, role)
        self._turns: I64 = np.zeros(capacity, dtype=np.int64)
        self._spare: F32 = np.zeros((2, features.num_moves), dtype=np.float32)

    @property
    def num_rows(self) -> int:
        return self._choices.num_rows

    @property
    def knowledge(self) -> U64:
        """`[L, W]` the role's knowledge after the last observed turn, as bits."""
        return self._reader.rows

    def observe(self, turn: Turn) -> None:
        """Observe a turn; call it for every turn once, in order."""
        self._reader.read(turn)

    def act(self, step: int, key: int, actions: I64) -> None:
        """Draw a move in each lane with a choice.

        Args:
            step: index of the turn in the segment.
            key: random bits.
            actions: `[L, Q]`; the role's column is filled in, -1 where there is no choice.
        """
        first, column = self.num_rows, actions[:, self.role]
        column[:] = -1
        key_bits = finalised(np.array([key], dtype=np.uint64))[0]
        self._drawing.act(self.knowledge, key_bits, column, trusted=True)
        self._turns[first : self.num_rows] = step

    def learn(self, block: int, low: int, gains: F32, steps: Steps) -> None:
        """Learn from a block of the segment.

        Args:
            block: index of the block.
            low: its first lane.
            gains: `[S, size]` the role's advantages.
        """
        rows, drawing = self._blocks[block], self._drawing
        order = rows.order
        if not len(order):
            return
        logits = self._forward(rows)
        improve(
            rows.masks,
            logits,
            drawing.moves[order],
            drawing.logs[order],
            gains[self._turns[order], self._choices.lanes[order] - low],
            steps.temperature,
            steps.clip,
            self._spare,
            self.totals,
        )
        self._descend(rows, logits, steps.rate)


class Critic(Part):
    """Expected rewards of all roles, given the state and the knowledge of some roles.

    The state alone may not determine the knowledge of a role, and so its moves (A. Baisero, C.
    Amato, *Unbiased Asymmetric Reinforcement Learning under Partial Observability*, AAMAS 2022). In
    number_guessing, for example, no fluent remembers the questions.

    Args:
        env: the environment.
        actors: actors whose knowledge it reads; they observe each turn before it does.
        turns: S, the turns of a segment.
    """

    def __init__(
        self,
        env: Environment,
        actors: Sequence[Actor],
        hidden: tuple[int, ...],
        turns: int,
    ) -> None:
        # A role that knows the state knows nothing else.
        self._actors = [actor for actor in actors if not actor.features.reads_state]
        self._of_states = features_of_states(env.names)
        features = Joined([*(actor.features for actor in self._actors), self._of_states])
        self._turns, capacity = turns, (turns + 1) * env.num_lanes
        states = Choices(features, env.num_lanes, capacity)
        super().__init__(Net(features, hidden, len(env.roles)), states, capacity)
        self.error = 0.0
        self._seen: U64 = np.zeros((env.num_lanes, features.num_words), dtype=np.uint64)

    @property
    def num_paths(self) -> int:
        """The number of roles whose knowledge it reads."""
        return len(self._actors)

    def learnt(self) -> LearntValues | None:
        """The values of states, by averaged weights; None if it reads more than the state."""
        if self._actors:
            return None
        shape, flat = self.net.shape, self.optimiser.average
        return LearntValues(self._of_states, shape.hidden, shape.outputs, flat.copy())

    def watch(self, turn: Turn) -> None:
        """Record the states before a turn, and the knowledge of the actors."""
        np.concatenate(
            [*(actor.knowledge for actor in self._actors), turn.state_bits], axis=1, out=self._seen
        )
        self._choices.add(self._seen)

    def values(self, block: int) -> F32:
        """`[S + 1, size, Q]` the values of the states of a block, which `learn` then improves."""
        self._rows = self._blocks[block]
        values = self._forward(self._rows)
        return values.reshape(self._turns + 1, -1, values.shape[1])

    def learn(self, gains: F32, rate: float) -> None:
        """Move the last `values` towards `values + gains`.

        Args:
            gains: `[S, L, Q]`.
        """
        turns, lanes, roles = gains.shape
        slopes = self._scratch.take("slopes", (turns + 1) * lanes, roles)
        np.divide(gains.reshape(-1, roles), -turns * lanes, out=slopes[: turns * lanes])
        slopes[turns * lanes :] = 0
        self.error = float(np.mean(np.square(gains)))
        self._descend(self._rows, slopes, rate)

"""A game as a PettingZoo environment, of either kind.

Both kinds take actions by agent, play one lane of an `Environment` with them, and return
PettingZoo's observations, rewards and ends. `parallel_env` asks all players in every turn, as the
game does: a player that is not to move has one legal action. `aec_env` asks one player at a time,
and only players with a choice: forced moves are made without asking, and a player that chooses
later in a turn does not see earlier choices. One observation holds everything that a player has
seen since it was last asked.

Rewards are the goal values at the end, 0 before. `state()` is `Turn.state_tensor`, for critics.
Spaces of actions draw legal actions. Both kinds can be copied and pickled, also in the middle of a
match.
"""

from __future__ import annotations

import operator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ggp.errors import BackendUnavailableError, ConfigError
from ggp.labs.learning.env.environment import Environment, Turn, make
from ggp.labs.learning.env.gymnasium_env import (
    LegalActions,
    Observed,
    fresh_seed,
    gymnasium,
    observation_space,
    observed,
)
from ggp.libraries import demand_library, extra_advice
from ggp.machine.definition import GameDefinition

try:
    import pettingzoo
except ImportError as error:
    demand_library(error, "pettingzoo", "gymnasium")
    raise BackendUnavailableError("pettingzoo", extra_advice("pettingzoo")) from error

_Parallel: Any = pettingzoo.ParallelEnv
_AEC: Any = pettingzoo.AECEnv


def parallel_env(game: str | GameDefinition, **options: Any) -> ParallelGame:
    """A game in which all players act in every turn.

        >>> env = parallel_env("kuhn_poker")
        >>> observations, infos = env.reset(seed=1)
        >>> sorted(observations)
        ['player1', 'player2']

    Args:
        game, options: see `make`; there is one lane.
    """
    return ParallelGame(make(game, restarts=False, **options))


def aec_env(game: str | GameDefinition, **options: Any) -> AECGame:
    """A game in which players act one after the other.

        >>> env = aec_env("kuhn_poker")
        >>> env.reset(seed=1)
        >>> env.agent_selection, int(env.observe("player1")["action_mask"].sum())
        ('player1', 2)

    Args:
        game, options: see `make`; there is one lane.
    """
    return AECGame(make(game, restarts=False, **options))


class _Seated:
    """Common parts of both kinds: one lane, and a seat for each agent.

    Attributes:
        env: the game.
    """

    render_mode = None

    def __init__(self, env: Environment) -> None:
        self.env = env
        self.possible_agents = list(env.roles)
        self.agents = list(self.possible_agents)
        self._seats = {role: k for k, role in enumerate(self.possible_agents)}
        self._spaces = {role: observation_space(env) for role in self.possible_agents}
        num = len(env.names.moves)
        self._actions = {
            role: LegalActions(num, partial(self._legal, seat))
            for role, seat in self._seats.items()
        }
        self.state_space = _state_space(env)
        self._has_begun = False

    def observation_space(self, agent: str) -> Any:
        """The observation space of an agent, always the same object."""
        return self._spaces[agent]

    def action_space(self, agent: str) -> Any:
        """The action space of an agent, always the same object."""
        return self._actions[agent]

    def state(self) -> np.ndarray:
        """`[F]` the fluents that hold; no player sees them."""
        fluents: np.ndarray = self._current_turn().state_tensor[0]
        return fluents.copy()

    def render(self) -> None:
        """Do nothing: there are no pictures."""

    def close(self) -> None:
        """Release nothing."""

    def _legal(self, seat: int) -> NDArray[np.int8]:
        return np.asarray(self._current_turn().masks[0, seat], dtype=np.int8)

    def _current_turn(self) -> Turn:
        return self.env.turn if self._has_begun else self._begin(None)

    def _begin(self, seed: int | None) -> Turn:
        """Begin the first episode of a seed; without a seed, the next episode, or at the first call
        the first episode of a random seed."""
        if seed is None and self._has_begun:
            return self.env.restart(np.zeros(1, dtype=np.int64))
        self._has_begun = True
        return self.env.reset(fresh_seed() if seed is None else seed)

    def _check_begun(self) -> None:
        if not self._has_begun:
            raise ConfigError("no episode has begun: call reset first")

    def _goals(self, turn: Turn) -> dict[str, float]:
        return dict(zip(self.possible_agents, turn.rewards[0].tolist(), strict=True))


class ParallelGame(_Seated, _Parallel):  # type: ignore[misc]
    """The environment of `parallel_env`."""

    def __init__(self, env: Environment) -> None:
        super().__init__(env)
        self.metadata = {"name": "ggp_parallel", "render_modes": []}

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Observed], dict[str, dict[str, Any]]]:
        """Begin an episode."""
        self.agents = list(self.possible_agents)
        self._begin(seed)
        return self._observations(), {agent: {} for agent in self.agents}

    def step(self, actions: dict[str, int]) -> tuple[dict[str, Any], ...]:
        """Make a turn.

        Raises:
            ConfigError: no episode has begun, it is over, or an agent has no action.
            IllegalMoveError: an action is illegal.
        """
        if not self.agents:
            raise ConfigError("the episode is over: call reset first")
        self._check_begun()
        if missing := [agent for agent in self.agents if agent not in actions]:
            raise ConfigError(f"every agent acts in every turn; there is no action of {missing[0]}")
        joint_actions = [[_checked_action(actions[agent]) for agent in self.possible_agents]]
        turn = self.env.step(np.array(joint_actions, dtype=np.int64))
        agents = self.agents
        outcome: tuple[dict[str, Any], ...] = (
            dict(self._observations()),
            self._goals(turn),
            dict.fromkeys(agents, bool(turn.terminated[0])),
            dict.fromkeys(agents, bool(turn.truncated[0])),
            {agent: {} for agent in agents},
        )
        if turn.ended[0]:
            self.agents = []
        return outcome

    def _observations(self) -> dict[str, Observed]:
        turn = self._current_turn()
        return {agent: observed(turn, seat, 0) for agent, seat in self._seats.items()}


class AECGame(_Seated, _AEC):  # type: ignore[misc]
    """The environment of `aec_env`."""

    def __init__(self, env: Environment) -> None:
        super().__init__(env)
        self.metadata = {"name": "ggp_aec", "render_modes": [], "is_parallelizable": False}

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begin an episode."""
        self.agents = list(self.possible_agents)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self._begin(seed)
        self._news = self._current_turn().observations[0].copy()
        self._choices: dict[str, int] = {}
        self._select_agent()
        self._accumulate_rewards()  # a match may end before anybody has a choice

    def observe(self, agent: str) -> Observed:
        """An agent's moves and percepts since it was last asked, its path, and its legal actions.

        While another agent chooses, it has no legal actions.
        """
        observation = observed(self._current_turn(), self._seats[agent], 0)
        observation["observation"] = self._news[self._seats[agent]].copy()
        if agent != self.agent_selection:
            observation["action_mask"][:] = 0
        return observation

    def step(self, action: int | None) -> None:
        """Make the move of the selected agent.

        Raises:
            ConfigError: no episode has begun, or there is no action.
            IllegalMoveError: the action is illegal.
        """
        self._check_begun()
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        index = _checked_action(action)
        seat = self._seats[agent]
        self.env.check_action(0, seat, index)
        self._cumulative_rewards[agent] = 0.0
        self._clear_rewards()
        self._news[seat] = 0
        self._choices[agent] = index
        self._select_agent()
        self._accumulate_rewards()

    def _select_agent(self) -> None:
        """Select the next agent, after making all turns in which nobody has a choice."""
        while not self._current_turn().ended[0]:
            choosers = [
                agent
                for agent, seat in self._seats.items()
                if agent not in self._choices and self._current_turn().masks[0, seat].sum() > 1
            ]
            if choosers:
                self.agent_selection = choosers[0]
                return
            self._make_turn()
        self.agent_selection = self.agents[0]

    def _make_turn(self) -> None:
        joint_actions = [[self._choices.get(agent, -1) for agent in self.possible_agents]]
        turn = self.env.step(np.array(joint_actions, dtype=np.int64))
        self._choices = {}
        self._news |= turn.observations[0]
        if turn.ended[0]:
            self.rewards = self._goals(turn)
            self.terminations = dict.fromkeys(self.agents, bool(turn.terminated[0]))
            self.truncations = dict.fromkeys(self.agents, bool(turn.truncated[0]))


def _checked_action(action: object) -> int:
    """An action as an integer."""
    try:
        return operator.index(action)  # type: ignore[arg-type]
    except TypeError:
        raise ConfigError(f"an action must be a whole number, not {action!r:.60}") from None


def _state_space(env: Environment) -> Any:
    return gymnasium().spaces.Box(0, 1, (len(env.names.fluents),), np.uint8)

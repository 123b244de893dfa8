"""A game as a PettingZoo environment, of either kind.

`parallel_env` asks all players in every turn, as the game does: a player that is not to move has
one legal action. `aec_env` asks one player after the other, and only those that have a choice:
forced moves are made without asking, and a player that chooses later in a turn does not see earlier
choices. Everything that a player has seen since it was last asked comes in one observation.

Rewards are the goal values at the end, 0 before. `state()` is `Turn.state_tensor`, for critics.
Spaces of actions draw legal ones. Both kinds can be copied and pickled, also in the middle of a
match.
"""

from __future__ import annotations

import operator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ggp.errors import BackendUnavailableError, ConfigError
from ggp.labs.learning.env.environment import Environment, make
from ggp.labs.learning.env.gymnasium_env import (
    LegalActions,
    Observed,
    fresh_seed,
    gymnasium,
    observation_space,
    observed,
)
from ggp.labs.learning.env.turn import Turn
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

    Args:
        game, options: see `make`; there is one lane.
    """
    return ParallelGame(make(game, restarts=False, **options))


def aec_env(game: str | GameDefinition, **options: Any) -> AECGame:
    """A game in which players act one after the other.

    Args:
        game, options: see `make`; there is one lane.
    """
    return AECGame(make(game, restarts=False, **options))


class _Seated:
    """Common parts of both kinds: one lane, and a place for each agent.

    Attributes:
        env: the game.
    """

    render_mode = None

    def __init__(self, env: Environment) -> None:
        self.env = env
        self.possible_agents = list(env.roles)
        self.agents = list(self.possible_agents)
        self._places = {role: k for k, role in enumerate(self.possible_agents)}
        self._spaces = {role: observation_space(env) for role in self.possible_agents}
        num = len(env.names.moves)
        self._actions = {
            role: LegalActions(num, partial(self._legal, place))
            for role, place in self._places.items()
        }
        self.state_space = _state_space(env)
        self._begun = False

    def observation_space(self, agent: str) -> Any:
        """The observation space of an agent, always the same object."""
        return self._spaces[agent]

    def action_space(self, agent: str) -> Any:
        """The action space of an agent, always the same object."""
        return self._actions[agent]

    def state(self) -> np.ndarray:
        """`[F]` the fluents that hold; no player sees them."""
        held: np.ndarray = self._now().state_tensor[0]
        return held.copy()

    def render(self) -> None:
        """Render nothing: there are no pictures."""

    def close(self) -> None:
        """Release nothing."""

    def _legal(self, place: int) -> NDArray[np.int8]:
        return np.asarray(self._now().masks[0, place], dtype=np.int8)

    def _now(self) -> Turn:
        return self.env.turn if self._begun else self._begin(None)

    def _begin(self, seed: int | None) -> Turn:
        """Begin the first episode of a seed, or without one the next episode; or, if there was
        none, the first one of a seed that nobody chose."""
        if seed is None and self._begun:
            return self.env.restart(np.zeros(1, dtype=np.int64))
        self._begun = True
        return self.env.reset(fresh_seed() if seed is None else seed)

    def _demand_begun(self) -> None:
        if not self._begun:
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
        return self._seen(), {agent: {} for agent in self.agents}

    def step(self, actions: dict[str, int]) -> tuple[dict[str, Any], ...]:
        """Make a turn.

        Raises:
            ConfigError: no episode has begun, it is over, or an agent has no action.
            IllegalMoveError: an action is not legal.
        """
        if not self.agents:
            raise ConfigError("the episode is over: call reset first")
        self._demand_begun()
        if missing := [agent for agent in self.agents if agent not in actions]:
            raise ConfigError(f"every agent acts in every turn; there is no action of {missing[0]}")
        given = [[_checked_action(actions[agent]) for agent in self.possible_agents]]
        turn = self.env.step(np.array(given, dtype=np.int64))
        agents = self.agents
        found: tuple[dict[str, Any], ...] = (
            dict(self._seen()),
            self._goals(turn),
            dict.fromkeys(agents, bool(turn.terminated[0])),
            dict.fromkeys(agents, bool(turn.truncated[0])),
            {agent: {} for agent in agents},
        )
        if turn.ended[0]:
            self.agents = []
        return found

    def _seen(self) -> dict[str, Observed]:
        turn = self._now()
        return {agent: observed(turn, place, 0) for agent, place in self._places.items()}


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
        self._since = self._now().observations[0].copy()
        self._chosen: dict[str, int] = {}
        self._ask()
        self._accumulate_rewards()  # a match may end before anybody has a choice

    def observe(self, agent: str) -> Observed:
        """An agent's moves and percepts since it was last asked, its path, and its legal actions.

        While others choose, it has no legal actions.
        """
        found = observed(self._now(), self._places[agent], 0)
        found["observation"] = self._since[self._places[agent]].copy()
        if agent != self.agent_selection:
            found["action_mask"][:] = 0
        return found

    def step(self, action: int | None) -> None:
        """Make the move of the selected agent.

        Raises:
            ConfigError: no episode has begun, or there is no action.
            IllegalMoveError: it is not legal.
        """
        self._demand_begun()
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        chosen = _checked_action(action)
        place = self._places[agent]
        self.env.check_action(0, place, chosen)
        self._cumulative_rewards[agent] = 0.0
        self._clear_rewards()
        self._since[place] = 0
        self._chosen[agent] = chosen
        self._ask()
        self._accumulate_rewards()

    def _ask(self) -> None:
        """Select the next agent, after making all turns in which nobody has a choice."""
        while not self._now().ended[0]:
            choosers = [
                agent
                for agent, place in self._places.items()
                if agent not in self._chosen and self._now().masks[0, place].sum() > 1
            ]
            if choosers:
                self.agent_selection = choosers[0]
                return
            self._make_turn()
        self.agent_selection = self.agents[0]

    def _make_turn(self) -> None:
        given = [[self._chosen.get(agent, -1) for agent in self.possible_agents]]
        turn = self.env.step(np.array(given, dtype=np.int64))
        self._chosen = {}
        self._since |= turn.observations[0]
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

"""One role of a game as a vector environment of gymnasium, against any of our players.

Lanes that end begin anew in the same step (`AutoresetMode.SAME_STEP`): the last observation is in
`infos["final_obs"]`. Against players that move at random all lanes are played by kernels. Other
players are asked lane by lane, each with only the moves and percepts of its role.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ggp.env.environment import Environment, make
from ggp.env.spaces import Observed, action_space, gymnasium, observation_space, observed
from ggp.env.turn import Turn
from ggp.errors import ConfigError
from ggp.machine.definition import GameDefinition

if TYPE_CHECKING:
    from ggp.players import Player, PlayerSpec

_Vector: Any = gymnasium().vector.VectorEnv

RANDOM_PLAYER = "random"
"""The player that moves uniformly at random, as an environment does by itself."""


class VectorGame(_Vector):  # type: ignore[misc]
    """The vector environment of one role of a game, in L lanes.

    Args:
        game: see `ggp.env.make`.
        role: the role that chooses its moves.
        num_envs: L.
        opponents: a player for each other role, as `--player` takes them; default: `random`.
        options: see `ggp.env.make`.

    Raises:
        ConfigError: there is no such role or player; see `ggp.env.make`.
    """

    def __init__(
        self,
        game: str | GameDefinition,
        role: str,
        num_envs: int = 1,
        *,
        opponents: Mapping[str, str] | None = None,
        **options: Any,
    ) -> None:
        specs = _specs(opponents or {}, role)
        self.env = make(game, num_envs, roles=[role, *specs], restarts=False, **options)
        self._others = _Others(self.env, specs) if specs else None
        self.num_envs = num_envs
        mode = gymnasium().vector.AutoresetMode.SAME_STEP
        self.metadata = {"autoreset_mode": mode, "render_modes": []}
        self.render_mode = None
        self.single_observation_space = observation_space(self.env)
        self.single_action_space = action_space(self.env)
        batch = gymnasium().vector.utils.batch_space
        self.observation_space = batch(self.single_observation_space, num_envs)
        self.action_space = batch(self.single_action_space, num_envs)
        self._turn: Turn | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observed, dict[str, Any]]:
        """Begin the first episodes of a seed, or without one the next episodes."""
        every = np.arange(self.num_envs)
        if seed is not None or self._turn is None:
            self._turn = self.env.reset(seed or 0)
        else:
            self._turn = self.env.restart(every)
        if self._others is not None:
            self._others.begin(self._turn, every)
        return observed(self._turn, 0, slice(None)), {}

    def step(
        self, actions: np.ndarray
    ) -> tuple[Observed, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Make a turn.

        Raises:
            IllegalMoveError: an action is not legal.
        """
        given = np.asarray(actions, dtype=np.int64).reshape(-1, 1)
        if self._others is not None:
            assert self._turn is not None
            given = np.concatenate([given, self._others.actions(self._turn)], axis=1)
        turn = self.env.step(given)
        if self._others is not None:
            self._others.observe(turn)
        infos: dict[str, Any] = {}
        ended = np.flatnonzero(turn.ended)
        self._turn = turn
        if len(ended):
            final = np.full(self.num_envs, None, dtype=object)
            for lane in ended.tolist():
                final[lane] = observed(turn, 0, lane)
            infos = {"final_obs": final, "_final_obs": turn.ended}
            self._turn = self.env.restart(ended)
            if self._others is not None:
                self._others.begin(self._turn, ended)
        seen = observed(self._turn, 0, slice(None))
        return seen, turn.rewards[:, 0].astype(np.float64), turn.terminated, turn.truncated, infos

    def close_extras(self, **kwargs: Any) -> None:
        """Release nothing."""


class _Others:
    """The players of all lanes, for the roles from the second on."""

    def __init__(self, env: Environment, specs: Mapping[str, PlayerSpec]) -> None:
        self._env = env
        self._specs = list(specs.items())
        self._players: list[list[Player]] = [[] for _ in range(env.num_lanes)]

    def begin(self, turn: Turn, lanes: np.ndarray) -> None:
        """Create new players in some lanes."""
        from ggp.machine import role_index
        from ggp.players import make_player

        machine = self._env.machine
        for lane in lanes.tolist():
            self._players[lane] = [
                make_player(
                    spec,
                    machine,
                    role_index(machine, role),
                    np.random.default_rng([self._env.seed, lane, int(turn.episodes[lane]), number]),
                    program=self._env.program,
                )
                for number, (role, spec) in enumerate(self._specs)
            ]

    def actions(self, turn: Turn) -> np.ndarray:
        """`[L, Q - 1]` actions of the other players."""
        legal, roles = turn.legal, len(self._env.roles)
        found = np.empty((self._env.num_lanes, roles - 1), dtype=np.int64)
        for lane, players in enumerate(self._players):
            for number, player in enumerate(players):
                options = legal[lane * roles + 1 + number]
                move = player.choose().move
                action = self._env.names.move(move)
                # A player may think an illegal move legal: as on a server, one is drawn.
                found[lane, number] = action if action in options else -1
        return found

    def observe(self, turn: Turn) -> None:
        """Give every player its move and percepts, in lanes that go on."""
        names = self._env.names
        for lane in np.flatnonzero(~turn.ended).tolist():
            for number, player in enumerate(self._players[lane]):
                seen = np.flatnonzero(turn.observations[lane, 1 + number, len(names.moves) :])
                percepts = [names.percepts[k] for k in seen.tolist()]
                player.observe(names.moves[turn.moves[lane, 1 + number]], percepts)


def _specs(opponents: Mapping[str, str], role: str) -> dict[str, PlayerSpec]:
    """The players that are not random, by role."""
    if role in opponents:
        raise ConfigError(f"{role} is the role that is asked, and can have no opponent's player")
    from ggp.players import parse_spec

    return {other: parse_spec(text) for other, text in opponents.items() if text != RANDOM_PLAYER}

"""One role of a game as a vector environment of gymnasium, against any of our players.

A learner passes `[L]` actions of its role to `VectorGame`, and gets back gymnasium's observations,
rewards and ends. Kernels move the opponents that play at random, in all lanes together. Other
opponents are asked lane by lane; each of them sees only the moves and percepts of its role.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from ggp.errors import BackendUnavailableError, ConfigError
from ggp.given import checked_seed
from ggp.labs.learning.env.environment import Environment, Turn, has_several, make
from ggp.libraries import demand_library, extra_advice
from ggp.machine.definition import GameDefinition
from ggp.seeds import MAX_SEED

if TYPE_CHECKING:
    from ggp.players import Player, PlayerSpec


# ------------------------------------------------------------------------
# Spaces of gymnasium, and the observations that lie in them.
#
# An observation has three parts, the same for every role:
#
#     observation   [A + P] uint8       the role's last move and percepts, as ones
#     path          [T, K] int32        all its moves and percepts, see `Turn.paths`
#     action_mask   [A] int8            the legal actions
#
# A space of actions draws legal actions, unless it is given a mask or probabilities.


class Observed(TypedDict):
    """The parts of an observation."""

    observation: NDArray[np.uint8]
    path: NDArray[np.int32]
    action_mask: NDArray[np.int8]


def gymnasium() -> Any:
    """The library gymnasium.

    Raises:
        BackendUnavailableError: it is not installed; the message says how to install it.
    """
    try:
        import gymnasium as library
    except ImportError as error:
        demand_library(error, "gymnasium")
        raise BackendUnavailableError("gymnasium", extra_advice("gymnasium")) from error
    return library


_Discrete: Any = gymnasium().spaces.Discrete
_MultiDiscrete: Any = gymnasium().spaces.MultiDiscrete


def fresh_seed() -> int:
    """A random seed."""
    return int(np.random.SeedSequence().generate_state(1, np.uint64)[0]) & MAX_SEED


def observation_space(env: Environment) -> Any:
    """The space of the observations of one role in one lane."""
    spaces = gymnasium().spaces
    names = env.names
    actions, percepts = len(names.moves), len(names.percepts)
    _, _, turns, width = env.path_shape
    return spaces.Dict(
        {
            "observation": spaces.Box(0, 1, (actions + percepts,), np.uint8),
            "path": spaces.Box(0, actions + percepts, (turns, width), np.int32),
            "action_mask": spaces.Box(0, 1, (actions,), np.int8),
        }
    )


class LegalActions(_Discrete):  # type: ignore[misc]
    """The actions of one role in one lane.

    Args:
        num: A.
        legal: returns `[A]` int8, the actions that are legal now.
    """

    def __init__(self, num: int, legal: Callable[[], NDArray[np.int8]]) -> None:
        super().__init__(num)
        self._legal = legal

    def sample(self, mask: Any = None, probability: Any = None) -> Any:
        """A legal action, unless a mask or probabilities are given."""
        if mask is None and probability is None:
            mask = self._legal()
        return super().sample(mask, probability)


class LegalActionsOfLanes(_MultiDiscrete):  # type: ignore[misc]
    """The actions of one role in L lanes.

    Args:
        num: A.
        lanes: L.
        legal: returns `[L, A]` int8, the actions that are legal now.
    """

    def __init__(self, num: int, lanes: int, legal: Callable[[], NDArray[np.int8]]) -> None:
        super().__init__(np.full(lanes, num))
        self._legal = legal

    def sample(self, mask: Any = None, probability: Any = None) -> Any:
        """`[L]` legal actions, unless masks or probabilities are given."""
        if mask is not None or probability is not None:
            return super().sample(mask, probability)
        legal = self._legal()
        return np.argmax(self.np_random.random(legal.shape) * legal, axis=1)


def observed(turn: Turn, role: int, lane: int | slice) -> Observed:
    """Copies of a role's observation, in one lane or in several."""
    return {
        "observation": turn.observations[lane, role].copy(),
        "path": turn.paths[lane, role].copy(),
        "action_mask": turn.masks[lane, role].astype(np.int8),
    }


# ------------------------------------------------------------------------

_Vector: Any = gymnasium().vector.VectorEnv

RANDOM_PLAYER = "random"
"""The player that moves uniformly at random; the environment's kernels move it."""


_SAME_STEP, _DISABLED = "SameStep", "Disabled"

_OpponentTurns = list[tuple[str, list[str]]]
"""The move and percepts of each opponent in one turn."""


class VectorGame(_Vector):  # type: ignore[misc]
    """The vector environment of one role of a game, in L lanes.

    Its spaces of actions draw legal actions. It can be copied and pickled, also in the middle of a
    match; the opponents of a copy repeat their decisions.

        >>> env = VectorGame("kuhn_poker", "player1", num_envs=2)
        >>> observation, infos = env.reset(seed=1)
        >>> observation["action_mask"].sum(axis=1).tolist()
        [1, 1]
        >>> observation, rewards, terminated, truncated, infos = env.step(env.action_space.sample())
        >>> rewards.tolist()
        [0.0, 0.0]

    Args:
        game: see `make`.
        role: the role that chooses its moves.
        num_envs: L.
        opponents: a player for each other role, as `--player` takes them; default: `random`.
        autoreset_mode: a mode of gymnasium, or its value. `SAME_STEP`: a lane that ends restarts in
            the same step, and `infos["final_obs"]` has its last observation. `NEXT_STEP`, which
            gymnasium's wrappers of observations need: it restarts in the next step, whatever the
            action. `DISABLED`: it waits for `reset` with a mask.
        options: see `make`.

    Raises:
        ConfigError: there is no such role, player or mode; see `make`.
    """

    def __init__(
        self,
        game: str | GameDefinition,
        role: str,
        num_envs: int = 1,
        *,
        opponents: Mapping[str, str] | None = None,
        autoreset_mode: Any = "SameStep",
        **options: Any,
    ) -> None:
        specs = _specs(opponents or {}, role)
        self.env = make(game, num_envs, roles=[role, *specs], restarts=False, **options)
        self._opponents = _Opponents(self.env, specs) if specs else None
        self.num_envs = num_envs = self.env.num_lanes
        self.autoreset_mode = _mode(autoreset_mode)
        self.metadata = {"autoreset_mode": self.autoreset_mode, "render_modes": []}
        self.render_mode = None
        num = len(self.env.names.moves)
        self.single_observation_space = observation_space(self.env)
        self.single_action_space = LegalActions(num, self._legal_in_first_lane)
        batch = gymnasium().vector.utils.batch_space
        self.observation_space = batch(self.single_observation_space, num_envs)
        self.action_space = LegalActionsOfLanes(num, num_envs, self._legal)
        self._has_begun = False

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Observed, dict[str, Any]]:
        """Begin episodes.

        Args:
            seed: begin the first episode of this seed; or one seed for each lane, which then plays
                like the only lane of an environment with that seed. None: begin the next episode
                or, at the first call, the first episode of a random seed.
            options: `reset_mask`: `[L]` bool, the lanes to restart; default: all.

        Raises:
            ConfigError: a seed is not a number from 0 to 2^63 - 1, there are not L of them, or the
                mask is not an array of L truth values, at least one of them true.
        """
        lanes = self._masked((options or {}).get("reset_mask"))
        first = not self._has_begun
        if first:
            lanes = np.arange(self.num_envs)
            seed = fresh_seed() if seed is None else seed
        if seed is None:
            self.env.restart(lanes)
        elif has_several(seed):
            self._reset_each(seed, lanes, first=first)
        else:
            self.env.reset(checked_seed(seed), lanes)
        self._has_begun = True
        if self._opponents is not None:
            self._opponents.begin(lanes)
        return self._observation(), {}

    def step(
        self, actions: np.ndarray
    ) -> tuple[Observed, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Make a turn.

        Raises:
            ConfigError: no episode has begun, the actions are not L whole numbers, or a lane is
                over that only `reset` restarts.
            IllegalMoveError: an action is illegal; nothing has changed.
        """
        if not self._has_begun:
            raise ConfigError("no episode has begun: call reset first")
        current = self.env.turn
        over = np.flatnonzero(current.ended)
        if len(over) and self.autoreset_mode.value == _DISABLED:
            raise ConfigError(
                f"lane {over[0]} is over: reset it, with options={{'reset_mask': mask}}"
            )
        joint_actions = self._whole(actions)
        if self._opponents is not None:
            # Check before opponents choose: a refused step must not advance their random numbers.
            for lane in np.flatnonzero(~current.ended & (joint_actions[:, 0] != -1)).tolist():
                self.env.check_action(lane, 0, int(joint_actions[lane, 0]))
            opponent_actions = self._opponents.actions(current)
            joint_actions = np.concatenate([joint_actions, opponent_actions], axis=1)
        turn = self.env.step(joint_actions)
        if self._opponents is not None:
            self._opponents.observe(turn)
        terminated, truncated = turn.terminated & ~current.ended, turn.truncated & ~current.ended
        infos: dict[str, Any] = {}
        if self.autoreset_mode.value == _SAME_STEP:
            over = np.flatnonzero(turn.ended)
            if len(over):
                final = np.full(self.num_envs, None, dtype=object)
                for lane in over.tolist():
                    final[lane] = observed(turn, 0, lane)
                infos = {"final_obs": final, "_final_obs": turn.ended}
                infos |= {"final_info": {}, "_final_info": turn.ended}
        if len(over):
            self.env.restart(over)
            if self._opponents is not None:
                self._opponents.begin(over)
        rewards = turn.rewards[:, 0].astype(np.float64)
        return self._observation(), rewards, terminated, truncated, infos

    def close_extras(self, **kwargs: Any) -> None:
        """Release nothing."""

    def _whole(self, actions: object) -> NDArray[np.int64]:
        """`[L, 1]` the actions, if they are L whole numbers."""
        try:
            array = np.asarray(actions).reshape(-1)
        except ValueError:  # lists of several lengths
            array = np.zeros(0)
        if array.dtype.kind not in "iu" or len(array) != self.num_envs:
            raise ConfigError(f"actions must be {self.num_envs} whole numbers, not {actions!r:.60}")
        return array.astype(np.int64)[:, None]

    def _observation(self) -> Observed:
        return observed(self.env.turn, 0, slice(None))

    def _legal(self) -> NDArray[np.int8]:
        return np.asarray(self.env.turn.masks[:, 0], dtype=np.int8)

    def _legal_in_first_lane(self) -> NDArray[np.int8]:
        return np.asarray(self._legal()[0])

    def _masked(self, mask: object) -> np.ndarray:
        """The lanes of a mask; all lanes without a mask."""
        if mask is None:
            return np.arange(self.num_envs)
        if not isinstance(mask, np.ndarray) or mask.dtype != bool or mask.shape != (self.num_envs,):
            raise ConfigError(f"reset_mask must be an array of {self.num_envs} truth values")
        if not mask.any():
            raise ConfigError("reset_mask selects no lane")
        return np.flatnonzero(mask)

    def _reset_each(
        self, seeds: Sequence[int | None] | np.ndarray, lanes: np.ndarray, *, first: bool
    ) -> None:
        """Restart lanes, each with its own seed; a lane without a seed begins its next episode."""
        if len(seeds) != self.num_envs:
            raise ConfigError(f"{self.num_envs} lanes need as many seeds, not {len(seeds)}")
        seed_of = {lane: seeds[lane] for lane in lanes.tolist()}
        if first:
            seed_of = {lane: fresh_seed() if s is None else s for lane, s in seed_of.items()}
        seeded = {lane: seed for lane, seed in seed_of.items() if seed is not None}
        self.env.reset(list(seeded.values()), np.array(list(seeded), dtype=np.int64))
        seedless = [lane for lane in seed_of if lane not in seeded]
        if seedless:
            self.env.restart(np.array(seedless))


class _Opponents:
    """The opponents' players in all lanes, for the roles from the second on.

    Players are not copied. A copy of this object makes new ones with the same seeds, and replays
    the decisions and percepts of the present match (`_replay`).
    """

    def __init__(self, env: Environment, specs: Mapping[str, PlayerSpec]) -> None:
        self._env = env
        self._specs = list(specs.items())
        self._players: list[list[Player]] = [[] for _ in range(env.num_lanes)]
        self._history: list[list[_OpponentTurns]] = [[] for _ in range(env.num_lanes)]
        self._copied = False

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_players": [], "_copied": True}

    def begin(self, lanes: np.ndarray) -> None:
        """Create new players in some lanes."""
        self._replay()
        for lane in lanes.tolist():
            self._players[lane], self._history[lane] = self._new_players(lane), []

    def actions(self, turn: Turn) -> np.ndarray:
        """`[L, Q - 1]` actions of the opponents; -1 in lanes that are over."""
        self._replay()
        legal, roles = turn.legal, len(self._env.roles)
        choices = np.full((self._env.num_lanes, roles - 1), -1, dtype=np.int64)
        for lane in np.flatnonzero(~turn.ended).tolist():
            for seat, player in enumerate(self._players[lane]):
                options = legal[lane * roles + 1 + seat]
                move = player.choose().move
                action = self._env.names.move(move)
                # A player may choose an illegal move; as on a server, a legal one is drawn instead.
                choices[lane, seat] = action if action in options else -1
        return choices

    def observe(self, turn: Turn) -> None:
        """Pass every opponent its move and percepts, in lanes that go on."""
        names = self._env.names
        for lane in np.flatnonzero(~turn.ended).tolist():
            opponent_turns = []
            for seat, player in enumerate(self._players[lane]):
                seen = np.flatnonzero(turn.observations[lane, 1 + seat, len(names.moves) :])
                percepts = [names.percepts[k] for k in seen.tolist()]
                move = names.moves[turn.moves[lane, 1 + seat]]
                player.observe(move, percepts)
                opponent_turns.append((move, percepts))
            self._history[lane].append(opponent_turns)

    def _replay(self) -> None:
        """In a copy, create the players, and bring them to the state of the original ones."""
        if not self._copied:
            return
        self._copied, self._players = False, []
        for lane, turns in enumerate(self._history):
            players = self._new_players(lane)
            for opponent_turns in turns:
                for player, (move, percepts) in zip(players, opponent_turns, strict=True):
                    player.choose()
                    player.observe(move, percepts)
            self._players.append(players)

    def _new_players(self, lane: int) -> list[Player]:
        from ggp.machine import role_index
        from ggp.players import make_player

        env = self._env
        seed_words = [env.seeds[lane], env.lane_numbers[lane], env.turn.episodes[lane]]
        return [
            make_player(
                spec,
                env.machine,
                role_index(env.machine, role),
                np.random.default_rng([*map(int, seed_words), seat]),
                program=env.program,
            )
            for seat, (role, spec) in enumerate(self._specs)
        ]


def _mode(name: object) -> Any:
    """A mode of gymnasium, given as such or by its value."""
    modes = gymnasium().vector.AutoresetMode
    try:
        return modes(name)
    except ValueError:
        possible = ", ".join(mode.value for mode in modes)
        raise ConfigError(f"autoreset_mode must be one of {possible}, not {name}") from None


def _specs(opponents: Mapping[str, str], role: str) -> dict[str, PlayerSpec]:
    """The players that do not move at random, by role."""
    if role in opponents:
        raise ConfigError(f"{role} is the role that is asked, and can have no opponent's player")
    from ggp.players import parse_spec

    return {name: parse_spec(text) for name, text in opponents.items() if text != RANDOM_PLAYER}

"""A game as an environment of many lanes: `make`, `reset`, `step`.

A learner passes `[L, Q]` action indices, and gets back a `Turn`: arrays of observations, legal
actions and rewards of all L lanes, for the Q roles that choose. The states come from an `Engine`.

Lanes are divided into one slice for each thread. Rule: all slices check a turn before any slice
makes it; so after an illegal action nothing has changed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from ggp.belief import never
from ggp.errors import ConfigError, IllegalMoveError, MachineError, NoLegalMoveError
from ggp.gdl.nearest import unknown
from ggp.gdl.program import MAX_GOAL, MIN_GOAL
from ggp.given import checked_count, checked_seed
from ggp.labs.learning.env.engine import ALL, BLOCK, Engine, engine_of
from ggp.labs.learning.env.kernels import (
    FINE,
    I32,
    I64,
    NUM_ENDED,
    SPARE,
    U8,
    U64,
    UNSETTLED,
    Arrays,
    Bools,
    EpisodeRules,
    choose,
    lane_keys,
    note,
    show,
)
from ggp.labs.learning.threads import Crew
from ggp.machine.arrays import offsets_of, pack_rows, unpack, words_for
from ggp.machine.base import DEFAULT_MAX_STEPS, IntArray, Limits, Machine, Ragged, States
from ggp.machine.definition import GameDefinition
from ggp.machine.games import build_machine, check_first_turn, load_program
from ggp.machine.goal_values import number_or_nan
from ggp.machine.propnet.play.kernels.block_kernels import count_bits, list_bits
from ggp.pickled import read_states, restore_game, rules_of, write_states
from ggp.study.lengths import Longest, longest
from ggp.study.names import Names, names_of


@dataclass(frozen=True)
class Turn:
    """The situation of all lanes after a turn, or at the start of an episode.

    Rewards and ends belong to the turn that was just made, everything else to the present state,
    which is the initial one in a lane that restarted. Properties are computed on first use. A turn
    never changes, except for `paths`.

        >>> from ggp.env import make
        >>> turn = make("kuhn_poker", lanes=2).reset(seed=1)
        >>> turn.masks.sum(axis=2).tolist()  # legal actions of each role: here they await the cards
        [[1, 1], [1, 1]]

    Attributes:
        rewards: `[L, Q]` float32, the goal values (0 to 100) where the game is over, else 0.
        terminated: `[L]` bool, whether the game is over; stays true until the lane restarts.
        truncated: `[L]` bool, whether it was cut off after `max_turns` turns instead.
        turns: `[L]` int32, turns of the episode so far: the length of every role's path.
        episodes: `[L]` int64, index of the episode in its lane, from 0.
        moves: `[L, Q]` int32, the last action of each role, -1 at the beginning.
        mask_bits: `[L, Q, ceil(A / 64)]` uint64, legal actions: bit a % 64 of word a // 64.
        percept_bits: `[L, Q, ceil(P / 64)]` uint64, the last percepts of each role.
        paths: `[L, Q, T, K]` int32, all moves and percepts of each role: for each turn the token of
            its move, then the tokens of its percepts, ascending; 0 is padding. The token of a move
            is 1 + its index, that of a percept 1 + A + its index. **The array belongs to the
            environment and changes with the next turn**: copy it to keep it. `[L, Q, 0, 0]` in
            environments without paths.
        num_moves, num_percepts, num_fluents: A, P, F.
        fluent_words: returns the bits of the fluents.
    """

    rewards: NDArray[np.float32]
    terminated: Bools
    truncated: Bools
    turns: I32
    episodes: I64
    moves: I32
    mask_bits: U64
    percept_bits: U64
    paths: I32
    num_moves: int
    num_percepts: int
    num_fluents: int
    fluent_words: Callable[[], U64]

    @property
    def ended(self) -> Bools:
        """`[L]` whether the episode is over, terminated or truncated."""
        return self.terminated | self.truncated

    @cached_property
    def masks(self) -> Bools:
        """`[L, Q, A]` bool, the legal actions; all false in a lane that is over."""
        return _bytes(self.mask_bits, self.num_moves).view(np.bool_)

    @cached_property
    def legal(self) -> Ragged:
        """The legal actions as L * Q ascending lists; role q in lane l has list l * Q + q."""
        words = self.mask_bits.reshape(-1, self.mask_bits.shape[-1])
        counts = np.zeros(len(words), dtype=np.int64)
        count_bits(words, counts)
        values = np.zeros(counts.sum(), dtype=np.int64)
        list_bits(words, np.arange(64 * words.shape[1]), values)
        return Ragged(offsets_of(counts), values)

    @cached_property
    def observations(self) -> U8:
        """`[L, Q, A + P]` uint8, ones for each role's last move and percepts; 0 at the start."""
        return _bytes(self.percept_bits, self.num_percepts, self.moves, self.num_moves)

    @cached_property
    def state_bits(self) -> U64:
        """`[L, ceil(F / 64)]` uint64, the fluents that hold."""
        return self.fluent_words()

    @cached_property
    def state_tensor(self) -> U8:
        """`[L, F]` uint8, the whole state: for critics, not for players, who may not see it."""
        return _bytes(self.state_bits, self.num_fluents)


_NO_MOVES = np.zeros(0, dtype=np.int32)


def _bytes(words: U64, count: int, moves: I32 = _NO_MOVES, num_moves: int = 0) -> U8:
    """`[..., num_moves + count]` bytes for moves, see `show`, and the first bits of words."""
    shape = (*words.shape[:-1], num_moves + count)
    size = math.prod(shape)
    out = np.empty(size + SPARE, dtype=np.uint8)
    rows = words.reshape(-1, words.shape[-1])
    show.unchecked(rows, moves.reshape(-1), num_moves, shape[-1], out)
    return out[:size].reshape(shape)


_REBUILT = ("program", "machine", "_engine", "_slices", "_crew", "_latest")
"""Attributes that are not pickled, but rebuilt."""

MAX_PATH_BYTES = 4 << 30
"""The most memory that the paths of all lanes may take."""


def make(
    game: str | GameDefinition,
    lanes: int = 1,
    *,
    roles: Sequence[str] | None = None,
    max_turns: int | None = None,
    max_percepts: int | None = None,
    paths: bool = True,
    restarts: bool = True,
    threads: int = 1,
    backend: str = "auto",
) -> Environment:
    """An environment of `lanes` lanes; call `reset` to begin.

        >>> env = make("kuhn_poker", lanes=2)
        >>> turn = env.reset(seed=1)
        >>> env.roles, env.max_turns
        (('player1', 'player2'), 4)

    Args:
        game: name of a game that comes with ggp, path of a rulesheet, or a loaded game.
        lanes: L, the number of matches side by side.
        roles: Q roles that choose their moves; default: all players. The others move uniformly at
            random, as `random` does.
        max_turns: T, after which an episode is cut off. Default: the bound that the rules prove
            (`ggp.study.lengths`); then no episode is ever cut off.
        max_percepts: most percepts of a role in one turn; default: the number of all percepts.
        paths: whether to keep paths, see `Turn.paths`.
        restarts: whether a lane that ends restarts in the same turn; otherwise it waits for
            `restart`.
        threads: processors to use; the results do not depend on it.
        backend: see `ggp.machine.build_machine`.

    Raises:
        ConfigError: there is no such game or role; no bound on the length of a match is proved, and
            `max_turns` is not given; the names of the game cannot be listed; paths would take too
            much memory.
        GDLError, MachineError: the rules cannot be used.
    """
    program = load_program(game) if isinstance(game, str) else game
    if not program.as_program().rules:
        raise ConfigError(
            f"{program.source.name} has no rules to read; use what it is defined in for learning"
        )
    machine = build_machine(program, backend, Limits(grounding_seconds=120.0))
    check_first_turn(machine)
    episodes = Episodes(roles, max_turns, max_percepts, paths, restarts)
    return Environment(program, machine, lanes, episodes, threads=threads)


@dataclass(frozen=True, slots=True)
class Episodes:
    """Which roles choose in an episode, how long it may be, and its paths; see `make`."""

    roles: Sequence[str] | None = None
    max_turns: int | None = None
    max_percepts: int | None = None
    paths: bool = True
    restarts: bool = True


EPISODES = Episodes()


class Environment:
    """L lanes of a game, in which Q roles choose moves; see `make` for the arguments.

        >>> env = make("kuhn_poker", lanes=2)
        >>> turn = env.reset(seed=1)
        >>> turn = env.step(env.sample_legal())  # the cards are dealt
        >>> [env.names.moves[action] for action in turn.legal[0].tolist()]  # player1 in lane 0
        ['bet', 'check']

    Args:
        names: the names of the game, if the caller has them.
        stop: polled while a bound on the length of a match is sought, which may take a second;
            once it returns true, there is no bound. None: do not look for a bound.

    Attributes:
        program, machine: the game.
        names: the meaning of the indices of moves, percepts and fluents.
        roles: `[Q]` names of the roles.
        num_lanes: L.
        max_turns: T.
        restarts: whether lanes that end restart in the same turn.
        is_proved: whether `max_turns` is proved: no episode is cut off.
        seeds, lane_numbers: `[L]` keys of the random draws of each lane, see `reset`.

    An environment can be copied and pickled; a copy continues exactly as the original would. In
    another process the rules are read again.
    """

    def __init__(
        self,
        program: GameDefinition,
        machine: Machine,
        lanes: int,
        episodes: Episodes = EPISODES,
        *,
        threads: int = 1,
        names: Names | None = None,
        stop: Callable[[], bool] | None = never,
    ) -> None:
        lanes, threads = checked_count(lanes, "lanes"), checked_count(threads, "threads")
        self.program, self.machine = program, machine
        self.names = names or names_of(program, machine)
        self.num_lanes, self.restarts = lanes, episodes.restarts
        self.roles = tuple(self.names.roles if episodes.roles is None else episodes.roles)
        self._choosers = _player_indices(self.roles, self.names.roles)
        proved, self._most_percepts = longest(machine, stop) if stop else Longest(None, None)
        turn_limit, paths = episodes.max_turns, episodes.paths
        self.is_proved = proved is not None and (turn_limit is None or turn_limit >= proved)
        self.max_turns = _turn_limit(program, turn_limit, proved, paths)
        self.seeds, self.lane_numbers = np.zeros(lanes, dtype=np.uint64), np.arange(lanes)
        self._lane_keys = lane_keys(self.seeds, self.lane_numbers)
        self._threads = threads
        empty = (lanes, len(self.roles), 0, 0)
        shape = self._shape_of_paths(episodes.max_percepts) if paths else empty
        self._paths = np.zeros(shape, dtype=np.int32)
        self._arrays = self._empty_arrays()
        self._make_slices()

    def _make_slices(self) -> None:
        lanes, threads = self.num_lanes, self._threads
        self._engine = engine_of(self.machine, self.names)
        course = rules_of_episodes(
            self._engine, self._choosers, self.max_turns, restarts=self.restarts
        )
        blocks = -(-lanes // BLOCK)  # whole ones: a part of one costs as much
        bounds = BLOCK * np.linspace(0, blocks, min(threads, blocks) + 1).astype(int)
        ends = bounds.clip(max=lanes).tolist()
        self._slices = [
            LaneSlice(self._engine, course, self._paths, *pair) for pair in pairwise(ends)
        ]
        self._crew = Crew(len(self._slices))
        self._latest: Turn | None = None

    def __copy__(self) -> Environment:
        return deepcopy(self)  # a shallow copy would write to the arrays of the original

    def __getstate__(self) -> dict[str, Any]:
        pickled = {name: value for name, value in vars(self).items() if name not in _REBUILT}
        pickled["rules"] = rules_of(self.program, self.machine)
        pickled["states"] = [write_states(self.machine, part.states) for part in self._slices]
        return pickled

    def __setstate__(self, pickled: dict[str, Any]) -> None:
        self.program, self.machine = restore_game(pickled.pop("rules"))
        states = pickled.pop("states")
        vars(self).update(pickled)
        self._make_slices()
        for lane_slice, texts in zip(self._slices, states, strict=True):
            lane_slice.set_states(read_states(self.machine, texts))

    def reset(
        self, seed: int | Sequence[int] | IntArray = 0, lanes: IntArray | None = None
    ) -> Turn:
        """Begin the first episode in all lanes, or in some.

        Args:
            seed: one seed for all these lanes, or one for each. The same seed gives the same draws
                in each lane, however many lanes there are. A lane with its own seed plays like the
                only lane of an environment with that seed.
            lanes: indices of lanes; default: all.

        Raises:
            ConfigError: a seed is not a number, negative or too large, there are more or fewer
                seeds than lanes, or there is no such lane; nothing has changed.
        """
        lanes = np.arange(self.num_lanes) if lanes is None else self._checked_lanes(lanes)
        if has_several(seed):
            if len(seed) != len(lanes):
                raise ConfigError(f"{len(lanes)} lanes need as many seeds, not {len(seed)}")
            self.seeds[lanes] = [checked_seed(lane_seed) for lane_seed in seed]
            self.lane_numbers[lanes] = 0
        else:
            self.seeds[lanes] = checked_seed(seed)
            self.lane_numbers[lanes] = lanes
        self._lane_keys = lane_keys(self.seeds, self.lane_numbers)
        return self._begin(lanes, first=True)

    def restart(self, lanes: IntArray | None = None) -> Turn:
        """Begin the next episode in some lanes; default: all lanes that are over.

        Raises:
            ConfigError: there is no such lane.
        """
        if lanes is None:
            lanes = np.flatnonzero(self._arrays.terminated | self._arrays.truncated)
        else:
            lanes = self._checked_lanes(lanes)
        return self._begin(lanes, first=False)

    def _begin(self, lanes: IntArray, *, first: bool) -> Turn:
        """Begin the first or the next episode in some lanes."""
        arrays = Arrays._make(array.copy() for array in self._arrays)
        arrays.rewards[:] = 0
        arrays.episodes[lanes] = 0 if first else arrays.episodes[lanes] + 1
        for ends in (arrays.terminated, arrays.truncated, arrays.turns, arrays.percept_bits):
            ends[lanes] = 0
        arrays.moves[lanes] = -1
        self._paths[lanes] = 0
        for part in self._slices:
            part.begin(arrays, lanes)
        self._arrays = arrays
        return self.turn

    def step(self, actions: IntArray) -> Turn:
        """Make a turn in all lanes that are not over.

        Args:
            actions: `[L, Q]` an index of `names.moves` for each role; -1 draws a legal action.

        Raises:
            ConfigError: the array has another shape.
            IllegalMoveError: an action is illegal; nothing has changed.
            NoLegalMoveError: a role has no legal move: an error in the rulesheet.
        """
        actions = np.asarray(actions)
        expected = (self.num_lanes, len(self.roles))
        if actions.shape != expected or actions.dtype.kind not in "iu":
            raise ConfigError(
                f"actions must be whole numbers of shape {expected}, lanes and roles; these are "
                f"{actions.dtype} of shape {actions.shape}"
            )
        given = np.ascontiguousarray(actions, dtype=np.int64)
        current, following = self._arrays, Arrays._make(map(np.empty_like, self._arrays))
        following.rewards[:] = 0
        for lane_slice in self._slices:
            lane_slice.choose(current, given, self._lane_keys)
        self._crew.do(partial(part.play, current, following) for part in self._slices)
        self._arrays = following
        return self.turn

    def _checked_lanes(self, lanes: IntArray) -> IntArray:
        indices = np.asarray(lanes)
        if indices.ndim != 1 or (len(indices) and indices.dtype.kind not in "iu"):
            raise ConfigError(f"lanes are given by their numbers, not as {lanes!r:.60}")
        if len(indices) and not 0 <= indices.min() <= indices.max() < self.num_lanes:
            raise ConfigError(f"lanes must be from 0 to {self.num_lanes - 1}, not {lanes!r:.60}")
        return indices.astype(np.int64)

    def check_action(self, lane: int, role: int, action: int) -> None:
        """Check that an action is legal now.

        Args:
            role: index in `roles`.

        Raises:
            IllegalMoveError: the action is illegal.
        """
        legal = self.turn.legal[lane * len(self.roles) + role].tolist()
        if action not in legal:
            moves = self.names.moves
            text = moves[action] if 0 <= action < len(moves) else f"action {action}"
            raise IllegalMoveError(self.roles[role], text, [moves[index] for index in legal])

    @property
    def path_shape(self) -> tuple[int, int, int, int]:
        """L, Q, T and K of `Turn.paths`."""
        lanes, roles, turns, width = self._paths.shape
        return lanes, roles, turns, width

    def sample_legal(self, draw: int = 0) -> I64:
        """`[L, Q]` legal actions, drawn uniformly; -1 in lanes that are over.

        They depend only on the seed, the lane, the episode, the turn and `draw`.

            >>> env = make("kuhn_poker", lanes=2)
            >>> turn = env.reset(seed=1)
            >>> env.sample_legal().shape
            (2, 2)
        """
        drawn = [part.sample(self._arrays, self._lane_keys, 1 + draw) for part in self._slices]
        return np.concatenate(drawn)

    def _empty_arrays(self) -> Arrays:
        moves, percepts = words_for(len(self.names.moves)), words_for(len(self.names.percepts))
        return empty(self.num_lanes, len(self.roles), moves, percepts)

    @property
    def turn(self) -> Turn:
        """The present situation, as `reset`, `restart` or `step` returned it."""
        if self._latest is not None and self._latest.rewards is self._arrays.rewards:
            return self._latest
        names, parts = self.names, [lane_slice.states for lane_slice in self._slices]
        self._latest = Turn(
            *self._arrays,
            paths=self._paths,
            num_moves=len(names.moves),
            num_percepts=len(names.percepts),
            num_fluents=len(names.fluents),
            fluent_words=lambda: self._fluents(parts),
        )
        return self._latest

    def _fluents(self, parts: Sequence[States]) -> U64:
        return np.concatenate([self._engine.fluent_words(states) for states in parts])

    def _shape_of_paths(self, max_percepts: int | None) -> tuple[int, int, int, int]:
        names = self.names
        # In plain GDL every role perceives the move of each role.
        most = len(names.roles) if names.is_plain else len(names.percepts)
        most = most if self._most_percepts is None else min(most, self._most_percepts)
        width = 1 + (most if max_percepts is None else max_percepts)
        shape = (self.num_lanes, len(self.roles), self.max_turns, width)
        size = int(np.prod(shape)) * np.dtype(np.int32).itemsize
        if size > MAX_PATH_BYTES:
            raise ConfigError(
                f"paths of {shape} would take {size >> 20:,} MB; give fewer lanes, max_turns, "
                "max_percepts, or paths=False"
            )
        return shape


def has_several(seed: object) -> TypeGuard[Sequence[int] | IntArray]:
    """Whether `seed` is a sequence of seeds."""
    if isinstance(seed, np.ndarray):
        return bool(seed.ndim)
    return isinstance(seed, Sequence) and not isinstance(seed, str | bytes)


def _player_indices(roles: Sequence[str], players: Sequence[str]) -> IntArray:
    for role in roles:
        if role not in players:
            raise ConfigError(unknown("role", role, players, f"players: {', '.join(players)}"))
    if not roles or len(set(roles)) < len(roles):
        raise ConfigError("roles must be some of the players, each once")
    return np.array([players.index(role) for role in roles], dtype=np.int64)


def _turn_limit(program: GameDefinition, limit: int | None, proved: int | None, paths: bool) -> int:
    if limit is not None:
        if limit < 1:
            raise ConfigError(f"max_turns must be at least 1, not {limit}")
        return limit
    if proved is not None:
        return proved
    if not paths:
        return DEFAULT_MAX_STEPS
    raise ConfigError(
        f"no bound on the turns of a match of {program.source.name} is proved; give max_turns"
    )


# ------------------------------------------------------------------------
# The lanes of one thread: a slice of an environment.
#
# Rule: a slice writes only to its own rows of the shared arrays. So threads need no locks, and a
# lane does not depend on the others.


def empty(lanes: int, roles: int, mask_words: int, percept_words: int) -> Arrays:
    """Arrays of lanes without an episode: no action is legal."""
    return Arrays(
        np.zeros((lanes, roles), dtype=np.float32),
        np.zeros(lanes, dtype=np.bool_),
        np.zeros(lanes, dtype=np.bool_),
        np.zeros(lanes, dtype=np.int32),
        np.zeros(lanes, dtype=np.int64),
        np.zeros((lanes, roles), dtype=np.int32),
        np.zeros((lanes, roles, mask_words), dtype=np.uint64),
        np.zeros((lanes, roles, percept_words), dtype=np.uint64),
    )


def rules_of_episodes(
    engine: Engine, choosers: IntArray, max_turns: int, *, restarts: bool
) -> EpisodeRules:
    """The course of episodes in which the players `choosers` choose."""
    numbers = [math.nan, *(number_or_nan(name) for names in engine.goal_names for name in names)]
    values = np.array(numbers, dtype=np.float64)
    values[(values < MIN_GOAL) | (values > MAX_GOAL)] = np.nan  # the machine warns of them
    players = np.repeat(np.arange(len(engine.goal_names)), [*map(len, engine.goal_names)])
    return EpisodeRules(
        engine.starts,
        engine.look(engine.initial(1))[:, 0].copy(),
        choosers,
        pack_rows(np.append(-1, players) == choosers[:, None]),
        values,
        len(engine.names.moves),
        max_turns,
        restarts,
    )


class LaneSlice:
    """Lanes `first .. end` of an environment.

    Args:
        paths: `[L, Q, T, K]` of all lanes, see `Turn`.

    Attributes:
        states: states of the lanes.
    """

    def __init__(
        self, engine: Engine, course: EpisodeRules, paths: I32, first: int, end: int
    ) -> None:
        self._engine, self._course, self._first, self._end = engine, course, first, end
        num, movers = end - first, len(course.starts) - 2
        self.states: States = engine.initial(num)
        self._look = np.repeat(course.start[:, None], num, axis=1)
        self._seats = np.full(movers, -1)
        self._seats[course.choosers] = np.arange(len(course.choosers))
        self._actions = np.zeros((movers, num), dtype=np.int64)
        self._everywhere = np.ones(num, dtype=np.bool_)
        self._keys = np.zeros(num, dtype=np.uint64)
        self._ended = np.zeros(num, dtype=np.int64)
        self._paths = paths[first:end]

    def set_states(self, states: States) -> None:
        """Set the states of all lanes."""
        self.states, self._look = states, self._engine.look(states)

    def begin(self, arrays: Arrays, lanes: IntArray) -> None:
        """Begin new episodes in those of some lanes that belong to this slice."""
        lanes = lanes[(self._first <= lanes) & (lanes < self._end)] - self._first
        start, starts = self._course.start, self._course.starts
        self.states = self._engine.restarted(self.states, lanes)
        self._look[:, lanes] = start[:, None]
        masks = [start[starts[1 + role] : starts[2 + role]] for role in self._course.choosers]
        self._part(arrays).mask_bits[lanes] = np.stack(masks)

    def sample(self, current: Arrays, keys: U64, draw: int) -> I64:
        """`[L, Q]` legal actions, -1 in lanes that are over; the arguments are as in `choose`."""
        arrays = self._part(current)
        self._choose(arrays, np.full(arrays.moves.shape, -1), keys, draw)
        live = self._live(arrays)[:, None]
        return np.where(live, self._actions[self._course.choosers].T, -1)

    def choose(self, current: Arrays, given: I64, keys: U64) -> None:
        """Determine the next action of every mover.

        Args:
            given: `[L, Q]` actions in all lanes, -1 for actions to be drawn.
            keys: `[L]`, see `lane_keys`.

        Raises:
            IllegalMoveError: an action is not legal.
            NoLegalMoveError: a role has no legal move.
        """
        given = given[self._first : self._end]
        fault = self._choose(self._part(current), given, keys, 0)
        if fault != FINE:
            lane, mover = divmod(fault, len(self._seats))
            seat = self._seats[mover]
            self._refuse(lane, mover, int(given[lane, seat]) if seat >= 0 else -1)

    def _choose(self, arrays: Arrays, given: I64, keys: U64, draw: int) -> int:
        return choose.unchecked(
            self._look,
            self._course.starts,
            self._live(arrays),
            given,
            self._seats,
            keys[self._first : self._end],
            arrays.episodes,
            arrays.turns,
            draw,
            self._actions,
            self._keys,
        )

    def play(self, current: Arrays, following: Arrays) -> None:
        """Make the chosen moves, and record the turn in `following`.

        Raises:
            GoalError: a goal value is not a number.
            MachineError: a player got more percepts than there is room for.
        """
        engine, course = self._engine, self._course
        before, arrays = self._part(current), self._part(following)
        live = self._live(before)
        some = ALL if course.restarts else live
        states, look, percepts = engine.play(self.states, self._actions, self._keys, some)
        counts = np.zeros(2, dtype=np.int64)
        fault = note.unchecked(
            course,
            before,
            look,
            live,
            self._actions,
            percepts,
            arrays,
            self._paths,
            self._ended,
            counts,
        )
        if fault != FINE:
            raise MachineError(
                f"lane {self._first + fault}: a role got more than {self._paths.shape[3] - 1} "
                "percepts in one turn, which is what max_percepts says; make it with more"
            )
        if counts[UNSETTLED]:
            lanes = np.flatnonzero(np.isnan(arrays.rewards).any(axis=1))
            arrays.rewards[lanes] = engine.goals(states.take(lanes))[:, course.choosers]
        if counts[NUM_ENDED]:
            states = engine.restarted(states, self._ended[: counts[NUM_ENDED]])
        self.states, self._look = states, look

    def _part(self, arrays: Arrays) -> Arrays:
        if len(arrays.turns) == len(self._keys):
            return arrays
        return Arrays._make(array[self._first : self._end] for array in arrays)

    def _live(self, arrays: Arrays) -> Bools:
        """`[L]` whether a lane plays on."""
        restarts = self._course.restarts
        return self._everywhere if restarts else ~(arrays.terminated | arrays.truncated)

    def _refuse(self, lane: int, mover: int, action: int) -> None:
        engine, names = self._engine, self._engine.names
        is_player = mover < len(names.roles)
        role, texts = (names.roles[mover], names.moves) if is_player else ("random", names.chance)
        start, end = engine.starts[1 + mover], engine.starts[2 + mover]
        bits = unpack(self._look[start:end, lane][None], len(texts))[0]
        legal = [texts[k] for k in np.flatnonzero(bits).tolist()]
        if not legal:
            words = engine.fluent_words(self.states.take(np.array([lane])))
            holds = unpack(words, len(names.fluents))[0]
            raise NoLegalMoveError(role, [names.fluents[k] for k in np.flatnonzero(holds).tolist()])
        text = texts[action] if 0 <= action < len(texts) else f"action {action}"
        raise IllegalMoveError(role, f"in lane {self._first + lane}, {text}", sorted(legal))

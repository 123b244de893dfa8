"""A game as an environment of many lanes: `make`, `reset`, `step`.

Lanes are divided into one slice per thread. A turn is checked in all slices
before it is made in any: if an action is not legal, nothing has changed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from copy import deepcopy
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, TypeGuard

import numpy as np
from numpy.typing import NDArray

from ggp.belief import never
from ggp.errors import ConfigError, IllegalMoveError, MachineError, NoLegalMoveError
from ggp.gdl.nearest import unknown
from ggp.given import checked_count, checked_seed
from ggp.labs.learning.env.engine import Engine, engine_of
from ggp.labs.learning.env.kernels import FINE, I32, I64, U64, Bools, choose, note, restart, sample
from ggp.labs.learning.env.turn import Turn
from ggp.machine.arrays import unpack, words_for
from ggp.machine.base import DEFAULT_MAX_STEPS, IntArray, Limits, Machine, States
from ggp.machine.definition import GameDefinition
from ggp.machine.games import build_machine, check_first_turn, load_program
from ggp.pickled import read_states, restore_game, rules_of, write_states
from ggp.study.lengths import Longest, longest
from ggp.study.names import Names, names_of

_MADE_AGAIN = ("program", "machine", "_engine", "_slices", "_pool", "_latest")
"""What an environment finds or makes again when it is unpickled."""

MOST_PATH_BYTES = 4 << 30
"""Most memory that the paths of all lanes may take."""


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
    """An environment of `lanes` lanes; `reset` begins.

    Args:
        game: name of a game that comes with ggp, path of a rulesheet, or a game that is loaded.
        lanes: L, matches side by side.
        roles: Q roles that choose their moves; default: all players. The others move uniformly at
            random, as `random` does.
        max_turns: T, after which an episode is cut off. By default the bound that the rules prove
            (`ggp.study.lengths`): then nothing is ever cut off.
        max_percepts: most percepts of a role in one turn; by default as many as there are.
        paths: whether to keep paths, see `Turn.paths`.
        restarts: whether lanes that end begin anew by themselves, in the same turn; otherwise they
            wait for `restart`.
        threads: processors to use; results do not depend on it.
        backend: see `ggp.machine.build_machine`.

    Raises:
        ConfigError: there is no such game or role; nothing proves how long a match may be, and
            `max_turns` is not given; its names cannot be listed; paths would take too much memory.
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
    """Who plays an episode, how long it is, and what is told of it; see `make`."""

    roles: Sequence[str] | None = None
    max_turns: int | None = None
    max_percepts: int | None = None
    paths: bool = True
    restarts: bool = True


EPISODES = Episodes()


class Environment:
    """L lanes of a game, in which Q roles choose moves; see `make` for the arguments.

    Args:
        names: if they are known.
        stop: asked while it is proved how long a match may be, which may take a second; when true,
            nothing is proved. None: nothing is to be proved.

    Attributes:
        program, machine: the game.
        names: the meaning of indices of moves, percepts and fluents.
        roles: `[Q]` names of the roles.
        num_lanes: L.
        max_turns: T.
        restarts: whether lanes that end begin anew by themselves.
        is_proved: whether no episode can be longer.
        seeds, lane_numbers: `[L]` what the draws of each lane come from, see `reset`.

    An environment can be copied and pickled: what follows is the same. In another process its
    rules are read again.
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
        self._played = _numbers(self.roles, self.names.roles)
        proved, self._most_percepts = longest(machine, stop) if stop else Longest(None, None)
        most, paths = episodes.max_turns, episodes.paths
        self.is_proved = proved is not None and (most is None or most >= proved)
        self.max_turns = _turns(program, most, proved, paths)
        self.seeds = np.zeros(lanes, dtype=np.uint64)
        self.lane_numbers = np.arange(lanes)
        self._threads = threads
        kept = (
            self._shape_of_paths(episodes.max_percepts) if paths else (lanes, len(self.roles), 0, 0)
        )
        self._paths = np.zeros(kept, dtype=np.int32)
        self._told = self._arrays()
        self._make_slices()

    def _make_slices(self) -> None:
        lanes, threads = self.num_lanes, self._threads
        self._engine = engine_of(self.machine, self.names)
        plan = Plan(self._engine, self._played, self.max_turns, self.restarts, self._paths)
        bounds = np.linspace(0, lanes, min(threads, lanes) + 1).astype(int).tolist()
        self._slices = [LaneSlice(plan, *pair) for pair in pairwise(bounds)]
        self._pool = ThreadPoolExecutor(threads - 1) if threads > 1 else None
        self._latest: Turn | None = None

    def __copy__(self) -> Environment:
        return deepcopy(self)  # what one of the two writes, the other must not see

    def __getstate__(self) -> dict[str, Any]:
        kept = {name: value for name, value in vars(self).items() if name not in _MADE_AGAIN}
        kept["rules"] = rules_of(self.program, self.machine)
        kept["states"] = [write_states(self.machine, each.states) for each in self._slices]
        return kept

    def __setstate__(self, kept: dict[str, Any]) -> None:
        self.program, self.machine = restore_game(kept.pop("rules"))
        states = kept.pop("states")
        vars(self).update(kept)
        self._make_slices()
        for each, texts in zip(self._slices, states, strict=True):
            each.put(read_states(self.machine, texts))

    def reset(
        self, seed: int | Sequence[int] | IntArray = 0, lanes: IntArray | None = None
    ) -> Turn:
        """Begin the first episode in all lanes, or in some.

        Args:
            seed: of all these lanes, or one for each. The same seed gives the same draws in each
                lane, however many lanes there are. With a seed of its own, a lane plays as the only
                lane of an environment with that seed.
            lanes: their numbers; default: all.

        Raises:
            ConfigError: a seed is no number, negative or too large, there are not as many as lanes,
                or there is no such lane; nothing has changed.
        """
        chosen = np.arange(self.num_lanes) if lanes is None else self._numbered(lanes)
        if has_several(seed):
            if len(seed) != len(chosen):
                raise ConfigError(f"{len(chosen)} lanes need as many seeds, not {len(seed)}")
            self.seeds[chosen] = [checked_seed(each) for each in seed]
            self.lane_numbers[chosen] = 0
        else:
            self.seeds[chosen] = checked_seed(seed)
            self.lane_numbers[chosen] = chosen
        told = self._told.next()
        told.episodes[chosen] = -1
        # Of paths that are left, which are wiped; a turn that failed may have written a row more.
        told.turns[chosen] = np.minimum(told.turns[chosen] + 1, self.max_turns)
        self._told = told
        return self.restart(chosen)

    def restart(self, lanes: IntArray | None = None) -> Turn:
        """Begin the next episode in some lanes; by default in those that are over.

        Raises:
            ConfigError: there is no such lane.
        """
        if lanes is None:
            lanes = np.flatnonzero(self._told.terminated | self._told.truncated)
        else:
            lanes = self._numbered(lanes)
        told = self._told.next()
        chosen = np.zeros(self.num_lanes, dtype=np.bool_)
        chosen[lanes] = True
        first = 0
        for each in self._slices:
            end = first + len(each.states)
            some = np.flatnonzero(chosen[first:end])
            if len(some):
                each.begin(told, some)
            first = end
        told.terminated[chosen] = False
        told.truncated[chosen] = False
        self._told = told
        return self.turn

    def step(self, actions: IntArray) -> Turn:
        """Make a turn in all lanes that are not over.

        Args:
            actions: `[L, Q]` an index of `names.moves` for each role; -1 draws a legal one.

        Raises:
            ConfigError: they have another shape.
            IllegalMoveError: one is not legal; nothing has changed.
            NoLegalMoveError: a role has no legal move, which is a mistake of the rulesheet.
        """
        actions = np.asarray(actions)
        wanted = (self.num_lanes, len(self.roles))
        if actions.shape != wanted or actions.dtype.kind not in "iu":
            raise ConfigError(
                f"actions must be whole numbers of shape {wanted}, lanes and roles; these are "
                f"{actions.dtype} of shape {actions.shape}"
            )
        given = np.full((self.num_lanes, len(self.names.roles)), -1, dtype=np.int64)
        given[:, self._played] = actions
        before, after = self._told, self._told.next()
        for each in self._slices:
            each.choose(before, given, self.seeds, self.lane_numbers)
        self._play(before, after)
        self._told = after
        return self.turn

    def _numbered(self, lanes: IntArray) -> IntArray:
        numbers = np.asarray(lanes)
        if numbers.ndim != 1 or (len(numbers) and numbers.dtype.kind not in "iu"):
            raise ConfigError(f"lanes are given by their numbers, not as {lanes!r:.60}")
        if len(numbers) and not 0 <= numbers.min() <= numbers.max() < self.num_lanes:
            raise ConfigError(f"lanes must be from 0 to {self.num_lanes - 1}, not {lanes!r:.60}")
        return numbers.astype(np.int64)

    def check_action(self, lane: int, role: int, action: int) -> None:
        """Check that an action is legal now.

        Args:
            role: its index in `roles`.

        Raises:
            IllegalMoveError: it is not.
        """
        legal = self.turn.legal[lane * len(self.roles) + role].tolist()
        if action not in legal:
            moves = self.names.moves
            shown = moves[action] if 0 <= action < len(moves) else f"action {action}"
            raise IllegalMoveError(self.roles[role], shown, [moves[each] for each in legal])

    @property
    def path_shape(self) -> tuple[int, int, int, int]:
        """L, Q, T and K of `Turn.paths`."""
        lanes, roles, turns, width = self._paths.shape
        return lanes, roles, turns, width

    def sample_legal(self, draw: int = 0) -> I64:
        """`[L, Q]` legal actions, drawn uniformly; -1 in lanes that are over.

        They depend only on the seed, the lane, the episode and the turn; another `draw` gives
        others.
        """
        told = self._told
        actions = np.zeros(told.moves.shape, dtype=np.int64)
        sample(
            told.mask_bits.reshape(self.num_lanes, -1),
            draw,
            self.seeds,
            self.lane_numbers,
            told.episodes,
            told.turns,
            np.zeros(1, dtype=np.uint64),
            actions,
        )
        return actions

    def _play(self, before: Arrays, after: Arrays) -> None:
        """Make the chosen moves, in all slices side by side."""
        first, *others = self._slices
        if self._pool is None:
            first.play(before, after)
            return
        waiting = [self._pool.submit(each.play, before, after) for each in others]
        try:
            first.play(before, after)
        finally:
            # Arrays are read-only after this call.
            wait(waiting)
        for each in waiting:
            each.result()

    def _arrays(self) -> Arrays:
        moves, percepts = words_for(len(self.names.moves)), words_for(len(self.names.percepts))
        return Arrays.empty(self.num_lanes, len(self.roles), moves, percepts)

    @property
    def turn(self) -> Turn:
        """The present situation, as `reset`, `restart` or `step` returned it."""
        if self._latest is not None and self._latest.rewards is self._told.rewards:
            return self._latest
        names, parts = self.names, [each.states for each in self._slices]
        self._latest = Turn(
            *self._told,
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
        # In plain GDL everybody is told the move of each role.
        most = len(names.roles) if names.is_plain else len(names.percepts)
        most = most if self._most_percepts is None else min(most, self._most_percepts)
        width = 1 + (most if max_percepts is None else max_percepts)
        shape = (self.num_lanes, len(self.roles), self.max_turns, width)
        size = int(np.prod(shape)) * np.dtype(np.int32).itemsize
        if size > MOST_PATH_BYTES:
            raise ConfigError(
                f"paths of {shape} would take {size >> 20:,} MB; give fewer lanes, max_turns, "
                "max_percepts, or paths=False"
            )
        return shape


def has_several(seed: object) -> TypeGuard[Sequence[int] | IntArray]:
    """Whether several seeds are given, not one."""
    if isinstance(seed, np.ndarray):
        return bool(seed.ndim)
    return isinstance(seed, Sequence) and not isinstance(seed, str | bytes)


def _numbers(roles: Sequence[str], players: Sequence[str]) -> IntArray:
    for role in roles:
        if role not in players:
            raise ConfigError(unknown("role", role, players, f"players: {', '.join(players)}"))
    if not roles or len(set(roles)) < len(roles):
        raise ConfigError("roles must be some of the players, each once")
    return np.array([players.index(role) for role in roles], dtype=np.int64)


def _turns(program: GameDefinition, given: int | None, proved: int | None, paths: bool) -> int:
    if given is not None:
        if given < 1:
            raise ConfigError(f"max_turns must be at least 1, not {given}")
        return given
    if proved is not None:
        return proved
    if not paths:
        return DEFAULT_MAX_STEPS
    raise ConfigError(
        f"nothing proves how many turns a match of {program.source.name} may have; give max_turns"
    )


# ------------------------------------------------------------------------
# The lanes of one thread: a slice of an environment.
#
# Slices share nothing but the arrays that they fill in, each its own rows. So threads need no
# locks, and a lane does not depend on the others.


class Arrays(NamedTuple):
    """The output arrays of L lanes, see `Turn`; made anew for each turn."""

    rewards: NDArray[np.float32]
    terminated: Bools
    truncated: Bools
    turns: I32
    episodes: I64
    moves: I32
    mask_bits: U64
    percept_bits: U64

    @classmethod
    def empty(cls, lanes: int, roles: int, mask_words: int, percept_words: int) -> Arrays:
        """Arrays in which nothing has begun, and nothing is legal."""
        return cls(
            np.zeros((lanes, roles), dtype=np.float32),
            np.zeros(lanes, dtype=np.bool_),
            np.zeros(lanes, dtype=np.bool_),
            np.zeros(lanes, dtype=np.int32),
            np.zeros(lanes, dtype=np.int64),
            np.empty((lanes, roles), dtype=np.int32),
            np.zeros((lanes, roles, mask_words), dtype=np.uint64),
            np.empty((lanes, roles, percept_words), dtype=np.uint64),
        )

    def next(self) -> Arrays:
        """The arrays of the next turn, in which nothing has happened yet."""
        return Arrays._make(array.copy() for array in self)._replace(
            rewards=np.zeros_like(self.rewards)
        )

    def part(self, first: int, end: int) -> Arrays:
        """The arrays of some lanes."""
        return Arrays._make(array[first:end] for array in self)


class Plan(NamedTuple):
    """Settings common to all lanes of an environment.

    Attributes:
        played: `[Q]` the players that choose their moves.
        max_turns: number of turns after which an episode is cut off.
        restarts: whether lanes begin anew by themselves.
        paths: `[L, Q, T, K]` of all lanes, see `Turn`.
    """

    engine: Engine
    played: IntArray
    max_turns: int
    restarts: bool
    paths: I32


class LaneSlice:
    """Lanes `first .. end` of an environment.

    Attributes:
        states: states of the lanes.
    """

    def __init__(self, plan: Plan, first: int, end: int) -> None:
        self._plan = plan
        self._first, self._end = first, end
        engine = plan.engine
        num = end - first
        self._start = engine.look(engine.initial(1))
        self.states: States = engine.initial(num)
        self._look = np.repeat(self._start, num, axis=0)
        movers = len(engine.starts) - 2
        self._actions = np.zeros((num, movers), dtype=np.int64)
        self._keys = np.zeros(num, dtype=np.uint64)
        self._word = np.zeros(1, dtype=np.uint64)
        self._paths = plan.paths[first:end]

    def put(self, states: States) -> None:
        """Set the states of all lanes."""
        self.states, self._look = states, self._plan.engine.look(states)

    def begin(self, arrays: Arrays, lanes: IntArray) -> None:
        """Begin new episodes in some lanes, by their numbers here."""
        engine = self._plan.engine
        self._look[lanes] = self._start
        self.states = engine.merged(self.states, engine.initial(len(self._look)), lanes)
        self._told_anew(arrays.part(self._first, self._end), lanes)

    def choose(self, before: Arrays, given: I64, seeds: U64, numbers: I64) -> None:
        """Determine everybody's next action.

        Args:
            given: `[L, R]` actions of all players, -1 for those to be drawn.
            seeds, numbers: `[L]`, see `Environment.reset`.

        Raises:
            IllegalMoveError: an action is not legal.
            NoLegalMoveError: a role has no legal move.
        """
        before = before.part(self._first, self._end)
        wrong = choose(
            self._look,
            self._plan.engine.starts,
            self._live(before),
            given[self._first : self._end],
            seeds[self._first : self._end],
            numbers[self._first : self._end],
            before.episodes,
            before.turns,
            self._word,
            self._actions,
            self._keys,
        )
        if wrong != FINE:
            lane, mover = divmod(wrong, self._actions.shape[1])
            is_given = mover < given.shape[1]
            self._refuse(lane, mover, int(given[self._first + lane, mover]) if is_given else -1)

    def play(self, before: Arrays, after: Arrays) -> None:
        """Make the chosen moves, and record the results.

        Raises:
            GoalError: a goal value is not a number.
            MachineError: a player got more percepts than there is room for.
        """
        plan, engine = self._plan, self._plan.engine
        live = self._live(before.part(self._first, self._end))
        told = after.part(self._first, self._end)
        states, percepts = engine.play(self.states, self._actions, self._keys)
        look = engine.look(states)
        over = np.flatnonzero(~live)
        if len(over):
            states = engine.merged(states, self.states, over)
            look[over] = self._look[over]
        wrong = note(
            look,
            engine.starts,
            live,
            self._actions,
            percepts,
            plan.played,
            len(engine.names.moves),
            plan.max_turns,
            told.turns,
            told.terminated,
            told.truncated,
            told.moves,
            told.percept_bits,
            told.mask_bits,
            self._paths,
        )
        if wrong != FINE:
            raise MachineError(
                f"lane {self._first + wrong}: a role got more than {self._paths.shape[3] - 1} "
                "percepts in one turn, which is what max_percepts says; make it with more"
            )
        self.states, self._look = states, look
        self._reward(told, np.flatnonzero(told.terminated & live))
        if plan.restarts:
            ended = np.flatnonzero(told.terminated | told.truncated)
            if len(ended):
                self._look[ended] = self._start
                self.states = engine.merged(states, engine.initial(len(look)), ended)
                self._told_anew(told, ended)

    def _reward(self, told: Arrays, ended: IntArray) -> None:
        if len(ended):
            goals = self._plan.engine.goals(self.states.take(ended))
            told.rewards[ended] = goals[:, self._plan.played]

    def _told_anew(self, told: Arrays, lanes: IntArray) -> None:
        restart(
            lanes,
            self._start,
            self._plan.engine.starts,
            self._plan.played,
            told.turns,
            told.episodes,
            told.moves,
            told.percept_bits,
            told.mask_bits,
            self._paths,
        )

    def _live(self, told: Arrays) -> Bools:
        """`[L]` whether a lane plays on."""
        if self._plan.restarts:
            return np.ones(len(told.turns), dtype=np.bool_)
        return ~(told.terminated | told.truncated)

    def _refuse(self, lane: int, mover: int, action: int) -> None:
        engine = self._plan.engine
        names = engine.names
        is_player = mover < len(names.roles)
        role, texts = (names.roles[mover], names.moves) if is_player else ("random", names.chance)
        start, end = engine.starts[1 + mover], engine.starts[2 + mover]
        bits = unpack(self._look[lane : lane + 1, start:end], len(texts))[0]
        legal = [texts[k] for k in np.flatnonzero(bits).tolist()]
        if not legal:
            words = engine.fluent_words(self.states.take(np.array([lane])))
            held = unpack(words, len(names.fluents))[0]
            raise NoLegalMoveError(role, [names.fluents[k] for k in np.flatnonzero(held).tolist()])
        shown = texts[action] if 0 <= action < len(texts) else f"action {action}"
        raise IllegalMoveError(role, f"in lane {self._first + lane}, {shown}", sorted(legal))

"""Games, their states, and what a role may believe of them: strings at the edge, arrays inside.

A `Game` is a definition with the machine that plays it. A `State` is one lane of that machine, a
`Belief` a bag of them with weights. Moves, percepts and fluents are canonical KIF in strings; no id
of a machine gets out.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeVar

import numpy as np

from ggp.belief import (
    MAX_ATTEMPTS,
    OWN_COMPLETIONS,
    Bags,
    How,
    HyperPlaySampler,
    PathTree,
    Quality,
    require_particles,
)
from ggp.belief.turns.open_moves import Learnt, open_moves
from ggp.errors import BeliefDepletedError, ConfigError, IllegalMoveError, MachineError
from ggp.gdl.analysis.domains import Domains
from ggp.gdl.program import RANDOM
from ggp.given import checked_fluent, checked_seed, checked_text, rng_of
from ggp.library.matches import belief_html, state_html
from ggp.machine import build_machine, role_index
from ggp.machine.base import UNKNOWN, FloatArray, Machine, States
from ggp.machine.definition import GameDefinition
from ggp.machine.games import find_program
from ggp.pickled import Rules, found_again, read, rules_of, written
from ggp.players import Decision, Player, make_player, parse_spec
from ggp.players.parts.tracker import Submission, Tracker
from ggp.search.anytime import Deadline

_V = TypeVar("_V")

DEFAULT_PARTICLES = 1000
DEFAULT_EXACT = 10_000


def _itself(value: _V, memo: object = None) -> _V:
    """The value itself as its copy, since it never changes."""
    return value


class Step(NamedTuple):
    """The result of a joint move.

    Attributes:
        state: the next state.
        percepts: the percepts of each role, sorted.
    """

    state: State
    percepts: Mapping[str, tuple[str, ...]]


class Playout(NamedTuple):
    """The result of random moves.

    Attributes:
        finished: whether the game reached its end. Some never do, or not within 1,000 joint moves,
            or a role has no legal move.
        goals: of every role at the end; None if there was no end.
        steps: joint moves made.
    """

    finished: bool
    goals: Mapping[str, float] | None
    steps: int


class Game:
    """A rulesheet and the machine that plays it; made by `load`.

    Any number of threads may use a game, its states and its beliefs at once. On `prolog` they are
    served one after the other. All of them can be pickled: in another process the rules are read,
    and a machine is built, when the first arrives; files they were read from need not be there.

    Attributes:
        name: as it was given.
        program: the normalised rules, or what defines another game, with warnings as
            `program.diagnostics`.
    """

    def __init__(self, name: str, program: GameDefinition, machine: Machine) -> None:
        self.name, self.program = name, program
        self._machine = machine

    def __reduce__(self) -> tuple[object, ...]:
        return _game_again, (self.name, rules_of(self.program, self._machine))

    __copy__ = __deepcopy__ = _itself

    def __repr__(self) -> str:
        return f"<Game {self.name}: {', '.join(self.roles)}; on {self.backend}>"

    @property
    def roles(self) -> tuple[str, ...]:
        """All roles in the order of the rulesheet; chance plays `random`."""
        return self._machine.roles

    @property
    def backend(self) -> str:
        """The backend that runs the game, one of `ggp.machine.BACKENDS`."""
        return self._machine.backend

    def initial(self) -> State:
        """The initial state."""
        return State(self, self._machine, self._machine.initial(1))

    def state(self, fluents: Iterable[str]) -> State:
        """The state in which these fluents hold, and no others.

        It need not be one that can be reached.

        Raises:
            ConfigError: one is no fluent, or no rule can make it hold.
            MachineError: it can never hold, or the game has no rules, as one of OpenSpiel.
        """
        if self._domains is None:
            raise MachineError(f"{self.name} has no rules to say what holds in a state")
        texts = tuple(sorted({checked_fluent(fluent, self._domains) for fluent in fluents}))
        return State(self, self._machine, read(self._machine, [texts]))

    def player(self, role: str, spec: str, *, seed: int = 0) -> Seated:
        """A player for one match, on a machine of its own, so that its states are counted.

        Args:
            role: the role that it plays.
            spec: the player, for example `hyperplay2:n=8`.
            seed: of all its random choices.

        Raises:
            ConfigError: there is no such role, player or option, or a wrong seed.
        """
        number = self._player_role(role)
        rng = rng_of(seed)
        machine = build_machine(self.program, self.backend, ready=True)  # clocks may follow
        made = make_player(parse_spec(spec), machine, number, rng, program=self.program)
        return Seated(role, spec, made)

    def belief(
        self,
        role: str,
        history: Sequence[tuple[str | None, Sequence[str] | None]] = (),
        *,
        particles: int = DEFAULT_PARTICLES,
        exact: int = DEFAULT_EXACT,
        seed: int = 0,
        attempts: int | None = None,
        seconds: float | None = None,
    ) -> Belief:
        """The states that a role may be in after its moves and percepts, by HyperPlay.

        The match is followed turn by turn, as a player follows it: sets are enumerated while they
        are small, else sampled, and if no sample agrees, complete paths are found by solving.

        Args:
            role: the role.
            history: its executed move and its percepts of each turn so far; None if unknown.
            particles: number of samples if there are too many states.
            exact: up to this many states are enumerated instead; 0 for never.
            seed: of the sampling.
            attempts: joint moves tried in search of particles if there are none; by default
                400,000.
            seconds: for each turn, instead of counts; then the result depends on the machine's
                speed.

        Raises:
            BeliefDepletedError: no complete path agrees with the history, or none was found.
            ConfigError: there is no such role, a term the rules cannot make, or a wrong seed or
                number; or the match was over after one of the turns.
        """
        machine = copy(self._machine)  # counts the states that only this call visits
        number = self._player_role(role)
        checked_history(machine, history)
        limits = FollowLimits(particles, exact, attempts, seconds)
        bag, quality = followed(machine, number, history, limits, rng_of(seed))
        return Belief(self, self._machine, bag.states_of(0), bag.weights_of(0), quality)

    def has_rules_of(self, other: Game) -> bool:
        """Whether both are the same game, on any backend: then their states can be equal."""
        return self._machine is other._machine or self.program.digest == other.program.digest

    @cached_property
    def _domains(self) -> Domains | None:
        """The fluents that there can be; None where no rules tell."""
        return Domains(rules) if (rules := self.program.as_program().rules) else None

    def _player_role(self, role: str) -> int:
        number = role_index(self._machine, role)
        if number == self._machine.random_role:
            raise ConfigError(f"{RANDOM} plays by chance; roles: {', '.join(self.roles)}")
        return number


def load(name_or_path_or_text: str | os.PathLike[str], *, backend: str = "auto") -> Game:
    """A game, ready to be played.

    Args:
        name_or_path_or_text: name of a game that comes with ggp, path of a rulesheet, the rules
            themselves in KIF or infix syntax, or `openspiel:NAME` for a game of OpenSpiel. Files of
            Gambit's (`.efg`, `.nfg`) are rules, too.
        backend: one of `ggp.machine.BACKENDS`; `auto` takes the first that can be built.

    Raises:
        ConfigError: there is no such game, or it cannot be played here.
        GDLError: the rules cannot be used; its diagnostics say what is wrong where.
        MachineError: no machine can be built.
    """
    name, program = find_program(checked_text(name_or_path_or_text))
    return Game(name, program, build_machine(program, backend))


class State:
    """A state of a game, an immutable value: playing makes a new one."""

    def __init__(self, game: Game, machine: Machine, lane: States) -> None:
        self._game, self._machine, self._lane = game, machine, lane

    def __repr__(self) -> str:
        return f"<State of {self._game.name}: {' '.join(self.fluents) or 'nothing holds'}>"

    def _repr_html_(self) -> str:
        """A picture of the state, for notebooks."""
        return state_html(self._game, self.fluents)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, State) or not self._game.has_rules_of(other._game):
            return NotImplemented
        return self.fluents == other.fluents

    def __reduce__(self) -> tuple[object, ...]:
        return _state_again, (self._game, written(self._machine, self._lane))

    __copy__ = __deepcopy__ = _itself

    def __hash__(self) -> int:
        return hash(self.fluents)

    @cached_property
    def fluents(self) -> tuple[str, ...]:
        """The fluents that hold, sorted."""
        return self._machine.fluents(self._lane)[0]

    @property
    def terminal(self) -> bool:
        """Whether the game is over."""
        return bool(self._machine.terminal(self._lane)[0])

    @property
    def goals(self) -> dict[str, float]:
        """The goal value of every role, 0 to 100 in well-made games; also before the end.

        Raises:
            GoalError: a goal value is not a number.
        """
        values = self._machine.goals(self._lane)[0].tolist()
        return dict(zip(self._machine.roles, values, strict=True))

    def legal(self, role: str) -> tuple[str, ...]:
        """The legal moves of a role, sorted; none when the game is over.

        Raises:
            ConfigError: there is no such role.
            NoLegalMoveError: the role has none, though the game is not over.
        """
        machine = self._machine
        moves = machine.legal(self._lane, role_index(machine, role))[0]
        return tuple(sorted(map(machine.move_text, moves.tolist())))

    def play(self, moves: Mapping[str, str], *, seed: int = 0) -> Step:
        """The next state, and the percepts of every role.

        Args:
            moves: by role. A role with a single legal move may be left out, and so may `random`,
                whose move is then drawn.
            seed: of that draw.

        Raises:
            IllegalMoveError: a move is not legal; the message lists those that are.
            ConfigError: a role is unknown or missing, the game is over, or the seed is wrong.
        """
        machine = self._machine
        checked_seed(seed)
        if self.terminal:
            raise ConfigError(f"{self._game.name} is over: nobody can move")
        given = {role_index(machine, role): move for role, move in moves.items()}
        joint = [
            self._chosen(role, given.get(role), rng_of(seed)) for role in range(len(machine.roles))
        ]
        stepped = machine.step(self._lane, np.array([joint], dtype=np.int64))
        told = map(machine.percept_texts, stepped.percepts[0].tolist())
        percepts = dict(zip(machine.roles, told, strict=True))
        return Step(State(self._game, machine, stepped.states), percepts)

    def playout(self, *, seed: int = 0) -> Playout:
        """Random legal moves of all roles, to the end of the game if there is one.

        Raises:
            ConfigError: the seed is wrong.
        """
        found = self._machine.playout(self._lane, rng_of(seed))
        steps = int(found.steps[0])
        if not found.finished[0]:
            return Playout(finished=False, goals=None, steps=steps)
        goals = dict(zip(self._machine.roles, found.goals[0].tolist(), strict=True))
        return Playout(finished=True, goals=goals, steps=steps)

    def _chosen(self, role: int, given: str | None, rng: np.random.Generator) -> int:
        machine = self._machine
        name = machine.roles[role]
        legal: list[int] = machine.legal(self._lane, role)[0].tolist()
        if given is not None:
            texts = {machine.move_text(move): move for move in legal}
            move = machine.move_id(given)
            if move not in legal:
                raise IllegalMoveError(name, given, sorted(texts))
            return int(move)
        if role == machine.random_role:
            chance = machine.chance(self._lane)
            return int(rng.choice(chance.moves, p=chance.probabilities))
        if len(legal) > 1:
            raise ConfigError(f"{name} has {len(legal)} legal moves; say which it makes")
        return legal[0]


@dataclass(frozen=True, eq=False)
class Belief:
    """The states that a role may be in, with weights.

    Attributes:
        weights: `[N]` of the particles; they sum to 1.
        quality: how it was made, and how good it is.
    """

    _game: Game
    _machine: Machine
    _lanes: States
    weights: FloatArray
    quality: Quality

    @property
    def exact(self) -> bool:
        """Whether these are all states of the information set, with exact weights."""
        return self.quality.how is How.EXACT

    def __repr__(self) -> str:
        return f"<Belief in {self._game.name}: {len(self)} particles, {self.quality.how}>"

    def _repr_html_(self) -> str:
        """A picture of what may hold, with its probability, for notebooks."""
        shares = dict(zip(self.fluents, self.marginals.tolist(), strict=True))
        return belief_html(self._game, shares, f"{len(self):,} particles, {self.quality.how}")

    def __len__(self) -> int:
        return len(self._lanes)

    def __reduce__(self) -> tuple[object, ...]:
        texts = written(self._machine, self._lanes)
        return _belief_again, (self._game, texts, self.weights, self.quality)

    @cached_property
    def particles(self) -> tuple[State, ...]:
        """The states, in the order of `weights`."""
        return tuple(
            State(self._game, self._machine, self._lanes.take(np.array([lane])))
            for lane in range(len(self))
        )

    @cached_property
    def fluents(self) -> tuple[str, ...]:
        """Fluents that hold in some particle, sorted: the order of `marginals`."""
        return tuple(sorted({fluent for held in self._held for fluent in held}))

    @cached_property
    def marginals(self) -> FloatArray:
        """`[F]` the probability that each of the `fluents` holds."""
        place = {fluent: number for number, fluent in enumerate(self.fluents)}
        found = np.zeros(len(place))
        for weight, held in zip(self.weights, self._held, strict=True):
            found[[place[fluent] for fluent in held]] += weight
        return found

    def probability(self, fluent: str) -> float:
        """The probability that a fluent, in KIF, holds.

        Raises:
            ConfigError: it is no term, or one that no rule of the game can make.
        """
        numbers: list[float] = self.marginals.tolist()
        found = dict(zip(self.fluents, numbers, strict=True))
        if not isinstance(fluent, str) or fluent not in found:
            fluent = checked_fluent(fluent, self._game._domains)
        return found.get(fluent, 0.0)

    @cached_property
    def _held(self) -> list[tuple[str, ...]]:
        return self._machine.fluents(self._lanes)


def _belief_again(
    game: Game, texts: list[tuple[str, ...]], weights: FloatArray, quality: Quality
) -> Belief:
    return Belief(game, game._machine, read(game._machine, texts), weights, quality)


def _game_again(name: str, rules: Rules) -> Game:
    return Game(name, *found_again(rules))


def _state_again(game: Game, texts: list[tuple[str, ...]]) -> State:
    return State(game, game._machine, read(game._machine, texts))


# ------------------------------------------------------------------------
# How `Game.belief` follows a match: turn by turn, as a player does.

ENDS_TRIED = 1_000
"""Joint moves tried to find out whether a turn that no particle agrees with ended the match."""


class FollowLimits(NamedTuple):
    """How a match is followed: see `Game.belief`."""

    particles: int
    exact: int
    attempts: int | None
    seconds: float | None


def followed(
    machine: Machine,
    role: int,
    history: Sequence[tuple[str | None, Sequence[str] | None]],
    limits: FollowLimits,
    rng: np.random.Generator,
) -> tuple[Bags, Quality]:
    """The bag of a role after what it did and saw, in terms that the rules know.

    Raises:
        BeliefDepletedError: no complete path agrees, or none was found at the end.
        ConfigError: the match was over after one of the turns.
    """
    tree = PathTree(machine)
    sampler = HyperPlaySampler(
        machine,
        tree,
        capacity=limits.particles,
        exact=limits.exact,
        max_attempts=MAX_ATTEMPTS if limits.attempts is None else limits.attempts,
        follows=True,
        completions=OWN_COMPLETIONS,
        solves=True,
    )
    tracker = Tracker(sampler, machine, role, rng)
    before = machine.states_visited
    for turn, (move, percepts) in enumerate(history, start=1):
        known = tracker.bag
        deadline = None if limits.seconds is None else Deadline.after(limits.seconds)
        try:
            tracker.observe(move, percepts, Submission(), deadline)
        except BeliefDepletedError as error:
            # Of a turn that others follow, particles that were not found may be found later.
            if error.exhausted or turn == len(history):
                _require_goes_on(machine, role, known, move, percepts, turn, rng)
            if error.exhausted:
                raise
    require_particles(tracker.bag, tree, machine.states_visited - before)
    return tracker.bag, tracker.quality()


def _require_goes_on(
    machine: Machine,
    role: int,
    known: Bags,
    move: str | None,
    percepts: Sequence[str] | None,
    turn: int,
    rng: np.random.Generator,
) -> None:
    """Check that a turn after which there is no particle did not end the match.

    Particles are states in which a move is still asked for. So after the last turn there are none,
    although what was told may well have happened.

    Args:
        known: the bag before the turn.

    Raises:
        ConfigError: the match was over after the turn.
    """
    if known.depleted[0]:
        return
    states = known.states_of(0)
    states = states.take(rng.integers(len(states), size=ENDS_TRIED))
    moved = UNKNOWN if move is None else machine.move_id(move)
    seen = UNKNOWN if percepts is None else machine.percept_id(percepts)
    told = np.tile(np.array([[moved], [seen], [UNKNOWN]]), len(states))
    options = open_moves(machine, role, states, Learnt(*told))
    lanes = np.flatnonzero(options.counts > 0)
    joint, _ = options.random(lanes, rng)
    stepped = machine.step(states.take(lanes), joint)
    ended = machine.terminal(stepped.states)
    if seen != UNKNOWN:
        ended &= stepped.percepts[:, role] == seen
    if ended.any():
        raise ConfigError(
            f"the match is over after turn {turn} of this history: a belief is about a match that "
            f"goes on; give the turns before it only"
        )


def checked_history(
    machine: Machine, history: Sequence[tuple[str | None, Sequence[str] | None]]
) -> None:
    """Check what a role did and saw.

    Raises:
        ConfigError: a term that the rules cannot make.
    """
    for move, percepts in history:
        if move is not None and machine.move_id(move) is None:
            raise ConfigError(f"{move} is no move of this game: its rules do not know the term")
        if percepts is not None and machine.percept_id(percepts) is None:
            raise ConfigError(f"{' '.join(percepts)} are no percepts of this game")


# ------------------------------------------------------------------------
# A player in its role, as `Game.player` gives it.


class Seated:
    """A player in its role; it knows what it is told, and nothing else.

    It is for one thread at a time; several of one game may think in several threads.

    Attributes:
        role: whose moves it makes.
        spec: which player it is.
    """

    def __init__(self, role: str, spec: str, player: Player) -> None:
        self.role, self.spec = role, spec
        self._player = player

    def __repr__(self) -> str:
        return f"<{self.spec} as {self.role}>"

    def observe(self, move: str | None, percepts: Sequence[str] | None) -> None:
        """Tell it of a turn: the move executed for its role, and what the role sees."""
        self._player.observe(move, percepts)

    def choose(self, *, seconds: float | None = None, value_forced: bool = False) -> Decision:
        """Its next move, with the values of all candidates.

        Args:
            seconds: to think; without them its own counts decide.
            value_forced: think also where there is only one move.
        """
        deadline = None if seconds is None else Deadline.after(seconds)
        return self._player.choose(deadline, value_forced=value_forced)

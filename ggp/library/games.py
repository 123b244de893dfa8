"""Games, their states, and a role's beliefs about them: strings outside, arrays inside.

A `Game` is a game's definition together with its machine. A `State` is one lane of that machine,
and a `Belief` is a bag of lanes with weights. Callers pass and get moves, percepts and fluents as
strings of canonical KIF; no id of a machine leaves this module.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
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
from ggp.machine.build import make_ready
from ggp.machine.definition import GameDefinition
from ggp.machine.games import find_program
from ggp.pickled import Rules, read_states, restore_game, rules_of, write_states
from ggp.players import Decision, Player, make_player, parse_spec
from ggp.players.parts.tracker import Submission, Tracker
from ggp.search.anytime import Deadline

_V = TypeVar("_V")

DEFAULT_PARTICLES = 1000
DEFAULT_EXACT = 10_000


def _itself(value: _V, memo: object = None) -> _V:
    """The value itself: an immutable value is its own copy."""
    return value


class Step(NamedTuple):
    """The outcome of a joint move.

    Attributes:
        state: the next state.
        percepts: the percepts of each role, sorted.
    """

    state: State
    percepts: Mapping[str, tuple[str, ...]]


class Playout(NamedTuple):
    """The outcome of a playout.

    Attributes:
        finished: whether the game ended. Some games never end, or not within 1,000 joint moves, or
            leave a role without a legal move.
        goals: goal value of every role; None if the game did not end.
        steps: number of joint moves.
    """

    finished: bool
    goals: Mapping[str, float] | None
    steps: int


class Game:
    """A game and the machine that plays it; made by `load`.

        >>> import ggp
        >>> game = ggp.load("kuhn_poker")
        >>> game.roles
        ('player1', 'player2', 'random')
        >>> game.initial().legal("player1")
        ('noop',)

    Threads may share a game, its states and its beliefs; the backend `prolog` serves them one at a
    time. All of these can be pickled: when the first pickle arrives in another process, that
    process reads the rules and builds a machine. It does not need the rulesheet's file.

    Attributes:
        name: as passed to `load`.
        program: the normalised rules, or the definition of another kind of game; its warnings are
            `program.diagnostics`.
    """

    def __init__(self, name: str, program: GameDefinition, machine: Machine) -> None:
        self.name, self.program = name, program
        self._machine = machine

    def __reduce__(self) -> tuple[object, ...]:
        return _restore_game, (self.name, rules_of(self.program, self._machine))

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
        """The state in which exactly these fluents hold.

        The state need not be reachable.

        Raises:
            ConfigError: a text is not a fluent, or no rule can make it hold.
            MachineError: a fluent can never hold, or the game has no rules, as in OpenSpiel.
        """
        if self._domains is None:
            raise MachineError(f"{self.name} has no rules to say what holds in a state")
        texts = tuple(sorted({checked_fluent(fluent, self._domains) for fluent in fluents}))
        return State(self, self._machine, read_states(self._machine, [texts]))

    def player(self, role: str, spec: str, *, seed: int = 0) -> Seated:
        """A player for one match, on a machine of its own that counts its states.

            >>> import ggp
            >>> player = ggp.load("tic_tac_toe").player("xplayer", "legal")
            >>> player.choose().move
            '(mark 1 1)'

        Args:
            role: the role that it plays.
            spec: the player, for example `hyperplay2:n=8`.
            seed: of all its random choices.

        Raises:
            ConfigError: there is no such role, player or option, or a wrong seed.
        """
        role_id = self._player_role(role)
        rng = rng_of(seed)
        machine = build_machine(self.program, self.backend)
        seated = make_player(parse_spec(spec), machine, role_id, rng, program=self.program)
        return Seated(role, spec, seated, machine)

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
        """The possible states after a role's moves and percepts, by HyperPlay.

        The belief follows the match turn by turn, as a player does: it enumerates the information
        set while that is small, and samples it otherwise. If no sample agrees with the percepts, a
        solver finds complete paths.

            >>> import ggp
            >>> belief = ggp.load("monty_hall").belief("candidate", [("(choose 1)", [])])
            >>> belief.exact, len(belief)
            (True, 3)
            >>> round(belief.probability("(car 1)"), 3)
            0.333

        Args:
            role: the role.
            history: its executed move and its percepts in each turn so far; None if unknown.
            particles: number of samples if there are too many states.
            exact: enumerate up to this many states; 0 to always sample.
            seed: of the sampling.
            attempts: joint moves tried in search of particles if there are none; by default
                400,000.
            seconds: for each turn, instead of counts; then the result depends on the machine's
                speed.

        Raises:
            BeliefDepletedError: no complete path agrees with the history, or none was found.
            ConfigError: there is no such role, the rules cannot make a term, a seed or number is
                wrong, or the match was over after one of the turns.
        """
        machine = copy(self._machine)  # counts only the states that this call visits
        role_id = self._player_role(role)
        checked_history(machine, history)
        rng, tree, states_before = rng_of(seed), PathTree(machine), machine.states_visited
        sampler = HyperPlaySampler(
            machine,
            tree,
            capacity=particles,
            exact=exact,
            max_attempts=MAX_ATTEMPTS if attempts is None else attempts,
            follows=True,
            completions=OWN_COMPLETIONS,
            solves=True,
        )
        tracker = Tracker(sampler, machine, role_id, rng)
        for turn, (move, percepts) in enumerate(history, start=1):
            bag = tracker.bag
            deadline = None if seconds is None else Deadline.after(seconds)
            try:
                tracker.observe(move, percepts, Submission(), deadline)
            except BeliefDepletedError as error:
                # If more turns follow, particles may still be found in a later turn.
                if error.exhausted or turn == len(history):
                    _require_goes_on(machine, role_id, bag, move, percepts, turn, rng)
                if error.exhausted:
                    raise
        bag = tracker.bag
        require_particles(bag, tree, machine.states_visited - states_before)
        states, weights = bag.states_of(0), bag.weights_of(0)
        return Belief(self, self._machine, states, weights, tracker.quality())

    def has_rules_of(self, game: Game) -> bool:
        """Whether another game has the same rules, on any backend, so that states can be equal."""
        return self._machine is game._machine or self.program.digest == game.program.digest

    @cached_property
    def _domains(self) -> Domains | None:
        """The possible fluents; None for a game without rules."""
        return Domains(rules) if (rules := self.program.as_program().rules) else None

    def _player_role(self, role: str) -> int:
        role_id = role_index(self._machine, role)
        if role_id == self._machine.random_role:
            raise ConfigError(f"{RANDOM} plays by chance; roles: {', '.join(self.roles)}")
        return role_id


def load(name_or_path_or_text: str | os.PathLike[str], *, backend: str = "auto") -> Game:
    """Load a game, ready to be played.

        >>> import ggp
        >>> ggp.load("tic_tac_toe").roles
        ('xplayer', 'oplayer')

    Args:
        name_or_path_or_text: name of a game that comes with ggp, path of a rulesheet or of a Gambit
            file (`.efg`, `.nfg`), the rules themselves in KIF or infix syntax, or `openspiel:NAME`
            for a game of OpenSpiel.
        backend: one of `ggp.machine.BACKENDS`; `auto` takes the first that can be built.

    Raises:
        ConfigError: there is no such game, or it cannot be played here.
        GDLError: the rules cannot be used; its diagnostics name the problems and their places.
        MachineError: no machine can be built.
    """
    name, program = find_program(checked_text(name_or_path_or_text))
    return Game(name, program, build_machine(program, backend))


class State:
    """A state of a game; immutable, so that playing a move returns a new one.

    >>> import ggp
    >>> state = ggp.load("tic_tac_toe").initial()
    >>> state, percepts = state.play({"xplayer": "(mark 2 2)"})
    >>> state.terminal, state.fluents
    (False, ('(control oplayer)', '(marked 2 2 xplayer)'))
    """

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
        return _restore_state, (self._game, write_states(self._machine, self._lane))

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
        """The goal value of every role, from 0 to 100 in well-formed games; also before the end.

        Raises:
            GoalError: a goal value is not a number.
        """
        values = self._machine.goals(self._lane)[0].tolist()
        return dict(zip(self._machine.roles, values, strict=True))

    def legal(self, role: str) -> tuple[str, ...]:
        """The legal moves of a role, sorted; empty when the game is over.

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
            moves: by role. A role with a single legal move may be omitted, and so may `random`,
                whose move is then drawn.
            seed: of that draw.

        Raises:
            IllegalMoveError: a move is not legal; the message lists the legal ones.
            ConfigError: a role is unknown or missing, the game is over, or the seed is wrong.
        """
        machine = self._machine
        checked_seed(seed)
        if self.terminal:
            raise ConfigError(f"{self._game.name} is over: nobody can move")
        texts = {role_index(machine, role): move for role, move in moves.items()}
        joint = [
            self._move_id(role, texts.get(role), rng_of(seed)) for role in range(len(machine.roles))
        ]
        stepped = machine.step(self._lane, np.array([joint], dtype=np.int64))
        seen = map(machine.percept_texts, stepped.percepts[0].tolist())
        percepts = dict(zip(machine.roles, seen, strict=True))
        return Step(State(self._game, machine, stepped.states), percepts)

    def playout(self, *, seed: int = 0) -> Playout:
        """Play random legal moves of all roles, to the end of the game if there is one.

        Raises:
            ConfigError: the seed is wrong.
        """
        playouts = self._machine.playout(self._lane, rng_of(seed))
        steps = int(playouts.steps[0])
        if not playouts.finished[0]:
            return Playout(finished=False, goals=None, steps=steps)
        goals = dict(zip(self._machine.roles, playouts.goals[0].tolist(), strict=True))
        return Playout(finished=True, goals=goals, steps=steps)

    def _move_id(self, role: int, text: str | None, rng: np.random.Generator) -> int:
        """The id of a submitted move, or of the move to play if the text is None."""
        machine = self._machine
        name = machine.roles[role]
        legal: list[int] = machine.legal(self._lane, role)[0].tolist()
        if text is not None:
            texts = {machine.move_text(move): move for move in legal}
            move = machine.move_id(text)
            if move not in legal:
                raise IllegalMoveError(name, text, sorted(texts))
            return int(move)
        if role == machine.random_role:
            chance = machine.chance(self._lane)
            return int(rng.choice(chance.moves, p=chance.probabilities))
        if len(legal) > 1:
            raise ConfigError(f"{name} has {len(legal)} legal moves; say which it makes")
        return legal[0]


@dataclass(frozen=True, eq=False)
class Belief:
    """The possible states of a role, with weights; made by `Game.belief`.

    Attributes:
        weights: `[N]` weights of the particles; they sum to 1.
        quality: how the belief was computed, and how good it is.
    """

    _game: Game
    _machine: Machine
    _lanes: States
    weights: FloatArray
    quality: Quality

    @property
    def exact(self) -> bool:
        """Whether the particles are the whole information set, with exact weights."""
        return self.quality.how is How.EXACT

    def __repr__(self) -> str:
        return f"<Belief in {self._game.name}: {len(self)} particles, {self.quality.how}>"

    def _repr_html_(self) -> str:
        """A picture of the possible fluents with their probabilities, for notebooks."""
        shares = dict(zip(self.fluents, self.marginals.tolist(), strict=True))
        return belief_html(self._game, shares, f"{len(self):,} particles, {self.quality.how}")

    def __len__(self) -> int:
        return len(self._lanes)

    def __reduce__(self) -> tuple[object, ...]:
        texts = write_states(self._machine, self._lanes)
        return _restore_belief, (self._game, texts, self.weights, self.quality)

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
        return tuple(sorted({*chain.from_iterable(self._particle_fluents)}))

    @cached_property
    def marginals(self) -> FloatArray:
        """`[F]` the probability that each of the `fluents` holds."""
        columns = {fluent: column for column, fluent in enumerate(self.fluents)}
        totals = np.zeros(len(columns))
        for weight, fluents in zip(self.weights, self._particle_fluents, strict=True):
            totals[[columns[fluent] for fluent in fluents]] += weight
        return totals

    def probability(self, fluent: str) -> float:
        """The probability that a fluent, in KIF, holds.

        Raises:
            ConfigError: it is not a term, or no rule of the game can make it.
        """
        marginals: list[float] = self.marginals.tolist()
        by_fluent = dict(zip(self.fluents, marginals, strict=True))
        if not isinstance(fluent, str) or fluent not in by_fluent:
            fluent = checked_fluent(fluent, self._game._domains)
        return by_fluent.get(fluent, 0.0)

    @cached_property
    def _particle_fluents(self) -> list[tuple[str, ...]]:
        return self._machine.fluents(self._lanes)


def _restore_belief(
    game: Game, texts: list[tuple[str, ...]], weights: FloatArray, quality: Quality
) -> Belief:
    return Belief(game, game._machine, read_states(game._machine, texts), weights, quality)


def _restore_game(name: str, rules: Rules) -> Game:
    return Game(name, *restore_game(rules))


def _restore_state(game: Game, texts: list[tuple[str, ...]]) -> State:
    return State(game, game._machine, read_states(game._machine, texts))


# ------------------------------------------------------------------------
# `Game.belief` follows a match turn by turn, as a player does.

ENDS_TRIED = 1_000
"""Joint moves tried to find out whether a turn without a particle ended the match."""


def _require_goes_on(
    machine: Machine,
    role: int,
    bag: Bags,
    move: str | None,
    percepts: Sequence[str] | None,
    turn: int,
    rng: np.random.Generator,
) -> None:
    """Check that a turn that leaves no particle did not end the match.

    Particles are non-terminal states. So none remain after the last turn of a match, although the
    history is possible.

    Args:
        bag: the bag before the turn.

    Raises:
        ConfigError: the match was over after the turn.
    """
    if bag.depleted[0]:
        return
    states = bag.states_of(0)
    states = states.take(rng.integers(len(states), size=ENDS_TRIED))
    move_id = UNKNOWN if move is None else machine.move_id(move)
    percept_id = UNKNOWN if percepts is None else machine.percept_id(percepts)
    columns = np.tile(np.array([[move_id], [percept_id], [UNKNOWN]]), len(states))
    options = open_moves(machine, role, states, Learnt(*columns))
    lanes = np.flatnonzero(options.counts > 0)
    joint, _ = options.random(lanes, rng)
    stepped = machine.step(states.take(lanes), joint)
    ended = machine.terminal(stepped.states)
    if percept_id != UNKNOWN:
        ended &= stepped.percepts[:, role] == percept_id
    if ended.any():
        raise ConfigError(
            f"the match is over after turn {turn} of this history, and a belief needs a match that "
            f"goes on; leave out this turn and later ones"
        )


def checked_history(
    machine: Machine, history: Sequence[tuple[str | None, Sequence[str] | None]]
) -> None:
    """Check a role's moves and percepts.

    Raises:
        ConfigError: the rules cannot make a term.
    """
    for move, percepts in history:
        if move is not None and machine.move_id(move) is None:
            raise ConfigError(f"{move} is not a move of this game: its rules do not know the term")
        if percepts is not None and machine.percept_id(percepts) is None:
            raise ConfigError(f"{' '.join(percepts)} are not percepts of this game")


# ------------------------------------------------------------------------
# A player in its role, as returned by `Game.player`.


class Seated:
    """A player in its role; it knows only what `observe` passes to it.

    One thread at a time may use it; players of one game may think in different threads.

    Attributes:
        role: the role that it plays.
        spec: the spec of the player.
    """

    def __init__(self, role: str, spec: str, player: Player, machine: Machine) -> None:
        self.role, self.spec = role, spec
        self._player, self._machine = player, machine
        self._is_ready = False

    def __repr__(self) -> str:
        return f"<{self.spec} as {self.role}>"

    def observe(self, move: str | None, percepts: Sequence[str] | None) -> None:
        """Pass on a turn: the move executed for its role, and the role's percepts."""
        self._player.observe(move, percepts)

    def choose(self, *, seconds: float | None = None, value_forced: bool = False) -> Decision:
        """Its next move, with the values of all candidates.

        Args:
            seconds: to think; None for the player's own counts.
            value_forced: think even about a forced move.
        """
        if seconds is None:
            return self._player.choose(value_forced=value_forced)
        if not self._is_ready:
            make_ready(self._machine)  # compiling takes none of the player's time
            self._is_ready = True
        return self._player.choose(Deadline.after(seconds), value_forced=value_forced)

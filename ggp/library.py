"""The library behind `import ggp`: strings at the edge, arrays inside.

A `Game` is a rulesheet with the machine that plays it. A `State` is one lane of that machine, a
`Belief` a bag of them with weights. Moves, percepts and fluents are canonical KIF in strings;
no id of a machine is visible.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from ggp.errors import ConfigError, IllegalMoveError
from ggp.gdl.domains import Domains
from ggp.gdl.games import find_game, list_games
from ggp.gdl.program import RANDOM, Program
from ggp.given import checked_clock, checked_seed, checked_text, rng_of
from ggp.library_belief import Belief, Following, followed
from ggp.machine import Limits, build_machine, role_index
from ggp.machine.abilities import InParts
from ggp.machine.base import Machine, States
from ggp.machine.games import load_program, read_program
from ggp.machine.spiel.games import SpielProgram, is_spiel
from ggp.pickled import Rules, found_again, read, rules_of, written
from ggp.players import Decision, Player, make_player, parse_spec
from ggp.search.anytime import Deadline

if TYPE_CHECKING:
    from match_runner.match.records import MatchRecord
    from match_runner.series.comparison import ComparisonSummary
    from match_runner.series.plan import PlannedMatch

__all__ = [
    "Belief",
    "Game",
    "Playout",
    "Seated",
    "State",
    "Step",
    "compare",
    "load",
    "play_match",
]

_V = TypeVar("_V")

DEFAULT_PARTICLES = 1000
DEFAULT_EXACT = 10_000


def load(name_or_path_or_text: str | os.PathLike[str], *, backend: str = "auto") -> Game:
    """A game, ready to be played.

    Args:
        name_or_path_or_text: name of a game that comes with ggp, path of a rulesheet, the rules
            themselves in KIF or infix syntax, or `openspiel:NAME` for a game of OpenSpiel.
        backend: `propnet`, `prolog`, or `auto`: the first of them that can be built.

    Raises:
        ConfigError: there is no such game, or it cannot be played here.
        GDLError: the rules cannot be used; its diagnostics say what is wrong, and where.
        MachineError: no machine can be built.
    """
    text = checked_text(name_or_path_or_text)
    if is_spiel(text):
        program = load_program(text)
        return Game(text, program, build_machine(program, backend))
    if os.path.exists(text) or text in list_games() or not set(text) & set("(\n"):
        program = load_program(str(find_game(text)))
        return Game(text, program, build_machine(program, backend))
    program = read_program(text, files=True)
    return Game(program.source.name, program, build_machine(program, backend))


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
        name: as given.
        program: the normalised rules, with warnings as `program.diagnostics`.
    """

    def __init__(self, name: str, program: Program, machine: Machine) -> None:
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
        """The backend that runs the rules: `propnet` or `prolog`."""
        return self._machine.backend

    def initial(self) -> State:
        """The initial state."""
        return State(self, self._machine, self._machine.initial(1))

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
                number.
        """
        machine = copy(self._machine)  # counts the states that only this call visits
        number = self._player_role(role)
        for move, percepts in history:
            _check_turn(machine, move, percepts)
        limits = Following(particles, exact, attempts, seconds)
        bag, quality = followed(machine, number, history, limits, rng_of(seed))
        return Belief(self, self._machine, bag.states_of(0), bag.weights_of(0), quality)

    def _state(self, machine: Machine, lane: States) -> State:
        return State(self, machine, lane)

    def has_rules_of(self, other: Game) -> bool:
        """Whether both are the same game, on any backend: then their states can be equal."""
        return self._machine is other._machine or self.program.digest == other.program.digest

    @cached_property
    def _domains(self) -> Domains | None:
        """The possible fluents; None if no rules give them."""
        return None if isinstance(self.program, SpielProgram) else Domains(self.program.rules)

    def _player_role(self, role: str) -> int:
        number = role_index(self._machine, role)
        if number == self._machine.random_role:
            raise ConfigError(f"{RANDOM} plays by chance; roles: {', '.join(self.roles)}")
        return number


class State:
    """A state of a game, an immutable value: playing makes a new one."""

    def __init__(self, game: Game, machine: Machine, lane: States) -> None:
        self._game, self._machine, self._lane = game, machine, lane

    def __repr__(self) -> str:
        return f"<State of {self._game.name}: {' '.join(self.fluents) or 'nothing holds'}>"

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
        if role == machine.random_role and isinstance(machine, InParts):
            return self._by_parts(machine, given, rng)
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

    def _by_parts(self, machine: InParts, given: str | None, rng: np.random.Generator) -> int:
        """A move of `random`, whose moves may be too many to list."""
        if given is None:
            return int(machine.draw_chance(self._lane, rng)[0])
        move = self._machine.move_id(given)
        if move is None or not machine.is_legal_chance(self._lane, np.array([move]))[0]:
            raise IllegalMoveError(RANDOM, given, [])
        return move


class Seated:
    """A player in its role; it knows only what it observes.

    It is for one thread at a time; several players of one game may run in several threads.

    Attributes:
        role: the role that it plays.
        spec: the player's spec.
    """

    def __init__(self, role: str, spec: str, player: Player) -> None:
        self.role, self.spec = role, spec
        self._player = player

    def __repr__(self) -> str:
        return f"<{self.spec} as {self.role}>"

    def observe(self, move: str | None, percepts: Sequence[str] | None) -> None:
        """Tell it about a turn: the move executed for its role, and the role's percepts."""
        self._player.observe(move, percepts)

    def choose(self, *, seconds: float | None = None, value_forced: bool = False) -> Decision:
        """Its next move, with the values of all candidates.

        Args:
            seconds: time to search; default: the player's own counts.
            value_forced: search even if there is only one move.
        """
        deadline = None
        if seconds is not None:
            deadline = Deadline(time.monotonic() + seconds, time.monotonic)
        return self._player.choose(deadline, value_forced=value_forced)


def _game_again(name: str, rules: Rules) -> Game:
    return Game(name, *found_again(rules))


def _state_again(game: Game, texts: list[tuple[str, ...]]) -> State:
    return State(game, game._machine, read(game._machine, texts))


def play_match(
    game: Game | str,
    players: Mapping[str, str],
    *,
    seed: int = 0,
    play_clock: float | None = None,
    in_process: bool = False,
    clock: str = "wall",
) -> MatchRecord:
    """Play one match and return its record.

    Args:
        game: a game, or an argument of `load`.
        players: spec or address by role; `auto` plays those that are not named.
        seed: reproduces the match, unless a clock has an influence.
        play_clock: seconds for each decision; default: the players' counts. With it, players that
            are not of this package run in processes of their own, where they can be stopped.
        in_process: run even those in this process, as for one that is defined in a notebook. If it
            never answers, neither does this call.
        clock: `wall`, or `cpu` for CPU time of local players.

    Raises:
        ConfigError: an unknown role, player, option or clock, or a wrong seed.
        MachineError: no machine can be built.
    """
    # The match runner depends on this package; it is available when this is called.
    from match_runner.match.conditions import Conditions
    from match_runner.match.referee import play_match as referee
    from match_runner.match.seats import build_machines, read_players, set_up
    from match_runner.series.match_task import order_of
    from match_runner.workers.idle import close_idle

    checked_seed(seed)
    opened = game if isinstance(game, Game) else load(game)
    specs = read_players(tuple(f"{role}={spec}" for role, spec in players.items()), opened.roles)
    kind = checked_clock(clock)
    conditions = Conditions(play_clock_s=play_clock, in_process=in_process, clock=kind)
    machines = build_machines(opened.program, opened.backend)
    apart = order_of(conditions, opened.program, machines, Limits())
    arena = set_up(opened.name, opened.program, specs, machines, kind.tells, apart=apart)
    try:
        return referee(arena, seed, conditions)
    finally:
        close_idle()


def compare(
    game: Game | str,
    players: Sequence[str],
    *,
    rounds: int = 10,
    seed: int = 0,
    play_clock: float | None = None,
    clock: str = "wall",
    minutes: float | None = None,
    advance: Callable[[], None] = lambda: None,
) -> ComparisonSummary:
    """Play matches between players, who take turns at the roles, in this process.

    Args:
        game: a game, or an argument of `load`.
        players: specs, at least two.
        rounds: in each of them every player plays every role once.
        seed: of all matches.
        play_clock: seconds for each decision; default: the players' counts.
        clock: of these seconds: `wall`, or `cpu` for CPU time.
        minutes: begin no other round after this time; the first is always played.
        advance: called after each match, of which there are at most `rounds * len(players)`.

    Raises:
        ConfigError: an unknown player, option or clock, too few players, or a wrong seed.
        MachineError: no machine can be built.
    """
    from match_runner.match.conditions import Conditions
    from match_runner.series.comparison import summarize
    from match_runner.series.holding import held_so_far
    from match_runner.series.plan import Series, SeriesGame, check_series
    from match_runner.series.runner import run_series
    from match_runner.series.store import open_store
    from match_runner.workers.places import open_executor

    checked_seed(seed)
    if len(set(players)) < max(2, len(players)):
        raise ConfigError("give at least two players, each of them once")
    opened = game if isinstance(game, Game) else load(game)
    conditions = Conditions(play_clock_s=play_clock, clock=checked_clock(clock))
    own = SeriesGame(opened.name, opened.program, rounds, conditions)
    names = {player: player for player in players}
    series = Series(names, (own,), seed=seed, backend=opened.backend)
    check_series(series)
    with open_executor(0, None) as executor, open_store(None, series) as store:
        run_series(series, store, executor, lambda match: advance(), _until(minutes))
        return summarize(held_so_far(series, store))


def _until(minutes: float | None) -> Callable[[PlannedMatch], bool]:
    """Whether a match may begin: those of a round that has begun may."""
    end = None if minutes is None else time.monotonic() + 60 * minutes
    begun = 0

    def may_begin(match: PlannedMatch) -> bool:
        nonlocal begun
        if match.round > begun and end is not None and time.monotonic() > end:
            return False
        begun = max(begun, match.round)
        return True

    return may_begin


def _check_turn(machine: Machine, move: str | None, percepts: Sequence[str] | None) -> None:
    if move is not None and machine.move_id(move) is None:
        raise ConfigError(f"{move} is no move of this game: its rules do not know the term")
    if percepts is not None and machine.percept_id(percepts) is None:
        raise ConfigError(f"{' '.join(percepts)} are no percepts of this game")

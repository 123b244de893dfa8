"""Small games solved exactly, and players measured against the solution.

The package `ggp.solve` does the work. `solve` and `exploit` offer it to the library, `solved` and
`exploited` to the commands; all return values that print themselves as reports.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from ggp.errors import SolvingError
from ggp.gdl.analysis.growth import with_growth
from ggp.given import checked_clock, checked_count, checked_seed
from ggp.library.games import Game, load
from ggp.machine.abilities import utilities_of
from ggp.machine.base import Machine
from ggp.machine.build import make_ready
from ggp.machine.definition import GameDefinition
from ggp.players import blamed, make_player, parse_spec
from ggp.report import Report, Table, rounded
from ggp.run.clocks import Clock
from ggp.search.anytime import Deadline

if TYPE_CHECKING:
    import numpy as np

    from ggp.players import Decision, Player, PlayerSpec
    from ggp.solve import (
        Chooser,
        Exploitation,
        GameTree,
        MakeChooser,
        OptimalPlay,
        Profile,
        Samples,
        Solution,
        TreeBounds,
    )

MAX_STATES, MAX_SOLVING_SECONDS = 1_000_000, 60.0
"""The limits of `ggp.solve`, copied since that is slow to import."""

ERROR, SAMPLES = 12.0, 400
"""Defaults for the precision with which players are measured, see `Precision`."""


class Choice(NamedTuple):
    """A possible move of a strategy.

    Attributes:
        role: the role that plays the strategy.
        history: the role's moves and percepts before this move, turn by turn.
        move: canonical KIF.
        probability: from 0 to 1.
    """

    role: str
    history: tuple[tuple[str, tuple[str, ...]], ...]
    move: str
    probability: float


def _choices(tree: GameTree, profile: Profile) -> Iterator[Choice]:
    """Yield the probabilities of all moves, by role and information set."""
    from ggp.solve import history_of

    for player, (role, sets) in enumerate(zip(tree.names, tree.sets, strict=True)):
        shares = profile.strategies[player].tolist()
        for set_id in range(len(sets)):
            turns = history_of(tree, player, set_id)
            history = tuple((move, tuple(percepts)) for move, percepts in turns)
            first = int(sets.offsets[set_id])
            for index, move in enumerate(sets.moves_of(set_id).tolist(), start=first):
                yield Choice(role, history, tree.machine.move_text(move), float(shares[index]))


def _strategy_values(tree: GameTree, profile: Profile) -> dict[str, list[dict[str, Any]]]:
    """The probabilities of moves after each history, in the form that `ggp evaluate` reads."""
    values: dict[str, list[dict[str, Any]]] = {name: [] for name in tree.names}
    for (role, history), choices in groupby(_choices(tree, profile), lambda choice: choice[:2]):
        turns = [{"move": move, "percepts": list(percepts)} for move, percepts in history]
        moves = {choice.move: choice.probability for choice in choices}
        values[role].append({"history": turns, "moves": moves})
    return values


@dataclass(frozen=True, eq=False)
class Solved:
    """A solved game.

        >>> import ggp
        >>> solved = ggp.solve("kuhn_poker")
        >>> round(solved.values["player1"], 3), solved.nash_conv < 1e-6
        (48.611, True)

    Attributes:
        game: its name.
        optimum: the values and methods of optimal play, see `ggp.solve.OptimalPlay`.
    """

    game: str
    optimum: OptimalPlay = field(repr=False)
    _machine: Machine = field(repr=False)
    _solve_tree: Callable[[], OptimalPlay] = field(repr=False)

    found = property(attrgetter("optimum"))  # the name in 0.2.0

    @property
    def values(self) -> Mapping[str, float]:
        """The value of optimal play for each role."""
        return self.optimum.values

    @property
    def nash_conv(self) -> float:
        """The sum over all roles of the gain from deviating alone; 0 in an equilibrium."""
        return self.optimum.nash_conv

    @property
    def method(self) -> str:
        """The method of solution."""
        return self.optimum.method

    @cached_property
    def solution(self) -> Solution:
        """The tree of the game and strategies for it, see `ggp.solve.Solution`.

        If the game was solved position by position, the tree is built and solved now.

        Raises:
            SolvingError: as for `solve`.
        """
        solution = self.optimum.solution or self._solve_tree().solution
        assert solution is not None  # strategies were asked for
        return solution

    def strategy(self) -> Iterator[Choice]:
        """Yield the probabilities of all moves, by role and information set.

        Raises:
            SolvingError: as for `solution`.
        """
        return _choices(self.solution.tree, self.solution.profile)

    def frame(self) -> Any:
        """The strategy as a `pandas.DataFrame` where pandas is installed, else as arrays by column.

        The column `history` is text: `noop (dealt queen) | bet`.
        """
        rows = [
            (c.role, " | ".join(" ".join((m, *seen)) for m, seen in c.history), *c[2:])
            for c in self.strategy()
        ]
        return Table(Choice._fields, rows).frame()

    def report(self, *, strategy: bool = False) -> Report:
        """The result, as `ggp solve` shows it.

        Args:
            strategy: whether to include the probabilities of all moves, if the tree was solved.
        """
        optimum, solution = self.optimum, self.optimum.solution
        values: dict[str, Any] = {
            "game": self.game,
            "method": optimum.method,
            **self._worth(optimum.values),
            "nash_conv": optimum.nash_conv,
            "states": optimum.num_states,
            "information_sets": optimum.information_sets,
            "seconds": round(optimum.seconds, 3),
        }
        if solution is not None and not solution.is_certain:
            values["gains"] = optimum.gains
            values["equilibria"] = [
                {
                    "method": profile.method,
                    **self._worth(profile.values),
                    "nash_conv": profile.nash_conv,
                    **({"strategy": _strategy_values(solution.tree, profile)} if strategy else {}),
                }
                for profile in solution.others
            ]
        if solution is not None and strategy:
            values["strategy"] = _strategy_values(solution.tree, solution.profile)
        return Report(rounded(values), self._parts(strategy))

    def _repr_html_(self) -> str:
        return self.report()._repr_html_()

    def _worth(self, values: Mapping[str, float]) -> dict[str, Mapping[str, float]]:
        """Goal values, and the utilities that they stand for, if any."""
        utilities = utilities_of(self._machine, values)
        return {"values": values} | ({"utilities": utilities} if utilities else {})

    def _parts(self, strategy: bool) -> Iterator[Table | str]:
        optimum, solution = self.optimum, self.optimum.solution
        is_certain = solution is None or solution.is_certain
        columns: dict[tuple[str, str], Mapping[str, float]] = {
            ("#value", ".6f"): optimum.values,
            ("#utility", ".6f"): self._worth(optimum.values).get("utilities", {}),
            ("#gains by deviating", ".6f"): {} if is_certain else optimum.gains,
            ("#information sets", ","): optimum.information_sets,
        }
        columns = {heading: column for heading, column in columns.items() if column}
        rows = [(name, *(values[name] for values in columns.values())) for name in optimum.values]
        yield Table(("role", *columns), rows)
        yield (
            f"{optimum.method}; NashConv {optimum.nash_conv:.2g}; {optimum.num_states:,} states in "
            f"{optimum.seconds:.2f} s"
        )
        if solution is None:
            return
        if not is_certain:
            yield (
                "This is one profile of the game, as good as its gains are small; other equilibria "
                "may have other values."
            )
        for rival in solution.others:
            text = ", ".join(f"{name} {value:.6f}" for name, value in rival.values.items())
            yield f"another equilibrium: {text} ({rival.method}; NashConv {rival.nash_conv:.2g})"
        if strategy:
            yield ""
            head = ("role", "after", "move", ("#probability", ".4f"))
            yield Table(head, [(c.role, _history_text(c.history), *c[2:]) for c in self.strategy()])


def _history_text(history: Iterable[tuple[str, Iterable[str]]]) -> str:
    """A history as text: `noop (dealt queen) | bet ()`."""
    turns = (f"{move} ({' '.join(percepts)})" for move, percepts in history)
    return " | ".join(turns) or "start of the game"


class Precision(NamedTuple):
    """The precision with which a player is measured.

    Attributes:
        error: ask until half the width of each interval is at most this, in goals.
        samples: maximum number of new players asked at each information set.
        answers: number of new players asked at each set, whatever the error; None to ask until it
            is small enough.
        progress: called with the number of players asked, and the current error.
    """

    error: float = ERROR
    samples: int = SAMPLES
    answers: int | None = None
    progress: Callable[[int, float], None] = lambda num_players, error: None


class Thinking(NamedTuple):
    """The time in which a measured player decides.

    Attributes:
        play_clock_s: seconds for each decision; None for the player's own counts.
        clock: the clock of these seconds.
    """

    play_clock_s: float | None = None
    clock: Clock = Clock.WALL


UNLIMITED = Thinking()
"""No play clock: the player's own counts."""


@dataclass(frozen=True, eq=False)
class Exploited:
    """The distance of a player from optimal play.

    Attributes:
        game: name of the game.
        player: spec of the player.
        exploitation: values and intervals by role, see `ggp.solve.Exploitation`.
        policies: sampled moves of the player in each role.
        precision: the precision that was aimed at.
        thinking: the time of its decisions.
    """

    game: str
    player: str
    exploitation: Exploitation = field(repr=False)
    policies: tuple[Samples, ...] = field(repr=False)
    precision: Precision = field(repr=False)
    thinking: Thinking = field(repr=False)

    @property
    def nash_conv(self) -> float:
        """The sum over all roles of the gain from deviating alone, if all play like the player."""
        return self.exploitation.nash_conv

    @property
    def num_players(self) -> Mapping[str, int]:
        """Number of new players whose moves were sampled, by role."""
        pairs = zip(self.exploitation.roles, self.policies, strict=True)
        return {role: int(samples.sizes.sum()) for role, samples in pairs}

    found = property(attrgetter("exploitation"))  # the names in 0.2.0
    asked = property(attrgetter("num_players"))

    def frame(self) -> Any:
        """A row for each role, as a `pandas.DataFrame` where pandas is installed, else as arrays.

        `low` and `high` are the 99 % interval of the value against a best response.
        """
        rows = [
            (role, outcome.value, outcome.best_response, *outcome.ci99, self.num_players[role])
            for role, outcome in self.exploitation.roles.items()
        ]
        return Table(("role", "value", "best_response", "low", "high", "asked"), rows).frame()

    def report(self) -> Report:
        """The result, as `ggp exploit` shows it."""
        values = {
            "player": self.player,
            "play_clock": self.thinking.play_clock_s,
            "clock": str(self.thinking.clock),
            "answers": self.precision.answers,
            "samples": self.precision.answers or self.precision.samples,
            "roles": {
                name: {
                    "value": outcome.value,
                    "best_response": outcome.best_response,
                    "ci99": outcome.ci99,
                    "asked": self.num_players[name],
                }
                for name, outcome in self.exploitation.roles.items()
            },
            "nash_conv": self.nash_conv,
            "error": self.exploitation.error,
            "error_asked": self.precision.error if self.precision.answers is None else None,
        }
        return Report(rounded(values), self._parts())

    def _repr_html_(self) -> str:
        return self.report()._repr_html_()

    def _parts(self) -> Iterator[Table | str]:
        rows = [
            (
                *(name, outcome.value, outcome.best_response),
                *(f"{outcome.ci99[0]:.4f} to {outcome.ci99[1]:.4f}", self.num_players[name]),
            )
            for name, outcome in self.exploitation.roles.items()
        ]
        head = (
            *("role", ("#against equilibrium", ".4f"), ("#against a best response", ".4f")),
            *("99 % interval", ("#asked", ",")),
        )
        yield Table(head, rows)
        bias = ", more likely too high than too low, since it is sampled"
        if all(policy.is_told for policy in self.policies):
            bias = "; the player states its policy"
        yield f"{self.player}: NashConv {self.nash_conv:.4f}{bias}"
        error = self.precision.error
        if self.exploitation.error > error and self.precision.answers is None:
            yield (f"an interval is wider than ±{error:g}: raise --samples")


def solve(
    game: Game | str,
    *,
    seed: int = 0,
    states: int = MAX_STATES,
    seconds: float = MAX_SOLVING_SECONDS,
    build_seconds: float = math.inf,
) -> Solved:
    """Solve a small game: the value of optimal play for each role, and a strategy that gets it.

    The method is that of `ggp solve`: position by position in constant-sum games of two players who
    know the state, else by the game tree.

    Args:
        game: a game, or any argument of `load`.
        seed: of the search for more than one equilibrium.
        states: refuse games with more positions, and trees with more states.
        seconds: approximate time for linear programs, and again for CFR+.
        build_seconds: maximum time to find the positions, or to build the tree.

    Raises:
        SolvingError: the game is too large, may not end, or players do not know their legal moves.
        ConfigError: a wrong seed.
    """
    from ggp.solve import TreeBounds

    opened = game if isinstance(game, Game) else load(game)
    bounds = TreeBounds(states, seconds=build_seconds)
    return solved(opened, bounds, seed=checked_seed(seed), seconds=seconds)


def solved(
    game: Game, bounds: TreeBounds, *, seed: int, seconds: float, strategies: bool = False
) -> Solved:
    """A solved game, see `solve`.

    Args:
        bounds: of the positions, and of the tree.
        strategies: whether to solve the tree, which gives strategies, even if positions suffice.
    """
    from ggp.solve import optimal_play

    solve_by = partial(optimal_play, game._machine, seed=seed, most_seconds=seconds, bounds=bounds)
    with explaining_growth(game.program):
        optimum = solve_by(strategies=strategies)
    return Solved(game.name, optimum, game._machine, partial(solve_by, strategies=True))


def exploit(
    game: Game | str,
    player: str,
    *,
    error: float = ERROR,
    samples: int = SAMPLES,
    answers: int | None = None,
    play_clock: float | None = None,
    clock: str = "wall",
    seed: int = 0,
    states: int = MAX_STATES,
    seconds: float = MAX_SOLVING_SECONDS,
    build_seconds: float = math.inf,
) -> Exploited:
    """Measure a player's distance from optimal play in a small game.

        >>> import ggp
        >>> exploited = ggp.exploit("kuhn_poker", "legal", samples=1)
        >>> exploited.nash_conv > 0
        True

    Args:
        game: a game, or any argument of `load`.
        player: its spec.
        error: ask until half the width of each interval is at most this.
        samples: maximum number of new players asked at each information set.
        answers: number of new players asked at each set, instead of `error` and `samples`.
        play_clock: seconds for each decision; None for the player's own counts.
        clock: `wall` for wall time, or `cpu` for CPU time.
        seed: of the players and the bootstrap.
        states, seconds, build_seconds: as for `solve`.

    Raises:
        SolvingError: as for `solve`.
        ConfigError: an unknown player, option or clock, no sample, or a wrong seed.
    """
    from ggp.solve import TreeBounds

    fixed = None if answers is None else checked_count(answers, "answers")
    precision = Precision(error, checked_count(samples, "samples"), fixed)
    opened = game if isinstance(game, Game) else load(game)
    bounds = TreeBounds(states, seconds=build_seconds)
    thinking = Thinking(play_clock, checked_clock(clock))
    seed = checked_seed(seed)
    return exploited(opened, player, bounds, precision, thinking, seed=seed, seconds=seconds)


def exploited(
    game: Game,
    player: str,
    bounds: TreeBounds,
    precision: Precision,
    thinking: Thinking,
    *,
    seed: int,
    seconds: float,
) -> Exploited:
    """A player's distance from optimal play, see `exploit`.

    Args:
        bounds: of the tree of the game.
    """
    from ggp.solve import build_tree, sample_until, solve_tree
    from ggp.solve import exploit as evaluate
    from ggp.solve.exploitation import FEWEST_SAMPLES

    spec = parse_spec(player)
    if thinking.play_clock_s is not None:
        make_ready(game._machine)
    with explaining_growth(game.program):
        tree = build_tree(game._machine, bounds)
    solution = solve_tree(tree, seed=seed, most_seconds=seconds)
    make, progress = chooser_of(game, spec, thinking), precision.progress
    most, fewest = precision.samples, FEWEST_SAMPLES
    if precision.answers is not None:
        most = fewest = precision.answers
    with blamed(spec):
        policies = sample_until(tree, make, precision.error, most, seed, progress, fewest)
    exploitation = evaluate(tree, solution.profile.strategies, policies, seed)
    return Exploited(game.name, player, exploitation, tuple(policies), precision, thinking)


def chooser_of(game: Game, spec: PlayerSpec, thinking: Thinking = UNLIMITED) -> MakeChooser:
    """A function that makes new players of a spec, on the machine of a game."""
    machine, program = game._machine, game.program

    def make(role: int, rng: np.random.Generator) -> Chooser:
        player = make_player(spec, machine, role, rng, program=program)
        return player if thinking.play_clock_s is None else _Clocked(player, thinking)

    return make


class _Clocked:
    """A player with a play clock, which runs from the last turn that it observes, as in a match."""

    def __init__(self, player: Player, thinking: Thinking) -> None:
        self._player, self._thinking = player, thinking
        self._due = self._deadline()

    @property
    def tells_policy(self) -> bool:
        """See `ggp.solve.exploitation.Chooser`."""
        return bool(getattr(self._player, "tells_policy", False))

    def observe(self, move: str | None, percepts: Sequence[str] | None) -> None:
        self._due = self._deadline()
        self._player.observe(move, percepts, deadline=self._due)

    def choose(self) -> Decision:
        return self._player.choose(self._due)

    def _deadline(self) -> Deadline:
        tells, seconds = self._thinking.clock.tells, self._thinking.play_clock_s
        assert seconds is not None
        return Deadline(tells() + seconds, tells)


@contextmanager
def explaining_growth(program: GameDefinition) -> Iterator[None]:
    """Add to the error about an unsolvable game the fluents that grow without bound."""
    try:
        yield
    except SolvingError as error:
        raise SolvingError(with_growth(str(error), program.as_program())) from error

"""Small games solved exactly, and players measured against that: what `ggp.solve` finds, for those
who `import ggp` and for the commands."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from ggp.errors import SolvingError
from ggp.gdl.analysis.growth import with_growth
from ggp.given import checked_count, checked_seed
from ggp.library.games import Game, load
from ggp.machine.abilities import utilities_of
from ggp.machine.base import Machine
from ggp.machine.definition import GameDefinition
from ggp.players import blamed, make_player, parse_spec
from ggp.report import Report, Table, rounded

if TYPE_CHECKING:
    from ggp.players import PlayerSpec
    from ggp.solve import (
        Exploitation,
        GameTree,
        MakeChooser,
        OptimalPlay,
        Profile,
        Samples,
        Solution,
        TreeBounds,
    )

MOST_STATES, MOST_SECONDS = 1_000_000, 60.0
"""The limits of `ggp.solve`, which is slow to import."""

ERROR, SAMPLES = 12.0, 400
"""How precisely players are measured, unless something else is said."""


class Choice(NamedTuple):
    """A move that a strategy may make.

    Attributes:
        role: whose strategy it is.
        history: moves and percepts of the role before it, turn by turn.
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
        for number in range(len(sets)):
            turns = history_of(tree, player, number)
            history = tuple((move, tuple(percepts)) for move, percepts in turns)
            first = int(sets.offsets[number])
            for place, move in enumerate(sets.moves_of(number).tolist(), start=first):
                yield Choice(role, history, tree.machine.move_text(move), float(shares[place]))


def _strategy_values(tree: GameTree, profile: Profile) -> dict[str, list[dict[str, Any]]]:
    """The probabilities of moves after each history, in the form `ggp evaluate` takes."""
    values: dict[str, list[dict[str, Any]]] = {name: [] for name in tree.names}
    for (role, history), choices in groupby(_choices(tree, profile), lambda choice: choice[:2]):
        turns = [{"move": move, "percepts": list(percepts)} for move, percepts in history]
        moves = {choice.move: choice.probability for choice in choices}
        values[role].append({"history": turns, "moves": moves})
    return values


@dataclass(frozen=True, eq=False)
class Solved:
    """A solved game.

    Attributes:
        game: its name.
        found: what optimal play is worth, see `ggp.solve.OptimalPlay`.
    """

    game: str
    found: OptimalPlay = field(repr=False)
    _machine: Machine = field(repr=False)
    _solve_tree: Callable[[], OptimalPlay] = field(repr=False)

    @property
    def values(self) -> Mapping[str, float]:
        """The worth of optimal play to each role."""
        return self.found.values

    @property
    def nash_conv(self) -> float:
        """The sum of what every role could gain by deviating alone; 0 in an equilibrium."""
        return self.found.nash_conv

    @property
    def method(self) -> str:
        """How it was found."""
        return self.found.method

    @cached_property
    def solution(self) -> Solution:
        """The tree of the game and strategies for it, see `ggp.solve.Solution`.

        Where the game was solved position by position, the tree is built and solved now.

        Raises:
            SolvingError: as for `solve`.
        """
        solution = self.found.solution or self._solve_tree().solution
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
            (role, " | ".join(" ".join((made, *seen)) for made, seen in history), move, share)
            for role, history, move, share in self.strategy()
        ]
        return Table(Choice._fields, rows).frame()

    def report(self, *, strategy: bool = False) -> Report:
        """The result, as `ggp solve` shows it.

        Args:
            strategy: whether it has the probabilities of all moves, where the tree was solved.
        """
        found, solution = self.found, self.found.solution
        values: dict[str, Any] = {
            "game": self.game,
            "method": found.method,
            **self._worth(found.values),
            "nash_conv": found.nash_conv,
            "states": found.num_states,
            "information_sets": found.information_sets,
            "seconds": round(found.seconds, 3),
        }
        if solution is not None and not solution.is_certain:
            values["gains"] = found.gains
            values["equilibria"] = [
                {
                    "method": each.method,
                    **self._worth(each.values),
                    "nash_conv": each.nash_conv,
                    **({"strategy": _strategy_values(solution.tree, each)} if strategy else {}),
                }
                for each in solution.others
            ]
        if solution is not None and strategy:
            values["strategy"] = _strategy_values(solution.tree, solution.profile)
        return Report(rounded(values), self._parts(strategy))

    def _repr_html_(self) -> str:
        return self.report()._repr_html_()

    def _worth(self, values: Mapping[str, float]) -> dict[str, Mapping[str, float]]:
        """Goal values, and the utilities behind them where they stand for something."""
        utilities = utilities_of(self._machine, values)
        return {"values": values} | ({"utilities": utilities} if utilities else {})

    def _parts(self, strategy: bool) -> Iterator[Table | str]:
        found, solution = self.found, self.found.solution
        is_certain = solution is None or solution.is_certain
        columns: dict[tuple[str, str], Mapping[str, float]] = {
            ("#value", ".6f"): found.values,
            ("#utility", ".6f"): self._worth(found.values).get("utilities", {}),
            ("#gains by deviating", ".6f"): {} if is_certain else found.gains,
            ("#information sets", ","): found.information_sets,
        }
        columns = {heading: column for heading, column in columns.items() if column}
        rows = [(name, *(each[name] for each in columns.values())) for name in found.values]
        yield Table(("role", *columns), rows)
        yield (
            f"{found.method}; NashConv {found.nash_conv:.2g}; {found.num_states:,} states in "
            f"{found.seconds:.2f} s"
        )
        if solution is None:
            return
        if not is_certain:
            yield (
                "This is one profile of the game, and no more than the gains say: other equilibria "
                "may have other values."
            )
        for each in solution.others:
            values = ", ".join(f"{name} {value:.6f}" for name, value in each.values.items())
            yield f"another equilibrium: {values} ({each.method}; NashConv {each.nash_conv:.2g})"
        if strategy:
            yield ""
            head = ("role", "after", "move", ("#probability", ".4f"))
            yield Table(head, [(c.role, _told(c.history), *c[2:]) for c in self.strategy()])


def _told(history: Iterable[tuple[str, Iterable[str]]]) -> str:
    """A history as text: `noop (dealt queen) | bet ()`."""
    turns = (f"{move} ({' '.join(percepts)})" for move, percepts in history)
    return " | ".join(turns) or "start of the game"


class Precision(NamedTuple):
    """How precisely a player is measured.

    Attributes:
        error: ask until half of the width of each interval is no more than this, in goals.
        samples: most new players asked at each information set.
        progress: called with the number of players asked, and the error that is left.
    """

    error: float = ERROR
    samples: int = SAMPLES
    progress: Callable[[int, float], None] = lambda asked, left: None


@dataclass(frozen=True, eq=False)
class Exploited:
    """How far a player is from optimal play.

    Attributes:
        game: its name.
        player: its spec.
        found: all that was found, see `ggp.solve.Exploitation`.
        policies: how the player plays each role, as far as it was asked.
        precision: how precisely it was to be measured.
    """

    game: str
    player: str
    found: Exploitation = field(repr=False)
    policies: tuple[Samples, ...] = field(repr=False)
    precision: Precision = field(repr=False)

    @property
    def nash_conv(self) -> float:
        """The sum of what all roles gain by deviating, each alone, if all play like the player."""
        return self.found.nash_conv

    @property
    def asked(self) -> Mapping[str, int]:
        """How many new players were asked, by role."""
        pairs = zip(self.found.roles, self.policies, strict=True)
        return {role: int(drawn.sizes.sum()) for role, drawn in pairs}

    def frame(self) -> Any:
        """A row for each role, as a `pandas.DataFrame` where pandas is installed, else as arrays.

        `low` and `high` are the 99 % interval of the value against a best response.
        """
        rows = [
            (role, each.value, each.best_response, *each.ci99, self.asked[role])
            for role, each in self.found.roles.items()
        ]
        return Table(("role", "value", "best_response", "low", "high", "asked"), rows).frame()

    def report(self) -> Report:
        """The result, as `ggp exploit` shows it."""
        values = {
            "player": self.player,
            "samples": self.precision.samples,
            "roles": {
                name: {
                    "value": each.value,
                    "best_response": each.best_response,
                    "ci99": each.ci99,
                    "asked": self.asked[name],
                }
                for name, each in self.found.roles.items()
            },
            "nash_conv": self.nash_conv,
            "error": self.found.error,
            "error_asked": self.precision.error,
        }
        return Report(rounded(values), self._parts())

    def _repr_html_(self) -> str:
        return self.report()._repr_html_()

    def _parts(self) -> Iterator[Table | str]:
        rows = [
            (
                *(name, each.value, each.best_response),
                *(f"{each.ci99[0]:.4f} to {each.ci99[1]:.4f}", self.asked[name]),
            )
            for name, each in self.found.roles.items()
        ]
        head = (
            *("role", ("#against equilibrium", ".4f"), ("#against a best response", ".4f")),
            *("99 % interval", ("#asked", ",")),
        )
        yield Table(head, rows)
        bias = ", too much rather than too little: it is sampled"
        if all(policy.is_told for policy in self.policies):
            bias = "; it tells its policy"
        yield f"{self.player}: NashConv {self.nash_conv:.4f}{bias}"
        error = self.precision.error
        if self.found.error > error:
            yield (
                f"an interval is wider than {error:g} to either side: ask more often with --samples"
            )


def solve(
    game: Game | str,
    *,
    seed: int = 0,
    states: int = MOST_STATES,
    seconds: float = MOST_SECONDS,
    build_seconds: float = math.inf,
) -> Solved:
    """Solve a small game: the worth of optimal play to each role, and how one plays so.

    It is solved as `ggp solve` does it: position by position where two players with constant sum
    know the state, else by its tree.

    Args:
        game: a game, or what `load` takes.
        seed: of the search for more than one equilibrium.
        states: refuse games with more positions, and trees with more states.
        seconds: about how long to solve linear programs, and as long again for CFR+.
        build_seconds: most seconds to find the positions, or to build the tree.

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
        strategies: whether its tree is solved, with a strategy for each player, and not positions.
    """
    from ggp.solve import optimal_play

    solve_by = partial(optimal_play, game._machine, seed=seed, most_seconds=seconds, bounds=bounds)
    with growth_told(game.program):
        found = solve_by(strategies=strategies)
    return Solved(game.name, found, game._machine, partial(solve_by, strategies=True))


def exploit(
    game: Game | str,
    player: str,
    *,
    error: float = ERROR,
    samples: int = SAMPLES,
    seed: int = 0,
    states: int = MOST_STATES,
    seconds: float = MOST_SECONDS,
    build_seconds: float = math.inf,
) -> Exploited:
    """How far a player is from optimal play in a small game.

    Args:
        game: a game, or what `load` takes.
        player: its spec.
        error: ask until half of the width of each interval is no more than this.
        samples: most new players asked at each information set.
        seed: of the players and the bootstrap.
        states, seconds, build_seconds: as for `solve`.

    Raises:
        SolvingError: as for `solve`.
        ConfigError: an unknown player or option, no sample, or a wrong seed.
    """
    from ggp.solve import TreeBounds

    precision = Precision(error, checked_count(samples, "samples"))
    opened = game if isinstance(game, Game) else load(game)
    bounds = TreeBounds(states, seconds=build_seconds)
    return exploited(opened, player, bounds, precision, seed=checked_seed(seed), seconds=seconds)


def exploited(
    game: Game, player: str, bounds: TreeBounds, precision: Precision, *, seed: int, seconds: float
) -> Exploited:
    """How far a player is from optimal play, see `exploit`.

    Args:
        bounds: of the tree of the game.
    """
    from ggp.solve import build_tree, sample_until, solve_tree
    from ggp.solve import exploit as evaluate

    spec = parse_spec(player)
    with growth_told(game.program):
        tree = build_tree(game._machine, bounds)
    solution = solve_tree(tree, seed=seed, most_seconds=seconds)
    with blamed(spec):
        policies = sample_until(
            tree, chooser_of(game, spec), precision.error, precision.samples, seed,
            precision.progress,
        )  # fmt: skip
    found = evaluate(tree, solution.profile.strategies, policies, seed)
    return Exploited(game.name, player, found, tuple(policies), precision)


def chooser_of(game: Game, spec: PlayerSpec) -> MakeChooser:
    """Makes new players of a spec, on the machine of a game."""
    machine, program = game._machine, game.program
    return lambda role, rng: make_player(spec, machine, role, rng, program=program)


@contextmanager
def growth_told(program: GameDefinition) -> Iterator[None]:
    """Says of a game that cannot be solved what grows in it."""
    try:
        yield
    except SolvingError as error:
        raise SolvingError(with_growth(str(error), program.as_program())) from error

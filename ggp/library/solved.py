"""Small games solved exactly, and players measured against that: what `ggp.solve` finds, for those
who `import ggp`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

from ggp.given import checked_count, checked_seed
from ggp.library.games import Game, load
from ggp.tables import frame_of, html_table

if TYPE_CHECKING:
    from ggp.solve import Exploitation, OptimalPlay, Solution

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


@dataclass(frozen=True, eq=False)
class Solved:
    """A solved game.

    Attributes:
        game: its name.
        found: what optimal play is worth, see `ggp.solve.OptimalPlay`.
    """

    game: str
    found: OptimalPlay = field(repr=False)
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

    def _repr_html_(self) -> str:
        found = self.found
        rows = [(r, f"{v:.4f}", f"{found.gains[r]:.4f}") for r, v in found.values.items()]
        told = f"{self.game}: {found.method}, {found.num_states:,} states"
        return html_table(("role", "#value", "#gains by deviating"), rows, told)

    def strategy(self) -> Iterator[Choice]:
        """Yield the probabilities of all moves, by role and information set.

        Raises:
            SolvingError: as for `solution`.
        """
        from ggp.solve import history_of

        tree, profile = self.solution.tree, self.solution.profile
        text = tree.machine.move_text
        for player, (role, sets) in enumerate(zip(tree.names, tree.sets, strict=True)):
            shares = profile.strategies[player].tolist()
            for number in range(len(sets)):
                told = history_of(tree, player, number)
                history = tuple((move, tuple(percepts)) for move, percepts in told)
                first = int(sets.offsets[number])
                for place, move in enumerate(sets.moves_of(number).tolist(), start=first):
                    yield Choice(role, history, text(move), float(shares[place]))

    def frame(self) -> Any:
        """The strategy as a `pandas.DataFrame` where pandas is installed, else as arrays by column.

        The column `history` is text: `noop (dealt queen) | bet`.
        """
        rows = [
            (role, " | ".join(" ".join((made, *seen)) for made, seen in history), move, share)
            for role, history, move, share in self.strategy()
        ]
        return frame_of(Choice._fields, rows)


@dataclass(frozen=True, eq=False)
class Exploited:
    """How far a player is from optimal play.

    Attributes:
        game: its name.
        player: its spec.
        found: all that was found, see `ggp.solve.Exploitation`.
        asked: how many new players were asked, by role.
    """

    game: str
    player: str
    found: Exploitation = field(repr=False)
    asked: Mapping[str, int]

    @property
    def nash_conv(self) -> float:
        """The sum of what all roles gain by deviating, each alone, if all play like the player."""
        return self.found.nash_conv

    def _repr_html_(self) -> str:
        rows = [
            (
                *(role, f"{each.value:.2f}", f"{each.best_response:.2f}"),
                *(f"{each.ci99[0]:.2f} to {each.ci99[1]:.2f}", f"{self.asked[role]:,}"),
            )
            for role, each in self.found.roles.items()
        ]
        columns = ("role", "#value", "#against a best response", "#99 % interval", "#asked")
        told = f"{self.player} in {self.game}: NashConv {self.nash_conv:.2f}"
        return html_table(columns, rows, told)

    def frame(self) -> Any:
        """A row for each role, as a `pandas.DataFrame` where pandas is installed, else as arrays.

        `low` and `high` are the 99 % interval of the value against a best response.
        """
        rows = [
            (role, each.value, each.best_response, *each.ci99, self.asked[role])
            for role, each in self.found.roles.items()
        ]
        return frame_of(("role", "value", "best_response", "low", "high", "asked"), rows)


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
    from ggp.solve import TreeBounds, optimal_play

    opened = game if isinstance(game, Game) else load(game)
    solve_by = partial(
        optimal_play,
        opened._machine,
        seed=checked_seed(seed),
        most_seconds=seconds,
        bounds=TreeBounds(states, seconds=build_seconds),
    )
    return Solved(opened.name, solve_by(), partial(solve_by, strategies=True))


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
    from ggp.players import make_player, parse_spec
    from ggp.solve import TreeBounds, build_tree, sample_until, solve_tree
    from ggp.solve import exploit as evaluate

    checked_seed(seed)
    checked_count(samples, "samples")
    spec = parse_spec(player)
    opened = game if isinstance(game, Game) else load(game)
    machine, program = opened._machine, opened.program
    tree = build_tree(machine, TreeBounds(states, seconds=build_seconds))
    solution = solve_tree(tree, seed=seed, most_seconds=seconds)
    policies = sample_until(
        tree,
        lambda role, rng: make_player(spec, machine, role, rng, program=program),
        error,
        samples,
        seed,
    )
    found = evaluate(tree, solution.profile.strategies, policies, seed)
    asked = {
        role: int(drawn.sizes.sum()) for role, drawn in zip(found.roles, policies, strict=True)
    }
    return Exploited(opened.name, player, found, asked)

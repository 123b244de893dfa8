"""Experiments of paper 004 that play duels, such as figures of scores over resource indices.

A `Figure` declares its duels, points and claims; its `run` plays the duels (`duels.play_duel`) and
makes a `Result` of them, which `report` writes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from ggp.labs.papers.reproduce.duels import Duel, PlayedDuel, backends_of, play_duel, size_of
from ggp.labs.papers.reproduce.results import (
    BY_LOT,
    Claim,
    Point,
    ReferenceLine,
    Result,
    RunSettings,
    StatesRow,
    Tell,
)
from match_runner.workers.executor import Executor

EXACT, SAMPLED = "exact small sets (default)", "sampled (exact=0)"
PROMPT = "equal values by promptness (ties=prompt)"


@dataclass(frozen=True, slots=True)
class DuelCurve:
    """One curve of a figure.

    Attributes:
        options: options of its players.
        suffix: suffix of its folders.
    """

    options: str
    suffix: str


CURVES: Mapping[str, DuelCurve] = {
    EXACT: DuelCurve(BY_LOT, ""),
    SAMPLED: DuelCurve(f",exact=0{BY_LOT}", "-sampled"),
    PROMPT: DuelCurve(",ties=prompt", "-prompt"),
}
"""Curves of each figure, by name. The paper breaks ties by lot, the last curve does not."""

STRONG = "hyperplay:n=8"
"""Spec of HyperPlay with 4,096 playouts a candidate."""

RANDOM_INDEX = "0"

EQUAL_METHOD = (
    "Each point is a comparison of its own, in which the players take turns at the roles; all have "
    "the same seeds. HyperPlay has the same options as HyperPlay-II and, for each decision, as "
    "many states to visit as HyperPlay-II visits on average in that role at that turn when it "
    "plays itself (`--equal-states`). The states actually visited differ where their matches do; "
    "the file of states lists them turn by turn. "
    f"Index 0 is random play against `{STRONG}`."
)

PlayedDuels = Mapping[str, PlayedDuel]
"""Played duels by folder."""

Measured = list[tuple[Point, PlayedDuel]]
"""Points, each with the duel that it comes from."""


@dataclass(frozen=True, slots=True)
class Figure:
    """An experiment of duels.

    Attributes:
        name: name by which the command knows it.
        title: one line.
        method: how it is made.
        duels: makes all duels, given the resource indices above 0.
        points: makes the points from the duels.
        claims: makes the claims, judged by duels and points.
        lines: levels for comparison.
        indices: resource indices above 0 of the ordinary run, if there are several.
        long_indices: further indices, which take hours.
    """

    name: str
    title: str
    method: str
    duels: Callable[[Sequence[int]], list[Duel]]
    points: Callable[[PlayedDuels, Sequence[int]], Measured]
    claims: Callable[[PlayedDuels, Sequence[Point]], list[Claim]]
    lines: tuple[ReferenceLine, ...]
    indices: tuple[int, ...] = ()
    long_indices: tuple[int, ...] = ()

    def size(self, settings: RunSettings) -> int:
        return sum(size_of(duel, settings) for duel in self.duels(self._indices(settings)))

    def run(self, settings: RunSettings, executor: Executor, tell: Tell) -> Result:
        indices = self._indices(settings)
        duels = {
            duel.folder: play_duel(duel, settings, executor, tell) for duel in self.duels(indices)
        }
        measured = self.points(duels, indices)
        points = tuple(point for point, _ in measured)
        return Result(
            self.name,
            self.title,
            self.method,
            "mean score",
            points,
            claims=tuple(self.claims(duels, points)),
            lines=self.lines,
            states=tuple(row for point, duel in measured for row in _states_of(point, duel)),
            failures=tuple(text for duel in duels.values() for text in duel.failures),
            backends=backends_of(duels.values()),
        )

    def _indices(self, settings: RunSettings) -> tuple[int, ...]:
        return self.indices + (self.long_indices if settings.long else ())


def folder_of(name: str, index: str, curve: str) -> str:
    """Folder of the duel of a point."""
    return f"{name}/n{index}{CURVES[curve].suffix}"


def point_of(
    series: str, at: str, duel: PlayedDuel, *, player: int = 0, separate: bool = False
) -> tuple[Point, PlayedDuel]:
    """Point with the mean score of a player of a duel, and the duel.

    Args:
        separate: whether each player played on its own, in a game of one role.
    """
    ours = duel.summary.players[player]
    point = Point(
        series,
        at,
        ours.score,
        len(duel.goals(player)),
        duel.rounds,
        ours.player,
        states=ours.effort.states,
    )
    if separate:
        return point, duel
    theirs = duel.summary.players[1 - player]
    return replace(point, opponent=theirs.player, opponent_states=theirs.effort.states), duel


def _states_of(point: Point, duel: PlayedDuel) -> list[StatesRow]:
    """States visited in a duel with equal states; empty for other duels."""
    return [
        StatesRow(
            point.series,
            point.at,
            row.role,
            row.turn + 1,
            row.budget,
            player=row.visited[0],
            opponent=row.visited[1],
            decisions=(row.decisions[0], row.decisions[1]),
        )
        for row in duel.summary.equal_states
    ]


def equal_duel(game: str, n: int, folder: str, options: str = BY_LOT) -> Duel:
    """A duel of HyperPlay-II against HyperPlay with as many states, at a resource index."""
    players = f"hyperplay2:n={n}{options}", f"hyperplay:n={n}{options}"
    return Duel(game, players, folder, equal_states=True)


def random_duel(name: str, game: str, opponent: str) -> Duel:
    """The duel of random play, which is at index 0 of all curves of a figure."""
    return Duel(game, ("random", f"{opponent}{BY_LOT}"), folder_of(name, RANDOM_INDEX, EXACT))


def equal_duels(name: str, game: str, indices: Sequence[int]) -> list[Duel]:
    """Duels against HyperPlay of random play, then of HyperPlay-II at each index."""
    return [
        random_duel(name, game, STRONG),
        *(
            equal_duel(game, n, folder_of(name, str(n), curve), CURVES[curve].options)
            for n in indices
            for curve in CURVES
        ),
    ]


def equal_points(name: str, duels: PlayedDuels, indices: Sequence[int]) -> Measured:
    """The points of `equal_duels`."""
    random = duels[folder_of(name, RANDOM_INDEX, EXACT)]
    return [
        point
        for curve in CURVES
        for point in (
            point_of(curve, RANDOM_INDEX, random),
            *(point_of(curve, str(n), duels[folder_of(name, str(n), curve)]) for n in indices),
        )
    ]


def last_point(points: Sequence[Point], series: str, at: int) -> Point:
    """Point at an index, or at the highest one below it that was played."""
    candidates = [p for p in points if p.series == series and p.at.isdigit() and int(p.at) <= at]
    return max(candidates, key=lambda p: int(p.at))


def share_text(count: int, of: int) -> str:
    """A count as `97 of 100`."""
    return f"{count} of {of}"

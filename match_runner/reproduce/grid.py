"""Grids: duels under a clock of many players in many games, and what came of those played so far.

Nobody plays a whole grid at once. So any part of it can be named, or the time be limited; what is
shown is all that was ever played in the folder, and how much of the grid that is.

Scores are compared by *shares*: 50 and half of what the first player got more than the second, a
round. Equal players have 50 in every game, and where one wins what the other loses, the share is
the mean score.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from ggp.clocks import Clock
from ggp.errors import ConfigError
from match_runner.reproduce.duels import (
    Duel,
    PlayedDuel,
    backends_of,
    play_duel,
    size_of,
    stored_duel,
)
from match_runner.reproduce.results import Chart, Claim, Panel, Point, Result, Settings, Table, Tell
from match_runner.series.intervals import GOALS, Interval, mean_interval, student_interval
from match_runner.series.outcomes import contests_of, rounds_of, scores_of, tally_of
from match_runner.workers.executor import Executor

EQUAL = 50.0
"""The share of equal players."""

JUDGED_ROUNDS = 10
"""Rounds from which on a share may be called significant, by Student's t."""

Cells = Mapping[Duel, PlayedDuel]
"""The duels of a grid of which something was played."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What a grid makes of its cells."""

    claims: tuple[Claim, ...]
    tables: tuple[Table, ...]
    panels: tuple[Panel, ...] = ()
    charts: tuple[Chart, ...] = ()


@dataclass(frozen=True, slots=True)
class Grid:
    """Many duels, of which any part may be played.

    Attributes:
        name: as the command knows it.
        title: one line.
        method: how it is made.
        duels: all of them, those of most interest first.
        show: what to say of those that were played.
        matches, quick_matches: of each duel, unless it is said how many; quick is with `--quick`.
        quickly: matches of a duel in a quick run, where these are not the same for all; 0 leaves
            it out.
    """

    name: str
    title: str
    method: str
    duels: Callable[[], Sequence[Duel]]
    show: Callable[[Cells], Shown]
    matches: int
    quick_matches: int
    quickly: Callable[[Duel], int] | None = None

    def size(self, settings: Settings) -> int:
        wanted = selected(self.duels(), settings.only)
        each = ((duel, self._settings_of(duel, settings)) for duel in wanted)
        return sum(size_of(duel, given) for duel, given in each if given.matches)

    def run(self, settings: Settings, executor: Executor, tell: Tell) -> Result:
        until_s = time.monotonic() + settings.seconds
        duels = self.duels()
        wanted = set(selected(duels, settings.only))
        cells: dict[Duel, PlayedDuel] = {}
        for duel in duels:
            given = self._settings_of(duel, settings)
            if duel in wanted and given.matches and time.monotonic() < until_s:
                cells[duel] = play_duel(duel, given, executor, tell)
            elif (stored := stored_duel(duel, settings)) is not None:
                cells[duel] = stored
        cells = {duel: cell for duel, cell in cells.items() if cell.matches or cell.failures}
        shown = self.show(cells)
        return Result(
            self.name,
            self.title,
            f"{self.method} {clock_sentence(settings.clock)} "
            f"{_played_text(cells, duels, settings)}",
            "share",
            points=tuple(_point(duel, cell, settings.seed) for duel, cell in cells.items()),
            claims=shown.claims,
            failures=tuple(text for cell in cells.values() for text in cell.failures),
            panels=shown.panels,
            tables=shown.tables,
            charts=shown.charts,
            paper="",
            clock=settings.clock,
            backends=backends_of(cells.values()),
        )

    def _settings_of(self, duel: Duel, settings: Settings) -> Settings:
        """With as many matches as this duel gets."""
        if not settings.quick or self.quickly is None:
            return settings
        return replace(settings, matches=self.quickly(duel))


def selected(duels: Sequence[Duel], only: Sequence[str]) -> list[Duel]:
    """The duels of the games, players and clocks named; of all where none is named.

    Of one player these are all of its duels, of several those among them.

    Raises:
        ConfigError: a name is that of no game, player or clock of the grid.
    """
    games = {duel.game: None for duel in duels}
    players = {player: None for duel in duels for player in duel.players}
    clocks = {_clock_name(duel): None for duel in duels}
    for name in only:
        if name not in games | players | clocks:
            raise ConfigError(
                f"the grid has nothing called {name!r}; games: {', '.join(games)}; players: "
                f"{', '.join(players)}; clocks: {', '.join(clocks)}"
            )
    named = set(only)

    def is_wanted(duel: Duel) -> bool:
        among = named.intersection(players)
        return (
            (duel.game in named or not named.intersection(games))
            and (_clock_name(duel) in named or not named.intersection(clocks))
            and len(among.intersection(duel.players)) >= min(len(among), 2)
        )

    return [duel for duel in duels if is_wanted(duel)]


def _clock_name(duel: Duel) -> str:
    """`0.3s`."""
    return f"{duel.play_clock_s or 0:g}s"


def shares_of(cell: PlayedDuel, player: int = 0) -> list[float]:
    """The share of a player of a duel in every whole round."""
    found = []
    for round_ in rounds_of(cell.matches):
        scores = scores_of(round_)
        whole = len(round_) == cell.held.series.matches_a_round
        if whole and len(scores) == 2 and not any(match.record.failed for match in round_):
            found.append(EQUAL + (scores[player] - scores[1 - player]) / 2)
    return found


def sign_of(shares: Sequence[float]) -> int | None:
    """1 or -1 where a share is significantly (99 %) above or below 50, else 0; None of too few."""
    if len(shares) < JUDGED_ROUNDS:
        return None
    interval = student_interval(shares)
    assert interval.low is not None
    assert interval.high is not None
    return int(interval.low > EQUAL) - int(interval.high < EQUAL)


def share_together(shares: Sequence[Sequence[float]]) -> Interval:
    """The mean over games of the mean share in each, with the interval of their sum.

    Args:
        shares: of each game, by round; games that were not played say nothing.
    """
    played = [each for each in shares if each]
    if not played:
        return Interval(None)
    mean = math.fsum(math.fsum(each) / len(each) for each in played) / len(played)
    halves = [student_interval(each) for each in played]
    if any(half.high is None for half in halves):
        return Interval(mean)
    # Half-widths of independent means add up like their errors.
    half = math.hypot(*((h.high or 0.0) - (h.value or 0.0) for h in halves)) / len(played)
    low, high = GOALS
    return Interval(mean, max(low, mean - half), min(high, mean + half))


def wins_of(cell: PlayedDuel, player: int = 0) -> Interval:
    """The share of contests that a player won, from 0 to 1."""
    return tally_of(contests_of(rounds_of(cell.matches), 2), player).win_share


def cell_text(shares: Sequence[float]) -> str:
    """`62.5`, with `+` or `-` where it is significantly above or below 50."""
    if not shares:
        return "."
    mark = {1: " +", -1: " -"}.get(sign_of(shares) or 0, "")
    return f"{math.fsum(shares) / len(shares):.1f}{mark}"


def clock_sentence(clock: Clock) -> str:
    """Which clock it was, for the report."""
    if clock is Clock.CPU:
        return "Seconds are CPU time of a player's process and its copies."
    return "Seconds are those of the clock on the wall."


def _point(duel: Duel, cell: PlayedDuel, seed: int) -> Point:
    own, other = duel.players
    shares = shares_of(cell)
    return Point(
        f"{own} against {other} at {_clock_name(duel)}",
        duel.game,
        mean_interval(shares, seed),
        len(cell.matches),
        len(shares),
        own,
        other,
    )


def _played_text(cells: Cells, duels: Sequence[Duel], settings: Settings) -> str:
    planned = sum(size_of(duel, replace(settings, only=())) for duel in duels)
    matches = sum(len(cell.matches) for cell in cells.values())
    return (
        f"Of the {len(duels)} duels of the grid, {len(cells)} were played; of the {planned} "
        f"matches, {matches}."
    )

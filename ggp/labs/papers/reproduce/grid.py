"""Grids: many duels of many players in many games, and the results so far.

A `DuelGrid` lists its duels, plays a part of them, and turns all that were played into claims,
tables and heat maps. A whole grid takes too long for one run. So a run may select duels, or limit
the time; results show everything that was ever played in the folder, and its share of the grid.
Several processes may work in one folder: each skips the duels that another plays.

Scores are compared by *shares*: in each round, 50 plus half of the first player's lead over the
second. Equal players have 50 in every game; in a zero-sum game the share is the mean score.
"""

from __future__ import annotations

import logging
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, TypeVar

from ggp.errors import ConfigError
from ggp.gdl.nearest import nearest
from ggp.labs.papers.reproduce.duels import (
    Duel,
    PlayedDuel,
    backends_of,
    play_duel,
    size_of,
    stored_duel,
)
from ggp.labs.papers.reproduce.results import (
    Chart,
    Claim,
    Panel,
    Point,
    Result,
    RunSettings,
    Tell,
)
from ggp.report import Table
from ggp.run.clocks import Clock
from ggp.run.whole_files import InUse
from ggp.statistics import Interval, mean_interval
from match_runner.series.outcomes import (
    ContestCounts,
    contests_by_round,
    rounds_of,
    tally_of,
    whole_rounds,
)
from match_runner.series.verdicts import DECIDED, SMALL, UNDECIDED, StoppingRule, differences_of
from match_runner.workers.executor import Executor

_log = logging.getLogger(__name__)

EQUAL = 50.0
"""Share of equal players."""

JUDGED_ROUNDS = 10
"""Fewest rounds for which a share may be significant."""

Cells = Mapping[Duel, PlayedDuel]
"""Duels of a grid with at least one match."""


@dataclass(frozen=True, slots=True)
class GridResults:
    """Results of a grid, made from its cells."""

    claims: tuple[Claim, ...]
    tables: tuple[Table, ...]
    panels: tuple[Panel, ...] = ()
    charts: tuple[Chart, ...] = ()


@dataclass(frozen=True, slots=True)
class DuelOrder:
    """An order in which a grid is played, by the results so far.

    Attributes:
        next_duel: chooses a duel and a number of games to add, among duels; None to stop.
        sheet: makes a table with a file of its own, which says where all duels stand.

    Both are told the duels with matches, and the folder of the run.
    """

    next_duel: Callable[[Cells, Iterable[Duel], Path], tuple[Duel, int] | None]
    sheet: Callable[[Cells, Path], Table]


@dataclass(frozen=True, slots=True)
class DuelGrid:
    """Many duels, of which any part may be played.

    Attributes:
        name: name by which the command knows it.
        title: one line.
        method: how it is made.
        duels: makes all duels, the most interesting ones first.
        show: makes the results of the duels that were played.
        matches, quick_matches: default number of matches of each duel, without and with `--quick`.
        quickly: number of matches of a duel in a quick run, if not the same for all; 0 skips it.
        games: most matches of a duel if the command names no number; None: `matches`.
        costs: lines with the cost of duels, each with its settings, if there is a forecast.
        short: a short name of a player; several players may share one.
        order: chooses what to play with a stopping rule; without it, every duel is played to its
            end, one after the other.
        clock: clock of the players, if the command names none.
    """

    name: str
    title: str
    method: str
    duels: Callable[[], Sequence[Duel]]
    show: Callable[[Cells], GridResults]
    matches: int
    quick_matches: int
    quickly: Callable[[Duel], int] | None = None
    games: Callable[[Duel], int | None] = lambda duel: None
    costs: Callable[[Sequence[tuple[Duel, RunSettings]], RunSettings, Executor], Iterable[str]] = (
        lambda duels, settings, executor: ()
    )
    short: Callable[[str], str] = str
    order: DuelOrder | None = None
    clock: Clock = Clock.WALL

    def size(self, settings: RunSettings) -> int:
        duels = selected(self.duels(), settings.only, self.short)
        pairs = ((duel, self._settings_of(duel, settings)) for duel in duels)
        return sum(size_of(duel, s) for duel, s in pairs if s.matches)

    def forecast(self, settings: RunSettings, executor: Executor) -> Iterable[str]:
        """Lines with the cost of the missing matches, measured as the lines are read."""
        duels = selected(self.duels(), settings.only, self.short)
        return self.costs(
            [(duel, self._settings_of(duel, settings)) for duel in duels], settings, executor
        )

    def run(self, settings: RunSettings, executor: Executor, tell: Tell) -> Result:
        until_s = time.monotonic() + settings.seconds
        duels = self.duels()
        cells: dict[Duel, PlayedDuel] = {}
        in_use: set[Duel] = set()
        for duel, duel_settings in self._steps(cells, settings):
            if time.monotonic() >= until_s:
                break
            earlier = cells.get(duel)
            num_told = 0 if earlier is None else len(earlier.matches)
            try:
                cells[duel] = play_duel(duel, duel_settings, executor, tell, num_told)
            except InUse as error:
                in_use.add(duel)
                _log.warning("left out: %s", error)
        for duel in duels:
            if duel not in cells:
                cells |= _stored(duel, self._settings_of(duel, settings))
        cells = {duel: cells[duel] for duel in duels if duel in cells}
        cells = {duel: cell for duel, cell in cells.items() if cell.matches or cell.failures}
        grid_results = self.show(cells)
        return Result(
            self.name,
            self.title,
            f"{self.method} {clock_sentence(settings.clock)} "
            f"{_played_text(cells, duels, settings)}{_in_use_text(len(in_use))}",
            "share",
            points=tuple(_point(duel, cell) for duel, cell in cells.items()),
            claims=grid_results.claims,
            failures=tuple(text for cell in cells.values() for text in cell.failures),
            panels=grid_results.panels,
            tables=grid_results.tables,
            charts=grid_results.charts,
            sheet=None if self.order is None else self.order.sheet(cells, settings.folder),
            paper="",
            clock=settings.clock,
            backends=backends_of(cells.values()),
        )

    def _steps(
        self, cells: dict[Duel, PlayedDuel], settings: RunSettings
    ) -> Iterator[tuple[Duel, RunSettings]]:
        """Yield duels to play, each with its settings.

        Args:
            cells: has the results of each step before the next one.
        """
        selection = set(selected(self.duels(), settings.only, self.short))
        waiting = {
            duel: of_duel
            for duel in self.duels()
            if duel in selection and (of_duel := self._settings_of(duel, settings)).matches
        }
        if self.order is None or settings.until is None:
            yield from waiting.items()
            return
        for duel, of_duel in waiting.items():
            cells |= _stored(duel, of_duel)
        while (choice := self.order.next_duel(cells, waiting, settings.folder)) is not None:
            duel, more = choice
            so_far = len(cells[duel].matches) if duel in cells else 0
            most = min(waiting[duel].matches, so_far + more)
            yield duel, replace(waiting[duel], matches=most)
            if duel not in cells or len(cells[duel].matches) <= so_far:
                del waiting[duel]  # another process plays it, or it has come to its end

    def _settings_of(self, duel: Duel, settings: RunSettings) -> RunSettings:
        """The settings with the number of matches of this duel."""
        if settings.quick:
            quickly = self.quickly
            return settings if quickly is None else replace(settings, matches=quickly(duel))
        games = self.games(duel) if settings.usual else None
        if games is None:
            return settings
        until = settings.until and replace(settings.until, most=games)
        return replace(settings, matches=games, until=until)


class Named(Protocol):
    """What `selected` reads of a duel, or of another cell of a grid."""

    @property
    def game(self) -> str: ...

    @property
    def players(self) -> tuple[str, ...]: ...

    @property
    def clock_name(self) -> str: ...


_Named = TypeVar("_Named", bound=Named)


def selected(
    duels: Sequence[_Named], only: Sequence[str], short: Callable[[str], str] = str
) -> list[_Named]:
    """Duels of the named games, players and clocks; without a name, all.

    One player selects all of its duels, several players those among them.

    Args:
        short: gives the short name of a player, which selects it like its spec.

    Raises:
        ConfigError: the grid has no game, player or clock of that name.
    """
    games = {duel.game: None for duel in duels}
    shorts = {short(player): None for duel in duels for player in duel.players}
    specs = {player for duel in duels for player in duel.players}
    clocks = {duel.clock_name: None for duel in duels}
    all_names = {*games, *shorts, *specs, *clocks}
    for name in only:
        if name not in all_names:
            similar = nearest(name, all_names)
            hint = "" if similar is None else f" (did you mean {similar!r}?)"
            raise ConfigError(
                f"the grid has nothing called {name!r}{hint}; games: {', '.join(games)}; "
                f"players: {', '.join(shorts)}; clocks: {', '.join(clocks)}"
            )
    named = set(only)
    named_players = named.intersection({*shorts, *specs})

    def is_selected(duel: _Named) -> bool:
        players = [player for player in duel.players if named_players & {player, short(player)}]
        return (
            (duel.game in named or not named.intersection(games))
            and (duel.clock_name in named or not named.intersection(clocks))
            and len(players) >= min(len(named_players), 2, len(duel.players))
        )

    return [duel for duel in duels if is_selected(duel)]


def _stored(duel: Duel, settings: RunSettings) -> dict[Duel, PlayedDuel]:
    """A duel that was played before; empty without matches."""
    stored = stored_duel(duel, settings)
    return {} if stored is None else {duel: stored}


def shares_of(cell: PlayedDuel, player: int = 0) -> list[float]:
    """Share of a player of a duel in every whole round."""
    whole = whole_rounds(rounds_of(cell.matches), cell.progress.series.matches_a_round)
    return [EQUAL + lead / 2 for lead in differences_of(whole, player, 1 - player)]


def interval_of(shares: Sequence[float]) -> Interval:
    """Mean share with its interval, which is valid however often rounds were added."""
    return mean_interval(shares, 0, fixed=False)


def sign_of(shares: Sequence[float]) -> int | None:
    """1 or -1 if the share is significantly (99 %) above or below 50, else 0; None with too few
    rounds."""
    if len(shares) < JUDGED_ROUNDS:
        return None
    interval = interval_of(shares)
    assert interval.low is not None
    assert interval.high is not None
    return int(interval.low > EQUAL) - int(interval.high < EQUAL)


def tally_of_cell(cell: PlayedDuel) -> ContestCounts:
    """Counts of the contests of the first player in a duel."""
    return tally_of(contests_by_round(rounds_of(cell.matches), 2), 0, 0, fixed=False)


def cell_text(shares: Sequence[float]) -> str:
    """A share as `62.5`, with `+` or `-` if it is significantly above or below 50."""
    if not shares:
        return "."
    mark = {1: " +", -1: " -"}.get(sign_of(shares) or 0, "")
    return f"{math.fsum(shares) / len(shares):.1f}{mark}"


def clock_sentence(clock: Clock) -> str:
    """Sentence for the report on the clock."""
    if clock is Clock.CPU:
        return "Seconds are CPU time of a player's process and its copies."
    return "Seconds are wall-clock time."


def _point(duel: Duel, cell: PlayedDuel) -> Point:
    first, second = duel.players
    shares = shares_of(cell)
    return Point(
        f"{first} against {second} at {duel.clock_name}",
        duel.game,
        interval_of(shares),
        len(cell.matches),
        len(shares),
        first,
        second,
    )


def _played_text(cells: Cells, duels: Sequence[Duel], settings: RunSettings) -> str:
    planned = sum(size_of(duel, replace(settings, only=())) for duel in duels)
    matches = sum(len(cell.matches) for cell in cells.values())
    limit = "" if settings.until is None else "at most "
    return (
        f"Of the {len(duels)} duels of the grid, {len(cells)} were played; of the {limit}{planned} "
        f"matches, {matches}, in which players thought for {_thinking_hours(cells):.2g} hours."
        f"{_ended_text(list(cells.values()), settings.until)}"
    )


def _in_use_text(count: int) -> str:
    """Sentence on duels that other processes were playing in the folder."""
    if not count:
        return ""
    return f" Duels left to other processes, which were playing them: {count}."


def _thinking_hours(cells: Cells) -> float:
    """Hours of all decisions; core-hours if the clock counts CPU time."""
    return (
        math.fsum(
            decision.seconds
            for cell in cells.values()
            for match in cell.matches
            for _, _, decision in match.decisions()
        )
        / 3600
    )


def _ended_text(cells: Sequence[PlayedDuel], until: StoppingRule | None) -> str:
    """Numbers of duels that the stopping rule ended, by reason, as text."""
    if until is None:
        return ""
    ended = Counter(c.progress.ending.outcome for c in cells if c.progress.ending is not None)
    return (
        f" Each went on until one player was better with 99 % confidence, which happened in "
        f"{ended[DECIDED]}, or the difference was surely smaller than {until.worth:g}, in "
        f"{ended[SMALL]}; {ended[UNDECIDED]} came to an end undecided, and {ended[None]} can go on."
    )

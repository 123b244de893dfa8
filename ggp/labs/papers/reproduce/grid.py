"""Grids: duels under a clock of many players in many games, and the results so far.

Nobody plays a whole grid at once. So any part of it can be named, or the time limited; the results
show everything that was ever played in the folder, and how much of the grid that is. Several
processes may share the folder: each leaves out what another is playing.

Scores are compared by *shares*: in each round, 50 plus half of the first player's lead over the
second. Equal players have 50 in every game, and if one wins what the other loses, the share is the
mean score.
"""

from __future__ import annotations

import logging
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

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
from match_runner.series.stopping import StoppingRule
from match_runner.series.verdicts import DECIDED, SMALL, UNDECIDED, differences_of
from match_runner.workers.executor import Executor

_log = logging.getLogger(__name__)

EQUAL = 50.0
"""Share of equal players."""

JUDGED_ROUNDS = 10
"""Least number of rounds for which a share may be called significant."""

Cells = Mapping[Duel, PlayedDuel]
"""Duels of a grid of which at least one match was played."""


@dataclass(frozen=True, slots=True)
class GridResults:
    """Results of a grid, made from its cells."""

    claims: tuple[Claim, ...]
    tables: tuple[Table, ...]
    panels: tuple[Panel, ...] = ()
    charts: tuple[Chart, ...] = ()


@dataclass(frozen=True, slots=True)
class DuelGrid:
    """Many duels, of which any part may be played.

    Attributes:
        name: name by which the command knows it.
        title: one line.
        method: how it is made.
        duels: makes all duels, those of most interest first.
        show: makes the results of those that were played.
        matches, quick_matches: default number of matches of each duel, without and with `--quick`.
        quickly: number of matches of a duel in a quick run, if that is not the same for all; 0
            leaves it out.
        games: most matches of a duel if the command names no number; None: `matches`.
        costs: lines that say what duels, each with its settings, will cost, if that can be told.
        short: another name by which a player can be named; the same for players who have it in
            common.
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

    def size(self, settings: RunSettings) -> int:
        wanted = selected(self.duels(), settings.only, self.short)
        each = ((duel, self._settings_of(duel, settings)) for duel in wanted)
        return sum(size_of(duel, given) for duel, given in each if given.matches)

    def forecast(self, settings: RunSettings, executor: Executor) -> Iterable[str]:
        """Lines that say what it will cost to play what is missing, measured as they are read."""
        wanted = selected(self.duels(), settings.only, self.short)
        return self.costs(
            [(duel, self._settings_of(duel, settings)) for duel in wanted], settings, executor
        )

    def run(self, settings: RunSettings, executor: Executor, tell: Tell) -> Result:
        until_s = time.monotonic() + settings.seconds
        duels = self.duels()
        wanted = set(selected(duels, settings.only, self.short))
        cells: dict[Duel, PlayedDuel] = {}
        left_to_others = 0
        for duel in duels:
            given = self._settings_of(duel, settings)
            if duel in wanted and given.matches and time.monotonic() < until_s:
                try:
                    cells[duel] = play_duel(duel, given, executor, tell)
                    continue
                except InUse as error:
                    left_to_others += 1
                    _log.warning("left out: %s", error)
            if (stored := stored_duel(duel, given)) is not None:
                cells[duel] = stored
        cells = {duel: cell for duel, cell in cells.items() if cell.matches or cell.failures}
        shown = self.show(cells)
        return Result(
            self.name,
            self.title,
            f"{self.method} {clock_sentence(settings.clock)} "
            f"{_played_text(cells, duels, settings)}{_left_text(left_to_others)}",
            "share",
            points=tuple(_point(duel, cell) for duel, cell in cells.items()),
            claims=shown.claims,
            failures=tuple(text for cell in cells.values() for text in cell.failures),
            panels=shown.panels,
            tables=shown.tables,
            charts=shown.charts,
            paper="",
            clock=settings.clock,
            backends=backends_of(cells.values()),
        )

    def _settings_of(self, duel: Duel, settings: RunSettings) -> RunSettings:
        """Settings with the number of matches that a duel gets."""
        if settings.quick:
            quickly = self.quickly
            return settings if quickly is None else replace(settings, matches=quickly(duel))
        games = self.games(duel) if settings.usual else None
        if games is None:
            return settings
        until = settings.until and replace(settings.until, most=games)
        return replace(settings, matches=games, until=until)


def selected(
    duels: Sequence[Duel], only: Sequence[str], short: Callable[[str], str] = str
) -> list[Duel]:
    """Duels of the games, players and clocks named; if none is named, of all.

    One player selects all of its duels, several players those among them.

    Args:
        short: the short name of a player, which names it as well as its spec.

    Raises:
        ConfigError: the grid has no game, player or clock of that name.
    """
    games = {duel.game: None for duel in duels}
    shorts = {short(player): None for duel in duels for player in duel.players}
    specs = {player for duel in duels for player in duel.players}
    clocks = {_clock_name(duel): None for duel in duels}
    known = {*games, *shorts, *specs, *clocks}
    for name in only:
        if name not in known:
            found = nearest(name, known)
            meant = "" if found is None else f" (did you mean {found!r}?)"
            raise ConfigError(
                f"the grid has nothing called {name!r}{meant}; games: {', '.join(games)}; "
                f"players: {', '.join(shorts)}; clocks: {', '.join(clocks)}"
            )
    named = set(only)
    among = named.intersection({*shorts, *specs})

    def is_wanted(duel: Duel) -> bool:
        met = [player for player in duel.players if among & {player, short(player)}]
        return (
            (duel.game in named or not named.intersection(games))
            and (_clock_name(duel) in named or not named.intersection(clocks))
            and len(met) >= min(len(among), 2)
        )

    return [duel for duel in duels if is_wanted(duel)]


def _clock_name(duel: Duel) -> str:
    """Name of a duel's clock, such as `0.3s`, or of the counts that decide instead."""
    if duel.play_clock_s is None:
        return duel.budget or "counts"
    return f"{duel.play_clock_s:g}s"


def shares_of(cell: PlayedDuel, player: int = 0) -> list[float]:
    """Share of a player of a duel in every whole round."""
    whole = whole_rounds(rounds_of(cell.matches), cell.held.series.matches_a_round)
    return [EQUAL + more / 2 for more in differences_of(whole, player, 1 - player)]


def interval_of(shares: Sequence[float]) -> Interval:
    """Mean share with its interval, which holds however many rounds were added at any time."""
    return mean_interval(shares, 0, fixed=False)


def sign_of(shares: Sequence[float]) -> int | None:
    """1 or -1 if the share is significantly (99 %) above or below 50, else 0; None if too few."""
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
    """Sentence for the report that says which clock was used."""
    if clock is Clock.CPU:
        return "Seconds are CPU time of a player's process and its copies."
    return "Seconds are those of the clock on the wall."


def _point(duel: Duel, cell: PlayedDuel) -> Point:
    own, other = duel.players
    shares = shares_of(cell)
    return Point(
        f"{own} against {other} at {_clock_name(duel)}",
        duel.game,
        interval_of(shares),
        len(cell.matches),
        len(shares),
        own,
        other,
    )


def _played_text(cells: Cells, duels: Sequence[Duel], settings: RunSettings) -> str:
    planned = sum(size_of(duel, replace(settings, only=())) for duel in duels)
    matches = sum(len(cell.matches) for cell in cells.values())
    most = "" if settings.until is None else "at most "
    return (
        f"Of the {len(duels)} duels of the grid, {len(cells)} were played; of the {most}{planned} "
        f"matches, {matches}, in which players thought for {_thought_hours(cells):.2g} hours."
        f"{_ended_text(list(cells.values()), settings.until)}"
    )


def _left_text(number: int) -> str:
    """Sentence on duels that other processes were playing in the same folder."""
    if not number:
        return ""
    return f" Duels left to other processes, which were playing them: {number}."


def _thought_hours(cells: Cells) -> float:
    """Hours that all decisions took; core-hours if the clock counts CPU time."""
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
    """Number of duels that ended by themselves, and why, as text."""
    if until is None:
        return ""
    ended = Counter(cell.held.ending.outcome for cell in cells if cell.held.ending is not None)
    return (
        f" Each went on until one player was better for certain (99 %), which happened in "
        f"{ended[DECIDED]}, or the difference was surely smaller than {until.worth:g}, in "
        f"{ended[SMALL]}; {ended[UNDECIDED]} came to an end undecided, and {ended[None]} can go on."
    )

"""Verdicts on the cells of papers 000 and 001, what an open one still costs, and what to play next.

Games of cells come in (`cells.DuelCell`). Out goes a `CellStanding` for each: its verdict, or how
many games and core-hours bring one. `next_duel` picks the cell whose verdict costs least. `read`
and `table` keep all standings in a CSV file of the run. So games that were played elsewhere count
too, and verdicts survive without the games.

Two questions are judged at 99 %: who is better, and by how much. Our interval of the lead is by
betting: it is valid however often games were added. The paper's follows from its rates and its
number of games. A lead below the paper's error counts as none there.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from ggp.errors import ConfigError
from ggp.labs.kriegspiel.experiment.cells import (
    BUDGETS,
    PAPERS,
    DuelCell,
    Published,
    cells,
    short,
)
from ggp.labs.papers.reproduce.duels import Duel, PlayedDuel
from ggp.labs.papers.reproduce.grid import EQUAL, Cells, shares_of, tally_of_cell
from ggp.machine.base import FloatArray
from ggp.report import Table
from ggp.run.whole_files import read_json, read_whole
from ggp.statistics import LEVEL, Interval, Sample, bounds_of, mean_interval
from match_runner.series.verdicts import DECIDED, DIFFERENCES

AGREES, PARTLY, DIFFERS, OPEN = (
    "agrees",
    "agrees in who is better, differs in how much",
    "differs",
    "forecast",
)

ROUND_LEADS: FloatArray = np.array([-100.0, -50.0, 0.0, 50.0, 100.0])
"""Leads of a round of two games, in percent."""

PRIOR_ROUNDS = 10
"""Rounds at the paper's rates that a forecast adds to ours: a few rounds alone say little."""

STEP = 1.1
"""Forecasts look at numbers of rounds that grow by this factor: they err by a tenth at most."""

MAX_ROUNDS = 100_000
"""Most rounds that a forecast names."""

FEWEST_AT_ONCE, MOST_AT_ONCE = 8, 32
"""Games of a cell before another one may take over: a quarter of the missing ones, within these."""


@dataclass(frozen=True, slots=True)
class CellStanding:
    """Where a cell stands. Percentages are of games; the lead is won less lost.

    Attributes:
        won, drawn, lost: games of the first player.
        lead: its lead with a 99 % interval.
        verdict: one of `AGREES`, `PARTLY`, `DIFFERS`, `DECIDED` and `OPEN`.
        more_games: about how many more games it takes to a verdict; 0 with one, None if there are
            more than `2 * MAX_ROUNDS`, or if there is nothing to go by.
        seconds: seconds that both players think in a game; None if unknown.
    """

    won: int
    drawn: int
    lost: int
    lead: Interval
    verdict: str
    more_games: int | None
    seconds: float | None

    @property
    def games(self) -> int:
        """Number of games."""
        return self.won + self.drawn + self.lost

    @property
    def core_hours(self) -> float | None:
        """Core-hours to a verdict."""
        if self.more_games is None or self.seconds is None:
            return None
        return self.more_games * self.seconds / 3600

    @property
    def text(self) -> str:
        """The verdict, or a forecast, in words."""
        if self.verdict != OPEN:
            return self.verdict
        games = "no number of" if self.more_games is None else f"{self.more_games:,} more"
        hours = "" if self.core_hours is None else f", {self.core_hours:,.1f} core-hours"
        return f"{OPEN}: {games} games{hours}"


def verdict_of(lead: Interval, paper: Published | None) -> str:
    """Verdict on a cell.

    Args:
        lead: of the first, in percent of games.
        paper: published numbers; without them a cell is `DECIDED` once it is clear who is better.
    """
    if lead.low is None or lead.high is None:
        return OPEN
    sign = int(lead.low > 0) - int(lead.high < 0)
    if paper is None:
        return DECIDED if sign else OPEN
    is_far = lead.low > paper.lead + paper.error or lead.high < paper.lead - paper.error
    theirs = int(paper.lead > paper.error) - int(paper.lead < -paper.error)
    if sign and sign == theirs:
        return PARTLY if is_far else AGREES
    if is_far or (sign and theirs):
        return DIFFERS
    is_small = max(-lead.low, lead.high) < paper.error
    return AGREES if sign or is_small else OPEN


def more_games(leads: Sequence[float], paper: Published | None) -> int | None:
    """About how many more games bring a verdict, if they go like those so far.

    `PRIOR_ROUNDS` rounds at the paper's rates are added to those so far. None if there are more
    than `2 * MAX_ROUNDS`, or nothing to go by.

    Args:
        leads: lead of the first in each round of two games, one of `ROUND_LEADS`.
    """
    counts = np.array([sum(lead == value for lead in leads) for value in ROUND_LEADS], np.float64)
    return _more_games(tuple(counts.tolist()), paper)


@cache
def _more_games(counts: tuple[float, ...], paper: Published | None) -> int | None:
    so_far = np.array(counts)
    rates = so_far if paper is None else so_far + PRIOR_ROUNDS * _rates(paper)
    if not rates.sum():
        return None
    num, rates = 0, rates / rates.sum()
    while num <= MAX_ROUNDS:
        if verdict_of(_interval(so_far + num * rates), paper) != OPEN:
            return 2 * num
        num = max(num + 1, math.ceil(num * STEP))
    return None


def _rates(paper: Published) -> FloatArray:
    """`[5]` probability of each of `ROUND_LEADS` at the paper's rates."""
    game = np.array([paper.lost, 100 - paper.won - paper.lost, paper.won]) / 100
    return np.convolve(game, game)


def _interval(counts: FloatArray) -> Interval:
    """The interval of `mean_interval` from how often each of `ROUND_LEADS` was."""
    if counts.sum() < 1:
        return Interval(None)
    low, high = DIFFERENCES
    is_there = counts > 0
    sample = Sample((ROUND_LEADS[is_there] - low) / (high - low), counts[is_there])
    lower, upper = (low + (high - low) * end for end in bounds_of(sample, 1 - LEVEL))
    return Interval(float(counts @ ROUND_LEADS / counts.sum()), lower, upper)


# ------------------------------------------------------------------------
# Standings of cells: by their games, or by those that were played elsewhere, whichever are more.

FILE = "kriegspiel-cells.csv"

_COLUMNS = (
    *("first", "second", "samples", "won", "drawn", "lost", "lead", "low", "high"),
    *("paper_won", "paper_lost", "paper_lead", "paper_error"),
    *("verdict", "more_games", "cpu_s_a_game", "core_hours"),
)

Key = tuple[str, str, str]
"""Short names of the players of a cell, and its budget."""


def key_of(plan: DuelCell) -> Key:
    """What names a cell in the file."""
    first, second = map(short, plan.players)
    return first, second, plan.budget


def standings(played: Cells, folder: Path | None = None) -> dict[DuelCell, CellStanding]:
    """Standings of all cells of the papers, in the order of `cells`.

    Args:
        played: the cells with games.
        folder: the run's, whose files say what was played elsewhere, and who was timed.

    Raises:
        ConfigError: the file is damaged.
    """
    elsewhere = {} if folder is None else read(folder / FILE)
    seconds = {**({} if folder is None else timed(folder)), **_seconds_by_player(played)}
    return {
        plan: _standing(plan, played.get(plan.duel), elsewhere.get(key_of(plan)), seconds)
        for plan in cells()
        if plan.paper is not None
    }


def _standing(
    plan: DuelCell,
    cell: PlayedDuel | None,
    elsewhere: CellStanding | None,
    seconds: Mapping[str, float],
) -> CellStanding:
    known = [seconds.get(player) for player in plan.players]
    both = math.fsum(s for s in known if s is not None) if None not in known else None
    num_played = 0 if cell is None else len(cell.matches)
    if elsewhere is not None and elsewhere.games and elsewhere.games >= num_played:
        return replace(elsewhere, seconds=elsewhere.seconds if both is None else both)
    if cell is None:
        return CellStanding(0, 0, 0, Interval(None), OPEN, more_games([], plan.paper), both)
    leads = [2 * (share - EQUAL) for share in shares_of(cell)]
    tally, lead = tally_of_cell(cell), mean_interval(leads, 0, DIFFERENCES, fixed=False)
    verdict = verdict_of(lead, plan.paper)
    more = more_games(leads, plan.paper) if verdict == OPEN else 0
    return CellStanding(tally.wins, tally.draws, tally.losses, lead, verdict, more, both)


def _seconds_by_player(played: Cells) -> dict[str, float]:
    """Mean seconds that each player thinks in a game, over all its cells."""
    seconds: dict[str, list[float]] = {}
    for duel, cell in played.items():
        for index, player in enumerate(duel.players):
            seconds.setdefault(player, []).extend(
                math.fsum(decision.seconds for _, decision in match)
                for match in cell.decisions(index)
            )
    return {player: float(np.mean(values)) for player, values in seconds.items() if values}


def unjudged(
    all_standings: Mapping[DuelCell, CellStanding],
) -> Iterator[tuple[DuelCell, CellStanding, bool]]:
    """Cells that are not judged with as many samples or more, each with its standing, and whether
    it is judged with fewer."""
    shares: dict[tuple[str, ...], int] = {}  # of the papers' samples, as 1 / share
    for plan, standing in all_standings.items():
        if standing.verdict != OPEN:
            name, share = key_of(plan)[:2], BUDGETS[plan.budget]
            shares[name] = min(share, shares.get(name, share))
    for plan, standing in all_standings.items():
        best = shares.get(key_of(plan)[:2])
        if standing.more_games != 0 and (best is None or BUDGETS[plan.budget] < best):
            yield plan, standing, best is not None


def next_duel(played: Cells, duels: Iterable[Duel], folder: Path) -> tuple[Duel, int] | None:
    """The cell to play next, with a number of games; None if no further game changes a verdict.

    First come the papers' cells without a verdict, then those whose verdict was found with fewer
    samples, the one that costs least first. Cells that need more games than the paper played are
    left out. Last come cells without published numbers, in order.

    Args:
        duels: those that may be played.
    """
    waiting = dict.fromkeys(duels)
    all_standings = standings(played, folder)
    costs = []
    for plan, standing, is_judged in unjudged(all_standings):
        if plan.duel not in waiting or plan.paper is None or standing.more_games is None:
            continue
        all_games = standing.games + standing.more_games
        if all_games > plan.paper.games:
            continue
        # Games that were played elsewhere are played again.
        cell = played.get(plan.duel)
        missing = all_games - (0 if cell is None else len(cell.matches))
        seconds = math.inf if standing.seconds is None else missing * standing.seconds
        costs.append(((is_judged, seconds), plan.duel, missing))
    if costs:
        _, duel, missing = min(costs, key=lambda cost: cost[0])
        return duel, min(max(missing // 4, FEWEST_AT_ONCE), MOST_AT_ONCE) // 2 * 2
    of_papers = {plan.duel for plan in all_standings}
    for plan in cells():
        cell = played.get(plan.duel)
        ending = None if cell is None else cell.progress.ending
        if plan.duel in of_papers or plan.duel not in waiting:
            continue
        if ending is None or ending.outcome is None:
            return plan.duel, plan.games or MOST_OF_OTHERS
    return None


MOST_OF_OTHERS = 100
"""Most games of a cell without published numbers, unless it says otherwise."""


def table(played: Cells, folder: Path) -> Table:
    """All standings for the file: of cells with games, and of those without a verdict anywhere.

    A forecast without games is for the papers' samples.
    """
    all_standings = standings(played, folder)
    begun = {key_of(plan)[:2] for plan, standing in all_standings.items() if standing.games}
    rows = [
        _row(plan, plan.paper, standing)
        for plan, standing in all_standings.items()
        if plan.paper is not None
        if standing.games or (plan.budget == PAPERS and key_of(plan)[:2] not in begun)
    ]
    return Table(_COLUMNS, rows)


def _row(plan: DuelCell, paper: Published, standing: CellStanding) -> tuple[object, ...]:
    lead = standing.lead
    return (
        *(*key_of(plan), standing.won, standing.drawn, standing.lost),
        *(lead.value, lead.low, lead.high, paper.won, paper.lost, paper.lead, paper.error),
        *(standing.verdict, standing.more_games or "", standing.seconds),
        "" if standing.verdict != OPEN else standing.core_hours,
    )


def read(path: Path) -> dict[Key, CellStanding]:
    """The standings in a file that `table` made; none if it is not there.

    Raises:
        ConfigError: it is damaged.
    """
    if not path.exists():
        return {}
    try:
        rows = csv.DictReader(read_whole(path).decode().splitlines())
        return {(r["first"], r["second"], r["samples"]): _of_row(r) for r in rows}
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{path} does not hold standings of cells: {error!r}") from error


def _of_row(row: Mapping[str, str]) -> CellStanding:
    value, low, high = (float(row[name]) if row[name] else None for name in _COLUMNS[6:9])
    more, seconds = row["more_games"], row["cpu_s_a_game"]
    won, drawn, lost = (int(row[name]) for name in _COLUMNS[3:6])
    return CellStanding(
        won,
        drawn,
        lost,
        Interval(value, low, high),
        row["verdict"],
        int(more) if more else None if row["verdict"] == OPEN else 0,
        float(seconds) if seconds else None,
    )


# ------------------------------------------------------------------------
# Seconds of players that were timed before they played, in a file of the run.

TIMED = "kriegspiel-seconds.json"


def timed(folder: Path) -> dict[str, float]:
    """Seconds a game of players that were timed, by spec."""
    path = folder / TIMED
    return dict(read_json(path)) if path.exists() else {}

"""Papers 000, 001 and 002: who beats whom in kriegspiel, and in small games with such an umpire.

`cells` says who plays whom, `charts` draws how games went.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

from ggp.labs.kriegspiel.experiment.cells import (
    BOARD,
    BUDGETS,
    GAMES,
    HUNDREDTH,
    LONG_S,
    SHORT_S,
    TWENTIETH,
    DuelCell,
    Published,
    cells,
    given,
    papers_cells,
    sampled,
    short,
)
from ggp.labs.kriegspiel.experiment.charts import charts
from ggp.labs.papers.reproduce.duels import Duel, PlayedDuel, program_of, series_of, stored_duel
from ggp.labs.papers.reproduce.figures import score_text
from ggp.labs.papers.reproduce.grid import (
    EQUAL,
    Cells,
    DuelGrid,
    GridResults,
    cell_text,
    interval_of,
    shares_of,
    sign_of,
    tally_of_cell,
)
from ggp.labs.papers.reproduce.results import FEWEST_ROUNDS, Claim, Panel, RunSettings
from ggp.report import Table
from ggp.run.clocks import Clock
from ggp.statistics import Interval, mean_interval
from match_runner.match.records import MatchRecord
from match_runner.series.match_task import MatchTask, play
from match_runner.series.outcomes import ContestCounts
from match_runner.series.verdicts import DECIDED, DIFFERENCES, judge
from match_runner.workers.executor import Executor

# ------------------------------------------------------------------------
# What the cells on the whole board will cost, told before they are played.
#
# A player is timed in the first turns of a game against random play: with few samples in many
# turns, since turns in the middle of a game cost more than those of the opening. With many samples
# that would take as long as some games; then it is timed in the opening only, and the rest of the
# game is taken to cost as many times as much as with few samples: the line says that it is
# extrapolated. Games differ much in length, so all this tells hours from days. Of cells that were
# begun, the games so far tell more. If the time for playing is limited, no player is timed after a
# tenth of it.

MEASURED_TURNS = 80
"""Turns of a game that are played to time a player."""

OPENING_TURNS = 24
"""Turns that are played to time a player with many samples."""

FIRST_TURNS = 6
"""Turns that do not count: machine code is read from the cache in them, and pools are small."""

TURNS = 220
"""Turns of a game, refused tries included: the mean of games of the papers' players."""

TIMED_SHARE = 0.1
"""Of the time for playing: no player is timed after that."""

FEW = 2
"""A player with this many times the samples of a twentieth of the papers' is timed as it is."""

LEAST_S = 1e-4
"""No turn is taken to cost less than this."""

SO_FAR, MEASURED, EXTRAPOLATED = "as so far", "measured", "extrapolated"


def costs(
    cells: Sequence[tuple[Duel, RunSettings]], settings: RunSettings, executor: Executor
) -> Iterator[str]:
    """Lines that say what each cell that is not finished will cost, and all of them.

    Args:
        cells: cells to play, each with its number of games.
    """
    turns = _Turns(settings, executor)
    timed_until_s = time.monotonic() + TIMED_SHARE * settings.seconds
    total_s, untimed = 0.0, 0
    for duel, own in cells:
        if not duel.budget or duel.equal_states:
            continue
        stored = stored_duel(duel, own)
        ending = None if stored is None else stored.held.ending
        left = own.matches - (0 if stored is None else len(stored.matches))
        if left <= 0 or (ending is not None and ending.outcome is not None):
            continue
        if stored is None and time.monotonic() >= timed_until_s:
            untimed += 1
            continue
        if stored is None:
            each = [turns.cost(player) for player in duel.players]
            seconds = TURNS * math.fsum(cost.seconds for cost in each)
            how = EXTRAPOLATED if any(cost.is_extrapolated for cost in each) else MEASURED
        else:
            seconds, how = _seconds_so_far(stored), SO_FAR
        total_s += left * seconds
        yield (
            f"{' against '.join(map(short, duel.players))}, {duel.budget}: {left} games at most, "
            f"about {seconds:,.0f} s each ({how}), {left * seconds / 3600:,.2f} core-hours"
        )
    if total_s:
        yield f"in all at most about {total_s / 3600:,.1f} core-hours"
    if untimed:
        yield f"not timed, since that would take too much of the time to play: {untimed} more"


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds of a turn of a player, and whether they are extrapolated."""

    seconds: float
    is_extrapolated: bool


class _Turns:
    """Seconds of a turn of players, each timed once."""

    def __init__(self, settings: RunSettings, executor: Executor) -> None:
        self._settings, self._executor = settings, executor
        self._timed: dict[tuple[str, int], list[float]] = {}

    def cost(self, player: str) -> Cost:
        """The mean cost of a turn, of its own or of the other."""
        name, depth = player.partition(":")[0], int(given(player).get("depth", 1))
        fewer = sampled(name, TWENTIETH, depth)
        if _samples_asked(player) <= FEW * _samples_asked(fewer):
            return Cost(_mean(self._seconds(player, MEASURED_TURNS)), is_extrapolated=False)
        game = self._seconds(fewer, MEASURED_TURNS)
        opening = _mean(game[: OPENING_TURNS - FIRST_TURNS])
        times = _mean(self._seconds(player, OPENING_TURNS)) / max(opening, LEAST_S)
        return Cost(times * _mean(game), is_extrapolated=True)

    def _seconds(self, player: str, turns: int) -> list[float]:
        if (player, turns) not in self._timed:
            found = _seconds_of_turns(player, turns, self._settings, self._executor)
            self._timed[player, turns] = found
        return self._timed[player, turns]


def _samples_asked(player: str) -> int:
    options = given(player)
    return int(options.get("histories", options.get("worlds", 1)))


def _mean(seconds: Sequence[float]) -> float:
    return math.fsum(seconds) / max(len(seconds), 1)


def _seconds_of_turns(
    player: str, turns: int, settings: RunSettings, executor: Executor
) -> list[float]:
    """What a player took in the first turns of a game, its own and those of the other."""
    duel = Duel(BOARD, (player, sampled("random", HUNDREDTH)), "")
    series = series_of(duel, replace(settings, matches=2, until=None))
    (game,) = series.games
    task = MatchTask(
        game=game.name,
        source=game.program.source.name,
        rules=program_of(duel.game).source.text,
        backend=settings.backend,
        limits=settings.limits,
        players=dict(zip(game.seats, duel.players, strict=True)),
        seed=settings.seed,
        conditions=replace(game.conditions, max_turns=turns, clock=Clock.CPU),
    )
    record: MatchRecord = executor.submit(play, (task,)).result()
    decisions = [turn.decisions.get(game.seats[0]) for turn in record.turns[FIRST_TURNS:]]
    return [0.0 if each is None else each.seconds for each in decisions]


def _seconds_so_far(cell: PlayedDuel) -> float:
    """Mean seconds that both players thought in a game."""
    return _mean(
        [
            math.fsum(decision.seconds for _, _, decision in match.decisions())
            for match in cell.matches
        ]
    )


def duels() -> list[Duel]:
    """All duels, those of the small games first."""
    return [cell.duel for cell in cells()]


def quickly(duel: Duel) -> int:
    """Number of matches of a duel in a quick run, 0 to leave it out.

    On the whole board it plays only one duel.
    """
    if duel.game != BOARD:
        return 2
    return 4 if duel == papers_cells(TWENTIETH)[0].duel else 0


def games(duel: Duel) -> int | None:
    """Most games of a duel, unless the command says otherwise."""
    return _games().get(duel)


@cache
def _games() -> dict[Duel, int | None]:
    return {cell.duel: cell.games for cell in cells()}


def show(played: Cells) -> GridResults:
    """Claims, a table of each game with the papers' numbers beside ours, panels and charts."""
    tables = (*(_papers_table(played, budget) for budget in BUDGETS), *_tables(played))
    return GridResults(
        tuple(_claims(played)),
        tuple(table for table in tables if table.rows),
        tuple(_panels(played)),
        charts(played),
    )


def verdict_of_cell(each: DuelCell, cell: PlayedDuel) -> CellVerdict:
    """Verdict on a cell by the games so far."""
    return verdict_of([2 * (share - EQUAL) for share in shares_of(cell)], each.paper)


def _papers_table(played: Cells, budget: str) -> Table:
    """The grid of the papers: our leads beside theirs, with verdicts."""
    rows = []
    for each in cells():
        cell = played.get(each.duel)
        if each.budget != budget or cell is None:
            continue
        tally, verdict = tally_of_cell(cell), verdict_of_cell(each, cell)
        paper = each.paper
        rows.append(
            (
                *map(short, each.players),
                _samples(each),
                str(_played(tally)),
                f"{tally.wins} - {tally.draws} - {tally.losses}",
                format(verdict.lead, ".0f"),
                "" if paper is None else f"{paper.won:g} - {paper.lost:g}",
                "" if paper is None else f"{paper.lead:+.3g} ± {paper.error:.0f}",
                verdict.text,
            )
        )
    share = BUDGETS[budget]
    samples = "the papers' samples" if share == 1 else f"1/{share} of the papers' samples"
    return Table(
        (
            *("first", "second", "#samples", "#games", "#won - drawn - lost", "#lead"),
            *("#papers, won - lost", "#their lead", "verdict"),
        ),
        rows,
        f"{BOARD}, {samples} a move: leads of the first, and the papers' (99 %)",
    )


def _samples(each: DuelCell) -> str:
    """Samples a move of both, such as `84, 18`."""
    found = []
    for options in map(given, each.players):
        found.append(options.get("histories", options.get("worlds", ".")))
    return ", ".join(found)


def _tables(played: Cells) -> Iterator[Table]:
    for game in GAMES:
        yield _table(game, played)


def _table(game: str, played: Cells) -> Table:
    rows = []
    for each in cells():
        if each.game != game or each.budget or each.duel not in played:
            continue
        cell = played[each.duel]
        tally = tally_of_cell(cell)
        shares = shares_of(cell)
        lead = _lead(tally)
        rows.append(
            (
                *each.players,
                "." if each.clock_s is None else f"{each.clock_s:g}",
                str(len(cell.matches)),
                f"{_percent(tally.wins, tally):.0f} - {_percent(tally.losses, tally):.0f}",
                "." if lead is None else f"{lead:+.0f}",
                cell_text(shares),
                format(interval_of(shares), ".1f"),
            )
        )
    return Table(
        (
            *("first", "second", "#s a move", "#matches", "#won - lost", "#lead"),
            *("#share", "#share [99 %]"),
        ),
        rows,
        f"{game}: percent won - lost by the first (+ and -: significant, 99 %)",
    )


def _panels(played: Cells) -> Iterator[Panel]:
    """A panel of shares for each small game at the shorter clock, and each budget of the board."""
    for game in GAMES:
        for budget in BUDGETS if game == BOARD else ("",):
            panel = _panel(game, budget, played)
            if panel is not None:
                yield panel


def _panel(game: str, budget: str, played: Cells) -> Panel | None:
    found = {
        each.players: share
        for each in cells()
        if each.game == game and each.budget == budget and each.duel in played
        if each.clock_s in (None, SHORT_S)
        if (share := interval_of(shares_of(played[each.duel])).value) is not None
    }
    if not found:
        return None
    firsts = sorted(dict.fromkeys(first for first, _ in found), key=short)[::-1]
    seconds = sorted(dict.fromkeys(second for _, second in found), key=short)
    title = f"{game}, {budget}" if budget else game
    return Panel(
        row=f"share in {title}",
        title=title,
        x="against",
        y="",
        xs=tuple(map(float, range(len(seconds)))),
        ys=tuple(map(float, range(len(firsts)))),
        values=tuple(tuple(found.get((f, s)) for s in seconds) for f in firsts),
        x_names=tuple(map(short, seconds)),
        y_names=tuple(map(short, firsts)),
    )


def _claims(played: Cells) -> Iterator[Claim]:
    for each in cells():
        cell = played.get(each.duel)
        if cell is not None:
            yield from _claims_of(each, cell)


def _claims_of(each: DuelCell, cell: PlayedDuel) -> Iterator[Claim]:
    text = f"{short(each.players[0])} against {short(each.players[1])} in {each.game}"
    shares = shares_of(cell)
    mean = interval_of(shares)
    if each.share is not None:
        enough = mean.value is not None and len(shares) >= FEWEST_ROUNDS
        yield Claim(
            text,
            f"a share of {each.share:g} or more",
            score_text(mean),
            (mean.value >= each.share) if enough and mean.value is not None else None,
        )
    if each.sign is not None:
        sign = sign_of(shares)
        yield Claim(
            text,
            f"above {EQUAL:g}, 99 %" if each.sign else f"{EQUAL:g} is in the interval",
            score_text(mean),
            None if sign is None else sign == each.sign,
        )


def _played(tally: ContestCounts) -> int:
    return tally.wins + tally.draws + tally.losses


def _percent(count: int, tally: ContestCounts) -> float:
    return 100 * count / max(_played(tally), 1)


def _lead(tally: ContestCounts) -> float | None:
    """Lead of the first player: percent of matches won less percent lost."""
    return 100 * (tally.wins - tally.losses) / _played(tally) if _played(tally) else None


KRIEGSPIEL = DuelGrid(
    "kriegspiel",
    "Kriegspiel: two decades of ideas",
    "Players of papers 000 and 001 play each other and ours. On the whole board they have so many "
    "histories or boards a move as the papers' had, a twentieth, or a hundredth; on five by five "
    f"and in small games with such an umpire {SHORT_S:g} s or {LONG_S:g} s, and a fifteenth of "
    "that after a refused try. They take turns at the roles. A share is 50 and half of what a "
    "player got more than the other: with 100 for a win and 50 for a draw, the mean score.",
    duels,
    show,
    matches=100,
    quick_matches=2,
    quickly=quickly,
    games=games,
    costs=costs,
    short=short,
)


# ------------------------------------------------------------------------
# Whether a cell agrees with the paper's, as far as its games tell.
#
# Two things are compared, both at 99 %: who wins more than it loses, and by how much. Our interval
# of the lead holds however many games were added at any time; that of the paper follows from its
# rates and its number of games. A difference that is smaller than the error in the paper is none
# there.

AGREES, PARTLY, DIFFERS, OPEN = (
    "agrees",
    "agrees in who is better, differs in how much",
    "differs",
    "open",
)


@dataclass(frozen=True, slots=True)
class CellVerdict:
    """What can be said of a cell.

    Attributes:
        lead: percent of games won by the first less percent lost, with its 99 % interval.
        verdict: one of `AGREES`, `PARTLY`, `DIFFERS`, `DECIDED` and `OPEN`.
        missing: about how many more games would tell who is better, if it is open and if they go
            like those so far; None if that is not known.
    """

    lead: Interval
    verdict: str
    missing: int | None = None

    @property
    def text(self) -> str:
        """The verdict in words."""
        if self.verdict != OPEN:
            return self.verdict
        games = "more games" if self.missing is None else f"about {self.missing:,} games"
        return f"{OPEN}: {games} missing"


def verdict_of(differences: Sequence[float], paper: Published | None) -> CellVerdict:
    """Verdict on a cell.

    Args:
        differences: how much more the first scored in each round of two games, in points.
        paper: what the paper says; without it a cell is `DECIDED` once it is clear who is better.
    """
    lead = mean_interval(differences, 0, DIFFERENCES, fixed=False)
    if lead.low is None or lead.high is None:
        return CellVerdict(lead, OPEN)
    sign = int(lead.low > 0) - int(lead.high < 0)
    if paper is None:
        found = DECIDED if sign else OPEN
    else:
        apart = lead.low > paper.lead + paper.error or lead.high < paper.lead - paper.error
        theirs = int(paper.lead > paper.error) - int(paper.lead < -paper.error)
        if sign and sign == theirs:
            found = PARTLY if apart else AGREES
        elif apart or (sign and theirs):
            found = DIFFERS
        else:
            small = max(-lead.low, lead.high) < paper.error
            found = AGREES if sign or small else OPEN
    missing = None
    if found == OPEN:
        judged = judge(("first", "second"), [{0: d, 1: 0.0} for d in differences], 0, fixed=False)
        more = None if judged is None else judged.more_rounds
        missing = None if more is None else 2 * more
    return CellVerdict(lead, found, missing)

"""Tables that show a tournament."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rich.console import RenderableType
from rich.text import Text

from ggp.console import table_of
from ggp.statistics.intervals import interval_text, methods_text
from match_runner.match.records import clock_text
from match_runner.match.views import plain
from match_runner.tournament.ratings import Rating
from match_runner.tournament.summary import TournamentSummary

MOST_PROBLEMS = 10
"""Most problems that are shown; `--json` has all."""


def show_tournament(summary: TournamentSummary) -> Iterator[RenderableType]:
    """Yield the tables of a tournament, which may be unfinished."""
    of_all = "" if summary.played == summary.planned else f" of {summary.planned}"
    yield Text(
        f"{summary.played}{of_all} matches, {summary.moves} turns, seed {summary.seed}",
        style="bold",
    )
    yield _standings(summary)
    yield Text()
    yield _contests(summary)
    yield Text()
    yield _by_game(summary)
    yield Text()
    yield from map(Text, methods_text(each.score for each in summary.standings))
    if summary.problems:
        yield Text(f"faults and errors ({len(summary.problems)}):", style="red")
    for problem in summary.problems[:MOST_PROBLEMS]:
        who = "" if problem.player is None else f", {problem.player}"
        yield plain(f"  {problem.game} {problem.number}{who}: {problem.text}")
    if len(summary.problems) > MOST_PROBLEMS:
        yield Text(f"  and {len(summary.problems) - MOST_PROBLEMS} more; see --json")


def faults_text(faults: Mapping[str, int]) -> str:
    """Counts of faults as `2 late, 1 illegal`, or `none`."""
    return ", ".join(f"{count} {kind}" for kind, count in sorted(faults.items())) or "none"


def rating_text(rating: Rating | None) -> str:
    """A rating as `27.3 [20.1, 34.5]`, or `-` for none."""
    if rating is None:
        return "-"
    return f"{rating.mean:.1f} [{rating.low:.1f}, {rating.high:.1f}]"


def _standings(summary: TournamentSummary) -> RenderableType:
    columns = ("player", "#rating [99 %]", "#mean score [99 %]", "#matches")
    rows = [
        (
            standing.player,
            rating_text(standing.rating),
            interval_text(standing.score),
            str(standing.matches),
        )
        for standing in summary.standings
    ]
    return table_of(columns, rows)


def _contests(summary: TournamentSummary) -> RenderableType:
    columns = ("player", "#won", "#drawn", "#lost", "#% won [99 %]", "faults", "plays")
    rows = [
        (
            standing.player,
            *map(str, (standing.tally.wins, standing.tally.draws, standing.tally.losses)),
            interval_text(standing.tally.win_share, ".1f", 100),
            faults_text(standing.faults),
            standing.plays,
        )
        for standing in summary.standings
    ]
    return table_of(columns, rows)


def _by_game(summary: TournamentSummary) -> RenderableType:
    columns = (
        "mean score in",
        *(f"#{standing.player}" for standing in summary.standings),
        *("on", "by"),
    )
    rows = [
        (
            each.game,
            *(interval_text(standing.by_game[each.game]) for standing in summary.standings),
            each.backend or "-",
            clock_text(each.play_clock, each.clock),
        )
        for each in summary.games
    ]
    return table_of(columns, rows)

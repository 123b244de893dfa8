"""Tables that show a comparison."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from ggp.console import table_of
from ggp.run.clocks import Clock
from ggp.statistics.intervals import interval_text
from match_runner.match.views import clock_notes, clock_text, plain, show_errors
from match_runner.series.comparison import ComparisonSummary, EqualStates
from match_runner.series.outcomes import Effort
from match_runner.series.stopping import ending_text
from match_runner.series.verdicts import SMALL, verdict_text

MOST_ROWS = 24
"""Most rows shown of the table of equal states; `--json` has all."""


def show_comparison(summary: ComparisonSummary) -> Iterator[RenderableType]:
    """Yield the tables of a comparison, which may be unfinished."""
    series, game = summary.series, summary.game
    roles = "roles rotate" if series.rotate else "fixed roles"
    of_all = "" if summary.played == summary.planned else f" of {summary.planned}"
    yield Text.assemble(
        plain(game.name, "bold"),
        f": {summary.played}{of_all} matches, {roles}, seed {series.seed}",
        f", on {summary.backend}" if summary.backend else "",
        f", {clock_text(game.conditions.play_clock_s, game.conditions.clock)}",
    )
    yield from clock_notes(game.conditions.clock, series.everybody(game))
    for name, spec in series.players.items():
        if name != spec:  # of another command, whose players have names of their own
            yield plain(f"{name} is {spec}")
    for role, spec in game.fixed.items():
        yield plain(f"{role} is always played by {spec}")
    yield Text()
    yield _players(summary)
    yield Text()
    if len(game.seats) > 1:
        yield _by_role(summary)
        yield Text()
    for pair in summary.differences:
        if pair.rounds:
            times = "the same seed" if pair.rounds == 1 else f"the same {pair.rounds} seeds"
            more = interval_text(pair.score, "+.2f")
            yield plain(f"{pair.player} scored {more} against {pair.other} on {times}")
    yield from _verdict(summary)
    if summary.equal_states:
        yield Text()
        yield Text("States visited a decision, by role and turn", style="bold")
        yield _equal_states(summary)
        if len(summary.equal_states) > MOST_ROWS:
            yield Text(f"and {len(summary.equal_states) - MOST_ROWS} more rows; see --json")
    yield from show_errors([(f"match {n}", e) for n, e in summary.faulty], summary.played)


def _verdict(summary: ComparisonSummary) -> Iterator[RenderableType]:
    """Yield lines that say how intervals are made, who is the best, and why the series ended."""
    yield from map(Text, summary.methods)
    if len(summary.players) > 2:
        yield Text("each of these holds by itself; who is the best is judged with all in mind")
    ending = summary.ending
    if summary.verdict is not None and (ending is None or ending.outcome != SMALL):
        yield plain(verdict_text(summary.verdict, summary.series.matches_a_round))
    if ending is not None and ending.outcome is not None:
        yield plain(ending_text(ending, summary.verdict, summary.played), "bold")


def _players(summary: ComparisonSummary) -> RenderableType:
    columns = (
        *("player", "#mean score [99 %]", "#won", "#drawn", "#lost", "#% won [99 %]"),
        *("#states a decision", _seconds(summary)),
    )
    rows = [
        (
            player.player,
            interval_text(player.score),
            *map(str, (player.tally.wins, player.tally.draws, player.tally.losses)),
            interval_text(player.tally.win_share, ".1f", 100),
            *_effort(player.effort),
        )
        for player in summary.players
    ]
    return table_of(columns, rows)


def _by_role(summary: ComparisonSummary) -> RenderableType:
    rows = [
        (role, player.player, interval_text(score), *_effort(effort))
        for role in summary.game.seats
        for player in summary.players
        if role in player.by_role
        for score, effort in [player.by_role[role]]
    ]
    columns = ("role", "player", "#mean score [99 %]", "#states a decision", _seconds(summary))
    return table_of(columns, rows)


def _seconds(summary: ComparisonSummary) -> str:
    return "#CPU seconds" if summary.game.conditions.clock is Clock.CPU else "#seconds"


def _effort(effort: Effort) -> tuple[str, str]:
    if effort.states is None or effort.seconds is None:
        return "-", "-"
    return f"{effort.states:,.0f}", f"{effort.seconds:.3f}"


def _equal_states(summary: ComparisonSummary) -> RenderableType:
    columns = ("role", "#turn", "#measured", *(f"#{name}" for name in summary.series.names))
    rows = [
        (row.role, str(row.turn + 1), f"{row.budget:,}", *_visited(row))
        for row in summary.equal_states[:MOST_ROWS]
    ]
    return table_of(columns, rows)


def _visited(row: EqualStates) -> Iterator[str]:
    for states in row.visited:
        yield "-" if states is None else f"{states:,.0f}"

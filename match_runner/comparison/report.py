"""A comparison as tables."""

from __future__ import annotations

from collections.abc import Iterator

from rich.box import SIMPLE
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from match_runner.comparison.intervals import Interval
from match_runner.comparison.summary import Effort, EqualStates, Summary
from match_runner.views import plain

MOST_ROWS = 24
"""Rows of the table of equal states that are shown; `--json` has all."""

MOST_FAULTY = 5
"""Matches with errors that are shown."""


def show_comparison(summary: Summary) -> Iterator[RenderableType]:
    """The tables of a comparison, of an unfinished one too."""
    options = summary.options
    roles = "roles rotate" if options.rotate else "fixed roles"
    of_all = "" if summary.played == options.matches else f" of {options.matches}"
    yield Text.assemble(
        plain(options.game, "bold"),
        f": {summary.played}{of_all} matches, {roles}, seed {options.seed}",
        f", on {summary.backend}" if summary.backend else "",
    )
    yield _players(summary)
    if len(options.seats) > 1:
        yield _by_role(summary)
    for pair in summary.differences:
        if pair.rounds:
            times = "the same seed" if pair.rounds == 1 else f"the same {pair.rounds} seeds"
            more = interval_text(pair.score, "+.2f")
            yield plain(f"{pair.player} scored {more} against {pair.other} on {times}")
    if summary.equal_states:
        yield Text()
        yield Text("States visited a decision, by role and turn", style="bold")
        yield _equal_states(summary)
        if len(summary.equal_states) > MOST_ROWS:
            yield Text(f"and {len(summary.equal_states) - MOST_ROWS} more rows; see --json")
    if summary.faulty:
        yield Text(f"{len(summary.faulty)} matches with errors:", style="red")
        for number, errors in summary.faulty[:MOST_FAULTY]:
            more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
            yield plain(f"  match {number}: {errors[0]}{more}")
        if len(summary.faulty) > MOST_FAULTY:
            yield Text(f"  and {len(summary.faulty) - MOST_FAULTY} more matches")


def interval_text(interval: Interval, layout: str = ".2f", scale: float = 1.0) -> str:
    """`62.50 [48.11, 75.32]`, as much of it as there is."""
    if interval.value is None:
        return "-"
    value = format(scale * interval.value, layout)
    if interval.low is None or interval.high is None:
        return value
    low, high = (format(scale * end, layout) for end in (interval.low, interval.high))
    return f"{value} [{low}, {high}]"


def _table(*columns: str) -> Table:
    """A table; columns whose name begins with `#` are set to the right."""
    table = Table(box=SIMPLE, pad_edge=False)
    for name in columns:
        table.add_column(
            Text(name.removeprefix("#")),
            justify="right" if name.startswith("#") else "left",
            overflow="fold",
        )
    return table


def _players(summary: Summary) -> Table:
    table = _table(
        *("player", "#mean score [99 %]", "#won", "#drawn", "#lost", "#% won [99 %]"),
        *("#states a decision", "#seconds"),
    )
    for player in summary.players:
        table.add_row(
            plain(player.player),
            interval_text(player.score),
            *(str(count) for count in (player.wins, player.draws, player.losses)),
            interval_text(player.win_share, ".1f", 100),
            *_effort(player.effort),
        )
    return table


def _by_role(summary: Summary) -> Table:
    table = _table("role", "player", "#mean score [99 %]", "#states a decision", "#seconds")
    for role in summary.options.seats:
        for player in summary.players:
            if role in player.by_role:
                score, effort = player.by_role[role]
                table.add_row(
                    plain(role), plain(player.player), interval_text(score), *_effort(effort)
                )
    return table


def _effort(effort: Effort) -> tuple[str, str]:
    if effort.states is None or effort.seconds is None:
        return "-", "-"
    return f"{effort.states:,.0f}", f"{effort.seconds:.3f}"


def _equal_states(summary: Summary) -> Table:
    table = _table("role", "#turn", "#measured", *(f"#{p}" for p in summary.options.players))
    for row in summary.equal_states[:MOST_ROWS]:
        table.add_row(plain(row.role), str(row.turn + 1), f"{row.budget:,}", *_visited(row))
    return table


def _visited(row: EqualStates) -> Iterator[str]:
    for states in row.visited:
        yield "-" if states is None else f"{states:,.0f}"

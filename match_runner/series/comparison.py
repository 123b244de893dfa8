"""Sums up the stored matches of a comparison: scores, wins, effort, differences, and a verdict.

A snapshot of a series of one game comes in; a `ComparisonSummary` goes out, as JSON or as the
tables that `match-runner compare` prints.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from ggp.players import Decision
from ggp.report import Report, Table
from ggp.run.clocks import Clock
from ggp.statistics import Interval, methods_text
from match_runner.match.records import clock_text
from match_runner.match.views import clock_notes, plain, show_errors
from match_runner.series.course import WithCourse
from match_runner.series.holding import Budgets, Snapshot
from match_runner.series.outcomes import (
    ContestCounts,
    Effort,
    Played,
    Round,
    Scores,
    contests_by_round,
    decisions_of,
    effort_of,
    rounds_of,
    scores_of,
    tally_of,
    whole_rounds,
)
from match_runner.series.plan import Series, SeriesGame, resampling_seed
from match_runner.series.verdicts import (
    SMALL,
    Ending,
    Verdict,
    differences_of,
    differences_within,
    ending_text,
    judge,
    verdict_text,
)


@dataclass(frozen=True, slots=True)
class PlayerSummary:
    """Results of one player.

    Attributes:
        score: mean goal value; rounds are the independent unit.
        tally: counts of its contests.
        effort: mean effort of its decisions.
        by_role: mean goal value and effort in each role that it played.
    """

    player: str
    score: Interval
    tally: ContestCounts
    effort: Effort
    by_role: Mapping[str, tuple[Interval, Effort]]


@dataclass(frozen=True, slots=True)
class Difference:
    """Difference between two players' scores in the same rounds, so with the same seeds."""

    player: str
    other: str
    score: Interval
    rounds: int


@dataclass(frozen=True, slots=True)
class EqualStates:
    """One role at one turn: the measured budget, and the states that every player visited.

    Attributes:
        turn: from 0.
        budget: states per decision, measured on the first player beforehand.
        visited: mean number of states per decision of each player, in the order of the series;
            None without decisions.
        decisions: number of decisions of each player.
    """

    role: str
    turn: int
    budget: int
    visited: tuple[float | None, ...]
    decisions: tuple[int, ...]


@dataclass(frozen=True, slots=True, repr=False)
class ComparisonSummary(WithCourse):
    """The report on a comparison, which is the series of one game.

    Attributes:
        planned, played: numbers of matches.
        players: in the order of the series.
        differences: one for each pair of players.
        verdict: who is the best, by whole rounds; None without whole rounds.
        ending: how the series ended, if it had a stopping rule.
        equal_states: by role, then turn; empty without `--equal-states`.
        faulty: number and errors of each match that had errors.
        snapshot: the matches.
    """

    series: Series
    planned: int
    played: int
    backend: str | None
    players: tuple[PlayerSummary, ...]
    differences: tuple[Difference, ...]
    verdict: Verdict | None
    ending: Ending | None
    equal_states: tuple[EqualStates, ...]
    faulty: tuple[tuple[int, tuple[str, ...]], ...]
    snapshot: Snapshot = field(compare=False)

    @property
    def game(self) -> SeriesGame:
        """The one game of the series."""
        return self.series.games[0]

    @property
    def methods(self) -> list[str]:
        """Lines that explain how the intervals were computed, and when they hold."""
        scores = [player.score for player in self.players]
        return methods_text([*scores, *(difference.score for difference in self.differences)])

    def to_json(self) -> dict[str, Any]:
        """The JSON that `match-runner compare --json` prints."""
        series, game = self.series, self.game
        return {
            "options": {
                "game": game.name,
                "digest": game.program.digest,
                "roles": game.roles,
                "players": series.names,
                "fixed": dict(game.fixed),
                "matches": self.planned,
                "rotate": series.rotate,
                "equal_states": series.equal_states,
                "play_clock": game.conditions.play_clock_s,
                "clock": game.conditions.clock,
                "seed": series.seed,
                "backend": series.backend,
                "version": series.version,
            },
            "played": self.played,
            "backend": self.backend,
            "players": [_player_json(player) for player in self.players],
            "differences": [asdict(difference) for difference in self.differences],
            "methods": self.methods,
            "verdict": self.verdict and self.verdict.to_json(),
            "until": self.ending and self.ending.to_json(),
            "equal_states": [asdict(row) for row in self.equal_states],
            "faulty": [{"match": n, "errors": list(errors)} for n, errors in self.faulty],
        }

    def report(self) -> Report:
        """The comparison, as `match-runner compare` shows it."""
        return Report(self.to_json(), _parts(self))


def summarize(snapshot: Snapshot) -> ComparisonSummary:
    """Sum up the matches so far.

    Unfinished rounds count in means, but not in differences, and in games of one role not as
    contests.
    """
    series, matches = snapshot.series, snapshot.matches
    (game,) = series.games
    rounds = rounds_of(matches)
    numbers = range(len(series.players))
    whole = whole_rounds(rounds, series.matches_a_round)
    budgets = snapshot.budgets.get(game.name)
    several = len(numbers) > 1
    return ComparisonSummary(
        series=series,
        planned=snapshot.planned,
        played=len(matches),
        backend=matches[0].record.backend if matches else None,
        players=tuple(_player(snapshot, n, rounds) for n in numbers),
        differences=tuple(_difference(snapshot, *two, whole) for two in combinations(numbers, 2)),
        verdict=judge(
            series.names, whole, resampling_seed(series), fixed=snapshot.fixed, span=series.span
        )
        if several
        else None,
        ending=snapshot.ending,
        equal_states=tuple(_equal_states(series, matches, budgets)) if budgets else (),
        faulty=tuple((m.planned.number, m.record.errors) for m in matches if m.record.errors),
        snapshot=snapshot,
    )


def _player_json(player: PlayerSummary) -> dict[str, Any]:
    return {
        "player": player.player,
        "score": asdict(player.score),
        **asdict(player.tally),
        "effort": asdict(player.effort),
        "by_role": {
            role: {"score": asdict(score), "effort": asdict(effort)}
            for role, (score, effort) in player.by_role.items()
        },
    }


def _player(snapshot: Snapshot, player: int, rounds: Sequence[Round]) -> PlayerSummary:
    series, matches = snapshot.series, snapshot.matches
    by_role = {}
    for role in series.games[0].seats:
        seated = [match for match in matches if match.planned.seating[role] == player]
        if seated:
            goals = [match.scored[role] for match in seated if match.scored]
            effort = effort_of(decisions_of(seated, player, role))
            by_role[role] = snapshot.mean(goals, series.goal_bounds), effort
    scores = [s[player] for s in map(scores_of, rounds) if player in s]
    contests = contests_by_round(rounds, len(series.players))
    return PlayerSummary(
        player=series.names[player],
        score=snapshot.mean(scores, series.goal_bounds),
        tally=tally_of(contests, player, resampling_seed(series), fixed=snapshot.fixed),
        effort=effort_of(decisions_of(matches, player)),
        by_role=by_role,
    )


def _difference(snapshot: Snapshot, first: int, rival: int, rounds: Sequence[Scores]) -> Difference:
    series = snapshot.series
    differences = differences_of(rounds, first, rival)
    score = snapshot.mean(differences, differences_within(series.span))
    return Difference(series.names[first], series.names[rival], score, len(differences))


def _equal_states(series: Series, matches: Sequence[Played], budgets: Budgets) -> list[EqualStates]:
    decisions_at: dict[tuple[str, int, int], list[tuple[int, str, Decision]]] = defaultdict(list)
    players = range(len(series.players))
    for number in players:
        for row in decisions_of(matches, number):
            decisions_at[row[1], row[0], number].append(row)
    rows = []
    for role in series.games[0].seats:
        last = max((turn for name, turn, _ in decisions_at if name == role), default=-1)
        for turn in range(last + 1):
            efforts = [effort_of(decisions_at[role, turn, number]) for number in players]
            if any(effort.decisions for effort in efforts):
                budget = budgets[role][min(turn, len(budgets[role]) - 1)]
                visited = tuple(effort.states for effort in efforts)
                decisions = tuple(effort.decisions for effort in efforts)
                rows.append(EqualStates(role, turn, budget, visited, decisions))
    return rows


# ------------------------------------------------------------------------
# Tables that show a comparison.

MAX_ROWS = 24
"""Most rows of the table of equal states that we show; `--json` has all."""


def _parts(summary: ComparisonSummary) -> Iterator[RenderableType]:
    """Yield the tables of a comparison, which may be unfinished."""
    series, game = summary.series, summary.game
    roles = "roles rotate" if series.rotate else "fixed roles"
    of_planned = "" if summary.played == summary.planned else f" of {summary.planned}"
    yield Text.assemble(
        plain(series.title(game.name), "bold"),
        f": {summary.played}{of_planned} matches, {roles}, seed {series.seed}",
        f", on {summary.backend}" if summary.backend else "",
        f", {clock_text(game.conditions.play_clock_s, game.conditions.clock)}",
    )
    yield from clock_notes(game.conditions.clock, series.everybody(game))
    for name, spec in series.players.items():
        if name != spec:  # a series of another command, which names its players
            yield plain(f"{name} is {spec}")
    for role, spec in game.fixed.items():
        yield plain(f"{role} is always played by {spec}")
    yield ""
    seconds = "#CPU seconds" if game.conditions.clock is Clock.CPU else "#seconds"
    columns = (("#states/decision", ",.0f"), (seconds, ".3f"))
    results = ("#mean score [99 %]", "#won", "#drawn", "#lost", ("#% won [99 %]", ".1f"))
    yield Table(
        ("player", *results, *columns),
        [
            (
                *(row.player, row.score, row.tally.wins, row.tally.draws, row.tally.losses),
                *(row.tally.win_share.percent, row.effort.states, row.effort.seconds),
            )
            for row in summary.players
        ],
    )
    yield ""
    if len(game.seats) > 1:
        rows = [
            (role, row.player, score, effort.states, effort.seconds)
            for role in game.seats
            for row in summary.players
            if role in row.by_role
            for score, effort in [row.by_role[role]]
        ]
        yield Table(("role", "player", "#mean score [99 %]", *columns), rows)
        yield ""
    for pair in summary.differences:
        if pair.rounds:
            times = "the same seed" if pair.rounds == 1 else f"the same {pair.rounds} seeds"
            yield plain(f"{pair.player} scored {pair.score:+.2f} against {pair.other} on {times}")
    yield from _verdict(summary)
    if summary.equal_states:
        yield ""
        yield Text("States visited a decision, by role and turn", style="bold")
        head = ("role", "#turn", ("#measured", ","), *((f"#{n}", ",.0f") for n in series.names))
        states = summary.equal_states[:MAX_ROWS]
        yield Table(head, [(row.role, row.turn + 1, row.budget, *row.visited) for row in states])
        if len(summary.equal_states) > MAX_ROWS:
            yield f"and {len(summary.equal_states) - MAX_ROWS} more rows; see --json"
    yield from show_errors([(f"match {n}", e) for n, e in summary.faulty], summary.played)


def _verdict(summary: ComparisonSummary) -> Iterator[RenderableType]:
    """Yield lines that explain the intervals, and say who is best and why the series ended."""
    yield from summary.methods
    if len(summary.players) > 2:
        yield "each interval holds on its own; the verdict allows for comparing several players"
    ending = summary.ending
    if summary.verdict is not None and (ending is None or ending.outcome != SMALL):
        yield plain(verdict_text(summary.verdict, summary.series.matches_a_round))
    if ending is not None and ending.outcome is not None:
        yield plain(ending_text(ending, summary.verdict, summary.played), "bold")

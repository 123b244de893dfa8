"""The command `match-runner play`: plays matches of one game, perhaps with people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import click
from rich.console import RenderableType
from rich.text import Text

from ggp.cli.arguments import (
    SHARED_THREADS,
    PlayerText,
    backend_option,
    count_option,
    game_argument,
    limits_option,
    printing_options,
    seed_option,
    threads_option,
)
from ggp.console import example, show_diagnostics, tell
from ggp.gdl.games import title_of
from ggp.machine import Limits
from ggp.machine.definition import GameDefinition
from ggp.machine.games import load_program
from ggp.report import Report, Table
from ggp.statistics import Interval, methods_text
from match_runner.cli.options import (
    conditions_options,
    note_ignored,
    place_options,
    read_place,
    with_threads,
)
from match_runner.match.conditions import ConditionOptions, Conditions
from match_runner.match.records import MatchRecord, clock_text
from match_runner.match.seats import HUMAN, read_players
from match_runner.match.views import clock_notes, plain, show_errors
from match_runner.remote.remote_players import is_address
from match_runner.series.holding import Snapshot, hold_series, printer
from match_runner.series.plan import Series, check_series, series_of_roles

MAX_WARNINGS = 5
"""Most warnings of a rulesheet that we show before a match."""


@dataclass(frozen=True, slots=True)
class PlaySummary:
    """Summary of the matches of one `play`.

    Attributes:
        game: name or path of the game.
        players: spec or address of the player of each role; `random` is not among them.
        roles: all roles of the game, in its order.
        records: records of all matches, in order.
        scores: mean goal value of every role over the matches that did not fail.
        series: the series of these matches.
    """

    game: str
    players: Mapping[str, str]
    roles: tuple[str, ...]
    records: tuple[MatchRecord, ...]
    scores: Mapping[str, Interval]
    series: Series

    @property
    def backend(self) -> str | None:
        """Backend of the machines; None if nothing was played."""
        return self.records[0].backend if self.records else None

    @property
    def conditions(self) -> Conditions:
        """Conditions of the matches."""
        return self.series.games[0].conditions

    @property
    def states_visited(self) -> dict[str, int]:
        """Number of states that every role's player visited, in all matches together."""
        return {role: sum(r.states_visited[role] for r in self.records) for role in self.roles}

    def report(self) -> Report:
        """The matches, as `match-runner play` shows them."""
        values = {
            "game": self.game,
            "matches": [
                {
                    "seed": record.seed,
                    "goals": dict(record.goals),
                    "turns": len(record.turns),
                    "errors": list(record.errors),
                }
                for record in self.records
            ],
            "mean": {
                role: {
                    "mean": score.value,
                    "ci99": score.error,
                    "low": score.low,
                    "high": score.high,
                    "method": score.method,
                }
                for role, score in self.scores.items()
            },
            "states_visited": self.states_visited,
            "seed": self.series.seed,
            "backend": self.backend,
            "play_clock": self.conditions.play_clock_s,
            "clock": self.conditions.clock,
        }
        return Report(values, _parts(self))


@click.command(
    epilog=example("match-runner play kuhn_poker --player player1=hyperplay2:n=2 --record records")
)
@game_argument()
@click.option(
    "--player",
    "players",
    type=PlayerText(human="You, in this terminal."),
    multiple=True,
    metavar="ROLE=SPEC",
    help="Player of a role, e.g. agent=hyperplay2:n=8, agent=http://localhost:9147, or agent=human "
    "for yourself in this terminal. The default player is auto.",
)
@count_option("--matches", default=1, help="Number of matches.")
@conditions_options
@seed_option("the first match; each later match adds 1")
@place_options(out="nowhere", jobs="one after the other, in this process")
@backend_option
@limits_option
@threads_option(SHARED_THREADS)
@printing_options
def play(
    game: str,
    players: tuple[str, ...],
    matches: int,
    seed: int,
    backend: str,
    limits: Limits,
    threads: int | None,
    as_json: bool,
    **options: Any,
) -> int:
    """Play matches of GAME, the name of a game or the path of a rulesheet.

    A single match is shown turn by turn: the moves, what each role sees, how players value their
    moves, and the state. Of several matches, and with --jobs, --out or --json, only the scores are.

    A player with an address is remote: a program that speaks the protocol of game servers.
    --play-clock, --replacement and --pause apply to all players. The other options about
    clocks and messages apply to remote players only.

    A fault of a player, such as a late or illegal move, costs it its move and is listed below the
    scores. The command fails only if a match does, or if a player has a fault in every match.
    """
    place = read_place(options, in_this_process=True)
    program = load_program(game)
    specs = read_players(players, program.roles)
    has_remote = any(map(is_address, specs.values()))
    conditions = ConditionOptions(**options).of_match(has_remote=has_remote)
    series = series_of_roles(
        game, program, specs, matches, conditions=conditions, seed=seed, backend=backend
    )
    series = replace(series, limits=with_threads(limits, threads, place))
    people = [role for role, text in specs.items() if text == HUMAN]
    check_series(replace(series, players={**specs, **dict.fromkeys(people, "random")}))
    note_ignored(conditions, tuple(specs.values()))
    if not as_json:
        _show_warnings(program)
    show = printer(summarize, as_json=as_json)
    if people or (matches == 1 and not as_json):
        # Imported late: it draws boards, which most matches do not need.
        from match_runner.terminal import option_of_elsewhere, play_in_terminal

        if people or option_of_elsewhere(place) is None:
            return play_in_terminal(series, place, show, as_json=as_json)
    return hold_series(series, place, show)


def summarize(snapshot: Snapshot) -> PlaySummary:
    """Sum up the matches so far of a series made by `series_of_roles`."""
    (game,) = snapshot.series.games
    scored = [match.scored for match in snapshot.matches if not match.record.failed]
    return PlaySummary(
        game=game.name,
        players=snapshot.series.players,
        roles=game.roles,
        records=tuple(match.record for match in snapshot.matches),
        scores={
            role: snapshot.mean([goals[role] for goals in scored], game.goal_bounds)
            for role in game.roles
        },
        series=snapshot.series,
    )


def _show_warnings(program: GameDefinition) -> None:
    show_diagnostics(program.diagnostics[:MAX_WARNINGS])
    if len(program.diagnostics) > MAX_WARNINGS:
        num_hidden = len(program.diagnostics) - MAX_WARNINGS
        tell(f"{num_hidden} more warnings: `ggp validate {program.source.name}`")


def _parts(summary: PlaySummary) -> Iterator[RenderableType]:
    num = len(summary.records)
    seeds = [record.seed for record in summary.records]
    range_ = f"seed {seeds[0]}" if num == 1 else f"seeds {seeds[0]} to {seeds[-1]}" if num else ""
    match_text = "1 match" if num == 1 else f"{num} matches"
    conditions = summary.conditions
    yield Text.assemble(
        plain(title_of(summary.game), "bold"),
        f": {match_text}",
        f", {range_}" if range_ else "",
        f", on {summary.backend}" if summary.backend else "",
        f", {clock_text(conditions.play_clock_s, conditions.clock)}",
    )
    yield from clock_notes(conditions.clock, summary.players.values())
    heading = "#mean score [99 %]" if num > 1 else "#score"
    states = summary.states_visited
    rows = [
        (role, summary.players.get(role, "by chance"), summary.scores[role], states[role])
        for role in summary.roles
    ]
    yield Table(("role", "player", heading, ("#states visited", ",")), rows)
    yield from methods_text(summary.scores.values())
    faulty = [(f"seed {record.seed}", record.errors) for record in summary.records if record.errors]
    yield from show_errors(faulty, num)

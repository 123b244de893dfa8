"""Matches, series of matches and pictures for the library, by the match runner.

Games and player specs come in; records and summaries go out. The match runner stands above this
package. Only these functions import it, when they are called.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar, runtime_checkable

from ggp.errors import ConfigError
from ggp.given import checked_clock, checked_seed, checked_text, rounds_of
from ggp.machine import Limits, build_machine
from ggp.machine.definition import GameDefinition
from ggp.machine.games import find_program

if TYPE_CHECKING:
    from match_runner.match.records import MatchRecord
    from match_runner.series.comparison import ComparisonSummary
    from match_runner.series.holding import Snapshot
    from match_runner.series.outcomes import Played
    from match_runner.series.plan import PlannedMatch, Series
    from match_runner.tournament import TournamentSummary

_Summary = TypeVar("_Summary")


@runtime_checkable
class Playable(Protocol):
    """A game that can be played, such as a `Game`."""

    @property
    def name(self) -> str:
        """The game as it was given."""
        ...

    @property
    def program(self) -> GameDefinition:
        """Its rules."""
        ...

    @property
    def backend(self) -> str:
        """The backend of its machines."""
        ...


class _Opened(NamedTuple):
    """A game opened by its name, its path or its rules."""

    name: str
    program: GameDefinition
    backend: str


def _open(game: Playable | str) -> Playable:
    if isinstance(game, Playable):
        return game
    name, program = find_program(checked_text(game))
    return _Opened(name, program, build_machine(program).backend)


def play_match(
    game: Playable | str,
    players: Mapping[str, str],
    *,
    seed: int = 0,
    play_clock: float | None = None,
    in_process: bool = False,
    clock: str = "wall",
) -> MatchRecord:
    """Play one match and return its record.

        >>> import ggp
        >>> players = {"xplayer": "legal", "oplayer": "legal"}
        >>> record = ggp.play_match("tic_tac_toe", players)
        >>> record.goals
        {'xplayer': 100, 'oplayer': 0}

    Args:
        game: a game, or any argument of `load`.
        players: spec or address by role; `auto` plays the other roles.
        seed: reproduces the match, unless a clock limits the players.
        play_clock: seconds for each decision; None for the players' own counts. With a clock,
            third-party players run in processes of their own, where they can be stopped.
        in_process: run third-party players in this process even so, for example one that is
            defined in a notebook. If it never answers, this call never returns.
        clock: `wall`, or `cpu` for CPU time of local players.

    Raises:
        ConfigError: an unknown role, player, option or clock, or a wrong seed.
        MachineError: no machine can be built.
    """
    from match_runner.match.conditions import Conditions
    from match_runner.match.referee import play_match as referee
    from match_runner.match.seats import build_machines, read_players, set_up
    from match_runner.series.match_task import order_of
    from match_runner.workers.executor import close_idle

    checked_seed(seed)
    opened = _open(game)
    specs = read_players(
        tuple(f"{role}={spec}" for role, spec in players.items()), opened.program.roles
    )
    kind = checked_clock(clock)
    conditions = Conditions(play_clock_s=play_clock, in_process=in_process, clock=kind)
    machines = build_machines(opened.program, opened.backend)
    order = order_of(conditions, opened.program, machines, Limits())
    arena = set_up(opened.name, opened.program, specs, machines, kind.tells, order=order)
    try:
        return referee(arena, seed, conditions)
    finally:
        close_idle()


def compare(
    game: Playable | str,
    players: Sequence[str],
    *,
    rounds: int | None = None,
    matches: int | None = None,
    seed: int = 0,
    play_clock: float | None = None,
    clock: str = "wall",
    minutes: float | None = None,
    advance: Callable[[], None] = lambda: None,
    refine: Callable[[ComparisonSummary], None] | None = None,
) -> ComparisonSummary:
    """Compare players by matches in this process, in which they take turns at the roles.

    Args:
        game: a game, or any argument of `load`.
        players: specs, at least two.
        rounds: number of rounds, 10 by default; in each, every player plays every role once.
        matches: number of matches, instead of rounds: a multiple of the number of players.
        seed: of all matches.
        play_clock: seconds for each decision; None for the players' own counts.
        clock: `wall` for wall time, or `cpu` for CPU time.
        minutes: time after which no round begins, except the first.
        advance: called after each match, of which there are at most `rounds * len(players)`.
        refine: called after each round with the results so far.

    Raises:
        ConfigError: an unknown player, option or clock, too few players, no whole number of
            rounds, or a wrong seed.
        MachineError: no machine can be built.
    """
    from match_runner.match.conditions import Conditions
    from match_runner.series.comparison import summarize
    from match_runner.series.plan import Series, SeriesGame

    checked_seed(seed)
    if len(set(players)) < max(2, len(players)):
        raise ConfigError("give at least two players, each of them once")
    rounds = rounds_of(matches, rounds, len(players), usual=10)
    opened = _open(game)
    conditions = Conditions(play_clock_s=play_clock, clock=checked_clock(clock))
    entry = SeriesGame(opened.name, opened.program, rounds, conditions)
    names = {player: player for player in players}
    series = Series(names, (entry,), seed=seed, backend=opened.backend)
    return _play_series(series, minutes, advance, summarize, refine)


def tournament(
    games: Sequence[Playable | str] | str | os.PathLike[str],
    players: Mapping[str, str] | None = None,
    *,
    rounds: int | None = None,
    matches: int | None = None,
    seed: int = 0,
    play_clock: float | None = None,
    clock: str = "wall",
    minutes: float | None = None,
    advance: Callable[[], None] = lambda: None,
) -> TournamentSummary:
    """Play a tournament in this process: players take turns at the roles of several games.

    Args:
        games: games, or arguments of `load`; without `players`, the path of a TOML file that
            describes the whole tournament, as `match-runner tournament` reads it.
        players: spec or address of each player by its name.
        rounds: number of rounds of each game, 1 by default; in each, every player plays every role
            once.
        matches: number of matches of each game, instead of rounds: a multiple of the number of
            players.
        seed, play_clock, clock: as for `compare`; a file specifies its own.
        minutes: time after which no round begins, except the first.
        advance: called after each match.

    Raises:
        ConfigError: a wrong file, an unknown player, option or clock, no whole number of
            rounds, or a wrong seed.
        MachineError: no machine can be built.
    """
    from match_runner.match.conditions import Conditions
    from match_runner.series.plan import Series, SeriesGame
    from match_runner.tournament import read_tournament, summarize

    if players is None:
        if not isinstance(games, str | os.PathLike):
            raise ConfigError("say who plays: players={name: spec}, or the path of a TOML file")
        return _play_series(read_tournament(Path(games)), minutes, advance, summarize)
    checked_seed(seed)
    if isinstance(games, str | os.PathLike):
        raise ConfigError("games must be a list such as ['meier'] if there are players")
    rounds = rounds_of(matches, rounds, len(players), usual=1)
    conditions = Conditions(play_clock_s=play_clock, clock=checked_clock(clock))
    opened = list(map(_open, games))
    entries = tuple(SeriesGame(game.name, game.program, rounds, conditions) for game in opened)
    return _play_series(Series(players, entries, seed=seed), minutes, advance, summarize)


def read_record(path: str | os.PathLike[str]) -> MatchRecord:
    """Read a record that `match-runner play --record` or `match-runner import` wrote.

    Raises:
        ConfigError: there is no such file, or it is not a record.
    """
    from match_runner.match.records import read_record as read

    return read(Path(path))


def state_html(game: Playable, fluents: Sequence[str]) -> str:
    """A picture of a state, as HTML for notebooks."""
    from match_runner.pictures import html

    return html.state_html(game.name, game.program, fluents)


def belief_html(game: Playable, shares: Mapping[str, float], caption: str) -> str:
    """A picture of a belief, as HTML for notebooks.

    Args:
        shares: the probability of each fluent.
    """
    from match_runner.pictures import html

    return html.belief_html(game.name, game.program, shares, caption)


def _play_series(
    series: Series,
    minutes: float | None,
    advance: Callable[[], None],
    summarize: Callable[[Snapshot], _Summary],
    refine: Callable[[_Summary], None] | None = None,
) -> _Summary:
    """Play a series in this process, without storing it; returns its summary."""
    from match_runner.series.holding import open_executor, run_series, snapshot_of
    from match_runner.series.plan import check_series
    from match_runner.series.store import open_store

    check_series(series)
    with open_executor(0, None) as executor, open_store(None, series) as store:

        def watch(match: Played) -> None:
            advance()
            if refine is not None and len(store.keys()) % series.matches_a_round == 0:
                refine(summarize(snapshot_of(series, store)))

        run_series(series, store, executor, watch, _until(minutes))
        return summarize(snapshot_of(series, store))


def _until(minutes: float | None) -> Callable[[PlannedMatch], bool]:
    """A function that says whether a match may begin: after the time, only in a round that has
    begun."""
    end = None if minutes is None else time.monotonic() + 60 * minutes
    current_round = 0

    def may_begin(match: PlannedMatch) -> bool:
        nonlocal current_round
        if match.round > current_round and end is not None and time.monotonic() > end:
            return False
        current_round = max(current_round, match.round)
        return True

    return may_begin

"""Duels as parts of an experiment: two players, one folder, and the matches played."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path

from ggp.gdl.normalize import load
from ggp.labs.papers.reproduce.results import RunSettings, Tell
from ggp.machine.definition import GameDefinition
from ggp.players import Decision
from match_runner.match.conditions import Conditions
from match_runner.series.comparison import ComparisonSummary, summarize
from match_runner.series.holding import Snapshot, play_missing, snapshot_of
from match_runner.series.outcomes import Played, decisions_of
from match_runner.series.plan import (
    MEASURE,
    PLAY,
    Series,
    SeriesGame,
    check_series,
    measured_rounds,
)
from match_runner.series.store import FILE, open_store
from match_runner.workers.executor import Executor


@dataclass(frozen=True, slots=True)
class Duel:
    """A comparison of players, who take turns at the roles.

    In a game with one role all play the same matches.

    Attributes:
        players: specs; two of them, or more in a game with one role.
        folder: where it is kept, below the folder of the run.
        equal_states: whether the second player gets as many states as the first visits.
        play_clock_s: time for each decision; None lets the players' counts decide.
        budget: name of these counts, where a grid has several.
    """

    game: str
    players: tuple[str, ...]
    folder: str
    equal_states: bool = False
    play_clock_s: float | None = None
    budget: str = ""


@dataclass(frozen=True)
class PlayedDuel:
    """A duel that was played.

    Attributes:
        held: its matches.
        failures: matches that could not be played, one line each.
    """

    held: Snapshot
    failures: tuple[str, ...] = ()

    @cached_property
    def summary(self) -> ComparisonSummary:
        """Summary of the duel, as `compare` would show it."""
        return summarize(self.held)

    @property
    def matches(self) -> tuple[Played, ...]:
        """Its matches, by round, then number."""
        return tuple(self.held.matches)

    def decisions(self, player: int) -> list[list[tuple[str, Decision]]]:
        """Role and decision of a player between several moves, match by match."""
        return [
            [(role, decision) for _, role, decision in decisions_of([match], player)]
            for match in self.matches
        ]

    @property
    def rounds(self) -> int:
        """Number of rounds played; all matches of a round have the same seed."""
        return len({match.planned.round for match in self.matches})

    def goals(self, player: int, role: str | None = None) -> list[float]:
        """Goal values of a player, in all roles or in one."""
        return [
            match.scored[name]
            for match in self.matches
            for name, seated in match.planned.seating.items()
            if seated == player and role in (None, name)
        ]


def series_of(duel: Duel, settings: RunSettings) -> Series:
    """Series of matches that a duel is.

    In games of one role each player plays `matches`; in others both together play that many,
    taking turns at the roles: the number must be even.
    """
    program = program_of(duel.game)
    roles = sum(role != "random" for role in program.roles)
    shared = roles > 1 or settings.until is not None  # `until` counts the matches of all players
    rounds = settings.matches // len(duel.players) if shared else settings.matches
    conditions = Conditions(duel.play_clock_s, clock=settings.clock)
    series = Series(
        players={player: player for player in duel.players},
        games=(SeriesGame(duel.game, program, rounds, conditions),),
        equal_states=duel.equal_states,
        seed=settings.seed,
        backend=settings.backend,
        limits=settings.limits,
    )
    check_series(series)
    return series


def size_of(duel: Duel, settings: RunSettings) -> int:
    """Number of matches of a duel, including those for measuring."""
    series = series_of(duel, settings)
    (game,) = series.games
    measured = measured_rounds(game) if duel.equal_states else 0
    return game.rounds * series.matches_a_round + measured


def play_duel(duel: Duel, settings: RunSettings, executor: Executor, tell: Tell) -> PlayedDuel:
    """Play what is missing of a duel, or as much as it takes to tell who is better.

    Raises:
        InUse: another process plays it.
        ConfigError: its folder holds something else.
        MatchError: workers fail, or a match does.
    """
    series = series_of(duel, settings)
    until = settings.until
    with open_store(_folder(duel, settings), series, until=until) as store:
        for kind in (MEASURE, PLAY):
            for _ in store.matches(kind):
                tell()
        failures = play_missing(series, store, executor, lambda _: tell(), until)
        held = snapshot_of(series, store, until)
    return PlayedDuel(held, failures)


def stored_duel(duel: Duel, settings: RunSettings) -> PlayedDuel | None:
    """All that was played of a duel before, however many matches are asked for; None if nothing.

    Another process may be playing it. If duels end by themselves, matches after the end of this
    one do not count.

    Raises:
        ConfigError: its folder holds something else.
    """
    folder = _folder(duel, settings)
    file = folder / FILE
    if not file.exists() or not file.stat().st_size:  # empty until it has its tables
        return None
    series = series_of(duel, settings)
    with open_store(folder, series, reading=True) as store:
        number = sum(1 for _ in store.matches(PLAY))
        asked = max(settings.matches, number + number % len(duel.players))
        series = series_of(duel, replace(settings, matches=asked))
        held = snapshot_of(series, store, settings.until)
    return PlayedDuel(held) if held.matches else None


def backends_of(duels: Iterable[PlayedDuel]) -> dict[str, str]:
    """Backend of each game that was played."""
    return {
        match.planned.game: match.record.backend for duel in duels for match in duel.matches[:1]
    }


@cache
def program_of(game: str) -> GameDefinition:
    """The rules of a game, read once."""
    return load(game)


def _folder(duel: Duel, settings: RunSettings) -> Path:
    return settings.folder / "matches" / duel.folder

"""Duels: series of matches between two players, as parts of an experiment.

A `Duel` names a game and players; `play_duel` plays the missing matches of its series, stores them
in the folder of the run, and returns a `PlayedDuel` with all of them, for figures and grids.
"""

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
        folder: where its matches are stored, below the folder of the run.
        equal_states: whether the second player gets as many states as the first visits.
        play_clock_s: time for each decision; None lets the players' counts decide.
        budget: name of these counts, if a grid has several.
    """

    game: str
    players: tuple[str, ...]
    folder: str
    equal_states: bool = False
    play_clock_s: float | None = None
    budget: str = ""

    @property
    def clock_name(self) -> str:
        """Name of its clock, such as `0.3s`, or of the counts that replace it."""
        return self.budget or "counts" if self.play_clock_s is None else f"{self.play_clock_s:g}s"


@dataclass(frozen=True)
class PlayedDuel:
    """A duel with its matches so far.

    Attributes:
        progress: its matches.
        failures: matches that could not be played, one line each.
    """

    progress: Snapshot
    failures: tuple[str, ...] = ()

    @cached_property
    def summary(self) -> ComparisonSummary:
        """Summary of the duel, as `compare` shows it."""
        return summarize(self.progress)

    @property
    def matches(self) -> tuple[Played, ...]:
        """The matches so far, by round, then number."""
        return tuple(self.progress.matches)

    def decisions(self, player: int) -> list[list[tuple[str, Decision]]]:
        """Roles and decisions of a player between several moves, match by match."""
        return [
            [(role, decision) for _, role, decision in decisions_of([match], player)]
            for match in self.matches
        ]

    @property
    def rounds(self) -> int:
        """Number of rounds; all matches of a round have the same seed."""
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
    """The series of matches of a duel.

    In games of one role each player plays `matches`; in other games both together play that many
    and take turns at the roles, so the number must be even.
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
    """Number of matches of a duel, including matches that measure states."""
    series = series_of(duel, settings)
    (game,) = series.games
    measured = measured_rounds(game) if duel.equal_states else 0
    return game.rounds * series.matches_a_round + measured


def play_duel(
    duel: Duel, settings: RunSettings, executor: Executor, tell: Tell, num_told: int = 0
) -> PlayedDuel:
    """Play the missing matches of a duel, or as many as show who is better.

    Args:
        num_told: matches of the store that `tell` has been called for before.

    Raises:
        InUse: another process plays it.
        ConfigError: its folder holds something else.
        MatchError: workers fail, or a match does.
    """
    series = series_of(duel, settings)
    until = settings.until
    with open_store(_folder(duel, settings), series, until=until) as store:
        stored = [match for kind in (MEASURE, PLAY) for match in store.matches(kind)]
        for _ in stored[num_told:]:
            tell()
        failures = play_missing(series, store, executor, lambda _: tell(), until)
        progress = snapshot_of(series, store, until)
    return PlayedDuel(progress, failures)


def stored_duel(duel: Duel, settings: RunSettings) -> PlayedDuel | None:
    """A duel with all its stored matches, whatever number the settings ask for; None without one.

    Another process may be playing it. With a stopping rule, matches after its end do not count.

    Raises:
        ConfigError: its folder holds something else.
    """
    folder = _folder(duel, settings)
    file = folder / FILE
    if not file.exists() or not file.stat().st_size:  # empty until it has its tables
        return None
    series = series_of(duel, settings)
    with open_store(folder, series, reading=True) as store:
        count = sum(1 for _ in store.matches(PLAY))
        matches = max(settings.matches, count + count % len(duel.players))
        series = series_of(duel, replace(settings, matches=matches))
        progress = snapshot_of(series, store, settings.until)
    return PlayedDuel(progress) if progress.matches else None


def backends_of(duels: Iterable[PlayedDuel]) -> dict[str, str]:
    """Backends by game."""
    return {
        match.planned.game: match.record.backend for duel in duels for match in duel.matches[:1]
    }


@cache
def program_of(game: str) -> GameDefinition:
    """The definition of a game, read once."""
    return load(game)


def _folder(duel: Duel, settings: RunSettings) -> Path:
    return settings.folder / "matches" / duel.folder

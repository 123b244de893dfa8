"""Series without worker processes, and what their files hold."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

from ggp.gdl.normalize import load
from match_runner.series.comparison import ComparisonSummary, summarize
from match_runner.series.holding import Snapshot, play_missing, snapshot_of
from match_runner.series.outcomes import Played
from match_runner.series.plan import PLAY, Series, SeriesGame, check_series
from match_runner.series.store import FILE, open_store
from match_runner.series.verdicts import Forecast, StoppingRule
from match_runner.workers.executor import InlineExecutor, WorkerCrashError

_T = TypeVar("_T")


class CrashingExecutor(InlineExecutor):
    """Calls functions immediately, in this process, except the ones that crash.

    Args:
        crashes: how many times the match with a seed kills its worker.

    Attributes:
        seeds: of the matches it was given.
    """

    def __init__(self, crashes: Mapping[int, int] | None = None) -> None:
        self.crashes = Counter(crashes or {})
        self.seeds: list[int] = []

    def submit(self, function: Callable[..., _T], args: tuple[Any, ...]) -> Future[_T]:
        seed = args[0].seed
        self.seeds.append(seed)
        if not self.crashes[seed]:
            return super().submit(function, args)
        self.crashes[seed] -= 1
        future: Future[_T] = Future()
        future.set_exception(WorkerCrashError("a worker process died (signal 9)"))
        return future


def series_of(game: str, *players: str, rounds: int = 1, **settings: Any) -> Series:
    """A comparison in a game of ours, checked."""
    series = Series(
        {player: player for player in players}, (SeriesGame(game, load(game), rounds),), **settings
    )
    check_series(series)
    return series


class StoppedError(Exception):
    """A series was stopped on purpose."""


def play(
    series: Series,
    folder: Path | None,
    executor: InlineExecutor | None = None,
    stop_after: int | None = None,
    until: StoppingRule | None = None,
    say: Callable[[Sequence[Forecast]], None] = lambda forecasts: None,
) -> tuple[Snapshot, tuple[str, ...]]:
    """A snapshot of a series, and the matches that failed.

    Args:
        stop_after: matches after which it stops with `StoppedError`.
        until: the rule that stops it early.
        say: see `play_missing`.
    """
    ended = 0

    def watch(match: Played) -> None:
        nonlocal ended
        ended += 1
        if ended == stop_after:
            raise StoppedError

    place = executor or InlineExecutor()
    with open_store(folder, series, until=until) as store:
        failures = play_missing(series, store, place, watch, until, say)
        return snapshot_of(series, store, until), failures


def compared(
    series: Series,
    folder: Path,
    executor: InlineExecutor | None = None,
    stop_after: int | None = None,
) -> tuple[ComparisonSummary, tuple[str, ...]]:
    """The summary of a comparison, and the matches that failed; see `play`."""
    snapshot, failures = play(series, folder, executor, stop_after)
    return summarize(snapshot), failures


def stored(series: Series, folder: Path, kind: str = PLAY) -> list[Played]:
    """The matches of a kind that are stored."""
    with open_store(folder, series) as store:
        return store.matches(kind)


_TIMES = {"settings": (), "matches": ("record",), "scores": (), "decisions": ("seconds",)}
"""Tables and views of a file, with the columns that hold times."""


def rows_of(folder: Path) -> list[tuple[Any, ...]]:
    """Every row of a series's file, times aside."""
    connection = sqlite3.connect(folder / FILE)
    try:
        connection.row_factory = sqlite3.Row
        all_rows: list[tuple[Any, ...]] = []
        for table, times in _TIMES.items():
            rows = []
            for row in connection.execute(f"SELECT * FROM {table}"):
                names = [name for name in row.keys() if name not in times]  # noqa: SIM118
                rows.append((table, *(row[name] for name in names)))
            all_rows += sorted(rows, key=repr)
        return all_rows
    finally:
        connection.close()


def num_matches(folder: Path, *, writing: bool = False) -> int:
    """Matches in a series's file.

    Args:
        writing: whether somebody is writing it, or about to make it. Then it is looked at
            without waiting for a lock that is hardly ever free; what is unreadable counts as 0.
    """
    query = "?mode=ro&immutable=1" if writing else "?mode=rw"
    try:
        connection = sqlite3.connect(f"file:{folder / FILE}{query}", uri=True)
        try:
            return int(connection.execute("SELECT count(*) FROM matches").fetchone()[0])
        finally:
            connection.close()
    except sqlite3.DatabaseError:
        if writing:
            return 0
        raise

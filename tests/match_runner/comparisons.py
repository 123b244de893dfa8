"""Comparisons without worker processes, and what their files hold."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

from ggp.gdl.normalize import load
from match_runner.comparison.executor import WorkerCrashError
from match_runner.comparison.plan import Options, check_options
from match_runner.comparison.runner import run_comparison, stored_budgets
from match_runner.comparison.store import FILE, PlayedMatch, open_store
from match_runner.comparison.summary import Summary, summarize

_T = TypeVar("_T")


class InlineExecutor:
    """Calls functions at once, in this process.

    Args:
        crashes: how many times the match with a seed kills its worker.
    """

    def __init__(self, crashes: Mapping[int, int] | None = None) -> None:
        self.crashes = Counter(crashes or {})
        self.seeds: list[int] = []

    def submit(self, function: Callable[..., _T], args: tuple[Any, ...]) -> Future[_T]:
        future: Future[_T] = Future()
        seed = args[0].seed
        self.seeds.append(seed)
        if self.crashes[seed]:
            self.crashes[seed] -= 1
            future.set_exception(WorkerCrashError("a worker process died (signal 9)"))
            return future
        try:
            future.set_result(function(*args))
        except Exception as error:
            future.set_exception(error)
        return future

    def close(self) -> None:
        pass


def options_of(game: str, *players: str, **others: Any) -> Options:
    """Options for a game of ours, checked."""
    from ggp.console import installed_version

    program = load(game)
    options = Options(
        game, program.digest, program.roles, players, version=installed_version(), **others
    )
    check_options(options)
    return options


class StoppedError(Exception):
    """A comparison was stopped on purpose."""


def compared(
    options: Options,
    folder: Path,
    executor: InlineExecutor | None = None,
    stop_after: int | None = None,
) -> tuple[Summary, tuple[str, ...]]:
    """What a comparison comes to, and what could not be played.

    Args:
        stop_after: matches after which it stops with `StoppedError`.
    """
    ended = 0

    def watch(match: PlayedMatch) -> None:
        nonlocal ended
        ended += 1
        if ended == stop_after:
            raise StoppedError

    with open_store(folder, options) as store:
        failures = run_comparison(options, store, executor or InlineExecutor(), watch)
        summary = summarize(options, store.matches("play"), stored_budgets(options, store))
    return summary, failures


def rows_of(folder: Path) -> list[tuple[Any, ...]]:
    """Every row of a comparison's file, times aside."""
    connection = sqlite3.connect(folder / FILE)
    try:
        connection.row_factory = sqlite3.Row
        found: list[tuple[Any, ...]] = []
        for table, order in (
            ("options", "name"),
            ("matches", "kind, number"),
            ("decisions", "kind, number, turn, role"),
        ):
            for row in connection.execute(f"SELECT * FROM {table} ORDER BY {order}"):
                names = [name for name in row.keys() if name != "seconds"]  # noqa: SIM118
                found.append((table, *(row[name] for name in names)))
        return found
    finally:
        connection.close()


def num_matches(folder: Path, *, writing: bool = False) -> int:
    """Matches in a comparison's file.

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

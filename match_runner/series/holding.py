"""The body of every command that plays a series: play the missing matches, show results and errors.

Settings of a series and a place to play and store it come in; a snapshot of its matches goes to the
command, which prints it, and the exit code goes out. `read_series` reads a stored series again.
"""

from __future__ import annotations

import json
import logging
import math
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any, Protocol

from ggp.console import EXIT_FAILED, EXIT_INTERRUPTED, bar_of, show_error, show_report, tell
from ggp.errors import ConfigError, GGPError, MatchError
from ggp.machine import Limits
from ggp.machine.games import backends
from ggp.report import Report
from ggp.run.clocks import Clock
from ggp.statistics import Interval, mean_interval
from match_runner.match.conditions import Conditions
from match_runner.match.records import MatchRecord, make_folder, rules_of, write_record
from match_runner.match.seats import HUMAN
from match_runner.series.match_task import MatchTask, play
from match_runner.series.outcomes import Played, always_at_fault, scores_of
from match_runner.series.plan import (
    MEASURE,
    PLAY,
    PlannedMatch,
    Series,
    SeriesGame,
    plan_all,
    plan_measurements,
    resampling_seed,
    with_states,
)
from match_runner.series.store import FILE, Store, open_store
from match_runner.series.verdicts import (
    AHEAD,
    Ending,
    Forecast,
    Stopper,
    StoppingRule,
    forecast_text,
)
from match_runner.workers.executor import Executor, InlineExecutor, LocalPool, run_all

MATCH_SECONDS = 3600
"""Default time limit of a match, in seconds."""


class Summary(Protocol):
    """Results of a series."""

    def report(self) -> Report:
        """The results in the form that a command prints."""
        ...


@dataclass(frozen=True, slots=True)
class StoragePlace:
    """Where to play matches, and where to keep them.

    Attributes:
        jobs, scheduler, match_seconds: see `open_executor`.
        folder: folder for results; None to keep them in memory only.
        records: folder for a file of every match; None for no files.
    """

    jobs: int | None = None
    scheduler: str | None = None
    match_seconds: float = 0
    folder: Path | None = None
    records: Path | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The matches of a series so far.

    Attributes:
        series: the settings of the series.
        planned: number of its matches; if a stopping rule has ended it, of the matches that count.
        matches: the finished matches, by round, then game, then number.
        budgets: budgets of states, by game; empty unless the series has equal states.
        fixed: whether these are exactly the rounds that were planned before the first match.
        ending: how the series ended, if it has a stopping rule; None if it plays all its rounds.
    """

    series: Series
    planned: int
    matches: Sequence[Played]
    budgets: Mapping[str, Budgets]
    fixed: bool = False
    ending: Ending | None = None

    def mean(self, values: Sequence[float], bounds: tuple[float, float] | None) -> Interval:
        """The mean of some values of these matches, which lie within bounds, with its interval."""
        return mean_interval(values, resampling_seed(self.series), bounds, fixed=self.fixed)


Show = Callable[[Snapshot], None]
"""Function that prints the results of a series."""


def hold_series(
    series: Series,
    place: StoragePlace,
    show: Show,
    until: StoppingRule | None = None,
) -> int:
    """Play the missing matches of a series, show its results, and report errors.

    Args:
        series: checked, see `check_series`.
        place: where to play matches and keep them.
        show: prints the results; called once, even if the series was interrupted.
        until: the stopping rule of a series of one game; None to play all its rounds.

    Returns:
        the exit code of the command: 1 if a match failed or could not be played, or if a player
        committed a fault in every one of its matches.

    Raises:
        ConfigError: the store or a place to play cannot be used.
        MatchError: see `run_series`.
    """
    failures: tuple[str, ...] = ()
    interrupted = False
    files = RecordFiles(place.records)
    with (
        open_executor(place.jobs, place.scheduler, place.match_seconds) as executor,
        open_store(place.folder, series, until=until) as store,
    ):
        try:
            with each_warning_once(), _progress(series, store) as advance:

                def watch(match: Played) -> None:
                    files.write(match)
                    advance(match)

                failures = play_missing(series, store, executor, watch, until, _say_forecasts)
        except KeyboardInterrupt:
            interrupted = True
        snapshot = snapshot_of(series, store, until)
    files.write_missing(snapshot.matches)
    show(snapshot)
    if interrupted:
        hint = "; the same command continues" if place.folder else ""
        tell(f"interrupted after {len(snapshot.matches)} of {snapshot.planned} matches{hint}")
        return EXIT_INTERRUPTED
    repeatable = (f"{failure}; the same command tries again" for failure in failures)
    return report_problems([*repeatable, *problems_of(snapshot), *files.problems])


def report_problems(problems: Sequence[str]) -> int:
    """Show errors, and return the exit code of the command."""
    for problem in problems:
        show_error(problem)
    return EXIT_FAILED if problems else 0


@contextmanager
def open_executor(
    jobs: int | None, scheduler: str | None, match_seconds: float = MATCH_SECONDS
) -> Iterator[Executor]:
    """Open an executor that plays matches; closing it gives up unfinished matches.

    Args:
        jobs: number of parallel processes on this machine; 0 to play in this process; None for one.
        scheduler: address of a Dask scheduler, or path of its scheduler file; None for this
            machine.
        match_seconds: time limit of a match, which then counts as crashed; 0 for none.

    Raises:
        ConfigError: the scheduler cannot be used, or both `jobs` and `scheduler` are given.
    """
    limit_s = match_seconds or math.inf
    executor: Executor
    if scheduler is None:
        executor = InlineExecutor() if jobs == 0 else LocalPool(jobs or 1, limit_s)
    elif jobs is not None:
        raise ConfigError(
            "--jobs is for this machine; with --scheduler, the threads of its workers set the "
            "number of parallel matches: leave one of them out"
        )
    else:
        from match_runner.workers.cluster import ClusterExecutor  # Dask is slow to import

        executor = ClusterExecutor(scheduler, limit_s)
    try:
        yield executor
    finally:
        executor.close()


def printer(summarize: Callable[[Snapshot], Summary], *, as_json: bool) -> Show:
    """Make the argument `show` of `hold_series`: it prints a summary as JSON or as tables."""
    return lambda snapshot: show_report(summarize(snapshot).report(), as_json=as_json)


def play_missing(
    series: Series,
    store: Store,
    executor: Executor,
    watch: Watcher,
    until: StoppingRule | None = None,
    say: Callable[[Sequence[Forecast]], None] = lambda forecasts: None,
) -> tuple[str, ...]:
    """Play the missing matches of a series, see `run_series`.

    Args:
        until: the stopping rule of a series of one game; None to play all its rounds.
        say: called once, when there are forecasts of the effort that it takes to detect
            differences.
    """
    if until is None:
        return run_series(series, store, executor, watch)
    stopper = Stopper(series, until)

    def note(match: Played) -> None:
        had_forecasts = bool(stopper.forecasts)
        stopper.watch(match)
        if stopper.forecasts and not had_forecasts:
            say(stopper.forecasts)

    def watch_both(match: Played) -> None:
        watch(match)
        note(match)

    for match in store.matches(PLAY):
        note(match)
    return run_series(series, store, executor, watch_both, stopper.goes_on, AHEAD)


def snapshot_of(series: Series, store: Store, until: StoppingRule | None = None) -> Snapshot:
    """The planned matches that a store holds; it may hold other matches too.

    Args:
        until: the stopping rule, if there is one; matches after the stop do not count.
    """
    planned = {match.key for match in plan_all(series)}
    matches = [match for match in store.matches(PLAY) if match.planned.key in planned]
    budgets = stored_budgets(series, store)
    if until is None:
        return Snapshot(series, len(planned), matches, budgets, store.is_as_planned(series))
    stopper = Stopper(series, until)
    for match in matches:
        stopper.watch(match)
    if stopper.outcome is not None:
        matches = [match for match in matches if match.planned.round < stopper.rounds]
    num = len(planned) if stopper.outcome is None else len(matches)
    return Snapshot(series, num, matches, budgets, ending=stopper.ending)


def _say_forecasts(forecasts: Sequence[Forecast]) -> None:
    tell("matches needed to show that one player is better than another by")
    for forecast in forecasts:
        tell(f"  {forecast_text(forecast)}")


class RecordFiles:
    """Writes records as files, until one cannot be written.

    Attributes:
        problems: why records are missing, at most one line.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._written: set[tuple[str, str, int]] = set()
        self.problems: list[str] = []
        if folder is not None:
            make_folder(folder)

    def write(self, match: Played) -> None:
        """Write a match that counts."""
        planned = match.planned
        if self._folder is None or self.problems or planned.kind != PLAY:
            return
        try:
            write_record(match.record, self._folder)
        except GGPError as error:
            self.problems.append(f"{error}; not all records were written")
        self._written.add(planned.key)

    def write_missing(self, matches: Sequence[Played]) -> None:
        """Write the matches that an earlier run played."""
        for match in matches:
            if match.planned.key not in self._written:
                self.write(match)


def problems_of(snapshot: Snapshot) -> Iterator[str]:
    """Yield the errors in matches that make the command fail."""
    failed = [match for match in snapshot.matches if match.record.failed]
    if failed:
        first = failed[0]
        yield (
            f"{len(failed)} of {len(snapshot.matches)} matches failed and score nothing; the "
            f"first: seed {first.planned.seed}, {first.record.errors[-1]}"
        )
    for name, fault in always_at_fault(snapshot.series.names, snapshot.matches):
        if snapshot.series.players[name] != HUMAN:  # people may be late as often as they like
            yield f"{name} committed faults in every match; the first: {fault}"


@contextmanager
def _progress(series: Series, store: Store) -> Iterator[Callable[[Played], None]]:
    """Show a progress bar with the running means on standard error, if that is a terminal.

    Yields a function to be called with each match as it ends.
    """
    totals = [0.0] * len(series.players)
    counts = [0] * len(series.players)
    with bar_of(len(plan_all(series)) + len(measurements(series, store)), "playing") as advance:

        def watch(match: Played) -> None:
            if match.planned.kind == MEASURE:
                advance(now="measuring")
                return
            for player, score in scores_of([match]).items():
                totals[player] += score
                counts[player] += 1
            means = (
                f"{name} {totals[player] / counts[player]:.1f}"
                for player, name in enumerate(series.names)
                if counts[player]
            )
            advance(now=", ".join(means))

        for kind in (MEASURE, PLAY):
            for match in store.matches(kind):
                watch(match)
        yield watch


@contextmanager
def each_warning_once() -> Iterator[None]:
    """Let each warning through once: every machine of a match warns of the same rules."""
    seen: set[tuple[str, str]] = set()

    def is_new(record: logging.LogRecord) -> bool:
        key = (record.name, record.getMessage())
        is_known = key in seen
        seen.add(key)
        return not is_known

    handlers = logging.getLogger("ggp").handlers
    for handler in handlers:
        handler.addFilter(is_new)
    try:
        yield
    finally:
        for handler in handlers:
            handler.removeFilter(is_new)


# ------------------------------------------------------------------------
# Reads a stored series without the command that played it.
#
# The file has the settings, and records with their rules. So results can be shown, drawn and
# exported anywhere, even while a command is still playing the series.


def read_series(folder: Path) -> Snapshot:
    """Read the series that is stored in a folder.

    Games without a finished match are left out, since the file has no rules of them.

    Raises:
        ConfigError: there is no series in the folder, or no match of it.
        MatchError: a record was damaged.
    """
    path = folder / FILE
    if not path.is_file():
        raise ConfigError(f"{folder} holds no series: it has no {FILE}; give the --out of a series")
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            rows = connection.execute("SELECT name, value FROM settings")
            settings = {name: json.loads(value) for name, value in rows}
            planned = settings.get("planned", {})
            store = Store(connection, settings.get("measured", {}), planned)
            matches = store.matches(PLAY)
            if not matches:
                raise ConfigError(f"no match of the series in {folder} has been played yet")
            # Files of older versions have no stopping rule.
            rule = settings.get("until")
            series, until = _series(settings, matches), rule and StoppingRule(**rule)
            if not series.games:
                raise ConfigError(f"cannot read {path}: its matches are of no game of the series")
            if until is not None:
                most = until.most // series.matches_a_round
                (game,) = series.games
                series = replace(series, games=(replace(game, rounds=max(most, game.rounds)),))
            snapshot = snapshot_of(series, store, until)
    except (sqlite3.Error, ValueError, LookupError, AttributeError, TypeError) as error:
        raise ConfigError(f"cannot read {path}: {error}") from error
    if len(series.games) == len(settings["games"]):
        return snapshot
    rounds = [planned.get(name) or 0 for name in settings["games"]]
    return replace(snapshot, planned=max(snapshot.planned, sum(rounds) * series.matches_a_round))


def _series(settings: Mapping[str, Any], matches: list[Played]) -> Series:
    plays = settings["plays"]
    of_game = {match.planned.game: match for match in reversed(matches)}
    return Series(
        players={name: plays.get(name, name) for name in settings["players"]},
        games=tuple(
            _game(name, entry, settings.get("planned", {}).get(name), of_game[name], matches)
            for name, entry in settings["games"].items()
            if name in of_game
        ),
        rotate=settings["roles"] == "rotate",
        equal_states=settings["equal_states"],
        seed=settings["seed"],
        backend=settings["backend"],
        version=settings["version"],
        limits=Limits(threads=settings.get("threads", Limits().threads)),
    )


def _game(
    name: str,
    settings: Mapping[str, Any],
    planned: int | None,
    first: Played,
    matches: list[Played],
) -> SeriesGame:
    num_played = max(m.planned.round for m in matches if m.planned.game == name) + 1
    clock_s = settings["play_clock"]
    conditions = Conditions(
        play_clock_s=None if clock_s is None else float(clock_s),
        clock=Clock(settings.get("clock", Clock.WALL)),
        ponder=settings.get("ponder", False),
    )
    rules = rules_of(first.record)
    return SeriesGame(name, rules, max(planned or 0, num_played), conditions, settings["fixed"])


# ------------------------------------------------------------------------
# Has an executor play the matches that are not stored yet.
#
# A plan and a store come in; every finished match goes into the store and to a watcher. Where
# states must be equal, matches that measure the first player's budgets come first.

Watcher = Callable[[Played], None]
"""Function that is called with every match as it ends."""


def run_series(
    series: Series,
    store: Store,
    executor: Executor,
    watch: Watcher,
    go_on: Callable[[PlannedMatch], bool] = lambda match: True,
    most_pending: int | None = None,
) -> tuple[str, ...]:
    """Play all matches that are not stored yet.

    Args:
        watch: called with each match as it ends.
        go_on: called before each match that counts, round by round; when it first returns false,
            no more matches start.
        most_pending: see `run_all`; for a `go_on` that depends on results.

    Returns:
        the matches that could not be played, one line each; the same call tries them again.

    Raises:
        MatchError: a match that measures budgets cannot be played, a worker raised an error, or it
            used another backend than the stored matches of the game.
    """
    session = _Session(series, store, executor, watch)
    missing = session.play(measurements(series, store), {})
    if missing:
        raise MatchError(f"the budgets of states cannot be measured: {missing[0]}")
    budgets = stored_budgets(series, store)
    return session.play(plan_all(series), budgets, go_on, most_pending)


def measurements(series: Series, store: Store) -> list[PlannedMatch]:
    """Matches of all games that measure the budgets of equal states."""
    return [
        match
        for game in series.games
        for match in plan_measurements(series, game, store.measured[game.name])
    ]


def stored_budgets(series: Series, store: Store) -> dict[str, Budgets]:
    """Budgets of states, for each game whose measuring matches are all stored.

    Empty unless the series has equal states.
    """
    if not series.equal_states:
        return {}
    budgets = {}
    for game in series.games:
        measured = [match for match in store.matches(MEASURE) if match.planned.game == game.name]
        if len(measured) >= store.measured[game.name]:
            budgets[game.name] = measured_budgets(game, measured)
    return budgets


class _Session:
    """One run of a command."""

    def __init__(self, series: Series, store: Store, executor: Executor, watch: Watcher) -> None:
        self._series, self._store, self._executor = series, store, executor
        self._watch = watch
        self._keys = store.keys()
        self._backends = store.backends()

    def play(
        self,
        planned: Iterable[PlannedMatch],
        budgets: Mapping[str, Budgets],
        go_on: Callable[[PlannedMatch], bool] = lambda match: True,
        most_pending: int | None = None,
    ) -> tuple[str, ...]:
        """Play the planned matches that are not stored; return those that could not be played."""
        missing = takewhile(go_on, (match for match in planned if match.key not in self._keys))
        several = len(self._series.games) > 1
        return run_all(
            self._executor,
            partial(play, own_process=self._executor.own_processes),
            ((match, self._task(match, budgets.get(match.game))) for match in missing),
            self._keep,
            lambda match: (
                f"match {match.number}{f' of {match.game}' if several else ''} (seed {match.seed})"
            ),
            most_pending,
        )

    def _task(self, match: PlannedMatch, budgets: Budgets | None) -> MatchTask:
        game = self._series.game(match.game)
        # The same seed gives the same match only on the same backend. So we keep the choice of
        # `auto` for the first match, which may depend on the machine.
        backend = self._backends.get(game.name, self._series.backend)
        if backend not in backends():  # a backend of another version: `_keep` will refuse matches
            backend = self._series.backend
        return MatchTask(
            game=game.name,
            source=game.program.source.name,
            rules=game.program.source.text,
            backend=backend,
            limits=self._series.limits,
            players=specs_of(self._series, game, match, budgets),
            seed=match.seed,
            conditions=game.conditions,
        )

    def _keep(self, planned: PlannedMatch, record: MatchRecord) -> None:
        backend = self._backends.setdefault(planned.game, record.backend)
        if backend != record.backend:
            raise MatchError(
                f"a match of {planned.game} was played on the backend {record.backend}, but stored "
                f"matches on {backend}: they are not comparable; name one with --backend"
            )
        # All records of a game share one text, instead of the copy that each worker sends.
        rules = self._series.game(planned.game).program.source.text
        match = Played(planned, replace(record, rules=rules))
        self._store.add(match)
        self._keys.add(planned.key)
        self._watch(match)


# ------------------------------------------------------------------------
# Equal resources: budgets of states, measured on the first player.
#
# The number of states that a player visits depends on its role and on the turn: a player that moves
# first knows less, and playouts from early turns are longer. So a budget is the mean for a role and
# a turn over the measured matches. Forced moves do not count, because they need no budget.

Budgets = Mapping[str, tuple[int, ...]]
"""States per decision for each role, turn by turn."""


def measured_budgets(game: SeriesGame, measured: Sequence[Played]) -> Budgets:
    """Mean number of states that the first player visits in each role at each turn.

    A turn at which it never had a choice gets the budget of the last turn with a choice, and the
    first turns get the budget of the next one: in another match there may be a choice.
    """
    visited: dict[str, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    longest = 0
    for match in measured:
        for turn, role, decision in match.decisions():
            longest = max(longest, turn + 1)
            # Forced moves would lower the mean, and need no budget.
            if len(decision.values) > 1:
                visited[role][turn].append(decision.states_visited)
    return {role: _filled(visited[role], longest) for role in game.seats}


def _filled(visited: Mapping[int, Sequence[int]], length: int) -> tuple[int, ...]:
    means = {turn: max(1, round(sum(v) / len(v))) for turn, v in visited.items()}
    if not means:
        return (1,)
    budget = means[min(means)]
    budgets = []
    for turn in range(length):
        budget = means.get(turn, budget)
        budgets.append(budget)
    return tuple(budgets)


def specs_of(
    series: Series, game: SeriesGame, match: PlannedMatch, budgets: Budgets | None
) -> dict[str, str]:
    """Spec of every role's player in a match, with its budget if it has one; not of `random`."""
    plays = list(series.players.values())
    specs = {
        role: plays[player]
        if budgets is None or player == 0
        else with_states(plays[player], budgets[role])
        for role, player in match.seating.items()
    }
    specs |= game.fixed
    return {role: specs[role] for role in game.roles if role in specs}

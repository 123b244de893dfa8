"""Plays what is missing of a comparison and stores it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from ggp.errors import MatchError
from match_runner.comparison.budgets import Budgets, measured_budgets, specs_of
from match_runner.comparison.executor import Executor
from match_runner.comparison.plan import (
    Options,
    PlannedMatch,
    plan_matches,
    plan_measurements,
)
from match_runner.comparison.store import PlayedMatch, Store
from match_runner.comparison.tries import play_all
from match_runner.comparison.worker import Outcome, Task, play

Watcher = Callable[[PlayedMatch], None]
"""Is told of every match as it ends."""


def run_comparison(
    options: Options, store: Store, executor: Executor, watch: Watcher
) -> tuple[str, ...]:
    """Play all matches that are not stored yet.

    Returns:
        what could not be played, one line a match; the same call tries these again.

    Raises:
        MatchError: a match for measuring cannot be played, a worker failed otherwise than by
            crashing, or it has another backend than the stored matches.
    """
    session = _Session(options, store, executor, watch)
    missing = session.play(plan_measurements(options), None)
    if missing:
        raise MatchError(f"the budgets of states cannot be measured: {missing[0]}")
    return session.play(plan_matches(options), stored_budgets(options, store))


def stored_budgets(options: Options, store: Store) -> Budgets | None:
    """The budgets by the stored measurements; None without `--equal-states`, or too early."""
    planned = plan_measurements(options)
    measured = store.matches("measure")
    if not planned or len(measured) < len(planned):
        return None
    return measured_budgets(options, measured)


class _Session:
    """One run of the command."""

    def __init__(self, options: Options, store: Store, executor: Executor, watch: Watcher) -> None:
        self._options, self._store, self._executor = options, store, executor
        self._watch = watch
        # Workers of a cluster may see the same files, but they are in another folder.
        is_path = os.path.isfile(options.game)
        self._game = os.path.abspath(options.game) if is_path else options.game
        stored = [*store.matches("measure"), *store.matches("play")]
        self._keys = {match.planned.key for match in stored}
        self._backend = stored[0].outcome.backend if stored else None

    def play(self, planned: Sequence[PlannedMatch], budgets: Budgets | None) -> tuple[str, ...]:
        """Play those matches of a list that are not stored; what could not be."""
        missing = [match for match in planned if match.key not in self._keys]
        return play_all(
            self._executor,
            play,
            ((match, self._task(match, budgets)) for match in missing),
            lambda match, outcome: self._keep(match, outcome, budgets),
            lambda match: f"match {match.number} (seed {match.seed})",
        )

    def _task(self, match: PlannedMatch, budgets: Budgets | None) -> Task:
        options = self._options
        players = specs_of(options, match, budgets)
        return Task(self._game, options.digest, options.backend, players, match.seed)

    def _keep(self, match: PlannedMatch, outcome: Outcome, budgets: Budgets | None) -> None:
        if self._backend not in (None, outcome.backend):
            raise MatchError(
                f"a match was played on the backend {outcome.backend}, those stored on "
                f"{self._backend}: their numbers are not comparable; name one with --backend"
            )
        self._backend = outcome.backend
        self._store.add(match, specs_of(self._options, match, budgets), outcome)
        self._keys.add(match.key)
        self._watch(PlayedMatch(match, outcome))

"""Plays what is missing of a tournament and stores it."""

from __future__ import annotations

import logging
import queue
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future

from match_runner.comparison.executor import Executor, WorkerCrashError
from match_runner.comparison.plan import PlannedMatch
from match_runner.comparison.runner import MAX_TRIES
from match_runner.records import MatchRecord
from match_runner.tournament.plan import GamePlan, Tournament
from match_runner.tournament.store import Played, Store
from match_runner.tournament.worker import Task, play

_log = logging.getLogger(__name__)

Watcher = Callable[[Played], None]
"""Is told of every match as it ends."""


def run_tournament(
    tournament: Tournament, store: Store, executor: Executor, watch: Watcher
) -> tuple[str, ...]:
    """Play all matches that are not stored yet.

    Returns:
        what could not be played, one line a match; the same call tries these again.

    Raises:
        MatchError: a worker failed otherwise than by crashing.
    """
    stored = {match.planned.key for match in store.matches()}
    ended: queue.SimpleQueue[Future[MatchRecord]] = queue.SimpleQueue()
    running: dict[Future[MatchRecord], tuple[GamePlan, PlannedMatch]] = {}
    tries: Counter[tuple[str, int]] = Counter()
    failures = []

    def submit(game: GamePlan, match: PlannedMatch) -> None:
        tries[match.key] += 1
        future = executor.submit(play, (_task(tournament, game, match),))
        running[future] = game, match
        future.add_done_callback(ended.put)

    for game, match in tournament.planned():
        if match.key not in stored:
            submit(game, match)
    while running:
        future = ended.get()
        game, match = running.pop(future)
        try:
            record = future.result()
        except WorkerCrashError as error:
            _log.info("match %d of %s: %s", match.number, game.name, error)
            if tries[match.key] < MAX_TRIES:
                submit(game, match)
            else:
                failures.append(
                    f"match {match.number} of {game.name} was tried {MAX_TRIES} times: {error}"
                )
        else:
            store.add(match, record)
            watch(Played(match, record))
    return tuple(failures)


def _task(tournament: Tournament, game: GamePlan, match: PlannedMatch) -> Task:
    names = tournament.names
    players = {role: tournament.players[names[p]] for role, p in match.seating.items()}
    return Task(game.path, game.digest, tournament.backend, players, match.seed, game.conditions)

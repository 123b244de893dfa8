"""Plays what is missing of a tournament and stores it."""

from __future__ import annotations

from collections.abc import Callable

from match_runner.comparison.executor import Executor
from match_runner.comparison.plan import PlannedMatch
from match_runner.comparison.tries import play_all
from match_runner.records import MatchRecord
from match_runner.tournament.plan import GamePlan, Tournament
from match_runner.tournament.store import Played, Store
from match_runner.tournament.worker import Task, play

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
    missing = [(game, match) for game, match in tournament.planned() if match.key not in stored]

    def keep(each: tuple[GamePlan, PlannedMatch], record: MatchRecord) -> None:
        _, match = each
        store.add(match, record)
        watch(Played(match, record))

    return play_all(
        executor,
        play,
        ((each, _task(tournament, *each)) for each in missing),
        keep,
        lambda each: f"match {each[1].number} of {each[0].name}",
    )


def _task(tournament: Tournament, game: GamePlan, match: PlannedMatch) -> Task:
    names = tournament.names
    players = {role: tournament.players[names[p]] for role, p in match.seating.items()}
    return Task(game.path, game.digest, tournament.backend, players, match.seed, game.conditions)

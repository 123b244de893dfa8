"""Runs a series: has an executor play those matches that are not stored yet."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import takewhile

from ggp.errors import MatchError
from ggp.machine.games import backends
from match_runner.match.records import MatchRecord
from match_runner.series.match_task import MatchTask, play
from match_runner.series.outcomes import Played
from match_runner.series.plan import (
    MEASURE,
    PlannedMatch,
    Series,
    SeriesGame,
    plan_all,
    plan_measurements,
    with_states,
)
from match_runner.series.store import Store
from match_runner.workers.executor import Executor
from match_runner.workers.places import run_all

Watcher = Callable[[Played], None]
"""Function that takes every match as it ends."""


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
        go_on: asked before each match that counts, round by round; after the first no, no other
            match is begun.
        most_pending: see `run_all`; for a `go_on` that depends on results.

    Returns:
        the matches that could not be played, one line each; the same call tries these again.

    Raises:
        MatchError: a match for measuring cannot be played, a worker failed otherwise than by
            crashing, or it has another backend than the stored matches of the game.
    """
    session = _Session(series, store, executor, watch)
    missing = session.play(measurements(series, store), {})
    if missing:
        raise MatchError(f"the budgets of states cannot be measured: {missing[0]}")
    budgets = stored_budgets(series, store)
    return session.play(plan_all(series), budgets, go_on, most_pending)


def measurements(series: Series, store: Store) -> list[PlannedMatch]:
    """Matches of all games in which equal states are measured."""
    return [
        match
        for game in series.games
        for match in plan_measurements(series, game, store.measured[game.name])
    ]


def stored_budgets(series: Series, store: Store) -> dict[str, Budgets]:
    """Budgets of each game whose matches for measuring are all stored.

    Empty unless states are to be equal.
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
        """Play those of some matches that are not stored; returns what could not be played."""
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
        # The same seed is the same match on the same backend only: what `auto` chose for the first
        # match, which may depend on the machine, stays.
        backend = self._backends.get(game.name, self._series.backend)
        if backend not in backends():  # of another version; its matches will be refused
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
                f"a match of {planned.game} was played on the backend {record.backend}, those "
                f"stored on {backend}: their numbers are not comparable; name one with --backend"
            )
        # All records of a game hold one text, not the copy that each worker sends.
        rules = self._series.game(planned.game).program.source.text
        match = Played(planned, replace(record, rules=rules))
        self._store.add(match)
        self._keys.add(planned.key)
        self._watch(match)


# ------------------------------------------------------------------------
# Equal resources: budgets of states, measured on the first player.
#
# The number of states that a player visits depends on its role and on the turn: a player that moves
# first knows less, and playouts from early turns are longer. So budgets are means for each role and
# turn over the measured matches, over decisions between several moves only, because a forced move
# needs no budget.

Budgets = Mapping[str, tuple[int, ...]]
"""States per decision for each role, turn by turn."""


def measured_budgets(game: SeriesGame, measured: Sequence[Played]) -> Budgets:
    """Mean number of states that the first player visits in each role at each turn.

    A turn at which it never had a choice in a role gets the budget of the turn before, and the
    first turns get that of the turn after: in another match there may be a choice.
    """
    visited: dict[str, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    longest = 0
    for match in measured:
        for turn, role, decision in match.decisions():
            longest = max(longest, turn + 1)
            # Forced moves would lower the mean, and the others need no budget for theirs.
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
    """Spec of the player of every role but `random` in a match, with its budget if it has one."""
    plays = list(series.players.values())
    specs = {
        role: plays[player]
        if budgets is None or player == 0
        else with_states(plays[player], budgets[role])
        for role, player in match.seating.items()
    }
    specs |= game.fixed
    return {role: specs[role] for role in game.roles if role in specs}

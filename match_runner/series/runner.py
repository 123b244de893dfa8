"""Runs a series: has an executor play the matches that are not stored yet.

A plan and a store come in; every finished match goes into the store and to a watcher. Where states
must be equal, matches that measure the first player's budgets come first.
"""

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
from match_runner.workers.executor import Executor, run_all

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

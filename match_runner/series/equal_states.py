"""Equal resources: budgets of states, measured on the first player.

The number of states that a player visits depends on its role and on the turn: a player that moves
first knows less, and playouts from early turns are longer. So budgets are means for each role and
turn over the measured matches, over decisions between several moves only, because a forced move
needs no budget.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from match_runner.series.outcomes import Played
from match_runner.series.plan import PlannedMatch, Series, SeriesGame, with_states

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
    last = means[min(means)]
    budgets = []
    for turn in range(length):
        last = means.get(turn, last)
        budgets.append(last)
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

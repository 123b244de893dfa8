"""What the stored matches of a comparison come to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

from match_runner.comparison.budgets import Budgets
from match_runner.comparison.intervals import GOALS, Interval, mean_interval, share_interval
from match_runner.comparison.plan import Options, resampling_seed
from match_runner.comparison.store import PlayedMatch
from match_runner.comparison.worker import DecisionRow


@dataclass(frozen=True, slots=True)
class Effort:
    """What decisions between several moves cost on average.

    Attributes:
        decisions: how many there were.
        states, seconds: a decision; None of no decisions.
    """

    decisions: int
    states: float | None
    seconds: float | None


@dataclass(frozen=True, slots=True)
class PlayerSummary:
    """One player.

    Attributes:
        score: mean goal value, rounds being the independent unit.
        wins, draws, losses: contests in which it alone, it and others, or others came first.
        win_share: wins among these contests.
        effort: of its decisions.
        by_role: mean goal value and effort in each role that it played.
    """

    player: str
    score: Interval
    wins: int
    draws: int
    losses: int
    win_share: Interval
    effort: Effort
    by_role: Mapping[str, tuple[Interval, Effort]]


@dataclass(frozen=True, slots=True)
class Difference:
    """How much more one player got than another in the same rounds, so with the same seeds."""

    player: str
    other: str
    score: Interval
    rounds: int


@dataclass(frozen=True, slots=True)
class EqualStates:
    """One role at one turn: what was measured, and what every player really visited.

    Attributes:
        turn: from 0.
        budget: states a decision, measured on the first player beforehand.
        visited: by each player, in the order of the options; None of no decisions.
        decisions: of each player.
    """

    role: str
    turn: int
    budget: int
    visited: tuple[float | None, ...]
    decisions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Summary:
    """All that is reported of a comparison.

    Attributes:
        played: matches, of `options.matches`.
        players: in the order of the options.
        differences: of each pair of players.
        equal_states: by role, then turn; empty without `--equal-states`.
        faulty: each match in which something went wrong: number and errors.
    """

    options: Options
    played: int
    backend: str | None
    players: tuple[PlayerSummary, ...]
    differences: tuple[Difference, ...]
    equal_states: tuple[EqualStates, ...]
    faulty: tuple[tuple[int, tuple[str, ...]], ...]

    def to_json(self) -> dict[str, Any]:
        """The JSON that `match-runner compare --json` prints."""
        found = asdict(self)
        for player in found["players"]:
            player["by_role"] = {
                role: {"score": score, "effort": effort}
                for role, (score, effort) in player["by_role"].items()
            }
        found["faulty"] = [{"match": n, "errors": list(errors)} for n, errors in self.faulty]
        return found


def summarize(options: Options, matches: Sequence[PlayedMatch], budgets: Budgets | None) -> Summary:
    """Sum up what has been played so far.

    A contest is a match in which several players sit, else (in games of one role) a round:
    those who play the same match one after the other. Unfinished rounds count in means, but
    not in differences, and not as contests.
    """
    rounds = _by_round(matches)
    whole = [some for some in rounds if len(some) == options.matches_a_round]
    numbers = range(len(options.players))
    return Summary(
        options=options,
        played=len(matches),
        backend=matches[0].outcome.backend if matches else None,
        players=tuple(_player(options, number, matches, rounds, whole) for number in numbers),
        differences=tuple(_difference(options, *pair, whole) for pair in combinations(numbers, 2)),
        equal_states=tuple(_equal_states(options, matches, budgets)) if budgets else (),
        faulty=tuple(
            (match.planned.number, match.outcome.errors)
            for match in matches
            if match.outcome.errors
        ),
    )


def scores_of(matches: Sequence[PlayedMatch]) -> dict[int, float]:
    """The mean goal value of every player over its seats in some matches."""
    goals = defaultdict(list)
    for match in matches:
        for role, player in match.planned.seating.items():
            goals[player].append(match.outcome.goals[role])
    return {player: sum(values) / len(values) for player, values in sorted(goals.items())}


def effort_of(rows: Sequence[DecisionRow]) -> Effort:
    """The mean effort of those decisions that were between several moves."""
    open_ = [row for row in rows if row.candidates != 1]
    if not open_:
        return Effort(0, None, None)
    num = len(open_)
    return Effort(
        num, sum(row.states for row in open_) / num, sum(row.seconds for row in open_) / num
    )


def _by_round(matches: Sequence[PlayedMatch]) -> list[list[PlayedMatch]]:
    rounds = defaultdict(list)
    for match in matches:
        rounds[match.planned.round].append(match)
    return [rounds[number] for number in sorted(rounds)]


def _contests(
    matches: Sequence[PlayedMatch], whole: Sequence[Sequence[PlayedMatch]]
) -> list[dict[int, float]]:
    """The scores of those who can be compared, contest by contest."""
    among_several = [[match] for match in matches if len(set(match.planned.seating.values())) > 1]
    return [scores_of(contest) for contest in among_several or whole]


def _player(
    options: Options,
    number: int,
    matches: Sequence[PlayedMatch],
    rounds: Sequence[Sequence[PlayedMatch]],
    whole: Sequence[Sequence[PlayedMatch]],
) -> PlayerSummary:
    seed = resampling_seed(options)
    by_role = {}
    for role in options.seats:
        seated = [match for match in matches if match.planned.seating[role] == number]
        if seated:
            goals = [match.outcome.goals[role] for match in seated]
            effort = effort_of(_decisions(seated, number, role))
            by_role[role] = mean_interval(goals, seed), effort
    scores = [s[number] for s in map(scores_of, rounds) if number in s]
    margins = [
        contest[number] - max(score for player, score in contest.items() if player != number)
        for contest in _contests(matches, whole)
        if number in contest and len(contest) > 1
    ]
    wins = sum(margin > 0 for margin in margins)
    draws = sum(margin == 0 for margin in margins)
    return PlayerSummary(
        player=options.players[number],
        score=mean_interval(scores, seed),
        wins=wins,
        draws=draws,
        losses=len(margins) - wins - draws,
        win_share=share_interval(wins, len(margins)),
        effort=effort_of(_decisions(matches, number)),
        by_role=by_role,
    )


def _decisions(
    matches: Sequence[PlayedMatch], number: int, role: str | None = None
) -> list[DecisionRow]:
    """All decisions of a player, in all roles or in one."""
    return [
        row
        for match in matches
        for row in match.outcome.decisions
        if match.planned.seating[row.role] == number and role in (None, row.role)
    ]


def _difference(
    options: Options, number: int, other: int, whole: Sequence[Sequence[PlayedMatch]]
) -> Difference:
    found = [
        scores[number] - scores[other]
        for scores in map(scores_of, whole)
        if number in scores and other in scores
    ]
    bounds = (GOALS[0] - GOALS[1], GOALS[1] - GOALS[0])
    score = mean_interval(found, resampling_seed(options), bounds)
    return Difference(options.players[number], options.players[other], score, len(found))


def _equal_states(
    options: Options, matches: Sequence[PlayedMatch], budgets: Budgets
) -> list[EqualStates]:
    rows: dict[tuple[str, int, int], list[DecisionRow]] = defaultdict(list)
    for number in range(len(options.players)):
        for row in _decisions(matches, number):
            rows[row.role, row.turn, number].append(row)
    found = []
    for role in options.seats:
        last = max((turn for named, turn, _ in rows if named == role), default=-1)
        for turn in range(last + 1):
            efforts = [effort_of(rows[role, turn, n]) for n in range(len(options.players))]
            if any(effort.decisions for effort in efforts):
                budget = budgets[role][min(turn, len(budgets[role]) - 1)]
                visited = tuple(effort.states for effort in efforts)
                decisions = tuple(effort.decisions for effort in efforts)
                found.append(EqualStates(role, turn, budget, visited, decisions))
    return found

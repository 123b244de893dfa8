"""Outcomes of matches: scores, contests, effort, faults. Every summary consists of these.

Matches with their records come in; plain numbers go out. A match that failed (it ended before the
game was over, or its goals are not numbers) is counted and shown, but counts for nobody's score.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ggp.players import Decision
from ggp.statistics import Interval, mean_interval
from match_runner.match.records import Fault, MatchRecord
from match_runner.series.plan import PlannedMatch


@dataclass(frozen=True, slots=True)
class Played:
    """A planned match and its record."""

    planned: PlannedMatch
    record: MatchRecord

    @property
    def scored(self) -> dict[str, float]:
        """Goal value of every role; empty if the match failed."""
        if self.record.failed:
            return {}
        return {role: goal for role, goal in self.record.goals.items() if goal is not None}

    def decisions(self) -> Iterator[tuple[int, str, Decision]]:
        """Yield turn, role and decision of every seated player, by turn, then by role."""
        for index, turn in enumerate(self.record.turns):
            for role in self.record.roles:
                if role in turn.decisions and role in self.planned.seating:
                    yield index, role, turn.decisions[role]

    def faults(self, player: int) -> list[Fault]:
        """Faults of a player."""
        return [f for f in self.record.faults if self.planned.seating.get(f.role) == player]


Round = Sequence[Played]
"""Matches of one game with the same seed."""

Scores = Mapping[int, float]
"""Scores by player, as an index."""


@dataclass(frozen=True, slots=True)
class ContestCounts:
    """Counts of a player's contests.

    Attributes:
        wins, draws, losses: contests that it won alone, in which it shared the first place, and
            that others won.
        win_share: share of wins among these contests, from 0 to 1. Contests of a round share their
            seed, so rounds are the independent unit of its interval.
    """

    wins: int
    draws: int
    losses: int
    win_share: Interval


@dataclass(frozen=True, slots=True)
class Effort:
    """Mean effort of decisions between several moves.

    Attributes:
        decisions: number of decisions.
        states, seconds: per decision, seconds by the clock of its match; None without decisions.
    """

    decisions: int
    states: float | None
    seconds: float | None


def rounds_of(matches: Sequence[Played]) -> list[Round]:
    """Matches by round, then by game: the order does not depend on when matches ended."""
    rounds: dict[tuple[int, str], list[Played]] = defaultdict(list)
    for match in matches:
        rounds[match.planned.round, match.planned.game].append(match)
    return [rounds[key] for key in sorted(rounds)]


def scores_of(matches: Sequence[Played]) -> dict[int, float]:
    """Mean goal value of every player over its seats in some matches."""
    goals = defaultdict(list)
    for match in matches:
        scored = match.scored
        for role, player in match.planned.seating.items():
            if role in scored:
                goals[player].append(scored[role])
    return {player: sum(values) / len(values) for player, values in sorted(goals.items())}


def whole_rounds(rounds: Sequence[Round], matches_a_round: int) -> list[Scores]:
    """Scores of all players in every complete round, in which all matches were played and none
    failed; comparisons use these rounds only."""
    return [
        scores_of(round_)
        for round_ in rounds
        if len(round_) == matches_a_round and not any(match.record.failed for match in round_)
    ]


def contests_by_round(rounds: Sequence[Round], num_players: int) -> list[list[Scores]]:
    """Scores of the players in each contest, for each round that has contests.

    A contest is a match of several players; in games of one role it is a whole round, in which the
    players play the same match one after the other.
    """
    grouped: list[list[Scores]] = []
    for round_ in rounds:
        among_several = [m for m in round_ if len(set(m.planned.seating.values())) > 1]
        if among_several:
            grouped.append([scores for match in among_several if (scores := scores_of([match]))])
        elif len(scores := scores_of(round_)) == num_players > 1:
            grouped.append([scores])
    return [contests for contests in grouped if contests]


def contests_of(rounds: Sequence[Round], num_players: int) -> list[Scores]:
    """All contests in order, see `contests_by_round`."""
    return [contest for contests in contests_by_round(rounds, num_players) for contest in contests]


def tally_of(
    contests: Sequence[Sequence[Scores]], player: int, seed: int, *, fixed: bool
) -> ContestCounts:
    """Count a player's wins, draws and losses.

    Args:
        contests: contests by round.
        seed, fixed: see `mean_interval`.
    """
    margins = [
        [
            contest[player] - max(score for rival, score in contest.items() if rival != player)
            for contest in round_
            if player in contest and len(contest) > 1
        ]
        for round_ in contests
    ]
    all_margins = [margin for round_ in margins for margin in round_]
    wins, draws = sum(m > 0 for m in all_margins), sum(m == 0 for m in all_margins)
    shares = [sum(m > 0 for m in round_) / len(round_) for round_ in margins if round_]
    share = mean_interval(shares, seed, (0.0, 1.0), fixed=fixed)
    if share.value is not None:
        # Where a round lacks contests, the mean of rounds differs from the share of all.
        share = replace(share, value=wins / len(all_margins))
    return ContestCounts(wins, draws, len(all_margins) - wins - draws, share)


def decisions_of(
    matches: Sequence[Played], player: int, role: str | None = None
) -> list[tuple[int, str, Decision]]:
    """Turn, role and decision of a player that had several moves, in all roles or in one.

    Decisions of remote players are included, although they do not name the other moves.
    """
    return [
        (turn, name, decision)
        for match in matches
        for turn, name, decision in match.decisions()
        if match.planned.seating[name] == player
        and role in (None, name)
        and len(decision.values) != 1
    ]


def effort_of(decisions: Sequence[tuple[int, str, Decision]]) -> Effort:
    """Mean effort of some decisions."""
    if not decisions:
        return Effort(0, None, None)
    num = len(decisions)
    states = sum(decision.states_visited for _, _, decision in decisions)
    seconds = sum(decision.seconds for _, _, decision in decisions)
    return Effort(num, states / num, seconds / num)


def always_at_fault(names: Sequence[str], matches: Sequence[Played]) -> list[tuple[str, Fault]]:
    """Players that committed a fault in every one of their matches, each with its first fault."""
    offenders = []
    for player, name in enumerate(names):
        faults = [
            match.faults(player) for match in matches if player in match.planned.seating.values()
        ]
        if faults and all(faults):
            offenders.append((name, faults[0][0]))
    return offenders


def fault_counts(matches: Sequence[Played], player: int) -> Counter[str]:
    """Number of a player's faults, by kind."""
    return Counter(fault.kind for match in matches for fault in match.faults(player))

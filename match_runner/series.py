"""Many matches of one game between the same players."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from match_runner.records import MatchRecord, MatchResult, as_number
from match_runner.referee import Conditions, play_match, seed_of_match
from match_runner.seats import Arena
from match_runner.statistics import Mean, mean_of


def play_series(
    arena: Arena, seed: int, num_matches: int, conditions: Conditions | None = None
) -> Iterator[MatchRecord]:
    """Matches one after the other, each as soon as it is over.

    Match i is the match with seed `seed + i`, whether played in a series or alone.
    """
    for number in range(num_matches):
        yield play_match(arena, seed_of_match(seed, number), conditions)


@dataclass(frozen=True, slots=True)
class Summary:
    """What a series came to.

    Attributes:
        game: as it was given.
        matches: in the order they were played.
        means: goal values of every role over the matches.
        states_visited: by every role's player in all matches together.
    """

    game: str
    matches: tuple[MatchResult, ...]
    means: Mapping[str, Mean]
    states_visited: Mapping[str, int]

    def to_json(self) -> dict[str, Any]:
        """The JSON that `match-runner play --json` prints."""
        return {
            "game": self.game,
            "matches": [
                {
                    "seed": match.seed,
                    "goals": {role: as_number(goal) for role, goal in match.goals.items()},
                    "turns": match.turns,
                    "errors": list(match.errors),
                }
                for match in self.matches
            ],
            "mean": {role: asdict(mean) for role, mean in self.means.items()},
            "states_visited": dict(self.states_visited),
        }


def summarize(game: str, roles: Sequence[str], results: Sequence[MatchResult]) -> Summary:
    """Means and totals of the matches of a series, all of them, errors or not."""
    return Summary(
        game=game,
        matches=tuple(results),
        means={role: mean_of([match.goals[role] for match in results]) for role in roles},
        states_visited={
            role: sum(match.states_visited[role] for match in results) for role in roles
        },
    )

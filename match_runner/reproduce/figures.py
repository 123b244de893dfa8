"""Figures 3 to 5: scores of HyperPlay-II over its resource index."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from match_runner.comparison.executor import Executor
from match_runner.comparison.intervals import Interval, share_interval
from match_runner.reproduce import published, theory
from match_runner.reproduce.results import (
    Claim,
    Line,
    Point,
    Result,
    Settings,
    Tell,
    contains,
    point_at,
)
from match_runner.reproduce.series import Duel, Played, play_duel, size_of

EXACT, SAMPLED = "exact small sets (default)", "sampled (exact=0)"
CURVES: Mapping[str, str] = {EXACT: "", SAMPLED: ",exact=0"}
"""The two curves of each figure, and the options that make them."""

STRONG = "hyperplay:n=8"
"""4,096 playouts a candidate: more change nothing in these games."""

GUESSER = "hyperplay:n=6"
"""1,296 playouts a candidate."""

RANDOM_INDEX = "0"

PlayedDuels = Mapping[str, Played]
"""Duels by folder."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of scores over resource indices.

    Attributes:
        name: as the command knows it.
        title: one line.
        method: how it is made.
        game: that is played.
        indices: resource indices beyond 0, of the ordinary run.
        long_indices: those that take hours.
        duels: one for each index and curve, and others that claims need.
        points: made of the duels.
        claims: what the paper says, judged by them.
        lines: levels to compare with.
    """

    name: str
    title: str
    method: str
    game: str
    indices: tuple[int, ...]
    long_indices: tuple[int, ...]
    duels: Callable[[Figure, Sequence[int]], list[Duel]]
    points: Callable[[PlayedDuels, Sequence[int]], list[Point]]
    claims: Callable[[PlayedDuels, Sequence[Point]], list[Claim]]
    lines: tuple[Line, ...]

    def size(self, settings: Settings) -> int:
        return sum(size_of(duel, settings) for duel in self._duels(settings))

    def run(self, settings: Settings, executor: Executor, tell: Tell) -> Result:
        played = {
            duel.folder: play_duel(duel, settings, executor, tell) for duel in self._duels(settings)
        }
        points = self.points(played, self._indices(settings))
        return Result(
            *(self.name, self.title, self.method, "mean score", tuple(points)),
            claims=tuple(self.claims(played, points)),
            lines=self.lines,
            failures=tuple(text for duel in played.values() for text in duel.failures),
        )

    def _indices(self, settings: Settings) -> tuple[int, ...]:
        return self.indices + (self.long_indices if settings.long else ())

    def _duels(self, settings: Settings) -> list[Duel]:
        return self.duels(self, self._indices(settings))


def folder_of(name: str, index: str, curve: str) -> str:
    """Where the duel of a point is kept."""
    return f"{name}/n{index}{'-sampled' if curve == SAMPLED else ''}"


def point_of(
    series: str, at: str, played: Played, *, player: int = 0, alone: bool = False
) -> Point:
    """The mean score of a player of a duel.

    Args:
        alone: whether the two did not play against each other.
    """
    own, other = played.summary.players[player], played.summary.players[1 - player]
    return Point(
        *(series, at, own.score, len(played.goals(player)), own.player),
        opponent="" if alone else other.player,
        states=own.effort.states,
        opponent_states=None if alone else other.effort.states,
    )


def interval_text(interval: Interval, unit: str = "") -> str:
    """`68.9 [68.1, 69.4]`, as much of it as there is."""
    if interval.value is None:
        return "-"
    if interval.low is None or interval.high is None:
        return f"{interval.value:.1f}{unit}"
    return f"{interval.value:.1f}{unit} [{interval.low:.1f}, {interval.high:.1f}]"


def share_text(successes: int, trials: int) -> str:
    """`97 of 100`."""
    return f"{successes} of {trials}"


def last_point(points: Sequence[Point], series: str, at: int) -> Point | None:
    """The point of an index, or of the highest below it that was made."""
    made = [p for p in points if p.series == series and p.at.isdigit() and int(p.at) <= at]
    return max(made, key=lambda p: int(p.at), default=None)


# ------------------------------------------------------------------ two players


def _equal_duels(figure: Figure, indices: Sequence[int]) -> list[Duel]:
    """Random play, then HyperPlay-II at each index, against HyperPlay."""
    found = [Duel(figure.game, "random", STRONG, folder_of(figure.name, RANDOM_INDEX, EXACT))]
    for n in indices:
        for curve, options in CURVES.items():
            found.append(
                Duel(
                    *(figure.game, f"hyperplay2:n={n}{options}", f"hyperplay:n={n}{options}"),
                    folder_of(figure.name, str(n), curve),
                    equal_states=True,
                )
            )
    return found


def _equal_points(name: str) -> Callable[[PlayedDuels, Sequence[int]], list[Point]]:
    def points(played: PlayedDuels, indices: Sequence[int]) -> list[Point]:
        found = []
        for curve in CURVES:
            random = played[folder_of(name, RANDOM_INDEX, EXACT)]
            found.append(point_of(curve, RANDOM_INDEX, random))
            for n in indices:
                found.append(point_of(curve, str(n), played[folder_of(name, str(n), curve)]))
        return found

    return points


EQUAL_METHOD = (
    "Each point is a comparison of its own, the players changing roles, with the seeds of all "
    "others. HyperPlay has the same options as HyperPlay-II and as many states to visit for "
    "each decision as HyperPlay-II visits in the same role at the same turn (`--equal-states`). "
    f"Index 0 is random play against `{STRONG}`."
)

# ------------------------------------------------------------------ figure 3


def _guessing_duels(figure: Figure, indices: Sequence[int]) -> list[Duel]:
    """Both curves at each index, and random play and HyperPlay, on the same numbers."""
    found = [Duel(figure.game, "random", GUESSER, folder_of(figure.name, RANDOM_INDEX, EXACT))]
    for n in indices:
        exact, sampled = (f"hyperplay2:n={n}{options}" for options in CURVES.values())
        found.append(Duel(figure.game, exact, sampled, folder_of(figure.name, str(n), EXACT)))
    return found


def _guessing_points(played: PlayedDuels, indices: Sequence[int]) -> list[Point]:
    random = played[folder_of("figure3", RANDOM_INDEX, EXACT)]
    found = []
    for number, curve in enumerate(CURVES):
        found.append(point_of(curve, RANDOM_INDEX, random, alone=True))
        for n in indices:
            duel = played[folder_of("figure3", str(n), EXACT)]
            found.append(point_of(curve, str(n), duel, player=number, alone=True))
    found.append(point_of("HyperPlay", GUESSER, random, player=1, alone=True))
    return found


def _guessing_claims(played: PlayedDuels, points: Sequence[Point]) -> list[Claim]:
    guesser = played[folder_of("figure3", RANDOM_INDEX, EXACT)]
    firsts = [rows[0].move for rows in guesser.decisions(1) if rows]
    guesses = point_at(points, "HyperPlay", GUESSER)
    best = last_point(points, EXACT, 8)
    assert guesses is not None
    assert best is not None
    careful = played[folder_of("figure3", best.at, EXACT)]
    early = sum(
        row.move == "ready" and row.particles > 1 for rows in careful.decisions(0) for row in rows
    )
    expected = theory.random_useful_questions()
    return [
        Claim(
            f"HyperPlay ({GUESSER}) announces at once",
            "always",
            share_text(firsts.count("ready"), len(firsts)),
            firsts.count("ready") == len(firsts),
        ),
        Claim(
            "and guesses right by chance",
            f"{published.HYPERPLAY_GUESSES:.2f}",
            interval_text(guesses.value),
            contains(guesses.value, published.HYPERPLAY_GUESSES),
        ),
        Claim(
            f"HyperPlay-II (n = {best.at}) announces only when it is certain",
            "always",
            f"not in {share_text(early, len(careful.goals(0)))}",
            early <= len(careful.goals(0)) / 100,
            "An announcement with more than one number possible needs simulations that are all "
            "lucky; their number decides how often that happens.",
        ),
        Claim(
            f"HyperPlay-II (n = {best.at}) approaches binary search",
            f"towards {published.BINARY_SEARCH:.0f}",
            interval_text(best.value),
            contains(best.value, expected),
            f"{expected:.2f} is what can be expected: Definition 9 values every question that "
            "can be answered either way alike (a simulated HyperPlayer announces at once after "
            "any), so it asks useful questions with random thresholds.",
        ),
    ]


FIGURE_3 = Figure(
    name="figure3",
    title="Figure 3: number guessing",
    method="HyperPlay-II alone, at each index with and without exact small information sets, on "
    f"the same numbers. Index 0 is random play. The line of HyperPlay is its expectation; "
    f"`{GUESSER}` was played too.",
    game="number_guessing",
    indices=(1, 2, 4, 8),
    long_indices=(16,),
    duels=_guessing_duels,
    points=_guessing_points,
    claims=_guessing_claims,
    lines=(
        Line(published.BINARY_SEARCH, "binary search"),
        Line(theory.random_useful_questions(), "useful questions at random"),
        Line(published.HYPERPLAY_GUESSES, "HyperPlay"),
    ),
)

# ------------------------------------------------------------------ figure 4

_AGAINST_STRONG = "figure4/against-4096-playouts"
_STRONG_INDEX = 8
_TIED = {"(deposit 40 60)", "(deposit 60 40)"}
_GREEDY = {"(deposit 100 0)", "(deposit 0 100)"}


def _banker_duels(figure: Figure, indices: Sequence[int]) -> list[Duel]:
    player = f"hyperplay2:n={_STRONG_INDEX}"
    return [*_equal_duels(figure, indices), Duel(figure.game, player, STRONG, _AGAINST_STRONG)]


def _banker_points(played: PlayedDuels, indices: Sequence[int]) -> list[Point]:
    points = _equal_points("figure4")(played, indices)
    return [
        *points,
        point_of(f"against {STRONG}", str(_STRONG_INDEX), played[_AGAINST_STRONG]),
    ]


def _banker_claims(played: PlayedDuels, points: Sequence[Point]) -> list[Claim]:
    strong = played[_AGAINST_STRONG]
    greedy = _deposits(strong, 1, _GREEDY)
    hidden = _deposits(strong, 0, _TIED)
    kept = strong.goals(1, "banker")
    claims = [
        Claim(
            f"HyperPlay ({STRONG}) as banker puts 100 into its bank",
            "always",
            share_text(*greedy),
            greedy[0] == greedy[1],
        ),
        Claim(
            "and keeps nothing",
            "0",
            f"{sum(kept) / len(kept):.1f}",
            not any(kept),
        ),
        Claim(
            f"HyperPlay-II (n = {_STRONG_INDEX}) as banker puts 40 into its bank",
            "always",
            share_text(*hidden),
            hidden[0] == hidden[1],
        ),
    ]
    for series in (f"against {STRONG}", *CURVES):
        point = point_at(points, series, str(_STRONG_INDEX))
        if point is not None:
            claims.append(
                Claim(
                    f"optimum at index {_STRONG_INDEX}: {series}",
                    f"{published.BANKER_AND_THIEF:.0f}",
                    interval_text(point.value),
                    contains(point.value, published.BANKER_AND_THIEF),
                    "Where the score is below 70: with so few playouts HyperPlay as banker "
                    "sometimes deposits 90 or 80 by error, and then there is less to steal.",
                )
            )
    return claims


def _deposits(played: Played, player: int, wanted: set[str]) -> tuple[int, int]:
    moves = [row.move for rows in played.decisions(player) for row in rows if row.role == "banker"]
    return sum(move in wanted for move in moves), len(moves)


FIGURE_4 = Figure(
    name="figure4",
    title="Figure 4: banker and thief",
    method=f"{EQUAL_METHOD} The value is the mean of both roles. One more point is played "
    f"against `{STRONG}`, which has 4,096 playouts a candidate whatever HyperPlay-II visits.",
    game="banker_and_thief",
    indices=(1, 2, 4, 8, 16),
    long_indices=(),
    duels=_banker_duels,
    points=_banker_points,
    claims=_banker_claims,
    lines=(
        Line(published.BANKER_AND_THIEF, "optimum against a greedy opponent"),
        Line(theory.random_against_greedy(), "random play against a greedy opponent"),
    ),
)

# ------------------------------------------------------------------ figure 5

_BATTLE_INDEX = 4


def _battle_claims(played: PlayedDuels, points: Sequence[Point]) -> list[Claim]:
    claims = []
    for curve in CURVES:
        point = last_point(points, curve, _BATTLE_INDEX)
        assert point is not None
        duel = played[folder_of("figure5", point.at, curve)]
        matches = list(zip(duel.decisions(0), duel.goals(0), strict=True))
        firsts = [rows[0].move for rows, _ in matches if rows]
        scans = firsts.count("scan")
        won = [rows for rows, goal in matches if goal == 100]
        quick = sum(len(rows) == 2 for rows in won)
        share = share_interval(scans, len(firsts))
        name = f"HyperPlay-II (n = {point.at}), {curve}"
        claims += [
            Claim(
                f"{name}: share won",
                f"{published.BATTLESHIPS:.1f}",
                interval_text(point.value),
                contains(point.value, published.BATTLESHIPS),
                "What is missing is lost before the shot that the scan makes certain: hits of "
                "HyperPlay by chance (9.4 % if both play without error), scans put off because "
                "few simulations of some shot happened to go well, and targets that moved.",
            ),
            Claim(
                f"{name}: scans first",
                "always",
                share_text(scans, len(firsts)),
                None if share.high is None else share.high >= 0.99,
            ),
            Claim(
                f"{name}: wins by scan, then fire",
                "always",
                share_text(quick, len(won)),
                None if not won else quick >= 0.9 * len(won),
            ),
        ]
    return claims


FIGURE_5 = Figure(
    name="figure5",
    title="Figure 5: battleships in fog",
    method=f"{EQUAL_METHOD} Both go first in half of the matches.",
    game="battleships_in_fog",
    indices=(1, 2, 4),
    long_indices=(8,),
    duels=_equal_duels,
    points=_equal_points("figure5"),
    claims=_battle_claims,
    lines=(Line(published.BATTLESHIPS, "published"), Line(50.0, "equal players")),
)

"""Figure 3: HyperPlay-II alone in number guessing, against published and computed scores."""

from __future__ import annotations

from collections.abc import Sequence

from ggp.labs.papers.reproduce import published
from ggp.labs.papers.reproduce.duels import Duel
from ggp.labs.papers.reproduce.figures import (
    CURVES,
    EXACT,
    RANDOM_INDEX,
    Figure,
    Measured,
    PlayedDuels,
    folder_of,
    last_point,
    point_of,
    random_duel,
    share_text,
)
from ggp.labs.papers.reproduce.published import at_random, useful_questions
from ggp.labs.papers.reproduce.results import (
    Claim,
    Point,
    ReferenceLine,
    agrees_with,
    happens,
    point_at,
    reaches,
)

GUESSER = "hyperplay:n=6"
"""Spec of HyperPlay with 1,296 playouts a candidate."""

ENOUGH = 8
"""Index at which HyperPlay-II should play as well as it can."""

MIN_SCORE = 85

_NAME, _GAME = "figure3", "number_guessing"


def _duels(indices: Sequence[int]) -> list[Duel]:
    """Duels of random play and HyperPlay, and of all curves at each index, on the same numbers."""
    duels = [random_duel(_NAME, _GAME, GUESSER)]
    for n in indices:
        players = tuple(f"hyperplay2:n={n}{curve.options}" for curve in CURVES.values())
        duels.append(Duel(_GAME, players, folder_of(_NAME, str(n), EXACT)))
    return duels


def _points(duels: PlayedDuels, indices: Sequence[int]) -> Measured:
    random = duels[folder_of(_NAME, RANDOM_INDEX, EXACT)]
    points = []
    for index, curve in enumerate(CURVES):
        points.append(point_of(curve, RANDOM_INDEX, random, separate=True))
        for n in indices:
            duel = duels[folder_of(_NAME, str(n), EXACT)]
            points.append(point_of(curve, str(n), duel, player=index, separate=True))
    return [*points, point_of("HyperPlay", GUESSER, random, player=1, separate=True)]


def _claims(duels: PlayedDuels, points: Sequence[Point]) -> list[Claim]:
    guesser = duels[folder_of(_NAME, RANDOM_INDEX, EXACT)]
    firsts = [match[0][1].move for match in guesser.decisions(1) if match]
    num_first = firsts.count("ready")
    guesses = point_at(points, "HyperPlay", GUESSER)
    assert guesses is not None
    best = last_point(points, EXACT, ENOUGH)
    careful = duels[folder_of(_NAME, best.at, EXACT)]
    # The sets of the default curve are exact: each particle is one possible number.
    announced = [
        decision.particles == 1
        for match in careful.decisions(0)
        for _, decision in match
        if decision.move == "ready" and decision.exact
    ]
    player = f"HyperPlay-II (n = {best.at})"
    useful = useful_questions(at_random)
    return [
        Claim(
            f"HyperPlay ({GUESSER}) announces immediately",
            "paper: always",
            share_text(num_first, len(firsts)),
            happens(num_first, len(firsts)),
        ),
        Claim(
            "and guesses right by chance",
            f"paper: {published.HYPERPLAY_GUESSES:.2f}",
            format(guesses.value, ".1f"),
            agrees_with(guesses, published.HYPERPLAY_GUESSES),
        ),
        Claim(
            f"{player} announces when one number is left, in at least 99 of 100 matches",
            "paper: always",
            share_text(sum(announced), len(announced)),
            happens(sum(announced), len(announced), 0.99),
            "An announcement with more numbers possible needs simulations that are all lucky; "
            "their number decides how often that happens.",
        ),
        Claim(
            f"{player} approaches binary search",
            f"paper: towards {published.BINARY_SEARCH:.0f}",
            format(best.value, ".1f"),
            agrees_with(best, published.BINARY_SEARCH),
            "Definition 9 gives all questions with two possible answers the same value: after any "
            "of them a simulated HyperPlayer announces immediately. So thresholds are random. If "
            "the best worst particle decided ties, this would be binary search.",
        ),
        Claim(
            "and scores what useful questions with random thresholds score",
            f"computed: {useful:.2f}",
            format(best.value, ".1f"),
            agrees_with(best, useful),
            "With few simulations an announcement that comes too early looks good by luck.",
        ),
        Claim(
            f"{player}: score",
            f"at least {MIN_SCORE}",
            format(best.value, ".1f"),
            reaches(best.value.value, MIN_SCORE, best.rounds),
        ),
    ]


FIGURE_3 = Figure(
    name=_NAME,
    title="Figure 3: number guessing",
    method="HyperPlay-II alone, at each index with and without exact small information sets, and "
    "with ties broken by promptness, on the same numbers. Index 0 is random play. The line of "
    f"HyperPlay is its expectation; `{GUESSER}` was played too.",
    duels=_duels,
    points=_points,
    claims=_claims,
    lines=(
        ReferenceLine(published.BINARY_SEARCH, "binary search"),
        ReferenceLine(useful_questions(at_random), "useful questions at random"),
        ReferenceLine(published.HYPERPLAY_GUESSES, "HyperPlay"),
    ),
    indices=(1, 2, 4, 8),
    long_indices=(16,),
)

"""Figure 3: number guessing."""

from __future__ import annotations

from collections.abc import Sequence

from ggp.labs.papers.reproduce import published
from ggp.labs.papers.reproduce.duels import Duel
from ggp.labs.papers.reproduce.figures import (
    CURVES,
    EXACT,
    RANDOM_INDEX,
    Figure,
    PlayedDuels,
    folder_of,
    last_point,
    point_of,
    score_text,
    share_text,
)
from ggp.labs.papers.reproduce.published import random_useful_questions
from ggp.labs.papers.reproduce.results import (
    BY_LOT,
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
"""Index at which HyperPlay-II is expected to play as well as it can."""

LEAST_SCORE = 85

_NAME = "figure3"


def _duels(figure: Figure, indices: Sequence[int]) -> list[Duel]:
    """Duels of all curves at each index, of random play and of HyperPlay, on the same numbers."""
    found = [
        Duel(figure.game, ("random", f"{GUESSER}{BY_LOT}"), folder_of(_NAME, RANDOM_INDEX, EXACT))
    ]
    for n in indices:
        players = tuple(f"hyperplay2:n={n}{curve.options}" for curve in CURVES.values())
        found.append(Duel(figure.game, players, folder_of(_NAME, str(n), EXACT)))
    return found


def _points(played: PlayedDuels, indices: Sequence[int]) -> list[Point]:
    random = played[folder_of(_NAME, RANDOM_INDEX, EXACT)]
    found = []
    for number, curve in enumerate(CURVES):
        found.append(point_of(curve, RANDOM_INDEX, random, alone=True))
        for n in indices:
            duel = played[folder_of(_NAME, str(n), EXACT)]
            found.append(point_of(curve, str(n), duel, player=number, alone=True))
    found.append(point_of("HyperPlay", GUESSER, random, player=1, alone=True))
    return found


def _claims(played: PlayedDuels, points: Sequence[Point]) -> list[Claim]:
    guesser = played[folder_of(_NAME, RANDOM_INDEX, EXACT)]
    firsts = [made[0][1].move for made in guesser.decisions(1) if made]
    at_once = firsts.count("ready")
    guesses = point_at(points, "HyperPlay", GUESSER)
    assert guesses is not None
    best = last_point(points, EXACT, ENOUGH)
    careful = played[folder_of(_NAME, best.at, EXACT)]
    # The sets of the default curve are exact: each particle is one possible number.
    announced = [
        decision.particles == 1
        for made in careful.decisions(0)
        for _, decision in made
        if decision.move == "ready" and decision.exact
    ]
    who = f"HyperPlay-II (n = {best.at})"
    useful = random_useful_questions()
    return [
        Claim(
            f"HyperPlay ({GUESSER}) announces at once",
            "paper: always",
            share_text(at_once, len(firsts)),
            happens(at_once, len(firsts)),
        ),
        Claim(
            "and guesses right by chance",
            f"paper: {published.HYPERPLAY_GUESSES:.2f}",
            score_text(guesses.value),
            agrees_with(guesses, published.HYPERPLAY_GUESSES),
        ),
        Claim(
            f"{who} announces when one number is left, in at least 99 of 100 matches",
            "paper: always",
            share_text(sum(announced), len(announced)),
            happens(sum(announced), len(announced), 0.99),
            "An announcement with more numbers possible needs simulations that are all lucky; "
            "their number decides how often that happens.",
        ),
        Claim(
            f"{who} approaches binary search",
            f"paper: towards {published.BINARY_SEARCH:.0f}",
            score_text(best.value),
            agrees_with(best, published.BINARY_SEARCH),
            "Definition 9 values every question that can be answered either way alike: a "
            "simulated HyperPlayer announces at once after any of them. So thresholds are random.",
        ),
        Claim(
            "and scores what useful questions with random thresholds score",
            f"computed: {useful:.2f}",
            score_text(best.value),
            agrees_with(best, useful),
            "With few simulations an announcement that comes too early looks good by luck.",
        ),
        Claim(
            f"{who}: score",
            f"at least {LEAST_SCORE}",
            score_text(best.value),
            reaches(best.value.value, LEAST_SCORE, best.rounds),
        ),
    ]


FIGURE_3 = Figure(
    name=_NAME,
    title="Figure 3: number guessing",
    method="HyperPlay-II alone, at each index with and without exact small information sets, and "
    "with ties told apart by promptness, on the same numbers. Index 0 is random play. The line of "
    f"HyperPlay is its expectation; `{GUESSER}` was played too.",
    game="number_guessing",
    indices=(1, 2, 4, 8),
    long_indices=(16,),
    duels=_duels,
    points=_points,
    claims=_claims,
    lines=(
        ReferenceLine(published.BINARY_SEARCH, "binary search"),
        ReferenceLine(random_useful_questions(), "useful questions at random"),
        ReferenceLine(published.HYPERPLAY_GUESSES, "HyperPlay"),
    ),
)

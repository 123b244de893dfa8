"""Figure 4: HyperPlay-II against HyperPlay in banker and thief."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from ggp.labs.papers.reproduce import published
from ggp.labs.papers.reproduce.duels import Duel, PlayedDuel
from ggp.labs.papers.reproduce.figures import (
    CURVES,
    EQUAL_METHOD,
    SAMPLED,
    STRONG,
    Figure,
    Measured,
    PlayedDuels,
    equal_duels,
    equal_points,
    folder_of,
    point_of,
    share_text,
)
from ggp.labs.papers.reproduce.published import random_against_greedy
from ggp.labs.papers.reproduce.results import (
    BY_LOT,
    FEWEST_ROUNDS,
    Claim,
    Point,
    ReferenceLine,
    agrees_with,
    happens,
    point_at,
    reaches,
)

OPTIMAL_INDEX = 8
"""Index at which the paper's HyperPlay-II reaches the optimum."""

MIN_SCORE, MIN_SAMPLED_SCORE = 68, 65
RISING = (2, 4, 16)
"""Indices between which the sampled curve should rise."""

_NAME, _GAME = "figure4", "banker_and_thief"
_AGAINST_STRONG = f"{_NAME}/against-4096-playouts"
_SERIES = f"against {STRONG}"
_HIDDEN = {"(deposit 40 60)", "(deposit 60 40)"}
_GREEDY = {"(deposit 100 0)", "(deposit 0 100)"}


def _duels(indices: Sequence[int]) -> list[Duel]:
    players = f"hyperplay2:n={OPTIMAL_INDEX}{BY_LOT}", f"{STRONG}{BY_LOT}"
    return [*equal_duels(_NAME, _GAME, indices), Duel(_GAME, players, _AGAINST_STRONG)]


def _points(duels: PlayedDuels, indices: Sequence[int]) -> Measured:
    strong = point_of(_SERIES, str(OPTIMAL_INDEX), duels[_AGAINST_STRONG])
    return [*equal_points(_NAME, duels, indices), strong]


def _claims(duels: PlayedDuels, points: Sequence[Point]) -> list[Claim]:
    strong = duels[_AGAINST_STRONG]
    greedy, hidden = _deposits(strong, 1), _deposits(strong, 0)
    of_greedy, of_hidden = greedy.total(), hidden.total()
    in_one = sum(greedy[move] for move in _GREEDY)
    by_forty = sum(hidden[move] for move in _HIDDEN)
    banked = strong.goals(1, "banker")
    nothing = banked.count(0)
    player = f"HyperPlay-II (n = {OPTIMAL_INDEX})"
    claims = [
        Claim(
            f"HyperPlay ({STRONG}) as banker puts 100 into its bank",
            "paper: always",
            share_text(in_one, of_greedy),
            happens(in_one, of_greedy),
        ),
        Claim(
            "and keeps nothing",
            "paper: always",
            share_text(nothing, len(banked)),
            happens(nothing, len(banked)),
        ),
        Claim(
            f"{player} as banker puts 40 into its bank",
            "paper: always",
            share_text(by_forty, of_hidden),
            happens(by_forty, of_hidden),
        ),
    ]
    for series in (_SERIES, *CURVES):
        point = point_at(points, series, str(OPTIMAL_INDEX))
        if point is not None:
            is_curve = series in CURVES
            opponent = duels[folder_of(_NAME, point.at, series)] if is_curve else strong
            claims.append(
                Claim(
                    f"{player}, {series}: the optimum",
                    f"paper: {published.BANKER_AND_THIEF:.0f}",
                    format(point.value, ".1f"),
                    agrees_with(point, published.BANKER_AND_THIEF),
                    _deposits_text(opponent),
                )
            )
    best = point_at(points, _SERIES, str(OPTIMAL_INDEX))
    assert best is not None
    claims.append(
        Claim(
            f"{player} against 4,096 playouts a candidate",
            f"at least {MIN_SCORE}",
            format(best.value, ".1f"),
            reaches(best.value.value, MIN_SCORE, best.rounds),
        )
    )
    return [*claims, *_sampled_claims(points)]


def _sampled_claims(points: Sequence[Point]) -> list[Claim]:
    sampled = [point_at(points, SAMPLED, str(n)) for n in RISING]
    measured = [p for p in sampled if p is not None and p.value.value is not None]
    if len(measured) < len(RISING):
        return []
    scores = [p.value.value or 0.0 for p in measured]
    enough = min(p.rounds for p in measured) >= FEWEST_ROUNDS
    rises = all(low < high for low, high in pairwise(scores))
    return [
        Claim(
            f"sampled curve at n = {', '.join(map(str, RISING))}",
            "rises",
            ", ".join(f"{score:.1f}" for score in scores),
            rises if enough else None,
        ),
        Claim(
            f"sampled curve at n = {RISING[-1]}",
            f"at least {MIN_SAMPLED_SCORE}",
            format(measured[-1].value, ".1f"),
            reaches(scores[-1], MIN_SAMPLED_SCORE, measured[-1].rounds),
        ),
    ]


def _deposits(duel: PlayedDuel, player: int) -> Counter[str]:
    """How often a player as banker made each deposit."""
    return Counter(
        decision.move
        for match in duel.decisions(player)
        for role, decision in match
        if role == "banker"
    )


def _deposits_text(duel: PlayedDuel) -> str:
    """Deposits of HyperPlay as banker, as text: below 100 in one bank there is less to steal."""
    largest: Counter[int] = Counter()
    for move, count in _deposits(duel, 1).items():
        largest[max(int(part) for part in move.strip("()").split()[1:])] += count
    counts = ", ".join(f"{count} times {amount}" for amount, count in sorted(largest.items())[::-1])
    return f"HyperPlay as banker put into one bank: {counts}. Below 100 there is less to steal."


FIGURE_4 = Figure(
    name=_NAME,
    title="Figure 4: banker and thief",
    method=f"{EQUAL_METHOD} The value is the mean of both roles. One more point is played "
    f"against `{STRONG}`, which has 4,096 playouts a candidate whatever HyperPlay-II visits.",
    duels=_duels,
    points=_points,
    claims=_claims,
    lines=(
        ReferenceLine(published.BANKER_AND_THIEF, "optimum against a greedy opponent"),
        ReferenceLine(random_against_greedy(), "random play against a greedy opponent"),
    ),
    indices=(1, 2, 4, 8, 16),
)

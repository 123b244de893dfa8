"""Figure 5: HyperPlay-II against HyperPlay in battleships in fog."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ggp.labs.papers.reproduce import published
from ggp.labs.papers.reproduce.duels import PlayedDuel
from ggp.labs.papers.reproduce.figures import (
    CURVES,
    EQUAL_METHOD,
    EXACT,
    Figure,
    PlayedDuels,
    equal_duels,
    equal_points,
    folder_of,
    last_point,
    share_text,
)
from ggp.labs.papers.reproduce.results import Claim, Point, ReferenceLine, happens, reaches

SUFFICIENT_INDEX = 4
"""Resource index that suffices to dominate, according to the paper."""

MIN_SHARE_WON, MIN_SCANS, MIN_QUICK = 75, 0.9, 0.9

_NAME, _GAME = "figure5", "battleships_in_fog"
_QUICK = ["scan", "fire"]


def _claims(duels: PlayedDuels, points: Sequence[Point]) -> list[Claim]:
    claims = []
    for curve in CURVES:
        point = last_point(points, curve, SUFFICIENT_INDEX)
        claims += _claims_of(curve, point, duels[folder_of(_NAME, point.at, curve)])
    return claims


def _claims_of(curve: str, point: Point, duel: PlayedDuel) -> list[Claim]:
    matches = list(zip(duel.decisions(0), duel.goals(0), strict=True))
    acts = [([_act(decision.move) for _, decision in match], goal) for match, goal in matches]
    firsts = [names[0] for names, _ in acts if names]
    scans = firsts.count("scan")
    won = [names for names, goal in acts if goal == 100]
    quick = won.count(_QUICK)
    lost = [names for names, goal in acts if goal == 0]
    unlucky = sum(names in ([], ["scan"]) for names in lost)
    percent = duel.summary.players[0].tally.win_share.percent
    agrees = None
    if percent.low is not None and percent.high is not None:
        agrees = percent.low <= published.BATTLESHIPS <= percent.high
    player = f"HyperPlay-II (n = {point.at}), {curve}"
    claims = [
        Claim(
            f"{player}: % won",
            f"paper: 100 - 9.4 = {published.BATTLESHIPS:.1f}",
            format(percent, ".1f"),
            agrees,
            f"Of {len(lost)} lost matches, {unlucky} were lost to a hit before the shot after the "
            "scan.",
        ),
        Claim(
            f"{player}: scans first, in at least {MIN_SCANS:.0%}",
            "paper: always",
            share_text(scans, len(firsts)),
            happens(scans, len(firsts), MIN_SCANS),
        ),
        Claim(
            f"{player}: wins by scan, then fire, at least {MIN_QUICK:.0%} of its wins",
            "paper: always",
            share_text(quick, len(won)),
            happens(quick, len(won), MIN_QUICK),
        ),
    ]
    if curve == EXACT:
        reached = reaches(percent.value, MIN_SHARE_WON, point.rounds)
        bound = f"at least {MIN_SHARE_WON}"
        claims.insert(1, Claim(f"{player}: % won", bound, format(percent, ".1f"), reached))
    return claims


def _act(move: str) -> str:
    """Name of a move: `fire` of `(fire 1 2)`."""
    return move.strip("()").split()[0]


FIGURE_5 = Figure(
    name=_NAME,
    title="Figure 5: battleships in fog",
    method=f"{EQUAL_METHOD} Both go first in half of the matches. Draws count half in the mean "
    "score.",
    duels=partial(equal_duels, _NAME, _GAME),
    points=partial(equal_points, _NAME),
    claims=_claims,
    lines=(
        ReferenceLine(published.BATTLESHIPS, "100 - HyperPlay's chance"),
        ReferenceLine(50.0, "equal players"),
    ),
    indices=(1, 2, 4),
    long_indices=(8,),
)

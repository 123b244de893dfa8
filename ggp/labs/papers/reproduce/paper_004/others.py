"""Two experiments beyond the paper's: its known limitation, and larger games."""

from __future__ import annotations

from collections.abc import Sequence

from ggp.labs.papers.reproduce.duels import Duel
from ggp.labs.papers.reproduce.figures import (
    STRONG,
    Figure,
    Measured,
    PlayedDuels,
    equal_duel,
    point_of,
)
from ggp.labs.papers.reproduce.results import BY_LOT, Claim, Point, ReferenceLine, agrees_with

LARGER_GAMES = ("krieg_tic_tac_toe", "blind_breakthrough", "meier")
_N = 4


def _pairs(indices: Sequence[int]) -> list[Duel]:
    ours = (f"hyperplay2:n=8{BY_LOT}", f"hyperplay2:n=4{BY_LOT}")
    theirs = (f"{STRONG}{BY_LOT}", f"hyperplay:n=4{BY_LOT}")
    pairs = {"both-ii": ours, "both-hyperplay": theirs, "mixed": (ours[0], theirs[0])}
    return [
        Duel("cooperative_spies", players, folder=f"limitation/{folder}")
        for folder, players in pairs.items()
    ]


def _points_of_pairs(duels: PlayedDuels, indices: Sequence[int]) -> Measured:
    return [
        point_of("both spies", " and ".join(p.player for p in duel.summary.players), duel)
        for duel in duels.values()
    ]


def _claims_of_pairs(duels: PlayedDuels, points: Sequence[Point]) -> list[Claim]:
    return [
        Claim(
            f"{point.at} cannot coordinate",
            "paper: not possible; by chance 50",
            format(point.value, ".1f"),
            agrees_with(point, 50.0),
        )
        for point in points
    ]


LIMITATION = Figure(
    name="limitation",
    title="Limitation: cooperative spies",
    method="The first spy knows the wire and sends a word that no rule connects with it; both "
    "spies score the same. A player is paired with one of its kind with other resources, "
    "and HyperPlay-II with HyperPlay; they take turns at the roles.",
    duels=_pairs,
    points=_points_of_pairs,
    claims=_claims_of_pairs,
    lines=(ReferenceLine(50.0, "guessing"),),
)

LARGER = Figure(
    name="larger",
    title="Larger games",
    method=f"HyperPlay-II (n = {_N}) against HyperPlay with as many states to visit for each "
    "decision as it visits in that role at that turn when it plays itself "
    "(`--equal-states`); the players take turns at the roles. The paper has no numbers "
    "for these games.",
    duels=lambda _: [equal_duel(game, _N, f"larger/{game}") for game in LARGER_GAMES],
    points=lambda duels, _: [
        point_of("HyperPlay-II", game, duels[f"larger/{game}"]) for game in LARGER_GAMES
    ],
    claims=lambda duels, points: [],
    lines=(ReferenceLine(50.0, "equal players"),),
)

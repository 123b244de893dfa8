"""Papers 000 and 001: who beats whom in kriegspiel, and in small games with such an umpire.

The papers gave seconds to machines of their time. Here every player has a tenth of a second a try
on boards of chess and of five by five, and as long on small games.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from match_runner.reproduce.duels import Duel, PlayedDuel
from match_runner.reproduce.figures import score_text
from match_runner.reproduce.grid import (
    EQUAL,
    JUDGED_ROUNDS,
    Cells,
    Grid,
    Shown,
    cell_text,
    share_together,
    shares_of,
    sign_of,
)
from match_runner.reproduce.results import FEWEST_ROUNDS, Claim, Table
from match_runner.series.intervals import interval_text
from match_runner.series.outcomes import ContestCounts, contests_of, rounds_of, tally_of

CLOCK_S = 0.1

SMALL_GAMES = ("krieg_tic_tac_toe", "phantom_connect_four", "blind_breakthrough")
SMALL_BOARD, BOARD = "kriegspiel_5x5", "kriegspiel"

OVER, PARA = "over:depth=1", "para:depth=1"
CAUTIOUS = "para:depth=1,leaf=min"
SHORT_POOL = 600
"""Boards of a pool that dies out on the whole board."""


@dataclass(frozen=True, slots=True)
class Expected:
    """Two players in a game, and what is expected of the first.

    Attributes:
        share: at least this share of the points, by its mean; None where nothing is said of it.
        sign: whether it is significantly (99 %) better: 1, or that neither is: 0.
        most_lost: share of matches that it may lose.
    """

    game: str
    players: tuple[str, str]
    share: float | None = None
    sign: int | None = None
    most_lost: float | None = None

    @property
    def duel(self) -> Duel:
        folder = f"kriegspiel/{self.game}/{'-'.join(self.players)}".replace(":", "_")
        return Duel(self.game, self.players, folder, play_clock_s=CLOCK_S)


EXPECTED = (
    # Paper 000: to expect random moves is better than to expect the worst.
    Expected("krieg_tic_tac_toe", (OVER, PARA), share=65),
    Expected("phantom_connect_four", (OVER, PARA), share=75),
    Expected("phantom_connect_four", ("over:depth=2", "para:depth=2"), share=85),
    Expected("phantom_connect_four", ("over:depth=3", OVER), sign=1),
    Expected("blind_breakthrough", (OVER, PARA)),
    Expected(BOARD, (OVER, CAUTIOUS), share=57.5),
    Expected(BOARD, (OVER, "random"), share=65, most_lost=0.05),
    Expected(SMALL_BOARD, (OVER, PARA)),
    # Paper 001: what remembers all observations is better than what remembers the last one.
    Expected("phantom_connect_four", ("hs", "los"), share=65),
    Expected("blind_breakthrough", ("hs", "los"), share=58),
    Expected("phantom_connect_four", ("hs", "aosp"), sign=0),
    Expected(BOARD, (f"hs:pool={SHORT_POOL}", f"aosp:pool={SHORT_POOL}"), sign=1),
    # Two decades of ideas.
    *(
        Expected(SMALL_BOARD, (player, "hs"))
        for player in ("hyperplay", "hyperplay2", "ismcts", "pimc", OVER)
    ),
    *(Expected(BOARD, (player, "hs")) for player in ("hyperplay", "ismcts", OVER)),
)


def duels() -> list[Duel]:
    """All duels: first those of the small games."""
    return [each.duel for each in EXPECTED]


def show(cells: Cells) -> Shown:
    """What is expected of each, and a table."""
    rows = []
    for duel, cell in cells.items():
        tally = _tally(cell)
        lead = _lead(tally)
        rows.append(
            (
                duel.game,
                *duel.players,
                str(len(cell.matches)),
                cell_text(shares_of(cell)),
                "." if lead is None else f"{lead:+.1f}",
                interval_text(tally.win_share, ".1f", 100),
            )
        )
    head = (
        "game",
        "first",
        "second",
        "#matches",
        "#share of the first",
        "#wins - losses, %",
        "#% won by it [99 %]",
    )
    return Shown(
        tuple(_claims(cells)),
        (
            Table(
                "With a tenth of a second a try; + and - mark significant shares (99 %)",
                head,
                tuple(rows),
            ),
        ),
    )


def _claims(cells: Cells) -> Iterator[Claim]:
    for each in EXPECTED:
        cell = cells.get(each.duel)
        if cell is None:
            continue
        text = f"{each.players[0]} against {each.players[1]} in {each.game}"
        shares = shares_of(cell)
        mean = share_together([shares])
        if each.share is not None:
            enough = mean.value is not None and len(shares) >= FEWEST_ROUNDS
            yield Claim(
                text,
                f"at least {each.share:g}",
                score_text(mean),
                (mean.value >= each.share) if enough and mean.value is not None else None,
            )
        if each.sign is not None:
            sign = sign_of(shares)
            yield Claim(
                text,
                f"above {EQUAL:g}, 99 %" if each.sign else f"{EQUAL:g} is in the interval",
                score_text(mean),
                None if sign is None else sign == each.sign,
            )
        if each.most_lost is not None:
            tally = _tally(cell)
            played = _played(tally)
            lost = tally.losses / played if played else 0.0
            yield Claim(
                f"{text}: matches lost",
                f"at most {each.most_lost:.0%}",
                f"{lost:.1%} of {played}",
                lost <= each.most_lost if played >= 2 * JUDGED_ROUNDS else None,
            )


def _tally(cell: PlayedDuel) -> ContestCounts:
    return tally_of(contests_of(rounds_of(cell.matches), 2), 0)


def _played(tally: ContestCounts) -> int:
    return tally.wins + tally.draws + tally.losses


def _lead(tally: ContestCounts) -> float | None:
    """Percent of matches that the first player won more than it lost."""
    played = _played(tally)
    return 100 * (tally.wins - tally.losses) / played if played else None


KRIEGSPIEL = Grid(
    "kriegspiel",
    "Kriegspiel: two decades of ideas",
    f"Players of papers 000 and 001 play each other and ours with {CLOCK_S:g} s a try, on the "
    "whole board, on five by five, and in small games; they take turns at the roles. A share is 50 "
    "and half of what a player got more than the other: with 100 for a win and 50 for a draw, the "
    "mean score.",
    duels,
    show,
    matches=100,
    quick_matches=4,
)

"""Numbers of papers 000 and 001 on kriegspiel. Those of paper 002 are lost in the text we have."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

from ggp.statistics.intervals import LEVEL

DEPTHS = (1, 2, 3)
SECONDS = (30, 90)
"""Seconds that paper 000 gave for a move."""

HISTORIES = {1: (1683, 3145), 2: (321, 662), 3: (67, 190)}
"""Paper 000, Figure 4: histories a move at each depth, in 30 and 90 seconds."""

BOARDS = 350
"""Paper 001: boards a move that there was time to search in 30 seconds."""

POOL = 20_000
"""Paper 001: most boards in a pool."""

RETRY_PERCENT = 7
"""Paper 000: 2 of 30 seconds after a refused try, in percent. In paper 001 it is all of them."""

SETS_GAMES = 500
"""Paper 000: games of each cell."""


@dataclass(frozen=True, slots=True)
class Published:
    """What a paper says of a cell.

    Attributes:
        won, lost: percent of games of the first player.
        games: how many there were.
    """

    won: float
    lost: float
    games: int

    @property
    def lead(self) -> float:
        """Percent won less percent lost."""
        return self.won - self.lost

    @property
    def error(self) -> float:
        """Half of the 99 % interval of the lead, from the spread of wins, draws and losses.

        The normal approximation: the papers' own intervals are at 95 %, and those of paper 001 are
        not those of so many games.
        """
        variance = (self.won + self.lost) / 100 - (self.lead / 100) ** 2
        return 100 * NormalDist().inv_cdf((1 + LEVEL) / 2) * math.sqrt(variance / self.games)


FIGURES_2_3 = {
    (opponent, player, depth, seconds): Published(*numbers, SETS_GAMES)
    for (opponent, player, seconds), row in {
        ("random", "over", 30): ((48, 1), (50, 1), (32, 5)),
        ("random", "over", 90): ((47, 1), (55, 2), (43, 6)),
        ("random", "para", 30): ((5, 2), (29, 3), (22, 4)),
        ("random", "para", 90): ((4, 4), (31, 1), (27, 4)),
        ("hs", "over", 30): ((19, 5), (16, 7), (10, 18)),
        ("hs", "over", 90): ((26, 2), (18, 5), (13, 14)),
        ("hs", "para", 30): ((2, 7), (5, 5), (4, 14)),
        ("hs", "para", 90): ((1, 6), (7, 4), (5, 13)),
    }.items()
    for depth, numbers in zip(DEPTHS, row, strict=True)
}
"""Paper 000: each depth against random play and HS."""

FIGURE_5 = {
    (over, para): Published(*numbers, SETS_GAMES)
    for para, row in {
        1: ((8, 1), (15, 2), (12, 2)),
        2: ((22, 4), (19, 5), (16, 17)),
        3: ((24, 4), (31, 4), (16, 14)),
    }.items()
    for over, numbers in zip(DEPTHS, row, strict=True)
}
"""Paper 000: the overconfident against the paranoid, by the depths of both, at 30 seconds."""

TABLES_2_3 = {
    ("los", "random"): Published(39, 0, 559),
    ("aosp", "random"): Published(63, 0, 560),
    ("hs", "random"): Published(65, 0.5, 558),
    ("aosp", "los"): Published(31, 0, 190),
    ("hs", "los"): Published(38, 0.5, 190),
    ("hs", "aosp"): Published(13.3, 10.7, 1669),
}
"""Paper 001."""

"""Duels that repeat the experiments of papers 000 to 002, and others of interest beside them.

The papers gave 30 and 90 seconds a move, and 2 and 6 (30 in the second paper) after a try that was
refused. Here it is `SHORT_S` and `LONG_S`, and a fifteenth of that after a refused try. The results
show how many boards were searched in that time.
"""

from __future__ import annotations

from dataclasses import dataclass

from match_runner.reproduce.duels import Duel

SHORT_S, LONG_S = 0.05, 0.15
"""Seconds for a move, in the ratio of 1 to 3 as in paper 000."""

RETRY_PERCENT = 7
"""Percent of that time after a try that was refused: a fifteenth."""

BOARD, SMALL_BOARD = "kriegspiel", "kriegspiel_5x5"
SMALL_GAMES = ("krieg_tic_tac_toe", "phantom_connect_four", "blind_breakthrough")
GAMES = (*SMALL_GAMES, SMALL_BOARD, BOARD)

SAMPLERS = ("los", "aosp", "hs")
"""Players that are named by their samplers. In the papers they do not search for other boards when
they have none: they make a random move."""

DEPTHS = (1, 2, 3)
SHORT_POOL = 600
"""Number of boards in a pool that dies out on the whole board."""

POOLS = (600, 2_000, 6_000, 20_000)


def spec(game: str, player: str, **options: object) -> str:
    """Spec of a player with the options that it has in a game.

    On chess boards, states are valued by KS of paper 000 and drawn if no history is found, and a
    refused try is a ply: else few histories fit into the time. Paper 000 does not say which sampler
    makes the histories of `over` and `para`: here they keep all histories that we find.
    """
    if player in SAMPLERS:
        options["rescue"] = "none"
    if game in (BOARD, SMALL_BOARD) and player != "random":
        options["retry"] = RETRY_PERCENT
        options["boards"] = "kriegspiel"
        if player not in ("hyperplay", "hyperplay2", "ismcts"):
            options["evaluation"] = "kriegspiel"
        if player in ("over", "para"):
            options["tries"] = 0
    given = ",".join(f"{name}={value}" for name, value in options.items())
    return f"{player}:{given}" if given else player


@dataclass(frozen=True, slots=True)
class Cell:
    """Two players in a game, and what is known or expected of the first.

    Attributes:
        clock_s: seconds for a move; None if players go by their own counts.
        published: percent of matches that the first won and lost in a paper.
        share: least mean share of the points that it should get.
        sign: 1 if it should be significantly (99 %) better, 0 if neither should.
        lead: least lead, percent of matches won less percent lost, that it should have.
        most_lost: greatest share of matches that it may lose.
        least_won: least share of matches that it should win.
    """

    game: str
    players: tuple[str, str]
    clock_s: float | None = SHORT_S
    published: tuple[float, float] | None = None
    share: float | None = None
    sign: int | None = None
    lead: float | None = None
    most_lost: float | None = None
    least_won: float | None = None

    @property
    def duel(self) -> Duel:
        """The cell as a duel."""
        names = "-".join(self.players).replace(":", "_")
        clock = "counts" if self.clock_s is None else f"{self.clock_s:g}s"
        folder = f"kriegspiel/{self.game}/{names}-{clock}"
        return Duel(self.game, self.players, folder, play_clock_s=self.clock_s)


def _sets(game: str, clock_s: float, opponent: str) -> list[Cell]:
    """Cells of Figures 2 and 3 of paper 000."""
    published = PUBLISHED_SETS if game == BOARD else {}
    judged = (game, opponent, clock_s) == (BOARD, "random", SHORT_S)
    measured = ("over", 1) if judged else None
    return [
        Cell(
            game,
            (spec(game, player, depth=depth), spec(game, opponent)),
            clock_s,
            published.get((opponent, player, depth, clock_s)),
            least_won=0.35 if measured == (player, depth) else None,
            most_lost=0.05 if measured == (player, depth) else None,
        )
        for player in ("over", "para")
        for depth in DEPTHS
    ]


def _against_each_other(game: str) -> list[Cell]:
    """Cells of Figure 5 of paper 000."""
    least = {
        ("krieg_tic_tac_toe", 1, 1): 65.0,
        ("phantom_connect_four", 1, 1): 75.0,
    }
    return [
        Cell(
            game,
            (spec(game, "over", depth=over), spec(game, "para", depth=para)),
            published=PUBLISHED_OVER_PARA[para, over] if game == BOARD else None,
            share=least.get((game, over, para)),
        )
        for over in DEPTHS
        for para in DEPTHS
    ]


def _samplers(game: str) -> list[Cell]:
    """Cells of Tables 2 and 3 of paper 001."""
    least = {
        ("phantom_connect_four", "hs", "los"): {"share": 65.0},
        ("blind_breakthrough", "hs", "los"): {"share": 58.0},
        ("phantom_connect_four", "hs", "aosp"): {"sign": 0},
    }
    return [
        Cell(
            game,
            (spec(game, first), spec(game, second)),
            published=won_and_lost if game == BOARD else None,
            **least.get((game, first, second), {}),  # type: ignore[arg-type]
        )
        for (first, second), won_and_lost in PUBLISHED_SAMPLERS.items()
    ]


def _ideas(game: str) -> list[Cell]:
    """Cells of two decades of ideas: our players against the best of the papers'."""
    best = spec(game, "over", depth=1), spec(game, "hs")
    return [
        Cell(game, (spec(game, player), opponent))
        for opponent in best
        for player in ("hyperplay", "hyperplay2", "ismcts")
    ]


def _others() -> list[Cell]:
    game, pool = "phantom_connect_four", {"pool": SHORT_POOL}
    ahead = spec(game, "over", depth=3), spec(game, "over", depth=1)
    deeper = spec(game, "over", depth=2), spec(game, "para", depth=2)
    return [
        # Both get as many histories: a clock gives depth 1 so many playouts that it errs less.
        Cell(game, ahead, None, sign=1),
        Cell(game, ahead),
        Cell(game, deeper, LONG_S, share=85.0),
        Cell(
            BOARD,
            (spec(BOARD, "over", depth=1), spec(BOARD, "para", depth=1, leaf="min")),
            lead=15.0,
        ),
        Cell(BOARD, (spec(BOARD, "hs", **pool), spec(BOARD, "aosp", **pool)), sign=1),
        *(Cell(BOARD, (spec(BOARD, "aosp", pool=size), "random")) for size in POOLS),
    ]


PUBLISHED_SETS = {
    (opponent, player, depth, clock_s): numbers
    for (opponent, player, clock_s), row in {
        ("random", "over", SHORT_S): ((48, 1), (50, 1), (32, 5)),
        ("random", "over", LONG_S): ((47, 1), (55, 2), (43, 6)),
        ("random", "para", SHORT_S): ((5, 2), (29, 3), (22, 4)),
        ("random", "para", LONG_S): ((4, 4), (31, 1), (27, 4)),
        ("hs", "over", SHORT_S): ((19, 5), (16, 7), (10, 18)),
        ("hs", "over", LONG_S): ((26, 2), (18, 5), (13, 14)),
        ("hs", "para", SHORT_S): ((2, 7), (5, 5), (4, 14)),
        ("hs", "para", LONG_S): ((1, 6), (7, 4), (5, 13)),
    }.items()
    for depth, numbers in zip(DEPTHS, row, strict=True)
}
"""Paper 000, Figures 2 and 3: percent won and lost."""

PUBLISHED_OVER_PARA = {
    (para, over): numbers
    for para, row in {
        1: ((8, 1), (15, 2), (12, 2)),
        2: ((22, 4), (19, 5), (16, 17)),
        3: ((24, 4), (31, 4), (16, 14)),
    }.items()
    for over, numbers in zip(DEPTHS, row, strict=True)
}
"""Paper 000, Figure 5: percent won and lost by the overconfident, at 30 seconds."""

PUBLISHED_SAMPLERS = {
    ("los", "random"): (39.0, 0.0),
    ("aosp", "random"): (63.0, 0.0),
    ("hs", "random"): (65.0, 0.5),
    ("aosp", "los"): (31.0, 0.0),
    ("hs", "los"): (38.0, 0.5),
    ("hs", "aosp"): (13.3, 10.7),
}
"""Paper 001, Tables 2 and 3: percent won and lost."""

PUBLISHED_BOARDS = {1: (1683, 3145), 2: (321, 662), 3: (67, 190)}
"""Paper 000, Figure 4: boards a move at each depth, in 30 and 90 seconds."""


def cells() -> list[Cell]:
    """All cells: first those that decide most, in games that are over soon."""
    found: list[Cell] = []
    for game in GAMES:
        found += _against_each_other(game)[:1]
    found += _others()[:4]
    for game in GAMES:
        found += _samplers(game)
        found += _sets(game, SHORT_S, "random") + _sets(game, SHORT_S, "hs")
        found += _against_each_other(game)
    for game in (SMALL_BOARD, BOARD):
        found += _ideas(game)
    found += _others()
    for opponent in ("random", "hs"):
        found += _sets(BOARD, LONG_S, opponent)
    return list(dict.fromkeys(found))

"""The duels of the kriegspiel experiment: who plays whom, with the papers' numbers.

`experiment` plays them. They repeat the experiments of papers 000 to 002, and add further ones.

On the whole board, the game of the papers, budgets are counts: as many histories and boards a move
as the papers had time for, or a twentieth or a hundredth of them. So results depend on the seed and
not on the machine, and a series can continue wherever and whenever there is time. Smaller games,
which are in no paper, are played with a clock.

Paper 000 does not say where the histories of `over` and `para` come from. On the whole board they
come from a pool that is filled up like that of HS: any other sampler that does not search for
histories has none left after some thirty plies.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist

from ggp.labs.papers.reproduce.duels import Duel
from ggp.statistics import LEVEL

# ------------------------------------------------------------------------
# Numbers of papers 000 and 001 on kriegspiel. Those of paper 002 are lost in the text we have.

DEPTHS = (1, 2, 3)
SECONDS = (30, 90)
"""Seconds that paper 000 gave for a move."""

HISTORIES = {1: (1683, 3145), 2: (321, 662), 3: (67, 190)}
"""Paper 000, Figure 4: histories a move at each depth, in 30 and 90 seconds."""

BOARDS = 350
"""Paper 001: boards searched for a move in 30 seconds."""

POOL = 20_000
"""Paper 001: most boards in a pool."""

RETRY_PERCENT = 7
"""Paper 000: 2 of 30 seconds after a refused try, in percent. In paper 001: 100."""

SETS_GAMES = 500
"""Paper 000: games of each cell."""


@dataclass(frozen=True, slots=True)
class Published:
    """Published numbers of a cell.

    Attributes:
        won, lost: percent of its games that the first player won, and lost.
        games: number of games.
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

        The normal approximation. The papers give 95 % intervals, which in paper 001 do not
        fit the numbers of games.
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
"""Paper 001: each sampler against random play, and the samplers against each other."""


SHORT_S, LONG_S = 0.05, 0.15
"""Seconds for a move in smaller games, in the ratio of 1 to 3 as in paper 000."""

PAPERS, TWENTIETH, HUNDREDTH = "papers", "twentieth", "hundredth"
BUDGETS = {HUNDREDTH: 100, TWENTIETH: 20, PAPERS: 1}
"""Budgets of the cells on the whole board: the samples of the papers, divided by this."""

BOARD, SMALL_BOARD = "kriegspiel", "kriegspiel_5x5"
SMALL_GAMES = ("krieg_tic_tac_toe", "phantom_connect_four", "blind_breakthrough")
GAMES = (*SMALL_GAMES, SMALL_BOARD, BOARD)

SAMPLERS = ("los", "aosp", "hs")
"""Players that are named by their samplers. In the papers, without a board they do not search for
others, but make a random move."""

POOLS = (600, 2_000, 6_000, 20_000)

POOL_WORLDS = 64
"""Boards searched for a move where pools of these sizes are compared."""

LONG_COUNTS = frozenset(
    max(1, round(numbers[1] / share))
    for numbers in HISTORIES.values()
    for share in BUDGETS.values()
)
"""Histories a move in the longer runs."""

AUTO = "ismcts"
"""The player that `auto` chooses for kriegspiel; it has an option for a budget of states."""

AUTO_STATES = 1_100_000
"""Its states per decision against random play, with the papers' samples: about as many as HS's."""

_OWN_FILE = {"boards": BOARD, "evaluation": BOARD}


def spec(game: str, player: str, **options: object) -> str:
    """Spec of a player under a clock, with its options for a game.

    On chess boards, KS of paper 000 values states, states are drawn if no history is found, and a
    refused try is a ply: otherwise few histories fit into the time.
    """
    if player in SAMPLERS:
        options["rescue"] = "none"
    if game in (BOARD, SMALL_BOARD) and player != "random":
        options["boards"] = BOARD
        if player not in ("hyperplay", "hyperplay2", "ismcts"):
            options |= {"retry": RETRY_PERCENT, "evaluation": BOARD}
        if player in ("over", "para"):
            options["tries"] = 0
    return _text(player, options)


def sampled(player: str, budget: str, depth: int = 1, seconds: int = 30) -> str:
    """Spec of a player of the papers on the whole board, by counts.

    Args:
        player: `over`, `para`, one of `SAMPLERS`, or `random`.
        budget: one of `BUDGETS`.
        depth, seconds: of `over` and `para`: plies, and the paper's seconds for a move.
    """
    share = BUDGETS[budget]
    if player == "random":
        return _text(player, {"boards": BOARD})
    options: dict[str, object] = {"rescue": "none", **_OWN_FILE, "pool": POOL // share}
    if player in SAMPLERS:
        return _text(player, {"worlds": round(BOARDS / share), **options})
    count = max(1, round(HISTORIES[depth][SECONDS.index(seconds)] / share))
    options |= {"sampler": "hs", "tries": 0, "retry": RETRY_PERCENT}
    if player == "para":
        options["leaf"] = "min"  # "is not averaging the values of the samples it takes"
    return _text(player, {"depth": depth, "histories": count, "particles": count, **options})


def short(player: str) -> str:
    """Short name of a player: `over 1` for `over:depth=1,tries=0,...`."""
    name, options = player.partition(":")[0], options_of(player)
    depth = [options["depth"]] if "depth" in options else []
    counts = int(options.get("histories", 0))
    long = [f"{SECONDS[1]} s"] if counts in LONG_COUNTS else []
    pool = [f"pool {options['pool']}"] if options.get("worlds") == str(POOL_WORLDS) else []
    return " ".join([name, *depth, *long, *pool])


def options_of(player: str) -> dict[str, str]:
    """The options of a spec, as text."""
    return dict(option.split("=") for option in player.partition(":")[2].split(",") if option)


def _text(player: str, options: dict[str, object]) -> str:
    text = ",".join(f"{name}={value}" for name, value in options.items())
    return f"{player}:{text}" if text else player


@dataclass(frozen=True, slots=True)
class DuelCell:
    """Two players in a game, with a paper's numbers and our expectations for the first.

    Attributes:
        clock_s: seconds for a move; None if the players' counts decide.
        budget: one of `BUDGETS`, on the whole board.
        paper: published numbers.
        games: most games, unless the command names a number; None: as in other grids.
        equal_states: whether the second gets as many states as the first visits.
        share: lowest expected share of the first.
        sign: 1 if the first should be significantly (99 %) better, 0 if neither should.
    """

    game: str
    players: tuple[str, str]
    clock_s: float | None = SHORT_S
    budget: str = ""
    paper: Published | None = None
    games: int | None = None
    equal_states: bool = False
    share: float | None = None
    sign: int | None = None

    @property
    def duel(self) -> Duel:
        """The cell as a duel."""
        if self.budget:
            names = "-".join(map(short, self.players)).replace(" ", "_")
            folder = f"kriegspiel/{self.game}/{self.budget}/{names}"
        else:
            names = "-".join(self.players).replace(":", "_")
            clock = "counts" if self.clock_s is None else f"{self.clock_s:g}s"
            folder = f"kriegspiel/{self.game}/{names}-{clock}"
        return Duel(
            self.game, self.players, folder, self.equal_states, self.clock_s, budget=self.budget
        )


def _sets(game: str, opponent: str) -> list[DuelCell]:
    """Cells after Figures 2 and 3 of paper 000, in a smaller game."""
    return [
        DuelCell(game, (spec(game, player, depth=depth), spec(game, opponent)))
        for player in ("over", "para")
        for depth in DEPTHS
    ]


def _against_each_other(game: str) -> list[DuelCell]:
    """Cells after Figure 5 of paper 000."""
    min_shares = {
        ("krieg_tic_tac_toe", 1, 1): 65.0,
        ("phantom_connect_four", 1, 1): 75.0,
    }
    return [
        DuelCell(
            game,
            (spec(game, "over", depth=over), spec(game, "para", depth=para)),
            share=min_shares.get((game, over, para)),
        )
        for over in DEPTHS
        for para in DEPTHS
    ]


def _samplers(game: str) -> list[DuelCell]:
    """Cells after Tables 2 and 3 of paper 001."""
    expected = {
        ("phantom_connect_four", "hs", "los"): {"share": 65.0},
        ("blind_breakthrough", "hs", "los"): {"share": 58.0},
        ("phantom_connect_four", "hs", "aosp"): {"sign": 0},
    }
    return [
        DuelCell(
            game,
            (spec(game, first), spec(game, second)),
            **expected.get((game, first, second), {}),  # type: ignore[arg-type]
        )
        for first, second in TABLES_2_3
    ]


def _deeper() -> list[DuelCell]:
    """Cells that compare depths of information-set search."""
    game = "phantom_connect_four"
    by_depth = spec(game, "over", depth=3), spec(game, "over", depth=1)
    deeper = spec(game, "over", depth=2), spec(game, "para", depth=2)
    return [
        # Equal histories: a clock would give depth 1 so many playouts that it errs less.
        DuelCell(game, by_depth, None, sign=1),
        DuelCell(game, by_depth),
        DuelCell(game, deeper, LONG_S, share=85.0),
    ]


def papers_cells(budget: str) -> list[DuelCell]:
    """Cells of papers 000 and 001, the most informative for their cost first."""

    def sets(player: str, depth: int, opponent: str, seconds: int = 30) -> DuelCell:
        players = sampled(player, budget, depth, seconds), sampled(opponent, budget)
        published = FIGURES_2_3[opponent, player, depth, seconds]
        return _board(budget, players, published, published.games)

    def pair(over: int, para: int) -> DuelCell:
        players = sampled("over", budget, over), sampled("para", budget, para)
        return _board(budget, players, FIGURE_5[over, para], FIGURE_5[over, para].games)

    def samplers(first: str, second: str) -> DuelCell:
        players = sampled(first, budget), sampled(second, budget)
        published = TABLES_2_3[first, second]
        return _board(budget, players, published, published.games // 2 * 2)

    shorter = [
        *(sets("over", depth, "random") for depth in (1, 2)),
        sets("para", 2, "random"),
        samplers("hs", "random"),
        *(pair(over, 1) for over in (1, 2)),
        sets("over", 1, "hs"),
        *(samplers(first, "random") for first in ("aosp", "los")),
        *(samplers(first, "los") for first in ("aosp", "hs")),
        sets("para", 1, "random"),
        sets("para", 1, "hs"),
        *(pair(over, 2) for over in (1, 2)),
        *(
            sets(player, depth, opponent)
            for opponent in ("random", "hs")
            for depth in DEPTHS
            for player in ("over", "para")
        ),
        *(pair(over, para) for over in DEPTHS for para in DEPTHS),
        *(samplers(*names) for names in TABLES_2_3),
    ]
    longer = [
        sets(player, depth, opponent, SECONDS[1])
        for opponent in ("random", "hs")
        for depth in DEPTHS
        for player in ("over", "para")
    ]
    return list(dict.fromkeys(shorter + longer))


def _board(
    budget: str, players: tuple[str, str], paper: Published | None, games: int, **more: object
) -> DuelCell:
    return DuelCell(BOARD, players, None, budget, paper, games, **more)  # type: ignore[arg-type]


def beyond_cells(budget: str) -> list[DuelCell]:
    """Cells that are in no paper: the player of `auto`, others at equal states, and pool sizes.

    Without a board all players move at random, like the papers'.
    """
    papers = sampled("over", budget), sampled("hs", budget)
    plays = (AUTO, "hyperplay", "hyperplay2")
    as_papers: dict[str, object] = {"rescue": "none", "boards": BOARD}
    ours = [_text(player, as_papers) for player in plays]
    pools = [
        [
            _text(player, {"worlds": POOL_WORLDS, "rescue": "none", **_OWN_FILE, "pool": size})
            for player in ("hs", "aosp")
        ]
        for size in POOLS
    ]
    states = AUTO_STATES // BUDGETS[budget]
    auto = _text(AUTO, {**as_papers, "states": states})
    return [
        _board(budget, (auto, sampled("random", budget)), None, 150),
        *(
            _board(budget, (first, second), None, 100, equal_states=True)
            for second in ours
            for first in papers
        ),
        *(_board(budget, (aosp, sampled("random", budget)), None, 20) for _, aosp in pools),
        _board(budget, (pools[0][0], pools[0][1]), None, 60, sign=1),
    ]


@cache
def cells() -> tuple[DuelCell, ...]:
    """All cells; the most interesting ones in short games come first."""
    all_cells: list[DuelCell] = []
    smaller = [game for game in GAMES if game != BOARD]
    for game in smaller:
        all_cells += _against_each_other(game)[:1]
    all_cells += papers_cells(TWENTIETH)[:1]
    all_cells += _deeper()
    for game in smaller:
        all_cells += _samplers(game)
        all_cells += _sets(game, "random") + _sets(game, "hs")
        all_cells += _against_each_other(game)
    for opponent in (spec(SMALL_BOARD, "over", depth=1), spec(SMALL_BOARD, "hs")):
        for player in ("hyperplay", "hyperplay2", "ismcts"):
            all_cells.append(DuelCell(SMALL_BOARD, (spec(SMALL_BOARD, player), opponent)))
    for budget in BUDGETS:
        all_cells += papers_cells(budget) + beyond_cells(budget)
    return tuple(dict.fromkeys(all_cells))

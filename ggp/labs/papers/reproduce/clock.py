"""The grid `clock`: HyperPlay-II, and MCTS in plain games, against HyperPlay with 1 s and 3 s."""

from __future__ import annotations

from collections.abc import Iterator

from ggp.labs.papers.reproduce.duels import Duel
from ggp.labs.papers.reproduce.grid import (
    EQUAL,
    Cells,
    DuelGrid,
    GridResults,
    cell_text,
    shares_of,
    sign_of,
    tally_of_cell,
)
from ggp.labs.papers.reproduce.results import FEWEST_ROUNDS, Claim
from ggp.players import PLAYERS
from ggp.report import Table
from ggp.statistics import mean_of_means

GAMES = (
    "connect_four",
    "breakthrough",
    "krieg_tic_tac_toe",
    "phantom_connect_four",
    "blind_breakthrough",
)
PLAIN_GAMES = ("connect_four", "breakthrough")
CLOCKS_S = (1.0, 3.0)

HYPERPLAY, HYPERPLAY2, MCTS = "hyperplay", "hyperplay2", "mcts"
WINS_OF_MCTS = 0.9


def duels() -> list[Duel]:
    """All duels, the shorter clock first."""
    pairings = [(HYPERPLAY2, game, CLOCKS_S[0]) for game in GAMES]
    if MCTS in PLAYERS:
        pairings += [(MCTS, game, CLOCKS_S[0]) for game in PLAIN_GAMES]
    pairings += [(HYPERPLAY2, game, clock_s) for clock_s in CLOCKS_S[1:] for game in GAMES]
    return [
        Duel(
            game,
            (player, HYPERPLAY),
            f"clock/{clock_s:g}s/{game}/{player}-{HYPERPLAY}",
            play_clock_s=clock_s,
        )
        for player, game, clock_s in pairings
    ]


def show(cells: Cells) -> GridResults:
    """Claims about both players, and a table."""
    rows = tuple(
        (
            f"{duel.players[0]} at {duel.play_clock_s:g} s",
            duel.game,
            str(len(cell.matches)),
            cell_text(shares_of(cell)),
            format(tally_of_cell(cell).win_share.percent, ".1f"),
        )
        for duel, cell in cells.items()
    )
    head = ("", "game", "#matches", "#share", "#% won [99 %]")
    return GridResults(
        (*_claims_of_hyperplay2(cells), *_claims_of_mcts(cells)),
        (Table(head, rows, f"Against {HYPERPLAY}; + and - mark significant shares (99 %)"),),
    )


def _claims_of_hyperplay2(cells: Cells) -> Iterator[Claim]:
    for clock_s in CLOCKS_S:
        shares = {
            duel.game: shares_of(cell)
            for duel, cell in cells.items()
            if duel.players[0] == HYPERPLAY2 and duel.play_clock_s == clock_s
        }
        mean = mean_of_means(list(shares.values()))
        if mean.value is None:
            continue
        enough = sum(map(len, shares.values())) >= FEWEST_ROUNDS
        yield Claim(
            f"{HYPERPLAY2} at {clock_s:g} s, {len(shares)} games together",
            "at least 50",
            format(mean, ".1f"),
            mean.value >= EQUAL if enough else None,
        )
        signs = [sign_of(s) for s in shares.values()]
        below = [game for game, sign in zip(shares, signs, strict=True) if sign == -1]
        judged = sum(sign is not None for sign in signs)
        yield Claim(
            "and significantly below 50 in no game",
            "none",
            f"{len(below)} of {judged}" + (f": {', '.join(below)}" if below else ""),
            (not below) if judged else None,
        )


def _claims_of_mcts(cells: Cells) -> Iterator[Claim]:
    for duel, cell in cells.items():
        if duel.players[0] == MCTS:
            wins = tally_of_cell(cell).win_share
            yield Claim(
                f"{MCTS} in {duel.game} at {duel.play_clock_s:g} s",
                f"wins at least {WINS_OF_MCTS:.0%}",
                format(wins.percent, ".1f"),
                None
                if wins.value is None or len(cell.matches) < FEWEST_ROUNDS
                else wins.value >= WINS_OF_MCTS,
            )


CLOCK = DuelGrid(
    "clock",
    "HyperPlay-II and MCTS against HyperPlay under a clock",
    f"{HYPERPLAY2} plays against {HYPERPLAY} with 1 s and 3 s a move on {len(GAMES)} games, and "
    f"{MCTS} with 1 s where everybody knows everything; they take turns at the roles. A share is "
    "50 plus half of a player's lead over the other: here, the mean score.",
    duels,
    show,
    matches=40,
    quick_matches=4,
)

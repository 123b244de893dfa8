"""The grid `strength`: every player against three of them, in our games, under a clock.

It lists duels for `grid`, and makes claims, tables of shares, ratings and heat maps of the duels
that were played.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from ggp.labs.openspiel.twins import twins
from ggp.labs.papers.reproduce.duels import Duel
from ggp.labs.papers.reproduce.grid import (
    EQUAL,
    Cells,
    DuelGrid,
    GridResults,
    cell_text,
    shares_of,
    sign_of,
)
from ggp.labs.papers.reproduce.results import FEWEST_ROUNDS, Claim, Panel, named_panel
from ggp.report import Table
from ggp.statistics import LEVEL, mean_of_means
from match_runner.series.outcomes import contests_of, fault_counts, rounds_of
from match_runner.tournament import Rating, faults_text, rate, rating_text

PLAY_CLOCK_S = 0.3

PLAIN_GAMES = ("connect_four", "breakthrough", "tic_tac_toe", "othello")
"""Games in which everybody knows everything."""

HIDDEN_GAMES = (
    "dark_hex_5x5",
    "phantom_connect_four",
    "blind_breakthrough",
    "kriegspiel_king_rook",
    "kriegspiel_5x5",
    "dark_chess",
    "dark_chess_4x4",
    "battleships_in_fog",
    "meier",
    "kuhn_poker",
    "leduc_poker",
    "banker_and_thief",
    "banker_and_thief_sequential",
    "spy_vs_spy",
    "strategy_fusion",
    "non_locality",
)

LONELY_GAMES = ("exploding_bomb", "monty_hall", "number_guessing", "mastermind")
"""Games of one role, which each player plays on its own with the same seeds."""

GAMES = (*PLAIN_GAMES, *HIDDEN_GAMES, *LONELY_GAMES)
"""Our games, except kriegspiel, of which a match takes too long; cooperative_spies, in which both
roles score the same; and krieg_tic_tac_toe, phantom_ttt and dark_hex, which whoever begins mostly
wins: see `exploitability`."""

AUTO, HYPERPLAY, HYPERPLAY2 = "auto", "hyperplay", "hyperplay2"
MCTS, ISMCTS = "mcts", "ismcts"
SPIEL_MCTS, SPIEL_ISMCTS = "peer:openspiel-mcts", "peer:openspiel-ismcts"

PLAYERS = (AUTO, HYPERPLAY2, HYPERPLAY, ISMCTS, MCTS, "pimc", SPIEL_ISMCTS, SPIEL_MCTS)

OPPONENTS = (AUTO, HYPERPLAY2, HYPERPLAY)
"""Opponents of every player."""

PEER_GAMES = tuple(game for game in GAMES if game in twins())
"""Games that OpenSpiel has too."""


def may_play(player: str, game: str) -> bool:
    """Whether a player of the grid plays one of its games.

    Trees over states are for games in which everybody knows everything, trees over information sets
    for the others.
    """
    if player in (SPIEL_MCTS, SPIEL_ISMCTS) and game not in PEER_GAMES:
        return False
    if player in (MCTS, SPIEL_MCTS):
        return game in PLAIN_GAMES
    return player not in (ISMCTS, SPIEL_ISMCTS) or game not in PLAIN_GAMES


def duels() -> list[Duel]:
    """All duels: opponent by opponent, then player by player.

    `auto` does not meet `mcts`: in games that `mcts` plays, `auto` is `mcts`.
    """
    pairings: dict[frozenset[str], tuple[str, str]] = {}
    for opponent in OPPONENTS:
        for player in PLAYERS:
            if player != opponent and {player, opponent} != {AUTO, MCTS}:
                # The same two players meet once.
                pair = frozenset((player, opponent))
                pairings.setdefault(pair, (player, opponent))
    return [
        Duel(
            game,
            pair,
            f"strength/{game}/{'-'.join(pair).replace(':', '-')}",
            play_clock_s=PLAY_CLOCK_S,
        )
        for pair in pairings.values()
        for game in GAMES
        if all(may_play(player, game) for player in pair)
    ]


def show(cells: Cells) -> GridResults:
    """Claims, a table of shares against each opponent, ratings, and heat maps of the tables."""
    ratings = {
        "plain": _ratings(cells, PLAIN_GAMES),
        "hidden": _ratings(cells, HIDDEN_GAMES),
    }
    opponents = [name for name in OPPONENTS if any(name in duel.players for duel in cells)]
    return GridResults(
        claims=(*_claims_of_auto(cells, ratings), *_claim_of_trees(cells)),
        tables=(
            *(_table(cells, opponent) for opponent in opponents),
            _standings(cells, ratings),
        ),
        panels=tuple(_panel(cells, opponent) for opponent in opponents),
    )


def _shares(cells: Cells, game: str, player: str, opponent: str) -> list[float]:
    """Shares of a player against another, whichever of them comes first in the duel."""
    for duel, cell in cells.items():
        if duel.game == game and set(duel.players) == {player, opponent}:
            return shares_of(cell, duel.players.index(player))
    return []


def _players(cells: Cells) -> list[str]:
    """All players with matches, in the order of the grid; players not in the grid come last."""
    players = {player: None for duel in cells for player in duel.players}
    return sorted(players, key=lambda name: (*PLAYERS, name).index(name))


# ---------------------------------------------------------------- tables


def _table(cells: Cells, opponent: str) -> Table:
    players = [player for player in _players(cells) if player != opponent]
    rows = [
        (game, *(cell_text(_shares(cells, game, player, opponent)) for player in players))
        for game in GAMES
    ]
    kinds = (
        ("plain games", PLAIN_GAMES),
        ("hidden games", HIDDEN_GAMES),
        ("games of one role", LONELY_GAMES),
    )
    for title, games in kinds:
        means = [
            mean_of_means([_shares(cells, game, player, opponent) for game in games]).value
            for player in players
        ]
        rows.append((f"mean of {title}", *("." if m is None else f"{m:.1f}" for m in means)))
    return Table(
        ("", *(f"#{player}" for player in players)),
        rows,
        f"Share against {opponent}; + and -: significantly (99 %) above and below 50",
    )


def _panel(cells: Cells, opponent: str) -> Panel:
    lines: dict[str, list[float | None]] = {}
    for player in _players(cells):
        shares = [_shares(cells, game, player, opponent) for game in GAMES]
        lines[player] = [math.fsum(s) / len(s) if s else None for s in shares]
    return named_panel(f"share against {opponent}", GAMES, lines)


def _standings(cells: Cells, ratings: Mapping[str, Mapping[str, Rating]]) -> Table:
    rows = []
    for player in _players(cells):
        seats = [
            (duel.players.index(player), cell)
            for duel, cell in cells.items()
            if player in duel.players
        ]
        faults: dict[str, int] = {}
        for seat, cell in seats:
            for kind, count in fault_counts(cell.matches, seat).items():
                faults[kind] = faults.get(kind, 0) + count
        rows.append(
            (
                player,
                *(rating_text(rated.get(player)) for rated in ratings.values()),
                str(sum(len(cell.matches) for _, cell in seats)),
                faults_text(faults),
            )
        )
    return Table(
        ("", "#plain", "#hidden", "#matches", "faults"),
        rows,
        "Ratings [99 %] in plain games and in games where something is hidden",
    )


def _ratings(cells: Cells, games: Sequence[str]) -> dict[str, Rating]:
    """Ratings from all duels in these games; contests of all duels are interleaved evenly."""
    players = _players(cells)
    contests = []
    for duel, cell in cells.items():
        if duel.game in games:
            indices = [players.index(player) for player in duel.players]
            of_duel = contests_of(rounds_of(cell.matches), 2)
            contests += [
                (at / len(of_duel), {indices[p]: score for p, score in scores.items()})
                for at, scores in enumerate(of_duel)
            ]
    contests.sort(key=lambda contest: contest[0])
    rated = rate(range(len(players)), (scores for _, scores in contests))
    return {players[index]: rating for index, rating in rated.items() if rating.contests}


# ---------------------------------------------------------------- claims


def _claims_of_auto(cells: Cells, ratings: Mapping[str, Mapping[str, Rating]]) -> Iterator[Claim]:
    duels = {duel: cell for duel, cell in cells.items() if AUTO in duel.players}
    if not duels:
        return
    signs = {duel: sign_of(shares_of(c, duel.players.index(AUTO))) for duel, c in duels.items()}
    lost = [duel for duel, sign in signs.items() if sign == -1]
    judged = sum(sign is not None for sign in signs.values())
    names = ", ".join(f"{duel.game} to {_opponent_of_auto(duel)}" for duel in lost)
    yield Claim(
        f"{AUTO} loses significantly to no player on any game",
        f"0 duels; by chance at most {judged * (1 - LEVEL) / 2:.1f} of {judged}",
        f"{len(lost)} of {judged}" + (f": {names}" if names else ""),
        (not lost) if judged else None,
    )
    for title, rated in ratings.items():
        rivals = {name: rating for name, rating in rated.items() if name != AUTO}
        if AUTO not in rated or not rivals:
            continue
        best = max(rivals, key=lambda name: rivals[name].mean)
        yield Claim(
            f"its rating is not below the best's, {title} games",
            f"{best}: {rating_text(rivals[best])}",
            rating_text(rated[AUTO]),
            _not_below(rated[AUTO], rivals[best]),
        )


def _opponent_of_auto(duel: Duel) -> str:
    return next(player for player in duel.players if player != AUTO)


def _not_below(rating: Rating, best: Rating) -> bool | None:
    """Whether a rating is not below the best; None if it may be below by chance (99 %)."""
    lead = rating.mean - best.mean
    if lead >= 0:
        return True
    return None if -lead <= math.hypot(rating.mean - rating.low, best.mean - best.low) else False


def _claim_of_trees(cells: Cells) -> Iterator[Claim]:
    shares = [_shares(cells, game, ISMCTS, HYPERPLAY2) for game in HIDDEN_GAMES]
    mean = mean_of_means(shares)
    if mean.value is None:
        return
    enough = sum(map(len, shares)) >= FEWEST_ROUNDS
    yield Claim(
        f"{ISMCTS} against {HYPERPLAY2}, mean of {sum(map(bool, shares))} hidden games",
        "ahead",
        format(mean, ".1f"),
        mean.value > EQUAL if enough else None,
    )


STRENGTH = DuelGrid(
    "strength",
    "How strong the players are",
    f"Every player plays against {', '.join(OPPONENTS)} with {PLAY_CLOCK_S:g} s a move, on the "
    f"games of {len(GAMES)} that suit it; they take turns at the roles. A share is 50 plus half of "
    "a player's lead over the other: 50 for equal players, and in zero-sum games the mean score.",
    duels,
    show,
    matches=20,
    quick_matches=2,
)

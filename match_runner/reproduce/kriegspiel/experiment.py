"""Papers 000, 001 and 002: who beats whom in kriegspiel, and in small games with such an umpire.

`cells` says who plays whom, `charts` draws how games went.
"""

from __future__ import annotations

from collections.abc import Iterator

from ggp.statistics.intervals import interval_text
from match_runner.reproduce.duels import Duel, PlayedDuel
from match_runner.reproduce.figures import score_text
from match_runner.reproduce.grid import (
    EQUAL,
    JUDGED_ROUNDS,
    Cells,
    Grid,
    Shown,
    cell_text,
    interval_of,
    shares_of,
    sign_of,
    tally_of_cell,
)
from match_runner.reproduce.kriegspiel.cells import (
    BOARD,
    DEPTHS,
    GAMES,
    LONG_S,
    PUBLISHED_BOARDS,
    SHORT_S,
    Cell,
    cells,
    spec,
)
from match_runner.reproduce.kriegspiel.charts import charts
from match_runner.reproduce.results import FEWEST_ROUNDS, Claim, Panel, Table
from match_runner.series.outcomes import ContestCounts


def duels() -> list[Duel]:
    """All duels, those of the small games first."""
    return [cell.duel for cell in cells()]


def quickly(duel: Duel) -> int:
    """Number of matches of a duel in a quick run, 0 to leave it out.

    On the whole board it plays only one duel, which answers the question of paper 000.
    """
    if duel.game != BOARD:
        return 2
    (asked, *_) = (cell.duel for cell in cells() if cell.game == BOARD)
    return 10 if duel == asked else 0


def show(played: Cells) -> Shown:
    """Claims, a table of each game with the papers' numbers beside ours, panels and charts."""
    tables = [_table(game, played) for game in GAMES]
    return Shown(
        tuple(_claims(played)),
        (*(table for table in tables if table.rows), _boards(played)),
        tuple(panel for game in GAMES if (panel := _panel(game, played)) is not None),
        charts(played),
    )


def _table(game: str, played: Cells) -> Table:
    rows = []
    for each in cells():
        if each.game != game or each.duel not in played:
            continue
        cell = played[each.duel]
        tally = tally_of_cell(cell)
        shares = shares_of(cell)
        published = (
            "" if each.published is None else f"{each.published[0]:g} - {each.published[1]:g}"
        )
        lead = _lead(tally)
        rows.append(
            (
                *each.players,
                "." if each.clock_s is None else f"{each.clock_s:g}",
                str(len(cell.matches)),
                f"{_percent(tally.wins, tally):.0f} - {_percent(tally.losses, tally):.0f}",
                "." if lead is None else f"{lead:+.0f}",
                published,
                "" if each.published is None else f"{each.published[0] - each.published[1]:+g}",
                cell_text(shares),
                interval_text(interval_of(shares), ".1f"),
            )
        )
    return Table(
        f"{game}: percent won - lost by the first, and the papers' (+ and -: significant, 99 %)",
        (
            *("first", "second", "#s a move", "#matches", "#won - lost", "#lead"),
            *("#published", "#its lead", "#share", "#share [99 %]"),
        ),
        tuple(rows),
    )


def _boards(played: Cells) -> Table:
    """Table like Figure 4 of paper 000."""
    rows = []
    for depth in DEPTHS:
        row = [str(depth)]
        for number, clock_s in enumerate((SHORT_S, LONG_S)):
            own = (spec(BOARD, "over", depth=depth), "random")
            cell = played.get(Cell(BOARD, own, clock_s).duel)
            visits = [
                max(value.visits for value in decision.values)
                for match in (cell.decisions(0) if cell else [])
                for _, decision in match
                if decision.fault is None
            ]
            mean = f"{sum(visits) / len(visits):.0f}" if visits else "."
            row += [mean, str(PUBLISHED_BOARDS[depth][number])]
        rows.append(tuple(row))
    return Table(
        f"Histories a move of over against random in {BOARD}, where there are any, and boards a "
        "move in paper 000",
        (*("#depth", f"#{SHORT_S:g} s", "#paper, 30 s", f"#{LONG_S:g} s", "#paper, 90 s"),),
        tuple(rows),
    )


def _panel(game: str, played: Cells) -> Panel | None:
    """Panel of all shares of a game at the shorter clock."""
    found = {
        each.players: interval_of(shares_of(played[each.duel])).value
        for each in cells()
        if each.game == game and each.clock_s == SHORT_S and each.duel in played
    }
    if not found:
        return None
    firsts = sorted(dict.fromkeys(first for first, _ in found), key=_short)[::-1]
    seconds = sorted(dict.fromkeys(second for _, second in found), key=_short)
    return Panel(
        row=f"share in {game}",
        title=game,
        x="against",
        y="",
        xs=tuple(map(float, range(len(seconds)))),
        ys=tuple(map(float, range(len(firsts)))),
        values=tuple(tuple(found.get((f, s)) for s in seconds) for f in firsts),
        x_names=tuple(map(_short, seconds)),
        y_names=tuple(map(_short, firsts)),
    )


def _short(player: str) -> str:
    """Short name of a player: `over 1` for `over:depth=1,tries=0,...`."""
    name, _, given = player.partition(":")
    options = dict(option.split("=") for option in given.split(",") if option)
    kept = [options[key] for key in ("depth", "leaf") if key in options]
    pool = [f"pool {options['pool']}"] if "pool" in options else []
    return " ".join([name, *kept, *pool])


def _claims(played: Cells) -> Iterator[Claim]:
    for each in cells():
        cell = played.get(each.duel)
        if cell is not None:
            yield from _claims_of(each, cell)


def _claims_of(each: Cell, cell: PlayedDuel) -> Iterator[Claim]:
    text = f"{_short(each.players[0])} against {_short(each.players[1])} in {each.game}"
    shares, tally = shares_of(cell), tally_of_cell(cell)
    number = _played(tally)
    judged = number >= 2 * JUDGED_ROUNDS
    mean = interval_of(shares)
    if each.share is not None:
        enough = mean.value is not None and len(shares) >= FEWEST_ROUNDS
        yield Claim(
            text,
            f"a share of {each.share:g} or more",
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
    if each.lead is not None:
        lead = _lead(tally) or 0.0
        yield Claim(
            f"{text}: percent won more than lost",
            f"{each.lead:g} or more",
            f"{lead:+.0f} of {number} matches",
            lead >= each.lead if judged else None,
        )
    if each.least_won is not None:
        yield Claim(
            f"{text}: matches won",
            f"{each.least_won:.0%} or more",
            f"{tally.wins / max(number, 1):.0%} of {number}",
            tally.wins >= each.least_won * number if judged else None,
        )
    if each.most_lost is not None:
        yield Claim(
            f"{text}: matches lost",
            f"{each.most_lost:.0%} or less",
            f"{tally.losses / max(number, 1):.0%} of {number}",
            tally.losses <= each.most_lost * number if judged else None,
        )


def _played(tally: ContestCounts) -> int:
    return tally.wins + tally.draws + tally.losses


def _percent(count: int, tally: ContestCounts) -> float:
    return 100 * count / max(_played(tally), 1)


def _lead(tally: ContestCounts) -> float | None:
    """Lead of the first player: percent of matches won less percent lost."""
    return 100 * (tally.wins - tally.losses) / _played(tally) if _played(tally) else None


KRIEGSPIEL = Grid(
    "kriegspiel",
    "Kriegspiel: two decades of ideas",
    f"Players of papers 000 and 001 play each other and ours with {SHORT_S:g} s or {LONG_S:g} s a "
    "move, and a fifteenth of that after a refused try, on the whole board, on five by five, and "
    "in small games; they take turns at the roles. A share is 50 and half of what a player got "
    "more than the other: with 100 for a win and 50 for a draw, the mean score.",
    duels,
    show,
    matches=100,
    quick_matches=2,
    quickly=quickly,
)

"""Papers 000, 001 and 002: who beats whom in kriegspiel, and in small games with such an umpire.

`cells` says who plays whom, `charts` draws how games went.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from ggp.statistics.intervals import interval_text
from match_runner.reproduce.duels import Duel, PlayedDuel
from match_runner.reproduce.figures import score_text
from match_runner.reproduce.grid import (
    EQUAL,
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
    BUDGETS,
    GAMES,
    LONG_S,
    SHORT_S,
    TWENTIETH,
    Cell,
    cells,
    given,
    papers_cells,
    short,
)
from match_runner.reproduce.kriegspiel.charts import charts
from match_runner.reproduce.kriegspiel.costs import costs
from match_runner.reproduce.kriegspiel.verdicts import CellVerdict, verdict_of
from match_runner.reproduce.results import FEWEST_ROUNDS, Claim, Panel, Table
from match_runner.series.outcomes import ContestCounts


def duels() -> list[Duel]:
    """All duels, those of the small games first."""
    return [cell.duel for cell in cells()]


def quickly(duel: Duel) -> int:
    """Number of matches of a duel in a quick run, 0 to leave it out.

    On the whole board it plays only one duel.
    """
    if duel.game != BOARD:
        return 2
    return 4 if duel == papers_cells(TWENTIETH)[0].duel else 0


def games(duel: Duel) -> int | None:
    """Most games of a duel, unless the command says otherwise."""
    return _games().get(duel)


@cache
def _games() -> dict[Duel, int | None]:
    return {cell.duel: cell.games for cell in cells()}


def show(played: Cells) -> Shown:
    """Claims, a table of each game with the papers' numbers beside ours, panels and charts."""
    tables = (*(_papers_table(played, budget) for budget in BUDGETS), *_tables(played))
    return Shown(
        tuple(_claims(played)),
        tuple(table for table in tables if table.rows),
        tuple(_panels(played)),
        charts(played),
    )


def verdict_of_cell(each: Cell, cell: PlayedDuel) -> CellVerdict:
    """Verdict on a cell by the games so far."""
    return verdict_of([2 * (share - EQUAL) for share in shares_of(cell)], each.paper)


def _papers_table(played: Cells, budget: str) -> Table:
    """The grid of the papers: our leads beside theirs, with verdicts."""
    rows = []
    for each in cells():
        cell = played.get(each.duel)
        if each.budget != budget or cell is None:
            continue
        tally, verdict = tally_of_cell(cell), verdict_of_cell(each, cell)
        paper = each.paper
        rows.append(
            (
                *map(short, each.players),
                _samples(each),
                str(_played(tally)),
                f"{tally.wins} - {tally.draws} - {tally.losses}",
                interval_text(verdict.lead, ".0f"),
                "" if paper is None else f"{paper.won:g} - {paper.lost:g}",
                "" if paper is None else f"{paper.lead:+.3g} ± {paper.error:.0f}",
                verdict.text,
            )
        )
    share = BUDGETS[budget]
    samples = "the papers' samples" if share == 1 else f"1/{share} of the papers' samples"
    return Table(
        f"{BOARD}, {samples} a move: leads of the first, and the papers' (99 %)",
        (
            *("first", "second", "#samples", "#games", "#won - drawn - lost", "#lead"),
            *("#papers, won - lost", "#their lead", "verdict"),
        ),
        tuple(rows),
    )


def _samples(each: Cell) -> str:
    """Samples a move of both, such as `84, 18`."""
    found = []
    for options in map(given, each.players):
        found.append(options.get("histories", options.get("worlds", ".")))
    return ", ".join(found)


def _tables(played: Cells) -> Iterator[Table]:
    for game in GAMES:
        yield _table(game, played)


def _table(game: str, played: Cells) -> Table:
    rows = []
    for each in cells():
        if each.game != game or each.budget or each.duel not in played:
            continue
        cell = played[each.duel]
        tally = tally_of_cell(cell)
        shares = shares_of(cell)
        lead = _lead(tally)
        rows.append(
            (
                *each.players,
                "." if each.clock_s is None else f"{each.clock_s:g}",
                str(len(cell.matches)),
                f"{_percent(tally.wins, tally):.0f} - {_percent(tally.losses, tally):.0f}",
                "." if lead is None else f"{lead:+.0f}",
                cell_text(shares),
                interval_text(interval_of(shares), ".1f"),
            )
        )
    return Table(
        f"{game}: percent won - lost by the first (+ and -: significant, 99 %)",
        (
            *("first", "second", "#s a move", "#matches", "#won - lost", "#lead"),
            *("#share", "#share [99 %]"),
        ),
        tuple(rows),
    )


def _panels(played: Cells) -> Iterator[Panel]:
    """A panel of shares for each small game at the shorter clock, and each budget of the board."""
    for game in GAMES:
        for budget in BUDGETS if game == BOARD else ("",):
            panel = _panel(game, budget, played)
            if panel is not None:
                yield panel


def _panel(game: str, budget: str, played: Cells) -> Panel | None:
    found = {
        each.players: share
        for each in cells()
        if each.game == game and each.budget == budget and each.duel in played
        if each.clock_s in (None, SHORT_S)
        if (share := interval_of(shares_of(played[each.duel])).value) is not None
    }
    if not found:
        return None
    firsts = sorted(dict.fromkeys(first for first, _ in found), key=short)[::-1]
    seconds = sorted(dict.fromkeys(second for _, second in found), key=short)
    title = f"{game}, {budget}" if budget else game
    return Panel(
        row=f"share in {title}",
        title=title,
        x="against",
        y="",
        xs=tuple(map(float, range(len(seconds)))),
        ys=tuple(map(float, range(len(firsts)))),
        values=tuple(tuple(found.get((f, s)) for s in seconds) for f in firsts),
        x_names=tuple(map(short, seconds)),
        y_names=tuple(map(short, firsts)),
    )


def _claims(played: Cells) -> Iterator[Claim]:
    for each in cells():
        cell = played.get(each.duel)
        if cell is not None:
            yield from _claims_of(each, cell)


def _claims_of(each: Cell, cell: PlayedDuel) -> Iterator[Claim]:
    text = f"{short(each.players[0])} against {short(each.players[1])} in {each.game}"
    shares = shares_of(cell)
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
    "Players of papers 000 and 001 play each other and ours. On the whole board they have so many "
    "histories or boards a move as the papers' had, a twentieth, or a hundredth; on five by five "
    f"and in small games with such an umpire {SHORT_S:g} s or {LONG_S:g} s, and a fifteenth of "
    "that after a refused try. They take turns at the roles. A share is 50 and half of what a "
    "player got more than the other: with 100 for a win and 50 for a draw, the mean score.",
    duels,
    show,
    matches=100,
    quick_matches=2,
    quickly=quickly,
    games=games,
    costs=costs,
    short=short,
)

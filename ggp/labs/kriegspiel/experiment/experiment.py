"""The experiment `kriegspiel`: who beats whom there, and in small games with a similar umpire.

It repeats the experiments of papers 000 to 002. The duels of `cells` that were played come in;
claims, tables with verdicts, heat maps and charts go out, to `match-runner reproduce`.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from ggp.labs.kriegspiel.experiment.cells import (
    BOARD,
    BUDGETS,
    GAMES,
    HUNDREDTH,
    LONG_S,
    POOL_WORLDS,
    POOLS,
    SHORT_S,
    SMALL_BOARD,
    TABLES_2_3,
    TWENTIETH,
    DuelCell,
    cells,
    options_of,
    papers_cells,
    sampled,
    short,
    spec,
)
from ggp.labs.kriegspiel.experiment.verdicts import (
    TIMED,
    next_duel,
    standings,
    table,
    timed,
    unjudged,
)
from ggp.labs.papers.reproduce.duels import Duel, PlayedDuel, program_of, series_of, stored_duel
from ggp.labs.papers.reproduce.grid import (
    EQUAL,
    Cells,
    DuelGrid,
    DuelOrder,
    GridResults,
    cell_text,
    interval_of,
    shares_of,
    sign_of,
    tally_of_cell,
)
from ggp.labs.papers.reproduce.results import (
    FEWEST_ROUNDS,
    Chart,
    Claim,
    Curve,
    Panel,
    RunSettings,
    named_panel,
)
from ggp.machine import build_machine
from ggp.machine.base import FloatArray, Machine
from ggp.machine.boards import BoardRelation, BoardSquares
from ggp.players import Decision
from ggp.report import Table
from ggp.run.clocks import Clock
from ggp.run.whole_files import write_whole
from match_runner.match.records import MatchRecord
from match_runner.series.match_task import MatchTask, play
from match_runner.series.outcomes import Played
from match_runner.workers.executor import Executor

# ------------------------------------------------------------------------
# Charts of the games, after papers 001 and 002: material, boards, and lost pools.

WORTH = {"queen": 9.0, "rook": 5.0, "bishop": 3.0, "knight": 3.0, "pawn": 1.0}
"""Standard values of pieces, as in paper 002."""

PIECES = BoardRelation("cell", (1, 2, 3, 4))

REFUSED, WAITS = "refused", "noop"

MAX_PLIES = 160
PLIES_A_STEP = 10
"""Number of plies that share one point of a chart."""

BRANCHING, CONSISTENT, STATES = 30.0, 3.0, 1e13
"""Parameters of the models in paper 001: the number of moves in a state, of which one in
`CONSISTENT` agrees with the observation, and the number of all states. The paper gives only the
last one, for kriegspiel."""


def charts(cells: Cells) -> tuple[Chart, ...]:
    """All charts with matches, and that of the two models."""
    all_charts = [
        *(_material(game, cells) for game in (BOARD, SMALL_BOARD)),
        _last_boards(cells),
        _dead_pools(cells),
    ]
    return (*(chart for chart in all_charts if chart.curves), _growth())


def pairs(game: str) -> list[tuple[str, str]]:
    """Pairs of players whose material paper 002 shows."""
    return [
        (first, second)
        for names in TABLES_2_3
        for first, second in zip(*(_players(game, name) for name in names), strict=True)
    ]


def hybrids(game: str) -> list[str]:
    """Players for which paper 001 shows the share of boards of the last observation."""
    return _players(game, "hs")


def _players(game: str, name: str) -> list[str]:
    """A player of the papers, with each number of samples."""
    if game == BOARD:
        return [sampled(name, budget) for budget in BUDGETS]
    return [spec(game, name)]


def _material(game: str, cells: Cells) -> Chart:
    duel_pairs = pairs(game)
    curves = {}
    machine: Machine | None = None
    for duel, cell in cells.items():
        if duel.game != game or duel.players not in duel_pairs or not cell.matches:
            continue
        machine = machine or build_machine(program_of(game))
        names = [player.split(":")[0] for player in duel.players]
        means = material_by_ply(machine, cell.matches)
        plies = tuple(map(float, range(means.shape[1])))
        curves[f"{names[0]} and {names[1]}, {len(cell.matches)} games{_of(duel)}"] = tuple(
            Curve(name, plies, tuple(line.tolist()))
            for name, line in zip(names, means, strict=True)
        )
    return Chart(
        f"material-{game}",
        f"Material by ply in {game}",
        "ply",
        "material (Q9 R5 B3 N3 P1)",
        curves,
    )


def material_by_ply(machine: Machine, matches: Sequence[Played]) -> FloatArray:
    """`[2, plies + 1]` mean material of the first and the second player after each ply.

    Finished games keep their last material. Refused tries do not count as plies.
    """
    squares = BoardSquares(machine, PIECES, WORTH)
    worth = np.zeros((len(machine.roles), len(squares.bits.fluent_names)))
    for (role, kind), places in squares.places.items():
        worth[role, places.fluents] = WORTH[kind]
    by_match = np.full((len(matches), 2, MAX_PLIES + 1), np.nan)
    states = machine.initial(len(matches))
    ply = np.zeros(len(matches), dtype=np.int64)
    seats = np.array(
        [
            [
                machine.roles.index(role)
                for player in range(2)
                for role, seated in match.planned.seating.items()
                if seated == player
            ]
            for match in matches
        ]
    )
    rows = np.arange(len(matches))
    turn = 0
    while len(rows):
        by_role = squares.bits.fluent_bits(states) @ worth.T
        by_match[rows, :, ply[rows]] = np.take_along_axis(by_role, seats[rows], axis=1)
        goes_on = np.array([turn < len(matches[row].record.turns) for row in rows.tolist()])
        states, rows = states.take(np.flatnonzero(goes_on)), rows[goes_on]
        if not len(rows):
            break
        turns = [matches[row].record.turns[turn] for row in rows.tolist()]
        moves = [[machine.move_id(t.joint_move[role]) for role in machine.roles] for t in turns]
        states = machine.step(states, np.array(moves, dtype=np.int64)).states
        ply[rows] += [REFUSED not in t.percepts[machine.roles[0]] for t in turns]
        np.minimum(ply, MAX_PLIES, out=ply)
        turn += 1
    for k in range(1, by_match.shape[2]):
        late = np.isnan(by_match[:, :, k])
        by_match[:, :, k][late] = by_match[:, :, k - 1][late]
    return np.asarray(by_match.mean(axis=0)[:, : int(ply.max(initial=0)) + 1])


def _of(duel: Duel) -> str:
    """Suffix of a label: the share of the papers' samples, if it is not all."""
    share = BUDGETS.get(duel.budget, 1)
    return f", 1/{share} of the samples" if share > 1 else ""


def _last_boards(cells: Cells) -> Chart:
    """Chart like Figure 3 of paper 001."""
    curves = {}
    for game in (BOARD, SMALL_BOARD):
        of_game = tuple(
            _shares(f"against {duel.players[1].split(':')[0]}{_of(duel)}", cell, 0, _guessed)
            for duel, cell in cells.items()
            if duel.game == game and duel.players[0] in hybrids(game) and cell.matches
        )
        if of_game:
            curves[game] = of_game
    return Chart(
        "last-boards",
        "Boards of hs that agree with the last observation only",
        "ply",
        "share of its boards",
        curves,
    )


def _dead_pools(cells: Cells) -> Chart:
    labels = {
        duel.players[0]: f"{size:,} boards"
        for duel in cells
        for size in POOLS
        if duel.players[0].startswith(f"aosp:worlds={POOL_WORLDS},")
        and duel.players[0].endswith(f",pool={size}")
    }
    curves = tuple(
        _shares(labels[duel.players[0]], cell, 0, _is_dead)
        for duel, cell in cells.items()
        if duel.game == BOARD and duel.players[0] in labels and duel.players[1].startswith("random")
        if cell.matches
    )
    return Chart(
        "dead-pools",
        "Decisions of aosp without a board, by the size of its pool",
        "ply",
        "share of decisions",
        {"against random": curves} if curves else {},
    )


def _role_of(match: Played, player: int) -> str:
    (role,) = (role for role, seated in match.planned.seating.items() if seated == player)
    return role


def _guessed(decision: Decision) -> float:
    return decision.guessed / max(decision.particles, 1)


def _is_dead(decision: Decision) -> float:
    return float(decision.fault is not None)


def _shares(label: str, cell: PlayedDuel, player: int, share: Callable[[Decision], float]) -> Curve:
    """Curve of the mean of `share` over decisions between several moves, by ply."""
    by_step: dict[int, list[float]] = {}
    for match in cell.matches:
        for ply, decision in _plies(match, player):
            by_step.setdefault(ply // PLIES_A_STEP, []).append(share(decision))
    steps = sorted(by_step)
    return Curve(
        label,
        tuple(PLIES_A_STEP * (step + 0.5) for step in steps),
        tuple(float(np.mean(by_step[step])) for step in steps),
    )


def _plies(match: Played, player: int) -> Iterator[tuple[int, Decision]]:
    """Yield a player's decisions between several moves, and those by lot, each with its ply."""
    role, ply = _role_of(match, player), 0
    for turn in match.record.turns:
        decision = None if turn.joint_move[role] == WAITS else turn.decisions.get(role)
        if decision is not None and (len(decision.values) > 1 or _is_dead(decision)):
            yield ply, decision
        ply += REFUSED not in turn.percepts[role]


def _deaths(cells: Cells) -> Table:
    """When pools of aosp die on the whole board.

    `benchmarks.pools` says how large the whole sets are by then.
    """
    rows = []
    for duel, cell in cells.items():
        for index, player in enumerate(duel.players):
            if duel.game != BOARD or not player.startswith("aosp:"):
                continue
            ends = [end for m in cell.matches if (end := _death(m, index)) is not None]
            medians = [f"{number:.0f}" for number in np.median(ends, axis=0)] if ends else ["", ""]
            pool = f"{int(options_of(player)['pool']):,}"
            games = str(len(cell.matches))
            rows.append((pool, short(duel.players[1 - index]), games, str(len(ends)), *medians))
    return Table(
        ("#pool", "against", "#games", "#dead in", "#after turns", "#after plies"),
        rows,
        "pools of aosp, and medians of when they died",
    )


def _death(match: Played, player: int) -> tuple[int, int] | None:
    """Turns and plies before a pool died; None if it lived."""
    role, ply = _role_of(match, player), 0
    for number, turn in enumerate(match.record.turns):
        decision = turn.decisions.get(role)
        if decision is not None and _is_dead(decision):
            return number, ply
        ply += REFUSED not in turn.percepts[role]
    return None


def _growth() -> Chart:
    """Chart of the two models of paper 001: probability that a board is consistent, by move."""
    moves = np.arange(1, 81)
    tree = (1 / CONSISTENT) ** (moves / 2)
    log_graph = (moves - 1) * np.log(BRANCHING / CONSISTENT) - 2 * np.log(STATES - 1)
    graph = np.exp(np.minimum(log_graph, 0.0))
    curves = tuple(
        Curve(label, tuple(map(float, moves)), tuple(ys.tolist()))
        for label, ys in (("as a tree", tree), ("as a graph", graph))
    )
    return Chart(
        "growth",
        "Probability that a board agrees with all observations: two models",
        "move",
        "probability",
        {f"b = {BRANCHING:g}, c = {CONSISTENT:g}, n = {STATES:g}": curves},
        log=True,
    )


# ------------------------------------------------------------------------
# Cost of cells on the whole board, before they are played.
#
# A player is timed in the first turns of a game against random play. With few samples these are
# many turns, since turns of the middle game cost more than those of the opening. With many samples
# that would take as long as some games; so the player is timed in the opening only, and the rest of
# the game is assumed to cost more by the same factor as the opening. Lengths of games vary, so a
# forecast only separates hours from days. Once a player has played, its games are a better measure.
# No player is timed after a tenth of the time for playing.

MEASURED_TURNS = 80
"""Turns of a game that time a player."""

OPENING_TURNS = 24
"""Turns that time a player with many samples."""

FIRST_TURNS = 6
"""Turns that do not count: they load machine code from the cache, and pools are small."""

TURNS = 220
"""Turns of a game, refused tries included: the mean of games of the papers' players."""

TIMED_SHARE = 0.1
"""Share of the time for playing after which no player is timed."""

FEW = 2
"""A player with at most this many times a twentieth of the papers' samples is timed directly."""

MIN_S = 1e-4
"""Lower bound of the cost of a turn, in seconds."""


def costs(
    duels: Sequence[tuple[Duel, RunSettings]], settings: RunSettings, executor: Executor
) -> Iterator[str]:
    """Yield a line with the forecast of each cell of the papers that games can still judge, and one
    for all of them.

    Args:
        duels: to play, each with its number of games.
    """
    played = {duel: stored_duel(duel, of_duel) for duel, of_duel in duels}
    cells = {duel: cell for duel, cell in played.items() if cell is not None}
    turns, seconds = _Turns(settings, executor), timed(settings.folder)
    timed_until_s = time.monotonic() + TIMED_SHARE * settings.seconds
    total = 0.0
    for plan, standing, _ in unjudged(standings(cells, settings.folder)):
        if plan.duel not in played:
            continue
        if standing.seconds is None and time.monotonic() < timed_until_s:
            for player in plan.players:
                seconds[player] = seconds.get(player) or turns.cost(player)
            write_whole(settings.folder / TIMED, json.dumps(seconds) + "\n")
            standing = replace(standing, seconds=sum(map(seconds.__getitem__, plan.players)))
        total += standing.core_hours or 0.0
        yield f"{' against '.join(map(short, plan.players))}, {plan.budget}: {standing.text}"
    if total:
        yield f"in all about {total:,.1f} core-hours"


class _Turns:
    """Seconds of games of players, each timed once."""

    def __init__(self, settings: RunSettings, executor: Executor) -> None:
        self._settings, self._executor = settings, executor
        self._timed: dict[tuple[str, int], list[float]] = {}

    def cost(self, player: str) -> float:
        """Seconds that a player thinks in a game."""
        name, depth = player.partition(":")[0], int(options_of(player).get("depth", 1))
        fewer = sampled(name, TWENTIETH, depth)
        if _num_samples(player) <= FEW * _num_samples(fewer):
            return TURNS * _mean(self._seconds(player, MEASURED_TURNS))
        game = self._seconds(fewer, MEASURED_TURNS)
        opening = _mean(game[: OPENING_TURNS - FIRST_TURNS])
        times = _mean(self._seconds(player, OPENING_TURNS)) / max(opening, MIN_S)
        return TURNS * times * _mean(game)

    def _seconds(self, player: str, turns: int) -> list[float]:
        if (player, turns) not in self._timed:
            seconds = _seconds_of_turns(player, turns, self._settings, self._executor)
            self._timed[player, turns] = seconds
        return self._timed[player, turns]


def _num_samples(player: str) -> int:
    options = options_of(player)
    return int(options.get("histories", options.get("worlds", 1)))


def _mean(seconds: Sequence[float]) -> float:
    return math.fsum(seconds) / max(len(seconds), 1)


def _seconds_of_turns(
    player: str, turns: int, settings: RunSettings, executor: Executor
) -> list[float]:
    """Seconds of a player in each of the first turns of a game; 0 in its opponent's turns."""
    duel = Duel(BOARD, (player, sampled("random", HUNDREDTH)), "")
    series = series_of(duel, replace(settings, matches=2, until=None))
    (game,) = series.games
    task = MatchTask(
        game=game.name,
        source=game.program.source.name,
        rules=program_of(duel.game).source.text,
        backend=settings.backend,
        limits=settings.limits,
        players=dict(zip(game.seats, duel.players, strict=True)),
        seed=settings.seed,
        conditions=replace(game.conditions, max_turns=turns, clock=Clock.CPU),
    )
    record: MatchRecord = executor.submit(play, (task,)).result()
    decisions = [turn.decisions.get(game.seats[0]) for turn in record.turns[FIRST_TURNS:]]
    return [0.0 if decision is None else decision.seconds for decision in decisions]


def duels() -> list[Duel]:
    """All duels, in the order of `cells`."""
    return [cell.duel for cell in cells()]


def quickly(duel: Duel) -> int:
    """Number of matches of a duel in a quick run, 0 to leave it out.

    On the whole board a quick run plays only one duel.
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


def show(played_cells: Cells) -> GridResults:
    """Claims, tables with the papers' numbers beside ours, panels and charts."""
    by_budget = (_papers_table(played_cells, budget) for budget in BUDGETS)
    tables = (*by_budget, _deaths(played_cells), *_tables(played_cells))
    return GridResults(
        tuple(_claims(played_cells)),
        tuple(table for table in tables if table.rows),
        tuple(_panels(played_cells)),
        charts(played_cells),
    )


def _papers_table(played_cells: Cells, budget: str) -> Table:
    """The grid of the papers: our leads beside theirs, with verdicts."""
    rows = []
    for plan, standing in standings(played_cells).items():
        paper = plan.paper
        if plan.budget != budget or paper is None or not standing.games:
            continue
        rows.append(
            (
                *map(short, plan.players),
                _samples(plan),
                str(standing.games),
                f"{standing.won} - {standing.drawn} - {standing.lost}",
                format(standing.lead, ".0f"),
                f"{paper.won:g} - {paper.lost:g}",
                f"{paper.lead:+.3g} ± {paper.error:.0f}",
                standing.text,
            )
        )
    share = BUDGETS[budget]
    samples = "the papers' samples" if share == 1 else f"1/{share} of the papers' samples"
    return Table(
        (
            *("first", "second", "#samples", "#games", "#won - drawn - lost", "#lead"),
            *("#papers, won - lost", "#their lead", "verdict"),
        ),
        rows,
        f"{BOARD}, {samples} a move: leads of the first, and the papers' (99 %)",
    )


def _samples(plan: DuelCell) -> str:
    """Samples a move of both players, such as `84, 18`."""
    counts = []
    for options in map(options_of, plan.players):
        counts.append(options.get("histories", options.get("worlds", ".")))
    return ", ".join(counts)


def _tables(played_cells: Cells) -> Iterator[Table]:
    for game in GAMES:
        yield _table(game, played_cells)


def _table(game: str, played_cells: Cells) -> Table:
    rows = []
    for plan in cells():
        if plan.game != game or plan.budget or plan.duel not in played_cells:
            continue
        cell = played_cells[plan.duel]
        tally = tally_of_cell(cell)
        shares = shares_of(cell)
        games = tally.wins + tally.draws + tally.losses
        won, lost = (100 * count / max(games, 1) for count in (tally.wins, tally.losses))
        rows.append(
            (
                *plan.players,
                "." if plan.clock_s is None else f"{plan.clock_s:g}",
                str(len(cell.matches)),
                f"{won:.0f} - {lost:.0f}",
                f"{100 * (tally.wins - tally.losses) / games:+.0f}" if games else ".",
                cell_text(shares),
                format(interval_of(shares), ".1f"),
            )
        )
    return Table(
        (
            *("first", "second", "#s a move", "#matches", "#won - lost", "#lead"),
            *("#share", "#share [99 %]"),
        ),
        rows,
        f"{game}: percent won - lost by the first (+ and -: significant, 99 %)",
    )


def _panels(played_cells: Cells) -> Iterator[Panel]:
    """A panel of shares for each small game at the shorter clock, and each budget of the board."""
    for game in GAMES:
        for budget in BUDGETS if game == BOARD else ("",):
            panel = _panel(game, budget, played_cells)
            if panel is not None:
                yield panel


def _panel(game: str, budget: str, played_cells: Cells) -> Panel | None:
    shares = {
        plan.players: share
        for plan in cells()
        if plan.game == game and plan.budget == budget and plan.duel in played_cells
        if plan.clock_s in (None, SHORT_S)
        if (share := interval_of(shares_of(played_cells[plan.duel])).value) is not None
    }
    if not shares:
        return None
    firsts = sorted(dict.fromkeys(first for first, _ in shares), key=short)
    seconds = sorted(dict.fromkeys(second for _, second in shares), key=short)
    title = f"{game}, {budget}" if budget else game
    lines = {short(f): [shares.get((f, s)) for s in seconds] for f in firsts}
    columns = tuple(map(short, seconds))
    return named_panel(f"share in {title}", columns, lines, title=title, x="against")


def _claims(played_cells: Cells) -> Iterator[Claim]:
    for plan in cells():
        cell = played_cells.get(plan.duel)
        if cell is not None:
            yield from _claims_of(plan, cell)


def _claims_of(plan: DuelCell, cell: PlayedDuel) -> Iterator[Claim]:
    text = f"{short(plan.players[0])} against {short(plan.players[1])} in {plan.game}"
    shares = shares_of(cell)
    mean = interval_of(shares)
    if plan.share is not None:
        enough = mean.value is not None and len(shares) >= FEWEST_ROUNDS
        yield Claim(
            text,
            f"a share of {plan.share:g} or more",
            format(mean, ".1f"),
            (mean.value >= plan.share) if enough and mean.value is not None else None,
        )
    if plan.sign is not None:
        sign = sign_of(shares)
        yield Claim(
            text,
            f"above {EQUAL:g}, 99 %" if plan.sign else f"{EQUAL:g} is in the interval",
            format(mean, ".1f"),
            None if sign is None else sign == plan.sign,
        )


KRIEGSPIEL = DuelGrid(
    "kriegspiel",
    "Kriegspiel: two decades of ideas",
    "Players of papers 000 and 001 play each other and ours. On the whole board they have as many "
    "histories or boards a move as in the papers, a twentieth, or a hundredth; on five by five and "
    f"in small games with a similar umpire {SHORT_S:g} s or {LONG_S:g} s, and a fifteenth of that "
    "after a refused try. They take turns at the roles. A share is 50 plus half of a player's lead "
    "over the other: with 100 for a win and 50 for a draw, the mean score.",
    duels,
    show,
    matches=100,
    quick_matches=2,
    quickly=quickly,
    games=games,
    costs=costs,
    short=short,
    order=DuelOrder(next_duel, table),
)

"""Charts of the games of kriegspiel: material, boards, and pools that lose all their boards.

The cells that `experiment` played come in; charts after papers 001 and 002 go out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from ggp.labs.kriegspiel.experiment.cells import (
    BOARD,
    BUDGETS,
    POOL_WORLDS,
    POOLS,
    SMALL_BOARD,
    TABLES_2_3,
    sampled,
    spec,
)
from ggp.labs.papers.reproduce.duels import Duel, PlayedDuel, program_of
from ggp.labs.papers.reproduce.grid import Cells
from ggp.labs.papers.reproduce.results import Chart, Curve
from ggp.machine import build_machine
from ggp.machine.base import FloatArray, Machine
from ggp.machine.boards import BoardRelation, BoardSquares
from ggp.players import Decision
from match_runner.series.outcomes import Played

WORTH = {"queen": 9.0, "rook": 5.0, "bishop": 3.0, "knight": 3.0, "pawn": 1.0}
"""Standard values of pieces, as in paper 002."""

PIECES = BoardRelation("cell", (1, 2, 3, 4))

REFUSED = "refused"

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


def _plies(match: Played, player: int) -> Iterable[tuple[int, Decision]]:
    """Yield a player's decisions between several moves, each with its ply."""
    (role,) = (role for role, seated in match.planned.seating.items() if seated == player)
    ply = 0
    for turn in match.record.turns:
        decision = turn.decisions.get(role)
        if decision is not None and len(decision.values) > 1:
            yield ply, decision
        ply += REFUSED not in turn.percepts[role]


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

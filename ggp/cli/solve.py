"""`ggp solve`: the value of optimal play."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from ggp.cli.arguments import (
    backend_option,
    json_option,
    limits_option,
    open_game,
    seed_option,
    verbose_option,
)
from ggp.cli.bounds import growth_told, time_option, turns_option
from ggp.cli.solving import DIGITS, counting, seconds_option, states_option
from ggp.console import example, print_json, print_rich, table_of
from ggp.errors import SolvingError
from ggp.launch import preload

if TYPE_CHECKING:
    from ggp.cli.arguments import Opened
    from ggp.machine import Limits, Machine
    from ggp.solve import GameTree, Profile, Solution
    from ggp.solve.positions.induction import PositionSolution


@click.command(epilog=example("ggp solve kuhn_poker --strategy"))
@click.argument("game")
@click.option("--strategy", is_flag=True, help="Show the probabilities of all moves, too.")
@states_option
@turns_option("Refuse games that may be longer than this.")
@time_option("Most seconds to build the tree of the game.")
@seconds_option()
@seed_option("the search for more than one equilibrium")
@backend_option
@limits_option
@json_option
@verbose_option
def solve(
    game: str,
    strategy: bool,
    states: int,
    max_turns: int,
    max_seconds: float,
    seconds: float,
    seed: int,
    backend: str,
    limits: Limits,
    as_json: bool,
) -> None:
    """Solve a game: what optimal play is worth to each role.

    With one player this is the optimum, with two and constant sum the value of an equilibrium. In
    other games it is a profile found by CFR+, with what each role would gain by deviating from it,
    and equilibria with other values, as far as they are found.
    """
    preload("ggp.solve")
    from ggp.solve import solve as solve_game

    opened = open_game(game, backend, limits=limits)
    began_s = time.monotonic()
    with growth_told(opened.program), counting(f"solving {game}") as progress:
        found = None
        if not strategy:  # which is told by histories, as a tree has them
            found = _by_position(opened.machine, states, max_turns, began_s + max_seconds, progress)
        if found is not None:
            _tell_positions(game, found, time.monotonic() - began_s, opened, seed, as_json=as_json)
            return
        solution = solve_game(
            opened.machine,
            seed=seed,
            most_states=states,
            most_turns=max_turns,
            most_seconds=seconds,
            build_seconds=max(began_s + max_seconds - time.monotonic(), 0.0),
            progress=progress,
        )
    if as_json:
        print_json(_solution_json(game, solution, strategy) | opened.seeded_json(seed))
    else:
        _show_solution(solution, strategy)
        opened.show_seed(seed)


def _by_position(
    machine: Machine, states: int, turns: int, until_s: float, progress: Callable[[int, int], None]
) -> PositionSolution | None:
    """The solution of a game in which everybody knows the state; None if it has to be a tree."""
    from ggp.solve.positions.graph import PositionBounds, suits
    from ggp.solve.positions.induction import solve_positions

    if not suits(machine):
        return None
    bounds = PositionBounds(
        states,
        turns=turns,
        is_over=lambda: time.monotonic() > until_s,
        progress=progress,
    )
    try:
        return solve_positions(machine, bounds)
    except SolvingError:
        return None  # the tree is refused as well, not of constant sum, or solved otherwise


def _tell_positions(
    game: str,
    solution: PositionSolution,
    seconds: float,
    opened: Opened,
    seed: int,
    *,
    as_json: bool,
) -> None:
    """Print a game that was solved position by position, as others are printed."""
    from ggp.machine.abilities import utilities_of

    machine, graph = opened.machine, solution.graph
    names = [machine.roles[role] for role in graph.players]
    values = dict(zip(names, solution.values, strict=True))
    counts = dict(zip(names, graph.choices, strict=True))
    method = "backward induction"
    if solution.is_at_once:
        method += " over matrices"
    if as_json:
        result = {
            "game": game,
            "method": method,
            "values": _rounded(values),
            **_utilities_json(machine, values),
            "nash_conv": round(solution.nash_conv, DIGITS),
            "states": graph.num_positions,
            "information_sets": counts,
            "seconds": round(seconds, 3),
        }
        print_json(result | opened.seeded_json(seed))
        return
    columns = ["role", "#value", "#information sets"]
    utilities = utilities_of(machine, values)
    rows = [[name, f"{value:.6f}", f"{counts[name]:,}"] for name, value in values.items()]
    if utilities:
        columns.insert(2, "#utility")
        for row in rows:
            row.insert(2, f"{utilities[row[0]]:.6f}")
    print_rich(table_of(columns, rows))
    click.echo(
        f"{method}; NashConv {solution.nash_conv:.2g}; {graph.num_positions:,} states in "
        f"{seconds:.2f} s"
    )
    opened.show_seed(seed)


def _solution_json(game: str, solution: Solution, strategy: bool) -> dict[str, Any]:
    tree, profile = solution.tree, solution.profile
    result: dict[str, Any] = {
        "game": game,
        "method": profile.method,
        "values": _rounded(profile.values),
        **_utilities_json(tree.machine, profile.values),
        "nash_conv": round(profile.nash_conv, DIGITS),
        "states": tree.num_states,
        "information_sets": _set_counts(tree),
        "seconds": round(solution.seconds, 3),
    }
    if not solution.is_certain:
        result["gains"] = _rounded(profile.gains)
        result["equilibria"] = [
            {
                "method": each.method,
                "values": _rounded(each.values),
                **_utilities_json(tree.machine, each.values),
                "nash_conv": round(each.nash_conv, DIGITS),
                **({"strategy": _strategy_json(tree, each)} if strategy else {}),
            }
            for each in solution.others
        ]
    if strategy:
        result["strategy"] = _strategy_json(tree, profile)
    return result


def _utilities_json(machine: Machine, values: dict[str, float]) -> dict[str, dict[str, float]]:
    """The utilities behind goal values, in games whose goal values stand for something."""
    from ggp.machine.abilities import utilities_of

    found = utilities_of(machine, values)
    return {"utilities": _rounded(found)} if found else {}


def _set_counts(tree: GameTree) -> dict[str, int]:
    return {name: len(sets) for name, sets in zip(tree.names, tree.sets, strict=True)}


def _rounded(values: dict[str, float]) -> dict[str, float]:
    return {name: round(value, DIGITS) for name, value in values.items()}


def _strategy_json(tree: GameTree, profile: Profile) -> dict[str, list[dict[str, Any]]]:
    """The probabilities of moves after each history, in the form `ggp evaluate` takes."""
    from ggp.solve import history_of

    found: dict[str, list[dict[str, Any]]] = {}
    for player, (name, sets) in enumerate(zip(tree.names, tree.sets, strict=True)):
        strategy = profile.strategies[player]
        found[name] = [
            {
                "history": [
                    {"move": move, "percepts": list(percepts)}
                    for move, percepts in history_of(tree, player, number)
                ],
                "moves": {
                    tree.machine.move_text(move): round(float(share), DIGITS)
                    for move, share in zip(
                        sets.moves_of(number).tolist(),
                        strategy[sets.offsets[number] : sets.offsets[number + 1]],
                        strict=True,
                    )
                },
            }
            for number in range(len(sets))
        ]
    return found


def _show_solution(solution: Solution, strategy: bool) -> None:
    from ggp.machine.abilities import utilities_of

    tree, profile = solution.tree, solution.profile
    counts = _set_counts(tree)
    columns = ["role", "#value", "#information sets"]
    certain = solution.is_certain
    if not certain:
        columns.insert(2, "#gains by deviating")
    utilities = utilities_of(tree.machine, profile.values)
    if utilities:
        columns.insert(2, "#utility")
    rows = []
    for name, value in profile.values.items():
        row = [name, f"{value:.6f}", f"{counts[name]:,}"]
        if not certain:
            row.insert(2, f"{profile.gains[name]:.6f}")
        if utilities:
            row.insert(2, f"{utilities[name]:.6f}")
        rows.append(row)
    print_rich(table_of(columns, rows))
    click.echo(
        f"{profile.method}; NashConv {profile.nash_conv:.2g}; {tree.num_states:,} states in "
        f"{solution.seconds:.2f} s"
    )
    if not certain:
        click.echo(
            "This is one profile of the game, and no more than the gains say: other equilibria "
            "may have other values."
        )
    for each in solution.others:
        values = ", ".join(f"{name} {value:.6f}" for name, value in each.values.items())
        click.echo(f"another equilibrium: {values} ({each.method}; NashConv {each.nash_conv:.2g})")
    if strategy:
        _show_strategy(tree, profile)


def _show_strategy(tree: GameTree, profile: Profile) -> None:
    rows = []
    for name, sets in _strategy_json(tree, profile).items():
        for each in sets:
            turns = (f"{t['move']} ({' '.join(t['percepts'])})" for t in each["history"])
            history = " | ".join(turns) or "start of the game"
            for move, share in each["moves"].items():
                rows.append((name, history, move, f"{share:.4f}"))
    click.echo()
    print_rich(table_of(["role", "after", "move", "#probability"], rows))

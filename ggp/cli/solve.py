"""`ggp solve`: the value of optimal play."""

from __future__ import annotations

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
from ggp.cli.solving import (
    DIGITS,
    counting,
    growth_told,
    seconds_option,
    states_option,
    time_option,
    turns_option,
)
from ggp.console import example, print_json, print_rich, table_of
from ggp.launch import Loading

if TYPE_CHECKING:
    from ggp.machine import Limits, Machine
    from ggp.solve import GameTree, OptimalPlay, Profile


@click.command(epilog=example("ggp solve kuhn_poker --strategy"))
@click.argument("game")
@click.option("--strategy", is_flag=True, help="Show the probabilities of all moves, too.")
@states_option
@turns_option("Refuse games that may be longer than this.")
@time_option("Most seconds to build the tree of the game.")
@seconds_option
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
    with Loading():
        from ggp.solve import TreeBounds, optimal_play

    opened = open_game(game, backend, limits=limits)
    with growth_told(opened.program), counting(f"solving {game}") as progress:
        found = optimal_play(
            opened.machine,
            strategies=strategy,
            seed=seed,
            most_seconds=seconds,
            bounds=TreeBounds(states, max_turns, max_seconds, progress=progress),
        )
    if as_json:
        result = _as_json(game, opened.machine, found, strategy)
        print_json(result | opened.seeded_json(seed))
    else:
        _show(opened.machine, found, strategy)
        opened.show_seed(seed)


def _as_json(game: str, machine: Machine, found: OptimalPlay, strategy: bool) -> dict[str, Any]:
    result: dict[str, Any] = {
        "game": game,
        "method": found.method,
        "values": _rounded(found.values),
        **_utilities_json(machine, found.values),
        "nash_conv": round(found.nash_conv, DIGITS),
        "states": found.num_states,
        "information_sets": found.information_sets,
        "seconds": round(found.seconds, 3),
    }
    solution = found.solution
    if solution is None:
        return result
    tree = solution.tree
    if not solution.is_certain:
        result["gains"] = _rounded(found.gains)
        result["equilibria"] = [
            {
                "method": each.method,
                "values": _rounded(each.values),
                **_utilities_json(machine, each.values),
                "nash_conv": round(each.nash_conv, DIGITS),
                **({"strategy": _strategy_json(tree, each)} if strategy else {}),
            }
            for each in solution.others
        ]
    if strategy:
        result["strategy"] = _strategy_json(tree, solution.profile)
    return result


def _utilities_json(machine: Machine, values: dict[str, float]) -> dict[str, dict[str, float]]:
    """The utilities behind goal values, in games whose goal values stand for something."""
    from ggp.machine.abilities import utilities_of

    found = utilities_of(machine, values)
    return {"utilities": _rounded(found)} if found else {}


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


def _show(machine: Machine, found: OptimalPlay, strategy: bool) -> None:
    from ggp.machine.abilities import utilities_of

    solution = found.solution
    certain = solution is None or solution.is_certain
    columns = ["role", "#value", "#information sets"]
    if not certain:
        columns.insert(2, "#gains by deviating")
    utilities = utilities_of(machine, found.values)
    if utilities:
        columns.insert(2, "#utility")
    rows = []
    for name, value in found.values.items():
        row = [name, f"{value:.6f}", f"{found.information_sets[name]:,}"]
        if not certain:
            row.insert(2, f"{found.gains[name]:.6f}")
        if utilities:
            row.insert(2, f"{utilities[name]:.6f}")
        rows.append(row)
    print_rich(table_of(columns, rows))
    click.echo(
        f"{found.method}; NashConv {found.nash_conv:.2g}; {found.num_states:,} states in "
        f"{found.seconds:.2f} s"
    )
    if solution is None:
        return
    if not certain:
        click.echo(
            "This is one profile of the game, and no more than the gains say: other equilibria "
            "may have other values."
        )
    for each in solution.others:
        values = ", ".join(f"{name} {value:.6f}" for name, value in each.values.items())
        click.echo(f"another equilibrium: {values} ({each.method}; NashConv {each.nash_conv:.2g})")
    if strategy:
        _show_strategy(solution.tree, solution.profile)


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

"""`ggp solve` and `ggp exploit`: optimal play, and how far players are from it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from ggp.cli.arguments import (
    FiniteRange,
    PlayerText,
    backend_option,
    json_option,
    limits_option,
    open_game,
    seed_option,
    verbose_option,
)
from ggp.cli.progress import bar_of
from ggp.console import console_on, print_json, print_rich, spinner, table_of
from ggp.gdl.source import printable
from ggp.launch import preload

if TYPE_CHECKING:
    import numpy as np

    from ggp.machine import Limits, Machine
    from ggp.solve import Chooser, Exploitation, GameTree, Profile, Solution

MOST_STATES = 1_000_000
"""As in `ggp.solve`, which is slow to import."""

MOST_SECONDS = 60.0

DEFAULT_SAMPLES = 400

_DIGITS = 9
"""Digits after the point; what comes after them is rounding."""


def _states_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--states",
        type=click.IntRange(min=1),
        default=MOST_STATES,
        show_default=True,
        help="Refuse trees with more states than this.",
    )(command)


def _seconds_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--seconds",
        type=FiniteRange(min=0, min_open=True),
        default=MOST_SECONDS,
        show_default=True,
        help="About how long to solve linear programs, and as long again for CFR+ where they fail.",
    )(command)


@click.command()
@click.argument("game")
@click.option("--strategy", is_flag=True, help="Show the probabilities of all moves, too.")
@_states_option
@_seconds_option
@seed_option("the search for more than one equilibrium")
@backend_option
@limits_option
@json_option
@verbose_option
def solve(
    game: str,
    strategy: bool,
    states: int,
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

    machine = open_game(game, backend, limits=limits).machine
    with _counting(f"solving {game}") as progress:
        solution = solve_game(
            machine, seed=seed, most_states=states, most_seconds=seconds, progress=progress
        )
    if as_json:
        print_json(_solution_json(game, solution, strategy))
    else:
        _show_solution(solution, strategy)


@contextmanager
def _counting(text: str) -> Iterator[Callable[[int, int], None]]:
    """A spinner that shows how large the tree is by now."""
    if not sys.stderr.isatty():
        yield lambda turns, states: None
        return
    with console_on(sys.stderr).status(text) as status:
        yield lambda turns, states: status.update(f"{text}: {turns} turns, {states:,} states")


def _solution_json(game: str, solution: Solution, strategy: bool) -> dict[str, Any]:
    tree, profile = solution.tree, solution.profile
    result: dict[str, Any] = {
        "game": game,
        "method": profile.method,
        "values": _rounded(profile.values),
        "nash_conv": round(profile.nash_conv, _DIGITS),
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
                "nash_conv": round(each.nash_conv, _DIGITS),
                **({"strategy": _strategy_json(tree, each)} if strategy else {}),
            }
            for each in solution.others
        ]
    if strategy:
        result["strategy"] = _strategy_json(tree, profile)
    return result


def _set_counts(tree: GameTree) -> dict[str, int]:
    return {name: len(sets) for name, sets in zip(tree.names, tree.sets, strict=True)}


def _rounded(values: dict[str, float]) -> dict[str, float]:
    return {name: round(value, _DIGITS) for name, value in values.items()}


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
                    tree.machine.move_text(move): round(float(share), _DIGITS)
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
    tree, profile = solution.tree, solution.profile
    counts = _set_counts(tree)
    columns = ["role", "#value", "#information sets"]
    certain = solution.is_certain
    if not certain:
        columns.insert(2, "#gains by deviating")
    rows = []
    for name, value in profile.values.items():
        row = [name, f"{value:.6f}", f"{counts[name]:,}"]
        if not certain:
            row.insert(2, f"{profile.gains[name]:.6f}")
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


@click.command()
@click.argument("game")
@click.option(
    "--player",
    type=PlayerText(),
    required=True,
    metavar="SPEC",
    help="For example hyperplay2:n=4; `ggp players` lists them.",
)
@click.option(
    "--samples",
    type=click.IntRange(min=1),
    default=DEFAULT_SAMPLES,
    show_default=True,
    metavar="K",
    help="Decisions of new players at each information set.",
)
@_states_option
@_seconds_option
@seed_option("the players and the bootstrap")
@backend_option
@limits_option
@json_option
@verbose_option
def exploit(
    game: str,
    player: str,
    samples: int,
    states: int,
    seconds: float,
    seed: int,
    backend: str,
    limits: Limits,
    as_json: bool,
) -> None:
    """Measure how far a player is from optimal play.

    Its policy is sampled at every information set. Shown is what it scores in each role against
    an equilibrium, and against a best response to it, with an interval for the latter.
    """
    preload("ggp.players", "ggp.solve")
    from ggp.players import parse_spec
    from ggp.solve import build_tree, sample_policy, solve_tree
    from ggp.solve import exploit as evaluate

    spec = parse_spec(player)
    machine = open_game(game, backend, limits=limits).machine
    with _counting(f"solving {game}") as progress:
        tree = build_tree(machine, most_states=states, progress=progress)
        solution = solve_tree(tree, seed=seed, most_seconds=seconds)
    with bar_of(sum(map(len, tree.sets)), f"asking {player}") as advance:
        policies = [
            sample_policy(tree, number, _maker(machine, spec), samples, seed, advance)
            for number in range(len(tree.players))
        ]
    with spinner("finding best responses"):
        found = evaluate(tree, solution.profile.strategies, policies, seed)
    if as_json:
        print_json(_exploit_json(player, samples, found))
    else:
        _show_exploit(player, samples, found)


def _maker(machine: Machine, spec: Any) -> Callable[[int, np.random.Generator], Chooser]:
    from ggp.players import make_player

    return lambda role, rng: make_player(spec, machine, role, rng)


def _exploit_json(player: str, samples: int, found: Exploitation) -> dict[str, Any]:
    return {
        "player": player,
        "samples": samples,
        "roles": {
            name: {
                "value": round(each.value, _DIGITS),
                "best_response": round(each.best_response, _DIGITS),
                "ci99": [round(bound, _DIGITS) for bound in each.ci99],
            }
            for name, each in found.roles.items()
        },
        "nash_conv": round(found.nash_conv, _DIGITS),
    }


def _show_exploit(player: str, samples: int, found: Exploitation) -> None:
    rows = [
        (
            name,
            f"{each.value:.4f}",
            f"{each.best_response:.4f}",
            f"{each.ci99[0]:.4f} to {each.ci99[1]:.4f}",
        )
        for name, each in found.roles.items()
    ]
    columns = ["role", "#against equilibrium", "#against a best response", "99 % interval"]
    print_rich(table_of(columns, rows))
    click.echo(
        printable(
            f"{player}: NashConv {found.nash_conv:.4f}; {samples:,} "
            f"sample{'' if samples == 1 else 's'} at each information set"
        )
    )

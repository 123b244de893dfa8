"""`ggp respond`: a bound on what a player can lose, in games of any size."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from ggp.cli.arguments import (
    FilePath,
    FiniteRange,
    backend_option,
    json_option,
    limits_option,
    open_game,
    seed_option,
    verbose_option,
)
from ggp.cli.exploit import maker_of
from ggp.cli.solving import (
    DIGITS,
    MOST_SECONDS,
    counting,
    growth_told,
    player_option,
    states_option,
    telling,
    time_option,
    turns_option,
)
from ggp.console import example, print_json, print_rich, table_of
from ggp.errors import ConfigError
from ggp.gdl.source import printable
from ggp.launch import Loading

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ggp.cli.arguments import Opened
    from ggp.labs.learning.respond import Bound, Judged
    from ggp.machine import Limits
    from ggp.solve import MakeChooser, TreeBounds
    from ggp.statistics import Interval

UNIFORM_PLAYER = "random"
"""The player whose moves need no asking."""


DEFAULT_MATCHES = 1000


@click.command(epilog=example("ggp respond leduc_poker --player random --updates 60"))
@click.argument("game")
@player_option
@click.option(
    "--updates",
    type=click.IntRange(min=1),
    metavar="N",
    help="Updates of each responder in each role, instead of --seconds.",
)
@click.option(
    "--matches",
    type=click.IntRange(min=2),
    default=DEFAULT_MATCHES,
    show_default=True,
    metavar="M",
    help="Fresh matches in each role, after the responder is chosen.",
)
@click.option(
    "--check", is_flag=True, help="Work out the same exactly, too, in a small game, as a tree."
)
@click.option("--plot", type=FilePath(), metavar="FILE", help="Draw the bound over time as PNG.")
@click.option(
    "--few",
    is_flag=True,
    help="Learn from as few matches an update as against players that are asked in every match, "
    "so that a player that tells its policy compares with these.",
)
@states_option
@turns_option("With --check: refuse games that may be longer than this.")
@time_option("With --check: most seconds to build the tree of the game.")
@click.option(
    "--seconds",
    type=FiniteRange(min=0, min_open=True),
    default=MOST_SECONDS,
    show_default=True,
    help="CPU time of all responders in all roles, to judge them included.",
)
@seed_option("responders and matches")
@backend_option
@limits_option
@json_option
@verbose_option
def respond(
    game: str,
    player: str,
    updates: int | None,
    matches: int,
    check: bool,
    plot: Path | None,
    few: bool,
    states: int,
    max_turns: int,
    max_seconds: float,
    seconds: float,
    seed: int,
    backend: str,
    limits: Limits,
    as_json: bool,
) -> None:
    """Bound what a player can lose, in games of any size.

    Nothing is solved. For each role, responders learn from matches against the player, for
    --seconds of CPU time in all, or --updates each. The better one plays fresh matches: its score
    is no more than that of a best response, so it bounds from below what the player can lose.
    """
    _check_options(check)
    with Loading():
        from ggp.labs.learning.respond import Budget, Rival, measure
        from ggp.machine.base import player_roles
        from ggp.players import blamed, parse_spec
        from ggp.solve import TreeBounds

    spec = parse_spec(player)
    opened = open_game(game, backend, limits=limits)
    machine, make = opened.machine, maker_of(opened, spec)
    is_uniform, roles = spec.text == UNIFORM_PLAYER, player_roles(machine)
    tells = bool(getattr(make(roles[0], _any_stream(seed)), "tells_policy", False))
    with blamed(spec):
        bounds = TreeBounds(states, max_turns, max_seconds)
        exact = _exact(opened, make, bounds, tells) if check else None
    budget = Budget(updates, None if updates is not None else seconds / len(roles))
    with telling(f"responding to {spec.text}") as tell, blamed(spec):

        def progress(role: str, found: Judged | int) -> None:
            if isinstance(found, int):
                tell(f"as {role}, {found:,} matches")
            else:
                tell(f"as {role}, {found.matches:,} matches: {_text(found.score)}")

        rival = Rival(machine, None if is_uniform else make, tells, opened.program, few)
        bound = measure(rival, budget, matches, seed, progress=progress)
    if plot is not None:
        _draw(bound, exact, spec.text, plot)
    if as_json:
        asked = {
            "player": spec.text,
            "approximate": True,
            "updates": updates,
            "seconds": None if updates is not None else seconds,
            "matches": matches,
            "few": few,
        }
        print_json(asked | _as_json(bound, exact) | opened.seeded_json(seed))
    else:
        _show(spec.text, bound, exact)
        opened.show_seed(seed)


_OF_TREES = ("states", "max_turns", "max_seconds")


def _check_options(check: bool) -> None:
    """Refuse options that say nothing.

    Raises:
        ConfigError: there is one.
    """
    context = click.get_current_context()

    def is_given(name: str) -> bool:
        return context.get_parameter_source(name) is ParameterSource.COMMANDLINE

    if is_given("updates") and is_given("seconds"):
        raise ConfigError("give either --updates or --seconds")
    for name in filter(is_given, () if check else _OF_TREES):
        raise ConfigError(
            f"--{name.replace('_', '-')} says nothing without --check: no tree is built"
        )


def _any_stream(seed: int) -> Any:
    import numpy as np

    return np.random.default_rng(seed)


def _exact(
    opened: Opened, make: MakeChooser, bounds: TreeBounds, tells: bool
) -> dict[str, float] | None:
    """The score of a best response in each role.

    Raises:
        ConfigError: the player does not tell its policy.
        SolvingError: the tree is too large.
    """
    from ggp.solve import build_tree, sample_policy
    from ggp.solve.forest import evaluate

    if not tells:
        raise ConfigError(
            "--check needs a player that tells its policy, such as random or policy:file=FILE; "
            "`ggp exploit` without --approximate asks others again and again"
        )
    with growth_told(opened.program), counting("walking the whole tree") as progress:
        tree = build_tree(opened.machine, bounds._replace(progress=progress))
        samples = [sample_policy(tree, k, make, 1, 0) for k in range(len(tree.players))]
        if not all(each.is_told for each in samples):
            raise ConfigError("--check needs a player that tells its policy everywhere")
        found = evaluate(tree, [each.strategy() for each in samples])
    return {name: float(value) for name, value in zip(tree.names, found.best, strict=True)}


def _text(interval: Interval) -> str:
    from ggp.statistics import interval_text

    return interval_text(interval)


def _as_json(bound: Bound, exact: dict[str, float] | None) -> dict[str, Any]:
    return {
        "responses": {
            role: {
                **_interval_json(each.score),
                "by": each.by,
                "exact": None if exact is None else round(exact[role], DIGITS),
                "over_time": [
                    {
                        "by": judged.by,
                        "matches": judged.matches,
                        "seconds": round(judged.seconds, 3),
                        **_interval_json(judged.score),
                    }
                    for judged in each.over_time
                ],
            }
            for role, each in bound.responses.items()
        },
        "roles": {
            role: {
                "best_response": _rounded(each.value),
                "ci99": [_rounded(each.low), _rounded(each.high)],
            }
            for role, each in bound.left.items()
        },
        "sum_of_goals": bound.total,
        "nash_conv": None if bound.nash_conv is None else _interval_json(bound.nash_conv),
    }


def _interval_json(interval: Interval) -> dict[str, Any]:
    ends = [_rounded(interval.low), _rounded(interval.high)]
    return {"score": _rounded(interval.value), "ci99": ends}


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, DIGITS)


def _show(player: str, bound: Bound, exact: dict[str, float] | None) -> None:
    columns = ["responder's role", "#score [99 %]", "by", "#matches"]
    if exact is not None:
        columns.append("#best response")
    rows = []
    for role, each in bound.responses.items():
        learned = max(judged.matches for judged in each.over_time if judged.by == each.by)
        row = [role, _text(each.score), each.by, f"{learned:,}"]
        rows.append([*row, f"{exact[role]:.2f}"] if exact is not None else row)
    print_rich(table_of(columns, rows))
    fresh = len(next(iter(bound.responses.values())).goals)
    for role, left in bound.left.items():
        click.echo(printable(f"{player} as {role} is left with {_text(left)}"))
    if bound.nash_conv is not None:
        click.echo(
            printable(
                f"together they gain {_text(bound.nash_conv)}; NashConv of {player} is no less"
            )
            + f" (goals summed up to {bound.total:g} in every match)"
        )
    click.echo(
        f"{fresh:,} fresh matches a role, after the responder was chosen; intervals by betting, "
        "valid whenever one stops"
    )


def _draw(bound: Bound, exact: dict[str, float] | None, player: str, path: Path) -> None:
    """Draw the bound over time.

    Raises:
        GGPError: the file cannot be written; see `write_whole`.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from ggp.run.whole_files import write_whole

    figure = Figure(figsize=(3.9 * len(bound.responses) + 0.4, 3.4), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    every = figure.subplots(1, len(bound.responses), squeeze=False, sharey=True)[0]
    for axes, (role, each) in zip(every, bound.responses.items(), strict=True):
        _draw_curves(axes, each.over_time)
        if exact is not None:
            axes.axhline(exact[role], color="0.4", linestyle="--", linewidth=1, label="exact")
        axes.set_title(f"as {role}: {_text(each.score)}", fontsize="medium")
        axes.set_xlabel("matches that it learned from")
        axes.set_xscale("log")
        axes.legend(fontsize="small")
    every[0].set_ylabel("score, with 99 % intervals")
    figure.suptitle(f"responses to {player}", fontsize="medium")
    picture = BytesIO()
    figure.savefig(picture, format="png", metadata={"Software": None})
    write_whole(path, picture.getvalue())


def _draw_curves(axes: Axes, over_time: tuple[Judged, ...]) -> None:
    for name in dict.fromkeys(judged.by for judged in over_time):
        some = [judged for judged in over_time if judged.by == name]
        at = [judged.matches for judged in some]
        axes.plot(at, [judged.score.value or 0.0 for judged in some], label=name)
        lows = [judged.score.low or 0.0 for judged in some]
        highs = [judged.score.high or 0.0 for judged in some]
        axes.fill_between(at, lows, highs, alpha=0.2)

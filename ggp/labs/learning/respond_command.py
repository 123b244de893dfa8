"""`ggp respond`: a bound on the losses of a player, in games of any size.

The command loads a game and a player, lets responders learn against it (`respond.measure`), and
prints or draws the bound. With `--check` it compares the bound with the exact value.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from ggp.cli.arguments import FilePath, GameOptions, game_command, is_given
from ggp.cli.solving import player_option, seconds_option, tree_options, tree_progress
from ggp.console import spinner
from ggp.errors import ConfigError
from ggp.labs.learning.respond import Bound, Budget, Judged, Rival, measure
from ggp.library import Game
from ggp.library.solved import chooser_of, explaining_growth
from ggp.machine.base import player_roles
from ggp.players import blamed, parse_spec
from ggp.report import Report, Table, rounded
from ggp.run.whole_files import write_whole
from ggp.solve import MakeChooser, TreeBounds, build_tree, sample_policy
from ggp.solve.forest import evaluate
from ggp.statistics import Interval
from match_runner.charts import Plot, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

UNIFORM_PLAYER = "random"
"""The player that need not be asked for its moves."""


DEFAULT_MATCHES = 1000


@game_command("ggp respond leduc_poker --player random --updates 60", seed="responders and matches")
@player_option("hyperplay2:n=4")
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
    "--check", is_flag=True, help="Also compute the exact values, in a small game, by its tree."
)
@click.option("--plot", type=FilePath(), metavar="FILE", help="Draw the bound over time as PNG.")
@click.option(
    "--few",
    is_flag=True,
    help="Use as few matches per update as against players that are asked in every match, to "
    "compare a player that reports its policy with such players.",
)
@tree_options(only_with="--check")
@seconds_option("CPU time of all responders in all roles, including their evaluation.")
def respond(
    options: GameOptions,
    player: str,
    updates: int | None,
    matches: int,
    check: bool,
    plot: Path | None,
    few: bool,
    bounds: TreeBounds,
    seconds: float,
) -> None:
    """Bound what a player can lose, in games of any size.

    The game is not solved. For each role, responders learn from matches against the player, for
    --seconds of CPU time in all, or --updates each. The better one plays fresh matches: its score
    is at most that of a best response, so it is a lower bound on what the player can lose.
    """
    _check_options(check)
    spec = parse_spec(player)
    game = options.load()
    machine, make = game._machine, chooser_of(game, spec)
    is_uniform, roles = spec.text == UNIFORM_PLAYER, player_roles(machine)
    stream = np.random.default_rng(options.seed)
    tells = bool(getattr(make(roles[0], stream), "tells_policy", False))
    with blamed(spec):
        exact = _exact(game, make, bounds, tells) if check else None
    budget = Budget(updates, None if updates is not None else seconds / len(roles))
    with spinner(f"responding to {spec.text}") as tell, blamed(spec):

        def progress(role: str, news: Judged | int) -> None:
            if isinstance(news, int):
                tell(f"as {role}, {news:,} matches")
            else:
                tell(f"as {role}, {news.matches:,} matches: {news.score}")

        rival = Rival(machine, None if is_uniform else make, tells, game.program, few)
        bound = measure(rival, budget, matches, options.seed, progress=progress)
    if plot is not None:
        _draw(bound, exact, spec.text, plot)
    values = {
        "player": spec.text,
        "approximate": True,
        "updates": updates,
        "seconds": None if updates is not None else seconds,
        "matches": matches,
        "few": few,
    } | rounded(_values(bound, exact))
    options.show(Report(values, _parts(spec.text, bound, exact)), game.backend)


_OF_TREES = ("states", "max_turns", "max_seconds")


def _check_options(check: bool) -> None:
    """Refuse options that have no effect.

    Raises:
        ConfigError: such an option was given.
    """
    if is_given("updates") and is_given("seconds"):
        raise ConfigError("give either --updates or --seconds")
    for name in filter(is_given, () if check else _OF_TREES):
        raise ConfigError(
            f"--{name.replace('_', '-')} says nothing without --check: no tree is built"
        )


def _exact(
    game: Game, make: MakeChooser, bounds: TreeBounds, tells: bool
) -> dict[str, float] | None:
    """The score of a best response in each role.

    Raises:
        ConfigError: the player does not report its policy.
        SolvingError: the tree is too large.
    """
    if not tells:
        raise ConfigError(
            "--check needs a player that tells its policy, such as random or policy:file=FILE; "
            "`ggp exploit` without --approximate samples other players"
        )
    with explaining_growth(game.program), spinner("walking the whole tree") as tell:
        tree = build_tree(game._machine, bounds._replace(progress=tree_progress(tell)))
        samples = [sample_policy(tree, k, make, 1, 0) for k in range(len(tree.players))]
        if not all(sample.is_told for sample in samples):
            raise ConfigError("--check needs a player that tells its policy everywhere")
        evaluation = evaluate(tree, [sample.strategy() for sample in samples])
    return {name: float(value) for name, value in zip(tree.names, evaluation.best, strict=True)}


def _values(bound: Bound, exact: dict[str, float] | None) -> dict[str, Any]:
    return {
        "responses": {
            role: {
                **_score(response.score),
                "by": response.by,
                "exact": exact and exact[role],
                "over_time": [
                    {
                        "by": judged.by,
                        "matches": judged.matches,
                        "seconds": round(judged.seconds, 3),
                        **_score(judged.score),
                    }
                    for judged in response.over_time
                ],
            }
            for role, response in bound.responses.items()
        },
        "roles": {
            role: {"best_response": interval.value, "ci99": [interval.low, interval.high]}
            for role, interval in bound.remainders.items()
        },
        "sum_of_goals": bound.total,
        "nash_conv": bound.nash_conv and _score(bound.nash_conv),
    }


def _score(interval: Interval) -> dict[str, Any]:
    return {"score": interval.value, "ci99": [interval.low, interval.high]}


def _parts(player: str, bound: Bound, exact: dict[str, float] | None) -> Iterator[Table | str]:
    head = ("responder's role", "#score [99 %]", "by", ("#matches", ","))
    rows: list[tuple[object, ...]] = []
    for role, response in bound.responses.items():
        learned = max(judged.matches for judged in response.over_time if judged.by == response.by)
        best = () if exact is None else (exact[role],)
        rows.append((role, response.score, response.by, learned, *best))
    yield Table(head if exact is None else (*head, ("#best response", ".2f")), rows)
    fresh = len(next(iter(bound.responses.values())).goals)
    for role, remainder in bound.remainders.items():
        yield f"{player} as {role} is left with {remainder}"
    if bound.nash_conv is not None:
        yield (
            f"together they gain {bound.nash_conv}; NashConv of {player} is no less"
            f" (goals summed up to {bound.total:g} in every match)"
        )
    yield (
        f"{fresh:,} fresh matches a role, after the responder was chosen; intervals by betting, "
        "valid whenever one stops"
    )


def _draw(bound: Bound, exact: dict[str, float] | None, player: str, path: Path) -> None:
    """Draw the bound over time.

    Raises:
        GGPError: the file cannot be written; see `write_whole`.
    """
    figure = new_figure(3.9 * len(bound.responses) + 0.4, 3.4)
    panels = figure.subplots(1, len(bound.responses), squeeze=False, sharey=True)[0]
    for axes, (role, response) in zip(panels, bound.responses.items(), strict=True):
        _draw_curves(axes, response.over_time)
        if exact is not None:
            axes.axhline(exact[role], color="0.4", linestyle="--", linewidth=1, label="exact")
        axes.set_title(f"as {role}: {response.score}", fontsize="medium")
        axes.set_xlabel("matches that it learned from")
        axes.set_xscale("log")
        axes.legend(fontsize="small")
    panels[0].set_ylabel("score, with 99 % intervals")
    figure.suptitle(f"responses to {player}", fontsize="medium")
    write_whole(path, Plot(figure).png())


def _draw_curves(axes: Axes, over_time: tuple[Judged, ...]) -> None:
    for name in dict.fromkeys(judged.by for judged in over_time):
        curve = [judged for judged in over_time if judged.by == name]
        matches = [judged.matches for judged in curve]
        axes.plot(matches, [judged.score.value or 0.0 for judged in curve], label=name)
        lows = [judged.score.low or 0.0 for judged in curve]
        highs = [judged.score.high or 0.0 for judged in curve]
        axes.fill_between(matches, lows, highs, alpha=0.2)

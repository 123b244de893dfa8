"""`ggp exploit --approximate`: a bound on what a player can lose, in games of any size."""

from __future__ import annotations

import time
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ggp.cli.bounds import growth_told
from ggp.cli.solving import DIGITS, counting, telling
from ggp.console import print_json, print_rich, table_of
from ggp.errors import ConfigError
from ggp.gdl.source import printable
from ggp.launch import preload

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ggp.cli.arguments import Opened
    from ggp.players import PlayerSpec
    from ggp.respond import Bound, Judged
    from ggp.solve import MakeChooser
    from ggp.statistics.intervals import Interval

UNIFORM_PLAYER = "random"
"""The player whose moves need no asking."""


@dataclass(frozen=True, slots=True)
class Approximation:
    """Options of `--approximate`.

    Attributes:
        updates: of each responder in each role; None if seconds decide.
        seconds: of CPU time, for all responders in all roles.
        matches: fresh ones in each role.
        check: whether to work out the same exactly, too.
        plot: where to draw the bound over time.
        few: whether updates have as few matches as against players that are asked in each.
    """

    updates: int | None
    seconds: float
    matches: int
    check: bool
    plot: Path | None
    few: bool


@dataclass(frozen=True, slots=True)
class TreeLimits:
    """Most states, turns and seconds for the tree of `--check`."""

    states: int
    turns: int
    seconds: float


def approximate(
    opened: Opened,
    spec: PlayerSpec,
    make: MakeChooser,
    asked: Approximation,
    seed: int,
    limits: TreeLimits,
    *,
    as_json: bool,
) -> None:
    """Measure, check and show."""
    preload("ggp.respond")
    from ggp.machine.base import player_roles
    from ggp.players import blamed
    from ggp.respond import Budget, measure

    machine = opened.machine
    is_uniform, roles = spec.text == UNIFORM_PLAYER, player_roles(machine)
    tells = bool(getattr(make(roles[0], _any_stream(seed)), "tells_policy", False))
    with blamed(spec):
        exact = _exact(opened, make, limits, tells) if asked.check else None
    seconds = None if asked.updates is not None else asked.seconds / len(roles)
    with telling(f"responding to {spec.text}") as tell, blamed(spec):

        def progress(role: str, found: Judged | int) -> None:
            if isinstance(found, int):
                tell(f"as {role}, {found:,} matches")
            else:
                tell(f"as {role}, {found.matches:,} matches: {_text(found.score)}")

        bound = measure(
            machine,
            None if is_uniform else make,
            Budget(asked.updates, seconds),
            asked.matches,
            seed,
            tells=tells,
            program=opened.program,
            few=asked.few,
            progress=progress,
        )
    if asked.plot is not None:
        _draw(bound, exact, spec.text, asked.plot)
    if as_json:
        print_json(_as_json(spec.text, asked, bound, exact) | opened.seeded_json(seed))
    else:
        _show(spec.text, bound, exact)
        opened.show_seed(seed)


def _any_stream(seed: int) -> Any:
    import numpy as np

    return np.random.default_rng(seed)


def _exact(
    opened: Opened, make: MakeChooser, limits: TreeLimits, tells: bool
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
    until_s = time.monotonic() + limits.seconds
    with growth_told(opened.program), counting("walking the whole tree") as progress:
        tree = build_tree(
            opened.machine,
            most_states=limits.states,
            most_turns=limits.turns,
            is_over=lambda: time.monotonic() > until_s,
            progress=progress,
        )
        samples = [sample_policy(tree, k, make, 1, 0) for k in range(len(tree.players))]
        if not all(each.is_told for each in samples):
            raise ConfigError("--check needs a player that tells its policy everywhere")
        found = evaluate(tree, [each.strategy() for each in samples])
    return {name: float(value) for name, value in zip(tree.names, found.best, strict=True)}


def _text(interval: Interval) -> str:
    from ggp.statistics.intervals import interval_text

    return interval_text(interval)


def _as_json(
    player: str, asked: Approximation, bound: Bound, exact: dict[str, float] | None
) -> dict[str, Any]:
    return {
        "player": player,
        "approximate": True,
        "updates": asked.updates,
        "seconds": None if asked.updates is not None else asked.seconds,
        "matches": asked.matches,
        "few": asked.few,
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

"""`ggp learn`: policies of a game, learnt by self-play."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from ggp.cli.arguments import (
    FilePath,
    FiniteRange,
    backend_option,
    json_option,
    seed_option,
)
from ggp.console import example, installed_version, show_report, spinner, verbose_option
from ggp.errors import ConfigError
from ggp.labs.learning.env import make
from ggp.labs.learning.learnt_seeds import LearntSeed, Task, learn_seeds
from ggp.labs.learning.selfplay import Learner, Told, usual_settings
from ggp.labs.learning.selfplay.files import SUFFIX, About, read_policy, write_policy
from ggp.machine.games import load_program
from ggp.report import Report, Table
from ggp.run.whole_files import write_whole
from ggp.seeds import check_seed

DEFAULT_MINUTES = 1.0
DEFAULT_LANES = 1024

_SHOWN = 10
"""About as many points of the curve are in the table."""


@click.command(epilog=example("ggp learn kuhn_poker --updates 20"))
@click.argument("game")
@click.option(
    "--minutes",
    type=FiniteRange(min=0, min_open=True),
    metavar="M",
    help=f"How long to learn.  [default: {DEFAULT_MINUTES:g}, unless --updates is given]",
)
@click.option(
    "--updates",
    type=click.IntRange(min=1),
    metavar="N",
    help="How often to learn from what was played; the same seed then gives the same policies.",
)
@click.option(
    "--continue",
    "goes_on",
    is_flag=True,
    help="Go on from the file, at the temperature and the rate at which it ended.",
)
@click.option(
    "--out",
    type=FilePath(),
    metavar="FILE",
    help="Where to write the policies.  [default: GAME.policy.npz in the current folder]",
)
@click.option(
    "--lanes",
    type=click.IntRange(min=1, max=1 << 16),
    default=DEFAULT_LANES,
    show_default=True,
    help="Matches side by side.",
)
@click.option(
    "--threads",
    type=click.IntRange(min=1, max=1 << 10),
    default=1,
    show_default=True,
    metavar="N",
    help="Processors to use: roles learn side by side; what they learn does not depend on it.",
)
@click.option(
    "--seeds",
    type=click.IntRange(min=1),
    metavar="K",
    help="Learn from so many seeds, from --seed on, and keep the policies that others gain least "
    "against.",
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    help="With --seeds: processes side by side.  [default: 1]",
)
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="With --seeds: learn on the Dask cluster of this scheduler (or scheduler file).",
)
@seed_option("the first weights, and of all matches")
@backend_option
@json_option
@verbose_option
def learn(
    game: str,
    minutes: float | None,
    updates: int | None,
    goes_on: bool,
    out: Path | None,
    lanes: int,
    threads: int,
    seeds: int | None,
    jobs: int | None,
    scheduler: str | None,
    seed: int,
    backend: str,
    as_json: bool,
) -> None:
    """Learn policies of a game by self-play, and write them to a file.

    All roles learn at once. The player learned:policy=FILE plays what they learnt.

    With --seeds each run is judged by what others gain by responding to it: its exact NashConv in
    a small game, elsewhere what responders learn to gain.
    """
    program = load_program(game)
    name = Path(program.source.name).stem
    path = out or Path(f"{name}{SUFFIX}")
    if path.exists() and not goes_on and out is None:
        raise ConfigError(
            f"{path} is there already; go on from it with --continue, or name a file with --out"
        )
    if not path.absolute().parent.is_dir():
        raise ConfigError(f"cannot write {path} later: there is no folder {path.parent}")
    budget = DEFAULT_MINUTES if minutes is None and updates is None else minutes
    if seeds is None and (jobs, scheduler) != (None, None):
        raise ConfigError("--jobs and --scheduler are for --seeds, the number of runs")
    if seeds is not None:
        if goes_on:
            raise ConfigError("--continue goes on from one file; leave out --seeds")
        check_seed(seed + seeds - 1)
        seconds = None if budget is None else 60 * budget
        one = Task(
            program.source.name,
            program.source.text,
            backend,
            lanes,
            updates,
            seconds,
            seed,
            installed_version(),
        )
        tasks = [one._replace(seed=seed + k) for k in range(seeds)]
        learn_several(tasks, path, jobs, scheduler, as_json=as_json)
        return
    kept = read_policy(path) if goes_on else None
    with spinner(f"preparing {game}"):
        env = make(program, lanes, paths=False, backend=backend, threads=threads)
        settings = usual_settings(env)
        if kept is not None:
            about = kept.about
            settings = replace(settings, hidden=about.hidden, critic=about.critic)
        learner = Learner(env, settings=settings, seed=seed, threads=threads)
        if kept is not None:
            learner.go_on(kept, str(path))
    begun = learner.updates
    try:
        with spinner(f"learning {game}") as tell:
            told = learner.learn(
                updates=updates,
                seconds=None if budget is None else 60 * budget,
                progress=_progress(tell),
            )
    except KeyboardInterrupt:
        if learner.updates > begun:  # else there is nothing new
            write_policy(path, learner.kept(name, installed_version()))
            click.echo(f"interrupted; written to {path}, from which --continue goes on", err=True)
        raise
    write_policy(path, learner.kept(name, installed_version()))
    values = {
        "file": str(path),
        "updates": told.updates,
        "states": told.states,
        "decisions": told.decisions,
        "seconds": round(told.seconds, 3),
        "curve": learner.curve,
        "seed": seed,
        "backend": env.machine.backend,
    }
    speed = told.decisions / max(told.seconds, 1e-9)
    parts = (
        _curve(learner),
        f"{told.updates:,} updates, {told.decisions:,} decisions in {told.seconds:.1f} s "
        f"({speed:,.0f} a second)",
        f"written to {path}; play it with learned:policy={path}",
    )
    show_report(Report(values, parts), as_json=as_json)


def _progress(tell: Callable[[str], None]) -> Callable[[Told], None]:
    def progress(told: Told) -> None:
        rewards = ", ".join(f"{role} {_goal(value)}" for role, value in told.rewards.items())
        tell(f"{told.share:.0%}, {told.decisions:,} decisions; {rewards}")

    return progress


def _goal(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


def _curve(learner: Learner) -> Table:
    """Some points of the learning curve."""
    curve, roles = learner.curve, learner.learns
    every = max(1, -(-len(curve) // _SHOWN))
    rows = [
        (
            *(point["updates"], point["decisions"]),
            *(_goal(point["rewards"][role]) for role in roles),
            *(point["entropy"][role] for role in roles),
            point["error"],
        )
        for point in curve[::-every][::-1]
    ]
    head = (
        *(("#updates", ","), ("#decisions", ",")),
        *(f"#goal of {role}" for role in roles),
        *((f"#entropy of {role}", ".3f") for role in roles),
        ("#error of critic", ".4f"),
    )
    return Table(head, rows)


# ------------------------------------------------------------------------
# `ggp learn --seeds`: several runs, of which the one that gives least away is kept.

DIGITS = 4


def learn_several(
    tasks: Sequence[Task], path: Path, jobs: int | None, scheduler: str | None, *, as_json: bool
) -> None:
    """Learn, show how each seed did, and write the best."""
    come = 0
    with spinner(f"learning from {len(tasks)} seeds") as tell:

        def progress(found: LearntSeed) -> None:
            nonlocal come
            come += 1
            tell(f"{come} of {len(tasks)}; seed {found.seed} gives {found.given_away:.2f} away")

        found = learn_seeds(tasks, jobs=jobs, scheduler=scheduler, progress=progress)
    best = found[0]
    write_whole(path, best.file)
    runs = [
        {
            "seed": each.seed,
            "given_away": round(each.given_away, DIGITS),
            "exact": each.is_exact,
            "updates": each.updates,
            "decisions": each.decisions,
            "seconds": round(each.seconds, 3),
        }
        for each in found
    ]
    head = (
        *("#seed", ("#others gain", ".2f"), "how known", ("#updates", ","), ("#decisions", ",")),
        ("#seconds", ".1f"),
    )
    rows = [
        tuple({**each, "exact": "exact" if each["exact"] else "learnt"}.values()) for each in runs
    ]
    end = f"seed {best.seed} is written to {path}; play it with learned:policy={path}"
    values = {"file": str(path), "seed": best.seed, "runs": runs}
    show_report(Report(values, [Table(head, rows), end]), as_json=as_json)


# ------------------------------------------------------------------------
# `ggp policies`: the files of policies in a folder, and how they were learnt.


@click.command(epilog=example("ggp policies"))
@click.argument("places", metavar="[FILE|FOLDER]...", nargs=-1, type=click.Path(path_type=Path))
@json_option
@verbose_option
def policies(places: tuple[Path, ...], as_json: bool) -> None:
    """List policies that were learnt, in files or folders; by default in the current one.

    In folders, files whose names end with .policy.npz are looked at.
    """
    found: list[dict[str, Any]] = []
    for place in places or (Path(),):
        if not place.exists():
            raise ConfigError(f"{place} is neither a file nor a folder")
        files = sorted(place.glob(f"*{SUFFIX}")) if place.is_dir() else [place]
        for path in files:
            try:
                found.append({"file": str(path)} | _told(read_policy(path).about))
            except ConfigError as error:
                if not place.is_dir():
                    raise
                found.append({"file": str(path), "error": str(error)})
    none = "there are no policies here; `ggp learn GAME` makes one"
    parts = [_policies(found) if found else none]
    show_report(Report(found, parts), as_json=as_json)


def _told(about: About) -> dict[str, Any]:
    record = about.record
    return {
        "game": about.game,
        "digest": about.digest,
        "version": about.version,
        "roles": list(about.roles),
        "hidden": list(about.hidden),
        "weights": about.shape.num_weights,
        **{name: record.get(name) for name in ("seed", "updates", "decisions", "seconds")},
    }


def _policies(found: list[dict[str, Any]]) -> Table:
    names = ("file", "game", "digest", "version", "weights", "updates", "decisions", "seconds")
    rows = [
        (each["file"], each["error"], *[""] * 6)
        if "error" in each
        else tuple(
            {
                **{name: str(each[name]) for name in names},
                "digest": str(each["digest"])[:8],
                "weights": f"{each['weights']:,}",
            }.values()
        )
        for each in found
    ]
    return Table((*names[:4], *(f"#{name}" for name in names[4:])), rows)

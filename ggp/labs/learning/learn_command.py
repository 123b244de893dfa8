"""`ggp learn` and `ggp policies`: learn policies by self-play, and list policy files.

`learn` loads a game, runs a `Learner` in lanes of its environment, and writes a policy file;
`policies` reads such files. Both print reports.
"""

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
    game_argument,
    json_option,
    seed_option,
)
from ggp.console import example, installed_version, show_report, spinner, tell, verbose_option
from ggp.errors import ConfigError
from ggp.labs.learning.env import make
from ggp.labs.learning.learnt_seeds import LearntSeed, Task, learn_seeds
from ggp.labs.learning.selfplay import Learner, LearningReport, usual_settings
from ggp.labs.learning.selfplay.files import SUFFIX, About, read_policy, write_policy
from ggp.machine.games import load_program
from ggp.report import Report, Table
from ggp.run.whole_files import write_whole
from ggp.seeds import check_seed

DEFAULT_MINUTES = 1.0
DEFAULT_LANES = 1024

_SHOWN = 10
"""About how many points of the curve the table shows."""


@click.command(epilog=example("ggp learn kuhn_poker --updates 20"))
@game_argument()
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
    help="Number of updates to learn; with it the same seed gives the same policies.",
)
@click.option(
    "--continue",
    "goes_on",
    is_flag=True,
    help="Resume from the file, at its final temperature and rate.",
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
    help="Processors to use: roles learn side by side. The policies do not depend on it.",
)
@click.option(
    "--seeds",
    type=click.IntRange(min=1),
    metavar="K",
    help="Learn from K seeds, starting at --seed, and keep the least exploitable policies.",
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

    All roles learn together. The player learned:policy=FILE plays the policies.

    With --seeds each run is judged by what responses gain against it: the exact NashConv in a small
    game, elsewhere the gain of learnt responses.
    """
    program = load_program(game)
    name = Path(program.source.name).stem
    path = out or Path(f"{name}{SUFFIX}")
    if path.exists() and not goes_on and out is None:
        raise ConfigError(
            f"{path} exists; resume from it with --continue, or name another file with --out"
        )
    if not path.absolute().parent.is_dir():
        raise ConfigError(f"cannot write {path}: there is no folder {path.parent}")
    budget = DEFAULT_MINUTES if minutes is None and updates is None else minutes
    if seeds is None and (jobs, scheduler) != (None, None):
        raise ConfigError("--jobs and --scheduler are for --seeds, the number of runs")
    if seeds is not None:
        if goes_on:
            raise ConfigError("--continue resumes from one file; leave out --seeds")
        check_seed(seed + seeds - 1)
        seconds = None if budget is None else 60 * budget
        task = Task(
            program.source.name,
            program.source.text,
            backend,
            lanes,
            updates,
            seconds,
            seed,
            installed_version(),
        )
        tasks = [task._replace(seed=seed + k) for k in range(seeds)]
        learn_several(tasks, path, jobs, scheduler, as_json=as_json)
        return
    snapshot = read_policy(path) if goes_on else None
    with spinner(f"preparing {game}"):
        env = make(program, lanes, paths=False, backend=backend, threads=threads)
        settings = usual_settings(env)
        if snapshot is not None:
            about = snapshot.about
            settings = replace(settings, hidden=about.hidden, critic=about.critic)
        learner = Learner(env, settings=settings, seed=seed, threads=threads)
        if snapshot is not None:
            learner.resume(snapshot, str(path))
    first_update = learner.updates
    try:
        with spinner(f"learning {game}") as update:
            report = learner.learn(
                updates=updates,
                seconds=None if budget is None else 60 * budget,
                progress=_progress(update),
            )
    except KeyboardInterrupt:
        if learner.updates > first_update:  # else there is nothing new
            write_policy(path, learner.snapshot(name, installed_version()))
            tell(f"interrupted; written to {path}; resume with --continue")
        raise
    write_policy(path, learner.snapshot(name, installed_version()))
    values = {
        "file": str(path),
        "updates": report.updates,
        "states": report.states,
        "decisions": report.decisions,
        "seconds": round(report.seconds, 3),
        "curve": learner.curve,
        "seed": seed,
        "backend": env.machine.backend,
    }
    speed = report.decisions / max(report.seconds, 1e-9)
    parts = (
        _curve(learner),
        f"{report.updates:,} updates, {report.decisions:,} decisions in {report.seconds:.1f} s "
        f"({speed:,.0f} a second)",
        f"written to {path}; play it with learned:policy={path}",
    )
    show_report(Report(values, parts), as_json=as_json)


def _progress(update: Callable[[str], None]) -> Callable[[LearningReport], None]:
    def progress(report: LearningReport) -> None:
        rewards = ", ".join(f"{role} {_goal(value)}" for role, value in report.rewards.items())
        update(f"{report.share:.0%}, {report.decisions:,} decisions; {rewards}")

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
# `ggp learn --seeds`: several runs; the least exploitable policies are kept.

DIGITS = 4


def learn_several(
    tasks: Sequence[Task], path: Path, jobs: int | None, scheduler: str | None, *, as_json: bool
) -> None:
    """Learn from each task, report the exploitability of each seed, and write the best file."""
    num_done = 0
    with spinner(f"learning from {len(tasks)} seeds") as update:

        def progress(seed: LearntSeed) -> None:
            nonlocal num_done
            num_done += 1
            update(f"{num_done} of {len(tasks)}; seed {seed.seed} gives {seed.given_away:.2f} away")

        learnt_seeds = learn_seeds(tasks, jobs=jobs, scheduler=scheduler, progress=progress)
    best = learnt_seeds[0]
    write_whole(path, best.file)
    runs = [
        {
            "seed": seed.seed,
            "given_away": round(seed.given_away, DIGITS),
            "exact": seed.is_exact,
            "updates": seed.updates,
            "decisions": seed.decisions,
            "seconds": round(seed.seconds, 3),
        }
        for seed in learnt_seeds
    ]
    head = (
        *("#seed", ("#others gain", ".2f"), "method", ("#updates", ","), ("#decisions", ",")),
        ("#seconds", ".1f"),
    )
    rows = [tuple({**run, "exact": "exact" if run["exact"] else "learnt"}.values()) for run in runs]
    end = f"seed {best.seed} is written to {path}; play it with learned:policy={path}"
    values = {"file": str(path), "seed": best.seed, "runs": runs}
    show_report(Report(values, [Table(head, rows), end]), as_json=as_json)


# ------------------------------------------------------------------------
# `ggp policies`: the policy files of a folder, with their training records.


@click.command(epilog=example("ggp policies"))
@click.argument("places", metavar="[FILE|FOLDER]...", nargs=-1, type=click.Path(path_type=Path))
@json_option
@verbose_option
def policies(places: tuple[Path, ...], as_json: bool) -> None:
    """List learnt policies in files or folders; default: the current folder.

    In a folder, files whose names end with .policy.npz are listed.
    """
    listing: list[dict[str, Any]] = []
    for place in places or (Path(),):
        if not place.exists():
            raise ConfigError(f"{place} is neither a file nor a folder")
        files = sorted(place.glob(f"*{SUFFIX}")) if place.is_dir() else [place]
        for path in files:
            try:
                listing.append({"file": str(path)} | _summary(read_policy(path).about))
            except ConfigError as error:
                if not place.is_dir():
                    raise
                listing.append({"file": str(path), "error": str(error)})
    none = "there are no policies here; `ggp learn GAME` makes one"
    parts = [_policies(listing) if listing else none]
    show_report(Report(listing, parts), as_json=as_json)


def _summary(about: About) -> dict[str, Any]:
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


def _policies(listing: list[dict[str, Any]]) -> Table:
    names = ("file", "game", "digest", "version", "weights", "updates", "decisions", "seconds")
    rows = [
        (entry["file"], entry["error"], *[""] * 6)
        if "error" in entry
        else tuple(
            {
                **{name: str(entry[name]) for name in names},
                "digest": str(entry["digest"])[:8],
                "weights": f"{entry['weights']:,}",
            }.values()
        )
        for entry in listing
    ]
    return Table((*names[:4], *(f"#{name}" for name in names[4:])), rows)

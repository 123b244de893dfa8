"""Everything that is checked, in steps; what has passed is not run again.

The test command has to be quick, so long checks are left out of it. This runs all of them, and what
the test command runs. What each step is stands in verify.toml. A step that passed stays so until a
file of the project changes, so a run that was stopped goes on where it was.

    python scripts/verify.py                    everything that has not passed yet
    python scripts/verify.py --only tests/gdl   steps with this in their names
    python scripts/verify.py --again            everything, also what has passed
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
import tomllib
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path

import click

from ggp.cli.arguments import FolderPath
from ggp.console import guarded, print_rich
from ggp.errors import ConfigError
from ggp.report import Table
from ggp.run.whole_files import write_whole

REPOSITORY = Path(__file__).resolve().parents[1]
STEPS = Path(__file__).with_suffix(".toml")

_TAIL_LINES = 30
"""How much is shown of what a step said that failed."""


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to run.

    Attributes:
        name: of the step; also of its files.
        command: for the shell, run in the repository; exit code 0 says that all is well.
        minutes: it takes on two quiet cores.
    """

    name: str
    command: str
    minutes: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a step.

    Attributes:
        version: of the project's files; see `version_of`.
        passed: whether its exit code was 0.
        seconds: it took.
    """

    version: str
    passed: bool
    seconds: float


@click.command()
@click.argument("steps", type=click.Path(dir_okay=False, path_type=Path), default=STEPS)
@click.option("--out", type=FolderPath(), default=REPOSITORY / "runs" / "verify")
@click.option("--only", default="", help="Steps with this in their names.")
@click.option("--again", is_flag=True, help="Also what has passed.")
def main(steps: Path, out: Path, only: str, again: bool) -> None:
    """Run what has not passed since the project's files last changed."""
    out.mkdir(parents=True, exist_ok=True)
    chosen = [step for step in read_steps(steps) if only in step.name]
    if not chosen:
        raise ConfigError(f"no step has {only!r} in its name; {steps} lists them")
    version = version_of(REPOSITORY)
    outcomes = {} if again else read_outcomes(out)
    left = [step for step in chosen if not has_passed(outcomes.get(step.name), version)]
    minutes = sum(minutes_of(step, outcomes.get(step.name)) for step in left)
    click.echo(f"{len(left)} of {len(chosen)} steps to run, about {minutes:.0f} minutes", err=True)
    for step in left:
        click.echo(f"{step.name} … ", nl=False, err=True)
        outcomes[step.name] = found = run(step, out, version)
        said = "passed" if found.passed else "FAILED"
        click.echo(f"{said} in {found.seconds:.0f} s", err=True)
        write_outcomes(out, outcomes)
        if not found.passed:
            lines = log_of(step, out).read_text(errors="replace").splitlines()
            click.echo("\n".join(lines[-_TAIL_LINES:]), err=True)
    rows = [
        (step.name, f"{found.seconds:.0f}", "passed" if found.passed else "FAILED")
        for step in chosen
        for found in [outcomes[step.name]]
    ]
    print_rich(Table(("step", "#seconds", ""), rows))
    failed = [step for step in chosen if not outcomes[step.name].passed]
    for step in failed:
        click.echo(f"{step.name} failed; see {log_of(step, out)}", err=True)
    sys.exit(1 if failed else 0)


def read_steps(file: Path) -> list[Step]:
    """The steps of a file, in their order.

    Raises:
        ConfigError: it cannot be read, or is not a list of steps with names of their own.
    """
    try:
        steps = [Step(**entry) for entry in tomllib.loads(file.read_text())["step"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{file} is not a list of steps: {error}") from error
    if len({step.name for step in steps}) < len(steps):
        raise ConfigError(f"two steps of {file} have one name")
    return steps


def version_of(folder: Path) -> str:
    """A digest of all files that git tracks or would track."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=folder,
        capture_output=True,
        check=True,
    )
    digest = blake2b(digest_size=16)
    for name in sorted(set(listed.stdout.decode().split("\0")) - {""}):
        file = folder / name
        digest.update(name.encode() + b"\0")
        if file.is_file():
            digest.update(blake2b(file.read_bytes()).digest())
    return digest.hexdigest()


def has_passed(found: Outcome | None, version: str) -> bool:
    """Whether a step need not be run again."""
    return found is not None and found.passed and found.version == version


def minutes_of(step: Step, found: Outcome | None) -> float:
    """How long a step will take: as long as last time, if it passed here."""
    return found.seconds / 60 if found is not None and found.passed else step.minutes


def run(step: Step, out: Path, version: str) -> Outcome:
    """Run a step in a folder of its own; what it says goes to its log."""
    own = out / step.name.replace("/", "-")
    shutil.rmtree(own, ignore_errors=True)
    own.mkdir()
    command = step.command.format(python=sys.executable, out=own)
    began_s = time.monotonic()
    with log_of(step, out).open("w") as log:
        code = subprocess.run(
            ["sh", "-c", command],
            cwd=REPOSITORY,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            check=False,
        ).returncode
    return Outcome(version, code == 0, round(time.monotonic() - began_s, 1))


def log_of(step: Step, out: Path) -> Path:
    """Where a step's output goes."""
    return out / f"{step.name.replace('/', '-')}.log"


def read_outcomes(out: Path) -> dict[str, Outcome]:
    """What came of the steps that were run before; nothing where that cannot be read."""
    try:
        told = json.loads((out / "outcomes.json").read_text())
        return {name: Outcome(**found) for name, found in told.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def write_outcomes(out: Path, outcomes: dict[str, Outcome]) -> None:
    """Keep what came of the steps."""
    told = {name: asdict(each) for name, each in outcomes.items()}
    write_whole(out / "outcomes.json", json.dumps(told))


if __name__ == "__main__":
    guarded(main)()

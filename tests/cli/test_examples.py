"""Every help of both commands ends with one example, and it runs as it stands there."""

from __future__ import annotations

import glob
import shlex
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from ggp.cli import main as ggp
from match_runner.cli import main as match_runner
from tests.support.commands import start
from tests.support.effort import rarely

TOOLS: dict[str, click.Group] = {"ggp": ggp, "match-runner": match_runner}

SPRING = """
games = ["kuhn_poker", "monty_hall"]
[players]
smart = "hyperplay:n=2"
dice = "random"
"""

NEEDS = {
    "ggp policies": ("ggp learn",),
    "ggp validate": ("ggp new",),
    "ggp convert": ("ggp new",),
    "match-runner replay": ("match-runner play",),
    "match-runner export": ("match-runner play",),
    "match-runner import": ("match-runner play", "match-runner export"),
    "match-runner picture": ("match-runner play",),
    "match-runner show": ("match-runner compare",),
}
"""Examples that make what others read."""

SERVERS = {"ggp serve": (), "match-runner table": ("--no-browser", "--folder", "data")}
"""Commands that run until they are interrupted, and options added to their examples here."""

LONG = {
    *("ggp advise", "ggp exploit", "ggp learn", "ggp policies", "ggp respond"),
    *("match-runner reproduce", "match-runner show", "match-runner tournament"),
}


def helps() -> Iterator[tuple[str, list[str]]]:
    """Every command, and the lines of its help."""
    for tool, group in TOOLS.items():
        context = click.Context(group, info_name=tool)
        for name in ("", *group.list_commands(context)):
            args = [name, "--help"] if name else ["--help"]
            result = CliRunner().invoke(group, args, prog_name=tool)
            assert result.exit_code == 0, result.output
            yield f"{tool} {name}".strip(), result.stdout.rstrip().splitlines()


HELPS = dict(helps())
EXAMPLES = {name: lines[-1].strip() for name, lines in HELPS.items()}


@pytest.mark.parametrize("name", HELPS)
def test_help_ends_with_an_example(name: str) -> None:
    assert HELPS[name][-2].strip() == "Example:"
    assert f"{EXAMPLES[name]} ".startswith(f"{name} ")
    assert " ".join(HELPS[name]).count("Example:") == 1


def run_example(name: str) -> Result:
    """Run an example in the current folder, as a shell would."""
    tool, *words = shlex.split(EXAMPLES[name])
    args = [path for word in words for path in sorted(glob.glob(word)) or [word]]
    result = CliRunner(catch_exceptions=False).invoke(TOOLS[tool], args, prog_name=tool)
    assert result.exit_code == 0, result.output
    return result


@pytest.mark.parametrize(
    "name", rarely([n for n in HELPS if n not in SERVERS], [n for n in HELPS if n in LONG])
)
def test_the_example_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "spring.toml").write_text(SPRING)
    for required in NEEDS.get(name, ()):
        run_example(required)
    files = set(tmp_path.rglob("*"))
    result = run_example(name)
    assert result.stdout or set(tmp_path.rglob("*")) > files


@pytest.mark.verify
@pytest.mark.parametrize("name", SERVERS)
def test_the_example_of_a_server_runs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    tool, *words = shlex.split(EXAMPLES[name])
    process = start("-m", tool.replace("-", "_"), *words, *SERVERS[name], "--port", "0")
    assert process.stdout is not None
    assert process.stdout.readline()
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 0

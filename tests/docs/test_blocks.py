"""The `sh` and `python` blocks in pages of Start and Use, tried as a reader would try them.

Every command is read by the command line that it is for, so that options which are no more are
found at once. Commands of the tutorial are run, in order, in one folder with the files it shows;
those of other pages by `make verify`, but for those that wait for somebody (`WAITS`) or that other
tests run (`ELSEWHERE`). None takes longer than it needs to show that it runs (`bounded`).
"""

from __future__ import annotations

import itertools
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from ggp.cli import main as ggp
from ggp.machine.compiling.kernel_files import is_in_package
from ggp.run import processes
from match_runner.cli import main as match_runner
from tests.docs.all_pages import DOCS, name_of_page
from tests.support.games import REPOSITORY

COMMANDS = {"ggp": ggp, "match-runner": match_runner}

SHOWN = sorted([*DOCS.glob("start/*.md"), *DOCS.glob("use/*.md"), REPOSITORY / "README.md"])
TUTORIAL = DOCS / "start" / "tutorial.md"

WAITS = ("ggp serve", "match-runner table", "human", "--watch", "http://")
"""Commands with one of these in them wait for people or for other programs."""

ELSEWHERE = {
    "match-runner reproduce": "the step `paper` of `make verify`",
    "match-runner tournament": "tests/match_runner/tournament/test_tournament.py",
    "match-runner import": "tests/match_runner/archives/test_archives.py",
    "match-runner replay 'records/": "tests/match_runner/archives/test_archives.py",
    "match-runner export": "tests/match_runner/match/test_exports.py",
    "--scheduler": "tests/match_runner/workers/test_cluster.py",
    "logs/": "tests/server",
    "boxes.gdl": "tests/library/test_tutorial.py",
    "my_player:": "tests/players/elsewhere/test_own_players.py",
    "my_belief:": "tests/players/elsewhere/test_own_players.py",
    "my_search:": "tests/players/elsewhere/test_own_players.py",
}
"""Commands with one of these in them, and where they are run."""

SOLVED = (["ggp", "solve", "tic_tac_toe"], ["ggp", "solve", "spy_vs_spy"])
"""A game in which everybody knows the state, and one without constant sum: other kernels solve
them."""

MOST = {"--matches": "6", "--most": "12", "--minutes": "0.05", "--updates": "10"}
"""Greatest counts and times that commands are run with: they do not decide whether one runs. Play
clocks stay as they are, since shorter ones are missed on a busy machine."""

WITHOUT = {"--until": "--most", "learn": "--minutes"}
"""Words of commands whose counts or times are large by default, and the options that set them."""

PYTHON_ELSEWHERE = {
    "docs/use/adding-a-player.md": "tests/players/elsewhere/test_own_players.py",
    "docs/use/cluster.md": "tests/match_runner/workers/test_cluster.py",
    "docs/use/environment.md": "tests/labs/learning/env/test_page.py",
    "docs/use/learning.md": "tests/labs/learning/selfplay/test_page.py",
    "docs/use/library.md": "tests/library/test_library.py",
    "docs/use/openspiel.md": "tests/labs/openspiel/rulesheets/test_algorithms.py",
}
"""Pages whose blocks of Python are run by other tests."""

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)
_FILE = re.compile(r"`([\w.]+)`:\n\n```\w+\n(.*?)^```", re.DOTALL | re.MULTILINE)


def commands_of(page: Path) -> list[list[str]]:
    """Our commands in the `sh` blocks of a page, as lists of words."""
    commands = []
    for kind, text in _BLOCK.findall(page.read_text(encoding="utf-8")):
        if kind == "sh":
            for line in text.replace("\\\n", " ").splitlines():
                words = shlex.split(line.split(" > ")[0], comments=True)
                if words and words[0] in COMMANDS:
                    commands.append(words)
    return commands


def is_read(words: list[str]) -> None:
    """Fails if the command line does not know a subcommand or an option."""
    group: click.Command = COMMANDS[words[0]]
    rest = words[1:]
    if isinstance(group, click.Group) and rest and not rest[0].startswith("-"):
        command = group.get_command(click.Context(group), rest[0])
        assert command is not None, f"there is no command {' '.join(words[:2])}"
        group, rest = command, rest[1:]
    options = {name for option in group.params for name in (*option.opts, *option.secondary_opts)}
    used_options = {word.split("=")[0] for word in rest if re.match(r"--?[a-z]", word)}
    assert used_options <= options | {"--help", "--version"}, shlex.join(words)


@pytest.mark.parametrize("page", SHOWN, ids=name_of_page)
def test_the_command_line_knows_every_command(page: Path) -> None:
    for words in commands_of(page):
        is_read(words)


@pytest.mark.verify
def test_the_tutorial_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    for name, text in _FILE.findall(TUTORIAL.read_text(encoding="utf-8")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    commands = [words for words in commands_of(TUTORIAL) if not waits(words)]
    assert len(commands) >= 8
    for words in commands:
        run(words)


@pytest.mark.verify
@pytest.mark.parametrize("page", sorted({*SHOWN} - {TUTORIAL}), ids=name_of_page)
def test_commands_of_other_pages_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for words in commands_of(page):
        text = shlex.join(words)
        if not waits(words) and not any(word in text for word in ELSEWHERE):
            files = sorted(Path().glob(words[-1])) if "*" in words[-1] else [words[-1]]
            run([*words[:-1], *map(str, files)])


@pytest.mark.verify
def test_commands_of_the_readme_compile_nothing(tmp_path: Path) -> None:
    """`scripts/compile_kernels.py` runs what needs their kernels; no list names these."""
    if not is_in_package():
        pytest.skip("`make setup` could not compile kernels")
    caches = {"NUMBA_CACHE_DIR": str(tmp_path / "numba"), "XDG_CACHE_HOME": str(tmp_path / "xdg")}
    commands = [words for words in commands_of(REPOSITORY / "README.md") if not waits(words)]
    assert len(commands) >= 6
    for words in (["match_runner.demo"], *map(bounded, commands), *SOLVED):
        module = words[0].replace("-", "_")
        subprocess.run(
            [sys.executable, "-m", module, *words[1:]],
            env={**processes.environment(), **caches, "GGP_CACHE_DIR": ""},
            cwd=tmp_path,
            check=True,
            capture_output=True,
        )
        compiled = [index.name for index in tmp_path.rglob("*.nbi")]
        assert not compiled, f"{shlex.join(words)}: {compiled}"


def test_python_of_pages_runs_here_or_elsewhere() -> None:
    for page in SHOWN:
        blocks = [
            text for kind, text in _BLOCK.findall(page.read_text("utf-8")) if kind == "python"
        ]
        if blocks and page != TUTORIAL and name_of_page(page) not in PYTHON_ELSEWHERE:
            for block in blocks:
                exec(block, {})


def test_places_that_run_other_commands_exist() -> None:
    for place in (*ELSEWHERE.values(), *PYTHON_ELSEWHERE.values()):
        assert place.startswith("the step") or (REPOSITORY / place).exists(), place


def waits(words: list[str]) -> bool:
    return any(mark in shlex.join(words) for mark in WAITS)


def bounded(words: list[str]) -> list[str]:
    """A command with smaller counts and times, where it has larger ones."""
    bounded_words = list(words)
    for place, (option, value) in enumerate(itertools.pairwise(words), start=1):
        if option in MOST and float(value) > float(MOST[option]):
            bounded_words[place] = MOST[option]
    for word, option in WITHOUT.items():
        if word in words and not {option, "--updates"} & {*words}:
            bounded_words += [option, MOST[option]]
    return bounded_words


def run(words: list[str]) -> str:
    words = bounded(words)
    result = CliRunner(catch_exceptions=False).invoke(
        COMMANDS[words[0]], words[1:], prog_name=words[0]
    )
    # On a busy computer answers may be late, which a match survives; where they are in every
    # match, the command exits with 1.
    is_late = "--play-clock" in words and "later than the play clock" in result.output
    assert result.exit_code in ({0, 1} if is_late else {0}), f"{shlex.join(words)}: {result.output}"
    return result.output

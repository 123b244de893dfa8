"""Players that are not part of the package: the page on adding one, and the example package."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.commands import start
from tests.support.effort import rarely
from tests.support.games import REPOSITORY

pytestmark = pytest.mark.usefixtures("compiled")

PAGE = (REPOSITORY / "docs" / "use" / "adding-a-player.md").read_text()
EXAMPLE = REPOSITORY / "examples" / "cautious_player"
MODULES = {"ggp": "ggp", "match-runner": "match_runner"}

FILES = dict(re.findall(r"```python\n# (\w+\.py)\n(.*?)```", PAGE, re.DOTALL))
COMMANDS = [
    line for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()
]


def call(command: str, folder: Path, path: str = "") -> str:
    """The output of one of our commands, which must succeed."""
    tool, *args = command.split()
    paths = os.pathsep.join(filter(None, (path, str(REPOSITORY))))
    completed = subprocess.run(
        [sys.executable, "-m", MODULES[tool], *args],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": paths},
        timeout=300,
    )
    assert completed.returncode == 0, f"{command}\n{completed.stdout}{completed.stderr}"
    assert completed.stderr == ""
    return completed.stdout


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files of the page."""
    folder = tmp_path_factory.mktemp("own")
    for name, text in FILES.items():
        (folder / name).write_text(text)
    return folder


def test_the_page_has_files_and_commands() -> None:
    assert set(FILES) == {"my_player.py", "my_belief.py", "my_search.py"}
    assert len(COMMANDS) == 7


@pytest.mark.parametrize(
    "command", rarely(COMMANDS, [each for each in COMMANDS if each.startswith("match-runner")][1:])
)
def test_every_step_of_the_page_works(command: str, written: Path) -> None:
    output = call(command, written)
    assert re.search("my_player:Mobile|my_belief:Reader|my_search:Against", output)


# ---------------------------------------------------------------- the example package


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder that the example package is installed into."""
    folder = tmp_path_factory.mktemp("site")
    source, target = folder / "source", folder / "target"
    shutil.copytree(EXAMPLE, source)  # pip builds in there
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target"]
    completed = subprocess.run(
        [*command, str(target), str(source)], capture_output=True, text=True, timeout=300
    )
    if "No matching distribution found for hatchling" in completed.stderr:
        pytest.skip("no package index is within reach")
    assert completed.returncode == 0, completed.stderr
    return str(target)


def test_the_example_is_one_short_file() -> None:
    assert len((EXAMPLE / "cautious_player.py").read_text().splitlines()) < 60


@pytest.mark.verify
def test_an_installed_player_is_known_by_its_name(installed: str, tmp_path: Path) -> None:
    players = json.loads(call("ggp players --json", tmp_path, installed))
    assert [player["name"] for player in players][-1] == "cautious"
    assert [option["name"] for option in players[-1]["options"]] == ["playouts"]


def test_it_is_evaluated_and_takes_the_best_worst_case(installed: str, tmp_path: Path) -> None:
    command = "ggp evaluate exploding_bomb --role agent --player cautious --json"
    evaluation = json.loads(call(command, tmp_path, installed))
    worth = {move["move"]: move["value"] for move in evaluation["moves"]}
    assert evaluation["choice"] == max(worth, key=lambda move: worth[move])
    assert evaluation["moves"][0]["visits"] == 2 * 16


@pytest.mark.verify
def test_it_plays_matches_in_workers_too(installed: str, tmp_path: Path) -> None:
    command = "match-runner play kuhn_poker --player player1=cautious --matches 4 --json --jobs 2"
    report = json.loads(call(command, tmp_path, installed))
    assert [match["errors"] for match in report["matches"]] == [[]] * 4


@pytest.mark.verify
def test_it_is_compared_and_competes(installed: str, tmp_path: Path) -> None:
    compare = "match-runner compare kuhn_poker --players cautious random --matches 4 --out c --json"
    assert json.loads(call(compare, tmp_path, installed))["faulty"] == []
    (tmp_path / "t.toml").write_text(
        'games = ["exploding_bomb"]\n[players]\ncareful = "cautious"\ndice = "random"\n'
    )
    report = json.loads(call("match-runner tournament t.toml --json", tmp_path, installed))
    assert (report["played"], report["problems"]) == (2, [])


@pytest.fixture
def served(installed: str) -> Iterator[str]:
    """The address of a server that plays it."""
    path = os.pathsep.join((installed, str(REPOSITORY)))
    command = ("-m", "ggp", "serve", "--player", "cautious", "--port", "0")
    process = start(*command, environment={"PYTHONPATH": path})
    assert process.stdout is not None
    line = process.stdout.readline()
    address = re.search(r"http://\S+", line)
    assert address is not None, line + process.communicate(timeout=10)[1]
    yield address.group()
    process.terminate()
    process.communicate(timeout=30)


@pytest.mark.verify
def test_it_is_served(served: str, tmp_path: Path) -> None:
    command = f"match-runner play exploding_bomb --player agent={served} --start-clock 30 "
    report = json.loads(call(f"{command} --play-clock 10 --json", tmp_path))
    assert report["matches"][0]["errors"] == []

"""A wheel does outside of the checkout what the checkout does, with no more than it asks for."""

from __future__ import annotations

import http.cookiejar
import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
import venv
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urljoin

import pytest
from hatchling.builders.wheel import WheelBuilder

from ggp.gdl.games import list_games
from tests.support.games import REPOSITORY

pytestmark = pytest.mark.verify

ADDRESS = re.compile(r"http://\S+")

MATCH = """
import ggp
from pathlib import Path
from urllib.parse import urljoin

assert Path.cwd() in Path(ggp.__file__).parents, ggp.__file__
record = ggp.play_match("krieg_tic_tac_toe", {"xplayer": "hyperplay:n=2"}, seed=1)
print(ggp.load("krieg_tic_tac_toe").backend, record.error, sorted(record.goals.values()))
"""


class Installed:
    """The package in an environment of its own, used from a folder that has nothing to do with us.

    Attributes:
        folder: of the environment, its user's home and all that is written.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (wheel,) = WheelBuilder(str(REPOSITORY)).build(
            directory=str(folder / "wheel"), versions=["standard"]
        )
        venv.create(folder / "venv", with_pip=True)
        # Where packages come from, settings in the user's home may say.
        install = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(wheel))
        self.run("python", *install, HOME=str(Path.home()))

    def command(self, name: str, *arguments: str) -> list[str]:
        return [str(self.folder / "venv" / "bin" / name), *arguments]

    @property
    def environment(self) -> dict[str, str]:
        foreign = ("PYTHON", "NUMBA_", "GGP_", "VIRTUAL_ENV", "XDG_")
        kept = {name: text for name, text in os.environ.items() if not name.startswith(foreign)}
        return {**kept, "HOME": str(self.folder), "GGP_CACHE_DIR": str(self.folder / "cache")}

    def run(self, name: str, *arguments: str, **own: str) -> subprocess.CompletedProcess[str]:
        ran = subprocess.run(
            self.command(name, *arguments),
            cwd=self.folder,
            env=self.environment | own,
            capture_output=True,
            text=True,
        )
        assert ran.returncode == 0, ran.stderr
        return ran


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return Installed(tmp_path_factory.mktemp("installed"))


@pytest.fixture
def table(installed: Installed) -> Iterator[str]:
    """The address that the command of a running table says."""
    running = subprocess.Popen(
        installed.command("match-runner", "table", "--port", "0", "--folder", "matches"),
        cwd=installed.folder,
        env=installed.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        assert running.stdout is not None
        yield next(found[0] for line in running.stdout if (found := ADDRESS.search(line)))
    finally:
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=60)
    assert running.returncode == 0


def test_every_game_is_there(installed: Installed) -> None:
    said = installed.run("ggp", "games").stdout
    assert [name for name in list_games() if name not in said] == []


def test_games_are_played_on_the_fast_backend(installed: Installed) -> None:
    ran = installed.run("ggp", "bench", "krieg_tic_tac_toe", "--json")
    assert json.loads(ran.stdout)["backend"] == "propnet"
    assert "Prolog" not in ran.stderr


def test_the_library_plays_a_match(installed: Installed) -> None:
    said = installed.run("python", "-c", MATCH).stdout
    assert said.startswith("propnet None ")


def test_the_table_serves_its_page(table: str) -> None:
    cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
    browser = urllib.request.build_opener(cookies, urllib.request.ProxyHandler({}))
    with browser.open(table, timeout=60) as page:
        assert page.status == 200
        text = page.read().decode()
    files = re.findall(r'(?:src|href)="([^"]+\.(?:js|css|svg))"', text)
    assert files
    for name in files:
        with browser.open(urljoin(table, name), timeout=60) as file:
            assert file.status == 200


def test_it_has_none_of_what_only_developers_need(installed: Installed) -> None:
    said = installed.run("python", "-m", "pip", "list", "--format=freeze").stdout.lower()
    assert "ggp-hyperplay==" in said
    assert not {"pytest", "hypothesis", "open-spiel", "dask"} & {
        line.partition("==")[0] for line in said.splitlines()
    }
    assert sys.prefix != str(installed.folder / "venv")

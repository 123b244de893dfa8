"""An installed wheel works outside the checkout as inside it, with its dependencies only."""

from __future__ import annotations

import http.cookiejar
import json
import os
import re
import signal
import subprocess
import urllib.request
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urljoin

import pytest
from hatchling.builders.wheel import WheelBuilder

from ggp.gdl.games import list_games
from tests.support.games import REPOSITORY

ADDRESS = re.compile(r"http://\S+")

MATCH = """
import ggp
from pathlib import Path
from urllib.parse import urljoin

assert Path.cwd() in Path(ggp.__file__).parents, ggp.__file__
record = ggp.play_match("krieg_tic_tac_toe", {"xplayer": "hyperplay:n=2"}, seed=1)
print(ggp.load("krieg_tic_tac_toe").backend, record.error, sorted(record.goals.values()))
"""

CONFINED = """
import sys
from importlib import import_module
from ggp.server.confinement.sandbox import restrict

rights = restrict(1 << 30, [])
import_module("ggp.players.hyperplay2")
import_module("ggp.machine.propnet.play.propnet_machine")
print("rights:", "; ".join(rights))
for path in sys.argv[1:] if "no reading of other files" in rights else ():
    try:
        print("read:", open(path).read())
    except PermissionError:
        print("refused:", path)
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
        variables = {
            name: text for name, text in os.environ.items() if not name.startswith(foreign)
        }
        return {**variables, "HOME": str(self.folder), "GGP_CACHE_DIR": str(self.folder / "cache")}

    def run(self, name: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        ran = subprocess.run(
            self.command(name, *arguments),
            cwd=self.folder,
            env=self.environment | variables,
            capture_output=True,
            text=True,
        )
        assert ran.returncode == 0, ran.stderr
        return ran


@contextmanager
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
        yield next(match[0] for line in running.stdout if (match := ADDRESS.search(line)))
    finally:
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=60)
    assert running.returncode == 0


@pytest.mark.verify
def test_the_installed_package_behaves_like_the_checkout(tmp_path: Path) -> None:
    """One test: to make the environment takes longer than all that is asked of it."""
    installed = Installed(tmp_path)
    has_nothing_for_developers(installed)
    finds_every_game(installed)
    plays_on_the_fast_backend(installed)
    plays_a_match_of_the_library(installed)
    serves_the_page_of_the_table(installed)
    keeps_workers_from_files(installed)


def has_nothing_for_developers(installed: Installed) -> None:
    packages = installed.run("python", "-m", "pip", "list", "--format=freeze").stdout.lower()
    names = {line.partition("==")[0] for line in packages.splitlines()}
    assert "ggp-hyperplay" in names
    assert not names & {"pytest", "hypothesis", "open-spiel", "dask"}


def finds_every_game(installed: Installed) -> None:
    listing = installed.run("ggp", "games").stdout
    assert [name for name in list_games() if name not in listing] == []


def plays_on_the_fast_backend(installed: Installed) -> None:
    ran = installed.run("ggp", "bench", "krieg_tic_tac_toe", "--json")
    assert json.loads(ran.stdout)["backend"] == "propnet"
    assert "Prolog" not in ran.stderr


def plays_a_match_of_the_library(installed: Installed) -> None:
    assert installed.run("python", "-c", MATCH).stdout.startswith("propnet None ")


def serves_the_page_of_the_table(installed: Installed) -> None:
    cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
    browser = urllib.request.build_opener(cookies, urllib.request.ProxyHandler({}))
    with table(installed) as address:
        with browser.open(address, timeout=60) as page:
            assert page.status == 200
            text = page.read().decode()
        files = re.findall(r'(?:src|href)="([^"]+\.(?:js|css|svg))"', text)
        assert files
        for name in files:
            with browser.open(urljoin(address, name), timeout=60) as file:
                assert file.status == 200


def keeps_workers_from_files(installed: Installed) -> None:
    secret = installed.folder / "secret"
    secret.write_text("secret")
    paths = [str(secret), str(REPOSITORY / "pyproject.toml"), str(REPOSITORY / "ggp" / "errors.py")]
    # As children are started: rights are given up by a process with one thread.
    output = installed.run("python", "-c", CONFINED, *paths, OPENBLAS_NUM_THREADS="1").stdout
    assert "rights: " in output
    assert "another thread" not in output
    if "no reading of other files" in output:
        assert [path for path in paths if f"refused: {path}" not in output] == []

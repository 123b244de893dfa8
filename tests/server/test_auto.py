"""The player `auto` on the server plays whole matches with each of its methods."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ggp.gdl import find_game
from ggp.protocol.messages import WIRE_STYLES
from ggp.server.settings import HostOptions
from tests.protocol.doubles import Referee
from tests.server.live import LiveServer, events, live_server
from tests.support.effort import rarely


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("logs")


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[LiveServer]:
    with live_server(HostOptions("auto", matches=1, log_folder=folder)) as running:
        yield running


GAMES = {
    False: (("tic_tac_toe", "xplayer"),),  # by tree search
    True: (("monty_hall", "candidate"), ("spy_vs_spy", "spy1")),  # solved, and searched
}
"""Games and roles to play, in plain GDL and in GDL-II."""


@pytest.mark.verify
@pytest.mark.parametrize("style", rarely(["ggp-base", "gdl2"], {"ggp-base"}))
def test_whole_matches_are_played(server: LiveServer, folder: Path, style: str) -> None:
    for game, role in GAMES["gdl2" in style]:
        name = f"{style}-{game}"
        rules = find_game(game).read_text()
        referee = Referee(rules, role, WIRE_STYLES[style], match_id=name, clocks=(30, 1))
        referee.referee(server.post)  # demands legal moves in the server's spelling
        assert referee.is_over
        decisions = [line for line in events(folder, name) if line["event"] == "decision"]
        assert decisions
        assert {line["fault"] for line in decisions} == {None}

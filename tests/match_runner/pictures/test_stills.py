"""`match-runner picture`: turns of a record as files."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import ggp
from ggp.gdl.games import find_game
from match_runner.cli import main
from match_runner.match.frames import frames_of
from match_runner.match.records import MatchRecord, write_record
from match_runner.pictures.side_file import side_file_for
from match_runner.pictures.stills import still

PNG = b"\x89PNG\r\n\x1a\n"


def random_record(game: str, *roles: str) -> MatchRecord:
    return ggp.play_match(game, dict.fromkeys(roles, "random"), seed=3)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Path:
    match = random_record("battleships_in_fog", "admiral", "commodore")
    return write_record(match, tmp_path_factory.mktemp("records"))


def test_a_turn_becomes_a_file_of_each_kind(record: Path, tmp_path: Path) -> None:
    for name in ("board.svg", "board.png"):
        result = run("picture", record, "--turn", "2", "--out", tmp_path / name, "--json")
        assert json.loads(result.stdout) == [str(tmp_path / name)]
    assert ET.fromstring((tmp_path / "board.svg").read_bytes()).tag.endswith("svg")
    assert (tmp_path / "board.png").read_bytes().startswith(PNG)


def test_all_turns_become_a_file_each(record: Path, tmp_path: Path) -> None:
    result = run("picture", record, "--all", "--out", tmp_path / "turn.svg")
    names = sorted(path.name for path in tmp_path.iterdir())
    assert [Path(line).name for line in result.stdout.splitlines()] == names
    assert len(names) > 2
    assert names[0].startswith("turn-0")


def test_errors_say_which_pictures_cannot_be_drawn(record: Path, tmp_path: Path) -> None:
    out = tmp_path / "board.svg"
    for arguments, message in [
        (("--turn", "999", "--out", out), "has the turns 0 to "),
        (("--out", tmp_path / "board.gif"), "give a file that ends in"),
        (("--turn", "1", "--all", "--out", out), "leave out --turn or --all"),
    ]:
        result = run("picture", record, *arguments)
        assert result.exception is not None
        assert message in str(result.exception) + result.output
    assert not out.exists()


def test_words_and_side_files_are_those_of_games_that_come_along() -> None:
    match = random_record("kuhn_poker", "player1", "player2")
    side = side_file_for(match.game, match.rules)
    assert side == find_game("kuhn_poker").with_suffix(".picture.toml")
    assert side_file_for(match.game, "(role somebody_else)") is None
    frames = list(frames_of(match, side))
    texts = frames[1]["words"]["moves"]
    assert any("player1 is dealt the" in words for words in texts.values())
    still(frames[-1])

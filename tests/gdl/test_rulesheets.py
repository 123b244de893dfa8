"""Every rulesheet of the folder beside the checkout loads, prints and reads back."""

from __future__ import annotations

import os
from pathlib import Path
from threading import Thread

import pytest

from ggp.errors import ConfigError
from ggp.gdl import find_game, list_games, parse, print_infix, print_kif, read_rulesheet

REPOSITORY = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("GGP_SHARED") or REPOSITORY.parent / "shared" / "rulesheets")
RULESHEETS = sorted(path for path in SHARED.glob("gdl[12]/*") if path.is_file())
REPAIRED = {"dominion": {"empty-body", "case-clash"}}


def test_folder_of_rulesheets_is_complete() -> None:
    if not RULESHEETS:
        pytest.skip("there is no folder of rulesheets beside the checkout")
    assert len(RULESHEETS) == 92


@pytest.mark.parametrize("path", RULESHEETS, ids=lambda path: path.stem)
def test_rulesheet_reads_back_from_both_syntaxes(path: Path) -> None:
    sheet = read_rulesheet(str(path))
    assert sheet.rules
    assert {d.rule for d in sheet.diagnostics} == REPAIRED.get(path.stem, set())
    for text in (print_kif(sheet.rules), print_infix(sheet.rules)):
        reread = parse(text)
        assert reread.rules == sheet.rules
        assert not reread.diagnostics


@pytest.mark.parametrize("name", list_games())
def test_game_of_ours_reads_back_from_both_syntaxes_without_repairs(name: str) -> None:
    sheet = read_rulesheet(name)
    assert not sheet.diagnostics
    assert parse(print_kif(sheet.rules)).rules == sheet.rules
    assert parse(print_infix(sheet.rules)).rules == sheet.rules


@pytest.mark.verify
def test_rulesheet_of_400_kb_on_one_line_reads_back() -> None:
    rule = "(<= (next (cell {0} ?y{0} b)) (true (cell {0} ?y{0} b)) (not (touched {0} ?y{0})))"
    text = " ".join(rule.format(i) for i in range(5200))
    assert len(text) > 400_000
    rules = parse(f"({text})".upper()).rules
    assert len(rules) == 5200
    assert parse(print_infix(rules)).rules == rules


def test_game_is_found_by_path_or_by_name(tmp_path: Path) -> None:
    path = tmp_path / "game.gdl"
    path.write_text("(role a)")
    assert find_game(str(path)) == path
    assert read_rulesheet(str(path)).source.name == str(path)
    for name in list_games():
        assert find_game(name).stem == name


@pytest.mark.parametrize("name", ["nosuchgame", "", "../games/x", "\0", "x" * 5000])
def test_unknown_game_is_an_error_that_lists_the_games(name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_rulesheet(name)
    message = str(caught.value)
    assert message.startswith("unknown game ")
    assert all(game in message for game in list_games())


@pytest.mark.parametrize(
    ("typed", "nearest"), [("kriegspeil", "kriegspiel"), ("my_gmae.gdl", "my_game.gdl")]
)
def test_unknown_game_is_told_with_the_nearest_name(
    typed: str, nearest: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_game.gdl").write_text("(role a)")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=f"unknown game '{typed}'; did you mean '{nearest}'"):
        find_game(typed)


def test_a_path_without_a_file_is_not_answered_with_the_list_of_games() -> None:
    with pytest.raises(ConfigError) as caught:
        find_game("rules/game.gdl")
    assert str(caught.value) == (
        "unknown game 'rules/game.gdl'; there is no such file; `ggp games` lists the bundled games"
    )


def test_folder_is_not_a_rulesheet(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is a folder"):
        read_rulesheet(str(tmp_path))


def test_huge_file_is_not_a_rulesheet(tmp_path: Path) -> None:
    path = tmp_path / "huge.gdl"
    with path.open("wb") as file:
        file.truncate(11 * 1024 * 1024)
    with pytest.raises(ConfigError, match="larger than 10 MB"):
        read_rulesheet(str(path))


def test_huge_pipe_is_no_rulesheet_however_often_it_is_read() -> None:
    out, into = os.pipe()

    def write() -> None:
        with open(into, "wb") as pipe:
            pipe.write(b" " * (10 * 1024 * 1024 + 1))

    writer = Thread(target=write)
    writer.start()
    for _ in range(2):
        with pytest.raises(ConfigError, match="larger than 10 MB"):
            read_rulesheet(f"/dev/fd/{out}")
    writer.join()
    os.close(out)


def test_file_that_cannot_be_read_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "secret.gdl"
    path.write_text("(role a)")

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(ConfigError, match=r"cannot read .*secret\.gdl: Permission denied"):
        read_rulesheet(str(path))

"""Games of OpenSpiel by name: which are refused, and what stands for their rules."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ggp.errors import BackendUnavailableError, ConfigError
from ggp.machine import build_machine
from ggp.machine.games import load_program, read_program


def test_name_with_parameters_is_all_there_is_of_the_rules() -> None:
    program = load_program("openspiel:leduc_poker(players=3)")
    assert program.roles == ("p0", "p1", "p2", "random")
    assert program.source.text == "openspiel:leduc_poker(players=3)"
    again = read_program(program.source.text, "the same")
    assert again.digest == program.digest
    assert again.digest != load_program("openspiel:leduc_poker").digest
    assert load_program("openspiel:tic_tac_toe").roles == ("p0", "p1")


@pytest.mark.parametrize("given", ["", "()", "(gameversion=abrupt)"])
def test_players_are_told_the_number_of_turns_where_the_game_can(given: str) -> None:
    text = load_program(f"openspiel:phantom_ttt{given}").source.text
    assert "obstype=reveal-numturns" in text
    assert ("gameversion=abrupt" in text) == bool(given.strip("()"))
    asked = "openspiel:phantom_ttt(obstype=reveal-nothing)"
    assert load_program(asked).source.text == asked


def test_games_that_hide_turns_come_with_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        load_program("openspiel:liars_dice_ir")
        load_program("openspiel:dark_hex(board_size=2,obstype=reveal-nothing)")
        load_program("openspiel:dark_hex(board_size=2)")
    assert [record.getMessage().partition(": ")[0] for record in caplog.records] == [
        "openspiel:liars_dice_ir",
        "openspiel:dark_hex(board_size=2,obstype=reveal-nothing)",
    ]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nosuch", "unknown game of OpenSpiel 'nosuch'"),
        ("kuhn_pokr", "did you mean 'kuhn_poker'"),
        ("kuhn_poker(players=99)", "no game 'kuhn_poker.players=99.'"),
        ("kuhn_poker(", "closing bracket"),
        ("nfg_game", "no game .nfg_game.: map::at"),
        ("tarok", "chance is sampled inside the game"),
        ("bridge_uncontested_bidding", "chance is sampled inside the game"),
        ("mfg_garnet", "mean-field game"),
        ("crossword", "actions are structures"),
    ],
)
def test_what_cannot_be_played_is_refused_with_the_reason(name: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_program(f"openspiel:{name}")


def test_absent_library_is_an_error_that_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "pyspiel", None)
    with pytest.raises(BackendUnavailableError, match=r"pip install '\.\[openspiel\]'"):
        load_program("openspiel:kuhn_poker")
    assert load_program("monty_hall").roles


@pytest.mark.parametrize("backend", ["propnet", "prolog"])
def test_backends_of_rulesheets_refuse_games_without_rules(backend: str) -> None:
    with pytest.raises(ConfigError, match="has no rules to read; leave out --backend"):
        build_machine(load_program("openspiel:kuhn_poker"), backend)


def test_backend_of_openspiel_refuses_rulesheets() -> None:
    with pytest.raises(ConfigError, match=r"monty_hall.* is a rulesheet"):
        build_machine(load_program("monty_hall"), "openspiel")


EFG = """EFG 2 R "game" { "a" "b" } ""
p "" 1 1 "" { "l" "r" } 0
t "" 1 "" { 1 -1 }
t "" 2 "" { -1 1 }
"""


@pytest.mark.parametrize("nested", [False, True])
def test_texts_by_others_cannot_have_files_read(tmp_path: Path, nested: bool) -> None:
    path = tmp_path / "game.efg"
    path.write_text(EFG)
    text = f"openspiel:efg_game(filename={path})"
    if nested:
        text = f"openspiel:repeated_game(stage_game=nfg_game( filename ={path}))"
    with pytest.raises(ConfigError, match="names a file"):
        read_program(text)
    if not nested:
        assert read_program(text, files=True).roles == load_program(text).roles == ("p0", "p1")

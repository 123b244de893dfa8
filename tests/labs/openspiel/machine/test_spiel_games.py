"""Games of OpenSpiel by name: which are refused, and what stands for their rules."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ggp.errors import BackendUnavailableError, ConfigError, MachineError
from ggp.labs.openspiel.machine import games
from ggp.machine import build_machine
from ggp.machine.games import load_program, read_program
from ggp.players import check_game, parse_spec
from tests.support.commands import error_line
from tests.support.games import REPOSITORY


def test_name_with_parameters_is_all_there_is_of_the_rules() -> None:
    program = load_program("openspiel:leduc_poker(players=3)")
    assert program.roles == ("p0", "p1", "p2", "random")
    assert program.source.text == "openspiel:leduc_poker(players=3)"
    reread = read_program(program.source.text, "the same")
    assert reread.digest == program.digest
    assert reread.digest != load_program("openspiel:leduc_poker").digest
    assert load_program("openspiel:tic_tac_toe").roles == ("p0", "p1")


@pytest.mark.parametrize("parameters", ["", "()", "(gameversion=abrupt)"])
def test_players_are_told_the_number_of_turns_where_the_game_can(parameters: str) -> None:
    text = load_program(f"openspiel:phantom_ttt{parameters}").source.text
    assert "obstype=reveal-numturns" in text
    assert ("gameversion=abrupt" in text) == bool(parameters.strip("()"))
    name = "openspiel:phantom_ttt(obstype=reveal-nothing)"
    assert load_program(name).source.text == name


WRAPPED = (
    "normal_form_extensive_game(game=kuhn_poker())",
    "restricted_nash_response(game=kuhn_poker(),fixed_player=0,p=0.5)",
    "turn_based_simultaneous_game(game=goofspiel(num_cards=3,imp_info=True))",
    "python_kuhn_poker",
)


@pytest.mark.parametrize("name", WRAPPED)
def test_names_are_kept_as_they_were_given(name: str) -> None:
    program = load_program(f"openspiel:{name}")
    assert program.source.text == f"openspiel:{name}"
    machine = build_machine(read_program(program.source.text))
    assert not machine.terminal(machine.initial())[0]


def test_a_file_that_a_name_has_is_read_again(tmp_path: Path) -> None:
    (tmp_path / "game.nfg").write_text('NFG 1 R "x" { "a" "b" } { 2 2 }\n1 0 0 1 0 1 1 0\n')
    program = load_program(f"openspiel:nfg_game(filename={tmp_path}/game.nfg)")
    machine = build_machine(program)
    assert len(machine.legal(machine.initial(), 0)[0]) == 2


PENNIES = """
import pyspiel


class Pennies(pyspiel.Game):
    def __init__(self, params=None):
        super().__init__(KIND, INFO, params or {})

    def new_initial_state(self):
        return State(self)


class State(pyspiel.State):
    def __init__(self, game):
        super().__init__(game)
        self.made = []

    def current_player(self):
        return pyspiel.PlayerId.TERMINAL if len(self.made) == 2 else len(self.made)

    def _legal_actions(self, player):
        return [0, 1]

    def _apply_action(self, action):
        self.made.append(action)

    def _action_to_string(self, player, action):
        return ["heads", "tails"][action]

    def is_terminal(self):
        return len(self.made) == 2

    def returns(self):
        if not self.is_terminal():
            return [0.0, 0.0]
        won = 1.0 if self.made[0] == self.made[1] else -1.0
        return [won, -won]

    def information_state_string(self, player):
        return f"{player}: {self.made[player:player + 1]}"

    def __str__(self):
        return str(self.made)


KIND = pyspiel.GameType(
    short_name="my_pennies",
    long_name="My Pennies",
    dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
    chance_mode=pyspiel.GameType.ChanceMode.DETERMINISTIC,
    information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
    utility=pyspiel.GameType.Utility.ZERO_SUM,
    reward_model=pyspiel.GameType.RewardModel.TERMINAL,
    max_num_players=2,
    min_num_players=2,
    provides_information_state_string=True,
    provides_information_state_tensor=False,
    provides_observation_string=False,
    provides_observation_tensor=False,
)
INFO = pyspiel.GameInfo(
    num_distinct_actions=2,
    max_chance_outcomes=0,
    num_players=2,
    min_utility=-1.0,
    max_utility=1.0,
    utility_sum=0.0,
    max_game_length=2,
)
pyspiel.register_game(KIND, Pennies)
"""


def test_modules_of_others_are_imported_in_every_process(tmp_path: Path) -> None:
    (tmp_path / "my_pennies.py").write_text(PENNIES)
    name, imports = "openspiel:my_pennies", ("--import", "my_pennies")

    def called(module: str, *args: str) -> str:
        process = subprocess.run(
            [sys.executable, "-m", module, *args],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
            capture_output=True,
            text=True,
        )
        return process.stdout + process.stderr

    assert "unknown game of OpenSpiel 'my_pennies'" in error_line("solve", name)
    assert "50.000000" in called("ggp", "solve", name, *imports)
    arguments = ("play", name, "--player", "p0=random", "--jobs", "1", "--record", "kept", *imports)
    assert "p0" in called("match_runner", *arguments)
    (record,) = (tmp_path / "kept").iterdir()
    assert "not checked" not in called("match_runner", "replay", str(record), *imports)
    assert "cannot be imported, as --import says: ModuleNotFoundError" in called(
        "ggp", "solve", name, "--import", "nowhere"
    )
    (tmp_path / "leaves.py").write_text("raise SystemExit(0)")
    assert "'leaves' cannot be imported, as --import says: SystemExit" in called(
        "ggp", "solve", name, "--import", "leaves"
    )


def test_a_blank_before_parameters_is_no_part_of_the_name() -> None:
    assert load_program("openspiel:kuhn_poker (players=2)").source.text == (
        "openspiel:kuhn_poker(players=2)"
    )


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("quoridor", "its implementation has known issues"),
        ("kriegspiel", "no player is told that a king is in check"),
        ("dark_chess", "what a player observes holds the half-move clock"),
        ("dark_hex(board_size=2,obstype=reveal-nothing)", "hold the number of turns, whatever"),
    ],
)
def test_what_is_odd_about_knowledge_is_named(
    name: str, fault: str, caplog: pytest.LogCaptureFixture
) -> None:
    games._warn.cache_clear()
    about = load_program(f"openspiel:{name}").describe().text
    assert fault in caplog.records[0].getMessage()
    assert fault[5:] in about
    if name == "quoridor":
        assert "; here all moves are seen" in about
    else:
        view = "observation" if "chess" in name else "information state"
        assert f"a digest of its {view}" in about
    assert "its tensors tell players" in caplog.text
    assert "Its tensors tell players" in about


def test_what_is_shown_although_it_should_be_hidden_is_named() -> None:
    for name, fault in (("python_hangman", "is told the word"), ("repeated_leduc_poker", "a fold")):
        assert fault in load_program(f"openspiel:{name}").describe().text


def test_chance_moves_where_copies_of_states_do_not_know_its_outcomes() -> None:
    machine = build_machine(load_program("openspiel:python_hangman"))
    outcomes = len(machine.chance(machine.initial()).moves)
    assert outcomes == 25
    word = machine.move_id("(act 3)")
    states = machine.step(machine.initial(), np.array([[machine.move_id("noop"), word]])).states
    assert len(machine.legal(states, 0)[0]) == 26


def test_what_a_game_in_python_raises_is_an_error_with_a_message(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machine = build_machine(load_program("openspiel:python_tic_tac_toe"))
    from open_spiel.python.games.tic_tac_toe import TicTacToeState

    def lost(*_: object) -> None:
        raise KeyError("board")

    monkeypatch.setattr(TicTacToeState, "_apply_action", lost)
    joint = np.array([[machine.move_id("(act 4)"), machine.move_id("noop")]])
    with pytest.raises(MachineError, match=r"OpenSpiel cannot play .*board"):
        machine.step(machine.initial(), joint)


def test_games_that_hide_turns_come_with_a_warning_once(caplog: pytest.LogCaptureFixture) -> None:
    games._warn.cache_clear()
    for _ in range(2):
        load_program("openspiel:liars_dice_ir")
        load_program("openspiel:dark_hex(board_size=2,obstype=reveal-nothing)")
        load_program("openspiel:dark_hex(board_size=2)")
    assert [record.getMessage().split(": ")[:2] for record in caplog.records] == [
        ["openspiel:liars_dice_ir", games.FAULTS["liars_dice_ir"]],
        ["openspiel:dark_hex(board_size=2,obstype=reveal-nothing)", games.FAULTS["dark_hex"]],
        [
            "openspiel:dark_hex(board_size=2,obstype=reveal-nothing)",
            "its tensors tell players less than its strings do; here strings count",
        ],
    ]


def test_openspiel_prints_nothing_beside_a_message(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ConfigError, match="Unknown parameter 'cards'"):
        load_program("openspiel:kuhn_poker(cards=4)")
    load_program("openspiel:quoridor(board_size=3)")
    with pytest.raises(ConfigError, match="does not say how to draw a state"):
        check_game(
            parse_spec("ggp.players.spiel_bot:OpenSpielBot"), load_program("openspiel:liars_dice")
        )
    assert "OpenSpiel exception" not in capfd.readouterr().err


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
def test_unplayable_games_are_refused_with_the_reason(name: str, message: str) -> None:
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

"""What holds for every command: one-line errors, exit codes, help, logging, quick start."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from pathlib import Path

import pytest

from ggp.gdl import list_games
from ggp.machine import BACKENDS
from tests.support.commands import error_line, json_file, run, start, text_file

pytestmark = pytest.mark.usefixtures("compiled")

REPOSITORY = Path(__file__).resolve().parents[2]
COMMANDS = ("validate", "info", "convert", "trace", "evaluate", "bench")
PLAYING = {
    "info": (),
    "trace": (),
    "evaluate": ("--role", "agent", "--player", "legal"),
    "bench": ("--seconds", "0.05"),
}
"""Commands that build a machine, with the options they need."""

REPAIRED = """
(role agent)
(init here)
(<= (legal ?r go) (true here))
(<= terminal (not (true here)))
(goal agent 100)
"""


def test_bare_command_shows_help() -> None:
    result = run()
    assert result.exit_code == 0
    assert all(f"\n  {name} " in result.stdout for name in COMMANDS)


def test_version_is_shown() -> None:
    result = run("--version")
    assert result.exit_code == 0
    assert result.stdout.startswith("ggp ")


@pytest.mark.parametrize("command", COMMANDS)
def test_command_has_help(command: str) -> None:
    result = run(command, "--help")
    assert result.exit_code == 0
    assert f"Usage: ggp {command}" in result.stdout


@pytest.mark.parametrize("command", PLAYING)
def test_help_lists_the_backends(command: str) -> None:
    assert "|".join(BACKENDS) in run(command, "--help").stdout


def test_unknown_command_lists_the_commands() -> None:
    line = error_line("jump")
    assert "unknown command 'jump'" in line
    assert "unknown command 'tarce'; did you mean 'trace'? commands: " in error_line("tarce")
    assert all(command in line for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_unknown_option_lists_the_options(command: str) -> None:
    line = error_line(command, "exploding_bomb", "--jump")
    assert line.startswith("error: unknown option --jump; options: ")
    assert "--help" in line


def test_unknown_option_before_the_command_is_one_line() -> None:
    assert "unknown option --jump" in error_line("--jump", "info", "exploding_bomb")


@pytest.mark.parametrize("command", COMMANDS)
def test_missing_argument_is_one_line(command: str) -> None:
    line = error_line(command)
    assert "Missing" in line
    assert f"`ggp {command} --help`" in line


@pytest.mark.parametrize(
    "args",
    [
        ("trace", "exploding_bomb", "--seed", "many"),
        ("trace", "exploding_bomb", "--seed", "-1"),
        ("trace", "exploding_bomb", "--seed", str(2**63)),
        ("bench", "exploding_bomb", "--seconds", "0"),
        ("convert", "exploding_bomb", "--to", "latin"),
        ("evaluate", "exploding_bomb", "--role", "agent"),
        ("info", "exploding_bomb", "tic_tac_toe"),
    ],
    ids=" ".join,
)
def test_bad_value_is_one_line(args: tuple[str, ...]) -> None:
    assert error_line(*args).startswith("error: ")


@pytest.mark.parametrize("command", [*PLAYING, "convert"])
def test_unknown_game_lists_the_games(command: str) -> None:
    options = ("--to", "kif") if command == "convert" else PLAYING[command]
    line = error_line(command, "nosuchgame", *options)
    assert "unknown game 'nosuchgame'" in line
    assert all(game in line for game in list_games())


@pytest.mark.parametrize("command", PLAYING)
def test_unknown_backend_lists_the_backends(command: str) -> None:
    line = error_line(command, "exploding_bomb", *PLAYING[command], "--backend", "abacus")
    assert line == f"error: unknown backend 'abacus'; backends: {', '.join(BACKENDS)}"


@pytest.mark.parametrize("command", [*PLAYING, "convert"])
def test_rulesheet_with_an_error_shows_the_place(command: str, tmp_path: Path) -> None:
    game = text_file(tmp_path, "(role agent)\n(<= terminal (not))\n")
    options = ("--to", "kif") if command == "convert" else PLAYING[command]
    result = run(command, game, *options)
    assert result.exit_code == 2
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert lines[0].startswith(f"{game}:2:15: error: ")
    assert lines[1:] == ["(<= terminal (not))", "              ^"]


def test_many_errors_of_a_rulesheet_are_cut_short(tmp_path: Path) -> None:
    game = text_file(tmp_path, "(role agent)\n" + "(role (f x))\n" * 30)
    result = run("info", game)
    assert result.exit_code == 2
    assert f"more errors; `ggp validate -v {game}` shows all" in result.stderr


def test_repaired_rulesheet_is_mentioned_on_standard_error_only(tmp_path: Path) -> None:
    game = text_file(tmp_path, REPAIRED)
    result = run("info", game, "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["warnings"] == 1
    assert result.stderr == f"warning: {game} has 1 warning; `ggp validate {game}` shows them\n"


@pytest.mark.parametrize(
    "args",
    [
        ("-v", "info", "exploding_bomb"),
        ("info", "exploding_bomb", "-v"),
        ("info", "-v", "kuhn_poker"),
    ],
    ids=" ".join,
)
def test_verbose_says_more_on_standard_error(args: tuple[str, ...]) -> None:
    result = run(*args)
    assert "info: " in result.stderr
    assert "info: " not in result.stdout
    assert logging.getLogger("ggp").level == logging.INFO
    assert run("info", "exploding_bomb").stderr == ""


def test_names_cannot_disturb_a_terminal(tmp_path: Path) -> None:
    game = text_file(
        tmp_path,
        "(role [red])(init \x1b[31m)(legal [red] :smile:)(legal [red] \x1b[0m)"
        "(<= terminal (not (true \x1b[31m)))(goal [red] 1)",
    )
    for command in (
        ("info", game),
        ("trace", game),
        ("validate", game),
        ("evaluate", game, "--role", "[RED]", "--player", "hyperplay:n=1"),
    ):
        result = run(*command)
        assert result.exit_code == 0
        assert "\x1b" not in result.output
    assert "[red]" in result.stdout
    assert ":smile:" in result.stdout


def test_module_runs_without_a_traceback() -> None:
    process = start("-m", "ggp", "trace", "nosuchgame")
    output, errors = process.communicate(timeout=30)
    assert process.returncode == 2
    assert output == ""
    assert errors.startswith("error: unknown game 'nosuchgame'")
    assert errors.count("\n") == 1


def test_help_needs_no_slow_imports() -> None:
    code = "import sys, ggp.cli; print({'numpy', 'pyswip', 'rich'} & set(sys.modules))"
    process = subprocess.run(
        [sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, timeout=30
    )
    assert process.stdout == "set()\n", process.stderr


def test_error_in_a_file_is_one_line_whatever_it_holds(tmp_path: Path) -> None:
    line = error_line("trace", "exploding_bomb", "--moves", json_file(tmp_path, ["a\nb\x1b"]))
    assert "\x1b" not in line
